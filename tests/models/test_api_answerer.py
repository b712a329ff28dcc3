"""Answers in words from behind a server: what is asked, what is kept, and what is missing."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from api_server import ApiServer, Asked, always, answer, error
from PIL import Image as PILImage

from bindbench.errors import Unfinished
from bindbench.models import registry
from bindbench.models.base import ReplyRequest
from bindbench.suite import RoleSettings, VocabularySources

FAST = {"backoff": 0.001, "retries": 1, "timeout": 20.0}
IMAGES = [np.full((5, 7, 3), shade, np.uint8) for shade in (10, 200)]
REQUESTS = [
    ReplyRequest(IMAGES[0], "What color is the leftmost car?", max_tokens=9, key="q1"),
    ReplyRequest(IMAGES[1], "Is the middle car red?", key="q2"),
]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def server():
    with ApiServer(always(answer(" Red\n"))) as server:
        yield server


def load(server: ApiServer, **options):
    settings = RoleSettings(model=server.name, options=FAST | options)
    return registry.load("answerer", settings, VocabularySources())


def test_a_question_is_sent_with_its_image_and_limit(server):
    (reply,) = load(server).reply(REQUESTS[:1])
    (asked,) = server.asked
    assert asked.prompt == "What color is the leftmost car?"
    assert (np.asarray(PILImage.open(io.BytesIO(asked.image))) == IMAGES[0]).all()
    assert (asked.body["max_tokens"], asked.body["temperature"]) == (9, 0)
    assert (reply.text, reply.finished) == ("Red", True)
    assert json.loads(reply.raw)["answers"][0]["output"] == 2


def test_answers_are_kept_by_content(server):
    server.script = lambda asked: answer("yes" if "middle" in asked.prompt else "red")
    found = load(server).reply(REQUESTS)
    assert [reply.text for reply in found] == ["red", "yes"]
    assert load(server).reply(REQUESTS[::-1]) == found[::-1]
    assert server.count == 2


def test_an_answer_that_was_cut_off_says_so(server):
    server.script = always(answer("The leftmost", finish="length"))
    assert not load(server).reply(REQUESTS[:1])[0].finished


def test_what_has_no_answer_is_named_and_the_rest_is_kept(server):
    def script(asked: Asked):
        return error(500) if "middle" in asked.prompt else answer("red")

    server.script = script
    with pytest.raises(Unfinished, match="1 of 2 items") as caught:
        load(server).reply(REQUESTS)
    assert set(caught.value.items) == {"q2"}
    server.script = always(answer("no"))
    assert [reply.text for reply in load(server).reply(REQUESTS)] == ["red", "no"]


def test_a_refusal_is_an_empty_answer(server):
    server.script = always(answer("I can't", finish="content_filter"))
    assert load(server).reply(REQUESTS[:1])[0].text == ""


def test_a_choice_is_asked_with_letters(server):
    server.script = always(answer("B"))
    asked = [
        ReplyRequest(IMAGES[0], "What color is the car?", ("red", "blue"), key="q3"),
        *REQUESTS[:1],
    ]
    chosen, free = load(server).reply(asked)
    assert (chosen.text, chosen.scores) == ("blue", (0.0, 1.0))
    assert free.text == "B"
    assert any("A. red\nB. blue" in one.prompt for one in server.asked)


def test_a_choice_without_an_answer_has_its_questions_name(server):
    server.script = always(error(500))
    asked = ReplyRequest(IMAGES[0], "What color is the car?", ("red", "blue"), key="q3")
    with pytest.raises(Unfinished) as caught:
        load(server).reply([asked])
    assert set(caught.value.items) == {"q3"}
