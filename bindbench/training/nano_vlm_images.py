"""What augmented images show: sights to talk about, and targets for the trunk's cells."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bindbench.training.nano_clip_data import NanoPlan
from bindbench.training.nano_clip_images import UNNAMED, Scenes, Shown, Views
from bindbench.training.nano_clip_model import MEAN, STD
from bindbench.training.nano_vlm_model import CELLS
from bindbench.training.nano_vlm_questions import Sight
from bindbench.training.nano_vlm_text import ORDERS
from bindbench.training.validator_augment import MAX_OBJECTS

LEAST_COVER = 0.16  # of a cell, to name the object in it; less is ignored
LEAST_VISIBLE = 0.5  # of an object's area; a scene that shows less of one is not talked about
PLACES = {  # and sizes, by the field of Sight
    "sides": ("left", "middle", "right"),
    "levels": ("top", "bottom"),
    "extremes": ("largest", "smallest"),
    "orders": ORDERS,
}
AREAS = (0.02, 0.03, 0.045, 0.065, 0.09, 0.13)  # shares of the image between classes of size


@dataclass(frozen=True)
class Boxes:
    """Where the objects of S scenes are, K = ``MAX_OBJECTS``, in the images as rendered."""

    edges: np.ndarray  # float64 (S, K, 4): left, top, right, bottom as shares; 0 for none
    areas: np.ndarray  # float64 (S, K): shares of the image

    @classmethod
    def of(cls, scenes: Scenes) -> "Boxes":
        """Measure the masks."""
        side = scenes.instances.shape[-1]
        edges = np.zeros((len(scenes), MAX_OBJECTS, 4))
        areas = np.zeros((len(scenes), MAX_OBJECTS))
        for row, instances in enumerate(scenes.instances):
            for k in np.flatnonzero(scenes.nouns[row] != UNNAMED):
                mask = instances == k + 1
                columns, rows = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
                if len(rows):
                    box = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
                    edges[row, k], areas[row, k] = np.array(box) / side, mask.mean()
        return cls(edges, areas)


def sights_of(scenes: Scenes, boxes: Boxes, seen: Views, plan: NanoPlan) -> list[Sight | None]:
    """Return what each view shows; None where something is mostly out of sight."""
    # Where the views' corners come from; the grid holds the middles of the pixels.
    first, last = seen.grid[:, 0, 0].numpy(), seen.grid[:, -1, -1].numpy()
    edge = (last - first) / (seen.grid.shape[1] - 1) / 2
    starts, ends = (first - edge + 1) / 2, (last + edge + 1) / 2
    sights: list[Sight | None] = []
    for b, row in enumerate(seen.shown.rows):
        there = np.flatnonzero(scenes.nouns[row] != UNNAMED)
        edges, span = boxes.edges[row, there], ends[b] - starts[b]
        moved = (edges - np.tile(starts[b], 2)) / np.tile(span, 2)
        if seen.shown.mirrored[b]:
            moved = moved[:, [2, 1, 0, 3]]
        cut = moved.clip(0, 1)
        sizes, full = cut[:, 2:] - cut[:, :2], moved[:, 2:] - moved[:, :2]
        share = (sizes / full.clip(min=1e-9)).prod(1)
        if not len(there) or share.min() < LEAST_VISIBLE:
            sights.append(None)
            continue
        centers = (cut[:, 2:] + cut[:, :2]) / 2
        centers[:, 1] = 1 - centers[:, 1]
        zoom = 1 / np.abs(span).prod()
        sights.append(
            Sight(
                tuple(plan.nouns[k] for k in scenes.nouns[row, there]),
                tuple(plan.colors[k] for k in seen.shown.colors[b, there]),
                centers,
                sizes.max(1),
                boxes.areas[row, there] * zoom * share,
            )
        )
    return sights


def plain_views(scenes: Scenes) -> Views:
    """Return all scenes as they are, at the size and in the units that a model takes."""
    count, side = len(scenes), scenes.images.shape[1]
    pixels = torch.from_numpy(scenes.images).permute(0, 3, 1, 2).float() / 255
    images = ((pixels - MEAN) / STD).contiguous(memory_format=torch.channels_last)
    identity = torch.eye(2, 3).expand(count, -1, -1)
    grid = functional.affine_grid(identity, [count, 3, side, side], align_corners=False)
    shown = Shown(np.arange(count), scenes.colors, np.zeros(count, bool))
    return Views(shown, images, grid)


@dataclass(frozen=True)
class CellTargets:
    """What the cells of B views show; UNNAMED where it is to be ignored, P = CELLS * CELLS."""

    nouns: Tensor  # int64 (B, P); the number of nouns: nothing
    colors: Tensor  # int64 (B, P); the number of colors: nothing
    places: dict[str, Tensor]  # int64 (B, P) each: indices into ``PLACES``
    ranks: tuple[Tensor, Tensor]  # int64 (B, P): how many objects are further left, further right
    areas: Tensor  # int64 (B, P): the class of the object's size, by ``AREAS``


def cell_targets(
    scenes: Scenes, seen: Views, sights: list[Sight | None], plan: NanoPlan
) -> CellTargets:
    """Return what each cell of some views shows."""
    rows = seen.shown.rows
    maps = torch.from_numpy(scenes.instances[rows]).float()[:, None]
    warped = functional.grid_sample(
        maps, seen.grid, mode="nearest", padding_mode="zeros", align_corners=False
    )
    step = maps.shape[-1] // CELLS
    blocks = warped.view(len(rows), CELLS, step, CELLS, step).permute(0, 1, 3, 2, 4)
    blocks = blocks.reshape(len(rows), CELLS * CELLS, step * step)
    cover = torch.stack([(blocks == k + 1).float().mean(-1) for k in range(MAX_OBJECTS)], -1)
    share, best = cover.max(-1)

    def spread(table: np.ndarray, nothing: int) -> Tensor:
        named = torch.from_numpy(table).gather(1, best)
        named[share < LEAST_COVER] = UNNAMED
        named[share == 0] = nothing
        return named

    places = {name: np.full((len(rows), MAX_OBJECTS), UNNAMED) for name in PLACES}
    ranks = [np.full((len(rows), MAX_OBJECTS), UNNAMED) for _ in range(2)]
    areas = np.full((len(rows), MAX_OBJECTS), UNNAMED)
    for b, sight in enumerate(sights):
        if sight is None:
            continue
        for name, words in PLACES.items():
            for k, word in enumerate(getattr(sight, name)):
                if word:
                    places[name][b, k] = words.index(word)
        areas[b, : sight.n] = np.digitize(sight.areas, AREAS)
        for rank, k in enumerate(sight.row):
            ranks[0][b, k], ranks[1][b, k] = rank, sight.n - 1 - rank
    return CellTargets(
        spread(scenes.nouns[rows], len(plan.nouns)),
        spread(seen.shown.colors, len(plan.colors)),
        {name: spread(table, UNNAMED) for name, table in places.items()},
        (spread(ranks[0], UNNAMED), spread(ranks[1], UNNAMED)),
        spread(areas, UNNAMED),
    )
