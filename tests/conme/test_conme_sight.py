"""What can be asked about a sight, and the agent that asks it."""

import numpy as np
import pytest

from bindbench.conme.agent import RenderExaminer
from bindbench.conme.calibration import Truth, error_rate
from bindbench.conme.examiner import Answered, Described
from bindbench.conme.samples import QuestionSet, Sample
from bindbench.conme.settings import ConmeSettings
from bindbench.conme.sight import Axis, Facts, Sight
from bindbench.models.base import Answer, Detection
from bindbench.validation.labels import UNCLEAR

SIGHT = Sight(
    ("cup", "chair", "cup"),
    ("red", "blue", ""),
    {
        (0, 1, "horizontal"): -1,
        (0, 2, "horizontal"): -1,
        (1, 2, "horizontal"): 1,
        (0, 1, "vertical"): 0,
        (0, 1, "size"): 1,
        (1, 2, "size"): 0,
    },
)
PAIR = Sight(
    ("cup", "chair"),
    ("red", "blue"),
    {(0, 1, "horizontal"): -1, (0, 1, "vertical"): 0},
)


@pytest.fixture(scope="module")
def facts(lexicon) -> Facts:
    return Facts(lexicon)


def asked(facts: Facts, sight: Sight) -> dict[str, str]:
    return {fact.question: fact.answer for fact in facts.of(sight)}


def test_a_pair_is_asked_about_in_every_way(facts):
    assert asked(facts, PAIR) == {
        "What color is the cup?": "red",
        "What color is the chair?": "blue",
        "How many objects are there?": "two",
        "What is the red object?": "cup",
        "What is the blue object?": "chair",
        "Where is the cup?": "left",
        "Where is the chair?": "right",
        "Is the cup to the right of or to the left of the chair?": "to the left of",
        "What is to the left of the chair?": "cup",
        "What color is the object to the left of the chair?": "red",
        "What is to the right of the cup?": "chair",
        "What color is the object to the right of the cup?": "blue",
    }


def test_what_has_no_one_answer_is_not_asked(facts):
    # Two cups: neither is "the cup"; a color in doubt: no color tells things apart.
    assert asked(facts, SIGHT) == {
        "What color is the chair?": "blue",
        "How many objects are there?": "three",
    }


def test_a_doubtful_third_thing_keeps_from_asking_what_stands_somewhere(facts):
    three = Sight(
        ("cup", "chair", "lamp"),
        ("red", "blue", "green"),
        {(0, 1, "horizontal"): -1, (0, 2, "horizontal"): -1},
    )
    found = asked(facts, three)
    assert "What is to the left of the chair?" not in found  # the lamp may be as well
    assert "What is to the right of the cup?" not in found  # two things are
    assert found["Is the cup to the right of or to the left of the chair?"] == "to the left of"


def test_wrong_answers_are_wrong_and_the_nearest_come_first(facts, lexicon):
    for fact in facts.of(PAIR):
        assert fact.answer not in fact.wrong
        assert len(set(fact.wrong)) == len(fact.wrong)
    found = {fact.question: fact for fact in facts.of(PAIR)}
    assert found["What color is the cup?"].wrong[0] == "blue"  # of the other thing
    assert found["What is the red object?"].wrong[0] == "chair"
    assert found["Where is the cup?"].wrong == ("right",)
    assert found["How many objects are there?"].wrong[:2] == ("three", "one")


class Eyes:
    """A detector and judge that see a sight in every image, as surely as they are told."""

    def __init__(self, sight: Sight, sure: float = 1.0):
        self.sight, self.sure = sight, sure

    def detect(self, images, nouns):
        assert all("cup" in names for names in nouns)
        mask = np.zeros((4, 4), bool)
        seen = [Detection(noun, 0.9, (0, 0, 1, 1), mask) for noun in self.sight.nouns]
        return [[*seen, Detection("lamp", 0.3, (0, 0, 1, 1), mask)] for _ in images]

    def answer(self, images, detections, questions):
        return [[self._one(question) for question in own] for own in questions]

    def _one(self, question):
        if question.other is None:
            said = self.sight.colors[question.subject]
        else:
            axes: dict[str, Axis] = {
                "to the right of": "horizontal",
                "above": "vertical",
                "larger than": "size",
            }
            axis = axes[question.options[0]]
            sign = self.sight.signs.get((question.subject, question.other, axis), 0)
            said = {1: question.options[0], -1: question.options[1], 0: UNCLEAR}[sign]
        shares = [self.sure if option == said else 0.0 for option in question.options]
        return Answer(said, tuple(shares))


def agent(lexicon, sight=PAIR, sure=1.0, **fields) -> RenderExaminer:
    nano = {"model": "nano:vlm"}
    given = {"questions": 3, "negatives": 2} | fields
    settings = ConmeSettings.model_validate(
        {
            "sets": {"a": {"source": "folder", "images": "."}},
            "panels": {"p": {"strong": nano, "targets": [nano, nano]}},
            **given,
        }
    )
    eyes = Eyes(sight, sure)
    return RenderExaminer(eyes, eyes, lexicon, settings, 0.8)


