"""Readers of published sets: each format's rows as items.

The fields, and what of a picture is shown, are those of the sets' own code: ARO (Yuksekgonul et
al., 2023) and What's Up (Kamath et al., 2023) in ``dataset_zoo/aro_datasets.py``, Winoground
(Thrush et al., 2022) in ``examples.jsonl``, SugarCrepe (Hsieh et al., 2023).
"""

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from bindbench.errors import UserError, unknown_name
from bindbench.external.items import ExternalItem
from bindbench.external.records import Record, read_records
from bindbench.external.sugarcrepe import PARTITIONS, read_partition

Reader = Callable[[Path], Iterator[ExternalItem]]


def read_items(form: str, data: Path) -> list[ExternalItem]:
    """Return the items of a file.

    Raises:
        UserError: there is no such format, or something in the file is wrong or comes twice.
    """
    if form not in READERS:
        raise unknown_name("format", form, READERS)
    items = list(READERS[form](data))
    seen: dict[str, str] = {}
    for item in items:
        if item.id in seen:
            raise UserError(f"{item.where}: the id {item.id!r} is also that of {seen[item.id]}.")
        seen[item.id] = item.where
    return items


def _plain(data: Path) -> Iterator[ExternalItem]:
    for number, record in enumerate(read_records(data)):
        captions = record.captions("captions")
        yield ExternalItem(
            id=record.text("id", str(number)),
            image=record.text("image"),
            captions=captions,
            right=record.index("index", len(captions)),
            subset=record.text("subset", ""),
            group=record.text("group", ""),
            where=record.where,
        )


def _winoground(data: Path) -> Iterator[ExternalItem]:
    for number, record in enumerate(read_records(data)):
        key = record.text("id", str(number))
        captions = record.text("caption_0"), record.text("caption_1")
        if captions[0] == captions[1]:
            raise record.wrong("caption_1", "another text than caption_0")
        for right in (0, 1):
            image = record.text(f"image_{right}")
            yield ExternalItem(
                id=f"{key}/{right}",
                image=image if PurePosixPath(image).suffix else f"{image}.png",
                captions=captions,
                right=right,
                subset=record.text("collapsed_tag", ""),
                group=key,
                where=record.where,
            )


def _aro(data: Path) -> Iterator[ExternalItem]:
    for number, record in enumerate(read_records(data)):
        left, top, width, height = (record.number(f"bbox_{name}") for name in "xywh")
        if width <= 0 or height <= 0:
            raise record.wrong("bbox_w" if width <= 0 else "bbox_h", "larger than 0")
        false, true = record.text("false_caption"), record.text("true_caption")
        if false == true:
            raise record.wrong("false_caption", "another text than true_caption")
        yield ExternalItem(
            id=str(number),
            image=record.text("image_path"),
            captions=(false, true),
            right=1,
            subset=_aro_subset(record),
            crop=(left, top, left + width, top + height),
            where=record.where,
        )


def _aro_subset(record: Record) -> str:
    """Return the relation, or both attributes."""
    attributes = record.values.get("attributes")
    if attributes is None:
        return record.text("relation_name", "")
    if not isinstance(attributes, list) or not all(isinstance(name, str) for name in attributes):
        raise record.wrong("attributes", "a list of texts")
    return "_".join(attributes)


def _whatsup(data: Path) -> Iterator[ExternalItem]:
    for number, record in enumerate(read_records(data)):
        yield (
            _controlled(record, number)
            if "image_path" in record.values
            else _asked(record, number, data)
        )


def _controlled(record: Record, number: int) -> ExternalItem:
    """Return an item of the photographs that were taken for it, in sets of four relations."""
    image = record.text("image_path")
    words = PurePosixPath(image).stem.split("_")
    if len(words) < 3:
        raise record.wrong("image_path", "named as in mug_on_table.jpeg")
    return ExternalItem(
        id=str(number),
        image=image,
        captions=record.captions("caption_options"),
        right=0,
        subset="_".join(words[1:-1]),
        group=f"{words[0]}/{words[-1]}",
        where=record.where,
    )


def _asked(record: Record, number: int, data: Path) -> ExternalItem:
    """Return an item about a photograph of COCO or Visual Genome: id, right and wrong text."""
    key, right, wrong = (record.text(name) for name in "012")
    if right == wrong:
        raise record.wrong("2", "another text than the right caption")
    genome = data.name.startswith("vg")
    return ExternalItem(
        id=str(number),
        image=f"vg_images/{key}.jpg" if genome else f"val2017/{key.zfill(12)}.jpg",
        captions=(right, wrong),
        right=0,
        where=record.where,
    )


def _sugarcrepe(data: Path) -> Iterator[ExternalItem]:
    """Yield the items of one partition's file, or of all in a folder."""
    folder, names = (data, PARTITIONS) if data.is_dir() else (data.parent, (data.stem,))
    for name in names:
        for pair in read_partition(folder, name):
            yield ExternalItem(
                id=pair.id,
                image=pair.file,
                captions=(pair.caption, pair.negative),
                right=0,
                subset=name,
                where=f"{folder / name}.json, item {pair.id}",
            )


READERS: dict[str, Reader] = {
    "plain": _plain,
    "winoground": _winoground,
    "aro": _aro,
    "whatsup": _whatsup,
    "sugarcrepe": _sugarcrepe,
}
