"""The scenes that the validator is trained, tuned and calibrated on.

Scene number i of a split follows from the plan alone, so that rendering can stop anywhere and
resume. No split shares a seed with another, and none with a pipeline: seeds are drawn at or above
``FIRST_SEED``, one range for each split.
"""

import hashlib
import json
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import median_filter

from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.models.pixel_network import SIDE
from bindbench.tasks import BENCHMARKS, TRACKS, Benchmark, Track
from bindbench.training.validator_augment import MAX_OBJECTS, NO_COLOR, Sample
from bindbench.vocabulary import Lexicon
from bindbench.vocabulary_files import load_lexicon

if TYPE_CHECKING:
    from bindbench.rendering.scenes import Scene

TRAINING, VALIDATION, CALIBRATION = 0, 1, 2  # splits
FIRST_SEED = 1 << 61
SEEDS_PER_SPLIT = 1 << 58
SAMPLES_PER_PIXEL = 8
CHUNK = 50  # scenes in one file of the cache, the unit of work and of resuming
FAULTY_SHARE = (0.35, 0.6, 0.5)  # of the scenes of each split

# How often each benchmark is drawn: crowded scenes are the hard ones, and shapes are few.
WEIGHTS = {
    "color-n1": 8,
    "color-n2": 14,
    "color-n3": 20,
    "shape_color-n2": 7,
    "shape_color-n3": 11,
    "position-n2": 10,
    "position-n3": 11,
    "relative_size-n2": 9,
    "relative_size-n3": 10,
}


def embedded_lexicon() -> Lexicon:
    """Return the words that the shipped weights are trained on."""
    return load_lexicon(
        {
            "objects": "objects_embedded",
            "shapes": "shapes",
            "colors": "colors20",
            "positions": "positions4",
            "sizes": "sizes3",
        }
    )


@dataclass(frozen=True)
class SceneSpec:
    """One scene to draw."""

    concept: Concept
    track: Track
    fault: str | None
    seed: int


@dataclass(frozen=True)
class Drawn:
    """A rendered scene with its pixel-exact truth."""

    image: np.ndarray  # uint8 (128, 128, 3)
    instances: np.ndarray  # int8 (128, 128): k + 1 = object k
    colors: np.ndarray  # int8 (128, 128): index of the color, NO_COLOR outside objects
    nouns: np.ndarray  # int16 (MAX_OBJECTS,), -1 where there is none

    @property
    def sample(self) -> Sample:
        """What training sees of it."""
        return Sample(self.image, self.instances, self.colors, self.nouns)


