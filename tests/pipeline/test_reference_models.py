"""The reference models on every benchmark, through the real scoring path.

Images, detections and answers are stand-ins, so that many items cost nothing.
"""

import numpy as np
import pytest
from spine_driver import build_all, small_suite

from bindbench.analysis.accuracy import evaluate, outcomes_of
from bindbench.analysis.resampling import chance_test
from bindbench.engine.local import LocalEngine
from bindbench.models import registry
from bindbench.models.base import Answer, Detection, GeneratedImage
from bindbench.pipeline.base import Context
from bindbench.pipeline.scored import ScoredSet, scored_set
from bindbench.storage.store import Store
from bindbench.tasks import BENCHMARKS, TRACKS

CONCEPTS = 60
MODES = ("strict", "paper")


class White:
    """Generates white images."""

    def generate(self, requests):
        return [GeneratedImage(np.full((64, 64, 3), 255, np.uint8)) for _ in requests]


class Everything:
    """Finds every noun, on a diagonal, each larger than the one before."""

    def detect(self, images, nouns):
        return [[self.found(i, name) for i, name in enumerate(names)] for names in nouns]

    def found(self, i, name):
        left, size = 2 + 20 * i, 6 * (i + 1)
        mask = np.zeros((64, 64), bool)
        mask[left : left + size, left : left + size] = True
        return Detection(name, 1.0, (left, left, left + size, left + size), mask)


class First:
    """Answers every question with its first option."""

    def answer(self, images, detections, questions):
        return [
            [Answer(q.options[0], (1.0,) * len(q.options)) for q in asked] for asked in questions
        ]


@pytest.fixture(scope="module")
def sets(tmp_path_factory) -> dict[tuple[str, str, str], ScoredSet]:
    stand_ins = {"generator": White, "detector": Everything, "judge": First}
    with pytest.MonkeyPatch.context() as patch:
        for role, made in stand_ins.items():
            family = registry.Family(
                role, "stand", ("in",), registry.NoOptions, lambda *_, made=made: made()
            )
            patch.setitem(registry.FAMILIES, (role, "stand"), family)
        patch.setattr("bindbench.pipeline.validated.label_verdict", lambda *_: ("pass", ""))
        suite = small_suite(benchmarks=list(BENCHMARKS), concepts=CONCEPTS)
        stand_in = registry.RoleSettings(model="stand:in")
        profile = suite.profile.model_copy(update=dict.fromkeys(stand_ins, stand_in))
        suite = suite.model_copy(update={"profile": profile})
        root = tmp_path_factory.mktemp("store")
        context = Context(suite, Store(root, suite.name), LocalEngine(1))
        built = build_all(context)
        return {
            (key, track, name): scored_set(
                key,
                track,
                built[f"negatives/{key}"],
                built[f"model_scores/{key}--check-{name}"],
                context.lexicon,
            )
            for key in suite.benchmarks
            for track in TRACKS
            for name in ("constant", "random", "oracle")
        }


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
