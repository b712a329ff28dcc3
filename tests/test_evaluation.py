"""Evaluating a model on a built benchmark, as in a training loop, and the page that shows it."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import bindbench
import bindbench.evaluation
from bindbench.analysis.accuracy import evaluate
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import Scores
from bindbench.models.checks import ConstantScorer, OracleScorer, RandomScorer
from bindbench.pipeline import (
    captions,
    concept_set,
    images,
    model_scores,
    negatives,
    validated,
    vocabularies,
)
from bindbench.pipeline.base import Context
from bindbench.pipeline.leaderboard import MODES
from bindbench.pipeline.scored import scored_set
from bindbench.storage.store import Artifact, Store
from bindbench.suite import resolve_suite
from bindbench.tasks import TRACKS

KEYS = ("color-n2", "color-n1")
PAGE = Path(__file__).parent.parent / "docs" / "evaluate.md"


@pytest.fixture(scope="module")
def context(tmp_path_factory) -> Context:
    fields = {
        "name": "loop",
        "benchmarks": list(KEYS),
        "concepts": 12,
        "overrides": {"shard_size": 4, "generator": {"options": {"samples": 4}}},
    }
    suite = resolve_suite(fields, "loop.yaml")
    store = Store(tmp_path_factory.mktemp("checkout") / "store", suite.name)
    context = Context(suite, store, LocalEngine(1))
    vocabularies.build(context)
    for key in KEYS:
        for stage in (concept_set, captions, images, validated, negatives):
            stage.build(context, key)
    return context


@pytest.fixture(scope="module")
def opened(context) -> bindbench.evaluation.BuiltBenchmark:
    return bindbench.open_benchmark(str(context.store.path), "color-n2")


def rows_of(context, key, track):
    rows = context.current(negatives.NAME, key).read().to_pylist()
    return [row for row in rows if row["track"] == track]


class Recorder:
    """A function that notes what it was asked, and prefers the first text."""

    def __init__(self):
        self.asked = []

    def __call__(self, image, texts):
        self.asked.append((image, texts))
        return [float(i == 0) for i in range(len(texts))]


@pytest.mark.parametrize("key", KEYS)
def test_it_measures_what_the_pipeline_measures(context, key):
    opened = bindbench.open_benchmark(context.store.path, key)
    for name, scorer in (("random", RandomScorer()), ("oracle", OracleScorer())):
        settings = registry.RoleSettings(model=f"check:{name}")
        stored = model_scores.build(context, key, settings)
        result = bindbench.evaluate(scorer, opened, batch_size=3)
        cells = 0
        for track in TRACKS:
            candidates = context.current(negatives.NAME, key)
            found = scored_set(key, track, candidates, stored, context.lexicon)
            for family, subset in found.subsets.items():
                for mode in MODES:
                    wanted = evaluate(found.items, mode, subset)
                    assert result.accuracy(track, family, mode) == wanted
                    cells += 1
        assert len(result.cells) == cells


def test_subsets_are_nested_and_the_first_of_their_track(context, opened):
    small, large = Recorder(), Recorder()
    bindbench.evaluate(small, opened, subset=2)
    bindbench.evaluate(large, opened, subset=5)
    firsts = [[texts[0] for _, texts in r.asked] for r in (small, large)]
    wanted = [row["caption"] for t in TRACKS for row in rows_of(context, "color-n2", t)[:5]]
    assert firsts[1] == wanted
    assert firsts[0] == wanted[:2] + wanted[5:7]
    again = Recorder()
    bindbench.evaluate(again, opened, subset=5)
    assert [texts for _, texts in again.asked] == [texts for _, texts in large.asked]


def test_only_what_is_scored_is_read_and_a_subset_is_read_once(context, monkeypatch):
    read = []
    original = Artifact.read_shard

    def note(self, i, columns=None):
        read.append((self.asset, i))
        return original(self, i, columns)

    monkeypatch.setattr(Artifact, "read_shard", note)
    opened = bindbench.open_benchmark(context.store.path, "color-n2")
    assert {asset for asset, _ in read} == {"vocabulary"}
    read.clear()
    bindbench.evaluate(Recorder(), opened, subset=1)
    shards = len(context.current(negatives.NAME, "color-n2").shards)
    assert {asset for asset, _ in read} == {"negatives", "images"}
    assert max(i for _, i in read) < shards - 1
    read.clear()
    bindbench.evaluate(Recorder(), opened, subset=1)
    assert read == []
    bindbench.evaluate(Recorder(), opened)
    assert {i for _, i in read} == set(range(1, shards))


def test_no_file_is_written(context, opened):
    def files():
        return {p: p.stat().st_mtime_ns for p in Path(str(context.store.path)).rglob("*")}

    before = files()
    bindbench.evaluate(Recorder(), opened)
    assert files() == before


@pytest.mark.parametrize("kind", ["pil", "array"])
def test_a_function_gets_the_stored_picture(context, opened, kind):
    recorder = Recorder()
    bindbench.evaluate(recorder, opened, subset=1, tracks=("minimal",), images=kind)
    ((image, texts),) = recorder.asked
    row = rows_of(context, "color-n2", "minimal")[0]
    stored = next(
        r["image"]["bytes"]
        for r in context.current(images.NAME, "color-n2").read().to_pylist()
        if (r["index"], r["track"]) == (row["index"], "minimal")
    )
    assert isinstance(image, np.ndarray) == (kind == "array")
    assert np.array_equal(np.asarray(image), images.decode_png(stored))
    assert len(texts) == len(set(texts)) == 16


@pytest.mark.parametrize(
    "convert",
    [list, tuple, np.array, torch.tensor, lambda v: torch.tensor(v, dtype=torch.bfloat16),
     lambda v: torch.tensor(v).requires_grad_(), lambda v: [torch.tensor(x) for x in v]],
)  # fmt: skip
def test_any_sequence_of_numbers_will_do(opened, convert):
    def first(image, texts):
        return convert([float(i == 0) for i in range(len(texts))])

    result = bindbench.evaluate(first, opened, subset=3)
    assert set(result.metrics().values()) == {1.0}


def test_closer_scores_than_the_dtype_tells_apart_are_ties(opened):
    def slightly(image, texts):
        return [1.0 + (i == 0) * 1e-4 for i in range(len(texts))]

    assert bindbench.evaluate(slightly, opened, subset=3).accuracy().accuracy == 1
    coarse = bindbench.evaluate(slightly, opened, subset=3, dtype="bfloat16").accuracy()
    assert (coarse.accuracy, coarse.tie_rate) == (0, 1)


def test_a_constant_has_nothing_but_ties_and_chance_is_exact(opened):
    result = bindbench.evaluate(ConstantScorer(), opened)
    for (_, family, mode, _), cell in result.cells.items():
        assert (cell.accuracy, cell.tie_rate, cell.credit) == (0, 1, pytest.approx(cell.chance))
        if (family, mode) == ("confusion", "paper"):
            assert cell.chance == 1 / 16
    assert "minimal confusion paper score" in str(result)
    assert "chance 6.2%" in str(result)


class Remembering:
    """A scorer whose answers grow stale: ``fresh`` is what an evaluation must use."""

    dtype, method = "float32", "stub"

    def fresh(self):
        return ConstantScorer()

    def score(self, requests):
        raise AssertionError("an evaluation must start without memories")


def test_memories_of_older_weights_are_not_used(opened):
    assert bindbench.evaluate(Remembering(), opened, subset=2).accuracy().accuracy == 0


class Likelihood:
    """Says that the positive is likelier only for the image's part of it."""

    dtype, method = "float32", "stub"

    def score(self, requests):
        return [self.one(len(request.texts)) for request in requests]

    def one(self, n):
        blind = -10.0 - np.arange(n)[::-1]  # the positive is the least likely
        values = blind + np.where(np.arange(n) == 0, 2.0, 0.0)
        return Scores(values, np.full(n, 5, np.int32), blind)


