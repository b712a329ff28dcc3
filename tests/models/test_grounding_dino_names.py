"""What names a detector, what goes into its fingerprint, and what is said where it can't be had."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
from test_hf_hub import ask, hub  # noqa: F401

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.availability import Weights
from bindbench.models.grounding_dino_detector import GroundingDetector
from bindbench.models.grounding_dino_names import detector_weights
from bindbench.models.grounding_dino_options import GroundingDinoOptions
from bindbench.suite import RoleSettings, VocabularySources


@pytest.fixture
def settings(detector, segmenter):
    def made(folder: Path | str = "", **options) -> RoleSettings:
        checkpoint, config = segmenter
        own = {"segmenter": str(checkpoint), "segmenter_config": str(config)} | options
        place = folder or detector("grounding_dino")
        return RoleSettings(model=f"grounding_dino:{place}", options=own)

    return made


def load(settings: RoleSettings) -> GroundingDetector:
    return registry.load("detector", settings, VocabularySources())


def test_the_options_are_the_published_ones(settings):
    options = registry.named("detector", RoleSettings(model="grounding_dino:a/b"))[2]
    assert options.box_threshold == 0.4
    assert options.text_threshold == 0.3
    assert options.segmenter == "facebook/sam2.1-hiera-large"


def test_the_identity_is_that_of_both_models(settings, detector, segmenter, tmp_path):
    first = registry.describe("detector", settings())
    assert set(first) == {"model", "options", "batch_size", "files", "segmenter"}
    assert first["options"]["dtype"] == "float32"
    checkpoint = tmp_path / "other.pt"
    shutil.copy(segmenter[0], checkpoint)
    with checkpoint.open("ab") as file:
        file.write(b"more")
    other_masks = registry.describe("detector", settings(segmenter=str(checkpoint)))
    assert other_masks["files"] == first["files"]
    assert other_masks["segmenter"] != first["segmenter"]
    folder = tmp_path / "boxes"
    shutil.copytree(detector("grounding_dino"), folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\1")
    other_boxes = registry.describe("detector", settings(folder))
    assert other_boxes["segmenter"] == first["segmenter"]
    assert other_boxes["files"] != first["files"]


def test_doctor_and_list_know_where_the_weights_are(detector, segmenter, tmp_path):
    checkpoint, config = segmenter
    options = GroundingDinoOptions(segmenter=str(checkpoint), segmenter_config=str(config))
    folder = detector("grounding_dino")
    found = detector_weights(str(folder), "", options)
    assert found == Weights(
        "local", f"{folder}, {checkpoint}", (folder / "model.safetensors", checkpoint)
    )
    # The weights are float32 in memory, whatever the dtype of the arithmetic.
    assert found.memory("bfloat16") == found.bytes
    published = GroundingDinoOptions(segmenter="facebook/sam2.1-hiera-large@none")
    missing = detector_weights(str(folder), "", published)
    assert missing == Weights("missing", "facebook/sam2.1-hiera-large@none")


@pytest.mark.parametrize(
    ("model", "options", "problem"),
    [
        ("/nowhere", {}, r"grounding_dino:/nowhere: there is no folder /nowhere"),
        ("EMPTY", {}, r"EMPTY holds no config.json: give what save_pretrained wrote"),
        ("BERT", {}, r"a model of type bert does not find objects .* type grounding-dino, "),
        ("BROKEN", {}, r"config.json is no JSON object with the field model_type"),
        ("", {"device": "cuda:7"}, r"device 'cuda:7' can't be used here: give cpu"),
        ("", {"device": "auto"}, r"device auto is not for detectors: name one such as cuda:0"),
        ("", {"segmenter": "/nowhere.pt"}, r"segmenter /nowhere.pt: there is no such file"),
        ("", {"box_threshold": 1.4}, r"options of detector .*box_threshold is 1.4"),
        ("", {"treshold": 0.4}, r"did you mean box_threshold or text_threshold"),
        ("", {"dtype": "int8"}, r"dtype is 'int8'"),
    ],
)
def test_what_is_none_is_one_sentence(settings, tmp_path, model, options, problem):
    for name, config in (("EMPTY", None), ("BERT", {"model_type": "bert"}), ("BROKEN", [])):
        (tmp_path / name).mkdir()
        if config is not None:
            (tmp_path / name / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=problem) as caught:
        load(settings(tmp_path / model if model.isupper() else model, **options))
    assert str(caught.value).count(". ") == 0


def damaged(folder: Path, source: Path, damage: str) -> Path:
    """A copy of a checkpoint in which something is wrong."""
    shutil.copytree(source, folder)
    weights = folder / "model.safetensors"
    match damage:
        case "cut":
            weights.write_bytes(weights.read_bytes()[:5000])
        case "lacking":
            from safetensors.torch import load_file, save_file

            tensors = load_file(weights)
            del tensors["model.text_projection.weight"]
            save_file(tensors, weights, {"format": "pt"})
        case "no processor":
            for file in folder.iterdir():
                if file.name not in ("config.json", weights.name):
                    file.unlink()
        case "no weights":
            weights.unlink()
        case "pickle":
            weights.unlink()
            torch.save(Touch(folder / "ran"), folder / "pytorch_model.bin")
    return folder


class Touch:
    """What runs code where it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("cut", r"the model in .* can't be loaded"),
        ("lacking", r"lacks 1 weights, model.text_projection.weight first"),
        ("no processor", r"has no (tokenizer|image processor): put the|the processor in .* can't"),
        ("no weights", r"the model in .* can't be loaded"),
        ("pickle", r"the model in .* can't be loaded"),
    ],
)
def test_damage_is_one_sentence(settings, detector, tmp_path, damage, problem):
    folder = damaged(tmp_path / "damaged", detector("grounding_dino"), damage)
    with pytest.raises(UserError, match=problem):
        load(settings(folder))
    assert not (folder / "ran").exists()


def test_what_the_hub_refuses_is_one_sentence_each(hub, segmenter, tmp_path):  # noqa: F811
    checkpoint, config = segmenter
    names = [f"grounding_dino:org/{name}" for name in ("gated", "none", "here@none", "llava")]
    options = {"segmenter": str(checkpoint), "segmenter_config": str(config)}
    how = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": hub, "HF_HUB_OFFLINE": "0"}
    lines = ask(names, role="detector", options=options, **how)
    assert [line.partition(": ")[2][:25] for line in lines] == [
        "this model is gated: acce",
        "the hub has no such model",
        "there is no such revision",
        "a model of type llava doe",
    ]


def test_naming_a_detector_loads_no_heavy_library():
    command = (
        "import sys; from bindbench.models import registry; from bindbench.suite import "
        "RoleSettings as R; registry.named('detector', R(model='grounding_dino:a/b')); "
        "print([m for m in ('torch', 'sam2', 'transformers', 'hydra') if m in sys.modules])"
    )
    import subprocess

    out = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert out.stdout.strip() == "[]", out.stderr