@dataclass(frozen=True)
class Plan:
    """What determines every scene: the words and a seed."""

    lexicon: Lexicon
    seed: int

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """The nouns to learn: drawable objects, then shapes."""
        entries = (*self.lexicon.objects.entries, *self.lexicon.shapes.entries)
        return tuple(dict.fromkeys(entry.name for entry in entries if entry.drawable))

    @cached_property
    def colors(self) -> tuple[str, ...]:
        """The colors to learn."""
        return self.lexicon.colors.names

    @cached_property
    def digest(self) -> str:
        """A name for the cache: changes with the words, the seed, the splits and the renderer."""
        hasher = hashlib.sha256()
        settings: list[object] = [self.seed, WEIGHTS, FAULTY_SHARE, SIDE, SAMPLES_PER_PIXEL]
        settings += [
            [entry.model_dump(mode="json") for entry in vocabulary.entries]
            for vocabulary in vars(self.lexicon).values()
        ]
        hasher.update(json.dumps(settings, sort_keys=True).encode())
        for source in sorted((Path(__file__).parents[1] / "rendering").glob("*.py")):
            hasher.update(source.read_bytes())
        return hasher.hexdigest()[:16]

    def spec(self, split: int, index: int) -> SceneSpec:
        """Return scene number ``index`` of a split, of a benchmark drawn at random."""
        rng = np.random.default_rng([self.seed, split, index])
        shares = np.array([WEIGHTS[key] for key in BENCHMARKS], dtype=float)
        benchmark = list(BENCHMARKS.values())[rng.choice(len(shares), p=shares / shares.sum())]
        track = TRACKS[int(rng.integers(len(TRACKS)))]
        fault = None
        if rng.random() < FAULTY_SHARE[split]:
            kinds = fault_kinds(benchmark, track)
            fault = kinds[int(rng.integers(len(kinds)))]
        return self._spec(rng, benchmark, track, fault, split, index)

    def compose(self, spec: SceneSpec) -> "Scene":
        """Return the scene to render."""
        from bindbench.rendering.scenes import compose

        return compose(spec.concept, spec.track, spec.seed, self.lexicon, fault=spec.fault)

    def spec_of(
        self, split: int, index: int, benchmark: Benchmark, track: Track, fault: str | None
    ) -> SceneSpec:
        """Return scene number ``index`` of one cell of a table: benchmark, track, fault kind."""
        cell = f"{benchmark.key}/{track}/{fault}".encode()
        rng = np.random.default_rng([self.seed, split, index, *hashlib.sha256(cell).digest()[:8]])
        return self._spec(rng, benchmark, track, fault, split, index)

    def _spec(
        self,
        rng: np.random.Generator,
        benchmark: Benchmark,
        track: Track,
        fault: str | None,
        split: int,
        index: int,
    ) -> SceneSpec:
        concept = draw_concept(benchmark, self.lexicon, rng)
        seed = FIRST_SEED + split * SEEDS_PER_SPLIT + int(rng.integers(SEEDS_PER_SPLIT))
        return SceneSpec(concept, track, fault, seed)


def draw_concept(benchmark: Benchmark, lexicon: Lexicon, rng: np.random.Generator) -> Concept:
    """Draw a concept of distinct drawable objects and distinct labels."""
    vocabulary = lexicon.nouns(benchmark.task)
    names = [entry.name for entry in vocabulary.entries if entry.drawable]
    labels = lexicon.labels(benchmark.task).names
    if len(names) < benchmark.n or len(labels) < benchmark.n_labels:
        raise UserError(
            f"The vocabularies {vocabulary.name} and {lexicon.labels(benchmark.task).name} hold "
            f"{len(names)} drawable nouns and {len(labels)} labels: {benchmark.key} needs "
            f"{benchmark.n} and {benchmark.n_labels}."
        )
    while True:
        objects = tuple(str(name) for name in rng.choice(names, benchmark.n, replace=False))
        pairs = (frozenset((a, b)) for i, a in enumerate(objects) for b in objects[:i])
        if not any(pair in vocabulary.nested for pair in pairs):
            break
    chosen = tuple(str(label) for label in rng.choice(labels, benchmark.n_labels, replace=False))
    return Concept(benchmark.task.name, objects, chosen)


def fault_kinds(benchmark: Benchmark, track: Track) -> list[str]:
    """Return the fault kinds that can happen to a benchmark's images in a track."""
    from bindbench.rendering.faults import FAULTS

    stand_in = Concept(benchmark.task.name, ("",) * benchmark.n, ())
    return [kind for kind, fault in FAULTS.items() if fault.applies(stand_in, track)]


def draw(spec: SceneSpec, plan: Plan) -> Drawn:
    """Render one scene with its truth."""
    from bindbench.rendering.render import render_scene

    scene = plan.compose(spec)
    rendering = render_scene(
        scene, plan.lexicon, resolution=SIDE, samples=SAMPLES_PER_PIXEL, instances=True
    )
    assert rendering.instances is not None
    colors = np.full((SIDE, SIDE), NO_COLOR, dtype=np.int8)
    nouns = np.full(MAX_OBJECTS, -1, dtype=np.int16)
    for k, item in enumerate(scene.items):
        mask = rendering.instances == k + 1
        nouns[k] = plan.nouns.index(item.noun)
        colors[mask] = plan.colors.index(item.color)
        if item.leak is not None:
            colors[mask & _leaked(scene, k, rendering.image, plan.lexicon)] = plan.colors.index(
                item.leak.color
            )
    return Drawn(rendering.image, rendering.instances.astype(np.int8), colors, nouns)


