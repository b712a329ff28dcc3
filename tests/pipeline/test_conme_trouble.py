"""ConMe's stages against servers with every kind of trouble: nothing lost, twice, or for ever."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from api_server import (
    DROPPED,
    EMPTY,
    MALFORMED,
    ApiServer,
    Asked,
    answer,
    error,
    first,
)
from conme_driver import build, context_of, fields_of
from PIL import Image as PILImage

from bindbench.errors import UserError
from bindbench.storage.store import Artifact

IMAGES = 5
SHADES: dict[int, str] = dict(zip((10, 60, 110, 160, 210), "abcde", strict=True))
SETS = [
    {"question": "What color is it?", "answer": "gray", "negatives": ["red", "green"]},
    {"question": "How many are there?", "answer": "one", "negatives": ["two"]},
]
GOOD = json.dumps({"questions": SETS})


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path) -> Path:
    made = tmp_path / "images"
    made.mkdir()
    for shade, name in SHADES.items():
        PILImage.fromarray(np.full((8, 8, 3), shade, np.uint8)).save(made / f"{name}.png")
    return made


def image_of(asked: Asked) -> str:
    assert asked.image is not None
    return SHADES[int(np.asarray(PILImage.open(io.BytesIO(asked.image)))[0, 0, 0])]


def stage_of(asked: Asked) -> str:
    """Return what a request is for."""
    if asked.prompt.startswith("You examine"):
        return "questions" if "Your own description" in asked.prompt else "harder"
    if asked.prompt.startswith("Describe"):
        return "description"
    return "choice" if "\nA. " in asked.prompt else "open"


def calm(asked: Asked):
    """Answer as models do; the targets always choose the first option."""
    stage = stage_of(asked)
    if stage in ("questions", "harder"):
        text = GOOD if stage == "questions" else GOOD.replace("it?", "the thing?")
        return answer(text)
    return answer({"description": "a gray square", "open": "gray", "choice": "A"}[stage])


def troubled(asked: Asked):
    """Give each image its own trouble at the strong model, and each choice one at the targets."""
    stage = stage_of(asked)
    if stage in ("questions", "harder"):
        return _asking(asked)
    if stage == "choice" and asked.body["model"] == "one":
        return _choosing(asked)
    return first([error(429, retry_after="0.01"), error(500), MALFORMED, DROPPED], calm)(asked)


def _asking(asked: Asked):
    good = calm(asked)
    again = "Your last reply" in asked.prompt
    match image_of(asked):
        case "a":  # prose, then JSON in a fence
            return answer(f"Sure!\n```json\n{GOOD}\n```") if again else answer("I see a square.")
        case "b":  # cut off in the second question
            return answer(GOOD[: GOOD.index("How many")], finish="length")
        case "c":  # always refused
            return answer("I can't help with that", finish="content_filter")
        case "d":  # always without a word
            return EMPTY
        case _:
            return good


def _choosing(asked: Asked):
    texts = {"a": "B", "b": "A or B", "c": "", "e": "Neither of them is right."}
    reply = answer(texts.get(image_of(asked), "A"), delay=0.05)
    return first([error(500)], lambda _: reply)(asked)


@pytest.fixture
def server():
    with ApiServer(calm) as server:
        yield server


def settings(server: ApiServer, folder: Path) -> dict:
    options = {"backoff": 0.001, "retries": 4, "timeout": 20.0, "structured": "json_schema"}

    def model(name: str) -> dict:
        return {"model": f"api:{server.url}#{name}", "options": options, "batch_size": 3}

    return fields_of(
        {"source": "folder", "images": str(folder)},
        {"strong": model("strong"), "targets": [model("one"), model("two")]},
        questions=2,
        negatives=2,
    )


def rows(built: dict[str, Artifact], name: str) -> list[dict]:
    return built[name].read().to_pylist()


def test_a_calm_conversation(server, folder, tmp_path):
    built = build(context_of(settings(server, folder), tmp_path / "store"))
    stages = Counter(stage_of(asked) for asked in server.asked)
    samples = IMAGES * 3
    assert stages == {
        "description": IMAGES * 3,
        "questions": IMAGES,
        "harder": IMAGES,
        "open": IMAGES * 2 * 2,
        "choice": 2 * 2 * 2 * samples - 2 * 2 * IMAGES,  # "How many" of both rounds is one request
    }
    asked = [one.body for one in server.asked if stage_of(one) == "questions"]
    assert all(body["response_format"]["type"] == "json_schema" for body in asked)
    for name in ("conme_first_round", "conme_second_round"):
        assert len(rows(built, name)) == samples
        # Always the first option: right in one of both orders, so that all is kept.
        assert all(row["kept"] and row["places"] == [[0, 0]] * 2 for row in rows(built, name))
    usage = built["conme_questions"].summary["usage"]
    assert (usage["answers"], usage["input_tokens"], usage["output_tokens"]) == (IMAGES, 50, 10)
    both = built["conme_first_round"].summary["usage"]
    assert set(both) == set(built["conme_first_round"].settings["targets"])
    assert all(one["answers"] == 2 * samples for one in both.values())


def test_every_trouble_ends_in_a_row(server, folder, tmp_path):
    server.script = troubled
    context = context_of(settings(server, folder), tmp_path / "store")
    built = build(context)
    found = {row["image_id"][0]: row for row in rows(built, "conme_questions")}
    assert len(found) == IMAGES
    status = {name: (r["status"], r["reason"], r["attempts"]) for name, r in found.items()}
    assert status == {
        "a": ("asked", "", 2),
        "b": ("asked", "", 1),
        "c": ("rejected", "refused", 3),
        "d": ("rejected", "empty reply", 3),
        "e": ("asked", "", 1),
    }
    assert found["a"]["replies"] == ["I see a square.", f"Sure!\n```json\n{GOOD}\n```"]
    assert (found["a"]["mended"], json.loads(found["a"]["faults"])) == ("fence", {"no JSON": 1})
    assert (found["b"]["mended"], found["b"]["finished"]) == ("cut off", [False])
    assert json.loads(found["b"]["sets"]) == SETS[:1]
    kept = json.loads(found["c"]["raws"][0])["answers"][0]
    assert kept["text"] == "I can't help with that"
    summary = built["conme_questions"].summary
    assert summary["rejected"] == {"empty reply": 1, "refused": 1}
    assert (summary["asked_again"], summary["questions"]) == (5, 2 + 1 + 2)

    harder = {row["image_id"][0]: row for row in rows(built, "conme_harder_questions")}
    reasons = {name: row["reason"] for name, row in harder.items() if row["reason"]}
    assert reasons == dict.fromkeys("cd", "no questions in the first round")

    first_round = rows(built, "conme_first_round")
    assert Counter(row["image_id"][0] for row in first_round) == {"a": 3, "b": 2, "e": 3}
    places = {row["image_id"][0]: row["places"][0] for row in first_round}
    assert places == {"a": [1, 1], "b": [None, None], "e": [None, None]}
    texts = {row["image_id"][0]: row["texts"][0] for row in first_round}
    assert texts["b"] == ["A or B"] * 2
    assert texts["e"] == ["Neither of them is right."] * 2
    assert built["conme_first_round"].summary["unreadable"] == dict(
        zip(built["conme_first_round"].settings["targets"], (10, 0), strict=True)
    )

    # Nothing is asked again: neither by another run, nor by one that begins with an empty store.
    count = server.count
    assert build(context)["conme_second_round"].digest == built["conme_second_round"].digest
    again = build(context_of(settings(server, folder), tmp_path / "other"))
    assert server.count == count
    assert {k: a.digest for k, a in again.items()} == {k: a.digest for k, a in built.items()}


def test_a_server_that_is_gone_ends_the_stage_and_keeps_what_was_answered(server, folder, tmp_path):
    def script(asked: Asked):
        gone = stage_of(asked) == "choice" and image_of(asked) == "c"
        return error(503) if gone and asked.body["model"] == "two" else calm(asked)

    server.script = script
    context = context_of(settings(server, folder), tmp_path / "store")
    with pytest.raises(UserError, match=r"#two gave no answer for 6 of"):
        build(context)
    before = Counter((a.body["model"], a.prompt, a.image) for a in server.asked)
    assert max(before.values()) == 5  # the tries of one request: no more
    server.script = calm
    count = server.count
    build(context)
    asked = server.asked[count:]
    assert not any(stage_of(one) in ("description", "questions") for one in asked)
    repeated = [a for a in asked if (a.body["model"], a.prompt, a.image) in before]
    assert len(repeated) == 6
    assert all(image_of(one) == "c" for one in repeated)


SCRIPT = """
import sys, yaml
from conme_driver import build, context_of
build(context_of(yaml.safe_load(sys.argv[1]), sys.argv[2]))
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(server, folder, tmp_path, cache):

    def slow(asked: Asked):
        reply = calm(asked)
        return answer(json.loads(reply.body)["choices"][0]["message"]["content"], delay=0.1)

    server.script = slow
    fields = settings(server, folder)
    paths = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parent.parent)])
    run = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, yaml.safe_dump(fields), str(tmp_path / "store")],
        env=os.environ | {"PYTHONPATH": paths, "BINDBENCH_CACHE": str(cache)},
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not any(stage_of(asked) == "choice" for asked in server.asked[:-10]):
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    time.sleep(0.5)  # what was under way arrives at the server
    killed, server.script = server.count, calm
    build(context_of(fields, tmp_path / "store"))
    keys = Counter((a.body["model"], a.prompt, a.image) for a in server.asked)
    repeated = sum(count - 1 for count in keys.values())
    assert killed > 10
    assert repeated <= 8  # those that were under way: their answers were never read
