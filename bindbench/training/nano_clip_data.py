"""The scenes that the contrastive encoders are trained, developed and measured on.

Training scenes share no canonical scene with the beginning of the embedded suite's benchmarks
(seed 0), and no object in them has a color that is held out for it. The other two splits are made
of just those: scenes of unseen (object, color) pairs, and the beginning of each benchmark.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bindbench.concepts import Concept, sample_concepts, space_size
from bindbench.memo import per_lexicon
from bindbench.tasks import BENCHMARKS, TRACKS, Benchmark, Track
from bindbench.training.validator_data import (
    FIRST_SEED,
    SEEDS_PER_SPLIT,
    TRAINING,
    Plan,
    SceneSpec,
    draw_concept,
)
from bindbench.vocabulary import Lexicon

HELD_OUT_SEED = 15
HELD_OUT_SHARE = 0.15  # of the colors of each noun
EVALUATION_SEED = 0  # of the embedded suite
EVALUATION_CONCEPTS = 5000  # of each benchmark that training leaves alone
EVALUATION_SHARE = 2 / 3  # of a benchmark's scenes at most, where it has few
FIRST_RANGE = 3  # of the ranges of render seeds; those below are the validator's

# How often each benchmark is drawn for training.
WEIGHTS = {
    "color-n1": 5,
    "color-n2": 18,
    "color-n3": 15,
    "shape_color-n2": 9,
    "shape_color-n3": 9,
    "position-n2": 12,
    "position-n3": 11,
    "relative_size-n2": 11,
    "relative_size-n3": 10,
}

Pair = tuple[str, str]  # noun, color


@per_lexicon
def held_out_pairs(lexicon: Lexicon) -> frozenset[Pair]:
    """Return the (noun, color) pairs that no training scene shows: 15% of the colors of each."""
    rng = np.random.default_rng(HELD_OUT_SEED)
    colors = lexicon.colors.names
    count = round(HELD_OUT_SHARE * len(colors))
    return frozenset(
        (noun, colors[k])
        for noun in drawable_nouns(lexicon)
        for k in rng.choice(len(colors), count, replace=False)
    )


def drawable_nouns(lexicon: Lexicon) -> tuple[str, ...]:
    """Return the names of the drawable objects, then of the shapes."""
    entries = (*lexicon.objects.entries, *lexicon.shapes.entries)
    return tuple(dict.fromkeys(entry.name for entry in entries if entry.drawable))


def evaluation_count(benchmark: Benchmark, lexicon: Lexicon) -> int:
    """Return how many of a benchmark's first concepts training leaves alone."""
    return min(EVALUATION_CONCEPTS, int(EVALUATION_SHARE * space_size(benchmark, lexicon)))


@per_lexicon
def evaluation_concepts(lexicon: Lexicon) -> dict[str, list[Concept]]:
    """Return the first concepts of each benchmark of the embedded suite, by its key."""
    return {
        key: [
            sampled.concept
            for sampled in sample_concepts(
                benchmark, lexicon, evaluation_count(benchmark, lexicon), EVALUATION_SEED
            )
        ]
        for key, benchmark in BENCHMARKS.items()
    }


_left_alone: dict[tuple[str, ...], frozenset[str]] = {}


def evaluation_scenes(lexicon: Lexicon) -> frozenset[str]:
    """Return the canonical ids of the scenes that training leaves alone.

    Remembered by the words and not by the lexicon, of which a rendering process gets a new copy
    with every task.
    """
    key = tuple(vocabulary.digest for vocabulary in vars(lexicon).values())
    if key not in _left_alone:
        _left_alone[key] = frozenset(
            concept.scene_id(lexicon)
            for concepts in evaluation_concepts(lexicon).values()
            for concept in concepts
        )
    return _left_alone[key]


def colored(concept: Concept, colors: Iterable[str]) -> Concept:
    """Return what a scene says of its objects' colors, whatever its own task is."""
    task = "color" if concept.task.object_role == "objects" else "shape_color"
    return Concept(task, concept.objects, tuple(colors))


