"""Real images in the place of a generator: a folder of pictures and a table of what they show.

The table is that of Hugging Face's imagefolder, ``metadata.jsonl`` or ``metadata.csv``, with a
``file_name`` for each picture. What else a row holds says which concept it shows:

- ``concept_id``, as the captions of a suite have it, or
- ``task``, ``objects`` and ``labels``, which make that id, or
- ``caption`` alone: the caption of the suite, word by word.

``track`` (minimal or contextual) may be left out where a picture serves both. A ``caption`` beside
an id must be the suite's: the picture of another caption does not pass for it.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as PILImage
from PIL import ImageOps

from bindbench.concepts import Concept
from bindbench.errors import NAMED, UserError
from bindbench.models.base import GeneratedImage, Image, ImageRequest
from bindbench.models.file_digest import files_digest
from bindbench.tasks import TASKS, TRACKS, Track

TABLES = ("metadata.jsonl", "metadata.csv")
LIST = "|"  # between the objects, or the labels, in a cell of a CSV table


@dataclass(frozen=True)
class Record:
    """A row of the table."""

    line: int
    file: Path
    key: str  # a concept's id, or a caption if ``by_caption``
    by_caption: bool
    track: Track | None  # None: both
    caption: str  # empty: not given

    def found_by(self) -> list[tuple[bool, str, Track]]:
        """Return what requests find it by."""
        tracks = TRACKS if self.track is None else (self.track,)
        return [(self.by_caption, self.key, track) for track in tracks]


@dataclass(frozen=True)
class PictureFolder:
    """The pictures that a name stands for."""

    path: str
    table: Path
    state: tuple[int, int]  # of the table: its size and when it was changed
    records: tuple[Record, ...]


def open_folder(path: str) -> PictureFolder:
    """Read a folder's table; the pictures are looked for, and not opened.

    Raises:
        UserError: the folder or its table is missing, or a row names no picture, no concept, one
            that another row names, or something that does not exist.
    """
    name, folder = f"folder:{path}", Path(path).expanduser()
    table = next((folder / file for file in TABLES if (folder / file).is_file()), None)
    if table is None:
        raise UserError(
            f"{name}: {folder} holds no {' or '.join(TABLES)}: put one beside the pictures, with "
            "file_name and concept_id or caption in each row."
        )
    state = _state(table)
    records: list[Record] = []
    taken: dict[tuple[bool, str, Track], int] = {}
    for line, row in _rows(table):
        record = _record(table, line, row)
        for key in record.found_by():
            if key in taken:
                raise UserError(
                    f"{table}: lines {taken[key]} and {line} both give the {key[2]} picture of "
                    f"{key[1]!r}: keep one."
                )
            taken[key] = line
        records.append(record)
    if not records:
        raise UserError(f"{table} has no rows: write one for each picture.")
    return PictureFolder(path, table, state, tuple(records))


def identity_of(folder: PictureFolder) -> dict[str, str]:
    """Return the hash of the table and of its pictures."""
    return {"files": files_digest({folder.table, *(record.file for record in folder.records)})}


class FolderGenerator:
    """Gives the picture of each request's concept and track."""

    def __init__(self, folder: PictureFolder, longest_side: int) -> None:
        self._folder, self._longest_side = folder, longest_side
        self._records = {key: record for record in folder.records for key in record.found_by()}

    def fresh(self) -> "FolderGenerator":
        """Return the same with the table as it is now: pictures are added while a process lives."""
        if self._folder.table.is_file() and _state(self._folder.table) == self._folder.state:
            return self
        return FolderGenerator(open_folder(self._folder.path), self._longest_side)

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return one picture for each request.

        Raises:
            UserError: there is none for some of them, it can't be read, or it is the picture of
                another caption.
        """
        found = [self._find(request) for request in requests]
        missing = [r for r, record in zip(requests, found, strict=True) if record is None]
        if missing:
            named = ", ".join(f"{r.concept.id} {r.track}" for r in missing[:NAMED])
            more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
            raise UserError(
                f"{self._folder.table} has no picture for {len(missing)} of {len(requests)} "
                f"captions ({named}{more}), the first is {missing[0].caption!r}: add them, or ask "
                "for fewer concepts."
            )
        return [
            GeneratedImage(read_picture(record.file, self._longest_side))
            for record in found
            if record is not None
        ]

    def _find(self, request: ImageRequest) -> Record | None:
        caption = _words(request.caption)
        keys = ((False, request.concept.id), (True, caption))
        records = [self._records.get((*key, request.track)) for key in keys]
        record = next((record for record in records if record is not None), None)
        if record is not None and record.caption and _words(record.caption) != caption:
            raise UserError(
                f"{self._folder.table}: line {record.line} is the picture of {record.caption!r}, "
                f"but the {request.track} caption of concept {request.concept.id} is now "
                f"{request.caption!r}: picture that, or correct the row."
            )
        return record


def read_picture(file: Path, longest_side: int) -> Image:
    """Return a picture as it is seen: turned as its camera says, on white where it is transparent.

    Args:
        file: the picture.
        longest_side: a larger picture is reduced to it, in pixels.

    Raises:
        UserError: it can't be read.
    """
    try:
        with PILImage.open(file) as opened:
            picture = ImageOps.exif_transpose(opened)
            if picture.has_transparency_data:
                picture = picture.convert("RGBA")
                white = PILImage.new("RGBA", picture.size, "white")
                picture = PILImage.alpha_composite(white, picture)
            picture = picture.convert("RGB")
    except (OSError, SyntaxError, ValueError, PILImage.DecompressionBombError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(f"The picture {file} can't be read ({reason}): replace it.") from error
    if max(picture.size) > longest_side:
        picture.thumbnail((longest_side, longest_side), PILImage.Resampling.LANCZOS)
    return np.asarray(picture)


def _state(table: Path) -> tuple[int, int]:
    found = table.stat()
    return found.st_size, found.st_mtime_ns


def _rows(table: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, fields) of a table; empty cells and nulls are left out."""
    try:
        text = table.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{table} is no text in UTF-8: save it as such.") from None
    if table.suffix == ".csv":
        reader = csv.DictReader(io.StringIO(text, newline=""))
        for fields in reader:
            yield (
                reader.line_num,
                {k: v for k, v in fields.items() if k and isinstance(v, str) and v},
            )
        return
    for line, content in enumerate(text.split("\n"), 1):
        if content.strip():
            try:
                fields = json.loads(content)
            except ValueError:
                fields = None
            if not isinstance(fields, dict):
                raise UserError(f"{table}: line {line} is no JSON object: write one in each line.")
            yield line, {key: value for key, value in fields.items() if value not in (None, "")}


