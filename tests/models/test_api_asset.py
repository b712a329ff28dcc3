"""API models through the asset model_scores and the leaderboard."""

import hashlib
import io
import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from api_server import ApiServer, Asked, Reply, always, answer, completion, error
from PIL import Image

from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.pipeline import (
    captions,
    concept_set,
    images,
    leaderboard,
    model_scores,
    negatives,
    paired_set,
    validated,
    vocabularies,
)
from bindbench.pipeline.base import Context
from bindbench.semantics import FALSE
from bindbench.storage.store import Artifact, Store
from bindbench.suite import RoleSettings, resolve_suite

# 16 candidates, 15 or fewer of them offered; 108 candidates, more than there are letters.
KEYS = ("color-n2", "position-n3")
SINGLE = "color-n1"  # other colors, and more other objects than there are letters
FAST = {"backoff": 0.001, "retries": 2, "timeout": 30.0}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Context:
    """Everything before the scores."""
    fields = {
        "name": "small",
        "benchmarks": (*KEYS, SINGLE),
        "concepts": 6,
        "counterparts": True,
        "overrides": {
            "shard_size": 3,
            "survival": {"captions": {"low": 0.0}, "presence": {"low": 0.0}},
            "generator": {"options": {"samples": 4, "faults": {}}},
        },
    }
    suite = resolve_suite(fields, "small.yaml")
    context = Context(suite, Store(tmp_path_factory.mktemp("store"), suite.name), LocalEngine(1))
    vocabularies.build(context)
    built_keys = suite.benchmarks
    for key in built_keys:
        for stage in (concept_set, captions, images, validated, paired_set, negatives):
            stage.build(context, key)
    return context


@pytest.fixture(scope="module")
def captions_of(built) -> dict[str, str]:
    """The right caption of each image."""
    found: dict[str, str] = {}
    for key in built.suite.benchmarks:
        right = {at(r): r["caption"] for r in rows_of(built, negatives.NAME, key)}
        for row in rows_of(built, images.NAME, key):
            if at(row) in right:
                pixels = images.decode_png(row["image"]["bytes"])
                found[hashlib.sha256(pixels.tobytes()).hexdigest()] = right[at(row)]
    return found


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server():
    with ApiServer(always(answer("A"))) as server:
        yield server


def at(row) -> tuple[int, str]:
    return row["index"], row["track"]


def rows_of(context: Context, asset: str, key: str) -> list[dict]:
    return context.current(asset, key).read().to_pylist()


def context_of(built: Context, server: ApiServer, label: str, options: dict) -> Context:
    model = server.name + (f"@{label}" if label else "")
    settings = RoleSettings(model=model, options=FAST | options, batch_size=2)
    profile = built.suite.profile.model_copy(update={"scorers": (settings,)})
    return replace(built, suite=built.suite.model_copy(update={"profile": profile}))


def score(
    built: Context, server: ApiServer, keys=KEYS, label: str = "", **options
) -> dict[str, Artifact]:
    context = context_of(built, server, label, options)
    (settings,) = context.suite.profile.scorers
    return {key: model_scores.build(context, key, settings) for key in keys}


def measured(built: Context, server: ApiServer, keys=KEYS, **options) -> list[dict]:
    """The leaderboard's accuracies of all accepted items."""
    score(built, server, keys, **options)
    rows = leaderboard.build(context_of(built, server, "", options)).read().to_pylist()
    return [row for row in rows if row["set"] == "all" and row["n_items"]]


def false_counts(built: Context, key: str, track: str, swaps: bool) -> list[int]:
    """How many false candidates, or false swaps, each item has."""
    axis, n = ("attribute", 2) if key == "color-n2" else ("relation", 3)
    from bindbench.candidates import candidate_space

    counted = candidate_space(axis, n).swap if swaps else True
    return [
        int(((np.frombuffer(row["semantics"], np.int8) == FALSE) & counted).sum())
        for row in rows_of(built, negatives.NAME, key)
        if row["track"] == track
    ]


# Models


def caption_of(asked: Asked, captions_of) -> str:
    """The right caption of the image that a request holds."""
    pixels = np.array(Image.open(io.BytesIO(asked.image)).convert("RGB"))
    return captions_of[hashlib.sha256(pixels.tobytes()).hexdigest()]


