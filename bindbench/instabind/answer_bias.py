"""Preferences that have nothing to do with the image: for "yes", and for a letter."""

from dataclasses import dataclass

from scipy import special

from bindbench.instabind.outcomes import INVALID, Outcomes
from bindbench.instabind.parsing import LETTERS


@dataclass(frozen=True)
class YesNo:
    """How well true claims are told from false ones, and the lean to "yes" (signal detection)."""

    d_prime: float  # 0: not at all
    bias: float  # criterion c; below 0: leans to "yes"
    yes_to_true: float | None  # shares of the valid answers
    yes_to_false: float | None


@dataclass(frozen=True)
class LetterBias:
    """How often each letter is chosen, and how often it would be right."""

    chosen: dict[str, int]
    right: dict[str, int]  # over the same questions
    distance: float  # total variation between the two: 0 none, 1 complete


def yes_no(table: Outcomes) -> YesNo | None:
    """Return the sensitivity and bias on L4; None where nothing was validly answered.

    Half an answer is added to each cell (Hautus, 1995), so that rates of 0 and 1 are finite.
    """
    rows = table.where((table.level == "L4") & (table.error != INVALID))
    if not len(rows):
        return None
    counts = []
    for gold in ("yes", "no"):
        part = rows.where(rows.gold == gold)
        counts.append((int((part.said == "yes").sum()), len(part)))
    hit, false_alarm = (float(special.ndtri((yes + 0.5) / (n + 1))) for yes, n in counts)
    shares = [yes / n if n else None for yes, n in counts]
    return YesNo(hit - false_alarm, -(hit + false_alarm) / 2, *shares)


def letters(table: Outcomes) -> LetterBias | None:
    """Return the preference for letters on L2; None where no letter was chosen.

    The letter of an instance is its place from left to right.
    """
    rows = table.where((table.level == "L2") & (table.source > 0))
    if not len(rows):
        return None
    names = LETTERS[: int(rows.group_size.max())]
    chosen = {name: int((rows.source == i).sum()) for i, name in enumerate(names, 1)}
    right = {name: int((rows.target == i).sum()) for i, name in enumerate(names, 1)}
    gap = sum(abs(chosen[name] - right[name]) for name in names) / (2 * len(rows))
    return LetterBias(chosen, right, gap)
