"""Writers behind a server through the asset captions, the trouble-making server included."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from api_server import (
    DROPPED,
    EMPTY,
    MALFORMED,
    ApiServer,
    Asked,
    Reply,
    always,
    answer,
    error,
    first,
)

from bindbench.captions.contextual import attempt_seed
from bindbench.captions.prompts import chat_messages
from bindbench.concepts import Concept
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.api_writer import ApiWriter
from bindbench.pipeline import captions, concept_set
from bindbench.pipeline.base import Context
from bindbench.pipeline.preflight import check_suite
from bindbench.storage.store import Artifact, Store
from bindbench.suite import RoleSettings, Suite, VocabularySources, resolve_suite

FAST = {"backoff": 0.001, "retries": 3, "timeout": 20.0}
CUP = Concept("color", ("cup", "chair"), ("red", "blue"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def server():
    with ApiServer(good) as server:
        yield server


def scene_of(asked: Asked) -> str:
    """What the last line of the prompt shows."""
    return asked.body["messages"][-1]["content"].rpartition("Shows: ")[2]


def caption_of(scene: str) -> str:
    chain = re.sub(r", the [^,]*? (is|are) (?=above|under|to the)", r", which \1 ", scene)
    return (
        f"In a quiet room, {chain}."
        if chain != scene or " is " in scene
        else (f"In a quiet room there is {scene.replace(', ', ' and ')}.")
    )


def good(asked: Asked) -> Reply:
    """Write a caption that passes the check."""
    return answer(caption_of(scene_of(asked)))


def suite_of(server: ApiServer, name: str = "small", keys=("color-n2", "position-n3"), **options):
    fields = {
        "name": name,
        "benchmarks": keys,
        "concepts": 6,
        "overrides": {
            "shard_size": 3,
            "writer": {"model": server.name, "batch_size": 2, "options": FAST | options},
        },
    }
    return resolve_suite(fields, "small.yaml")


def context_of(tmp_path: Path, suite: Suite) -> Context:
    context = Context(suite, Store(tmp_path / "store", suite.name), LocalEngine(1))
    for key in suite.benchmarks:
        concept_set.build(context, key)
    return context


def contextual(artifact: Artifact) -> list[dict]:
    return [row for row in artifact.read().to_pylist() if row["track"] == "contextual"]


def writer_of(server: ApiServer, **options) -> ApiWriter:
    settings = RoleSettings(model=server.name, options=FAST | options)
    return registry.load("writer", settings, VocabularySources())


# What is asked


def test_a_request_says_what_the_paper_samples_by(server, lexicon):
    (written,) = writer_of(server).write([CUP], [123])
    assert written.text == "In a quiet room there is a red cup and a blue chair."
    (asked,) = server.asked
    assert asked.body == {
        "model": "stand-in",
        "messages": chat_messages(CUP, lexicon),
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 150,
        "seed": 123,
    }


def test_what_a_server_does_not_know_is_left_out(server, lexicon):
    options = {"temperature": None, "top_p": None, "send_seed": False, "system_role": False}
    writer = writer_of(server, extra={"reasoning_effort": "low"}, **options)
    writer.write([CUP, CUP], [1, 2])
    assert [asked.body for asked in server.asked] == 2 * [
        {
            "model": "stand-in",
            "messages": chat_messages(CUP, lexicon, system_role=False),
            "max_tokens": 150,
            "reasoning_effort": "low",
        }
    ]


def test_an_answer_is_never_asked_for_again(server):
    writer = writer_of(server)
    found = writer.write([CUP, CUP], [1, 2])
    assert writer.write([CUP, CUP], [2, 1]) == found[::-1]
    assert server.count == 2


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (answer("A red cup and", finish="length"), "unfinished"),
        (answer("A red", finish="content_filter"), "refusal"),
        (error(400, "blocked by the content_filter"), "refusal"),
        (answer(None, message={"role": "assistant", "content": None, "refusal": "No."}), "refusal"),
        (answer("A red cup."), ""),
    ],
)
def test_what_is_wrong_with_an_answer_is_told(server, reply, fault):
    server.script = always(reply)
    (written,) = writer_of(server).write([CUP], [1])
    assert written.fault == fault
    assert writer_of(server).write([CUP], [1]) == [written]
    assert server.count == 1


# Through the asset


def test_captions_of_a_server(server, tmp_path):
    context = context_of(tmp_path, suite_of(server, input_price=2.0, output_price=50.0))
    for key in context.suite.benchmarks:
        before = server.count
        artifact = captions.build(context, key)
        rows = contextual(artifact)
        assert [row["reason"] for row in rows] == [""] * 6
        assert server.count - before == 6
        for row in rows:
            (found,) = row["tries"]
            assert found["text"] is None
            assert json.loads(found["raw"])["answers"][0]["text"] == row["text"]
        assert artifact.summary["usage"]["answers"] == 6
        assert artifact.summary["usage"]["cost"] == pytest.approx(6 * 120e-6, abs=1e-12)
        assert artifact.summary["cut"] == {}


def test_failures_are_asked_again_with_other_seeds_and_counted(server, tmp_path):
    """Every first answer is refused, every second has too much around a wrong caption."""
    tries = {}

    def script(asked: Asked) -> Reply:
        scene = scene_of(asked)
        tries.setdefault(scene, []).append(asked.body["seed"])
        if len(tries[scene]) == 1:
            return answer("I'm sorry, but I can't help with that.")
        if len(tries[scene]) == 2:
            return answer('Sure! **Caption:** "In a quiet room there is nothing."')
        return answer(f"{caption_of(scene)}\n\nThis caption names everything.")

    server.script = script
    context = context_of(tmp_path, suite_of(server, keys=("color-n2",)))
    artifact = captions.build(context, "color-n2")
    for row in contextual(artifact):
        concept = Concept("color", tuple(row["objects"]), tuple(row["labels"]))
        assert (row["verdict"], row["attempts"]) == ("pass", 3)
        assert [found["reason"] for found in row["tries"]] == ["refusal", "missing_object", ""]
        assert row["tries"][2]["text"].endswith("names everything.")
        seeds = [attempt_seed(0, concept, attempt) for attempt in (1, 2, 3)]
        assert seeds in tries.values()
    summary = artifact.summary
    assert summary["contextual"] == {"pass": 6}
    assert summary["tries"] == {"missing_object": 6, "pass": 6, "refusal": 6}
    assert summary["cut"] == {"markup": 6, "preamble": 6, "quotes": 6, "remark": 6}
    assert summary["usage"]["answers"] == 18


def test_troubles_that_pass_change_nothing(server, tmp_path):
    undisturbed = captions.build(
        context_of(tmp_path, suite_of(server, "first", ("color-n2",))), "color-n2"
    )
    failures = [error(429, retry_after="0.01"), error(500), MALFORMED, EMPTY, DROPPED]

    def script(asked: Asked) -> Reply:
        mine = len(asked.prompt + scene_of(asked)) % 5
        return first([failures[mine], failures[mine - 1], failures[mine - 2]], good)(asked)

    server.script = script
    suite = suite_of(server, "second", ("color-n2",), max_tokens=149)
    disturbed = captions.build(context_of(tmp_path, suite), "color-n2")
    assert [r["text"] for r in contextual(disturbed)] == [
        r["text"] for r in contextual(undisturbed)
    ]
    assert server.count == 6 + 6 * 4


def lost(scene: str, reply: Reply) -> Callable[[Asked], Reply]:
    return lambda asked: reply if scene_of(asked) == scene else good(asked)


def test_a_partition_that_cannot_finish_names_its_concepts_and_a_second_run_ends_it(
    server, tmp_path
):
    context = context_of(tmp_path, suite_of(server, keys=("color-n2",)))
    captions.build(context, "color-n2")
    scenes = [scene_of(asked) for asked in server.asked]
    bad = server.asked[4]
    server.script = lost(scene_of(bad), error(500, "out of order"))
    suite = suite_of(server, "again", ("color-n2",), max_tokens=149)
    again = context_of(tmp_path, suite)
    with pytest.raises(UserError) as caught:
        captions.build(again, "color-n2")
    concepts = again.current(concept_set.NAME, "color-n2").read().to_pylist()
    (named,) = [
        row["concept_id"]
        for row in concepts
        if all(word in scenes[4] for word in (*row["objects"], *row["labels"]))
    ]
    text = str(caught.value)
    assert f"gave no answer for 1 of 3 items ({named}): the server answered 500" in text
    assert "another run asks for the rest" in text
    server.script, before = good, server.count
    artifact = captions.build(again, "color-n2")
    assert server.count == before + 1
    assert artifact.summary["contextual"] == {"pass": 6}


def test_a_missing_key_is_told_before_anything_is_built(server, monkeypatch):
    monkeypatch.delenv("WRITER_KEY", raising=False)
    with pytest.raises(UserError, match="The environment variable WRITER_KEY is not set"):
        check_suite(suite_of(server, key_variable="WRITER_KEY"))
    check_suite(suite_of(server))


def test_a_refused_key_is_one_sentence(server, tmp_path):
    server.script = always(error(401, "no such key"))
    context = context_of(tmp_path, suite_of(server, keys=("color-n2",)))
    with pytest.raises(UserError, match="the server answered 401: no such key"):
        captions.build(context, "color-n2")
