"""What a checkpoint that is broken, or is not what was meant, says: one sentence each."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForMaskedLM

from bindbench.errors import UserError
from bindbench.models import hf_names, registry
from bindbench.models.base import ScoreRequest
from bindbench.scoring.checked import checked_scores
from bindbench.scoring.likelihood import Likelihood
from bindbench.scoring.likelihood_scorer import LikelihoodScorer
from bindbench.suite import RoleSettings, VocabularySources

IMAGE = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
ASK = [ScoreRequest("one", IMAGE, ["a red cup", "a blue cup"], np.empty(0, np.int8))]


def load(folder: Path | str, **options) -> LikelihoodScorer:
    settings = RoleSettings(model=f"hf:{folder}", options=options)
    return registry.load("scorer", settings, VocabularySources())


@pytest.fixture
def broken(checkpoint, tmp_path) -> Path:
    return shutil.copytree(checkpoint("llava"), tmp_path / "broken")


def refused(folder: Path | str, match: str, **options) -> None:
    with pytest.raises(UserError, match=match) as found:
        load(folder, **options).score(ASK)
    assert "\n" not in str(found.value)
    assert str(found.value).endswith((".", "?"))


def test_a_missing_tokenizer(broken):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (broken / name).unlink()
    refused(broken, f"hf:{broken}: the processor in {broken} can't be loaded")


def test_a_missing_image_processor(broken):
    (broken / "processor_config.json").unlink()
    refused(broken, "can't be loaded|has no image processor")


def test_a_missing_configuration(broken):
    (broken / "config.json").unlink()
    refused(broken, "holds no config.json")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"model_type": 3}'])
def test_a_broken_configuration(broken, text):
    (broken / "config.json").write_text(text)
    refused(broken, "config.json is no JSON object with the field model_type")


def test_missing_weights(broken):
    tensors = load_file(broken / "model.safetensors")
    lost = next(name for name in tensors if "layers.1.self_attn.q_proj" in name)
    del tensors[lost]
    save_file(tensors, broken / "model.safetensors", {"format": "pt"})
    refused(broken, r"lacks 1 weights, model\.language_model\.layers\.1\.self_attn\.q_proj")


def test_weights_of_another_shape(broken):
    tensors = load_file(broken / "model.safetensors")
    name = next(name for name in tensors if "layers.1.self_attn.q_proj" in name)
    tensors[name] = tensors[name][:3].clone()
    save_file(tensors, broken / "model.safetensors", {"format": "pt"})
    refused(broken, "the model in .* can't be loaded")


def test_damaged_weights(broken):
    file = broken / "model.safetensors"
    file.write_bytes(file.read_bytes()[:5000])
    refused(broken, "the model in .* can't be loaded")


def test_weights_that_give_no_number_stop_the_run(broken):
    tensors = load_file(broken / "model.safetensors")
    next(v for n, v in tensors.items() if "layers.1.mlp.up_proj" in n)[:] = float("nan")
    save_file(tensors, broken / "model.safetensors", {"format": "pt"})
    refused(broken, "the self-test failed: a caption scores nan")


def test_a_score_that_is_no_number_is_one_sentence(checkpoint, monkeypatch):
    scorer = load(checkpoint("llava"))
    scorer.score(ASK)
    sums = Likelihood.sums
    monkeypatch.setattr(Likelihood, "sums", lambda *args: sums(*args) - np.inf)
    with pytest.raises(UserError, match=r"gave the score -inf in float32 .* for item one of color"):
        checked_scores(scorer.fresh(), ASK, "hf:tiny", "color-n2")


def test_another_kind_of_model(tmp_path):
    BertForMaskedLM(
        BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    ).save_pretrained(tmp_path)
    refused(tmp_path, "a model of type bert gives no captions scores: give one that loads as")


def test_a_model_with_code_of_its_own_needs_trust(broken):
    config = json.loads((broken / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoModelForImageTextToText": "own.Own"}}
    (broken / "config.json").write_text(json.dumps(config))
    refused(broken, "type own needs the code in its repository: read it, then set")


def test_a_checkpoint_that_is_quantised_already(broken):
    config = json.loads((broken / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "gptq"}
    (broken / "config.json").write_text(json.dumps(config))
    refused(broken, "the checkpoint is quantised already")


def test_quantisation_without_its_package(checkpoint, monkeypatch):
    monkeypatch.setattr(hf_names, "find_spec", lambda name: None)
    refused(checkpoint("llava"), "needs the package bitsandbytes and a GPU", quantisation="4bit")


def test_a_device_that_is_not_here(checkpoint):
    refused(checkpoint("llava"), "device 'cuda:17' can't be used here", device="cuda:17")


def test_a_folder_that_is_not_there(tmp_path):
    refused(tmp_path / "none", f"there is no folder {tmp_path}/none")


def test_a_revision_of_a_folder(checkpoint):
    refused(f"{checkpoint('llava')}@main", "a folder has no revisions, leave out @main")


def test_an_unknown_option_names_the_nearest(checkpoint):
    refused(checkpoint("llava"), "Unknown field 'quantization' .*quantisation", quantization="4bit")
