import json
import shutil
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from nano_folders import tiny_folder
from PIL import Image as PILImage
from safetensors.torch import load_file, save_file

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import ScoreRequest
from bindbench.models.open_clip_names import find_source, identity_of
from bindbench.models.open_clip_scorer import load_open_clip
from bindbench.models.open_clip_text import needed_lengths, text_features
from bindbench.suite import RoleSettings, VocabularySources

WEIGHTS = "open_clip_model.safetensors"
TEXTS = [
    "a red cup",
    "a blue chair, and a red cup on a white background.",
    "A cup is above a chair, which is to the left of a lamp on a white background.",
    "",
    "a red cup",
    "noodles " * 60,
]


@pytest.fixture(scope="module", params=["clip", "custom", "siglip"])
def folder(request, tmp_path_factory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def custom(tmp_path_factory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("tiny"), "custom")


def load(folder: Path, dtype: str = "float32"):
    return load_open_clip("open_clip:tiny", find_source(str(folder)), dtype, "cpu")


def images(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (20 + 7 * i, 31, 3), dtype=np.uint8) for i in range(count)]


def requests(count: int = 3) -> list[ScoreRequest]:
    empty = np.empty(0, np.int8)
    return [ScoreRequest(str(i), image, TEXTS[i:], empty) for i, image in enumerate(images(count))]


def one_by_one(folder: Path, request: ScoreRequest) -> np.ndarray:
    """open_clip's own encoding of each image and text alone, with all its padding."""
    model, _, preprocess = open_clip.create_model_and_transforms(f"local-dir:{folder}")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
    model.eval()
    with torch.no_grad():
        image = model.encode_image(
            preprocess(PILImage.fromarray(request.image))[None], normalize=True
        )
        scores = [
            model.logit_scale.exp() * (image @ model.encode_text(tokenizer([t]), normalize=True).T)
            for t in request.texts
        ]
    return torch.cat(scores).flatten().double().numpy()


def test_scores_are_open_clips_own(folder):
    asked, scorer = requests(), load(folder)
    for request, scores in zip(asked, scorer.score(asked), strict=True):
        own = one_by_one(folder, request) / scorer.scale  # cosines, in [-1, 1]
        np.testing.assert_allclose(scores.values / scorer.scale, own, rtol=0, atol=1e-6)


def test_a_bias_is_left_out(tmp_path):
    folder = tiny_folder(tmp_path, "siglip")
    tensors = load_file(folder / WEIGHTS)
    before = load(folder).score(requests())
    save_file(tensors | {"logit_bias": tensors["logit_bias"] + 3}, folder / WEIGHTS)
    for a, b in zip(before, load(folder).score(requests()), strict=True):
        assert np.array_equal(a.values, b.values)


def test_padding_is_cut_off_where_nothing_reads_it(folder):
    source = f"local-dir:{folder}"
    model = open_clip.create_model(source).eval()
    tokens = open_clip.get_tokenizer(source)(TEXTS[:2])
    lengths = needed_lengths(model, tokens)
    full = tokens.shape[1]
    if "siglip" in str(folder):
        assert lengths.tolist() == [full, full]
    else:
        assert lengths[0] < lengths[1] < full
    with torch.no_grad():
        torch.testing.assert_close(
            text_features(model, tokens),
            model.encode_text(tokens, normalize=True),
            rtol=0,
            atol=1e-6,
        )


@pytest.mark.parametrize(("dtype", "most"), [("float16", 0.01), ("bfloat16", 0.08)])
def test_other_dtypes_are_about_the_same(custom, dtype, most):
    scorer = load(custom, dtype)
    assert scorer.dtype == dtype
    for request, scores in zip(requests(), scorer.score(requests()), strict=True):
        assert np.abs(scores.values - one_by_one(custom, request)).max() < most * load(custom).scale


