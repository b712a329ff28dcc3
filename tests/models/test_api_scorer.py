"""The scorer for API models, each mode against a server whose answers are known."""

import io
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from api_server import (
    EMPTY,
    MALFORMED,
    ApiServer,
    Asked,
    Reply,
    always,
    answer,
    completion,
    error,
    first,
)
from PIL import Image

from bindbench.errors import Unfinished, UserError
from bindbench.models import registry
from bindbench.models.api_asker import GIVE_UP
from bindbench.models.api_modes import NO_ANSWER, NoPromptProbabilities, caption_tokens
from bindbench.models.api_options import ApiOptions, parse_address
from bindbench.models.api_scorer import ApiScorer, load_api
from bindbench.models.base import ScoreRequest
from bindbench.pipeline.preflight import check_suite
from bindbench.pipeline.readiness import model_state
from bindbench.scoring.choice import usage_of
from bindbench.semantics import FALSE, TRUE, UNDECIDED
from bindbench.suite import RoleSettings, resolve_suite

FAST = {"backoff": 0.001, "retries": 3, "timeout": 20.0}
SWAPS = ["", "swap", "confusion", "confusion"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def server():
    with ApiServer(always(answer("A"))) as server:
        yield server


def scorer_of(server: ApiServer, label: str = "", **options) -> ApiScorer:
    name = server.name.removeprefix("api:")
    return load_api(name, label, ApiOptions(**(FAST | options)))


def item(number: int, texts=None, truth=None, families=()) -> ScoreRequest:
    """An item whose image and captions are its own."""
    texts = texts or [f"{word} caption of {number}." for word in ("right", "wrong", "false", "bad")]
    truth = np.array(truth or [TRUE] + [FALSE] * (len(texts) - 1), np.int8)
    image = np.random.default_rng(number).integers(0, 256, (5, 7, 3), np.uint8)
    return ScoreRequest(f"item-{number}", image, texts, truth, families)


def right(asked: Asked) -> Reply:
    """Choose the caption that starts with "right"."""
    (label,) = [label for label, text in asked.options.items() if text.startswith("right")]
    return answer(label)


def option_of(asked: Asked, start: str) -> str:
    return next(label for label, text in asked.options.items() if text.startswith(start))


# Choice


def test_one_that_knows_gets_all_votes(server):
    server.script = right
    (scores,) = scorer_of(server).score([item(0)])
    assert scores.values.tolist() == [1, 0, 0, 0]
    assert scores.asked.tolist() == [True] * 4
    assert server.count == 4
    assert {asked.path for asked in server.asked} == {"/v1/chat/completions"}


def test_one_that_always_says_a_gives_every_option_one_vote(server):
    (scores,) = scorer_of(server).score([item(0)])
    assert scores.values.tolist() == [0.25] * 4
    assert sorted(asked.options["A"] for asked in server.asked) == sorted(item(0).texts)


def test_with_fewer_rotations_the_votes_are_those_that_were_given(server):
    texts = [f"{i}. caption" for i in range(15)]
    (scores,) = scorer_of(server, rotations=5).score([item(0, texts)])
    first_options = [asked.options["A"] for asked in server.asked]
    assert len(set(first_options)) == 5
    expected = [0.2 if text in first_options else 0.0 for text in texts]
    assert scores.values.tolist() == expected


def test_the_image_and_the_question_reach_the_server(server):
    request = item(3)
    scorer_of(server, question="Which one?", temperature=None, detail="low", max_tokens=9).score(
        [request]
    )
    for asked in server.asked:
        assert np.array_equal(np.array(Image.open(io.BytesIO(asked.image))), request.image)
        assert asked.prompt.startswith("Which one?\nA. ")
        assert sorted(asked.options.values()) == sorted(request.texts)
        assert asked.body["max_tokens"] == 9
        assert "temperature" not in asked.body
        assert asked.body["messages"][0]["content"][0]["image_url"]["detail"] == "low"


def test_a_blind_question_has_no_image(server):
    scorer = scorer_of(server, blind=True, extra={"seed": 4})
    (scores,) = scorer.score([item(0)])
    assert all(asked.image is None for asked in server.asked)
    assert all("can't see" in asked.prompt for asked in server.asked)
    assert all(asked.body["seed"] == 4 and asked.body["temperature"] == 0 for asked in server.asked)
    assert scores.values.tolist() == [0.25] * 4
    assert scorer.method.endswith("blind")


def test_only_false_captions_are_offered_and_the_others_are_not_asked(server):
    server.script = right
    texts = ["right.", "wrong.", "true as well.", "who knows."]
    (scores,) = scorer_of(server).score([item(0, texts, [TRUE, FALSE, TRUE, UNDECIDED])])
    assert scores.asked.tolist() == [True, True, False, False]
    assert scores.values.tolist() == [1, 0, 0, 0]
    assert all(sorted(asked.options.values()) == texts[:2] for asked in server.asked)


def test_an_item_without_a_false_caption_asks_nothing(server):
    (scores,) = scorer_of(server).score([item(0, truth=[TRUE, TRUE, UNDECIDED, TRUE])])
    assert scores.asked.tolist() == [True, False, False, False]
    assert server.count == 0


def test_swaps_are_asked_apart(server):
    """Wrong among all, right among the swaps: each question has its own scores."""

    def script(asked):
        return answer(option_of(asked, "bad" if len(asked.options) == 4 else "right"))

    server.script = script
    (scores,) = scorer_of(server).score([item(0, families=SWAPS)])
    assert scores.values.tolist() == [0, 0, 0, 1]
    assert scores.swap[:2].tolist() == [1, 0]
    assert np.isnan(scores.swap[2:]).all()  # these were not offered
    assert sorted(len(asked.options) for asked in server.asked) == [2, 2, 4, 4, 4, 4]


def test_with_one_object_each_family_is_compared_with_its_own_question(server):
    """Colors: 3 of 3 votes for the positive; objects: 1 of 2 votes, a tie."""

    def script(asked):
        colors = any("wrong" in text for text in asked.options.values())
        return right(asked) if colors else answer("A")

    server.script = script
    families = ["", "vary_color", "vary_color", "vary_object"]
    texts = ["right.", "wrong 1.", "wrong 2.", "other."]
    (scores,) = scorer_of(server).score([item(0, texts, families=families)])
    assert scores.values.tolist() == [0, -1, -1, 0]
    assert scores.swap is None


def test_49_of_many_wrong_captions_are_offered_by_number(server):
    server.script = right
    texts = ["right.", *[f"wrong {i}." for i in range(200)]]
    (scores,) = scorer_of(server, rotations=2).score([item(0, texts)])
    assert scores.asked.sum() == 50
    assert scores.asked[0]
    assert scores.values[0] == 1
    assert all(list(asked.options) == [str(i) for i in range(1, 51)] for asked in server.asked)


@pytest.mark.parametrize("words", ["I would say B", "E", "A white car", "A or B", "wrong"])
def test_an_answer_that_cannot_be_read_is_asked_again_then_no_vote(server, words):
    def script(asked):
        return answer(words) if option_of(asked, "right") == "A" else right(asked)

    server.script = script
    (scores,) = scorer_of(server, asks=3).score([item(0)])
    assert scores.values.tolist() == [0.75, 0, 0, 0]
    assert server.count == 3 + 3
    raw = json.loads(scores.raw)
    assert raw["unreadable"] == 1
    assert [a["text"] for a in raw["answers"]].count(words) == 3
    (lost,) = [r for r in raw["questions"][0]["rotations"] if r["chosen"] is None]
    assert lost["order"][0] == 0


@pytest.mark.parametrize("words", ["As an AI, I like all of them.", "\ud800", "\0"])
def test_nothing_readable_is_a_tie_at_zero(server, words):
    server.script = always(answer(words))
    (scores,) = scorer_of(server).score([item(0)])
    assert scores.values.tolist() == [0, 0, 0, 0]
    assert json.loads(scores.raw.encode())["unreadable"] == 4


def test_an_answer_that_is_readable_the_second_time_counts(server):
    server.script = first([answer("Hm.")], right)
    (scores,) = scorer_of(server).score([item(0)])
    # The same words are sent again: the script tells the tries apart by how often they came.
    assert scores.values.tolist() == [1, 0, 0, 0]
    assert (server.count, json.loads(scores.raw)["unreadable"]) == (8, 0)


def test_a_filter_or_a_refusal_is_an_answer_that_cannot_be_read(server):
    refusal = completion({"message": {"content": None, "refusal": "I can't."}})
    for number, reply in enumerate((error(400, "content_filter"), refusal)):
        server.script = always(reply)
        (scores,) = scorer_of(server, asks=1).score([item(number)])
        assert scores.values.tolist() == [0, 0, 0, 0]
    assert server.count == 8


# Yes or no


def log_odds(p_yes: float) -> Reply:
    top = [("Yes", p_yes), ("No", 1 - p_yes)]
    listed = [{"token": token, "logprob": math.log(p)} for token, p in top]
    place = {"token": "Yes", "logprob": listed[0]["logprob"], "top_logprobs": listed}
    return answer("Yes", logprobs={"content": [{"token": "\n", "logprob": 0.0}, place]})


def test_yes_or_no_is_scored_by_log_odds(server):
    chance = {"right": 0.9, "wrong": 0.5, "false": 0.2, "bad": 0.01}
    server.script = lambda asked: log_odds(
        next(p for word, p in chance.items() if f"Caption: {word}" in asked.prompt)
    )
    scorer = scorer_of(server, mode="yesno")
    (scores,) = scorer.score([item(0)])
    expected = [math.log(p / (1 - p)) for p in chance.values()]
    np.testing.assert_allclose(scores.values, expected, rtol=0, atol=1e-12)
    assert scores.asked is None
    assert scorer.dtype == "bfloat16"
    assert server.count == 4
    assert all(asked.body["top_logprobs"] == 20 for asked in server.asked)


def test_without_probabilities_yes_is_one_and_no_is_zero(server):
    server.script = lambda asked: answer("Yes." if "false" not in asked.prompt else "no")
    scorer = scorer_of(server, mode="yesno", token_probabilities=False)
    (scores,) = scorer.score([item(0)])
    assert scores.values.tolist() == [1, 1, 0, 1]
    assert all("logprobs" not in asked.body for asked in server.asked)


def test_where_some_probabilities_are_missing_the_answers_count(server):
    server.script = lambda asked: (
        log_odds(0.9)
        if "right" in asked.prompt
        else answer("Yes" if "bad" in asked.prompt else "No")
    )
    (scores,) = scorer_of(server, mode="yesno").score([item(0)])
    assert scores.values.tolist() == [1, 0, 0, 1]
    assert json.loads(scores.raw)["scale"] == "answer"


def test_a_caption_without_a_readable_answer_loses(server):
    top = [{"token": "The", "logprob": -0.1}, {"token": "A", "logprob": -3.0}]
    prose = answer("The ...", logprobs={"content": [{"token": "The", "top_logprobs": top}]})
    server.script = lambda asked: prose if "right" in asked.prompt else log_odds(0.001)
    (scores,) = scorer_of(server, mode="yesno").score([item(0)])
    assert scores.values[0] == NO_ANSWER < scores.values[1]
    assert json.loads(scores.raw)["unreadable"] == 1
    assert server.count == 3 + 2


# Log-probabilities


def scored_prompt(asked: Asked) -> Reply:
    """A vLLM server: each word of the caption costs its length, ten times with the image."""
    prompt, caption = asked.prompt.split(), asked.body["messages"][1]["content"].split()
    factor = 10 if asked.image else 1
    places = [None, *(place(word, -99.0) for word in [*prompt, "<assistant>"])]
    places += [place(f"▁{word}", -0.1 * factor * len(word)) for word in caption]
    return completion({"message": {"content": "x"}}, prompt_logprobs=places)


def place(word: str, logprob: float) -> dict[str, dict]:
    """The prompt's own token is not the likeliest; vLLM lists both, in any order."""
    own = {"logprob": logprob, "rank": 7, "decoded_token": word}
    return {"3": {"logprob": -0.01, "rank": 1, "decoded_token": "best"}, "12": own}


def test_log_probabilities_are_summed_over_the_captions_tokens(server):
    server.script = scored_prompt
    texts = ["A red cup.", "A blue cup.", "A long long cup."]
    scorer = scorer_of(server, mode="logprobs", dtype="float32")
    (scores,) = scorer.score([item(0, texts)])
    letters = np.array([len(text.replace(" ", "")) for text in texts])
    np.testing.assert_allclose(scores.values, -1.0 * letters, rtol=0, atol=1e-12)
    np.testing.assert_allclose(scores.image_free, -0.1 * letters, rtol=0, atol=1e-12)
    assert scores.tokens.tolist() == [3, 3, 4]
    assert scorer.dtype == "float32"
    for asked in server.asked:
        body = asked.body
        assert body["continue_final_message"] and not body["add_generation_prompt"]
        assert (body["prompt_logprobs"], body["max_tokens"]) == (1, 1)
        assert body["messages"][1]["role"] == "assistant"
    assert sum(asked.image is None for asked in server.asked) == 3


def test_blind_log_probabilities_are_those_without_the_image(server):
    server.script = scored_prompt
    (scores,) = scorer_of(server, mode="logprobs", blind=True).score([item(0)])
    assert server.count == 4
    assert scores.image_free is None
    assert scores.values[0] == pytest.approx(-0.1 * len("rightcaptionof0."), abs=1e-12)


def test_image_free_scores_of_equal_captions_are_asked_once(server):
    server.script = scored_prompt
    texts = ["A red cup.", "A blue cup."]
    scorer_of(server, mode="logprobs").score([item(0, texts), item(1, texts)])
    assert sum(asked.image is None for asked in server.asked) == 2
    assert server.count == 6


def places(*words: str) -> list:
    return [None, *(place(word, -1.0) for word in words)]


@pytest.mark.parametrize(
    "tokens, count",
    [
        (("user", "A", " red", " cup", "."), 4),
        (("user", "A", "red", "cup", "."), 4),  # some decoders leave out the blank
        (("user", "\nA", "Ġred", "▁cup."), 3),
        (("A", " red", " cup", ".", "A", " re", "d", " c", "up."), 5),  # the prompt says it as well
        (("user", "A", "", " red cup."), 3),  # a token that is half a letter has no text
    ],
)
def test_the_captions_tokens_are_the_end_of_the_prompt(tokens, count):
    found = caption_tokens(places(*tokens), "A red cup.")
    assert found == [(token, -1.0) for token in tokens[-count:]]


@pytest.mark.parametrize(
    "given, why",
    [
        (None, "gave no prompt_logprobs"),
        (places("A", " red", " cup", ".", "<end>"), "ends with .*<end>"),
        (places("red", " cup", "."), "instead of the caption"),
        ([None], "instead of the caption"),
        (places("xA", " red cup."), "xAredcup"),
    ],
)
def test_a_prompt_that_does_not_end_with_the_caption_is_no_score(given, why):
    with pytest.raises(NoPromptProbabilities, match=why):
        caption_tokens(given, "A red cup.")


def test_a_server_that_does_not_score_prompts_is_one_sentence(server):
    server.script = always(answer("x"))
    with pytest.raises(UserError, match=r"gave no prompt_logprobs: mode logprobs needs a vLLM"):
        scorer_of(server, mode="logprobs").score([item(0)])


# Answers are kept


def test_answers_are_not_asked_for_again(server):
    server.script = right
    requests = [item(i) for i in range(5)]
    before = scorer_of(server).score(requests)
    asked = server.count
    server.script = always(error(500))
    again = scorer_of(server, concurrency=1, retries=0).score(requests)
    assert [scores.raw for scores in again] == [scores.raw for scores in before]
    assert [scores.values.tolist() for scores in again] == [s.values.tolist() for s in before]
    assert server.count == asked == 20


@pytest.mark.parametrize(
    "other",
    [
        *({"question": "Which?"}, {"blind": True}, {"max_tokens": 4}, {"extra": {"seed": 1}}),
        *({"label": "may"}, {"temperature": 1.0}, {"detail": "high"}),
    ],
)
def test_what_is_asked_otherwise_is_another_question(server, other):
    server.script = right
    scorer_of(server).score([item(0)])
    scorer_of(server, **other).score([item(0)])
    assert server.count == 8


def test_another_image_is_another_question(server):
    server.script = right
    texts = item(0).texts
    scorer_of(server).score([item(0)])
    other = item(1, texts)
    scorer_of(server).score([ScoreRequest("item-0", other.image, texts, other.truth)])
    assert server.count == 8


def test_no_answer_holds_the_key(server, cache, monkeypatch):
    monkeypatch.setenv("THE_KEY", "sk-very-secret")
    server.script = lambda asked: (
        right(asked) if asked.number % 2 else error(500, asked.headers["Authorization"])
    )
    scorer = scorer_of(server, key_variable="THE_KEY", concurrency=1)
    (scores,) = scorer.score([item(0)])
    assert all(a.headers["Authorization"] == "Bearer sk-very-secret" for a in server.asked)
    written = b"".join(path.read_bytes() for path in cache.rglob("*") if path.is_file())
    assert b"secret" not in written
    assert written
    assert "secret" not in scores.raw


def test_what_is_kept_is_that_of_an_undisturbed_run(server):
    server.script = right
    (before,) = scorer_of(server, label="before").score([item(0)])
    answers = json.loads(before.raw)["answers"]
    assert [(a["input"], a["output"], a["served"]) for a in answers] == [
        (10, 2, "stand-in-2026")
    ] * 4
    # Each question has come once already.
    server.script = first([EMPTY, EMPTY, MALFORMED, error(500)], right)
    (after,) = scorer_of(server, label="after").score([item(0)])
    assert server.count == 4 + 4 * 4
    assert after.raw == before.raw


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"choices": "x"}, {"choices": []}, {"choices": [1]}, {"choices": [{}]}),
        {"choices": [{"message": "A"}]},
        {"choices": [{"message": {"content": 7}}]},
        {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": 1}]}}]},
        {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [7]}}]},
    ],
)
def test_a_response_of_another_shape_is_asked_for_again(server, body):
    server.script = first([Reply(body=json.dumps(body).encode())], always(log_odds(0.5)))
    (scores,) = scorer_of(server, mode="yesno").score([item(0)])
    assert scores.values.tolist() == [0, 0, 0, 0]
    assert json.loads(scores.raw)["scale"] == "log odds"
    assert server.count == 8


