"""From the pixel network's maps to instances: boxes, noun and color probabilities, masks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image as PillowImage
from torch import Tensor
from torch.nn import functional

from bindbench.models.base import Box, Image
from bindbench.models.boxes import overlaps
from bindbench.models.pixel_network import (
    BOX_UNIT,
    CELL,
    FINE,
    SIDE,
    Outputs,
    PixelNetwork,
    normalise,
)

CANDIDATE = 0.05  # cells of a lower objectness are never looked at
SAME_OVERLAP = 0.45  # boxes of a larger intersection over union show one instance
INNER = 0.35  # a cell this close to a box's centre (share of the side) belongs to its instance
INNER_OVERLAP = 0.25  # if its own box overlaps at least this much
MARGIN = 2.0  # pixels: a mask may stand out of its box by this much
BATCH = 32


@dataclass(frozen=True)
class Instance:
    """One object found in an image, in the image's own pixels."""

    score: float  # objectness
    box: Box
    nouns: np.ndarray  # float64 (N,): probability of each noun
    colors: np.ndarray  # float64 (C,): share of each color
    mask: np.ndarray  # bool (height, width)


@dataclass(frozen=True)
class _Maps:
    """The network's answer to one image, as probabilities in double precision."""

    objectness: np.ndarray  # (16, 16)
    sides: np.ndarray  # (4, 16, 16), pixels
    nouns: np.ndarray  # (N, 16, 16), log-probabilities
    colors: np.ndarray  # (C, 16, 16), log-probabilities
    foreground: np.ndarray  # (128, 128)
    fine_foreground: np.ndarray  # (32, 32)
    fine_colors: np.ndarray  # (C, 32, 32)


@dataclass(frozen=True)
class _Square:
    """An image fitted into the network's square: scaled by its longer side, then padded."""

    pixels: np.ndarray  # uint8 (128, 128, 3)
    height: int
    width: int

    @property
    def scale(self) -> float:
        """Pixels of the square per pixel of the image."""
        return SIDE / max(self.height, self.width)

    def box(self, box: np.ndarray) -> Box:
        """Turn a box in the square into one in the image."""
        limits = np.array([self.width, self.height, self.width, self.height], dtype=float)
        left, top, right, bottom = np.clip(box / self.scale, 0, limits).tolist()
        return left, top, right, bottom

    def mask(self, mask: np.ndarray) -> np.ndarray:
        """Turn a mask of the square, float (128, 128), into a bool one of the image."""
        if (self.height, self.width) == (SIDE, SIDE):
            return mask > 0.5
        side = max(self.height, self.width)
        scaled = PillowImage.fromarray(mask.astype(np.float32)).resize(
            (side, side), PillowImage.Resampling.BILINEAR
        )
        return np.asarray(scaled)[: self.height, : self.width] > 0.5


def fit_square(image: Image) -> _Square:
    """Fit an RGB image of any size into the network's square; padding repeats the last pixels."""
    height, width = image.shape[:2]
    if (height, width) == (SIDE, SIDE):
        return _Square(image, height, width)
    scale = SIDE / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    scaled = np.asarray(PillowImage.fromarray(image).resize(size, PillowImage.Resampling.BILINEAR))
    padding = ((0, SIDE - size[1]), (0, SIDE - size[0]), (0, 0))
    return _Square(np.pad(scaled, padding, mode="edge"), height, width)


def find_instances(network: PixelNetwork, images: Sequence[Image]) -> list[list[Instance]]:
    """Return the instances in each image, strongest first."""
    squares = [fit_square(image) for image in images]
    found: list[list[Instance]] = []
    for start in range(0, len(squares), BATCH):
        batch = squares[start : start + BATCH]
        maps = _run(network, np.stack([square.pixels for square in batch]))
        found += [_decode(m, square) for m, square in zip(maps, batch, strict=True)]
    return found


def _mirror(outputs: Outputs) -> Outputs:
    """Mirror the maps of mirrored images, so that they lie over those of the images."""
    sides = outputs.sides.flip(-1)
    return Outputs(
        objectness=outputs.objectness.flip(-1),
        sides=torch.stack([sides[:, 2], sides[:, 1], sides[:, 0], sides[:, 3]], 1),
        nouns=outputs.nouns.flip(-1),
        colors=outputs.colors.flip(-1),
        foreground=outputs.foreground.flip(-1),
        fine_colors=outputs.fine_colors.flip(-1),
    )


def _double(x: Tensor) -> np.ndarray:
    return x.double().numpy()


