import io

from fake_report import fake_report
from rich.console import Console

from bindbench.reporting import tables
from bindbench.reporting.data import COLUMNS


def printed(table, width=80) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue()


def score(model, family, semantics, accuracy, chance=0.5, ceiling=None, benchmark="color-n2"):
    row = dict.fromkeys(COLUMNS["leaderboard"])
    return row | {
        "model": model, "benchmark": benchmark, "track": "minimal", "set": "all", "n_items": 12,
        "readout": "score", "family": family, "semantics": semantics, "accuracy": accuracy,
        "chance": chance, "ceiling": ceiling,
    }  # fmt: skip


ROWS = [
    score("m:a", "swap", "strict", 0.75),
    score("m:a", "swap", "paper", 0.25, ceiling=0.5),
    score("m:a", "confusion", "strict", 0.125, 1 / 16),
    score("[red]m[/red]", "swap", "strict", 0.0),
]


def test_leaderboard_in_the_form_of_table_5():
    grid = tables.leaderboard_grid(ROWS)
    assert grid.headers[3:] == ("Chance", "Ceiling", "m:a", "[red]m[/red]")
    both = "swap / confusion"
    strict = ("color-n2", both, "strict", "50.0 / 6.2", "—", "75.0 / 12.5", "0 / —")
    paper = ("color-n2", both, "paper", "50.0 / —", "50.0 / —", "25.0 / —", "— / —")
    assert grid.rows == (strict, paper)


def test_leaderboard_by_lines():
    assert tables.leaderboard_lines(ROWS).rows == (
        ("color-n2", "chance", "50.0", "50.0", "6.2", "—", ""),
        ("color-n2", "ceiling", "—", "50.0", "—", "—", ""),
        ("color-n2", "m:a", "75.0", "25.0", "12.5", "—", "12"),
        ("color-n2", "[red]m[/red]", "0", "—", "—", "—", "12"),
    )


def test_difference_is_in_points():
    rows = [score("m:a", "swap", "strict", -0.031) | {"track": "difference", "set": "paired"}]
    assert tables.leaderboard_lines(rows, "difference", "paired").rows[-1][2] == "−3.1"


def test_survival():
    row = {
        "benchmark": "color-n2", "track": "contextual", "check": "presence", "reached": 8,
        "passed": 6, "total": 10, "share_of_reached": 0.75, "share_of_all": 0.6, "low": 0.4,
        "high": 0.9,
    }  # fmt: skip
    done = row | {"check": "accepted", "reached": 10, "passed": 6, "share_of_reached": 0.6}
    grid = tables.survival_grid([row, done])
    assert grid.rows == (("color-n2", "Contextual", "—", "75.0%", "—", "—", "60.0%", "6"),)


def test_markup_in_names_is_shown_as_it_is():
    assert "[red]m[/red]" in printed(tables.leaderboard_table(ROWS))


def test_a_terminal_of_80_columns_breaks_no_line():
    data = fake_report(samples=1)
    text = printed(tables.survival_table(data.survival))
    assert len(text.splitlines()) == 3 + 18 + 1
    lines = printed(tables.leaderboard_table(data.leaderboard)).splitlines()
    assert any(line.split()[:3] == ["nano:negclip", "57.1", "57.1"] for line in lines)
    assert all(len(line) <= 80 for line in lines)


def test_markdown_escapes_what_would_break_a_row():
    grid = tables.Grid("t", ("Name", "Value"), (("a|b\nc", "1"),), names=1)
    assert tables.to_markdown(grid) == "| Name | Value |\n| --- | ---: |\n| a\\|b c | 1 |\n"
