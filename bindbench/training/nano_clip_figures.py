"""What a contrastive encoder can do, measured on fault-free scenes that training never saw."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bindbench.analysis.accuracy import Items, design_of, evaluate, pack
from bindbench.analysis.resampling import proportion
from bindbench.candidates import candidate_families, candidate_texts
from bindbench.captions.contextual import write_contextual
from bindbench.captions.minimal import write_minimal
from bindbench.captions.slots import Renderer, Template
from bindbench.concepts import Concept
from bindbench.models.base import Scorer, ScoreRequest
from bindbench.models.grammar_writer import GrammarWriter
from bindbench.semantics import settle, text_semantics
from bindbench.training.nano_clip_data import CELLS, Cell, NanoPlan
from bindbench.training.validator_data import Drawn, load_drawn

BATCH = 16


@dataclass(frozen=True)
class Figure:
    """One measured share with its 95% interval and its chance level."""

    cell: Cell
    family: str  # swap, confusion, vary_color, vary_object or object retrieval
    mode: str  # strict or paper
    items: int
    share: float
    low: float
    high: float
    chance: float

    @property
    def name(self) -> str:
        """The cell, the family and the mode."""
        return f"{self.cell.name} {self.family} {self.mode}"


@dataclass(frozen=True)
class Item:
    """A scene with the caption that is scored."""

    concept: Concept  # in the order of mention of the caption
    template: Template
    image: np.ndarray
    centers: np.ndarray
    areas: np.ndarray


def measure(scorer: Scorer, plan: NanoPlan, split: int, scenes: int, cache: Path) -> list[Figure]:
    """Measure a scorer on the first scenes of a split, which are rendered already."""
    cells = CELLS[split]
    by_cell: dict[Cell, list[Item]] = defaultdict(list)
    for index, drawn in enumerate(load_drawn(plan, split, scenes, cache)):
        cell = cells[index % len(cells)]
        by_cell[cell].append(_item(plan, cell, plan.spec(split, index).concept, drawn, index))
    figures = []
    for cell in dict.fromkeys(cells):
        figures += _benchmark_figures(scorer, plan, cell, by_cell[cell])
        if cell.benchmark.startswith("color"):
            figures.append(_retrieval(scorer, plan, cell, by_cell[cell]))
    return figures


def _item(plan: NanoPlan, cell: Cell, concept: Concept, drawn: Drawn, index: int) -> Item:
    order = list(range(concept.n))
    if cell.track == "minimal":
        if concept.task.axis == "attribute":
            order = np.random.default_rng([index, 0x07D]).permutation(concept.n).tolist()
            concept = Concept(
                concept.task_name,
                tuple(concept.objects[k] for k in order),
                tuple(concept.labels[k] for k in order),
            )
        template = write_minimal(concept, plan.lexicon)
    else:
        writer = GrammarWriter(plan.lexicon)
        written = write_contextual(writer, [concept], plan.lexicon, seed=index, attempts=5)[0]
        assert written.template is not None
        template = written.template
    side = drawn.instances.shape[0]
    centers, areas = [], []
    for k in order:
        y, x = np.nonzero(drawn.instances == k + 1)
        centers.append(((x.min() + x.max() + 1) / 2 / side, (y.min() + y.max() + 1) / 2 / side))
        areas.append(len(x) / side**2)
    return Item(concept, template, drawn.image, np.array(centers), np.array(areas))


def _score(scorer: Scorer, images: Sequence[np.ndarray], texts: Sequence[list[str]]) -> list:
    scores: list[np.ndarray] = []
    for start in range(0, len(images), BATCH):
        requests = [
            ScoreRequest(str(i), images[i], texts[i], np.empty(0, np.int8))
            for i in range(start, min(start + BATCH, len(images)))
        ]
        scores += [found.values for found in scorer.score(requests)]
    return scores


def _benchmark_figures(
    scorer: Scorer, plan: NanoPlan, cell: Cell, items: Sequence[Item]
) -> list[Figure]:
    texts = [candidate_texts(item.template, item.concept, plan.lexicon) for item in items]
    scores = _score(scorer, [item.image for item in items], texts)
    semantics = [
        settle(
            item.concept,
            *text_semantics(item.concept, plan.lexicon),
            item.centers,
            item.areas,
            plan.lexicon,
        )[0]
        for item in items
    ]
    concepts = [item.concept for item in items]
    design = design_of(
        [c.scene_id(plan.lexicon) for c in concepts],
        [c.objects for c in concepts],
        [c.labels for c in concepts],
    )
    packed = pack(scores, semantics, scorer.dtype, design)
    families = [np.array(candidate_families(c, plan.lexicon)) for c in concepts]
    figures = []
    for family in sorted({str(name) for row in families for name in row} - {""}):
        names = [family] if family != "confusion" else ["confusion", "swap"]
        subset = np.zeros(packed.scores.shape, bool)
        for row, own in zip(subset, families, strict=True):
            row[: len(own)] = np.isin(own, names)
        figures += [_figure(cell, family, mode, packed, subset) for mode in ("strict", "paper")]
    return figures


def _figure(cell: Cell, family: str, mode, items: Items, subset: np.ndarray) -> Figure:
    found = evaluate(items, mode, subset)
    return Figure(
        cell, family, mode, found.n_items, found.accuracy, found.low, found.high, found.chance
    )


def _retrieval(scorer: Scorer, plan: NanoPlan, cell: Cell, items: Sequence[Item]) -> Figure:
    """Measure how often the scene's caption beats those that name another noun for one object.

    One trial for each object: all other nouns of the suite that are not in the scene.
    """
    images, texts = [], []
    nouns = plan.lexicon.objects
    for item in items:
        render = Renderer(item.template, item.concept, plan.lexicon).render
        objects, labels = item.concept.objects, item.concept.labels
        for k in range(item.concept.n):
            others = [n for n in nouns.names if not any(nouns.overlaps(n, o) for o in objects)]
            captions = [render((*objects[:k], n, *objects[k + 1 :]), labels) for n in others]
            images.append(item.image)
            texts.append([render(objects, labels), *captions])
    scores = _score(scorer, images, texts)
    wins = np.array([bool((row[0] > row[1:]).all()) for row in scores])
    scenes = [item.concept.scene_id(plan.lexicon) for item in items for _ in item.concept.objects]
    share = proportion(wins, np.array(scenes))
    chance = float(np.mean([1 / len(row) for row in scores]))
    return Figure(
        cell, "object retrieval", "strict", len(wins), share.value, share.low, share.high, chance
    )


def table(figures: dict[str, list[Figure]]) -> str:
    """Return a Markdown table of the figures of several models on the same scenes."""
    names = list(figures)
    lines = [
        f"| benchmark | track | pairs | candidates | mode | n | chance | {' | '.join(names)} |",
        "|---|---|---|---|---|---|---|" + "---|" * len(names),
    ]
    for row in zip(*figures.values(), strict=True):
        first = row[0]
        cells = [f"{100 * f.share:.1f} ({100 * f.low:.0f}-{100 * f.high:.0f})" for f in row]
        pairs = "unseen" if first.cell.unseen else "suite"
        lines.append(
            f"| {first.cell.benchmark} | {first.cell.track} | {pairs} | {first.family} "
            f"| {first.mode} | {first.items} | {100 * first.chance:.1f} | {' | '.join(cells)} |"
        )
    return "\n".join(lines)
