"""Numbers as text. What was not measured is a dash, and nothing is rounded to 0% or to 100%."""

import math

MISSING = "—"


def measured(value: float | None) -> bool:
    """Say whether there is a number."""
    return value is not None and not math.isnan(value)


def percent(value: float | None) -> str:
    """Return a fraction as percent, to 0.1, or to 0.01 below 1%."""
    if value is None or math.isnan(value):
        return MISSING
    if value in (0, 1):
        return f"{value:.0%}"
    if 0 < value < 0.00005:
        return "<0.01%"
    if 0.9995 <= value < 1:
        return ">99.9%"
    return f"{value:.2%}" if 0 < value < 0.00995 else f"{value:.1%}"


def interval(low: float | None, high: float | None) -> str:
    """Return the two bounds of a fraction in percent, ``41.2–58.0``, or ``""``."""
    if not measured(low) or not measured(high):
        return ""
    return f"{percent(low).rstrip('%')}–{percent(high).rstrip('%')}"


def bounds(low: float | None, high: float | None) -> str:
    """Return the bounds that there are: ``1.2–4.0%``, ``at least 1.2%``, ``at most 4.0%``."""
    if measured(low) and measured(high):
        return f"{interval(low, high)}%"
    if measured(low):
        return f"at least {percent(low)}"
    return f"at most {percent(high)}" if measured(high) else ""


def points(value: float | None) -> str:
    """Return a difference of two fractions in percentage points, with its sign."""
    if value is None or math.isnan(value):
        return MISSING
    return f"{100 * value:+.1f}".replace("-", "−")


def probability(value: float | None) -> str:
    """Return a p-value with three decimals; a small one is never 0."""
    if value is None or math.isnan(value):
        return MISSING
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def decimal(value: float | None, signed: bool = False) -> str:
    """Return a number with two decimals."""
    if value is None or math.isnan(value):
        return MISSING
    return (f"{value:+.2f}" if signed else f"{value:.2f}").replace("-", "−")


def count(value: int | None) -> str:
    """Return a whole number with thin groups of thousands."""
    return MISSING if value is None else f"{value:,}".replace(",", "\u2009")


def raw_score(value: float) -> str:
    """Return a model's score: four decimals below 10 (cosines), two above (log-likelihoods)."""
    return f"{value:.4f}".replace("-", "−") if abs(value) < 10 else decimal(value)


def lead(value: float) -> str:
    """Return a difference of two scores with two significant digits; a small one is never 0."""
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def gigabytes(size: float) -> str:
    """Return a number of bytes in words: ``1.3 GB``, ``25 MB``."""
    for unit, width in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= width:
            number = size / width
            return f"{number:.1f} {unit}" if number < 9.95 else f"{number:,.0f} {unit}"
    return f"{size:.0f} B"
