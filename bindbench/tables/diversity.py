"""Table 17: how diverse the captions of a writer are."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from bindbench.analysis.diversity import distinct_at, semantic_diversity
from bindbench.pipeline import alignment, captions
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, missing

GRAMS = (2, 3, 4)
SEMANTIC = "semantic diversity"
TEMPLATE = "minimal captions"  # the row of what no writer wrote


def table_17(inputs: Inputs) -> Iterator[Number]:
    """Yield the diversity of both tracks' captions, of those that say their concept."""
    built = {key: _texts(inputs, key) for key in inputs.benchmarks if inputs.get("captions", key)}
    for key in inputs.benchmarks:
        if not built.get(key):
            yield missing("17", f"{key} has no captions: run {inputs.run_command}.")
    texts = {key: found for key, found in built.items() if found}
    if not texts:
        return
    size = min(len(own) for found in texts.values() for own in found.values())
    for key, found in texts.items():
        for track, own in found.items():
            row = TEMPLATE if track == "minimal" else inputs.suite.profile.writer.model
            yield from _distinct(key, row, track, own, size)
            yield _semantic(inputs, key, row, track)


def _texts(inputs: Inputs, key: str) -> Mapping[str, Sequence[str]]:
    """Return the captions that passed, by track: the writer's first."""
    rows = inputs.rows(captions.NAME, key, ("track", "text", "verdict"))
    passed = [row for row in rows if row["verdict"] == "pass"]
    tracks = ("contextual", "minimal")
    return {t: [r["text"] for r in passed if r["track"] == t] for t in tracks} if passed else {}


def _distinct(key: str, row: str, track: str, texts: Sequence[str], size: int) -> Iterator[Number]:
    source = Source(captions.NAME, key, {"track": track, "verdict": "pass"})
    for n in GRAMS:
        yield Number(
            *("17", key, row, f"distinct-{n}", distinct_at(texts, n, size), "number"),
            n_items=size,
            note=""
            if size == len(texts)
            else f"of {size} of the {len(texts)} captions, on average",
            source=source,
        )


def _semantic(inputs: Inputs, key: str, row: str, track: str) -> Number:
    place = ("17", key, row, SEMANTIC)
    artifact = inputs.get(alignment.NAME, key)
    if artifact is None:
        return Number(*place, None, "number", note=why_not(inputs, "encoder", key))
    table = artifact.read(["track", "scene_id", "embedding"])
    own = table.filter(table["track"].to_numpy() == track)
    found = semantic_diversity(_vectors(own), np.array(own["scene_id"].to_pylist()))
    if found is None:
        return Number(*place, None, "number", note="Fewer than two captions.")
    return Number(
        *(*place, found.value, "number"),
        low=found.low,
        high=found.high,
        n_items=found.n,
        source=Source(alignment.NAME, key, {"track": track}),
    )


def _vectors(rows: pa.Table) -> np.ndarray:
    """Return the embeddings, float32 (captions, D)."""
    column = rows["embedding"].combine_chunks()
    return column.flatten().to_numpy().reshape(len(column), -1) if len(column) else np.empty((0, 1))


def why_not(inputs: Inputs, role: str, key: str) -> str:
    """Say why nothing measured a benchmark's images or captions."""
    if getattr(inputs.suite.profile.faithfulness, role) is None:
        return (
            f"Suite {inputs.suite.name} names no {role}: set faithfulness.{role} in its overrides, "
            f"and run {inputs.run_command}."
        )
    return f"{key} is not measured by the {role}: run {inputs.run_command}."
