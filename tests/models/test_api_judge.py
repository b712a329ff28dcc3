"""Judges behind a server: what is asked, what an answer is worth, and which images pass."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from api_server import ApiServer, Asked, Reply, always, answer, error

from bindbench.concepts import Concept
from bindbench.errors import Unfinished
from bindbench.models import registry
from bindbench.models.api_judge import ApiJudge
from bindbench.models.base import Question
from bindbench.scoring.choice import letter_shares
from bindbench.suite import RoleSettings, VocabularySources
from bindbench.validation.labels import label_questions, label_verdict

FAST = {"backoff": 0.001, "retries": 1, "timeout": 20.0}
IMAGES = [np.full((5, 7, 3), shade, np.uint8) for shade in (10, 200)]
QUESTION = Question("What is the color of the cup?", ("red", "blue", "green"), 0)
OTHER = Question("Is the cup above or under the chair?", ("above", "under", "unclear"), 0, 1)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def server():
    with ApiServer(always(answer("A"))) as server:
        yield server


def judge_of(server: ApiServer, **options) -> ApiJudge:
    settings = RoleSettings(model=server.name, options=FAST | options)
    return registry.load("judge", settings, VocabularySources())


def says(*wanted: str):
    """Answer with the letter of the first of these options that is offered."""

    def script(asked: Asked) -> Reply:
        letters = {text: letter for letter, text in asked.options.items()}
        return answer(next(letters[text] for text in wanted if text in letters))

    return script


def with_tokens(text: str, **shares: float) -> Reply:
    """Answer with the log-probabilities of the first token."""
    top = [{"token": token, "logprob": math.log(share)} for token, share in shares.items()]
    return answer(text, logprobs={"content": [{"token": text, "top_logprobs": top}]})


def test_a_question_offers_lettered_options(server):
    (found,) = judge_of(server).answer(IMAGES[:1], [[]], [[QUESTION]])
    (asked,) = server.asked
    assert asked.prompt == (
        "What is the color of the cup?\nA. red\nB. blue\nC. green\n"
        "Answer with the letter of the right option only."
    )
    assert asked.image is not None
    assert asked.body["logprobs"] is True
    assert asked.body["temperature"] == 0
    assert [(a.option, a.scores) for a in found] == [("red", (1.0, 0.0, 0.0))]


def test_every_image_and_question_has_its_own_answer(server):
    def script(asked: Asked) -> Reply:
        return answer("AB"["under" in asked.prompt])

    server.script = script
    found = judge_of(server).answer(IMAGES, [[], []], [[QUESTION, OTHER], [OTHER]])
    assert [[a.option for a in own] for own in found] == [["red", "under"], ["under"]]
    assert server.count == 3
    again = judge_of(server).answer(IMAGES[::-1], [[], []], [[OTHER], [QUESTION, OTHER]])
    assert again == found[::-1]
    assert server.count == 3  # answers are kept by content


def test_scores_are_the_shares_of_the_letters(server):
    server.script = always(with_tokens("B", B=0.6, A=0.1, **{" B": 0.1, "The": 0.2}))
    ((found,),) = judge_of(server).answer(IMAGES[:1], [[]], [[QUESTION]])
    assert found.option == "blue"
    assert found.scores == pytest.approx((0.125, 0.875, 0.0))
    raw = json.loads(found.raw)
    assert raw["answers"][0]["text"] == "B"
    assert raw["unreadable"] == 0


def test_behind_words_the_letters_of_the_first_token_mean_nothing(server):
    server.script = always(with_tokens("The answer is C.", The=0.7, A=0.3))
    ((found,),) = judge_of(server).answer(IMAGES[:1], [[]], [[QUESTION]])
    assert (found.option, found.scores) == ("green", (0.0, 0.0, 1.0))


def test_a_preference_for_a_letter_is_averaged_out(server):
    ((found,),) = judge_of(server, orders=3).answer(IMAGES[:1], [[]], [[QUESTION]])
    assert found.scores == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    server.script = says("green")
    ((found,),) = judge_of(server, orders=26, max_tokens=17).answer(IMAGES[:1], [[]], [[QUESTION]])
    assert (found.option, found.scores) == ("green", (0.0, 0.0, 1.0))
    assert {asked.options["A"] for asked in server.asked[3:]} == {"red", "blue", "green"}


def test_prose_is_no_answer_and_fails(server, lexicon):
    """A judge that names the right color in prose, or the list of options, has not answered."""
    server.script = always(answer("A red cup is what I see, not a blue or green one."))
    concept = Concept("color", ("cup",), ("red",))
    asked = label_questions(concept, lexicon)
    (found,) = judge_of(server).answer(IMAGES[:1], [[]], [asked])
    assert server.count == 2  # asked again once
    assert (found[0].option, set(found[0].scores)) == ("", {0.0})
    assert json.loads(found[0].raw)["unreadable"] == 1
    assert label_verdict(concept, asked, found, 0.0) == ("unsure", "cup: no answer")


@pytest.mark.parametrize(
    ("concept", "right", "wrong"),
    [
        (Concept("color", ("cup", "chair"), ("red", "blue")), ("red", "blue"), ("blue", "red")),
        (
            Concept("shape_color", ("cube", "cone"), ("red", "lime")),
            ("red", "lime"),
            ("red", "red"),
        ),
        (Concept("position", ("cup", "chair"), ("above",)), ("above",), ("under",)),
        (Concept("position", ("cup", "chair"), ("above",)), ("above",), ("unclear",)),
        (
            Concept("relative_size", ("cup", "chair", "lamp"), ("larger than", "smaller than")),
            ("larger than", "smaller than"),
            ("smaller than", "smaller than"),
        ),
    ],
)
def test_the_wrong_label_fails_and_the_right_one_passes(server, lexicon, concept, right, wrong):
    asked = label_questions(concept, lexicon)
    for number, (options, verdict) in enumerate(((right, "pass"), (wrong, "label"))):
        told = dict(zip((question.text for question in asked), options, strict=True))
        server.script = lambda request, told=told: says(told[request.prompt.splitlines()[0]])(
            request
        )
        image = np.full((4, 4, 3), number, np.uint8)
        (found,) = judge_of(server).answer([image], [[]], [asked])
        assert label_verdict(concept, asked, found, 0.5)[0] == verdict


def test_a_question_without_an_answer_is_told_by_its_image(server):
    server.script = lambda asked: error(500) if "under" in asked.prompt else answer("A")
    with pytest.raises(Unfinished) as caught:
        judge_of(server).answer(IMAGES, [[], []], [[QUESTION], [OTHER]])
    assert list(caught.value.items) == ["1"]
    server.script = always(answer("B"))
    found = judge_of(server).answer(IMAGES, [[], []], [[QUESTION], [OTHER]])
    assert [own[0].option for own in found] == ["red", "under"]
    assert server.count == 1 + 2 + 1


def test_shares_of_letters():
    top = [("B", math.log(0.5)), ("(A", math.log(0.25)), ("b", math.log(0.1))]
    assert letter_shares(top, 2) == pytest.approx([1 / 3, 2 / 3])
    assert letter_shares([("The", -0.1), *top], 2) is None
    assert letter_shares(top, 27) is None
    assert letter_shares([], 2) is None