IMAGE = np.zeros((4, 4, 3), np.uint8)


def test_the_agent_sees_by_detector_and_judge(lexicon):
    (seen,) = agent(lexicon).sights([IMAGE])  # the weak detection is left out
    assert (seen.nouns, seen.colors) == (PAIR.nouns, PAIR.colors)
    assert seen.signs == {**PAIR.signs, (0, 1, "size"): 0}
    (unsure,) = agent(lexicon, sure=0.7).sights([IMAGE])
    assert unsure.colors == ("", "")
    assert unsure.signs == {}


def test_the_first_round_asks_what_descriptions_got_wrong(lexicon):
    others = {"one": "a green cup and a blue chair", "two": "a chair and a red cup"}
    (found,) = agent(lexicon).ask([Described("i", IMAGE, "", others)])
    questions = [one.question for one in found.sets]
    assert questions[0] == "What color is the cup?"  # green: wrong, not only left out
    assert found.sets[0].negatives[0] == "green"  # what a target said
    assert len(found.sets) == 3
    assert found.reason == ""
    assert all(len(one.negatives) <= 2 for one in found.sets)


def test_the_second_round_puts_details_together_about_what_was_missed(lexicon):
    sets = (
        QuestionSet("What color is the cup?", "red", ("blue",)),
        QuestionSet("Where is the chair?", "right", ("left",)),
    )
    answers = {"one": ["red", "left"], "two": ["the red one", "it is right"]}
    (found,) = agent(lexicon).harder([Answered("i", IMAGE, sets, answers)])
    questions = [one.question for one in found.sets]
    assert not {one.question for one in sets} & set(questions)
    assert all("the object" in q or "What is to" in q or " or " in q for q in questions)


def test_an_empty_image_is_rejected_with_a_reason(lexicon):
    (found,) = agent(lexicon, Sight((), ())).ask([Described("i", IMAGE, "", {})])
    assert found.sets == ()
    assert found.reason == "nothing in sight that it is sure of"


def test_the_agent_checks_its_own_samples(lexicon):
    right = Sample("i", 1, "What color is the cup?", "red", "blue")
    wrong = Sample("i", 1, "What color is the cup?", "blue", "red")
    other = Sample("i", 1, "What color is the lamp?", "blue", "red")
    found = agent(lexicon).check([right, wrong, other], [IMAGE] * 3)
    values = [(one.answer, one.negative, one.clear) for one in found]
    assert values == [(True, True, True), (False, False, True), (None, None, False)]


@pytest.mark.parametrize(
    ("question", "answer", "negative", "verdict"),
    [
        ("What color is the cup?", "red", "blue", "right"),
        ("What color is the cup?", "blue", "red", "wrong"),
        ("What color is the lamp?", "red", "blue", "wrong"),  # there is none
        ("What is the green object?", "cup", "chair", "wrong"),
        ("Is the cup above or under the chair?", "above", "under", "wrong"),  # neither
        ("Is the cup larger than or smaller than the chair?", "larger than", "smaller than", None),
        ("What color is the cup?", "red", "scarlet", None),  # no word of the vocabulary
        ("Is it cold?", "yes", "no", None),
        # Asked by one who saw the chair first, and with a relation in which nothing stands.
        (
            "Is the chair to the right of or to the left of the cup?",
            *("to the right of", "to the left of"),
            "right",
        ),
        ("What is above the chair?", "cup", "lamp", "wrong"),
    ],
)
def test_the_truth_judges_samples(lexicon, question, answer, negative, verdict):
    found, reason = Truth([PAIR], lexicon).verdict(Sample("i", 1, question, answer, negative))
    assert found == (verdict or "undecided")
    assert (reason == "") == (found == "right")


def test_a_relation_that_two_things_stand_in_has_no_one_answer(lexicon):
    signs: dict[tuple[int, int, Axis], int] = {(0, 2, "size"): 1, (1, 2, "size"): 1}
    three = Sight(("cup", "chair", "lamp"), ("red", "blue", "green"), signs)
    asked = Sample("i", 1, "What is larger than the lamp?", "cup", "chair")
    assert Truth([three], lexicon).verdict(asked) == ("wrong", "2 things are larger than the lamp")
    fewer: dict[tuple[int, int, Axis], int] = {(0, 2, "size"): 1, (1, 2, "size"): 0}
    one = Sight(three.nouns, three.colors, fewer)
    assert Truth([one], lexicon).verdict(asked) == ("right", "")
    # Where the line decides, nothing is decided.
    assert Truth([three, one], lexicon).verdict(asked)[0] == "undecided"


def test_the_error_rate_leaves_out_what_is_undecided():
    rate = error_rate(["right", "wrong", "undecided", "right", "right"], list("aabbc"))
    assert rate is not None
    assert rate.value == 0.25
    assert error_rate(["undecided"], ["a"]) is None
