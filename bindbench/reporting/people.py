"""What people answered, as a table for the terminal."""

from collections.abc import Sequence
from dataclasses import dataclass

from bindbench.people.answers import KINDS, Answered, agreement_of, of_kind, share_right
from bindbench.reporting.numbers import decimal, percent
from bindbench.reporting.tables import Grid
from bindbench.reporting.wording import TRACKS

_TITLES = {"concordance": "Agrees with the checks", "swap": "Swap", "confusion": "Confusion"}


@dataclass(frozen=True)
class Row:
    """One kind of question about one benchmark's track."""

    benchmark: str
    track: str
    kind: str
    people: int
    answers: int
    share: float  # of right answers
    low: float  # of its 95% interval, clustered by scene
    high: float
    chance: float  # mean of 1 / options
    alpha: float | None  # Krippendorff's, nominal; None: nothing can disagree


def summary_rows(answers: Sequence[Answered]) -> list[Row]:
    """Return a row for each benchmark, track and kind of question that was answered."""
    rows = []
    for key in dict.fromkeys(one.benchmark for one in answers):
        for track in TRACKS:
            for kind in KINDS:
                own = of_kind(answers, kind, key, track)
                found = share_right(own)
                if found is not None:
                    people = len({one.validator for one in own})
                    chance = sum(1 / len(one.offered) for one in own) / len(own)
                    share = (found.value, found.low, found.high, chance)
                    rows.append(Row(key, track, kind, people, len(own), *share, agreement_of(own)))
    return rows


def people_grid(rows: Sequence[Row]) -> Grid:
    """Return the rows as a table."""
    lines = tuple(
        (
            row.benchmark,
            TRACKS[row.track],
            _TITLES[row.kind],
            str(row.people),
            str(row.answers),
            f"{percent(row.share)} ({percent(row.low)}–{percent(row.high)})",
            percent(row.chance),
            decimal(row.alpha),
        )
        for row in rows
    )
    headers = ("Benchmark", "Track", "Question", "People", "Answers", "Right", "Chance", "Alpha")
    note = (
        "Right: of the first kind, that the image fits its caption just where the pipeline "
        "accepted it. 95% intervals by scene. Alpha: Krippendorff's, of people among each other."
    )
    return Grid("What people answered", headers, lines, names=3, note=note)
