"""Published sets in each format: read, scored by a model that sees colors, and measured."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image as PILImage

from bindbench.errors import UserError
from bindbench.external.items import ExternalItem
from bindbench.external.readers import read_items
from bindbench.external.scores import blind_audit, measure, score_items
from bindbench.external.sugarcrepe import read_partition
from bindbench.external.sugarcrepe_scores import pair_accuracy, score_pairs
from bindbench.models.base import Scores

COLORS = {"red": (220, 30, 30), "blue": (30, 30, 220), "green": (20, 160, 40)}
PLAIN = [
    {"image": "red.png", "captions": ["a blue wall", "a red wall"], "index": 1},
    {"image": "blue.png", "captions": ["a blue wall", "a red wall", "a green wall"], "index": 0},
    # Not true of the picture: the model must get it wrong.
    {"image": "green.png", "captions": ["a green wall", "a red wall"], "index": 1},
    # Both say the same of it: a tie, which is a loss.
    {"image": "sub/red.png", "captions": ["a red wall", "the red wall"], "index": 0},
]


class Looks:
    """Scores a caption by how near its color is to the picture's."""

    dtype, method = "float64", "color"

    def score(self, requests) -> list[Scores]:
        return [Scores(np.array([near(r.image, t) for t in r.texts])) for r in requests]


def near(image: np.ndarray, text: str) -> float:
    color = next(rgb for name, rgb in COLORS.items() if name in text)
    return -float(np.abs(image.mean(axis=(0, 1)) - color).sum())


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A folder with a picture of each color."""
    folder = tmp_path / "pictures"
    (folder / "sub").mkdir(parents=True)
    for name in ("red", "blue", "green", "sub/red"):
        wall(folder / f"{name}.png", COLORS[name.removeprefix("sub/")])
    return folder


def wall(path: Path, color: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    PILImage.fromarray(np.full((8, 8, 3), color, np.uint8)).save(path)


def written(path: Path, rows: list[dict]) -> Path:
    """Write rows in the format of the file's ending."""
    if path.suffix == ".json":
        path.write_text(json.dumps(rows, indent=1))
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(rows[0])
            for row in rows:
                cells = (json.dumps(v) if isinstance(v, list) else v for v in row.values())
                writer.writerow(cells)
    return path


def measured(form: str, items: list[ExternalItem], folder: Path) -> dict[tuple[str, str], dict]:
    scores = list(score_items(Looks(), "looks", items, folder, batch_size=3))
    rows = measure(form, items, scores, Looks.dtype)
    return {(row["subset"], row["measure"]): row for row in rows}


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "parquet"])
def test_plain_files_of_each_kind_give_the_same_known_numbers(tmp_path, pictures, ending):
    items = read_items("plain", written(tmp_path / f"set.{ending}", PLAIN))
    assert [item.captions for item in items] == [tuple(row["captions"]) for row in PLAIN]
    found = measured("plain", items, pictures)
    (row,) = found.values()
    assert row["n_items"] == 4
    assert row["accuracy"] == 2 / 4
    assert row["tie_rate"] == 1 / 4
    assert row["credit"] == (1 + 1 + 0 + 1 / 2) / 4
    assert row["chance"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 2 + 1 / 2) / 4)
    assert row["low"] < row["accuracy"] < row["high"]


def test_subsets_and_groups_of_a_plain_file(tmp_path, pictures):
    marks = [("a", "one"), ("a", "one"), ("b", "two"), ("b", "")]
    rows = [row | {"subset": s, "group": g} for row, (s, g) in zip(PLAIN, marks, strict=True)]
    found = measured("plain", read_items("plain", written(tmp_path / "s.json", rows)), pictures)
    assert found["a", "accuracy"]["accuracy"] == 1
    assert found["b", "accuracy"]["accuracy"] == 0
    # "one" is right as a whole and "two" is not; the last item is in no group.
    assert found["all", "group"]["accuracy"] == 1 / 2
    assert found["all", "group"]["n_items"] == 2
    assert found["all", "group"]["chance"] == pytest.approx((1 / 2 * 1 / 3 + 1 / 2) / 2)


def test_winoground_has_text_image_and_group_scores(tmp_path, pictures):
    rows = [
        # Each picture and caption has its own color: all is right.
        {"id": 7, "image_0": "red", "image_1": "blue", "caption_0": "red", "caption_1": "blue"},
        # Both pictures are red: caption 0 wins for both, and each picture ties for a caption.
        {"id": 8, "image_0": "red", "image_1": "sub/red", "caption_0": "red", "caption_1": "blue"},
    ]
    items = read_items("winoground", written(tmp_path / "examples.jsonl", rows))
    assert [(item.id, item.image, item.right) for item in items[:2]] == [
        ("7/0", "red.png", 0),
        ("7/1", "blue.png", 1),
    ]
    found = measured("winoground", items, pictures)
    assert found["all", "accuracy"]["accuracy"] == 3 / 4
    for name, chance in (("text", 1 / 4), ("image", 1 / 4), ("group", 1 / 6)):
        assert found["all", name]["accuracy"] == 1 / 2
        assert found["all", name]["chance"] == chance
        assert found["all", name]["n_items"] == 2


