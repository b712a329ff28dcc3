"""Candidate groups from COCO instances with Visual Genome, GQA and VAW attributes."""

import json
from pathlib import Path
from typing import Any

import pytest

from bindbench.errors import UserError
from bindbench.instabind.annotations import Group, read_annotations
from bindbench.instabind.audit import audit
from bindbench.instabind.building import write_annotations
from bindbench.instabind.mining import MiningSettings, mine
from bindbench.instabind.photos import (
    Photos,
    read_attributes,
    read_coco,
    read_genome_images,
)

XYWH = tuple[float, float, float, float]
THREE: list[XYWH] = [
    (400.0, 100.0, 80.0, 60.0),
    (10.0, 90.0, 80.0, 60.0),
    (200.0, 110.0, 80.0, 60.0),
]


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def coco(tmp_path: Path, *things: tuple[str, XYWH, int]) -> Photos:
    """One image of COCO, 640 x 480: (class, box, iscrowd) of each instance."""
    names = sorted({name for name, _, _ in things})
    raw = {
        "licenses": [{"id": 4, "name": "Attribution License", "url": "http://l/by"}],
        "images": [
            {
                "id": 9,
                "file_name": "9.jpg",
                "width": 640,
                "height": 480,
                "license": 4,
                "flickr_url": "http://f/9",
            }
        ],
        "categories": [{"id": k, "name": name} for k, name in enumerate(names)],
        "annotations": [
            {
                "id": k,
                "image_id": 9,
                "category_id": names.index(name),
                "bbox": list(box),
                "iscrowd": crowd,
            }
            for k, (name, box, crowd) in enumerate(things)
        ],
    }
    return read_coco(written(tmp_path / "instances.json", raw))


def genome(
    tmp_path: Path, *things: tuple[str, XYWH, list[str]], scale: float = 1.0, coco_id: Any = 9
) -> Photos:
    """The same image in Visual Genome, there of another size."""
    images = [
        {
            "image_id": 77,
            "width": int(640 * scale),
            "height": int(480 * scale),
            "coco_id": coco_id,
            "url": "http://vg/77",
        }
    ]
    known = read_genome_images(written(tmp_path / "image_data.json", images))
    raw = [
        {
            "image_id": 77,
            "attributes": [
                {
                    "object_id": k,
                    "names": [name],
                    "attributes": words,
                    **dict(zip("xywh", (scale * v for v in box), strict=True)),
                }
                for k, (name, box, words) in enumerate(things)
            ],
        }
    ]
    return read_attributes(written(tmp_path / "attributes.json", raw), known)


def cars(tmp_path: Path, boxes: list[XYWH], crowd: int = 0) -> Photos:
    return coco(tmp_path, *(("car", box, crowd) for box in boxes))


def colored(tmp_path: Path, boxes: list[XYWH], *colors: list[str]) -> Photos:
    """Visual Genome's view of cars; its boxes are 4 pixels off."""
    return genome(
        tmp_path,
        *(
            ("vehicle", (x + 4, y + 4, w, h), words)
            for (x, y, w, h), words in zip(boxes, colors, strict=True)
        ),
    )


def refused(boxes: Photos, sources: list[Photos], settings: MiningSettings | None = None) -> str:
    """The reasons against the only group."""
    with pytest.raises(UserError) as caught:
        mine(boxes, sources, settings or MiningSettings())
    return str(caught.value)


def only(boxes: Photos, *sources: Photos) -> Group:
    pictures = mine(boxes, sources, MiningSettings()).annotations.images
    assert len(pictures) == len(pictures[0].same_class_groups) == 1
    return pictures[0].same_class_groups[0]


def test_a_group_has_its_order_its_source_and_no_surprises(tmp_path: Path) -> None:
    boxes = cars(tmp_path, THREE)
    attributes = colored(tmp_path, THREE, ["Grey", "parked"], ["red"], ["white", "shiny"])
    found = mine(boxes, [attributes], MiningSettings())
    assert found.refused == {}
    write_annotations(tmp_path / "mined.json", found.annotations)
    file = read_annotations(tmp_path / "mined.json")
    assert audit(file) == []
    (picture,) = file.annotations.images
    assert (picture.image_id, picture.image_path) == ("coco_9", "9.jpg")
    assert (picture.model_extra or {})["source"] == {
        "dataset": "COCO",
        "source_image_id": "9",
        "license": "Attribution License http://l/by",
        "url": "http://f/9",
    }
    (group,) = picture.same_class_groups
    assert (group.group_id, group.class_name, group.attribute_focus) == (
        "coco_9_car",
        "car",
        "color",
    )
    assert group.values() == ["red", "white", "gray"]
    assert [one.bbox_xywh[0] for one in group.instances] == [10, 200, 400]
    assert [one.order_label for one in group.instances] == ["leftmost", "middle", "rightmost"]
    assert group.instances[1].center_xy == [240, 140]


