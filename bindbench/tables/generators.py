"""Table 9: does it depend on the generator? The same concepts drawn by others, and real images."""

from collections.abc import Iterator, Mapping
from typing import Any

from bindbench.models.family import ModelName
from bindbench.pipeline.across import Across, Built, side_by_side
from bindbench.pipeline.tallies import MODES
from bindbench.tables.accuracy import CHANCE, FAMILIES, accuracy_source
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, missing
from bindbench.tables.published import names_of, published_value
from bindbench.tasks import TRACKS

REAL = "folder"  # the family of generators that reads pictures: real images
KEY = "color-n3"  # the benchmark of the paper's values


def table_9(inputs: Inputs) -> Iterator[Number]:
    """Yield each model's accuracy by suite."""
    if not inputs.beside:
        yield missing(
            "9",
            "It lays suites of several generators, and real images, beside this one: name their "
            f"files in the field beside of suite {inputs.suite.name}.",
        )
        return
    suites = [inputs, *inputs.beside]
    real = [one for one in suites if _is_real(one)]
    drawn = [one for one in suites if not _is_real(one)]
    if len(drawn) > 1:
        yield from _drawn(inputs, drawn)
    for one in real:
        yield from _real(inputs, one)


def _is_real(inputs: Inputs) -> bool:
    return ModelName.parse(inputs.suite.profile.generator.model).family == REAL


def _drawn(inputs: Inputs, suites: list[Inputs]) -> Iterator[Number]:
    """Yield the accuracies on the concepts whose images all suites accepted."""
    found = side_by_side([Built(one.suite, one.artifacts) for one in suites], inputs.several)
    for why in found.left_out:
        yield missing("9", f"{why}: run 'bindbench run --suite' with each suite's name.")
    chances: set[tuple[str, ...]] = set()
    for row in _in_order(found):
        if row["family"] not in FAMILIES or row["accuracy"] is None:
            continue
        block, column = f"{row['benchmark']}, {row['track']}", f"{row['suite']} {row['family']}"
        chance = (block, row["semantics"], column)
        if chance not in chances:
            chances.add(chance)
            where = ("9", block, CHANCE, column)
            yield Number(*where, row["chance"], "share", semantics=row["semantics"])
        yield _number(row, block, column, row["generator"], _source(inputs, row))


def _in_order(found: Across) -> list[dict[str, Any]]:
    """Return the rows by benchmark, track and semantics, as they are shown."""
    order = [(s.benchmark, s.track, mode) for s in found.sets for mode in MODES]
    return [
        row
        for at in order
        for row in found.rows
        if (row["benchmark"], row["track"], row["semantics"]) == at
    ]


def _source(inputs: Inputs, row: Mapping[str, Any]) -> Source | None:
    """Return the items of this suite; those of others lie in stores of their own."""
    if row["suite"] != inputs.suite.name:
        return None
    at = (row["model"], row["benchmark"], row["track"], row["family"], row["semantics"])
    return accuracy_source(*at)


def _real(inputs: Inputs, one: Inputs) -> Iterator[Number]:
    """Yield the accuracies on a suite's own concepts: nobody has pictures of all others."""
    for key in inputs.several:
        for track in TRACKS:
            for family in FAMILIES:
                for mode in MODES:
                    for model in inputs.models:
                        row = one.board.get((model, key, track, "all", family, mode))
                        if row:
                            block, column = f"{key}, {track}", f"{one.suite.name} {family}"
                            yield _number(row, block, column, REAL, None)
    if not one.board:
        name = one.suite.name
        yield missing("9", f"Suite {name} has no scores: run 'bindbench run --suite {name}'.")


def _number(
    row: Mapping[str, Any], block: str, column: str, generator: str, source: Source | None
) -> Number:
    return Number(
        *("9", block, row["model"], column, row["accuracy"], "share"),
        semantics=row["semantics"],
        low=row["low"],
        high=row["high"],
        n_items=row["n_items"],
        published=_published(row, generator),
        source=source,
    )


def _published(row: Mapping[str, Any], generator: str) -> float | None:
    """Return the paper's value, which has a column for each generator."""
    if row["benchmark"] != KEY or row["semantics"] != "paper":
        return None
    names = ["Real"] if generator == REAL else names_of(generator)
    values = (published_value("9", "", row["model"], f"{name} {row['family']}") for name in names)
    return next((value for value in values if value is not None), None)