def test_a_folder_and_its_checkpoint_file_give_the_same(tmp_path, custom):
    checkpoint = {"state_dict": {f"module.{k}": v for k, v in load_file(custom / WEIGHTS).items()}}
    torch.save(checkpoint, tmp_path / "epoch.pt")
    config = json.loads((custom / "open_clip_config.json").read_text())["model_cfg"]
    (tmp_path / "tiny-words.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="set the option architecture"):
        find_source(str(tmp_path / "epoch.pt"))
    with pytest.raises(UserError, match=r"Unknown architecture of open_clip 'ViT-B-33'.*ViT-B-32"):
        find_source(str(tmp_path / "epoch.pt"), "ViT-B-33")
    source = find_source(str(tmp_path / "epoch.pt"), "ViT-B-32")
    assert (source.model, source.pretrained) == ("ViT-B-32", str(tmp_path / "epoch.pt"))


def test_names_of_open_clip(tmp_path):
    source = find_source("ViT-B-32/laion2b_s34b_b79k")
    assert (source.model, source.pretrained, source.path) == (
        "ViT-B-32",
        "laion2b_s34b_b79k",
        None,
    )
    with pytest.raises(UserError, match="open_clip:ViT-B-32/laion2b_s34b_b79k"):
        registry.resolve("scorer", RoleSettings(model="open_clip:ViT-B-32/laion2b_s34b_b97k"))
    with pytest.raises(UserError, match="no such file or folder"):
        find_source(str(tmp_path / "absent.pt"))
    with pytest.raises(UserError, match="no revisions"):
        registry.resolve("scorer", RoleSettings(model="open_clip:ViT-B-32/openai@main"))


def test_the_identity_follows_the_files(tmp_path):
    folder = tiny_folder(tmp_path, "custom")
    before = identity_of(find_source(str(folder)))
    assert identity_of(find_source(str(folder))) == before
    tensors = load_file(folder / WEIGHTS)
    save_file(tensors | {"logit_scale": tensors["logit_scale"] + 1}, folder / WEIGHTS)
    assert identity_of(find_source(str(folder))) != before


def broken(folder: Path, name: str, target: Path) -> Path:
    shutil.copytree(folder, target)
    weights = target / WEIGHTS
    if name == "no weights":
        weights.unlink()
    elif name == "no config":
        (target / "open_clip_config.json").unlink()
    elif name == "cut":
        weights.write_bytes(weights.read_bytes()[:5000])
    elif name == "garbage":
        weights.write_bytes(b"\x00" * 5000)
    elif name == "no json":
        (target / "open_clip_config.json").write_text("{")
    elif name == "other architecture":
        config = json.loads((target / "open_clip_config.json").read_text())
        config["model_cfg"]["text_cfg"]["layers"] += 1
        (target / "open_clip_config.json").write_text(json.dumps(config))
    elif name == "other width":
        config = json.loads((target / "open_clip_config.json").read_text())
        config["model_cfg"]["embed_dim"] *= 2
        (target / "open_clip_config.json").write_text(json.dumps(config))
    return target


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no weights", "holds no weights"),
        ("no config", "holds no open_clip_config.json"),
        ("cut", "can't be loaded .*damaged"),
        ("garbage", "can't be loaded .*damaged"),
        ("no json", "open_clip_config.json is no JSON object"),
        ("other architecture", "of another architecture"),
        ("other width", "of another architecture"),
    ],
)
def test_broken_folders_are_one_sentence(custom, tmp_path, name, says):
    with pytest.raises(UserError, match=says) as caught:
        load(broken(custom, name, tmp_path / "broken"))
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert "broken" in message


def test_nan_in_an_embedding_names_what_it_is_of(tmp_path):
    folder = tiny_folder(tmp_path, "custom")
    tensors = load_file(folder / WEIGHTS)
    save_file(
        tensors | {"text.text_projection": tensors["text.text_projection"] * torch.nan},
        folder / WEIGHTS,
    )
    with pytest.raises(UserError, match=r"open_clip:tiny gave .*NaN.* the caption 'a red cup'"):
        load(folder).score(requests())
    save_file(
        tensors | {"visual.head.proj.weight": tensors["visual.head.proj.weight"] * torch.nan},
        folder / WEIGHTS,
    )
    with pytest.raises(UserError, match=r"NaN.* the image of item 0"):
        load(folder).score(requests())


def test_an_unknown_device_is_one_sentence(custom):
    with pytest.raises(UserError, match="device 'gpu' can't be used here"):
        load_open_clip("open_clip:tiny", find_source(str(custom)), "float32", "gpu")


def test_each_shard_gets_a_scorer_without_memories(custom):
    settings = RoleSettings(model=f"open_clip:{custom}", options={"dtype": "float32"})
    first = registry.load("scorer", settings, VocabularySources())
    first.score(requests())
    second = registry.load("scorer", settings, VocabularySources())
    assert second is not first
    assert second.remembered == 0 < first.remembered
