"""Tables of one model's accuracies for the terminal."""

from collections.abc import Sequence

from bindbench.reporting import views
from bindbench.reporting.data import SEMANTICS, Rows
from bindbench.reporting.numbers import MISSING, bounds, interval, percent
from bindbench.reporting.tables import Grid
from bindbench.reporting.wording import FAMILIES, READOUTS
from bindbench.reporting.wording import TRACKS as TITLES
from bindbench.tasks import TRACKS

_LEFT_OUT = ("confusion_no_count",)  # as on the printed leaderboard
_NOTE = (
    "Accuracy and its interval in %. strict: only false captions count; paper: all other "
    "candidates count. Ceiling: of a perfect model to which the order of clauses means nothing."
)


def model_grid(rows: Rows, track: str) -> Grid:
    """Return a model's accuracies in a track, with interval, chance and ceiling.

    One line for each benchmark, family and mode.

    Args:
        rows: of the leaderboard, of one model.
        track: minimal or contextual.
    """
    shown = views.select(rows, track=track, set="all", readout="score")
    lines = []
    for key, family in _families(shown):
        for mode in SEMANTICS:
            row = views.first(shown, benchmark=key, family=family, semantics=mode)
            if row is not None:
                lines.append((key, FAMILIES[family], mode, *_cells(row)))
    headers = ("Benchmark", "Wrong captions", "Mode", "Accuracy", "95%", "Chance", "Ceiling")
    title, note = f"{TITLES[track]} track", _NOTE + _undecided(shown)
    return Grid(title, (*headers, "Items"), tuple(lines), names=3, note=note, apart=True)


def _undecided(rows: Rows) -> str:
    """Say how many items the arithmetic leaves open, where that is known."""
    shares = [row["undecided"] for row in rows if row["undecided"] is not None]
    if not shares:
        return ""
    return (
        f" The arithmetic leaves {bounds(min(shares), max(shares))} of the items undecided, which "
        "are counted as they came out."
    )


def _families(rows: Rows) -> list[tuple[str, str]]:
    """Return the (benchmark, family) combinations that a table shows, in order."""
    shown = (row for row in rows if row["family"] not in _LEFT_OUT)
    return list(dict.fromkeys((row["benchmark"], row["family"]) for row in shown))


def _cells(row: views.Row) -> tuple[str, ...]:
    return (
        _share(row["accuracy"]),
        interval(row["low"], row["high"]),
        _share(row["chance"]),
        _share(row["ceiling"]),
        str(row["n_items"]),
    )


def _share(value: float | None) -> str:
    return percent(value).rstrip("%")


def readout_grid(rows: Rows) -> Grid | None:
    """Return the strict accuracy by every readout that a model's scores have; None if only one.

    One line for each benchmark, family and track.
    """
    scores = views.Scores(rows)
    readouts = scores.readouts(scores.models[0])
    if len(readouts) < 2:
        return None
    shown = views.select(rows, set="all", semantics=SEMANTICS[0])
    lines = []
    for key, family in _families(shown):
        for track in TRACKS:
            found = views.select(shown, benchmark=key, family=family, track=track)
            shares = {row["readout"]: _share(row["accuracy"]) for row in found}
            cells = (shares.get(name, MISSING) for name in readouts)
            lines.append((key, FAMILIES[family], TITLES[track], *cells))
    headers = ("Benchmark", "Wrong captions", "Track", *(READOUTS[name][0] for name in readouts))
    note = "Strict accuracy in %, by which of the stored numbers decides: see docs/numbers.md."
    return Grid("Readouts", headers, tuple(lines), 3, note, apart=True)


def prompt_grid(rows: Rows) -> Grid:
    """Return the accuracy under each prompt and the agreement of the choices.

    One line for each benchmark, family and track.
    """
    prompts = list(rows[0]["accuracy"]) if rows else []
    lines = [
        (key, FAMILIES[family], TITLES[row["track"]], *_by_prompt(row, prompts))
        for key, family in _families(rows)
        for row in views.select(rows, benchmark=key, family=family)
    ]
    names = ("Benchmark", "Wrong captions", "Track")
    headers = (*names, *prompts, "Chance", "All agree", "Worst pair", "Items")
    note = (
        "Strict accuracy in % under each prompt; the share of items on which all prompts, and the "
        "two that agree least, choose the same caption."
    )
    return Grid("Prompts", headers, tuple(lines), names=3, note=note, apart=True)


def _by_prompt(row: views.Row, prompts: Sequence[str]) -> tuple[str, ...]:
    found = [row["accuracy"][prompt] for prompt in prompts]
    return (
        *(_share(accuracy["accuracy"]) for accuracy in found),
        _share(found[0]["chance"]),  # of the candidates, whatever the prompt
        _share(row["agreement"]["share"]),
        _share(min(pair["share"] for pair in row["pairs"])),
        str(row["n_items"]),
    )
