"""Augmentation of training scenes: recoloring, second colors, pasted objects, zoom, light.

Everything that is learned (boxes, masks, colors) is derived from the maps after augmentation, so
that no step has to keep any label up to date but the maps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bindbench.models.pixel_network import SIDE

MAX_OBJECTS = 6
FEWEST_PIXELS = 25  # fewer visible pixels are no object to learn from
NO_COLOR = -1


@dataclass
class Sample:
    """A scene to learn from; P = 128 pixels a side."""

    image: np.ndarray  # uint8 (P, P, 3)
    instances: np.ndarray  # int8 (P, P): k + 1 where object k is seen, 0 elsewhere
    colors: np.ndarray  # int8 (P, P): the color of the object that is seen; NO_COLOR elsewhere
    nouns: np.ndarray  # int16 (MAX_OBJECTS,): the noun of each object, -1 where there is none

    def copy(self) -> "Sample":
        """Return one that can be changed."""
        return Sample(
            self.image.copy(), self.instances.copy(), self.colors.copy(), self.nouns.copy()
        )


@dataclass(frozen=True)
class Batch:
    """A batch of B augmented scenes with K = ``MAX_OBJECTS`` and C colors."""

    images: Tensor  # float32 (B, 3, 128, 128), normalised
    nouns: Tensor  # int64 (B, K), -1 where there is none
    boxes: Tensor  # float32 (B, K, 4), pixels
    shares: Tensor  # float32 (B, K, C): the share of each color on each object
    foreground: Tensor  # float32 (B, 32, 32): the share of object pixels in each cell
    fine_shares: Tensor  # float32 (B, 32, 32, C): the share of each color among its pixels


@dataclass(frozen=True)
class Palette:
    """The colors of the vocabulary, as far as augmentation needs them."""

    linear: np.ndarray  # float64 (C, 3), linear RGB
    paint: np.ndarray  # int64: the colors that are plain paint (metals mirror their surroundings)

    @property
    def size(self) -> int:
        """The number of colors."""
        return len(self.linear)


def to_linear(values: np.ndarray) -> np.ndarray:
    """Turn sRGB values 0 to 255 into linear ones 0 to 1 (IEC 61966-2-1)."""
    x = np.asarray(values, dtype=np.float64) / 255
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


def to_srgb(values: np.ndarray) -> np.ndarray:
    """Turn linear values into sRGB ones, uint8; what is brighter than white is cut."""
    x = np.clip(values, 0, 1)
    x = np.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** (1 / 2.4) - 0.055)
    return (x * 255 + 0.5).astype(np.uint8)


LINEAR = to_linear(np.arange(256))


@dataclass(frozen=True)
class Augmenter:
    """Draws augmented batches.

    Args:
        samples: the scenes.
        palette: the colors.
    """

    samples: Sequence[Sample]
    palette: Palette
    recolor: float = 0.3  # probability for each object
    second_color: float = 0.22  # probability for each scene
    paste: tuple[float, float] = (0.45, 0.15)  # probability of a first and of a second object
    unscaled: float = 0.4  # probability of keeping the pixels as they are but for a shift

    def batch(self, size: int, rng: np.random.Generator) -> Batch:
        """Return ``size`` scenes, drawn with replacement and augmented."""
        picked = [
            self._change(self.samples[i].copy(), rng)
            for i in rng.integers(len(self.samples), size=size)
        ]
        grids = np.stack([self._grid(sample, rng) for sample in picked])
        grid = torch.from_numpy(grids)
        images = torch.from_numpy(np.stack([s.image for s in picked])).permute(0, 3, 1, 2).float()
        images = functional.grid_sample(
            images / 255, grid, mode="bilinear", padding_mode="border", align_corners=False
        )
        instances = _warp_map(np.stack([s.instances for s in picked]), grid)
        # Outside the image the map goes on as "no color", which is 0 after the shift by one.
        colors = _warp_map(np.stack([s.colors for s in picked]) + 1, grid) - 1
        images = _light(images, rng)
        nouns = np.stack([s.nouns for s in picked]).astype(np.int64)
        return _labelled(images, instances, colors, nouns, self.palette.size)

    def _change(self, sample: Sample, rng: np.random.Generator) -> Sample:
        present = np.flatnonzero(sample.nouns >= 0)
        for k in present:
            if rng.random() < self.recolor:
                self._paint(sample, sample.instances == k + 1, int(rng.choice(self.palette.paint)))
        if len(present) and rng.random() < self.second_color:
            self._split(sample, int(rng.choice(present)), rng)
        for probability in self.paste:
            if rng.random() < probability:
                self._paste(sample, self.samples[int(rng.integers(len(self.samples)))], rng)
        return sample

    def _paint(self, sample: Sample, where: np.ndarray, color: int) -> bool:
        """Give pixels of one color another one, keeping their shading."""
        if not where.any():
            return False
        old = np.unique(sample.colors[where])
        if len(old) != 1 or old[0] not in self.palette.paint:
            return False
        albedo = self.palette.linear[old[0]].mean()
        if albedo < 0.02:  # nothing of a black object's shading can be told from noise
            return False
        shading = LINEAR[sample.image[where]].mean(1) / albedo
        sample.image[where] = to_srgb(shading[:, None] * self.palette.linear[color])
        sample.colors[where] = color
        return True

    def _split(self, sample: Sample, k: int, rng: np.random.Generator) -> None:
        """Give about half of object k another color, mostly that of another object."""
        mask = sample.instances == k + 1
        if not mask.any():
            return
        own = set(np.unique(sample.colors[mask]).tolist())
        others = set(np.unique(sample.colors[(sample.instances > 0) & ~mask]).tolist()) - own
        others = sorted(others & set(self.palette.paint.tolist()))
        color = int(
            rng.choice(others) if others and rng.random() < 0.7 else rng.choice(self.palette.paint)
        )
        if color in own:
            return
        angle = rng.choice([0.0, np.pi / 2, rng.uniform(0, np.pi)])
        rows, columns = np.where(mask)
        along = rows * np.sin(angle) + columns * np.cos(angle)
        part = along > np.quantile(along, rng.uniform(0.35, 0.65))
        if rng.random() < 0.5:
            part = ~part
        where = np.zeros_like(mask)
        where[rows[part], columns[part]] = True
        self._paint(sample, where, color)

    @staticmethod
    def _paste(sample: Sample, source: Sample, rng: np.random.Generator, gap: int = 3) -> None:
        """Copy an object of another scene to a free place."""
        slots, choices = np.flatnonzero(sample.nouns < 0), np.flatnonzero(source.nouns >= 0)
        if not len(slots) or not len(choices):
            return
        k = int(rng.choice(choices))
        rows, columns = np.where(source.instances == k + 1)
        if len(rows) < FEWEST_PIXELS:
            return
        top, left = rows.min(), columns.min()
        height, width = rows.max() - top + 1, columns.max() - left + 1
        for _ in range(6):
            y, x = int(rng.integers(SIDE - height + 1)), int(rng.integers(SIDE - width + 1))
            around = sample.instances[
                max(0, y - gap) : y + height + gap, max(0, x - gap) : x + width + gap
            ]
            if not around.any():
                to = rows - top + y, columns - left + x
                sample.image[to] = source.image[rows, columns]
                sample.colors[to] = source.colors[rows, columns]
                sample.instances[to] = slots[0] + 1
                sample.nouns[slots[0]] = source.nouns[k]
                return

    def _grid(self, sample: Sample, rng: np.random.Generator) -> np.ndarray:
        """Return where each pixel of the new image lies in the old one, float32 (128, 128, 2).

        In the coordinates of ``grid_sample``. Every object stays inside the image if it can.
        """
        scale = 1.0 if rng.random() < self.unscaled else float(rng.uniform(0.8, 1.2))
        window = SIDE / scale
        starts = []
        for axis in (1, 0):
            taken = np.flatnonzero((sample.instances > 0).any(1 - axis))
            low, high = (taken[0], taken[-1] + 1) if len(taken) else (SIDE / 2, SIDE / 2)
            # The window [start, start + window) must hold [low, high).
            first, last = high - window, float(low)
            reach = 0.12 * SIDE
            first, last = (
                max(first, (SIDE - window) / 2 - reach),
                min(last, (SIDE - window) / 2 + reach),
            )
            start = rng.uniform(first, last) if first < last else (first + last) / 2
            starts.append(float(round(start)) if scale == 1.0 else float(start))
        axis_pixels = (np.arange(SIDE) + 0.5) / scale
        x = (axis_pixels + starts[0]) / SIDE * 2 - 1
        y = (axis_pixels + starts[1]) / SIDE * 2 - 1
        if rng.random() < 0.5:
            x = x[::-1]
        return np.stack(np.meshgrid(x, y), -1).astype(np.float32)


def _warp_map(values: np.ndarray, grid: Tensor) -> np.ndarray:
    """Resample maps of small integers (B, 128, 128) to the nearest value; 0 outside."""
    warped = functional.grid_sample(
        torch.from_numpy(values[:, None].astype(np.float32)),
        grid,
        mode="nearest",
        padding_mode="zeros",
        align_corners=False,
    )
    return warped[:, 0].numpy().astype(np.int64)


def _light(images: Tensor, rng: np.random.Generator) -> Tensor:
    """Vary gain and tint, then normalise."""
    n = len(images)
    gain = rng.uniform(0.88, 1.12, (n, 1, 1, 1)) * rng.uniform(0.97, 1.03, (n, 3, 1, 1))
    lit = (images * torch.from_numpy(gain.astype(np.float32))).clamp(0, 1)
    return ((lit - 0.5) / 0.25).contiguous(memory_format=torch.channels_last)


def _labelled(
    images: Tensor, instances: np.ndarray, colors: np.ndarray, nouns: np.ndarray, n_colors: int
) -> Batch:
    """Derive what is to be learned from the maps."""
    n, cells = len(instances), SIDE // 4
    masks = instances[:, None] == np.arange(1, MAX_OBJECTS + 1)[None, :, None, None]
    sizes = masks.sum((2, 3))
    boxes = np.zeros((n, MAX_OBJECTS, 4), dtype=np.float32)
    for axis, low in ((2, 0), (3, 1)):  # collapsed rows give x, collapsed columns give y
        taken = masks.any(axis)
        boxes[..., low] = taken.argmax(-1)
        boxes[..., low + 2] = SIDE - taken[..., ::-1].argmax(-1)
    nouns = np.where(sizes >= FEWEST_PIXELS, nouns, -1)
    image, row, column = np.where((instances > 0) & (colors >= 0))
    color = colors[image, row, column]
    owner = image * MAX_OBJECTS + instances[image, row, column] - 1
    shares = np.bincount(owner * n_colors + color, minlength=n * MAX_OBJECTS * n_colors)
    cell = (image * cells + row // 4) * cells + column // 4
    fine = np.bincount(cell * n_colors + color, minlength=n * cells * cells * n_colors)
    shares = shares.reshape(n, MAX_OBJECTS, n_colors)
    fine = fine.reshape(n, cells, cells, n_colors)
    filled = fine.sum(-1)
    return Batch(
        images=images,
        nouns=torch.from_numpy(nouns),
        boxes=torch.from_numpy(boxes),
        shares=torch.from_numpy(shares / np.maximum(shares.sum(-1, keepdims=True), 1)).float(),
        foreground=torch.from_numpy(filled / 16).float(),
        fine_shares=torch.from_numpy(fine / np.maximum(filled[..., None], 1)).float(),
    )