def test_a_server_that_does_not_say_what_it_used_is_unmeasured(server):
    body = {"choices": [{"message": {"content": "A"}}], "usage": {"prompt_tokens": "x"}}
    server.script = always(Reply(body=json.dumps(body).encode()))
    (scores,) = scorer_of(server).score([item(0)])
    usage = usage_of([scores.raw])
    assert (usage["answers"], usage["unmeasured"], usage["input_tokens"]) == (4, 4, 0)
    assert usage["served"] == []


# What can't be finished


def test_what_cannot_be_finished_is_listed_and_the_rest_is_kept(server):
    bad = {2, 5}

    def script(asked):
        number = int(asked.prompt.split("caption of ")[1].split(".")[0])
        return error(500, "overloaded") if number in bad else right(asked)

    server.script = script
    requests = [item(i) for i in range(7)]
    with pytest.raises(Unfinished) as caught:
        scorer_of(server, retries=1, concurrency=2).score(requests)
    assert str(caught.value) == (
        f"{server.name} gave no answer for 2 of 7 items (item-2, item-5): the server answered "
        "500: overloaded, after 2 tries; all that was answered is kept, and another run asks for "
        "the rest."
    )
    assert server.count == 5 * 4 + 2 * 4 * 2
    bad.clear()
    scores = scorer_of(server).score(requests)
    assert [s.values.tolist() for s in scores] == [[1, 0, 0, 0]] * 7
    assert server.count == 36 + 8


