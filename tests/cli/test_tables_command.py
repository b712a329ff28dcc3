"""``bindbench tables``: what it prints and writes, and the rows that it names."""

import csv
import io
import json

import pyarrow.parquet as pq
import pytest
from command_line import call
from small_store import KEY, UNBUILT, SmallStore, small_store

from bindbench.pipeline import leaderboard, spine
from bindbench.tables.catalogue import TABLES
from bindbench.tables.number import SCHEMA


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> SmallStore:
    store = small_store(tmp_path_factory.mktemp("tables"))
    for slug in ("check-random", "check-oracle"):
        spine.score_model(store.context(), KEY, slug)
    leaderboard.build(store.context())
    return store


@pytest.fixture
def tables(store, monkeypatch, capsys):
    """Run the command on the small store and return what it prints."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str, code: int = 0) -> str:
        where = ("--suite", store.file, "--store", store.root)
        assert call(monkeypatch, "tables", *where, *arguments) == code
        printed = capsys.readouterr()
        return printed.err if code else printed.out

    return run


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_table_has_its_title_its_rows_and_what_is_missing(store, tables):
    out = lines(tables("--table", "2", "--table", "5"))
    assert any(line.startswith("Table 2. Validated samples") for line in out)
    rows = store.context().current("validated", KEY).read(["track", "accepted"]).to_pylist()
    counts = [
        sum(row["accepted"] and row["track"] == track for row in rows)
        for track in ("minimal", "contextual")
    ]
    pairs = store.context().current("paired_set", KEY).rows
    assert f"{KEY} {counts[0]} {counts[1]} {pairs}" in out
    assert f"Missing: {UNBUILT} is not built: run 'bindbench run --suite small'." in out
    assert "Table 5: contextual, paper" in out
    assert any(line.startswith("check:oracle 100 (") for line in out)


def test_every_table_is_printed(tables):
    out = tables()
    for table in TABLES:
        assert table.title in out


def test_the_papers_values_stand_beside_and_below(tables):
    out = lines(tables("--table", "2", "--published"))
    assert any("26,388" in line and line.startswith(KEY) for line in out)
    assert "color-n3 — 3,074 — 2,930 — 1,027" in out  # only the paper has it
    assert "26,388" not in tables("--table", "2")
    assert "lacks the values" in tables("--table", "3", "--published")


def test_the_formats_say_the_same(tables, tmp_path):
    found = json.loads(tables("--table", "5", "--format", "json"))
    rows = list(csv.DictReader(io.StringIO(tables("--table", "5", "--format", "csv"))))
    tables("--table", "5", "--format", "parquet", "--out", str(tmp_path / "five.parquet"))
    stored = pq.read_table(tmp_path / "five.parquet")
    assert stored.schema.equals(SCHEMA) and stored.to_pylist() == found
    assert [row["value"] for row in rows] == [
        "" if row["value"] is None else str(row["value"]) for row in found
    ]
    tables("--table", "5", "--out", str(tmp_path / "five.txt"))
    assert "Table 5: minimal, strict" in (tmp_path / "five.txt").read_text()


NAMED = "5: check:random, color-n2 confusion, minimal, strict"


def test_the_rows_of_a_number(tables):
    (found,) = json.loads(tables("--rows", NAMED, "--format", "json"))
    won = [row["won"] for row in found["rows"] if row["rivals"]]
    assert sum(won) / len(won) == pytest.approx(found["value"])
    assert len(won) == found["n_items"]
    # Its own name finds it as well.
    assert json.loads(tables("--rows", found["id"], "--format", "json")) == [found]
    rows = list(csv.DictReader(io.StringIO(tables("--rows", NAMED, "--format", "csv"))))
    assert [row["index"] for row in rows] == [str(row["index"]) for row in found["rows"]]
    assert f"{len(rows)} rows of model_scores" in tables("--rows", NAMED)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--table", "99"), "There is no table '99': give one of 2, 3,"),
        (("--format", "html"), "give one of text, csv, json, parquet"),
        (("--format", "parquet"), "give the name of the file as --out"),
        (("--rows", "5"), "write a table and words"),
        (("--rows", "5: nano:clip"), "no number of it has 'nano:clip'"),
        (("--rows", "5: swap"), "no number of it has 'swap'; its first is '5: minimal, strict"),
    ],
)
def test_a_mistake_is_one_sentence(tables, arguments, why):
    err = tables(*arguments, code=2)
    assert why in " ".join(err.split()) and err.count("bindbench:") == 1
