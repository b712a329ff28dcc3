"""The samples of a fine-tuning, read from what a suite has built, and their negatives."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bindbench.analysis.accuracy import Mode
from bindbench.candidates import ERROR_FAMILIES, CandidateSpace, candidate_space
from bindbench.captions.slots import Renderer, Template
from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.models.base import Image
from bindbench.pipeline import images, model_scores, negatives, validated
from bindbench.pipeline.base import Context
from bindbench.semantics import FALSE
from bindbench.tasks import Track, get_benchmark
from bindbench.training.finetuning.recipe import Negatives
from bindbench.vocabulary import Lexicon

_DEGENERATE = "repeated_pair"  # at N = 2, where it says one thing twice (Auto-Comp, A.9)
_COLUMNS = ["index", "scene_id", "track", "objects", "labels", "caption", "slots", "semantics"]


@dataclass(frozen=True)
class Sample:
    """An accepted image with its caption and the candidates of it."""

    benchmark: str
    index: int
    track: Track
    scene: str  # canonical id
    concept: Concept  # in the caption's order of mention
    template: Template
    semantics: np.ndarray  # int8 (candidates,)
    lexicon: Lexicon

    @property
    def space(self) -> CandidateSpace:
        """The candidates as indices."""
        return candidate_space(self.concept.task.axis, self.concept.n)

    @cached_property
    def _render(self) -> Renderer:
        return Renderer(self.template, self.concept, self.lexicon)

    def said(self, candidate: int) -> Concept:
        """Return the words of a candidate; what it claims, not always a scene that can be."""
        objects, labels = self.space.objects[candidate], self.space.labels[candidate]
        return Concept(
            self.concept.task_name,
            tuple(self.concept.objects[i] for i in objects),
            tuple(self.concept.labels[i] for i in labels),
        )

    def text(self, candidate: int) -> str:
        """Return the caption of a candidate; 0 is the positive."""
        said = self.said(candidate)
        return self._render.render(said.objects, said.labels)

    def rivals(self, semantics: Mode) -> np.ndarray:
        """Return which candidates are negatives, bool (candidates,)."""
        wrong = self.semantics == FALSE if semantics == "strict" else self.semantics >= 0
        return wrong & (np.arange(len(wrong)) > 0)

    def pools(self, kind: Negatives, semantics: Mode) -> list[np.ndarray]:
        """Return the candidates that negatives are drawn from, one array for each error family.

        Of swap negatives there is one family. A reordered positive, which is a negative in paper
        mode alone, is one of the swaps. A pair said twice is left out at N = 2, as in the paper.
        """
        rivals, space = self.rivals(semantics), self.space
        if kind == "swap":
            return [np.flatnonzero(rivals & space.swap)]
        code = {name: i for i, name in enumerate(ERROR_FAMILIES)}
        errors = np.where(space.errors == code["reordered"], code["swap"], space.errors)
        if space.n == 2:
            rivals &= errors != code[_DEGENERATE]
        pools = (np.flatnonzero(rivals & (errors == family)) for family in np.unique(errors))
        return [pool for pool in pools if len(pool)]


def draw(pools: Sequence[np.ndarray], count: int, rng: np.random.Generator) -> list[int]:
    """Return negatives, stratified over the families: in turn one of each, in random order.

    None comes twice before all have come; where there are fewer than ``count``, they repeat.
    """
    drawn: list[int] = []
    while len(drawn) < count:
        shuffled = [rng.permutation(pools[i]).tolist() for i in rng.permutation(len(pools))]
        for place in range(max(map(len, shuffled))):
            drawn += [pool[place] for pool in shuffled if place < len(pool)]
    return drawn[:count]


def read_samples(
    context: Context, key: str, tracks: Collection[Track], count: int, semantics: Mode
) -> list[Sample]:
    """Return the first samples of a benchmark that have a swap to be told from.

    Raises:
        UserError: the benchmark is not built, or has no such negatives.
    """
    benchmark = get_benchmark(key)
    if benchmark.n == 1:
        raise UserError(
            f"{key} has no negatives to train on: its captions name one object, with nothing to "
            "swap; give a benchmark of N = 2 or more."
        )
    rows = context.current(negatives.NAME, key).read(_COLUMNS).to_pylist()
    samples = [
        Sample(
            benchmark=key,
            index=row["index"],
            track=row["track"],
            scene=row["scene_id"],
            concept=validated.concept_of(key, row),
            template=negatives.template_of(row),
            semantics=np.frombuffer(row["semantics"], np.int8),
            lexicon=context.lexicon,
        )
        for row in rows
        if row["track"] in tracks
    ]
    usable = [s for s in samples if len(s.pools("swap", semantics)[0])]
    if samples and not usable:
        raise UserError(
            f"{key} has no negatives to train on: none of the swaps of its {len(samples)} samples "
            f"is false of its image; give another benchmark, or semantics paper."
        )
    return usable[:count]


def read_images(context: Context, key: str, samples: Sequence[Sample]) -> Iterator[Image]:
    """Yield the images of samples of one benchmark, in the order of the samples."""
    artifact = context.current(images.NAME, key)
    wanted = {(sample.index, sample.track) for sample in samples}
    found: dict[tuple[int, str], bytes] = {}
    for shard in range(len(artifact.shards)):
        for row in artifact.read_shard(shard, ["index", "track", "image"]).to_pylist():
            if model_scores.at(row) in wanted:
                found[model_scores.at(row)] = row["image"]["bytes"]
    for sample in samples:
        row = {"concept_id": sample.concept.id, "track": sample.track}
        yield model_scores.decoded(key, row, found[sample.index, sample.track])
