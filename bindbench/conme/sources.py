"""Where images come from, beside our own: a folder, a Hugging Face dataset, SugarCrepe's JSON."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from PIL import Image as PILImage
from PIL import ImageOps, UnidentifiedImageError

from bindbench.errors import UserError
from bindbench.external.sugarcrepe import CaptionPair, find_images, read_partition

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
Record = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """An image in a file, with what a benchmark says of it."""

    image_id: str
    path: str
    caption: str = ""
    items: tuple[tuple[str, str, str], ...] = ()  # id, right and wrong caption

    def record(self) -> Record:
        """Return the image with its columns.

        Raises:
            UserError: the file is no image.
        """
        try:
            data = upright(Path(self.path).read_bytes())
        except (OSError, SyntaxError, ValueError) as error:
            reason = _reason(error)
            raise UserError(f"{self.path} can't be read as an image ({reason}).") from None
        return record_of(self.image_id, data, Path(self.path).name, self.caption, self.items)


def record_of(
    image_id: str,
    data: bytes,
    file: str,
    caption: str = "",
    items: Sequence[tuple[str, str, str]] = (),
    truth: str = "",
) -> Record:
    """Return the columns of one image; ``truth`` is what a renderer truly drew, as JSON."""
    return {
        "image_id": image_id,
        "file": file,
        "caption": caption,
        "items": [dict(zip(("id", "caption", "negative"), one, strict=True)) for one in items],
        "image": {"bytes": data, "path": file},
        "truth": truth,
    }


def _reason(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):  # which names an address in memory
        return "its content is of no known kind"
    return str(error).splitlines()[0].rstrip(".")


def upright(data: bytes) -> bytes:
    """Return an image file as it is, or as PNG where a camera marked it as turned.

    Raises:
        OSError, SyntaxError, ValueError: it is no image.
    """
    with PILImage.open(io.BytesIO(data)) as image:
        image.load()
        if image.getexif().get(0x0112, 1) == 1:  # the tag of the orientation
            return data
        buffer = io.BytesIO()
        ImageOps.exif_transpose(image).save(buffer, "PNG")
        return buffer.getvalue()


def folder_entries(folder: Path, count: int | None) -> list[Entry]:
    """Return the images of a folder and of those in it, by their paths.

    Raises:
        UserError: there is no such folder, or no image in it.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder: name one with images.")
    paths = sorted(p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    if not paths:
        raise UserError(f"{folder} holds no images: give one with {', '.join(SUFFIXES[:4])} files.")
    return [Entry(p.relative_to(folder).as_posix(), str(p)) for p in paths[:count]]


def sugarcrepe_entries(
    annotations: Path, partition: str, images: Path, count: int | None
) -> list[Entry]:
    """Return the images of one of SugarCrepe's partitions, each with all its items.

    Raises:
        UserError: there is no such partition, or images are missing; it names them.
    """
    by_file: dict[str, list[CaptionPair]] = {}
    for pair in read_partition(annotations, partition):
        by_file.setdefault(pair.file, []).append(pair)
    chosen = dict(islice(by_file.items(), count))
    paths = find_images([pair for own in chosen.values() for pair in own], images)
    return [
        Entry(
            Path(file).stem,
            str(paths[file]),
            own[0].caption,
            tuple((pair.id, pair.caption, pair.negative) for pair in own),
        )
        for file, own in chosen.items()
    ]


@dataclass(frozen=True)
class DatasetSource:
    """A Hugging Face dataset: saved in a folder, in the folder's files, or of the hub."""

    path: str
    revision: str
    split: str
    column: str

    def open(self) -> Any:
        """Return the dataset, its images not decoded.

        Raises:
            UserError: there is no such dataset, split or column of images.
        """
        import datasets

        try:
            if (Path(self.path) / "state.json").is_file() or (
                Path(self.path) / "dataset_dict.json"
            ).is_file():
                found = datasets.load_from_disk(self.path)
            else:
                found = datasets.load_dataset(self.path, revision=self.revision or None)
        except (OSError, ValueError, ImportError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise UserError(f"The dataset {self.path} can't be loaded: {reason}.") from None
        if isinstance(found, dict):
            if self.split not in found:
                raise UserError(
                    f"The dataset {self.path} has no split {self.split!r}: name one of "
                    f"{', '.join(map(str, found))} as split."
                )
            found = found[self.split]
        if not isinstance(found.features.get(self.column), datasets.Image):
            images = [n for n, f in found.features.items() if isinstance(f, datasets.Image)]
            raise UserError(
                f"The dataset {self.path} has no images in a column {self.column!r}: name one of "
                f"{', '.join(images) or 'another dataset, as it has none'} as column."
            )
        return found.cast_column(self.column, datasets.Image(decode=False))

    def records(self, start: int, stop: int) -> list[Record]:
        """Return the images from ``start`` to ``stop``.

        Raises:
            UserError: one is missing, or no image.
        """
        opened = self.open()
        return [self._record(opened[i][self.column], i) for i in range(start, stop)]

    def _record(self, value: dict[str, Any] | None, i: int) -> Record:
        name = Path((value or {}).get("path") or f"{i}.png").name
        try:
            if value is None:
                raise ValueError("it is empty")
            data = value["bytes"] or Path(value["path"]).read_bytes()
            return record_of(f"{i:06d}", upright(data), name)
        except (OSError, SyntaxError, ValueError) as error:
            reason = _reason(error)
            raise UserError(
                f"Image {i} of the dataset {self.path} can't be read ({reason})."
            ) from None
