"""A folder of pictures in the place of a generator, alone and through the asset images."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PILImage

from bindbench.concepts import Concept
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import ImageRequest
from bindbench.models.folder_generator import read_picture
from bindbench.pipeline import captions, concept_set, images, vocabularies
from bindbench.pipeline.base import Context
from bindbench.storage.store import Store
from bindbench.suite import RoleSettings, VocabularySources, resolve_suite
from bindbench.tasks import TRACKS, Track

KEY = "color-n2"
CUP = Concept("color", ("cup", "chair"), ("red", "blue"))
LAMP = Concept("position", ("lamp", "table"), ("above",))


def picture(file: Path, shade: int, size: tuple[int, int] = (64, 48)) -> None:
    PILImage.new("RGB", size, (shade, 10, 20)).save(file)


def shade_of(image: np.ndarray) -> int:
    assert image.dtype == np.uint8 and image.shape[2] == 3
    return int(image[0, 0, 0])


def request(concept: Concept, track: Track = "minimal", caption: str = "a red cup") -> ImageRequest:
    return ImageRequest(concept, caption, track, 7)


def write(folder: Path, rows: list[dict[str, Any]], kind: str = "jsonl") -> None:
    """Write a table and a picture of its own shade for each row, starting at 100."""
    folder.mkdir(exist_ok=True)
    rows = [{"file_name": f"{i}.png"} | row for i, row in enumerate(rows)]
    for i, row in enumerate(rows):
        picture(folder / row["file_name"], 100 + i)
    table = folder / f"metadata.{kind}"
    if kind == "jsonl":
        table.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, sorted({name for row in rows for name in row}))
        writer.writeheader()
        writer.writerows(rows)


def load(folder: Path, **options: Any) -> Any:
    settings = RoleSettings(model=f"folder:{folder}", options=options)
    return registry.load("generator", settings, VocabularySources())


def said(folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        registry.resolve("generator", RoleSettings(model=f"folder:{folder}"))
    return str(caught.value)


LISTS = {
    "jsonl": {"task": "position", "objects": ["lamp", "table"], "labels": ["above"]},
    "csv": {"task": "position", "objects": "lamp|table", "labels": "above"},
}


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_picture_is_found_by_concept_and_track(kind, tmp_path):
    rows = [
        {"concept_id": CUP.id, "track": "contextual"},
        {"concept_id": CUP.id, "track": "minimal", "caption": "A  red cup"},
        LISTS[kind],  # of both tracks
        {"caption": "A green lamp,\non a table"},
    ]
    write(tmp_path, rows, kind)
    asked = [
        request(LAMP, "minimal"),
        request(CUP, "minimal"),
        request(CUP, "contextual", "whatever"),
        request(LAMP, "contextual"),
        request(Concept("color", ("lamp",), ("green",)), caption="a green lamp, on a table"),
    ]
    made = load(tmp_path).generate(asked)
    assert [shade_of(item.image) for item in made] == [102, 101, 100, 102, 103]
    assert all(item.truth is None for item in made)
    assert made[0].image.shape == (48, 64, 3)


def test_captions_without_a_picture_are_named(tmp_path):
    write(tmp_path, [{"concept_id": CUP.id, "track": "minimal"}])
    asked = [request(CUP), request(CUP, "contextual", "a red cup at home"), request(LAMP)]
    with pytest.raises(UserError) as caught:
        load(tmp_path).generate(asked)
    assert str(caught.value) == (
        f"{tmp_path}/metadata.jsonl has no picture for 2 of 3 captions ({CUP.id} contextual, "
        f"{LAMP.id} minimal), the first is 'a red cup at home': add them, or ask for fewer "
        "concepts."
    )


def test_a_picture_of_another_caption_is_refused(tmp_path):
    write(tmp_path, [{"concept_id": CUP.id, "caption": "a red cup and a blue chair"}])
    with pytest.raises(UserError, match=r"line 1 is the picture of 'a red cup and a blue chair'"):
        load(tmp_path).generate([request(CUP)])


def test_pictures_are_reduced_turned_and_put_on_white(tmp_path):
    wide = PILImage.new("RGB", (300, 100), "red")
    wide.paste("blue", (0, 0, 150, 100))  # the left half
    exif = PILImage.Exif()
    exif[0x0112] = 6  # it is to be turned clockwise by a quarter
    wide.save(tmp_path / "turned.png", exif=exif)
    turned = read_picture(tmp_path / "turned.png", 150)
    assert turned.shape == (150, 50, 3)
    assert tuple(turned[10, 25]) == (0, 0, 255) and tuple(turned[-10, 25]) == (255, 0, 0)
    clear = PILImage.new("RGBA", (64, 64), (0, 0, 0, 0))
    clear.paste((0, 255, 0, 255), (0, 0, 32, 64))
    clear.save(tmp_path / "clear.png")
    seen = read_picture(tmp_path / "clear.png", 1024)
    assert tuple(seen[5, 5]) == (0, 255, 0) and tuple(seen[5, 60]) == (255, 255, 255)
    gray = PILImage.new("L", (64, 64), 77)
    gray.save(tmp_path / "gray.jpg")
    assert read_picture(tmp_path / "gray.jpg", 1024).tolist() == [[[77] * 3] * 64] * 64
    (tmp_path / "broken.png").write_bytes((tmp_path / "clear.png").read_bytes()[:60])
    with pytest.raises(UserError, match=r"The picture .*broken.png can't be read \(.+\): replace"):
        read_picture(tmp_path / "broken.png", 1024)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([{"track": "minimal"}], "line 1 says no concept: give concept_id, or task, objects"),
        ([{"concept_id": "x", "track": "both"}], "line 1 has the track 'both': write minimal or"),
        ([{"concept_id": "x"}, {"concept_id": "x", "track": "minimal"}], "lines 1 and 2 both give"),
        ([{"caption": "A cup"}, {"caption": "a cup "}], "both give the minimal picture of 'a cup'"),
        ([{"task": "color", "objects": ["cup"]}], "line 1 has task without the others of task"),
        (
            [{"task": "colour", "objects": ["cup"], "labels": ["red"]}],
            "line 1 has the task 'colour': write one of color, shape_color",
        ),
        (
            [{"task": "color", "objects": [1], "labels": ["red"]}],
            "line 1 has objects that are no list of texts: write them as a JSON list",
        ),
        ([], "has no rows: write one for each picture"),
    ],
)
def test_a_table_that_says_nothing_clear_is_refused(rows, reason, tmp_path):
    write(tmp_path, rows)
    assert reason in said(tmp_path)


def test_folders_and_tables_that_can_not_be_read(tmp_path):
    assert "holds no metadata.jsonl or metadata.csv: put one beside the pic" in said(tmp_path)
    table = tmp_path / "metadata.jsonl"
    table.write_text('{"file_name": "0.png", "concept_id": "x"}\n')
    assert "line 1 names the picture '0.png', which is not there: correct" in said(tmp_path)
    table.write_text('\n{"concept_id": "x"}\n')
    assert "line 2 has no file_name" in said(tmp_path)
    table.write_text("nothing\n")
    assert "line 1 is no JSON object" in said(tmp_path)
    table.write_bytes(b"\xff\xfe\x00")
    assert "is no text in UTF-8" in said(tmp_path)


def test_other_pictures_are_another_model(tmp_path):
    write(tmp_path, [{"concept_id": CUP.id}])
    settings = RoleSettings(model=f"folder:{tmp_path}")
    first = registry.describe("generator", settings)
    assert registry.describe("generator", settings) == first
    picture(tmp_path / "0.png", 7, (65, 48))
    assert registry.describe("generator", settings) != first


def test_own_pictures_through_the_asset(tmp_path):
    fields = {
        "name": "own",
        "benchmarks": [KEY],
        "concepts": 2,
        "overrides": {
            "shard_size": 1,
            "survival": {"captions": {"low": 0.0}},
            "generator": {"model": f"folder:{tmp_path / 'own'}"},
        },
    }
    suite = resolve_suite(fields, "own.yaml")
    context = Context(suite, Store(tmp_path / "store", suite.name), LocalEngine(1))
    vocabularies.build(context)
    concept_set.build(context, KEY)
    asked = captions.build(context, KEY).read().to_pylist()
    assert [(row["index"], row["track"]) for row in asked] == [
        (i, t) for i in (0, 1) for t in TRACKS
    ]
    # The table of captions, with a file name for each, is the folder's table; one is left out.
    rows = [
        {k: row[k] for k in ("concept_id", "track")} | {"caption": row["text"]} for row in asked
    ]
    write(tmp_path / "own", rows[:3])
    with pytest.raises(UserError, match=r"no picture for 1 of 2 captions \(\w+ contextual\)"):
        images.build(context, KEY)
    write(tmp_path / "own", rows)
    made = images.build(context, KEY).read().to_pylist()
    shades = [shade_of(images.decode_png(row["image"]["bytes"])) for row in made]
    assert shades == [100, 101, 102, 103]
    assert [row["caption"] for row in made] == [row["text"] for row in asked]