def _run(network: PixelNetwork, pixels: np.ndarray) -> list[_Maps]:
    """Run the network on images and on their mirror images, and average."""
    x = normalise(pixels)
    with torch.inference_mode():
        plain, mirrored = network(x), _mirror(network(x.flip(3)))
        mean = Outputs(
            **{name: (getattr(plain, name) + getattr(mirrored, name)) / 2 for name in vars(plain)}
        )
        foreground = mean.foreground.sigmoid()
        large = functional.interpolate(
            foreground[:, None], scale_factor=float(FINE), mode="bilinear", align_corners=False
        )[:, 0]
        fields = (
            _double(mean.objectness.sigmoid()),
            _double(mean.sides * BOX_UNIT),
            _double(mean.nouns.log_softmax(1)),
            _double(mean.colors.log_softmax(1)),
            _double(large),
            _double(foreground),
            _double(mean.fine_colors.softmax(1)),
        )
    return [_Maps(*(field[i] for field in fields)) for i in range(len(pixels))]


@dataclass(frozen=True)
class _Group:
    """The cells that see one instance, with their weights."""

    score: float
    box: np.ndarray  # (4,), pixels of the square
    rows: np.ndarray
    columns: np.ndarray
    weights: np.ndarray


def _groups(maps: _Maps) -> list[_Group]:
    """Gather cells around the strongest one, then around the strongest that is left, and so on."""
    rows, columns = np.where(maps.objectness > CANDIDATE)
    scores = maps.objectness[rows, columns]
    centres = np.stack([columns, rows], 1) * CELL + CELL / 2
    sides = np.maximum(maps.sides[:, rows, columns].T, 2.0)
    boxes = np.concatenate([centres - sides[:, :2], centres + sides[:, 2:]], 1)
    free = np.ones(len(scores), dtype=bool)
    groups = []
    for best in np.argsort(-scores, kind="stable"):
        if not free[best]:
            continue
        overlap = overlaps(boxes[best], boxes)
        middle = (boxes[best, :2] + boxes[best, 2:]) / 2
        extent = boxes[best, 2:] - boxes[best, :2]
        inner = (np.abs(centres - middle) < INNER * extent).all(1)
        same = free & ((overlap > SAME_OVERLAP) | (inner & (overlap > INNER_OVERLAP)))
        free &= ~same
        weights = scores[same] * (overlap[same] > SAME_OVERLAP)
        box = (boxes[same] * weights[:, None]).sum(0) / weights.sum()
        groups.append(_Group(float(scores[best]), box, rows[same], columns[same], weights))
    return groups


def _owned(boxes: np.ndarray, side: int) -> np.ndarray:
    """Return which box each pixel of a square of ``side`` pixels belongs to; -1: none.

    A pixel in several boxes belongs to that whose centre is nearest, relative to its extent.
    """
    unit = SIDE / side
    axis = (np.arange(side) + 0.5) * unit
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    half = (boxes[:, 2:] - boxes[:, :2]) / 2 + MARGIN
    across = np.abs(axis[None] - middle[:, :1]) / half[:, :1]  # (n, side): along x
    down = np.abs(axis[None] - middle[:, 1:]) / half[:, 1:]
    distance = np.maximum(across[:, None, :], down[:, :, None])
    nearest = distance.argmin(0)
    return np.where(distance.min(0) <= 1, nearest, -1)


def _probabilities(logs: np.ndarray, group: _Group) -> np.ndarray:
    """Average log-probabilities (K, 16, 16) over the cells of a group."""
    mean = (logs[:, group.rows, group.columns] * group.weights).sum(1) / group.weights.sum()
    values = np.exp(mean - mean.max())
    return values / values.sum()


def _color_shares(maps: _Maps, group: _Group, cells: np.ndarray) -> np.ndarray:
    """Return the share of each color on an instance.

    The mean of what the object's middle says and what its parts say: the middle knows the
    object, the parts know where a second color begins.
    """
    whole = _probabilities(maps.colors, group)
    if not cells.any():
        return whole
    return (whole + maps.fine_colors[:, cells].mean(1)) / 2


def _decode(maps: _Maps, square: _Square) -> list[Instance]:
    """Turn the maps of one image into instances, strongest first."""
    groups = _groups(maps)
    if not groups:
        return []
    boxes = np.stack([group.box for group in groups])
    pixels, cells = _owned(boxes, SIDE), _owned(boxes, SIDE // FINE)
    return [
        Instance(
            score=group.score,
            box=square.box(group.box),
            nouns=_probabilities(maps.nouns, group),
            colors=_color_shares(maps, group, (cells == k) & (maps.fine_foreground > 0.5)),
            mask=square.mask(np.where(pixels == k, maps.foreground, 0.0)),
        )
        for k, group in enumerate(groups)
    ]
