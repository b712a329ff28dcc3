"""Pictures of a set that somebody else made: found in their folder alone, and of a sane size."""

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
from PIL import Image as PILImage

from bindbench.errors import NAMED, UserError
from bindbench.external.items import ExternalItem
from bindbench.models.base import Box, Image

MOST_PIXELS = 64_000_000  # a decoded picture takes three bytes for each
# What photographs come as. Pillow reads others by programs that it starts.
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")


def find_pictures(items: Sequence[ExternalItem], folder: Path) -> dict[str, Path]:
    """Return the file of each picture.

    Raises:
        UserError: a path leaves the folder, or pictures are missing; it names them.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder: give the one that holds the pictures.")
    root = folder.resolve()
    paths = {item.image: _inside(item, folder, root) for item in items}
    require(paths, folder, "give the folder that their paths begin in")
    return paths


def require(paths: Mapping[str, Path], folder: Path, advice: str) -> None:
    """Raise a UserError that names pictures that are missing, if any are."""
    missing = sorted(name for name, path in paths.items() if not path.is_file())
    if missing:
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        raise UserError(
            f"{len(missing)} of {len(paths)} images are not in {folder} "
            f"({', '.join(missing[:NAMED])}{more}): {advice}."
        )


def _inside(item: ExternalItem, folder: Path, root: Path) -> Path:
    """Return where a picture is, if that is in the folder, links followed."""
    name, path = PurePosixPath(item.image), folder / item.image
    leaves = name.is_absolute() or PureWindowsPath(item.image).is_absolute() or ".." in name.parts
    if leaves or "\0" in item.image or not path.resolve().is_relative_to(root):
        raise UserError(
            f"{item.where}: the picture {item.image!r} is outside {folder}: give a path in it."
        )
    return path


def read_picture(path: Path, item: ExternalItem) -> Image:
    """Return the picture of an item, or the part of it that is shown.

    Raises:
        UserError: it is too large or can't be read, or the part has no pixels.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PILImage.DecompressionBombWarning)
            with PILImage.open(path, formats=FORMATS) as image:
                if math.prod(image.size) > MOST_PIXELS:
                    raise _too_large(path, "{} x {}".format(*image.size))
                whole = image.convert("RGB")
    except (PILImage.DecompressionBombError, PILImage.DecompressionBombWarning):
        raise _too_large(path, "too many") from None
    except (OSError, SyntaxError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(f"{path} can't be read as a picture: {reason}.") from None
    return np.asarray(whole) if item.crop is None else _part(whole, item.crop, path, item)


def _part(whole: PILImage.Image, crop: Box, path: Path, item: ExternalItem) -> Image:
    left, top = max(0, round(crop[0])), max(0, round(crop[1]))
    right, bottom = min(whole.width, round(crop[2])), min(whole.height, round(crop[3]))
    if left >= right or top >= bottom:
        raise UserError(
            f"{item.where}: its box has no pixels in {path}, which has "
            f"{whole.width} x {whole.height}."
        )
    return np.asarray(whole.crop((left, top, right, bottom)))


def _too_large(path: Path, pixels: str) -> UserError:
    return UserError(
        f"{path} has {pixels} pixels: give a picture of at most {MOST_PIXELS:,}, as a small file "
        "can hold more than memory does."
    )
