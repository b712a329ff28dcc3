"""Table 7: models trained on hard negatives, each beside what it was before."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from bindbench.analysis.accuracy import Mode
from bindbench.analysis.paired import Comparison, compare
from bindbench.analysis.resampling import holm
from bindbench.pipeline import leaderboard, negatives
from bindbench.pipeline.tallies import MODES, Measured, measure
from bindbench.tables.accuracy import FAMILIES, accuracies
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, missing
from bindbench.tasks import TRACKS, Track

_FINETUNED = "/finetuned/checkpoints/"  # where the asset of this name keeps its models


def table_7(inputs: Inputs) -> Iterator[Number]:
    """Yield the accuracies of each pair of models, and what the training changed."""
    pairs = bases_of(inputs)
    if not pairs:
        yield missing(
            "7",
            f"No scorer of suite {inputs.suite.name} is known to be trained on hard negatives: "
            "name what it was before in the profile's field bases.",
        )
        return
    for model, base in pairs.items():
        if base not in inputs.models:
            yield missing("7", f"{model} was {base} before, which is no scorer: add it to them.")
    pairs = {model: base for model, base in pairs.items() if base in inputs.models}
    models = dict.fromkeys(m for base in pairs.values() for m in (base, *_trained(pairs, base)))
    yield from accuracies("7", inputs, list(models), inputs.several, FAMILIES)
    yield from _corrected(list(_changes(inputs, pairs)))


def bases_of(inputs: Inputs) -> dict[str, str]:
    """Return what each scorer that was trained on hard negatives was before.

    As the profile says; and of the suite's own checkpoints the model that its recipe names.
    """
    bases = dict(inputs.suite.profile.bases)
    if inputs.suite.finetuning:
        before: str = inputs.suite.finetuning["model"]
        bases |= {model: before for model in inputs.models if _FINETUNED in model}
    return {model: base for model, base in bases.items() if model in inputs.models}


def _trained(pairs: Mapping[str, str], base: str) -> list[str]:
    return [model for model, own in pairs.items() if own == base]


@dataclass(frozen=True)
class _Place:
    """A benchmark, track, family and semantics."""

    key: str
    track: Track
    family: str
    mode: Mode


def _changes(inputs: Inputs, pairs: Mapping[str, str]) -> Iterator[Number]:
    """Yield what the training changed, on the items that both models were asked about."""
    for model, base in pairs.items():
        for key in inputs.several:
            found = [_measured(inputs, name, key) for name in (base, model)]
            before, after = found
            if before is None or after is None:
                continue  # said above, of the accuracies
            for track in TRACKS:
                for family in FAMILIES:
                    for mode in MODES:
                        place = _Place(key, track, family, mode)
                        yield from _change(inputs, (base, model), (before, after), place)


def _measured(inputs: Inputs, model: str, key: str) -> Measured | None:
    candidates, scores = inputs.get(negatives.NAME, key), inputs.scores(model, key)
    if candidates is None or scores is None:
        return None
    return measure(key, candidates, scores, np.zeros(0, np.int64), inputs.lexicon)


def _change(
    inputs: Inputs, models: tuple[str, str], found: tuple[Measured, Measured], at: _Place
) -> Iterator[Number]:
    before, after = (m.tallies[at.track].outcomes[at.family, at.mode] for m in found)
    both = before.included & after.included
    design = found[0].designs[at.track].take(both)
    changed = compare(before.win[both], after.win[both], design, inputs.suite.seed)
    if changed:
        yield _number(models, changed, at)


def _number(models: tuple[str, str], changed: Comparison, at: _Place) -> Number:
    where = {"model": list(models), "benchmark": at.key, "track": at.track, "set": "all"}
    where |= {"family": at.family, "semantics": at.mode, "readout": "score"}
    block, column = f"{at.track}, change", f"{at.key} {at.family}"
    return Number(
        *("7", block, models[1], column, changed.difference.value, "difference"),
        semantics=at.mode,
        low=changed.difference.low,
        high=changed.difference.high,
        n_items=changed.n_items,
        p_value=changed.p_value,
        source=Source(leaderboard.NAME, "all", where),
    )


def _corrected(changes: list[Number]) -> Iterator[Number]:
    """Yield the changes by block, their p-values corrected by Holm's method in each semantics."""
    for mode in MODES:
        same = [number for number in changes if number.semantics == mode]
        p_values = holm([n.p_value for n in same if n.p_value is not None])
        for number, p_value in zip(same, p_values, strict=True):
            yield replace(number, p_value=p_value)
