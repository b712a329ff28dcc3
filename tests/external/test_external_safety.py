"""Files that somebody else made: each fault is one sentence that names file, row and field."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image as PILImage

from bindbench.errors import UserError
from bindbench.external.items import ExternalItem
from bindbench.external.pictures import find_pictures, read_picture
from bindbench.external.readers import read_items

GOOD = {"image": "a.png", "captions": ["a", "b"], "index": 0}
ARO = {
    **{"image_path": "a.png", "true_caption": "a", "false_caption": "b"},
    **{"bbox_x": 0, "bbox_y": 0, "bbox_w": 4, "bbox_h": 4},
}


def fault(form: str, path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(UserError) as caught:
        read_items(form, path)
    said = str(caught.value)
    assert str(path) in said
    assert "\n" not in said
    return said.replace(str(path), path.name)


def lines(*rows: object) -> str:
    return "\n".join(json.dumps(row) for row in rows)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "s.jsonl, line 2, has no field 'captions'"),
        (GOOD | {"image": 3.5}, "s.jsonl, line 2: image is 3.5 and must be text"),
        (GOOD | {"captions": "a"}, "line 2: captions is 'a' and must be a list of two different"),
        (GOOD | {"captions": ["a", "a"]}, "line 2: captions is ['a', 'a'] and must be"),
        (GOOD | {"index": 2}, "s.jsonl, line 2: index is 2 and must be a number from 0 to 1"),
        (GOOD | {"index": True}, "s.jsonl, line 2: index is True and must be a number"),
        ([], "s.jsonl, line 2, is not a JSON object"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(tmp_path, row, said):
    assert said in fault("plain", tmp_path / "s.jsonl", lines(GOOD | {"id": "x"}, row))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("s.json", '[\n{"image": "a"\n}', "s.json, line 3, is not JSON"),
        ("s.json", '{"image": "a"}', "s.json holds no list"),
        ("s.json", '[\n{\n"image": "a", "captions": ["a", "b"]}]', "s.json, line 2, has no field"),
        ("s.json", "[" * 100_000, "s.json holds lists in lists"),
        ("s.json", "[3]", "s.json, entry 0, is 3 and must be an object"),
        ("s.json", "[]", "s.json has no rows"),
        ("s.jsonl", lines(GOOD) + "\n{", "s.jsonl, line 2, is not JSON"),
        ("s.jsonl", b'{"image": "\xff"}', "s.jsonl is not UTF-8 at byte 11"),
        (
            "s.csv",
            "image,captions,index\na,b\n",
            "s.csv, line 2, has 2 cells, but the header has 3",
        ),
        ("s.csv", 'image,captions,index\na,"b\n', "s.csv, line 2, is not CSV"),
        ("s.csv", "image,captions,index\na,b,0\n", "s.csv, line 2: captions is 'b' and must be"),
        ("s.csv", "image,image\n", "s.csv, line 1, names a column twice"),
        ("s.parquet", "no parquet", "s.parquet can't be read as Parquet"),
        ("s.txt", "a", "Unknown kind of file '.txt' in s.txt"),
    ],
)
def test_a_malformed_file_of_each_kind(tmp_path, name, text, said):
    assert said in fault("plain", tmp_path / name, text)


def test_a_row_of_parquet_is_named(tmp_path):
    path = tmp_path / "s.parquet"
    pq.write_table(pa.Table.from_pylist([GOOD, GOOD | {"index": 5}]), path, row_group_size=1)
    with pytest.raises(UserError, match=r"s\.parquet, row 2: index is 5"):
        read_items("plain", path)


@pytest.mark.parametrize(
    ("form", "row", "said"),
    [
        ("winoground", {"caption_0": "a", "caption_1": "a"}, "line 1: caption_1 is 'a'"),
        ("winoground", {"caption_0": "a", "caption_1": "b"}, "line 1, has no field 'image_0'"),
        ("aro", ARO | {"bbox_w": 0}, "line 1: bbox_w is 0 and must be larger than 0"),
        ("aro", ARO | {"bbox_x": "1"}, "line 1: bbox_x is '1' and must be a number"),
        ("aro", ARO | {"false_caption": "a"}, "line 1: false_caption is 'a'"),
        ("aro", ARO | {"attributes": "red"}, "line 1: attributes is 'red'"),
        ("whatsup", {"image_path": "mug.jpg", "caption_options": ["a", "b"]}, "named as in"),
        ("whatsup", ["1", "a", "a"], "entry 0: 2 is 'a'"),
        ("whatsup", ["1", "a"], "entry 0, has no field '2'"),
    ],
)
def test_a_wrong_row_of_a_published_format(tmp_path, form, row, said):
    assert said in fault(form, tmp_path / "s.json", json.dumps([row]))


def test_an_unknown_format_gets_the_right_ones():
    with pytest.raises(UserError, match="did you mean winoground"):
        read_items("winground", Path("s.json"))


def item(image: str, **fields) -> ExternalItem:
    return ExternalItem("0", image, ("a", "b"), 0, where="s.json, line 4", **fields)


@pytest.mark.parametrize("image", ["../secret.png", "/etc/secret.png", "sub/../../s.png", "C:\\a"])
def test_a_path_that_leaves_its_folder_is_refused(tmp_path, image):
    (tmp_path / "in").mkdir()
    PILImage.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    with pytest.raises(UserError, match=r"s\.json, line 4: the picture .* is outside"):
        find_pictures([item(image)], tmp_path / "in")


def test_a_link_out_of_the_folder_is_refused_and_one_inside_is_not(tmp_path):
    (tmp_path / "in").mkdir()
    PILImage.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    PILImage.new("RGB", (4, 4)).save(tmp_path / "in" / "a.png")
    (tmp_path / "in" / "out.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "in" / "b.png").symlink_to(tmp_path / "in" / "a.png")
    with pytest.raises(UserError, match="is outside"):
        find_pictures([item("out.png")], tmp_path / "in")
    assert list(find_pictures([item("b.png")], tmp_path / "in")) == ["b.png"]


def test_missing_pictures_are_listed(tmp_path):
    PILImage.new("RGB", (4, 4)).save(tmp_path / "here.png")
    wanted = [item("here.png"), *(item(f"{i}.png") for i in range(7))]
    said = r"7 of 8 images are not in .* \(0.png, 1.png, 2.png, 3.png, 4.png and 2 more\)"
    with pytest.raises(UserError, match=said):
        find_pictures(wanted, tmp_path)


# Both are some kilobytes on disk. Pillow itself warns of more than 89 million pixels.
@pytest.mark.parametrize("size", [(9_000, 8_000), (12_000, 9_000), (20_000, 10_000)])
def test_a_decompression_bomb_is_refused(tmp_path, size):
    path = tmp_path / "bomb.png"
    PILImage.new("1", size).save(path)
    assert path.stat().st_size < 100_000
    with pytest.raises(UserError, match=r"bomb\.png has .* pixels: give a picture of at most 64,0"):
        read_picture(path, item("bomb.png"))


def test_what_is_no_picture_or_of_a_kind_that_runs_programs_is_refused(tmp_path):
    PILImage.new("RGB", (4, 4)).save(tmp_path / "a.eps")
    (tmp_path / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    for name in ("a.eps", "b.png"):
        with pytest.raises(UserError, match=f"{name} can't be read as a picture"):
            read_picture(tmp_path / name, item(name))


def test_a_box_outside_its_picture_is_refused(tmp_path):
    PILImage.new("RGB", (4, 4)).save(tmp_path / "a.png")
    with pytest.raises(UserError, match=r"s\.json, line 4: its box has no pixels"):
        read_picture(tmp_path / "a.png", item("a.png", crop=(9, 9, 12, 12)))
    assert read_picture(tmp_path / "a.png", item("a.png", crop=(1, 1, 9, 3))).shape == (2, 3, 3)