def test_many_items_are_counted_and_causes_are_told_apart(server):
    def script(asked):
        number = int(asked.prompt.split("caption of ")[1].split(".")[0])
        return error(400, "too long") if number == 0 else error(500, "broken")

    server.script = script
    with pytest.raises(Unfinished) as caught:
        scorer_of(server, retries=0, concurrency=1).score([item(i) for i in range(9)])
    text = str(caught.value)
    assert (
        "gave no answer for 9 of 9 items (item-0, item-1, item-2, item-3, item-4 and 4 more):"
        in text
    )
    assert "the server answered 500: broken (1)" in text
    assert "the server answered 400: too long (1)" in text
    assert "not asked, as the server gave no answers (7)" in text


def test_a_server_that_answers_nothing_is_given_up(server):
    server.script = always(error(500))
    scorer = scorer_of(server, retries=1, concurrency=1)
    with pytest.raises(Unfinished) as caught:
        scorer.score([item(i) for i in range(50)])
    assert caught.value.hopeless
    assert server.count == 2 * GIVE_UP
    with pytest.raises(Unfinished):
        scorer.score([item(i) for i in range(50, 60)])
    assert server.count == 2 * GIVE_UP + 2  # one question finds out that nothing has changed
    server.script = right
    scores = scorer.score([item(i) for i in range(50)])
    assert server.count == 2 * GIVE_UP + 2 + 200
    assert all(s.values[0] == 1 for s in scores)


