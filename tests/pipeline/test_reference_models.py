"""The reference models on every benchmark, through the real scoring path.

Images, detections and answers are stand-ins, so that many items cost nothing.
"""

import pytest
from stand_ins import cheap_context

from bindbench.analysis.accuracy import evaluate, outcomes_of
from bindbench.analysis.resampling import chance_test
from bindbench.pipeline import spine
from bindbench.pipeline.scored import ScoredSet, scored_set
from bindbench.tasks import BENCHMARKS, TRACKS

CONCEPTS = 60
MODES = ("strict", "paper")
NAMES = ("constant", "random", "oracle")


@pytest.fixture(scope="module")
def sets(tmp_path_factory) -> dict[tuple[str, str, str], ScoredSet]:
    root = tmp_path_factory.mktemp("store")
    found = {}
    with cheap_context(root, benchmarks=list(BENCHMARKS), concepts=CONCEPTS) as context:
        for key in BENCHMARKS:
            candidates = {a.asset: a for a in spine.build_benchmark(context, key)}["negatives"]
            for name in NAMES:
                (scores,) = spine.score_model(context, key, f"check-{name}")
                for track in TRACKS:
                    found[key, track, name] = scored_set(
                        key, track, candidates, scores, context.lexicon
                    )
    return found


@pytest.mark.parametrize("key", BENCHMARKS)
@pytest.mark.parametrize("mode", MODES)
def test_constant_has_accuracy_0_all_ties_and_credit_of_chance(sets, key, mode):
    for track in TRACKS:
        found = sets[key, track, "constant"]
        for subset in found.subsets.values():
            measured = evaluate(found.items, mode, subset)
            assert (measured.accuracy, measured.tie_rate) == (0, 1)
            assert measured.credit == pytest.approx(measured.chance)


@pytest.mark.parametrize("key", BENCHMARKS)
@pytest.mark.parametrize("mode", MODES)
def test_random_wins_as_often_as_its_items_chances_say(sets, key, mode):
    for track in TRACKS:
        found = sets[key, track, "random"]
        for subset in found.subsets.values():
            outcomes = outcomes_of(found.items, mode, subset)
            wins, chances = outcomes.win[outcomes.included], outcomes.chance[outcomes.included]
            # 9 benchmarks, 2 modes, 2 tracks, up to 3 families: about 96 tests of one sample each
            assert chance_test(int(wins.sum()), chances) > 0.05 / 96


@pytest.mark.parametrize("key", BENCHMARKS)
def test_the_oracle_is_always_right_in_strict_mode(sets, key):
    for track in TRACKS:
        found = sets[key, track, "oracle"]
        for family, subset in found.subsets.items():
            measured = evaluate(found.items, "strict", subset)
            assert measured.accuracy == 1 or measured.n_items == 0, family


def test_the_stand_ins_accept_everything(sets):
    for found in sets.values():
        assert len(found.items) == CONCEPTS
