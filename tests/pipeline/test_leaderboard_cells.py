"""Cells that are missing, and models that are retired, on the leaderboard."""

import pytest
from small_store import KEY, UNBUILT, small_store

from bindbench.pipeline import leaderboard, model_scores, spine
from bindbench.reporting.numbers import MISSING
from bindbench.reporting.tables import leaderboard_grid, leaderboard_lines
from bindbench.suite import RoleSettings


@pytest.fixture
def store(tmp_path):
    return small_store(tmp_path / "suite")


def with_models(store, scorers=(), retired=()):
    """Return the context in which these models are evaluated and these no more."""
    changes = {
        "scorers": tuple(RoleSettings(model=m) for m in scorers),
        "retired": tuple(RoleSettings(model=m) for m in retired),
    }
    profile = store.suite.profile.model_copy(update=changes)
    return store.context(store.suite.model_copy(update={"profile": profile}))


def board(context):
    artifact = leaderboard.build(context)
    return artifact, artifact.read().to_pylist()


def test_a_missing_cell_has_rows_without_items(store):
    context = with_models(store, ["check:random", "check:constant"])
    spine.score_model(context, KEY, "check-random")
    artifact, rows = board(context)
    missing = [row for row in rows if row["model"] == "check:constant"]
    assert {row["benchmark"] for row in missing} == {KEY}  # not of what is not built
    assert {(row["track"], row["family"], row["semantics"]) for row in missing} == {
        (track, family, mode)
        for track in ("minimal", "contextual")
        for family in ("swap", "confusion")
        for mode in ("strict", "paper")
    }
    assert all(row["n_items"] == 0 and row["accuracy"] is None for row in missing)
    assert artifact.summary == {"scored": 1, "missing": [f"check:constant on {KEY}"]}
    assert UNBUILT not in {row["benchmark"] for row in rows}


def test_a_cell_that_is_scored_is_missing_no_more(store):
    context = with_models(store, ["check:random"])
    board(context)
    spine.score_model(context, KEY, "check-random")
    artifact, rows = board(context)
    assert artifact.summary["missing"] == []
    assert all(row["n_items"] for row in rows if row["set"] == "all" and row["family"] == "swap")


def test_a_retired_model_keeps_its_scores_even_if_its_files_are_gone(store, monkeypatch):
    spine.score_model(with_models(store, ["check:random"]), KEY, "check-random")
    context = with_models(store, ["check:oracle"], retired=["check:random"])
    spine.score_model(context, KEY, "check-oracle")

    def gone(role, settings):
        assert settings.model != "check:random", "it may be nowhere any more"
        return real(role, settings)

    real = leaderboard.registry.describe
    monkeypatch.setattr(leaderboard.registry, "describe", gone)
    artifact, rows = board(context)
    assert {(row["model"], row["retired"]) for row in rows} == {
        ("check:oracle", False),
        ("check:random", True),
    }
    assert artifact.summary["missing"] == []  # a retired model's cells are not waited for


def test_a_retired_models_scores_of_other_candidates_are_gone(store):
    spine.score_model(with_models(store, ["check:random"]), KEY, "check-random")
    context = with_models(store, retired=["check:random"])
    old = context.store.current("negatives", KEY)
    scores = context.store.current(model_scores.NAME, model_scores.partition(KEY, "check-random"))
    assert leaderboard._fits(scores, old)
    changed = context.suite.model_copy(update={"seed": 5})
    context = store.context(changed)
    spine.build_benchmark(context, KEY)
    assert not leaderboard._fits(scores, context.store.current("negatives", KEY))
    _, rows = board(context)
    assert rows == []


def test_the_tables_say_what_is_missing_and_what_is_retired(store):
    spine.score_model(with_models(store, ["check:random"]), KEY, "check-random")
    _, rows = board(with_models(store, ["check:oracle"], retired=["check:random"]))
    lines = {line[1]: line[2:] for line in leaderboard_lines(rows).rows}
    assert set(lines) >= {"check:oracle", "check:random (retired)"}
    assert lines["check:oracle"] == (MISSING,) * 4 + ("0",)
    assert {"check:oracle", "check:random (retired)"} <= set(leaderboard_grid(rows).headers)
