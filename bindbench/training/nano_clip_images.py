"""Batches of images for the contrastive encoders: shifted, zoomed, mirrored, lit, at model size."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bindbench.concepts import Concept
from bindbench.training.nano_clip_data import NanoPlan, colored
from bindbench.training.nano_clip_model import CELLS, MEAN, SIZE, STD
from bindbench.training.validator_augment import MAX_OBJECTS
from bindbench.training.validator_data import Drawn, SceneSpec

ZOOM = (0.92, 1.15)
SHIFT = 0.1  # of the side; what leaves the image is little, since scenes keep a margin
GAIN = 0.1
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
    colored: Sequence[Concept]  # what each scene says of its objects' colors
    features: np.ndarray  # float32 (S, F): 1 for each noun, and each noun with its color, it holds
    _places: dict[tuple[str, str], int]  # the feature of a noun and a color, "" for any

    def claims(self, concept: Concept, colors: bool) -> list[int]:
        """Return the features that a scene must have for what a concept says of its objects."""
        labels = concept.labels if colors else [""] * concept.n
        return [self._places[pair] for pair in zip(concept.objects, labels, strict=True)]

    def __len__(self) -> int:
        return len(self.images)

    @classmethod
    def of(cls, plan: NanoPlan, drawn: Sequence[Drawn], specs: Sequence[SceneSpec]) -> "Scenes":
        """Put rendered scenes and what they show side by side."""
        said = [colored(spec.concept, plan.colors_of(spec)) for spec in specs]
        colors = np.full((len(specs), MAX_OBJECTS), UNNAMED, np.int64)
        for row, concept in zip(colors, said, strict=True):
            row[: concept.n] = [plan.colors.index(color) for color in concept.labels]
        pairs = [(noun, color) for noun in plan.nouns for color in ("", *plan.colors)]
        places = {pair: i for i, pair in enumerate(pairs)}
        features = np.zeros((len(specs), len(places)), np.float32)
        for row, concept in zip(features, said, strict=True):
            for noun, color in zip(concept.objects, concept.labels, strict=True):
                row[[places[noun, ""], places[noun, color]]] = 1
        return cls(
            np.stack([d.image for d in drawn]),
            np.stack([d.instances for d in drawn]),
            np.stack([d.nouns for d in drawn]).astype(np.int64),
            colors,
            [spec.concept for spec in specs],
            said,
            features,
            places,
        )


@dataclass(frozen=True)
class Views:
    """Augmented images of B scenes."""

    images: Tensor  # float32 (B, 3, SIZE, SIZE), normalised
    mirrored: np.ndarray  # bool (B,)
    grid: Tensor  # float32 (B, SIZE, SIZE, 2): where each pixel comes from


def views(scenes: Scenes, rows: np.ndarray, rng: np.random.Generator) -> Views:
    """Return augmented images of some scenes."""
    n = len(rows)
    mirrored = rng.random(n) < 0.5
    scale = 1 / rng.uniform(*ZOOM, size=n)
    shift = rng.uniform(-SHIFT, SHIFT, size=(n, 2))
    theta = np.zeros((n, 2, 3), np.float32)
    theta[:, 0, 0] = np.where(mirrored, -scale, scale)
    theta[:, 1, 1] = scale
    theta[:, :, 2] = shift
    grid = functional.affine_grid(torch.from_numpy(theta), [n, 3, SIZE, SIZE], align_corners=False)
    pixels = torch.from_numpy(scenes.images[rows]).permute(0, 3, 1, 2).float() / 255
    images = functional.grid_sample(pixels, grid, padding_mode="border", align_corners=False)
    gain = rng.uniform(1 - GAIN, 1 + GAIN, size=(n, 1, 1, 1)).astype(np.float32)
    images = (images * torch.from_numpy(gain)).clamp(0, 1)
    images = ((images - MEAN) / STD).contiguous(memory_format=torch.channels_last)
    return Views(images, mirrored, grid)


@dataclass(frozen=True)
class Targets:
    """What B augmented scenes show, for the trunk to learn."""

    cells: tuple[Tensor, Tensor]  # noun and color of each cell, int64 (B, CELLS * CELLS)
    cover: Tensor  # float32 (B, CELLS * CELLS, K): the share of each cell that object k fills
    objects: tuple[Tensor, Tensor]  # noun and color of each object, int64 (B, K)


def targets_of(
    scenes: Scenes, rows: np.ndarray, grid: Tensor, no_noun: int, no_color: int
) -> Targets:
    """Return what the trunk is to say of some views, K = ``MAX_OBJECTS``.

    ``no_noun`` and ``no_color`` stand for empty cells. UNNAMED ones are to be ignored: cells that
    hold a little of an object, and objects that are not there.
    """
    maps = torch.from_numpy(scenes.instances[rows]).float()[:, None]
    warped = functional.grid_sample(
        maps, grid, mode="nearest", padding_mode="zeros", align_corners=False
    )
    step = SIZE // CELLS
    blocks = warped.view(len(rows), CELLS, step, CELLS, step).permute(0, 1, 3, 2, 4)
    blocks = blocks.reshape(len(rows), CELLS * CELLS, step * step)
    cover = torch.stack([(blocks == k + 1).float().mean(-1) for k in range(MAX_OBJECTS)], -1)
    share, best = cover.max(-1)
    visible = cover.sum(1) > LEAST_COVER
    cells, objects = [], []
    for table, nothing in ((scenes.nouns, no_noun), (scenes.colors, no_color)):
        names = torch.from_numpy(table[rows])
        named = names.gather(1, best)
        named[share < LEAST_COVER] = UNNAMED
        named[share == 0] = nothing
        cells.append(named)
        objects.append(torch.where(visible, names, UNNAMED))
    return Targets((cells[0], cells[1]), cover, (objects[0], objects[1]))
