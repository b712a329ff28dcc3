"""The tables beyond the paper's that undo or weigh what the checks do."""

from dataclasses import replace

import numpy as np
import pytest
from table_suites import role, with_models

from bindbench.analysis.reweighting import Margin, rake
from bindbench.models.base import GeneratedImage
from bindbench.pipeline import spine, tables
from bindbench.pipeline.base import Context
from bindbench.suite import MatchPrior
from bindbench.tables.label_noise import table_label_noise
from bindbench.tables.match_prior import table_match_prior
from bindbench.tables.number import Number
from bindbench.tables.reweighted import table_reweighted
from bindbench.tasks import TRACKS

KEY, CONCEPTS = "color-n2", 16
SCORERS = [{"model": "check:random"}, {"model": "check:oracle"}]


class Owner:
    """Draws white images, and owns up to a fault in those with an even seed."""

    def generate(self, requests):
        image = np.full((64, 64, 3), 255, np.uint8)
        return [
            GeneratedImage(image, {"fault": None if request.seed % 2 else "dropped"})
            for request in requests
        ]


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    """A suite whose checks accept everything, faulty or not."""
    overrides = {"shard_size": 8, "scorers": SCORERS}
    fields = {"benchmarks": [KEY], "concepts": CONCEPTS, "overrides": overrides}
    models = {("generator", "owner"): Owner}
    with with_models(tmp_path_factory.mktemp("store"), models, **fields) as made:
        profile = made.suite.profile.model_copy(update={"generator": role("owner:all")})
        suite = made.suite.model_copy(update={"profile": profile, "match_prior": MatchPrior()})
        context = replace(made, suite=suite)
        spine.build_vocabulary(context)
        spine.build_benchmark(context, KEY)
        for name in ("check-random", "check-oracle"):
            spine.score_model(context, KEY, name)
        spine.leaderboard.build(context)
        yield context


def numbers(table, context: Context) -> dict[tuple[str, ...], Number]:
    return {
        (n.block, n.semantics, n.row, n.column): n for n in table(tables.inputs(context)) if n.row
    }


def test_accuracy_on_the_prior_beside_what_the_leaderboard_says(context):
    found, inputs = numbers(table_reweighted, context), tables.inputs(context)
    for track in TRACKS:
        block = f"{KEY}, {track}"
        oracle = found[block, "strict", "check:oracle", "swap"]
        assert (oracle.value, oracle.n_items) == (1, CONCEPTS)
        plain = found[block, "strict", "check:random", "confusion as filtered"].value
        board = inputs.board["check:random", KEY, track, "all", "confusion", "strict"]
        assert plain == board["accuracy"]
        rows = [row for row in inputs.rows("negatives", KEY) if row["track"] == track]
        names = inputs.lexicon.colors.names
        mentions = np.array([[names.index(label) for label in row["labels"]] for row in rows])
        nouns = inputs.lexicon.objects.names
        things = np.array([[nouns.index(noun) for noun in row["objects"]] for row in rows])
        weights = rake([Margin(mentions, len(names)), Margin(things, len(nouns))])
        assert found[block, "strict", "check:oracle", "effective items"].value == pytest.approx(
            weights.effective
        )


def test_the_faulty_share_is_what_the_generator_owns_up_to(context):
    found, inputs = numbers(table_label_noise, context), tables.inputs(context)
    rows = inputs.rows("images", KEY, ("track", "seed"))
    for track in TRACKS:
        seeds = [row["seed"] for row in rows if row["track"] == track]
        share = sum(seed % 2 == 0 for seed in seeds) / len(seeds)
        number = found["faulty images", "", KEY, f"{track}, by renders"]
        assert (number.value, number.n_items) == (share, CONCEPTS)
        oracle = (f"{KEY} swap, {track}", "strict", "check:oracle")
        assert found[*oracle, "error"].value == 0
        assert found[*oracle, "the benchmark's part, at most"].value == 0
        random = (f"{KEY} confusion, {track}", "strict", "check:random")
        error = found[*random, "error"].value or 0
        part = min(share, error)
        assert found[*random, "the benchmark's part, at most"].value == pytest.approx(part)
        least = (error - part) / (1 - share)
        assert found[*random, "true error, at least"].value == pytest.approx(least)


def test_a_benchmark_that_lost_nothing_costs_nothing_more(context):
    found = numbers(table_match_prior, context)
    for track in TRACKS:
        before, after = (found[track, "", KEY, f"label TV {w}"].value for w in ("before", "after"))
        assert before == after
    assert found["cost", "", KEY, "concepts after"].value == CONCEPTS
    assert found["cost", "", KEY, "images after"].value == 2 * CONCEPTS
    assert "as near to the prior" in found["cost", "", KEY, "rounds"].note


def test_a_suite_that_does_not_match_says_how(context):
    plain = replace(context, suite=context.suite.model_copy(update={"match_prior": None}))
    (number,) = table_match_prior(tables.inputs(plain))
    assert number.value is None
    assert "--match-prior" in number.note