def test_aro_shows_the_box_alone(tmp_path, pictures):
    halves = np.zeros((10, 20, 3), np.uint8)
    halves[:, :10], halves[:, 10:] = COLORS["red"], COLORS["blue"]
    PILImage.fromarray(halves).save(pictures / "halves.png")
    common = {"image_path": "halves.png", "bbox_y": 2, "bbox_w": 6, "bbox_h": 5}
    rows = [
        common
        | {"bbox_x": 12, "true_caption": "blue", "false_caption": "red", "relation_name": "on"},
        common
        | {"bbox_x": 1, "true_caption": "blue", "false_caption": "red", "attributes": ["a", "b"]},
    ]
    items = read_items("aro", written(tmp_path / "visual_genome_relation.json", rows))
    found = measured("aro", items, pictures)
    assert found["on", "accuracy"]["accuracy"] == 1  # the right half is blue
    assert found["a_b", "accuracy"]["accuracy"] == 0  # the left one is red


def test_whats_up_counts_sets_of_photographs(tmp_path, pictures):
    names = ["mug_left_of_box", "mug_on_box", "cap_left_of_box", "cap_on_box"]
    colors = ["red", "red", "red", "blue"]
    rows = []
    for name, color in zip(names, colors, strict=True):
        wall(pictures / "data" / f"{name}.jpeg", COLORS[color])
        path = f"data/{name}.jpeg"
        rows.append({"image_path": path, "caption_options": ["red", "blue", "green"]})
    items = read_items("whatsup", written(tmp_path / "controlled_images_dataset.json", rows))
    found = measured("whatsup", items, pictures)
    assert found["all", "accuracy"]["accuracy"] == 3 / 4
    assert found["left_of", "accuracy"]["accuracy"] == 1
    assert found["on", "accuracy"]["accuracy"] == 1 / 2
    assert found["all", "group"]["accuracy"] == 1 / 2  # all of the mug's, not all of the cap's


def test_whats_up_about_photographs_of_coco_and_visual_genome(tmp_path):
    for name, image in (("coco_qa_one_obj", "val2017/000000000042.jpg"), ("vg_qa_one_obj", None)):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps([[42, "a cup on the left", "a cup on the right"]]))
        (item,) = read_items("whatsup", path)
        assert item.image == (image or "vg_images/42.jpg")
        assert item.right_first == ("a cup on the left", "a cup on the right")


def test_sugarcrepe_is_scored_as_by_its_own_evaluation(tmp_path, pictures):
    entries = {
        str(i): {
            "filename": f"{color}.png",
            "caption": f"a {right} wall",
            "negative_caption": wrong,
        }
        for i, (color, right, wrong) in enumerate(
            [("red", "red", "a blue wall"), ("blue", "green", "a blue wall")]
        )
    }
    (tmp_path / "swap_att.json").write_text(json.dumps(entries))
    items = read_items("sugarcrepe", tmp_path / "swap_att.json")
    scores = np.array(list(score_items(Looks(), "looks", items, pictures, 2)))
    pairs = read_partition(tmp_path, "swap_att")
    theirs = score_pairs(Looks(), pairs, pictures, 2)
    assert np.array_equal(scores, theirs)
    row = measure("sugarcrepe", items, list(scores), "float64")[0]
    known = pair_accuracy(pairs, theirs, "float64")
    assert row["accuracy"] == known.accuracy == 1 / 2
    assert (row["low"], row["high"]) == (known.low, known.high)


def test_the_blind_audit_finds_planted_white_space_and_nothing_else():
    def item(i: int, right: str, wrong: str) -> ExternalItem:
        return ExternalItem(str(i), f"{i}.png", (wrong, right), 1)

    words = ["red", "blue"] * 20
    planted = [item(i, f"a {w} cup ", f"a {words[i - 1]} cup") for i, w in enumerate(words)]
    leaks = [cue for cue in blind_audit(planted) if cue.leak]
    assert {(cue.cue, cue.direction) for cue in leaks} == {("edge_space", "most")}
    assert leaks[0].accuracy == 1
    clean = [item(i, f"a {w} cup", f"a {words[i - 1]} cup") for i, w in enumerate(words)]
    assert not any(cue.leak for cue in blind_audit(clean))


def test_items_of_one_id_are_refused(tmp_path):
    rows = [PLAIN[0] | {"id": "x"}, PLAIN[1] | {"id": "x"}]
    with pytest.raises(UserError, match=r"line 2: the id 'x' is also that of .*line 1"):
        read_items("plain", written(tmp_path / "s.jsonl", rows))
