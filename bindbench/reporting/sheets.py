"""Contact sheets: a few images with boxes, captions and verdicts in one small picture."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw, ImageFont

LIMIT = 150_000  # bytes: sheets stand inline in the metadata of every materialization
_GAP = 8
_LINES = 4  # of text below an image, the verdict's included
_GREEN, _RED, _INK, _BACK = (0, 121, 90), (179, 38, 30), (35, 38, 43), (255, 255, 255)
_MANY, _FEW = 200, 64  # colors of the palette, tried in this order
_SMALLEST = 64  # side of a cell in pixels


@dataclass(frozen=True)
class SheetItem:
    """One image of a sheet."""

    image: np.ndarray  # (height, width, 3), uint8
    caption: str
    boxes: Sequence[Sequence[float]] = ()  # (left, top, right, bottom) in pixels of the image
    names: Sequence[str] = ()  # one for each box
    verdict: str = "pass"  # "pass", or the reason why it was rejected


def contact_sheet(
    items: Sequence[SheetItem], columns: int = 4, cell: int = 160, limit: int = LIMIT
) -> bytes:
    """Return the images as one PNG of at most about ``limit`` bytes.

    Accepted images have a green frame, rejected ones a red frame and their reason. A sheet that
    would be too large gets fewer colors, and then smaller cells.

    Args:
        items: what to show, row by row. None at all give a sheet that says so.
        columns: images in a row.
        cell: side of an image in pixels.
        limit: bytes; a sheet of 64-pixel cells is returned even if it is larger.
    """
    while True:
        sheet = _draw(items, columns, cell)
        png = _encode(sheet, _MANY)
        if len(png) > limit:
            png = _encode(sheet, _FEW)
        if len(png) <= limit or cell <= _SMALLEST:
            return png
        cell = max(_SMALLEST, int(cell * min(0.9, (limit / len(png)) ** 0.5)))


def _draw(items: Sequence[SheetItem], columns: int, cell: int) -> Image.Image:
    font = ImageFont.load_default(max(9, cell // 13))
    line = int(font.size * 1.3) if isinstance(font, ImageFont.FreeTypeFont) else 12
    columns = max(1, min(columns, len(items)))
    rows = max(1, -(-len(items) // columns))
    width, height = cell + _GAP, cell + _GAP + _LINES * line + 4
    sheet = Image.new("RGB", (columns * width + _GAP, rows * height + _GAP), _BACK)
    draw = ImageDraw.Draw(sheet)
    if not items:
        draw.text((_GAP, _GAP), "No images", _INK, font)
    for index, item in enumerate(items):
        left = _GAP + index % columns * width
        top = _GAP + index // columns * height
        sheet.paste(_picture(item, cell, font), (left, top))
        _write(draw, item, (left, top + cell + 3), cell, line, font)
    return sheet


def _picture(item: SheetItem, cell: int, font: ImageFont.ImageFont | ImageFont.FreeTypeFont):
    """Return an image at the size of a cell, with its boxes and its frame."""
    height, width = item.image.shape[:2]
    scale = cell / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    picture = Image.new("RGB", (cell, cell), _BACK)
    small = Image.fromarray(item.image).resize(size, Image.Resampling.BILINEAR)
    offset = ((cell - size[0]) // 2, (cell - size[1]) // 2)
    picture.paste(small, offset)
    draw = ImageDraw.Draw(picture)
    for box, name in zip(item.boxes, item.names, strict=True):
        left, top, right, bottom = (
            value * scale + offset[axis % 2] for axis, value in enumerate(box)
        )
        edge = (min(left, right), min(top, bottom), max(left, right), max(top, bottom))
        draw.rectangle(edge, outline=(0, 114, 178))
        spot = draw.textbbox((edge[0] + 1, edge[1]), name, font=font)
        draw.rectangle(spot, fill=(0, 114, 178))
        draw.text((edge[0] + 1, edge[1]), name, _BACK, font)
    frame = _GREEN if item.verdict == "pass" else _RED
    draw.rectangle((0, 0, cell - 1, cell - 1), outline=frame, width=3)
    return picture


def _write(
    draw: ImageDraw.ImageDraw,
    item: SheetItem,
    at: tuple[int, int],
    width: int,
    line: int,
    font: ImageFont.ImageFont | ImageFont.FreeTypeFont,
) -> None:
    """Write the reason of a reject and the caption, as much of it as there is room for."""
    lines = []
    if item.verdict != "pass":
        lines += [(text, _RED) for text in _wrap(item.verdict, width, font)[:2]]
    lines += [(text, _INK) for text in _wrap(item.caption, width, font)]
    if len(lines) > _LINES:
        last, color = lines[_LINES - 1]
        lines = [*lines[: _LINES - 1], (last.rstrip(" .,")[:-1] + "…", color)]
    for index, (text, color) in enumerate(lines):
        draw.text((at[0], at[1] + index * line), text, color, font)


def _wrap(text: str, width: int, font: ImageFont.ImageFont | ImageFont.FreeTypeFont) -> list[str]:
    """Break a text into lines that fit; a word that is too long is broken too."""
    lines = [""]
    for word in text.split():
        whole = f"{lines[-1]} {word}".strip()
        if font.getlength(whole) <= width:
            lines[-1] = whole
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if font.getlength(lines[-1] + letter) > width:
                lines.append("")
            lines[-1] += letter
    return lines


def _encode(sheet: Image.Image, colors: int) -> bytes:
    out = io.BytesIO()
    reduced = sheet.quantize(colors, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    reduced.save(out, "PNG", compress_level=6)
    return out.getvalue()
