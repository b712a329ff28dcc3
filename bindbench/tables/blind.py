"""Table 19: what models reach without the image."""

from collections.abc import Iterator, Mapping
from typing import Any

from bindbench.pipeline import leaderboard
from bindbench.pipeline.base import UNPARTITIONED
from bindbench.pipeline.tallies import MODES
from bindbench.tables.accuracy import CHANCE, FAMILIES, accuracy
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, missing
from bindbench.tasks import TRACKS

Row = Mapping[str, Any]
# With many candidates the paper offers 49 wrong ones. A swap is asked among all of its kind.
READOUTS = {"swap": ("blind",), "confusion": ("blind_choice", "blind")}


def table_19(inputs: Inputs) -> Iterator[Number]:
    """Yield the accuracy of each model that is also scored without the image, and chance."""
    rows = [row for row in inputs.rows(leaderboard.NAME) if row["accuracy"] is not None]
    asked_blind = blind_models(inputs)
    cells = {
        (r["model"], r["benchmark"], r["track"], r["family"], r["semantics"], r["readout"]): r
        for r in rows
        if r["set"] == "all" and (r["readout"] != "score" or r["model"] in asked_blind)
    }
    known = {cell[0] for cell in cells if cell[-1] == "blind"} | asked_blind
    models = [model for model in inputs.models if model in known]
    if not models:
        yield missing("19", _why(inputs))
        return
    for track in TRACKS:
        for mode in MODES:
            found = {
                (model, key, family): _cell(cells, asked_blind, model, key, track, family, mode)
                for model in models
                for key in inputs.several
                for family in FAMILIES
            }
            yield from _chance(track, mode, {at: row for at, row in found.items() if row})
            for (model, key, family), row in found.items():
                place = ("19", track, model, f"{key} {family}")
                why = f"{model} is not scored on {key} without the image."
                yield accuracy(place, mode, row, _source(row or {}), why)


def blind_models(inputs: Inputs) -> set[str]:
    """Return the models that are asked without the image and have no other score."""
    listed = inputs.suite.profile.listed
    return {settings.model for settings in listed if settings.options.get("blind")}


def _cell(
    cells: Mapping[tuple[str, ...], Row], asked_blind: set[str], model: str, *at: str
) -> Row | None:
    """Return the row of the first readout that there is, of (benchmark, track, family, mode)."""
    readouts = ("score",) if model in asked_blind else READOUTS[at[2]]
    found = (cells.get((model, *at, readout)) for readout in readouts)
    return next(filter(None, found), None)


def _chance(track: str, mode: str, found: Mapping[tuple[str, str, str], Row]) -> Iterator[Number]:
    """Yield what guessing reaches, of the first model in each column."""
    seen: set[str] = set()
    for (_, key, family), row in found.items():
        column = f"{key} {family}"
        if column not in seen:
            seen.add(column)
            yield Number("19", track, CHANCE, column, row["chance"], "share", semantics=mode)


def _source(row: Row) -> Source:
    names = ("model", "benchmark", "track", "set", "family", "semantics", "readout")
    return Source(leaderboard.NAME, UNPARTITIONED, {name: row.get(name) for name in names})


def _why(inputs: Inputs) -> str:
    if not inputs.get(leaderboard.NAME):
        return f"There is no leaderboard: run {inputs.run_command}."
    return (
        f"No model of suite {inputs.suite.name} is scored without the image: list a generative one "
        "(nano:vlm, hf:org/name with image_free) or one of api with the option blind, and run "
        f"{inputs.run_command}."
    )