def _record(table: Path, line: int, row: dict[str, Any]) -> Record:
    def fail(what: str) -> UserError:
        return UserError(f"{table}: line {line} {what}.")

    if not isinstance(row.get("file_name"), str):
        raise fail("has no file_name: give the picture's path from the table's folder")
    file = table.parent / row["file_name"]
    if not file.is_file():
        raise fail(f"names the picture {row['file_name']!r}, which is not there: correct file_name")
    track = row.get("track")
    if track is not None and track not in TRACKS:
        raise fail(f"has the track {track!r}: write {' or '.join(TRACKS)}, or nothing for both")
    caption = str(row.get("caption", ""))
    if "concept_id" in row:
        return Record(line, file, str(row["concept_id"]), False, track, caption)
    if named := [field for field in ("task", "objects", "labels") if field in row]:
        if len(named) < 3:
            raise fail(f"has {named[0]} without the others of task, objects and labels: give all")
        return Record(line, file, _concept(row, fail).id, False, track, caption)
    if caption:
        return Record(line, file, _words(caption), True, track, caption)
    raise fail("says no concept: give concept_id, or task, objects and labels, or caption")


def _concept(row: dict[str, Any], fail: Any) -> Concept:
    if row["task"] not in TASKS:
        raise fail(f"has the task {row['task']!r}: write one of {', '.join(TASKS)}")
    lists: list[tuple[str, ...]] = []
    for field in ("objects", "labels"):
        value = row[field].split(LIST) if isinstance(row[field], str) else row[field]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise fail(
                f"has {field} that are no list of texts: write them as a JSON list, or "
                f"with {LIST} between them in a CSV table"
            )
        lists.append(tuple(item.strip() for item in value))
    return Concept(row["task"], lists[0], lists[1])


def _words(caption: str) -> str:
    """Return a caption for comparison: spaces and case don't count."""
    return " ".join(caption.split()).lower()
