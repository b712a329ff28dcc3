"""SugarCrepe (Hsieh et al., 2023): an image of COCO with a right and a wrong caption."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bindbench.errors import UserError, unknown_name
from bindbench.external.pictures import require

PARTITIONS = (
    *("add_att", "add_obj", "replace_att", "replace_obj", "replace_rel", "swap_att", "swap_obj"),
)
FIELDS = ("filename", "caption", "negative_caption")


@dataclass(frozen=True)
class CaptionPair:
    """One item; captions as published, with their stray spaces."""

    id: str
    partition: str
    file: str  # of the image, in COCO's folder val2017
    caption: str
    negative: str


def read_partition(folder: Path, partition: str) -> list[CaptionPair]:
    """Return the items of a partition from its JSON file, in the file's order.

    Raises:
        UserError: there is no such partition or file, or an entry lacks a caption.
    """
    if partition not in PARTITIONS:
        raise unknown_name("partition of SugarCrepe", partition, PARTITIONS)
    path = folder / f"{partition}.json"
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: give the folder with SugarCrepe's JSON.") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{path} is not JSON: {error}.") from None
    if not isinstance(entries, dict):
        raise UserError(f"{path} holds no object: each item stands under its number.")
    return [_pair(path, partition, key, entry) for key, entry in entries.items()]


def _pair(path: Path, partition: str, key: str, entry: object) -> CaptionPair:
    values = [entry.get(field) if isinstance(entry, dict) else None for field in FIELDS]
    for field, value in zip(FIELDS, values, strict=True):
        if not isinstance(value, str):
            raise UserError(f"{path}, item {key!r}: {field} is {value!r} and must be text.")
    file, caption, negative = map(str, values)
    return CaptionPair(f"{partition}/{key}", partition, file, caption, negative)


def find_images(pairs: Sequence[CaptionPair], folder: Path) -> dict[str, Path]:
    """Return the path of each item's image.

    Raises:
        UserError: some are missing; it names them.
    """
    paths = {pair.file: folder / pair.file for pair in pairs}
    require(paths, folder, "give the folder of COCO's val2017")
    return paths
