"""Suites side by side: which concepts they share, and each model's accuracy on those."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from spine_driver import build_all
from stand_ins import First, Gray, Misses
from typer.testing import CliRunner

from bindbench.analysis.resampling import wilson
from bindbench.cli.main import app
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.family import Family, NoOptions
from bindbench.pipeline.across import across
from bindbench.pipeline.base import Context
from bindbench.semantics import FALSE
from bindbench.storage.store import Store
from bindbench.suite import resolve_suite

KEY = "color-n2"


def fields(name: str, k: int, **more) -> dict:
    return {
        "name": name,
        "benchmarks": [KEY, "position-n2"],
        "concepts": 24,
        "overrides": {
            "shard_size": 8,
            "survival": {n: {"low": 0.0} for n in ("captions", "presence", "background", "label")},
            "generator": {"model": "gray:in"},
            "detector": {"model": f"misses:{k}"},
            "judge": {"model": "first:in"},
            "scorers": [{"model": "check:random"}, {"model": "check:oracle"}],
        },
    } | more


@pytest.fixture(scope="module")
def patched():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bindbench.pipeline.judging.label_verdict", lambda *_: ("pass", ""))
        families = [
            Family("generator", "gray", ("in",), NoOptions, lambda *_: Gray()),
            Family("judge", "first", ("in",), NoOptions, lambda *_: First()),
            Family("detector", "misses", ("3", "4"), NoOptions, lambda n, *_: Misses(int(n.name))),
        ]
        for family in families:
            patch.setitem(registry.FAMILIES, (family.role, family.name), family)
        yield


def suite(name: str, k: int, **more):
    return resolve_suite(fields(name, k, **more), name)


@pytest.fixture(scope="module")
def contexts(patched, tmp_path_factory) -> list[Context]:
    root = tmp_path_factory.mktemp("store")
    suites = [suite("threes", 3), suite("fours", 4)]
    made = [Context(one, Store(root, one.name), LocalEngine(1)) for one in suites]
    for context in made:
        build_all(context)
    return made


def accepted(context: Context, track: str) -> dict[str, int]:
    rows = context.current("validated", KEY).read(["concept_id", "track", "accepted", "index"])
    return {
        r["concept_id"]: r["index"]
        for r in rows.to_pylist()
        if r["accepted"] and r["track"] == track
    }


def plainly(context: Context, track: str, indices: set[int], model: str) -> float:
    """The share of items whose positive is above all false captions, one item at a time."""
    scores = {
        (r["index"], r["track"]): r["scores"]
        for r in context.current("model_scores", f"{KEY}--{model}").read().to_pylist()
    }
    wins = []
    for row in context.current("negatives", KEY).read().to_pylist():
        if row["track"] != track or row["index"] not in indices:
            continue
        values = scores[row["index"], track]
        false = np.frombuffer(row["semantics"], np.int8) == FALSE
        wins.append(all(values[0] > v for v, f in zip(values, false, strict=True) if f))
    return sum(wins) / len(wins)


@pytest.mark.parametrize("track", ["minimal", "contextual"])
def test_accuracies_are_of_the_concepts_that_all_accepted(contexts, track):
    found = across(contexts, [KEY])
    own = [accepted(context, track) for context in contexts]
    both = own[0].keys() & own[1].keys()
    assert 0 < len(both) < min(map(len, own))
    (shared,) = [s for s in found.sets if s.track == track]
    assert (shared.shared, shared.captions_differ) == (len(both), 0)
    for context, mine in zip(contexts, own, strict=True):
        survived = shared.survival[context.suite.name]
        assert (survived["passed"], survived["total"]) == (len(mine), 24)
        wanted = {
            "track": track,
            "suite": context.suite.name,
            "model": "check:random",
            "family": "confusion",
            "semantics": "strict",
        }
        (row,) = [r for r in found.rows if r.items() >= wanted.items()]
        indices = {mine[concept] for concept in both}
        assert row["accuracy"] == plainly(context, track, indices, "check-random")
        assert row["n_items"] == row["shared"] == len(both)
        low, high = wilson(round(row["accuracy"] * len(both)), len(both))
        assert row["low"] <= row["accuracy"] <= row["high"]
        assert (row["low"], row["high"]) == pytest.approx((low, high), abs=0.1)


def test_the_same_images_give_the_same_accuracies(contexts):
    # Both suites draw the same, so that on the shared concepts nothing can differ.
    rows = across(contexts).rows
    by_suite = [
        [{k: v for k, v in r.items() if k != "suite"} for r in rows if r["suite"] == name]
        for name in ("threes", "fours")
    ]
    assert by_suite[0] == by_suite[1]
    assert {r["benchmark"] for r in rows} == {KEY, "position-n2"}


def test_what_is_not_comparable_is_left_out_and_named(contexts):
    one = contexts[0]
    other = suite("half", 4, benchmarks=[KEY], concepts=8)
    other = other.model_copy(
        update={"profile": other.profile.model_copy(update={"scorers": other.profile.scorers[:1]})}
    )
    context = Context(other, Store(one.store.root, other.name), LocalEngine(1))
    build_all(context)
    found = across([one, context])
    assert found.left_out == [
        f"{KEY}: check:oracle has no scores in half",
        "position-n2: not built in half",
    ]
    assert {row["model"] for row in found.rows} == {"check:random"}
    # Of the first 8 concepts, since a shorter sequence is a prefix.
    assert all(s.shared <= 8 for s in found.sets)
    assert found.sets[0].survival["half"]["total"] == 8


def test_suites_without_a_common_benchmark_are_refused(contexts, tmp_path):
    empty = suite("empty", 3)
    context = Context(empty, Store(tmp_path, empty.name), LocalEngine(1))
    with pytest.raises(UserError, match=r"share no built benchmark \(color-n2: not built in e"):
        across([contexts[0], context])
    with pytest.raises(UserError, match="two or more"):
        across([contexts[0]])
    with pytest.raises(UserError, match="two or more"):
        across([contexts[0], contexts[0]])


def test_the_command_prints_a_column_for_each_suite(contexts, tmp_path):
    files = []
    for name, k in (("threes", 3), ("fours", 4)):
        file = tmp_path / f"{name}.yaml"
        file.write_text(yaml.safe_dump(fields(name, k)))
        files.append(str(file))
    out, store = tmp_path / "new" / "rows.parquet", str(contexts[0].store.root)
    asked = ["across", *files, "--store", store, "--benchmark", KEY]
    shown = CliRunner().invoke(app, [*asked, "--out", str(out)], env={"COLUMNS": "140"})
    assert shown.exit_code == 0, shown.output
    assert "threes: gray:in" in shown.output
    assert "check:oracle" in shown.output and "100" in shown.output
    told = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert told["rows"] == pq.read_table(out).select(list(told["rows"][0])).to_pylist()
    assert [s["track"] for s in told["sets"]] == ["minimal", "contextual"]