def knowing(captions_of):
    """A model that sees the caption in the picture."""

    def right(asked: Asked) -> str:
        return caption_of(asked, captions_of)

    def script(asked: Asked) -> Reply:
        if "prompt_logprobs" in asked.body:
            words = asked.body["messages"][1]["content"].split()
            better = asked.image is not None and asked.body["messages"][1]["content"] == right(
                asked
            )
            p = -1.0 if better else -2.0
            own = [{"5": {"logprob": p, "rank": 2, "decoded_token": word}} for word in words]
            return completion({"message": {"content": "x"}}, prompt_logprobs=[None, *own])
        if "Caption: " in asked.prompt:
            p = 0.9 if f"Caption: {right(asked)}\n" in asked.prompt else 0.2
            top = [{"token": t, "logprob": math.log(q)} for t, q in (("yes", p), ("no", 1 - p))]
            return answer("yes", logprobs={"content": [{"token": "yes", "top_logprobs": top}]})
        (label,) = [label for label, text in asked.options.items() if text == right(asked)]
        return answer(label)

    return script


@pytest.mark.parametrize(
    "keys, options",
    [
        ((*KEYS, SINGLE), {"mode": "choice"}),
        (KEYS, {"mode": "choice", "rotations": 1}),
        (KEYS[:1], {"mode": "yesno"}),
        (KEYS[:1], {"mode": "logprobs"}),
    ],
)
def test_a_model_that_knows_is_always_right(built, captions_of, server, keys, options):
    server.script = knowing(captions_of)
    rows = measured(built, server, keys, **options)
    several = {"swap", "confusion", "confusion_no_count"}
    several |= {f"winoground_{name}" for name in ("text", "image", "group")}
    families = dict.fromkeys(KEYS, several) | {SINGLE: {"vary_color", "vary_object"}}
    strict = [row for row in rows if row["semantics"] == "strict" and row["readout"] == "score"]
    pairs = {(row["benchmark"], row["family"]) for row in strict if row["set"] == "all"}
    assert pairs == {(key, family) for key in keys for family in families[key]}
    assert {row["accuracy"] for row in strict} == {1}
    strict = [row for row in strict if row["credit"] is not None]
    assert {(row["accuracy"], row["credit"], row["tie_rate"]) for row in strict} == {(1, 1, 0)}


def test_chance_is_that_of_what_was_offered(built, captions_of, server):
    server.script = knowing(captions_of)
    for row in measured(built, server, rotations=1):
        swaps = row["family"] == "swap"
        false = false_counts(built, row["benchmark"], row["track"], swaps)
        if row["family"] == "confusion":
            # 49 of the 91 to 104 false captions of position-n3 are offered, all of color-n2.
            offered = [49] * len(false) if row["benchmark"] == "position-n3" else false
        elif swaps:
            offered = [count for count in false if count]
        else:
            continue
        expected = np.mean([1 / (1 + count) for count in offered])
        assert row["chance"] == pytest.approx(expected, abs=1e-12), row
        assert row["n_items"] == len(offered)


def test_one_that_always_says_a_gets_chance_and_no_accuracy(built, server):
    """In all rotations each option is chosen once: everything ties, and credit is chance."""
    server.script = lambda asked: answer("A" if "A" in asked.options else "1")
    asked = ("swap", "confusion", "vary_color", "vary_object")
    rows = measured(built, server, (*KEYS, SINGLE), rotations=50)
    rows = [row for row in rows if row["family"] in asked]
    assert {row["family"] for row in rows} == {*asked}
    for row in rows:
        assert (row["accuracy"], row["tie_rate"]) == (0, 1)
        assert row["credit"] == pytest.approx(row["chance"], abs=1e-12)
    chances = {(row["benchmark"], row["family"]): row["chance"] for row in rows}
    assert chances["color-n2", "swap"] == 1 / 2  # one swap
    assert chances["position-n3", "confusion"] == pytest.approx(1 / 50, abs=1e-12)
    assert chances["color-n1", "vary_object"] == pytest.approx(1 / 50, abs=1e-12)


def test_swap_is_measured_by_its_own_question(built, captions_of, server):
    """Right among two captions, never among all of them."""
    know = knowing(captions_of)

    def script(asked: Asked) -> Reply:
        right = json.loads(know(asked).body)["choices"][0]["message"]["content"]
        wrong = next(label for label in asked.options if label != right)
        return answer(right if len(asked.options) == 2 else wrong)

    server.script = script
    rows = measured(built, server, KEYS[:1])
    found = {row["family"]: (row["accuracy"], row["credit"]) for row in rows}
    assert found["swap"] == (1, 1)
    assert found["confusion"] == (0, 0)
    assert found["winoground_group"][0] == 1  # the counterpart's caption is a swap


def test_in_one_order_it_is_right_where_the_positive_stood_first(built, captions_of, server):
    server.script = lambda asked: answer("A" if "A" in asked.options else "1")
    rows = measured(built, server, rotations=1)
    right = Counter()
    for asked in server.asked:
        caption = caption_of(asked, captions_of)
        family = "swap" if len(asked.options) < 10 else "confusion"
        right[family] += next(iter(asked.options.values())) == caption
    for family in ("swap", "confusion"):
        wins = sum(
            row["accuracy"] * row["n_items"]
            for row in rows
            if row["family"] == family and row["semantics"] == "strict"
        )
        assert wins == pytest.approx(right[family], abs=1e-9)


