import numpy as np
import pytest

from bindbench.concepts import Concept
from bindbench.models.pixel_instances import Instance
from bindbench.models.pixel_judge import PixelJudge
from bindbench.models.pixel_network import PixelNetwork, Thresholds, Trained
from bindbench.training.validator_data import SceneSpec, embedded_lexicon
from bindbench.training.validator_tuning import Case, central, merit, rates, verdict_of

NOUNS, COLORS = ("chair", "couch"), ("red", "blue")
LINES = Thresholds(score=0.1, extra=0.5, noun=0.2, color=0.7)


@pytest.fixture(scope="module")
def lexicon():
    return embedded_lexicon()


def seen(left: int, noun: int, red: float, score: float = 0.9) -> Instance:
    mask = np.zeros((128, 128), dtype=bool)
    mask[40:80, left : left + 40] = True
    nouns = np.eye(2)[noun] * 0.9 + 0.05
    return Instance(score, (left, 40, left + 40, 80), nouns, np.array([red, 1 - red]), mask)


def case(*instances: Instance, fault: str | None = None, gray: int = 240) -> Case:
    concept = Concept("color", NOUNS, COLORS)
    image = np.full((128, 128, 3), gray, dtype=np.uint8)
    return Case(SceneSpec(concept, "minimal", fault, 0), image, instances)


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (case(seen(10, 0, 0.9), seen(70, 1, 0.1)), "pass"),
        (case(seen(10, 0, 0.9)), "missing"),
        (case(seen(10, 0, 0.9), seen(70, 1, 0.1), seen(30, 1, 0.1, 0.6)), "count"),
        (case(seen(10, 0, 0.9), seen(70, 1, 0.1), gray=150), "background"),
        (case(seen(10, 0, 0.1), seen(70, 1, 0.9)), "label"),
        (case(seen(10, 0, 0.6), seen(70, 1, 0.1)), "unsure"),
    ],
)
def test_the_first_reason_against_a_scene_is_its_verdict(lexicon, given, verdict):
    trained = Trained(PixelNetwork(2, 2), NOUNS, COLORS, LINES)
    judge = PixelJudge(lexicon, trained)
    assert verdict_of(given, trained, judge, lexicon, LINES) == verdict


def test_rates_count_what_is_decided_rightly():
    good, bad = case(), case(fault="dropped")
    assert rates([good, good, bad, bad, bad], [True, False, True, False, False]) == {
        "minimal/none": 0.5,
        "minimal/dropped": pytest.approx(2 / 3),
    }


def test_merit_prefers_reaching_the_aims_and_ignores_borderline():
    level = {"minimal/none": 0.99, "minimal/dropped": 0.99}
    uneven = {"minimal/none": 1.0, "minimal/dropped": 0.9}
    assert merit(level) > merit(uneven)
    assert merit(level | {"minimal/borderline": 0.0}) == merit(level)


def test_of_equal_thresholds_the_middle_ones_are_chosen():
    tried = [
        (value, Thresholds(0.1, 0.5, 0.2, color))
        for value, color in ((1, 0.4), (2, 0.5), (2, 0.6), (2, 0.7), (1, 0.8))
    ]
    assert central(tried).color == 0.6
