"""Scenes of like objects: three to six of one noun in a row, each of its own color.

Which of several like objects has which color is what a caption of distinct objects never asks.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bindbench.concepts import Concept
from bindbench.tasks import TRACKS
from bindbench.training.nano_clip_data import drawable_nouns, held_out_pairs
from bindbench.training.validator_data import FIRST_SEED, SEEDS_PER_SPLIT, TRAINING, Plan, SceneSpec

if TYPE_CHECKING:
    from bindbench.rendering.scenes import Scene

SIZES = (3, 4, 5, 6)
SHARES = (0.4, 0.27, 0.18, 0.15)  # of the sizes
FIRST_RANGE = 6  # of the ranges of render seeds; those below are the other models'


@dataclass(frozen=True)
class RowPlan(Plan):
    """Which row each number stands for; rendering and the cache are the validator's."""

    @cached_property
    def digest(self) -> str:
        """A name for the cache."""
        text = f"{super().digest} {[SIZES, SHARES]}"
        return "rows-" + hashlib.sha256(text.encode()).hexdigest()[:16]

    def spec(self, split: int, index: int) -> SceneSpec:
        """Return row number ``index`` of a split: 0 training, 1 development, 2 test.

        Training rows hold no held-out pair; the others hold all of their noun's.
        """
        rng = np.random.default_rng([self.seed, 0x405, split, index])
        nouns = drawable_nouns(self.lexicon)
        noun = nouns[int(rng.integers(len(nouns)))]
        count = int(rng.choice(SIZES, p=SHARES))
        held = [c for c in self.colors if (noun, c) in held_out_pairs(self.lexicon)]
        free = [c for c in self.colors if c not in held]
        first = [] if split == TRAINING else held
        chosen = [*first, *rng.permutation(free)][:count]
        colors = tuple(str(chosen[k]) for k in rng.permutation(count))
        track = TRACKS[int(rng.integers(len(TRACKS)))]
        start = FIRST_SEED + (FIRST_RANGE + split) * SEEDS_PER_SPLIT
        task = "color" if noun in self.lexicon.objects.by_name else "shape_color"
        concept = Concept(task, (noun,) * count, colors)
        return SceneSpec(concept, track, None, start + int(rng.integers(SEEDS_PER_SPLIT)))

    def compose(self, spec: SceneSpec) -> "Scene":
        """Compose a row, from left to right in the concept's order."""
        from bindbench.rendering.rows import compose_row

        return compose_row(spec.concept, spec.track, spec.seed, self.lexicon)
