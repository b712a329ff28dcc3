"""What is known of photographs: things with their boxes and attributes, read from public data sets.

Each reader is for one file format. An image of Visual Genome (whose ids GQA and VAW share) is
known as one of COCO's by the ``coco_id`` in Visual Genome's ``image_data.json``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bindbench.errors import UserError
from bindbench.instabind.large_json import Node, load
from bindbench.models.base import Box


@dataclass(frozen=True)
class Photo:
    """An image."""

    path: str
    width: int  # pixels
    height: int
    source: Mapping[str, str]  # dataset, source_image_id, license, url; "": the file doesn't say
    coco_id: str = ""  # its id in COCO, if it is known there


@dataclass(frozen=True)
class Thing:
    """Something in an image, as an annotator boxed and described it."""

    name: str
    box: Box  # pixels
    words: tuple[str, ...] = ()  # its attributes
    crowd: bool = False  # a box around many


@dataclass(frozen=True)
class Photos:
    """Images by their ids, and what is in each."""

    photos: Mapping[str, Photo]
    things: Mapping[str, list[Thing]] = field(repr=False)


def read_coco(path: Path) -> Photos:
    """Read instances in COCO's format; they have no attributes.

    Raises:
        UserError: a field is missing or wrong; this holds for every reader.
    """
    raw = load(path, dict, "an object with images, annotations and categories")
    licenses = {row.value.get("id"): row.value for row in raw.rows("licenses", ())}
    names = {row["id"]: str(row["name"]) for row in raw.rows("categories")}
    photos = {}
    for row in raw.rows("images"):
        key, terms = str(row["id"]), licenses.get(row.value.get("license"), {})
        photos[f"coco_{key}"] = Photo(
            str(row["file_name"]),
            *row.size(),
            {
                "dataset": "COCO",
                "source_image_id": key,
                "license": " ".join(str(terms[k]) for k in ("name", "url") if terms.get(k)),
                "url": str(row.value.get("flickr_url") or row.value.get("coco_url") or ""),
            },
            key,
        )
    things: dict[str, list[Thing]] = {key: [] for key in photos}
    for row in raw.rows("annotations"):
        key, category = f"coco_{row['image_id']}", row["category_id"]
        if key not in photos:
            raise row.wrong(f"is in image {row['image_id']}, which is not in images")
        if category not in names:
            raise row.wrong(f"is of category {category}, which is not in categories")
        crowd = bool(row.value.get("iscrowd", 0))
        things[key].append(Thing(names[category], row.box(row["bbox"]), crowd=crowd))
    return Photos(photos, things)


def read_genome_images(path: Path) -> dict[str, Photo]:
    """Read Visual Genome's ``image_data.json``: sizes, addresses and ids in COCO, by image id."""
    photos = {}
    for row in load(path, list, "Visual Genome's list of images").rows():
        key, coco = str(row["image_id"]), row.value.get("coco_id")
        source = _source("Visual Genome", key, str(row.value.get("url") or ""))
        photos[key] = Photo(f"{key}.jpg", *row.size(), source, "" if coco is None else str(coco))
    return photos


def read_visual_genome(file: Node, images: Mapping[str, Photo]) -> Photos:
    """Read Visual Genome's ``attributes.json``."""
    photos: dict[str, Photo] = {}
    things: dict[str, list[Thing]] = {}
    for row in file.rows():
        key = str(row["image_id"])
        photos[f"vg_{key}"] = _photo(row, key, images, "Visual Genome")
        things[f"vg_{key}"] = [
            Thing(str(next(iter(one["names"]), "")), one.sides(), one.words("attributes"))
            for one in row.rows("attributes")
        ]
    return Photos(photos, things)


def read_gqa(file: Node, images: Mapping[str, Photo]) -> Photos:
    """Read GQA's scene graphs; ``images`` may be empty, as they hold the sizes themselves."""
    photos: dict[str, Photo] = {}
    things: dict[str, list[Thing]] = {}
    for graph in file.rows():
        key = graph.name
        known = images.get(key)
        source = _source("GQA", key, known.source["url"] if known else "")
        coco = known.coco_id if known else ""
        photos[f"gqa_{key}"] = Photo(f"{key}.jpg", *graph.size(), source, coco)
        things[f"gqa_{key}"] = [
            Thing(str(one["name"]), one.sides(), one.words("attributes"))
            for one in graph.rows("objects")
        ]
    return Photos(photos, things)


def read_vaw(file: Node, images: Mapping[str, Photo]) -> Photos:
    """Read a split of VAW."""
    photos: dict[str, Photo] = {}
    things: dict[str, list[Thing]] = {}
    for row in file.rows():
        key = str(row["image_id"])
        photos[f"vaw_{key}"] = _photo(row, key, images, "VAW")
        words = row.words("positive_attributes")
        thing = Thing(str(row["object_name"]), row.box(row["instance_bbox"]), words)
        things.setdefault(f"vaw_{key}", []).append(thing)
    return Photos(photos, things)


def read_attributes(path: Path, images: Mapping[str, Photo]) -> Photos:
    """Read a file of Visual Genome, GQA or VAW, whichever it is."""
    file = load(path)
    first = next(iter(file.rows()), None) if isinstance(file.value, dict | list) else None
    fields = first.value if first and isinstance(first.value, dict) else {}
    if isinstance(file.value, dict) and "objects" in fields:
        return read_gqa(file, images)
    if isinstance(file.value, list) and "positive_attributes" in fields:
        return read_vaw(file, images)
    if isinstance(file.value, list) and "attributes" in fields:
        return read_visual_genome(file, images)
    raise UserError(
        f"{path} is no file of attributes: give Visual Genome's attributes.json, GQA's scene "
        "graphs or a split of VAW."
    )


def _photo(row: Node, key: str, images: Mapping[str, Photo], dataset: str) -> Photo:
    if key not in images:
        raise row.wrong(
            f"is image {key}, whose size is not known: give Visual Genome's image_data.json with "
            "all images"
        )
    known = images[key]
    source = _source(dataset, key, known.source["url"])
    return Photo(known.path, known.width, known.height, source, known.coco_id)


def _source(dataset: str, key: str, url: str) -> dict[str, str]:
    return {"dataset": dataset, "source_image_id": key, "license": "", "url": url}
