"""Batches of images for the contrastive encoders: shifted, zoomed, mirrored, lit, at model size."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bindbench.concepts import Concept
from bindbench.training.nano_clip_data import (
    NanoPlan,
    colored,
    evaluation_scenes,
    held_out_pairs,
)
from bindbench.training.nano_clip_model import CELLS, MEAN, SIZE, STD
from bindbench.training.validator import palette_of
from bindbench.training.validator_augment import LINEAR, MAX_OBJECTS, to_srgb
from bindbench.training.validator_data import Drawn, SceneSpec

ZOOM = (0.92, 1.15)
SHIFT = 0.1  # of the side; what leaves the image is little, since scenes keep a margin
GAIN = 0.1
DARK = 0.02  # of linear light; darker objects keep their color
LEAST_COVER = 0.12  # of a cell, to name the object in it; less is ignored
UNNAMED = -1


@dataclass(frozen=True)
class Scenes:
    """S rendered scenes in memory."""

    images: np.ndarray  # uint8 (S, 128, 128, 3)
    instances: np.ndarray  # int8 (S, 128, 128): k + 1 = object k
    nouns: np.ndarray  # int64 (S, MAX_OBJECTS); -1: none
    colors: np.ndarray  # int64 (S, MAX_OBJECTS): the color of each object
    concepts: Sequence[Concept]

    def said(self, row: int, colors: np.ndarray, plan: NanoPlan) -> Concept:
        """Return what a scene says of its objects' colors, given these."""
        concept = self.concepts[row]
        return colored(concept, [plan.colors[k] for k in colors[: concept.n]])

    def __len__(self) -> int:
        return len(self.images)

    @classmethod
    def of(cls, plan: NanoPlan, drawn: Sequence[Drawn], specs: Sequence[SceneSpec]) -> "Scenes":
        """Put rendered scenes and what they show side by side."""
        colors = np.full((len(specs), MAX_OBJECTS), UNNAMED, np.int64)
        for row, spec in zip(colors, specs, strict=True):
            row[: spec.concept.n] = [plan.colors.index(c) for c in plan.colors_of(spec)]
        return cls(
            np.stack([d.image for d in drawn]),
            np.stack([d.instances for d in drawn]),
            np.stack([d.nouns for d in drawn]).astype(np.int64),
            colors,
            [spec.concept for spec in specs],
        )


@dataclass(frozen=True)
class Shown:
    """What B augmented images show."""

    rows: np.ndarray  # int64 (B,): the scenes
    colors: np.ndarray  # int64 (B, MAX_OBJECTS): the color of each object as it is now
    mirrored: np.ndarray  # bool (B,)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: np.ndarray) -> "Shown":
        """Return some of them."""
        return Shown(self.rows[chosen], self.colors[chosen], self.mirrored[chosen])

    @classmethod
    def together(cls, parts: Sequence["Shown"]) -> "Shown":
        """Return several as one."""
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.colors for part in parts]),
            np.concatenate([part.mirrored for part in parts]),
        )


@dataclass(frozen=True)
class Views:
    """Augmented images of B scenes."""

    shown: Shown
    images: Tensor  # float32 (B, 3, SIZE, SIZE), normalised
    grid: Tensor  # float32 (B, SIZE, SIZE, 2): where each pixel comes from