def test_boxes_of_another_copy_of_the_image_are_scaled(tmp_path: Path) -> None:
    words = [["blue"], ["red"], ["white"]]
    things = [("car", box, w) for box, w in zip(THREE, words, strict=True)]
    group = only(cars(tmp_path, THREE), genome(tmp_path, *things, scale=1.5))
    assert group.values() == ["red", "white", "blue"]


def test_each_filter_refuses_by_its_reason(tmp_path: Path) -> None:
    colors = ["red"], ["blue"], ["white"], ["green"], ["black"], ["pink"], ["orange"]

    def against(boxes: list[XYWH], *words: list[str], crowd: int = 0) -> str:
        given = words or colors[: len(boxes)]
        return refused(cars(tmp_path, boxes, crowd), [colored(tmp_path, boxes, *given)])

    def row(n: int, step: float = 90.0, width: float = 60.0, height: float = 60.0) -> list[XYWH]:
        return [(10 + step * k, 100.0, width, height) for k in range(n)]

    assert "(refused: few 1)" in against(row(2))
    assert "(refused: many 1)" in against(row(7))
    assert "(refused: crowd 1)" in against(row(3), crowd=1)
    assert "(refused: tiny 1)" in against(row(3, width=23.9))  # 24 pixels wide
    assert "(refused: tiny 1)" in against(row(3, width=30, height=51))  # 1,536 = 0.5% of the image
    assert "(refused: order 1)" in against(row(3, step=20.9))  # 0.35 of 60 is 21
    assert "(refused: overlap 1)" in against(row(3, step=23.9))  # 36.1 of 60 is over 60%
    assert "(refused: unknown 1)" in against(row(3), ["red"], ["parked"], ["white"])
    assert "(refused: ambiguous 1)" in against(row(3), ["red"], ["blue", "black"], ["white"])
    assert "(refused: alike 1)" in against(row(3), ["red"], ["gray"], ["grey"])


@pytest.mark.parametrize(
    ("step", "width", "height"), [(90.0, 24.0, 64.0), (90.0, 30.0, 51.3), (24.1, 60.0, 60.0)]
)
def test_what_is_just_within_the_limits_passes(
    tmp_path: Path, step: float, width: float, height: float
) -> None:
    boxes: list[XYWH] = [(10 + step * k, 100.0, width, height) for k in range(3)]
    things = [("car", b, [c]) for b, c in zip(boxes, ("red", "blue", "white"), strict=True)]
    assert only(cars(tmp_path, boxes), genome(tmp_path, *things)).values() == [
        "red",
        "blue",
        "white",
    ]


def test_a_value_alone_may_be_multicolor_or_transparent(tmp_path: Path) -> None:
    attributes = colored(tmp_path, THREE, ["clear"], ["multicolor"], ["white"])
    group = only(cars(tmp_path, THREE), attributes)
    assert group.values() == ["multicolor", "white", "transparent"]


def test_persons_are_asked_about_the_one_garment_on_them(tmp_path: Path) -> None:
    persons: list[XYWH] = [(10.0 + 150 * k, 100.0, 100.0, 300.0) for k in range(3)]
    boxes = coco(tmp_path, *(("person", box, 0) for box in persons))
    worn = [
        ("shirt", (x + 10, y + 50, w - 20, 100.0), [color])
        for (x, y, w, _), color in zip(persons, ("red", "blue", "white"), strict=True)
    ]
    # What is said of persons, and what they wear elsewhere, is not read.
    people = [("man", box, ["black", "tall"]) for box in persons]
    shoes = [("shoes", (12.0, 380.0, 50.0, 20.0), ["green"])]
    group = only(boxes, genome(tmp_path, *worn, *people, *shoes))
    assert (group.class_name, group.attribute_focus) == ("person", "upper_clothing_color")
    assert group.values() == ["red", "blue", "white"]
    jacket = [("jacket", (15.0, 150.0, 90.0, 100.0), ["black"])]
    assert "ambiguous 1" in refused(boxes, [genome(tmp_path, *worn, *jacket)])
    assert "unknown 1" in refused(boxes, [genome(tmp_path, *worn[:2], *people)])


