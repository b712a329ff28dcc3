"""Tables 8, 19 and 21 from artifacts whose rows are given."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from table_suites import cheap_context

from bindbench.pipeline import finetuned, leaderboard, second_opinion
from bindbench.pipeline.base import table
from bindbench.storage.datasets import Shard
from bindbench.suite import RoleSettings
from bindbench.tables.blind import table_19
from bindbench.tables.finetuning import table_8
from bindbench.tables.inputs import Inputs
from bindbench.tables.judges import table_21


@dataclass(frozen=True)
class Given:
    """A stage whose rows are known."""

    schema: pa.Schema

    def __call__(self, task):
        return table(task, self.schema)


@pytest.fixture
def context(tmp_path: Path):
    with cheap_context(tmp_path) as context:
        yield context


def inputs(context, stage, rows, partition="all", profile=None, **settings):
    """Return the inputs with one artifact of these rows."""
    shard = Shard("given", rows)
    made = context.build(
        stage.NAME, partition, stage.SCHEMA, settings, [shard], Given(stage.SCHEMA)
    )
    name = stage.NAME if partition == "all" else f"{stage.NAME}/{partition}"
    changed = context.suite.profile.model_copy(update=profile or {})
    suite = context.suite.model_copy(update={"profile": changed})
    return Inputs(suite, {name: made})


def gain(change, value, **more):
    row = {"benchmark": "color-n2", "track": "minimal", "family": "confusion"}
    row |= {"semantics": "paper", "change": change, "n_items": 40, "trained": True}
    return row | {"value": value, "low": value - 0.1, "high": value + 0.1} | more


def test_gains_stand_by_what_is_compared(context):
    rows = [
        gain("extra", 0.05),
        gain("confusion", 0.2),
        gain("swap", 0.15),
        gain("swap", 0.3, family="confusion_no_count"),
        gain("swap", 0.0, benchmark="color-n1", n_items=0),
    ]
    found = list(table_8(inputs(context, finetuned, rows, recipe={"model": "nano:clip"})))
    assert [(n.block, n.value) for n in found] == [
        ("trained on swap, minimal", 0.15),
        ("trained on Confusion, minimal", 0.2),
        ("Confusion beyond swap, minimal", 0.05),
    ]
    last = found[-1]
    assert (last.row, last.column, last.semantics) == ("nano:clip", "color-n2 confusion", "paper")
    assert (last.low, last.high, last.n_items) == (pytest.approx(-0.05), pytest.approx(0.15), 40)
    assert last.source.where["change"] == "extra"
    (lacking,) = table_8(Inputs(context.suite, {}))
    assert "add a section finetuning" in lacking.note


def cell(readout, accuracy, **more):
    row = {"model": "nano:vlm", "benchmark": "color-n3", "track": "minimal", "set": "all"}
    row |= {"readout": readout, "family": "confusion", "semantics": "paper", "n_items": 40}
    row |= {"accuracy": accuracy, "low": 0.0, "high": 0.2, "chance": 0.02, "n_excluded": 0}
    return row | more


def test_blind_models_choose_among_fifty_where_there_are_more(context):
    rows = [
        cell("score", 0.8),
        cell("blind", 0.01, chance=1 / 729),
        cell("blind_choice", 0.03),
        cell("blind", 0.18, family="swap", chance=1 / 6),
        cell("blind_choice", 0.5, family="swap"),
        cell("blind", 0.1, benchmark="color-n2", chance=1 / 16),
        cell("score", 0.04, model="api:blind"),
        cell("score", 0.9, model="nano:clip"),
    ]
    scorers = [RoleSettings(model=name) for name in ("nano:clip", "nano:vlm")]
    scorers.append(RoleSettings(model="api:blind", options={"blind": True}))
    made = inputs(context, leaderboard, rows, profile={"scorers": tuple(scorers)})
    suite = made.suite.model_copy(update={"benchmarks": ("color-n2", "color-n3")})
    found = {
        (n.row, n.column): n
        for n in table_19(Inputs(suite, made.artifacts))
        if (n.block, n.semantics) == ("minimal", "paper") and n.value is not None
    }
    assert {at: number.value for at, number in found.items()} == {
        ("chance", "color-n2 confusion"): 1 / 16,
        ("chance", "color-n3 swap"): 1 / 6,
        ("chance", "color-n3 confusion"): 0.02,
        ("nano:vlm", "color-n2 confusion"): 0.1,
        ("nano:vlm", "color-n3 swap"): 0.18,
        ("nano:vlm", "color-n3 confusion"): 0.03,
        ("api:blind", "color-n3 confusion"): 0.04,
    }
    assert found["nano:vlm", "color-n3 confusion"].source.where["readout"] == "blind_choice"


def test_no_model_without_the_image_is_said(context):
    (lacking,) = table_19(inputs(context, leaderboard, [cell("score", 0.9, model="nano:clip")]))
    assert "No model of suite small is scored without the image" in lacking.note


def test_two_judges_by_hand(context):
    counts = {
        ("pass", "pass"): 9,
        ("label", "label"): 6,
        ("pass", "label"): 3,
        ("label", "pass"): 2,
    }
    pairs = [pair for pair, count in counts.items() for _ in range(count)]
    rows = [{"scene_id": str(i), "first": a, "label": b} for i, (a, b) in enumerate(pairs)]
    profile = {"second_judge": RoleSettings(model="hf:other/judge")}
    found = list(table_21(inputs(context, second_opinion, rows, "color-n2", profile)))
    assert found[0].note.startswith("position-n3 has no second opinion")
    own = {n.column: n for n in found[1:]}
    # Observed 15 / 20; expected (12 * 11 + 8 * 9) / 400.
    values = {"agreement": 0.75, "kappa": (0.75 - 0.51) / 0.49, "disagreement": 0.25}
    values |= {"only first": 0.15, "only second": 0.1}
    assert {column: number.value for column, number in own.items()} == pytest.approx(values)
    assert all(n.low < n.value < n.high and n.n_items == 20 for n in own.values())
    assert own["disagreement"].low == pytest.approx(1 - own["agreement"].high)
    (lacking,) = table_21(Inputs(context.suite, {}))
    assert "Suite small has one judge" in lacking.note