def test_every_readout_of_a_likelihood_is_measured(opened):
    result = bindbench.evaluate(Likelihood(), opened, tracks=("minimal",))
    swap = {name: result.accuracy(readout=name).accuracy for name in ("score", "mean", "blind")}
    assert swap == {"score": 0, "mean": 0, "blind": 0}
    assert result.accuracy(readout="subtracted").accuracy == 1
    names = set(result.metrics())
    assert "color-n2/minimal/swap/strict" in names
    assert "color-n2/minimal/swap/strict/subtracted" in names
    assert not any("blind_choice" in name for name in names)  # 16 candidates can be listed


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: bindbench.evaluate(Recorder(), b, subset=0), "subset=0 is no number of items"),
        (lambda b: bindbench.evaluate(7, b), "int is no scorer: give a function"),
        (lambda b: bindbench.evaluate(Recorder(), b, dtype="float8"), "Unknown dtype of scores"),
        (
            lambda b: bindbench.evaluate(lambda image, texts: [0.0], b),
            r"the function <lambda> gave scores of shape \(1,\) instead of one for each of the 16",
        ),
        (
            lambda b: bindbench.evaluate(lambda image, texts: [float("nan")] * 16, b),
            "the function <lambda> gave the score nan in float32 .* for item .*/minimal of color",
        ),
        (
            lambda b: bindbench.evaluate(Recorder(), b, subset=1).accuracy(family="vary_color"),
            "color-n2 has no minimal/vary_color/strict/score in this evaluation: there are min",
        ),
    ],
)
def test_mistakes_are_one_sentence(opened, call, message):
    with pytest.raises(UserError, match=message):
        call(opened)


