"""What the report shows of a model does not depend on how its scores are cut into parts."""

import dataclasses

import pytest
from spine_driver import build_all
from stand_ins import cheap_context

from bindbench.pipeline import report, scored
from bindbench.pipeline.report_models import model_rows
from bindbench.pipeline.report_tallies import HARDEST, tally

KEYS = ["color-n1", "color-n2", "position-n2"]


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    overrides = {"shard_size": 3, "survival": {}, "scorers": [{"model": "check:random"}]}
    fields = {"benchmarks": KEYS, "concepts": 20, "overrides": overrides}
    with cheap_context(tmp_path_factory.mktemp("store"), **fields) as context:
        build_all(context)
        yield context


def test_parts_give_the_rows_of_the_whole(context, monkeypatch):
    artifacts, found = report.inputs(context), []
    for size in (1, 9, 10**6):
        monkeypatch.setattr(scored, "ITEMS_AT_ONCE", size)
        found.append(dataclasses.asdict(model_rows(context.suite, artifacts, KEYS)))
    assert found[0] == found[1] == found[2]
    assert {row["benchmark"] for row in found[0]["error_families"]} == {"color-n2"}
    assert {row["benchmark"] for row in found[0]["by_label"]} == {"color-n2", "position-n2"}


@pytest.mark.parametrize("key", KEYS)
def test_the_hardest_items_are_the_worst_of_all_parts(context, monkeypatch, key):
    artifacts = report.inputs(context)
    negatives, scores = (
        artifacts[f"negatives/{key}"],
        artifacts[f"model_scores/{key}--check-random"],
    )
    monkeypatch.setattr(scored, "ITEMS_AT_ONCE", 1)
    for track, (found, _) in tally(key, negatives, scores, context.lexicon).items():
        whole = scored.scored_set(key, track, negatives, scores, context.lexicon)
        leads = []
        for i, index in enumerate(whole.index.tolist()):
            false = whole.items.semantics[i] == 1
            values = whole.items.scores[i]
            leads.append((float(values[0] - values[false].max()), index))
        worst = [lead for lead in sorted(leads) if lead[0] < 0][:HARDEST]
        shown = [(item.right_score - item.chosen_score, item.index) for item in found.hardest]
        assert shown == worst
        assert len(shown) == HARDEST or key != "color-n1"
