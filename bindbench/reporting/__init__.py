"""What a run found, for people: the HTML report, terminal tables, plots and contact sheets."""

from pathlib import Path

# How the numbers are defined: a link to the page in docs/, of which a wheel holds a copy.
NUMBERS = Path(__file__).parent / "templates" / "numbers.md"
