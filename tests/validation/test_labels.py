import pytest

from bindbench.concepts import Concept
from bindbench.models.base import Answer, Question
from bindbench.validation.labels import UNCLEAR, label_questions, label_verdict
from bindbench.vocabulary import Color, Lexicon, Noun, Relation, Vocabulary

COLORS = ("red", "blue", "green")


@pytest.fixture
def lexicon() -> Lexicon:
    def relation(name: str, inverse: str, axis: str, direction: int) -> Relation:
        return Relation.model_validate(
            {"name": name, "inverse": inverse, "axis": axis, "direction": direction}
        )

    nouns = (
        Noun(name="cup"),
        Noun(name="chair"),
        Noun(name="lamp"),
        Noun(name="gloves", number="pair"),
    )
    return Lexicon(
        Vocabulary("objects", "few", nouns),
        Vocabulary("shapes", "few", (Noun(name="cube"), Noun(name="cone"))),
        Vocabulary("colors", "few", tuple(Color(name=c, rgb="#000000") for c in COLORS)),
        Vocabulary(
            "positions",
            "four",
            (
                relation("above", "under", "vertical", 1),
                relation("under", "above", "vertical", -1),
                relation("to the left of", "to the right of", "horizontal", -1),
                relation("to the right of", "to the left of", "horizontal", 1),
            ),
        ),
        Vocabulary(
            "sizes",
            "three",
            (
                relation("larger than", "smaller than", "size", 1),
                relation("smaller than", "larger than", "size", -1),
                relation("bigger than", "smaller than", "size", 1),
            ),
        ),
    )


def answers(questions: list[Question], *options: str, score: float = 1.0) -> list[Answer]:
    return [
        Answer(option, tuple(score if o == option else 0.0 for o in question.options))
        for question, option in zip(questions, options, strict=True)
    ]


def test_attribute_tasks_ask_each_color_among_all(lexicon):
    concept = Concept("shape_color", ("cube", "cone"), ("red", "blue"))
    assert label_questions(concept, lexicon) == [
        Question("What is the color of the cube?", COLORS, 0),
        Question("What is the color of the cone?", COLORS, 1),
    ]


def test_relational_tasks_ask_about_one_axis(lexicon):
    concept = Concept("position", ("cup", "chair", "lamp"), ("under", "to the left of"))
    first, second = label_questions(concept, lexicon)
    # In the vocabulary's order, whichever is the right one.
    assert first == Question(
        "Is the cup above or under the chair?", ("above", "under", UNCLEAR), 0, 1
    )
    assert second.text == "Is the chair to the left of or to the right of the lamp?"
    assert (second.subject, second.other) == (1, 2)


def test_a_plural_takes_are(lexicon):
    concept = Concept("position", ("gloves", "cup"), ("above",))
    assert label_questions(concept, lexicon)[0].text == "Are the gloves above or under the cup?"


def test_synonyms_never_meet_in_one_question(lexicon):
    for label in ("larger than", "bigger than"):
        concept = Concept("relative_size", ("cup", "chair"), (label,))
        question = label_questions(concept, lexicon)[0]
        assert set(question.options) == {label, "smaller than", UNCLEAR}
        assert label_verdict(concept, [question], answers([question], label))[0] == "pass"


def test_the_wrong_color_fails_and_the_reason_names_it(lexicon):
    concept = Concept("color", ("cup", "chair"), ("red", "blue"))
    questions = label_questions(concept, lexicon)
    assert label_verdict(concept, questions, answers(questions, "red", "blue")) == ("pass", "")
    assert label_verdict(concept, questions, answers(questions, "blue", "red")) == (
        "label",
        "cup: blue, not red",
    )


@pytest.mark.parametrize("answer", ["under", UNCLEAR])
def test_the_wrong_or_an_unclear_relation_fails(lexicon, answer):
    concept = Concept("position", ("cup", "chair"), ("above",))
    questions = label_questions(concept, lexicon)
    verdict, reason = label_verdict(concept, questions, answers(questions, answer))
    assert (verdict, reason) == ("label", f"cup, chair: {answer}, not above")


def test_a_right_answer_of_low_confidence_is_unsure(lexicon):
    concept = Concept("color", ("cup",), ("red",))
    questions = label_questions(concept, lexicon)
    given = answers(questions, "red", score=0.6)
    assert label_verdict(concept, questions, given, min_score=0.6) == ("pass", "")
    assert label_verdict(concept, questions, given, min_score=0.61) == (
        "unsure",
        "cup: red by 0.60 only",
    )


def test_every_answer_must_have_its_question(lexicon):
    concept = Concept("color", ("cup", "chair"), ("red", "blue"))
    questions = label_questions(concept, lexicon)
    with pytest.raises(ValueError, match="zip"):
        label_verdict(concept, questions, answers(questions[:1], "red"))