def test_a_garment_on_two_persons_is_on_neither(tmp_path: Path) -> None:
    persons: list[XYWH] = [(10.0, 100.0, 100.0, 300.0), (60.0, 90.0, 100.0, 300.0)]
    persons.append((400.0, 100.0, 100.0, 300.0))
    boxes = coco(tmp_path, *(("person", box, 0) for box in persons))
    shirts = [
        ("shirt", (62.0, 150.0, 46.0, 100.0), ["red"]),
        ("shirt", (120.0, 150.0, 38.0, 100.0), ["blue"]),
        ("shirt", (410.0, 150.0, 80.0, 100.0), ["white"]),
    ]
    assert "unknown 1" in refused(boxes, [genome(tmp_path, *shirts)])


def test_gqa_alone_gives_its_own_boxes_once(tmp_path: Path) -> None:
    def thing(name: str, x: float, *words: str) -> dict[str, Any]:
        return {"name": name, "x": x, "y": 50, "w": 80, "h": 90, "attributes": list(words)}

    graph = {
        "width": 500,
        "height": 400,
        "objects": {
            "1": thing("cup", 300, "blue"),
            "2": thing("cup", 20, "red"),
            "3": thing("cup", 150, "white"),
            "4": thing("cup", 152),  # the third again
            "5": thing("people", 0),
            "6": thing("man", 10),
        },
    }
    found = mine(
        read_attributes(written(tmp_path / "gqa.json", {"245": graph}), {}), [], MiningSettings()
    )
    (picture,) = found.annotations.images
    assert (picture.image_id, picture.width) == ("gqa_245", 500)
    assert (picture.model_extra or {})["source"]["license"] == ""
    assert picture.same_class_groups[0].values() == ["red", "white", "blue"]
    assert found.refused == {"crowd": 1}  # people beside a man: who else is there?


def test_vaw_gives_attributes_to_coco(tmp_path: Path) -> None:
    known = [{"image_id": 77, "width": 640, "height": 480, "coco_id": 9, "url": ""}]
    rows = [
        {
            "image_id": "77",
            "instance_id": str(k),
            "instance_bbox": list(box),
            "object_name": "car",
            "positive_attributes": words,
            "negative_attributes": ["green"],
        }
        for k, (box, words) in enumerate(
            zip(THREE, (["dark blue"], ["red"], ["tan", "beige"]), strict=True)
        )
    ]
    images = read_genome_images(written(tmp_path / "image_data.json", known))
    source = read_attributes(written(tmp_path / "vaw.json", rows), images)
    assert only(cars(tmp_path, THREE), source).values() == ["red", "beige", "blue"]


def test_only_the_classes_asked_for(tmp_path: Path) -> None:
    boxes = coco(tmp_path, *((n, b, 0) for n in ("car", "bus") for b in THREE))
    source = genome(
        tmp_path,
        *(("car", b, [c]) for b, c in zip(THREE, ("red", "blue", "white"), strict=True)),
    )
    found = mine(boxes, [source], MiningSettings(classes=("bus",)))
    assert [g.class_name for g in found.annotations.images[0].same_class_groups] == ["bus"]


def test_sources_without_a_common_image_are_an_error(tmp_path: Path) -> None:
    source = genome(tmp_path, ("car", THREE[0], ["red"]), coco_id=None)
    assert "no image in common" in refused(cars(tmp_path, THREE), [source])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "does not hold an object with images"),
        ({"images": [{"id": 1}], "annotations": [], "categories": []}, r"images\[0\] has no field"),
        (
            {
                "images": [{"id": 1, "file_name": "a", "width": 9, "height": 9}],
                "categories": [{"id": 1, "name": "car"}],
                "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3]}],
            },
            r"annotations\[0\] has the box \[1, 2, 3\]",
        ),
        (
            {
                "images": [{"id": 1, "file_name": "a", "width": 9, "height": 9}],
                "categories": [{"id": 1, "name": "car"}],
                "annotations": [{"image_id": 2, "category_id": 1, "bbox": [1, 2, 3, 4]}],
            },
            r"annotations\[0\] is in image 2",
        ),
    ],
)
def test_bad_instances_are_one_sentence(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_coco(written(tmp_path / "instances.json", value))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([{"x": 1}], "is no file of attributes"),
        ([], "is no file of attributes"),
        ([{"image_id": 1, "attributes": []}], r"\[0\] is image 1, whose size is not known"),
        (
            {"5": {"objects": {"7": {"name": "cup"}}, "width": 1, "height": 1}},
            r"5.objects.7 has no",
        ),
    ],
)
def test_bad_attributes_are_one_sentence(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_attributes(written(tmp_path / "attributes.json", value), {})