class Camera:
    """Makes augmented images of scenes.

    Objects are recolored now and then, by their masks, but never to a pair that is held out nor so
    that a scene of the evaluation comes about.

    Args:
        scenes: the scenes.
        plan: what they were made by.
        recolor: probability for each object.
        batch_colors: how many colors, drawn for each batch, objects are recolored to; fewer make
            the scenes of a batch more alike.
    """

    def __init__(self, scenes: Scenes, plan: NanoPlan, recolor: float, batch_colors: int) -> None:
        self._scenes, self._plan = scenes, plan
        self._recolor_share, self._batch_colors = recolor, batch_colors
        self._palette = palette_of(plan.lexicon)
        held = held_out_pairs(plan.lexicon)
        self._allowed = [
            {int(c) for c in self._palette.paint if (noun, plan.colors[c]) not in held}
            for noun in plan.nouns
        ]

    def views(self, rows: np.ndarray, rng: np.random.Generator) -> Views:
        """Return augmented images of some scenes."""
        n, scenes = len(rows), self._scenes
        images, colors = scenes.images[rows], scenes.colors[rows]
        count = min(self._batch_colors, len(self._palette.paint))
        batch = rng.choice(self._palette.paint, count, replace=False)
        for i, row in enumerate(rows):
            self._recolor(images[i], colors[i], int(row), batch, rng)
        mirrored = rng.random(n) < 0.5
        scale = 1 / rng.uniform(*ZOOM, size=n)
        theta = np.zeros((n, 2, 3), np.float32)
        theta[:, 0, 0] = np.where(mirrored, -scale, scale)
        theta[:, 1, 1] = scale
        theta[:, :, 2] = rng.uniform(-SHIFT, SHIFT, size=(n, 2))
        size = [n, 3, SIZE, SIZE]
        grid = functional.affine_grid(torch.from_numpy(theta), size, align_corners=False)
        pixels = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255
        seen = functional.grid_sample(pixels, grid, padding_mode="border", align_corners=False)
        gain = rng.uniform(1 - GAIN, 1 + GAIN, size=(n, 1, 1, 1)).astype(np.float32)
        seen = ((seen * torch.from_numpy(gain)).clamp(0, 1) - MEAN) / STD
        seen = seen.contiguous(memory_format=torch.channels_last)
        return Views(Shown(rows, colors, mirrored), seen, grid)

    def _recolor(
        self,
        image: np.ndarray,
        colors: np.ndarray,
        row: int,
        batch: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """Give some objects of an image another color, keeping their shading."""
        scenes, fixed = self._scenes, colors.copy()
        for k in np.flatnonzero(colors != UNNAMED):
            if rng.random() < self._recolor_share and colors[k] in self._palette.paint:
                color = int(rng.choice(batch))
                allowed = color in self._allowed[scenes.nouns[row, k]] and color not in colors
                dark = self._palette.linear[colors[k]].mean() < DARK
                if allowed and not dark:  # nothing of a black object's shading is left
                    colors[k] = color
        if (colors == fixed).all():
            return
        said = scenes.said(row, colors, self._plan)
        if said.scene_id(self._plan.lexicon) in evaluation_scenes(self._plan.lexicon):
            colors[:] = fixed
            return
        for k in np.flatnonzero(colors != fixed):
            where = scenes.instances[row] == k + 1
            shading = LINEAR[image[where]].mean(1) / self._palette.linear[fixed[k]].mean()
            image[where] = to_srgb(shading[:, None] * self._palette.linear[colors[k]])


@dataclass(frozen=True)
class Targets:
    """What B augmented scenes show, for the trunk to learn."""

    cells: tuple[Tensor, Tensor]  # noun and color of each cell, int64 (B, CELLS * CELLS)
    cover: Tensor  # float32 (B, CELLS * CELLS, K): the share of each cell that object k fills
    objects: tuple[Tensor, Tensor]  # noun and color of each object, int64 (B, K)


def targets_of(scenes: Scenes, seen: Views, no_noun: int, no_color: int) -> Targets:
    """Return what the trunk is to say of some views, K = ``MAX_OBJECTS``.

    ``no_noun`` and ``no_color`` stand for empty cells. UNNAMED ones are to be ignored: cells that
    hold a little of an object, and objects that are not there.
    """
    rows = seen.shown.rows
    maps = torch.from_numpy(scenes.instances[rows]).float()[:, None]
    warped = functional.grid_sample(
        maps, seen.grid, mode="nearest", padding_mode="zeros", align_corners=False
    )
    step = SIZE // CELLS
    blocks = warped.view(len(rows), CELLS, step, CELLS, step).permute(0, 1, 3, 2, 4)
    blocks = blocks.reshape(len(rows), CELLS * CELLS, step * step)
    cover = torch.stack([(blocks == k + 1).float().mean(-1) for k in range(MAX_OBJECTS)], -1)
    share, best = cover.max(-1)
    visible = cover.sum(1) > LEAST_COVER
    cells, objects = [], []
    for table, nothing in ((scenes.nouns[rows], no_noun), (seen.shown.colors, no_color)):
        names = torch.from_numpy(table)
        named = names.gather(1, best)
        named[share < LEAST_COVER] = UNNAMED
        named[share == 0] = nothing
        cells.append(named)
        objects.append(torch.where(visible, names, UNNAMED))
    return Targets((cells[0], cells[1]), cover, (objects[0], objects[1]))
