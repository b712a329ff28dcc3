"""What the quality checks compare a table with."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """A column whose every value must lie between two numbers."""

    column: str
    low: float
    high: float