def _leaked(scene: "Scene", k: int, image: np.ndarray, lexicon: Lexicon) -> np.ndarray:
    """Say which pixels of object k show its second color, bool (128, 128).

    They look more like a render of the object all in its second color than all in its first.
    """
    from bindbench.rendering.render import render_scene

    item = scene.items[k]
    assert item.leak is not None
    distances = []
    for color in (item.color, item.leak.color):
        painted = replace(item, color=color, leak=None)
        items = (*scene.items[:k], painted, *scene.items[k + 1 :])
        whole = render_scene(
            replace(scene, items=items), lexicon, resolution=SIDE, samples=SAMPLES_PER_PIXEL
        )
        distances.append(np.abs(whole.image.astype(int) - image.astype(int)).sum(-1))
    return median_filter((distances[1] < distances[0]).astype(np.uint8), size=3) > 0


def prepare(
    plan: Plan,
    split: int,
    scenes: int,
    cache: Path,
    workers: int,
    report: Callable[[str], None],
) -> None:
    """Render the first scenes of a split into the cache; what is there already is kept."""
    folder = cache / plan.digest
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The folder {folder} for the training scenes can't be written ({error}): name one "
            "that can."
        ) from error
    wanted = list(range(0, scenes, CHUNK))
    missing = [start for start in wanted if not _chunk(folder, split, start).exists()]
    if not missing:
        return
    started, done = time.monotonic(), 0
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        futures = [pool.submit(_render_chunk, plan, split, start, folder) for start in missing]
        for future in as_completed(futures):
            future.result()
            done += 1
            elapsed = time.monotonic() - started
            left = elapsed / done * (len(missing) - done)
            report(
                f"scenes of the {('training', 'validation', 'calibration')[split]} split: "
                f"{(len(wanted) - len(missing) + done) * CHUNK}/{len(wanted) * CHUNK}, "
                f"{done * CHUNK / elapsed:.1f}/s, {left / 60:.1f} min left"
            )


def load_drawn(plan: Plan, split: int, scenes: int, cache: Path) -> list[Drawn]:
    """Return the first scenes of a split from the cache, in their order."""
    drawn: list[Drawn] = []
    for start in range(0, scenes, CHUNK):
        with np.load(_chunk(cache / plan.digest, split, start)) as arrays:
            names = ("images", "instances", "colors", "nouns")
            drawn += [Drawn(*fields) for fields in zip(*(arrays[n] for n in names), strict=True)]
    return drawn[:scenes]


def load_samples(plan: Plan, split: int, scenes: int, cache: Path) -> list[Sample]:
    """Return the first scenes of a split as training sees them."""
    return [drawn.sample for drawn in load_drawn(plan, split, scenes, cache)]


def _chunk(folder: Path, split: int, start: int) -> Path:
    return folder / f"scenes-{split}-{start:06d}.npz"


def _render_chunk(plan: Plan, split: int, start: int, folder: Path) -> None:
    """Render one file of the cache; it appears whole or not at all."""
    drawn = [draw(plan.spec(split, i), plan) for i in range(start, start + CHUNK)]
    path = _chunk(folder, split, start)
    part = path.with_suffix(f".{os.getpid()}.part")
    with part.open("wb") as file:
        np.savez_compressed(
            file,
            images=np.stack([d.image for d in drawn]),
            instances=np.stack([d.instances for d in drawn]),
            colors=np.stack([d.colors for d in drawn]),
            nouns=np.stack([d.nouns for d in drawn]),
        )
    part.replace(path)