def test_log_probabilities_have_all_readouts(built, captions_of, server):
    server.script = knowing(captions_of)
    (artifact,) = score(built, server, KEYS[:1], mode="logprobs", dtype="float32").values()
    rows = artifact.read().to_pylist()
    assert {"tokens", "image_free", "mean", "subtracted"} <= set(artifact.summary["columns"])
    for row, item in zip(rows, rows_of(built, negatives.NAME, KEYS[0]), strict=True):
        words = len(item["caption"].split())
        assert row["tokens"][0] == words
        assert row["scores"][0] == -words
        assert row["image_free"][0] == -2 * words
        assert row["mean"][0] == -1
        assert row["subtracted"][0] == words
        assert row["asked"] is None
        assert row["dtype"] == "float32"


def test_what_answers_took_is_in_the_summary(built, captions_of, server):
    server.script = knowing(captions_of)
    prices = {"input_price": 2.0, "output_price": 50.0}
    (artifact,) = score(built, server, KEYS[:1], rotations=1, **prices).values()
    asked = server.count
    assert artifact.summary["usage"] == {
        "answers": asked,
        "input_tokens": 10 * asked,
        "output_tokens": 2 * asked,
        "unmeasured": 0,
        "unreadable": 0,
        "unreadable_items": [],
        "served": ["stand-in-2026"],
        "cost": pytest.approx(asked * 120e-6, abs=1e-12),
    }


def test_unreadable_answers_are_listed(built, captions_of, server):
    know, bad = knowing(captions_of), next(iter(captions_of.values()))
    server.script = lambda asked: answer("Hard to say.") if bad in asked.prompt else know(asked)
    (artifact,) = score(built, server, KEYS[:1], rotations=1, asks=2).values()
    rows = {
        f"{row['concept_id']}/{row['track']}": row["raw"] for row in artifact.read().to_pylist()
    }
    unreadable = [key for key, raw in rows.items() if "Hard to say." in raw]
    usage = artifact.summary["usage"]
    assert unreadable
    assert usage["unreadable_items"] == unreadable
    assert usage["unreadable"] == sum(json.loads(rows[key])["unreadable"] for key in unreadable)


def test_a_failed_run_goes_on_where_it_stopped_and_ends_as_an_undisturbed_one(
    built, captions_of, server, tmp_path
):
    know, key = knowing(captions_of), KEYS[0]
    server.script = know
    undisturbed = score(built, server, [key])[key].digest
    asked = server.count
    items = rows_of(built, negatives.NAME, key)
    bad = [items[0]["caption"], items[-1]["caption"]]  # in two shards

    def is_lost(request: Asked) -> bool:
        return caption_of(request, captions_of) in bad

    lost = sum(map(is_lost, server.asked))
    server.script = lambda request: (
        error(500, "out of order") if is_lost(request) else know(request)
    )
    with pytest.raises(UserError) as caught:
        score(built, server, [key], "another")
    text = str(caught.value)
    assert "2 of 2 shards failed" in text
    assert f"({items[0]['concept_id']}/{items[0]['track']}" in text
    assert "the server answered 500: out of order, after 3 tries" in text
    answered = answers(tmp_path) - asked
    server.script, before = know, server.count
    assert score(built, server, [key], "another")[key].digest == undisturbed
    # The batches after those that failed were asked as well.
    assert answered == asked - lost
    assert server.count - before == lost > 0


def answers(folder) -> int:
    return sum(len(path.read_bytes().splitlines()) for path in folder.rglob("*.jsonl"))


def test_a_dead_server_fails_each_shard_in_one_sentence(built, server):
    server.script = always(error(503, "down"))
    with pytest.raises(UserError, match=r"2 of 2 shards failed .* gave no answer for \d+ of"):
        score(built, server, KEYS[:1], retries=0, concurrency=1, question="Which one is it?")
    assert server.count <= 8 + 1  # given up in the first shard, and tried once in the second


@pytest.mark.slow
def test_two_workers_give_the_bytes_of_one(built, captions_of, server):
    server.script = knowing(captions_of)
    alone = score(built, server, KEYS[:1])[KEYS[0]]
    asked = server.count
    engine = LocalEngine(2)
    try:
        both = score(replace(built, engine=engine), server, KEYS[:1], "two")[KEYS[0]]
    finally:
        engine.close()
    assert both.digest == alone.digest
    assert both.summary == alone.summary
    assert server.count == 2 * asked
