"""Images whose features are computed once, for all that is trained on top of them."""

import numpy as np
import torch
from torch import Tensor

from bindbench.training.nano_clip_data import NanoPlan
from bindbench.training.nano_clip_images import UNNAMED, Camera, Scenes, Shown
from bindbench.training.nano_clip_model import Trunk

ALBUM_VIEWS, ALBUM_BATCH = 4, 100  # of each scene; images encoded at a time
ALIKE = 0.7  # share of a contrastive batch that is made of few nouns and colors
BATCH_NOUNS, BATCH_COLORS = 10, 6


class Album:
    """The trunk's features of many augmented images, once the trunk stays as it is."""

    def __init__(
        self,
        trunk: Trunk,
        scenes: Scenes,
        plan: NanoPlan,
        colors: tuple[float, int],
        rng: np.random.Generator,
    ) -> None:
        camera, shown, features = Camera(scenes, plan, *colors), [], []
        trunk.eval()
        for _ in range(ALBUM_VIEWS):
            for start in range(0, len(scenes), ALBUM_BATCH):
                rows = np.arange(start, min(start + ALBUM_BATCH, len(scenes)))
                seen = camera.views(rows, rng)
                with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
                    features.append(trunk(seen.images).half())
                shown.append(seen.shown)
        self._shown, self._features = Shown.together(shown), torch.cat(features)
        self._nouns = np.zeros((len(self._shown), len(plan.nouns)), np.float32)
        self._colors = np.zeros((len(self._shown), len(plan.colors)), np.float32)
        for table, names in (
            (self._nouns, scenes.nouns[self._shown.rows]),
            (self._colors, self._shown.colors),
        ):
            for row, held in zip(table, names, strict=True):
                row[held[held != UNNAMED]] = 1
        self._rng = rng

    def deal(self, count: int) -> tuple[Shown, Tensor]:
        """Return random images with their features (count, D, CELLS, CELLS)."""
        return self._take(self._rng.integers(len(self._shown), size=count))

    def deal_alike(self, count: int) -> tuple[Shown, Tensor]:
        """Return images of which most are alike, with their features (count, D, CELLS, CELLS).

        Images of a random batch can be told apart by their nouns alone; where most are made of few
        nouns and colors, drawn for each batch, it takes the color of the right object.
        """
        noun, color = self._few(self._nouns, BATCH_NOUNS), self._few(self._colors, BATCH_COLORS)
        objects = self._nouns.sum(1)
        score = (self._nouns @ noun + 0.5 * (self._colors @ color)) / objects
        score += 0.1 * self._rng.random(len(score), dtype=np.float32)
        alike = min(round(ALIKE * count), len(score) - 1)
        chosen = np.argpartition(-score, alike)[:alike]
        others = self._rng.integers(len(score), size=count - alike)
        return self._take(np.concatenate([chosen, others]))

    def _take(self, rows: np.ndarray) -> tuple[Shown, Tensor]:
        return self._shown.take(rows), self._features[rows].float()

    def _few(self, table: np.ndarray, count: int) -> np.ndarray:
        few = np.zeros(table.shape[1], np.float32)
        few[self._rng.choice(len(few), min(count, len(few)), replace=False)] = 1
        return few
