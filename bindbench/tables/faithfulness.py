"""Table 18: how faithful a generator is, by all of its images and not only the accepted ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bindbench.analysis.faithfulness import PERCENT, WEIGHT, clip_score, clustered_mean
from bindbench.analysis.resampling import Estimate, proportion
from bindbench.pipeline import alignment, faithfulness
from bindbench.tables.diversity import why_not
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, Unit, missing
from bindbench.tables.sources import EVERY
from bindbench.validation.faithfulness import KINDS

Rows = Sequence[Mapping[str, Any]]
ANSWERS = "question answering"
SCALES = {"CLIPScore": PERCENT, f"CLIPScore ({WEIGHT:g})": WEIGHT}
_ALIGNED = ("scene_id", "cosine")
_ANSWERED = ("scene_id", "kinds", "right", "answers")


def table_18(inputs: Inputs) -> Iterator[Number]:
    """Yield CLIPScore and the share of right answers, over all benchmarks and of each."""
    aligned = {key: inputs.rows(alignment.NAME, key, _ALIGNED) for key in inputs.benchmarks}
    answered = {key: inputs.rows(faithfulness.NAME, key, _ANSWERED) for key in inputs.benchmarks}
    yield from _lacking(inputs)
    yield from _numbers(inputs, "", EVERY, _all(aligned), _all(answered))
    for key in inputs.benchmarks:
        yield from _numbers(inputs, key, key, aligned[key], answered[key])


def _all(rows: Mapping[str, Rows]) -> Rows:
    return [row for own in rows.values() for row in own]


def _lacking(inputs: Inputs) -> Iterator[Number]:
    """Say once for each role why it measured nothing of a benchmark, and what is not asked."""
    roles = {alignment.NAME: "encoder", faithfulness.NAME: "answerer"}
    for asset, role in roles.items():
        lacking = (key for key in inputs.benchmarks if inputs.get(asset, key) is None)
        for why in dict.fromkeys(why_not(inputs, role, key) for key in lacking):
            yield missing("18", why)
    asked = inputs.suite.profile.faithfulness.benchmarks
    if asked and {*inputs.benchmarks} - {*asked}:
        yield missing(
            "18",
            f"Questions are asked about {', '.join(asked)} alone: name other benchmarks in "
            f"faithfulness.benchmarks of suite {inputs.suite.name}, or none for all.",
        )


def _numbers(
    inputs: Inputs, block: str, partition: str, aligned: Rows, answered: Rows
) -> Iterator[Number]:
    place = ("18", block, inputs.suite.profile.generator.model)
    if aligned:
        scenes = np.array([row["scene_id"] for row in aligned])
        cosines = np.array([row["cosine"] for row in aligned])
        source = Source(alignment.NAME, partition)
        for column, weight in SCALES.items():
            found = clustered_mean(clip_score(cosines, weight), scenes)
            yield _number((*place, column), "number", found, source)
    asked = inputs.suite.profile.faithfulness.benchmarks
    note = f"of {', '.join(asked)}" if asked and partition == EVERY else ""
    for column in (ANSWERS, *KINDS) if answered else ():
        found = _share_right(answered, column)
        where = {} if column == ANSWERS else {"kinds": column}
        if found.n:
            source = Source(faithfulness.NAME, partition, where)
            # The paper prints a fraction: TIFA 0.914.
            yield replace(_number((*place, column), "number", found, source), note=note)


def _share_right(rows: Rows, column: str) -> Estimate:
    """Return the share of right answers to all questions, or to those of a kind."""
    asked = [
        (row["scene_id"], right == given)
        for row in rows
        for kind, right, given in zip(row["kinds"], row["right"], row["answers"], strict=True)
        if column in (ANSWERS, kind)
    ]
    return proportion(np.array([won for _, won in asked], bool), np.array([s for s, _ in asked]))


def _number(
    place: tuple[str, str, str, str], unit: Unit, found: Estimate | None, source: Source
) -> Number:
    if found is None:
        return Number(*place, None, unit, note="Images of two scenes or more are needed.")
    bounds = {"low": found.low, "high": found.high, "n_items": found.n}
    return Number(*place, found.value, unit, **bounds, source=source)
