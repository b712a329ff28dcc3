import numpy as np
import pytest

from bindbench.concepts import Concept
from bindbench.models.base import Detection
from bindbench.validation.presence import presence_verdict, whole_objects
from bindbench.vocabulary import Color, Lexicon, Noun, Relation, Vocabulary


@pytest.fixture
def lexicon() -> Lexicon:
    nouns = (Noun(name="cup"), Noun(name="chair"), Noun(name="gloves", number="pair"))
    positions = (
        Relation(name="above", inverse="under", axis="vertical", direction=1),
        Relation(name="under", inverse="above", axis="vertical", direction=-1),
    )
    return Lexicon(
        Vocabulary("objects", "few", nouns),
        Vocabulary("shapes", "none", ()),
        Vocabulary("colors", "two", (Color(name="red", rgb="#FF0000"),)),
        Vocabulary("positions", "two", positions),
        Vocabulary("sizes", "none", ()),
    )


def found(name: str, score: float = 0.9) -> Detection:
    return Detection(name, score, (0.0, 0.0, 4.0, 4.0), np.ones((8, 8), dtype=bool))


CUP_CHAIR = Concept("color", ("cup", "chair"), ("red", "blue"))
GLOVES_CUP = Concept("color", ("gloves", "cup"), ("red", "blue"))


def test_each_object_once_passes_and_is_matched_in_the_order_of_the_concept(lexicon):
    assert presence_verdict(CUP_CHAIR, [found("chair"), found("cup")], lexicon) == ("pass", [1, 0])


def test_an_object_that_is_not_found_is_missing(lexicon):
    assert presence_verdict(CUP_CHAIR, [found("chair")], lexicon) == ("missing", [-1, 0])
    assert presence_verdict(CUP_CHAIR, [], lexicon) == ("missing", [-1, -1])


def test_a_second_instance_fails_the_count_and_the_stronger_is_matched(lexicon):
    detections = [found("cup", 0.5), found("chair"), found("cup", 0.8)]
    assert presence_verdict(CUP_CHAIR, detections, lexicon) == ("count", [2, 1])


def test_something_else_in_the_image_is_extra(lexicon):
    detections = [found("cup"), found("chair"), found("gloves")]
    assert presence_verdict(CUP_CHAIR, detections, lexicon)[0] == "extra"


@pytest.mark.parametrize(("count", "verdict"), [(1, "pass"), (2, "pass"), (3, "count")])
def test_a_pair_shows_as_one_instance_or_two(lexicon, count, verdict):
    detections = [found("gloves")] * count + [found("cup")]
    assert presence_verdict(GLOVES_CUP, detections, lexicon)[0] == verdict


def test_a_pair_can_be_held_to_one_instance(lexicon):
    detections = [found("gloves"), found("gloves"), found("cup")]
    assert presence_verdict(GLOVES_CUP, detections, lexicon, max_pair=1)[0] == "count"


def test_missing_is_named_before_extra(lexicon):
    assert presence_verdict(CUP_CHAIR, [found("cup"), found("gloves")], lexicon)[0] == "missing"


def test_a_pair_of_two_instances_is_one_object():
    masks = np.zeros((2, 8, 8), dtype=bool)
    masks[0, 1:3, 1:3] = masks[1, 1:3, 5:7] = True
    gloves = [
        Detection("gloves", 0.6, (1.0, 1.0, 3.0, 3.0), masks[0]),
        Detection("gloves", 0.9, (5.0, 0.5, 7.0, 3.0), masks[1]),
    ]
    cup = found("cup")
    pair, other = whole_objects(GLOVES_CUP, [gloves[0], cup, gloves[1]])
    assert (pair.name, pair.score, pair.box) == ("gloves", 0.9, (1.0, 0.5, 7.0, 3.0))
    assert pair.mask.sum() == 8
    assert other is cup