def test_a_single_failure_between_answers_gives_nothing_up(server):
    server.script = lambda asked: error(500) if asked.number % 2 else right(asked)
    with pytest.raises(Unfinished) as caught:
        scorer_of(server, retries=0, concurrency=1).score([item(i) for i in range(20)])
    assert server.count == 80
    assert not caught.value.hopeless


def test_a_refused_key_ends_it_at_once(server):
    server.script = always(error(401, "no such key"))
    with pytest.raises(
        UserError, match=r"refuses stand-in: the server answered 401: no such key\.$"
    ):
        scorer_of(server, concurrency=1).score([item(i) for i in range(9)])
    assert server.count == 1


def test_every_kind_of_failure_at_once_loses_and_doubles_nothing(server):
    """Each question meets its own mixture of failures; all are answered, each counted once."""
    failures = [error(429, retry_after="0.01"), error(500), error(503), MALFORMED, EMPTY]
    failures += [Reply(drop=True), Reply(delay=3600.0)]

    def script(asked):
        mine = np.random.default_rng(list(asked.prompt.encode())).permutation(len(failures))[:3]
        return first([failures[i] for i in mine], right)(asked)

    server.script = script
    requests = [item(i) for i in range(6)]
    scores = scorer_of(server, timeout=2.0, retries=5).score(requests)
    assert [s.values.tolist() for s in scores] == [[1, 0, 0, 0]] * 6
    assert server.count == 6 * 4 * 4
    answers = [a for s in scores for a in json.loads(s.raw)["answers"]]
    assert len({a["key"] for a in answers}) == len(answers) == 24


