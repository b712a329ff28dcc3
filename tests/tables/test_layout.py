"""Numbers as text: what a cell says, and how a wide table is broken."""

import pytest

from bindbench.reporting.numbers import MISSING
from bindbench.tables.layout import grids, name_of, notes, text
from bindbench.tables.number import Number, Source, from_rows, missing, to_row


def number(column="color-n2 swap", row="nano:clip", value=0.5, unit="share", **more) -> Number:
    return Number("5", "minimal", row, column, value, unit, **more)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (number(value=0.573, low=0.412, high=0.72), "57.3 (41.2–72.0)"),
        (number(value=0.0014), "0.14"),
        (number(value=None, note="not scored"), MISSING),
        (number(value=12345, unit="count"), "12,345"),
        (number(value=0.2071, unit="number"), "0.207"),
        (number(value=31.634, unit="number"), "31.63"),
        (number(value=1234.5, unit="hours"), "1,234.50"),
        (number(value=-0.149, unit="difference"), "−14.9"),
        (
            number(value=0.05, unit="difference", low=-0.01, high=0.11, p_value=0.0321),
            "+5.0 (−1.0 to +11.0) p 0.032",
        ),
    ],
)
def test_a_cell(one, said):
    assert text(one) == said


def test_a_block_is_a_grid_whose_rows_and_columns_come_as_the_numbers_do():
    found = [
        number("a", "chance", 0.5, semantics="strict"),
        number("a", "x", 0.25, semantics="strict"),
        number("b", "x", None, semantics="strict"),
        number("a", "x", 0.75, semantics="paper"),
    ]
    strict, paper = grids(found)
    assert strict.title == "Table 5: minimal, strict" and paper.title == "Table 5: minimal, paper"
    assert strict.headers == ("", "a", "b")
    assert strict.rows == (("chance", "50.0", MISSING), ("x", "25.0", MISSING))
    assert paper.rows == (("x", "75.0"),)


def test_the_paper_has_a_column_of_its_own_only_where_it_is_asked_for():
    found = [number("a", published=0.25), number("b")]
    (plain,), (with_paper,) = grids(found), grids(found, published=True)
    assert plain.headers == ("", "a", "b")
    assert with_paper.headers == ("", "a", "a paper", "b")
    assert with_paper.rows == (("nano:clip", "50.0", "25.0", "50.0"),)


def test_a_wide_grid_is_broken_and_loses_no_cell():
    found = [
        number(f"column {c}", f"row{r}", (10 * c + r) / 100) for r in range(9) for c in range(7)
    ]
    pieces = list(grids(found, width=40))
    assert len(pieces) > 1
    cells = {
        frozenset((header, row[0])): cell
        for piece in pieces
        for row in piece.rows
        for header, cell in zip(piece.headers[1:], row[1:], strict=True)
    }
    assert cells == {frozenset((n.column, n.row)): text(n) for n in found}
    widths = [sum(max(map(len, column)) + 2 for column in _columns(p)) for p in pieces]
    assert max(widths) <= 40


def _columns(piece):
    headers = [max(header.split(" "), key=len) for header in piece.headers]
    return zip(headers, *piece.rows, strict=True)


def test_a_grid_of_one_long_row_is_turned():
    found = [number(f"column {c}", "model") for c in range(12)]
    (grid,) = grids(found, width=40)
    assert grid.headers == ("", "model")
    assert [row[0] for row in grid.rows] == [n.column for n in found]


def test_what_is_missing_is_said_once():
    found = [
        missing("5", "color-n2 is not built."),
        number(value=None, note="x is not scored."),
        number("b", value=None, note="x is not scored."),
        number("c", value=0.5, note="a remark"),
    ]
    assert notes(found) == ["color-n2 is not built.", "x is not scored."]


def test_numbers_survive_the_artifact():
    found = [
        number(low=0.1, high=0.9, n_items=3, p_value=0.2, published=0.4, semantics="paper"),
        number(source=Source("validated", "color-n2", {"track": "minimal", "accepted": True})),
        missing("5", "why"),
    ]
    assert from_rows(map(to_row, found)) == found


def test_names():
    assert name_of("5") == "Table 5" and name_of("margins") == "Margins"
    assert number(semantics="paper").id == "5: minimal, paper, nano:clip, color-n2 swap"
