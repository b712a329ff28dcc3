"""Any scorer on any published set, measured as our own benchmarks are: a tie is a loss."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bindbench.analysis.accuracy import Outcomes, design_of, outcomes_of, pack, summarise
from bindbench.analysis.blind import CueResult, audit, corrected, read_cues
from bindbench.analysis.paired import WINOGROUND_CHANCE, winoground
from bindbench.analysis.resampling import Estimate, proportion
from bindbench.external.items import ExternalItem, subsets_of
from bindbench.external.pictures import find_pictures, read_picture
from bindbench.models.base import Scorer, ScoreRequest
from bindbench.scoring.checked import checked_scores
from bindbench.semantics import FALSE, TRUE

ALL = "all"  # the subset of all items
FAMILY = "captions"  # the only one of the blind audit

Row = dict[str, Any]  # subset, measure, n_items, accuracy, low, high, chance; credit and tie_rate


def score_items(
    scorer: Scorer, model: str, items: Sequence[ExternalItem], folder: Path, batch_size: int
) -> Iterator[np.ndarray]:
    """Yield the scores of each item's captions, the right one first, float64 (captions,).

    Args:
        scorer: the model.
        model: its name, for messages.
        items: what to score.
        folder: where the pictures are.
        batch_size: items in a call of the model.

    Raises:
        UserError: pictures are missing (before anything is scored), one can't be read, or a score
            is not finite.
    """
    paths = find_pictures(items, folder)
    for start in range(0, len(items), batch_size):
        batch = items[start : start + batch_size]
        requests = [
            ScoreRequest(
                one.id, read_picture(paths[one.image], one), one.right_first, _semantics(one)
            )
            for one in batch
        ]
        for found in checked_scores(scorer, requests, model, str(folder)):
            yield found.values


def _semantics(item: ExternalItem) -> np.ndarray:
    return np.array([TRUE, *[FALSE] * (len(item.captions) - 1)], np.int8)


def measure(
    form: str, items: Sequence[ExternalItem], scores: Sequence[np.ndarray], dtype: str
) -> list[Row]:
    """Return the accuracies of all items and of each subset.

    Items of one group count once more together, as all of them right: Winoground's pairs by its
    text, image and group scores, other groups (the sets of What's Up) by their captions alone.

    Args:
        form: the format.
        items: what was scored.
        scores: of each item's captions, the right one first.
        dtype: of the scorer's arithmetic.
    """
    rows = []
    for name in (ALL, *subsets_of(items)):
        chosen = [i for i, item in enumerate(items) if name in (ALL, item.subset)]
        own, found = [items[i] for i in chosen], [scores[i] for i in chosen]
        measured = [_accuracy(own, found, dtype)]
        if form == "winoground":
            measured += _winoground(own, found, dtype)
        elif name == ALL and any(item.group for item in own):
            measured.append(_groups(own, _outcomes(own, found, dtype)))
        rows += [{"subset": name} | row for row in measured]
    return rows


def _outcomes(items: Sequence[ExternalItem], scores: Sequence[np.ndarray], dtype: str) -> Outcomes:
    design = _design(items)
    return outcomes_of(pack(scores, [_semantics(item) for item in items], dtype, design))


def _design(items: Sequence[ExternalItem]) -> Any:
    none = [()] * len(items)
    return design_of([item.cluster for item in items], none, none)


def _accuracy(items: Sequence[ExternalItem], scores: Sequence[np.ndarray], dtype: str) -> Row:
    found = summarise(_outcomes(items, scores, dtype), _design(items))
    names = ("n_items", "accuracy", "low", "high", "credit", "tie_rate", "chance")
    return {"measure": "accuracy"} | {name: getattr(found, name) for name in names}


def _groups(items: Sequence[ExternalItem], outcomes: Outcomes) -> Row:
    """Return the share of groups whose items are all right."""
    grouped: dict[str, list[int]] = {}
    for i, item in enumerate(items):
        if item.group:
            grouped.setdefault(item.group, []).append(i)
    wins, chance = outcomes.win, outcomes.chance
    share = proportion(np.array([wins[own].all() for own in grouped.values()]))
    return _row("group", share, float(np.mean([chance[own].prod() for own in grouped.values()])))


def _winoground(
    items: Sequence[ExternalItem], scores: Sequence[np.ndarray], dtype: str
) -> Iterator[Row]:
    """Yield Winoground's scores; items stand in pairs, each with its own caption first."""
    table = np.array(scores).reshape(-1, 2, 2)
    table[:, 1] = table[:, 1, ::-1]  # (pair, image, caption)
    found = winoground(table, dtype)
    for name, chance in WINOGROUND_CHANCE.items():
        yield _row(name, getattr(found, name), chance)


def _row(name: str, share: Estimate, chance: float) -> Row:
    bounds = {"accuracy": share.value, "low": share.low, "high": share.high}
    return {"measure": name, "n_items": share.n} | bounds | {"chance": chance}


def blind_audit(items: Sequence[ExternalItem]) -> list[CueResult]:
    """Return how well single cues of the captions give the right ones away, the likeliest first."""
    texts = [item.right_first for item in items]
    everything = {FAMILY: np.ones((len(items), max(map(len, texts))), bool)}
    semantics = [_semantics(item) for item in items]
    found = corrected(audit(read_cues(texts), semantics, everything, _design(items)))
    strict = [result for result in found if result.mode == "strict"]
    return sorted(strict, key=lambda result: (result.p_value, -result.credit, result.cue))