@dataclass(frozen=True)
class Cell:
    """A row of the table of figures: suite scenes, or color scenes of unseen pairs only."""

    benchmark: str
    track: Track
    unseen: bool

    @property
    def name(self) -> str:
        """The name in tables and progress."""
        return f"{self.benchmark}/{self.track}" + ("/unseen" if self.unseen else "")


UNSEEN_CELLS = tuple(Cell(f"color-n{n}", track, unseen=True) for track in TRACKS for n in (1, 2, 3))
SUITE_CELLS = tuple(Cell(key, track, unseen=False) for key in BENCHMARKS for track in TRACKS)
# The cells of the splits other than training, in turn; what is asked of the models comes thrice.
CELLS = {1: UNSEEN_CELLS, 2: (*UNSEEN_CELLS, *UNSEEN_CELLS, *UNSEEN_CELLS, *SUITE_CELLS)}


@dataclass(frozen=True)
class NanoPlan(Plan):
    """Which scene each number stands for; rendering and the cache are the validator's."""

    @cached_property
    def digest(self) -> str:
        """A name for the cache."""
        settings = [WEIGHTS, HELD_OUT_SEED, HELD_OUT_SHARE, EVALUATION_CONCEPTS, EVALUATION_SHARE]
        text = f"{super().digest} {settings}"
        return "clip-" + hashlib.sha256(text.encode()).hexdigest()[:16]

    def spec(self, split: int, index: int) -> SceneSpec:
        """Return scene number ``index`` of a split: 0 training, 1 development, 2 test."""
        rng = np.random.default_rng([self.seed, 0xC11B, split, index])
        if split == TRAINING:
            return self._training(rng)
        cells = CELLS[split]
        return self._evaluation(cells[index % len(cells)], split, index // len(cells), rng)

    def colors_of(self, spec: SceneSpec) -> tuple[str, ...]:
        """Return the color of each object of a fault-free scene, in the concept's order."""
        from bindbench.rendering.plans import make_plan

        return make_plan(spec.concept, spec.track, spec.seed, self.lexicon, None).colors

    def _training(self, rng: np.random.Generator) -> SceneSpec:
        shares = np.array([WEIGHTS[key] for key in BENCHMARKS], dtype=float)
        benchmark = list(BENCHMARKS.values())[rng.choice(len(shares), p=shares / shares.sum())]
        track = TRACKS[int(rng.integers(len(TRACKS)))]
        left_alone = evaluation_scenes(self.lexicon)
        while True:
            concept = draw_concept(benchmark, self.lexicon, rng)
            spec = SceneSpec(concept, track, None, _render_seed(TRAINING, rng))
            said = colored(concept, self.colors_of(spec))
            pairs = zip(said.objects, said.labels, strict=True)
            if held_out_pairs(self.lexicon).isdisjoint(pairs) and left_alone.isdisjoint(
                (concept.scene_id(self.lexicon), said.scene_id(self.lexicon))
            ):
                return spec

    def _evaluation(
        self, cell: Cell, split: int, index: int, rng: np.random.Generator
    ) -> SceneSpec:
        if cell.unseen:
            concept = _unseen_concept(BENCHMARKS[cell.benchmark], self.lexicon, rng)
        else:
            concept = evaluation_concepts(self.lexicon)[cell.benchmark][index]
        return SceneSpec(concept, cell.track, None, _render_seed(split, rng))


def _render_seed(split: int, rng: np.random.Generator) -> int:
    start = FIRST_SEED + (FIRST_RANGE + split) * SEEDS_PER_SPLIT
    return start + int(rng.integers(SEEDS_PER_SPLIT))


def _unseen_concept(benchmark: Benchmark, lexicon: Lexicon, rng: np.random.Generator) -> Concept:
    """Draw a concept all of whose pairs are held out."""
    while True:
        concept = draw_concept(benchmark, lexicon, rng)
        labels = []
        for noun in concept.objects:
            held = sorted(color for name, color in held_out_pairs(lexicon) if name == noun)
            labels.append(held[int(rng.integers(len(held)))])
        if len(set(labels)) == len(labels):
            return Concept(concept.task_name, concept.objects, tuple(labels))
