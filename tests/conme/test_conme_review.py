"""Review tasks of samples, and what people's answers say."""

import base64

import pytest

from bindbench.conme.review import FORM, QUESTIONS, judged, tasks
from bindbench.conme.samples import Sample
from bindbench.errors import UserError
from bindbench.people.label_studio import config
from bindbench.people.tasks import Judgement, check_tasks

SAMPLES = [Sample(f"i{i}", 2, "What color?", "red", "blue") for i in range(4)]


def said(place: int, who: str, **faults: str) -> Judgement:
    return Judgement(SAMPLES[place].id, who, dict.fromkeys(QUESTIONS, "yes") | faults)


def test_a_task_shows_image_question_and_both_answers() -> None:
    made = tasks(SAMPLES[:2], lambda image_id: image_id.encode())
    check_tasks(made, FORM)
    assert made[1].texts == {
        "question": "What color?",
        "right_answer": "red",
        "wrong_answer": "blue",
    }
    assert base64.b64decode(made[1].image.partition(",")[2]) == b"i1"
    assert config(FORM).count("<Choices") == 3


def test_one_no_makes_a_sample_wrong() -> None:
    found = judged(SAMPLES, [said(3, "x"), said(0, "x", clear="no", negative="no")])
    assert found.drawn.tolist() == [0, 3]
    assert found.right.tolist() == [False, True]
    assert found.faults == {"answer": 0, "negative": 1, "clear": 1}


def test_the_majority_counts_and_a_draw_is_a_no() -> None:
    three = [said(0, "x", answer="no"), said(0, "y"), said(0, "z")]
    two = [said(1, "x", answer="no"), said(1, "y")]
    assert judged(SAMPLES, three + two).right.tolist() == [True, False]


def test_no_answers_are_one_sentence() -> None:
    with pytest.raises(UserError, match="Nobody has judged"):
        judged(SAMPLES, [])