@pytest.mark.parametrize(
    "returned",
    [None, 1.0, [None] * 16, ["1"] * 16, "a" * 16, [True] * 16, set(range(16)), {"a": 1.0},
     [10**400] * 16, np.zeros(16, complex)],
)  # fmt: skip
def test_what_a_function_returns_must_be_numbers_in_order(opened, returned):
    with pytest.raises(UserError, match=r"the function <lambda> returned .* for item .*: return a"):
        bindbench.evaluate(lambda image, texts: returned, opened, subset=1)


@pytest.mark.parametrize(
    "wrong", [{"images": "tensor"}, {"tracks": ()}, {"tracks": "minimal"}, {"subset": 1.5}]
)
def test_wrong_arguments_are_one_sentence(opened, wrong):
    name = next(iter(wrong))
    with pytest.raises(UserError, match=rf"{name}=.* is "):
        bindbench.evaluate(Recorder(), opened, **wrong)
    with pytest.raises(UserError, match="benchmark='color-n2' is no benchmark"):
        bindbench.evaluate(Recorder(), "color-n2")


def test_what_cannot_be_opened_is_one_sentence(context, tmp_path):
    with pytest.raises(UserError, match=r"negatives of color-n2 is not in .*build it with"):
        bindbench.open_benchmark(tmp_path / "store" / "loop", "color-n2")
    with pytest.raises(UserError, match="color-n4"):
        bindbench.open_benchmark(context.store.path, "color-n4")


def test_words_that_changed_since_the_build_are_noticed(context):
    other = context.suite.profile.vocabularies.model_copy(update={"objects": "objects365"})
    profile = context.suite.profile.model_copy(update={"vocabularies": other})
    suite = context.suite.model_copy(update={"profile": profile})
    try:
        vocabularies.build(Context(suite, context.store, context.engine))
        with pytest.raises(UserError, match="objects365 is not the one that color-n2 was built"):
            bindbench.open_benchmark(context.store.path, "color-n2")
    finally:
        vocabularies.build(context)


class TinyClip(torch.nn.Module):
    """Two towers of a layer each."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.images, self.texts = torch.nn.Linear(12, 8), torch.nn.Embedding(256, 8)

    def encode_image(self, pixels):
        return self.images(pixels.flatten(1))

    def encode_text(self, tokens):
        return self.texts(tokens).mean(1)


def test_the_page_runs_as_it_is_written(context, monkeypatch, capsys):
    monkeypatch.chdir(Path(str(context.store.root)).parent)
    torch.set_num_threads(1)
    names = {
        "model": TinyClip(),
        "preprocess": lambda image: torch.tensor(np.asarray(image.resize((2, 2))) / 255).float(),
        "tokenizer": lambda texts: torch.tensor([list(t.ljust(99)[:99].encode()) for t in texts]),
    }
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)
    shown = capsys.readouterr().out
    assert shown.count("color-n2/minimal/swap/strict") == 3
    assert "chance 50.0%" in shown
    assert shown.count("minimal swap strict score") == 2
