"""Scenes of like objects: three to six of one noun in a row, each of its own color.

Which of several like objects has which color is what a caption of distinct objects never asks.
"""

import hashlib
import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.tasks import TRACKS, Track
from bindbench.training.nano_clip_data import drawable_nouns, held_out_pairs
from bindbench.training.validator_data import FIRST_SEED, SEEDS_PER_SPLIT, TRAINING, Plan, SceneSpec
from bindbench.vocabulary import Lexicon

if TYPE_CHECKING:
    from bindbench.rendering.scenes import Scene

SIZES = (3, 4, 5, 6)
SHARES = (0.4, 0.27, 0.18, 0.15)  # of the sizes
FIRST_RANGE = 6  # of the ranges of render seeds; those below are the other models'
MARGIN, GAP = 0.025, 0.02  # of the image side
TALLEST = 0.42  # of the image side
LIFTED, HIGHEST = 0.4, 0.16  # share of scenes with plinths; height of a plinth, of the side
ATTEMPTS = 200


@dataclass(frozen=True)
class RowPlan(Plan):
    """Which row each number stands for; rendering and the cache are the validator's."""

    @cached_property
    def digest(self) -> str:
        """A name for the cache."""
        settings = [SIZES, SHARES, MARGIN, GAP, TALLEST, LIFTED, HIGHEST]
        text = f"{super().digest} {settings}"
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
        return compose_row(spec.concept, spec.track, spec.seed, self.lexicon)


def compose_row(concept: Concept, track: Track, seed: int, lexicon: Lexicon) -> "Scene":
    """Compose a row of like objects, from left to right in the order of the concept.

    All have one size but for a tenth; some scenes have them on plinths of different heights.

    Raises:
        UserError: a noun that does not fit.
    """
    from bindbench.rendering.scenes import Scene

    rng = np.random.default_rng([seed, 0x405])
    for _ in range(ATTEMPTS):
        found = _attempt(concept, lexicon, rng)
        if found is not None:
            camera, items, supports = found
            return Scene(concept.task_name, items, track, seed, None, (), camera, supports, "plain")
    raise UserError(f"The ray tracer found no clear picture of {concept.n} {concept.objects[0]}s.")


def _attempt(concept: Concept, lexicon: Lexicon, rng: np.random.Generator):
    from bindbench.rendering.camera import WINDOW, Camera
    from bindbench.rendering.meshes import mesh_of
    from bindbench.rendering.scenes import Item, Support, box_of

    n, mesh = concept.n, mesh_of(lexicon.nouns(concept.task)[concept.objects[0]])
    solids = concept.task_name == "shape_color"
    elevation = float(np.radians(rng.uniform(14, 24) if solids else rng.uniform(6, 15)))
    floor, tilt = float(rng.uniform(0.2, 0.4)), np.cos(elevation)
    camera = Camera(float((0.5 - floor) * WINDOW / tilt), elevation, float(rng.uniform(22, 30)))
    yaw = float(rng.uniform(-25, 25))

    def item(k: int, u: float, z: float, size: float, turn: float) -> Item:
        y = float(rng.uniform(-0.05, 0.05))
        x = float((u - 0.5) * WINDOW)
        return Item(concept.objects[k], concept.labels[k], x, y, z, size, yaw + turn)

    left, bottom, right, top = box_of(item(0, 0.5, 0.0, 1.0, 0.0), mesh, camera)
    room = (1 - 2 * MARGIN - GAP * (n - 1)) / n
    most = min(room / (right - left), TALLEST / (top - bottom))
    size = most * float(rng.uniform(0.78, 0.97))
    width = size * (right - left)
    spare = 1 - 2 * MARGIN - n * width - GAP * (n - 1)
    spaces = rng.dirichlet(np.full(n + 1, 2.0)) * spare
    lifted = rng.random() < LIFTED
    items, supports, at = [], [], MARGIN
    for k in range(n):
        at += spaces[k]
        lift = float(rng.uniform(0, HIGHEST)) * WINDOW if lifted and rng.random() < 0.6 else 0.0
        own = size * float(rng.uniform(0.92, 1.0))
        items.append(item(k, at + width / 2, lift, own, float(rng.uniform(-5, 5))))
        if lift:
            x, y, half = items[k].x, items[k].y, 0.38 * own
            supports.append(
                Support("plinth", (x - half, y - half, 0.0), (x + half, y + half, lift))
            )
        at += width + GAP
    boxes = [box_of(one, mesh, camera) for one in items]
    within = all(min(b[0], b[1], 1 - b[2], 1 - b[3]) >= MARGIN / 2 for b in boxes)
    apart = all(a[2] + GAP / 2 <= b[0] for a, b in itertools.pairwise(boxes))
    return (camera, tuple(items), tuple(supports)) if within and apart else None
