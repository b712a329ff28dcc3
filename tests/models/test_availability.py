"""Where weights are: the shipped folder, a path, and caches laid out as the hub's client does."""

import json
from pathlib import Path

import huggingface_hub.constants
import numpy as np
import pytest
from safetensors.numpy import save_file

from bindbench.models import availability, weights
from bindbench.models.availability import (
    NO_WEIGHTS,
    Weights,
    in_hub_cache,
    local,
    open_clip_weights,
    parameters,
    shipped,
)
from bindbench.models.families import FAMILIES
from bindbench.models.family import ModelName

HF = FAMILIES["scorer", "hf"]

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache of the hub."""
    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder))
    return folder


def hf_weights(name: str) -> Weights:
    return HF.weights(ModelName("hf", name), HF.options())


def snapshot(cache: Path, repository: str, ref: str = "main", commit: str = COMMIT) -> Path:
    """Make the folder of a repository's commit, named by a branch."""
    home = cache / f"models--{repository.replace('/', '--')}"
    (home / "refs").mkdir(parents=True, exist_ok=True)
    (home / "refs" / ref).write_text(commit)
    (home / "blobs").mkdir(exist_ok=True)
    folder = home / "snapshots" / commit
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


def tensors(path: Path, *shapes, dtype=np.float16) -> None:
    save_file({str(i): np.zeros(shape, dtype) for i, shape in enumerate(shapes)}, path)


def test_every_shipped_folder_has_its_digest():
    folders = {path.parent.name for path in weights.WEIGHTS.glob("*/*.safetensors")}
    found = {name: weights.folder_digest(name) for name in folders}
    assert json.loads(weights.DIGESTS.read_text()) == found


def test_shipped_weights_are_compared_with_their_digest(monkeypatch):
    found = shipped("validator")
    assert found.where == "shipped"
    assert found.bytes == (weights.WEIGHTS / "validator/model.safetensors").stat().st_size
    monkeypatch.setattr(availability, "shipped_digest", lambda name: "0" * 64)
    assert shipped("validator").where == "altered"
    assert shipped("none-such").where == "missing"


def test_parameters_and_memory_follow_from_the_header(tmp_path):
    tensors(tmp_path / "model.safetensors", (3, 5), (7,), ())
    assert parameters(tmp_path / "model.safetensors") == 23
    found = local(tmp_path)
    assert found.where == "local"
    assert found.memory("float32") == 4 * 23
    assert found.memory("bfloat16") == 2 * 23
    assert found.memory("8bit") == 23
    assert found.memory() == found.bytes  # as on disk
    assert NO_WEIGHTS.memory("float32") is None


def test_an_empty_folder_and_another_format(tmp_path):
    assert local(tmp_path).where == "missing"
    (tmp_path / "pytorch_model.bin").write_bytes(b"12345")
    found = local(tmp_path)
    assert (found.where, found.bytes, found.memory("float32")) == ("local", 5, 5)


def test_the_hubs_cache(cache):
    assert in_hub_cache("org/model").where == "missing"
    folder = snapshot(cache, "org/model")
    assert in_hub_cache("org/model").where == "missing"  # the configuration alone
    tensors(folder / "model.safetensors", (2, 2))
    for revision in ("", "main", COMMIT, COMMIT[:8]):
        found = in_hub_cache("org/model", revision)
        assert (found.where, Path(found.place)) == ("cached", folder)
    missing = in_hub_cache("org/model", "v2")
    assert (missing.where, missing.place) == ("missing", "org/model@v2")
    assert availability.cached_repositories() == ("org/model",)


def test_weights_in_parts_count_only_together(cache):
    folder = snapshot(cache, "org/large")
    parts = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
    names = {"weight_map": {"a": parts[0], "b": parts[1], "c": parts[1]}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(names))
    tensors(folder / parts[0], (4,))
    assert hf_weights("org/large").where == "missing"
    tensors(folder / parts[1], (6,))
    found = hf_weights("org/large")
    assert [file.name for file in found.files] == parts
    assert found.memory("float32") == 40


def test_a_folder_of_transformers_is_no_repository(cache, tmp_path):
    tensors(tmp_path / "model.safetensors", (2,))
    assert hf_weights(str(tmp_path)).where == "local"


def test_open_clip_in_the_hubs_cache(cache):
    name = "ViT-B-32/laion2b_s34b_b79k"
    assert open_clip_weights(name, "").where == "missing"
    folder = snapshot(cache, "laion/CLIP-ViT-B-32-laion2B-s34B-b79K")
    tensors(folder / "model.safetensors", (9,))  # of transformers: not what open_clip reads
    assert open_clip_weights(name, "").where == "missing"
    tensors(folder / "open_clip_model.safetensors", (9,))
    found = open_clip_weights(name, "")
    assert [file.name for file in found.files] == ["open_clip_model.safetensors"]
    hub = open_clip_weights("hf-hub:laion/CLIP-ViT-B-32-laion2B-s34B-b79K", "")
    assert hub == found


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda f: f"{f.role}-{f.name}")
def test_every_family_with_names_says_where_its_weights_are(family):
    for name in family.models:
        found = family.weights(ModelName(family.name, name), family.options())
        assert found.where in ("none", "shipped", "missing")


def test_no_download_where_the_user_forbids_it(monkeypatch):
    for forbidden in (False, True):
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", forbidden)
        assert availability.offline() == forbidden
