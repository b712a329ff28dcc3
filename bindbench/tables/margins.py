"""Margins and ranks of the right caption, which the paper has no table of."""

from collections.abc import Iterator

from bindbench.pipeline import negatives
from bindbench.pipeline.margins import margin_summaries
from bindbench.tables.accuracy import accuracy_source, why_not
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, missing

TABLE = "margins"


def table_margins(inputs: Inputs) -> Iterator[Number]:
    """Yield each model's median margin, mean reciprocal rank and mean percentile."""
    for key in inputs.benchmarks:
        candidates = inputs.get(negatives.NAME, key)
        if candidates is None:
            yield missing(TABLE, f"{key} is not built: run {inputs.run_command}.")
            continue
        for model in inputs.models:
            yield from _of(inputs, model, key)


def _of(inputs: Inputs, model: str, key: str) -> Iterator[Number]:
    scores, candidates = inputs.scores(model, key), inputs.get(negatives.NAME, key)
    if scores is None or candidates is None:
        yield missing(TABLE, f"{model}: {why_not(inputs, model, key, '')}", key)
        return
    for track, (family, mode), found in margin_summaries(key, candidates, scores, inputs.lexicon):
        where = (TABLE, f"{key}, {track}", model)
        source = accuracy_source(model, key, track, family, mode)
        yield Number(
            *(*where, f"{family} median margin", found.median_margin, "number"),
            semantics=mode,
            n_items=found.n_items,
            source=source,
        )
        for name, estimate in (("MRR", found.reciprocal_rank), ("percentile", found.percentile)):
            yield Number(
                *(*where, f"{family} {name}", estimate.value, "number"),
                semantics=mode,
                low=estimate.low,
                high=estimate.high,
                n_items=found.n_items,
                source=source,
            )
        yield Number(
            *(*where, f"{family} MRR by chance", found.reciprocal_chance, "number"),
            semantics=mode,
        )