def test_no_more_requests_than_allowed_are_under_way(server):
    meeting = threading.Barrier(3, timeout=30)

    def script(asked):
        meeting.wait()  # passes only if three are under way
        return right(asked)

    server.script = script
    scorer_of(server, concurrency=3).score([item(i) for i in range(3)])
    assert server.most_at_once == 3


KILLED = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from test_api_scorer import item
from bindbench.models.api_options import ApiOptions
from bindbench.models.api_scorer import load_api
options = ApiOptions(backoff=0.001, concurrency=4)
load_api(sys.argv[2].removeprefix("api:"), "", options).score([item(i) for i in range(40)])
"""


def test_after_a_kill_only_what_is_missing_is_asked(server, cache):
    server.script = lambda asked: right(asked) if asked.number < 70 else Reply(delay=3600.0)
    tests = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"}
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tests), server.name], env=environment
    )
    deadline = time.monotonic() + 60
    while len(kept := lines(cache)) < 70 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(kept) == 70
    server.script = right
    before = server.count
    scores = scorer_of(server).score([item(i) for i in range(40)])
    assert server.count - before == 160 - 70
    assert all(s.values.tolist() == [1, 0, 0, 0] for s in scores)
    keys = [json.loads(line)["key"] for line in lines(cache)]
    assert len(set(keys)) == len(keys) == 160


def lines(folder: Path) -> list[bytes]:
    return [line for path in folder.rglob("*.jsonl") for line in path.read_bytes().splitlines()]


# Names and options


def settings(model: str, **options) -> RoleSettings:
    return RoleSettings(model=model, options=options)


def test_a_name_is_an_address_and_the_servers_own_name():
    name, _, _ = registry.resolve("scorer", settings("api:http://127.0.0.1:8000/v1#org/model@may"))
    assert (name.name, name.revision) == ("http://127.0.0.1:8000/v1#org/model", "may")
    assert parse_address("https://h/v1/#%40cf/m").model == "@cf/m"
    assert parse_address("https://h/v1/#m").url == "https://h/v1"


@pytest.mark.parametrize(
    "model",
    [
        *("api:gpt-4o", "api:https://h/v1", "api:ftp://h#m", "api:http://#m", "api:https://h/v1#"),
        *("api:http://h:x/v1#m", "api:https://user:secret@h/v1#m", "api:http://[::1/v1#m"),
    ],
)
def test_a_wrong_address_is_one_sentence_without_secrets(model):
    with pytest.raises(UserError, match="write api:URL#model") as caught:
        registry.resolve("scorer", settings(model))
    assert "secret" not in str(caught.value)


def test_a_key_in_the_address_is_refused_without_showing_it():
    with pytest.raises(UserError, match="environment variable") as caught:
        registry.resolve("scorer", settings("api:https://h/v1?api-key=secret#m"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "options, why",
    [
        ({"mode": "guess"}, "mode is 'guess'"),
        ({"concurency": 3}, "did you mean concurrency"),
        ({"extra": {"model": "x"}}, "the field 'model' is set by BindBench"),
        ({"timeout": 0}, "timeout is 0"),
    ],
)
def test_wrong_options_are_said(options, why):
    with pytest.raises(UserError, match=why):
        registry.resolve("scorer", settings("api:http://127.0.0.1/v1#m", **options))


def test_the_fingerprint_covers_what_is_asked_and_not_how():
    model = "api:http://127.0.0.1/v1#m"
    plain = registry.describe("scorer", settings(model))
    assert plain["question"] == "Which caption describes the image exactly?"
    assert plain["model"] == model
    for same in (
        {"concurrency": 2},
        {"timeout": 3},
        {"key_variable": "K"},
        {"input_price": 1.0, "output_price": 2.0},
    ):
        assert registry.describe("scorer", settings(model, **same)) == plain
    for other in ({"rotations": 2}, {"mode": "yesno"}, {"blind": True}, {"question": "Which?"}):
        assert registry.describe("scorer", settings(model, **other)) != plain


def test_which_key_goes_where(monkeypatch):
    def variable(url: str, option: str | None = None) -> str:
        return parse_address(f"{url}#m").key_variable(option)

    assert variable("https://api.openai.com/v1") == "OPENAI_API_KEY"
    assert variable("http://127.0.0.1:8000/v1") == ""
    assert variable("https://localhost/v1") == variable("http://[::1]:1/v1") == ""
    assert variable("http://gpu-3:8000/v1") == ""  # it could be read on the way
    assert variable("http://gpu-3:8000/v1", "VLLM_KEY") == "VLLM_KEY"
    assert variable("https://api.openai.com/v1", "") == ""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UserError, match="OPENAI_API_KEY is not set"):
        load_api("https://api.openai.com/v1#m", "", ApiOptions())


def test_a_missing_key_is_said_before_anything_is_built(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    scorers = [{"model": "api:https://api.openai.com/v1#m"}]
    suite = resolve_suite({"name": "s", "overrides": {"scorers": scorers}}, "s.yaml")
    with pytest.raises(UserError, match="OPENAI_API_KEY is not set"):
        check_suite(suite)
    state = model_state("scorer", suite.profile.scorers[0], 1, [])
    assert ["OPENAI_API_KEY is not set" in problem for problem in state.problems] == [True]
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    check_suite(suite)
    state = model_state("scorer", suite.profile.scorers[0], 1, [])
    assert (state.problems, state.weights.where) == ((), "server")


def test_openai_has_its_own_name_for_the_limit():
    openai, other = (parse_address(f"{u}#m") for u in ("https://api.openai.com/v1", "http://h/v1"))
    assert openai.max_tokens_field("") == "max_completion_tokens"
    assert other.max_tokens_field("") == openai.max_tokens_field("max_tokens") == "max_tokens"
