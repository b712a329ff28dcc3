"""SugarCrepe's partitions, from made-up files and from the published ones."""

import json
import os
from pathlib import Path

import pytest

from bindbench.errors import UserError
from bindbench.external.sugarcrepe import PARTITIONS, CaptionPair, find_images, read_partition

REFERENCE = os.environ.get("BINDBENCH_REFERENCE", "")
COUNTS = {
    "add_att": 692,
    "add_obj": 2062,
    "replace_att": 788,
    "replace_obj": 1652,
    "replace_rel": 1406,
    "swap_att": 666,
    "swap_obj": 245,
}


def write(folder: Path, entries: object) -> None:
    (folder / "swap_obj.json").write_text(json.dumps(entries), encoding="utf-8")


def test_captions_are_kept_as_they_stand(tmp_path: Path) -> None:
    write(tmp_path, {"7": {"filename": "a.jpg", "caption": " A cat. ", "negative_caption": "No"}})
    assert read_partition(tmp_path, "swap_obj") == [
        CaptionPair("swap_obj/7", "swap_obj", "a.jpg", " A cat. ", "No")
    ]


def test_bad_files_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean swap_obj"):
        read_partition(tmp_path, "swap_objects")
    with pytest.raises(UserError, match="does not exist"):
        read_partition(tmp_path, "swap_obj")
    write(tmp_path, {"7": {"filename": "a.jpg", "caption": "A cat."}})
    with pytest.raises(UserError, match="item '7': negative_caption is None"):
        read_partition(tmp_path, "swap_obj")
    write(tmp_path, [])
    with pytest.raises(UserError, match="holds no object"):
        read_partition(tmp_path, "swap_obj")


def test_missing_images_are_listed(tmp_path: Path) -> None:
    pairs = [CaptionPair(f"p/{i}", "p", f"{i}.jpg", "a", "b") for i in range(8)]
    (tmp_path / "3.jpg").touch()
    with pytest.raises(UserError, match=r"7 of 8 images .*0.jpg, 1.jpg, 2.jpg, 4.jpg.* and 2 more"):
        find_images(pairs, tmp_path)
    assert find_images(pairs[3:4], tmp_path) == {"3.jpg": tmp_path / "3.jpg"}


@pytest.mark.reference
@pytest.mark.skipif(not REFERENCE, reason="BINDBENCH_REFERENCE is not set")
def test_the_published_partitions_have_their_sizes() -> None:
    folder = Path(REFERENCE) / "sugarcrepe"
    found = {name: len(read_partition(folder, name)) for name in PARTITIONS}
    assert found == COUNTS
