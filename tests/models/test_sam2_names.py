"""What the option ``segmenter`` may be, and what of it goes into a fingerprint."""

import importlib.util

import pytest

from bindbench.errors import UserError
from bindbench.models import sam2_names
from bindbench.models.sam2_names import find_segmenter, segmenter_identity, segmenter_weights


@pytest.mark.parametrize("name", ["facebook/sam2.1-hiera-large", "facebook/sam2-hiera-tiny"])
def test_a_published_model_is_known_with_its_configuration(name):
    source = find_segmenter(f"{name}@abc123", "")
    assert (source.repository, source.revision) == (name, "abc123")
    stem = name.rpartition("/")[2].replace("-", "_")
    assert source.file == f"{stem}.pt"
    assert source.config.is_file()
    assert source.config.stem == stem.replace("large", "l").replace("tiny", "t")


def test_a_file_or_folder_with_a_published_name_is_known(tmp_path):
    file = tmp_path / "sam2.1_hiera_base_plus.pt"
    file.write_bytes(b"weights")
    for name in (file, tmp_path):
        source = find_segmenter(str(name), "")
        assert (source.path, source.config.name) == (file, "sam2.1_hiera_b+.yaml")
        assert segmenter_weights(source).files == (file,)


def test_the_identity_of_a_file_follows_its_content_and_configuration(tmp_path):
    file, config = tmp_path / "mine.pt", tmp_path / "mine.yaml"
    file.write_bytes(b"one")
    config.write_text("model: {}")

    def identity() -> str:
        return segmenter_identity(find_segmenter(str(file), str(config)))

    first = identity()
    file.write_bytes(b"other")
    second = identity()
    config.write_text("model: {image_size: 512}")
    assert len({first, second, identity()}) == 3


def test_the_identity_of_a_published_model_is_its_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(
        sam2_names, "fetch_file", lambda *_: tmp_path / "snapshots" / "0123abc" / "file.pt"
    )
    name = "facebook/sam2.1-hiera-large"
    assert segmenter_identity(find_segmenter(name, "")) == "0123abc/sam2.1_hiera_large.pt"
    config = tmp_path / "mine.yaml"
    config.write_text("model: {}")
    found = segmenter_identity(find_segmenter(name, str(config)))
    assert found.startswith("0123abc/sam2.1_hiera_large.pt ")


@pytest.mark.parametrize(
    ("name", "config", "problem"),
    [
        ("facebook/sam2.1-hiera-big", "", "Unknown segmenter .*facebook/sam2.1-hiera-large"),
        ("/nowhere/sam.pt", "", "there is no such file or folder"),
        ("mine.pt", "", "there is no such file or folder"),
        ("HERE", "", "the folder holds 0 published checkpoints"),
        ("HERE/mine.pt", "", "the checkpoint does not say what it is: set .* segmenter_config"),
        ("HERE/mine.pt", "HERE/none.yaml", "there is no file .*none.yaml"),
    ],
)
def test_what_is_none_is_one_sentence(tmp_path, name, config, problem):
    (tmp_path / "mine.pt").write_bytes(b"weights")
    here = str(tmp_path)
    with pytest.raises(UserError, match=problem):
        find_segmenter(name.replace("HERE", here), config.replace("HERE", here))


def test_a_missing_package_is_one_sentence(monkeypatch):
    monkeypatch.setattr(sam2_names, "find_spec", lambda name: None)
    assert importlib.util.find_spec("sam2")  # it is here; the line above says it is not
    with pytest.raises(UserError, match="the package sam2 is missing: install it"):
        find_segmenter("facebook/sam2.1-hiera-large", "")
