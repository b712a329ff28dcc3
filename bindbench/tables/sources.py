"""The rows that a number was computed from."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa

from bindbench.analysis.accuracy import Mode, Outcomes, outcomes_of
from bindbench.errors import UserError
from bindbench.pipeline import model_scores, negatives, paired_set
from bindbench.pipeline.base import UNPARTITIONED
from bindbench.pipeline.scored import ScoredSet, scored_set
from bindbench.storage.store import Artifact
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source
from bindbench.tasks import Track

EVERY = "*"  # in place of a partition: every benchmark that the suite has built
_SHOWN = ("objects", "labels", "caption", "concept_id", "scene_id")  # of an item
Row = dict[str, Any]


def find(numbers: Sequence[Number], wanted: str) -> list[Number]:
    """Return the numbers that a text names: ``5: nano:clip, color-n2 swap``.

    First the table, then any of the words of ``Number.id``, in any order.

    Raises:
        UserError: the text is of another form, or no number has all of these words.
    """
    table, colon, rest = wanted.partition(":")
    words = {word.strip() for word in rest.split(", ")} - {""}
    if not colon or not words:
        raise UserError(
            f"--rows {wanted!r}: write a table and words of its number, as '5: chance'."
        )
    own = [number for number in numbers if number.table == table.strip() and number.words]
    found = [number for number in own if words <= _words(number)]
    if found:
        return found
    unknown = sorted(words - {word for number in own for word in _words(number)})
    why = f"no number of it has {unknown[0]!r}" if unknown else "no number of it has all of these"
    first = f"; its first is {own[0].id!r}" if own else ", for it has none"
    raise UserError(f"--rows {wanted!r}: table {table.strip()}: {why}{first}.")


def _words(number: Number) -> set[str]:
    return {part for word in number.words for part in (word, *word.split(", "))}


def rows_of(source: Source, inputs: Inputs) -> list[Row]:
    """Return the rows of a source, without columns of bytes.

    Those of ``model_scores`` are items: what was shown and asked, and what became of it.
    """
    asset, partition = source.asset, source.partition
    if asset == model_scores.NAME:
        return _items(source, inputs)
    names = [asset] if partition == UNPARTITIONED else [f"{asset}/{partition}"]
    if partition == EVERY:
        names = [f"{asset}/{key}" for key in inputs.benchmarks if inputs.get(asset, key)]
    if missing := [name for name in names if name not in inputs.artifacts]:
        raise UserError(f"{missing[0]} is not there: run {inputs.run_command}.")
    rows = [row for name in names for row in _readable(inputs.artifacts[name])]
    return _chosen(rows, source.where)


def _readable(artifact: Artifact) -> list[Row]:
    rows: list[Row] = []
    for i in range(len(artifact.shards)):
        table = artifact.read_shard(i)
        kept = [f.name for f in table.schema if not pa.types.is_binary(f.type)]
        rows += table.select(kept).to_pylist()
    return rows


def _chosen(rows: Sequence[Row], where: Mapping[str, Any]) -> list[Row]:
    return [row for row in rows if all(_has(row[name], value) for name, value in where.items())]


def _has(value: Any, wanted: Any) -> bool:
    """Whether a value is the wanted one, one of those, or a list that holds it."""
    if isinstance(wanted, list):
        return value in wanted
    return wanted in value if isinstance(value, list) else value == wanted


def _items(source: Source, inputs: Inputs) -> list[Row]:
    """Return a model's items: whether each won, against how many, and the right caption's score."""
    key = source.partition.partition("--")[0]
    scores = inputs.get(model_scores.NAME, source.partition)
    candidates = inputs.get(negatives.NAME, key)
    if scores is None or candidates is None:
        raise UserError(
            f"The scores of {source.partition} are not there: run {inputs.run_command}."
        )
    where = dict(source.where)
    track, family = cast(Track, where.pop("track")), where.pop("family")
    mode = cast(Mode, where.pop("semantics"))
    found = scored_set(key, track, candidates, scores, inputs.lexicon)
    paired = {row["index"] for row in inputs.rows(paired_set.NAME, key, ("index",))}
    common = {"track": track, "family": family, "semantics": mode}
    shown = inputs.rows(negatives.NAME, key, ("index", "track", *_SHOWN))
    own = [row for row in shown if row["track"] == track]
    rows = [
        {"index": row["index"], **outcome, "paired": row["index"] in paired, **common}
        | {name: row[name] for name in _SHOWN}
        for row, outcome in zip(own, _outcomes(found, family, mode), strict=True)
    ]
    return _chosen(rows, where)


def _outcomes(found: ScoredSet, family: str, mode: Mode) -> Iterator[Row]:
    items, subset = found.of(family), found.subsets[family]
    outcomes: Outcomes = outcomes_of(items, mode, subset)
    for i in range(len(items)):
        yield {
            "won": bool(outcomes.win[i]),
            "rivals": int(outcomes.rivals[i]),
            "tied": int(outcomes.tied[i]),
            "score": float(items.scores[i, 0]),
        }
