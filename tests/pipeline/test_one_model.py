"""One model on built benchmarks: the artifacts and numbers are those of the assets."""

import json
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import Field
from small_store import KEY, UNBUILT, SmallStore, small_store

from bindbench.errors import UserError
from bindbench.models.base import Scores
from bindbench.models.families import FAMILIES
from bindbench.models.family import Family
from bindbench.pipeline import leaderboard, model_scores, one_model, prompt_check
from bindbench.pipeline.one_model import Changes, settings_of
from bindbench.pipeline.spine import IdleEngine, Outdated
from bindbench.scoring.prompts import PROMPTS
from bindbench.suite import RoleSettings, Strict

RANDOM = "check:random"


class WordOptions(Strict):
    """Options of the stand-in."""

    weight: float = 1.0
    prompt: str = Field("plain", description="before the caption")


class WordScorer:
    """Log-likelihoods by hand: each caption's is minus the sum of its words' hashed weights."""

    dtype = "float64"

    def __init__(self, options: WordOptions) -> None:
        self.options = options
        self.method = options.prompt

    def score(self, requests) -> list[Scores]:
        return [self._score(request.texts) for request in requests]

    def _score(self, texts) -> Scores:
        words = [text.split() for text in texts]
        values = [
            -sum(hash_of(f"{self.options.prompt} {w} {i}") for i, w in enumerate(s)) for s in words
        ]
        tokens = np.array([len(s) for s in words], np.int32)
        return Scores(self.options.weight * np.array(values), tokens)


def hash_of(text: str) -> float:
    return zlib.crc32(text.encode()) / 2**32


@pytest.fixture
def words(monkeypatch):
    """A family of generative models that has a prompt."""
    family = Family("scorer", "words", ("any",), WordOptions, lambda n, o, lexicon: WordScorer(o))
    monkeypatch.setitem(FAMILIES, ("scorer", "words"), family)


@pytest.fixture
def store(tmp_path) -> SmallStore:
    return small_store(tmp_path)


def idle(context):
    """A context that refuses to compute."""
    return replace(context, engine=IdleEngine())


def test_a_models_settings_are_the_suites_own_with_the_changes(store, words):
    suite = store.suite
    assert settings_of(suite, "check:oracle", Changes({})).batch_size == 5
    assert settings_of(suite, "check:oracle", Changes({}, 2)).batch_size == 2
    assert settings_of(suite, "check:constant", Changes({})).batch_size == 16
    assert settings_of(suite, "words:any", Changes({"weight": 2.0})).options == {"weight": 2.0}
    with pytest.raises(UserError, match="did you mean weight"):
        settings_of(suite, "words:any", Changes({"wheight": 2}))
    with pytest.raises(UserError, match="batch_size is 0"):
        settings_of(suite, "check:oracle", Changes({}, 0))


def test_what_is_built(store):
    context = store.context()
    assert one_model.built(context, [KEY, UNBUILT]) == [KEY]
    error = one_model.not_built(context, [UNBUILT])
    assert str(error) == (
        f"position-n2 of suite small is not built in the store {store.root}: "
        "run 'bindbench run --suite small' first."
    )


def test_the_artifact_is_that_of_the_asset(store):
    context = store.context()
    settings = settings_of(context.suite, RANDOM, Changes({}))
    ours = one_model.score(context, KEY, settings)
    theirs = model_scores.build_named(idle(context), KEY, "check-random")  # computes nothing
    assert ours == theirs
    assert one_model.score(idle(context), KEY, settings) == ours
    other = one_model.settings_of(context.suite, "check:oracle", Changes({}))
    with pytest.raises(Outdated):
        one_model.score(idle(context), KEY, other)


def test_the_numbers_are_those_of_the_leaderboard(store):
    context = store.context()
    for slug in ("check-random", "check-oracle"):
        model_scores.build_named(context, KEY, slug)
    board = leaderboard.build(context).read().to_pylist()
    for model in (RANDOM, "check:oracle"):
        settings = settings_of(context.suite, model, Changes({}))
        rows = one_model.rows_of(context, settings, {KEY: one_model.score(context, KEY, settings)})
        expected = [row for row in board if row["model"] == model]
        assert len(rows) == len(expected) > 20
        for ours, theirs in zip(rows, expected, strict=True):
            assert ours | {"p_value": None} == theirs | {"p_value": None}


def test_a_foreign_models_numbers_are_those_of_a_suite_that_lists_it(store, words):
    context = store.context()
    settings = settings_of(context.suite, "words:any", Changes({"weight": 3.0}))
    scores = one_model.score(context, KEY, settings)
    rows = one_model.rows_of(context, settings, {KEY: scores})
    listing = context.suite.profile.model_copy(update={"scorers": (settings,)})
    asset = store.context(context.suite.model_copy(update={"profile": listing}))
    assert model_scores.build_named(idle(asset), KEY, "words-any") == scores
    board = leaderboard.build(asset).read().to_pylist()
    assert [r | {"p_value": 0} for r in rows] == [r | {"p_value": 0} for r in board]
    assert {row["readout"] for row in rows} >= {"score", "mean"}


def board_of(context) -> str:
    return leaderboard.build(context).digest


def test_the_suites_board_stays_as_it_is(store, words):
    context = store.context()
    model_scores.build_named(context, KEY, "check-random")
    before = board_of(context)
    own = context.store.current("model_scores", f"{KEY}--check-random")
    # The suite's own model with other settings: kept beside.
    other = settings_of(context.suite, RANDOM, Changes({}, batch_size=3))
    beside = one_model.score(context, KEY, other)
    assert beside.partition == own.partition
    assert beside.fingerprint != own.fingerprint
    assert context.store.current("model_scores", own.partition) == own
    # A model that the suite does not list: in a partition of its own.
    foreign = settings_of(context.suite, "words:any", Changes({}))
    made = one_model.score(context, KEY, foreign)
    assert context.store.current("model_scores", made.partition) == made
    assert board_of(context) == before


def test_a_name_with_the_partition_of_another_does_not_replace_it(store, monkeypatch):
    # Both names have the slug check-random; the second is a file of that name, say.
    family = FAMILIES["scorer", "check"]
    options = vars(family) | {"models": (), "load": lambda n, o, lexicon: WordScorer(WordOptions())}
    monkeypatch.setitem(FAMILIES, ("scorer", "check"), Family(**options))
    context = store.context()
    own = model_scores.build_named(context, KEY, "check-random")
    other = settings_of(context.suite, "check:/random", Changes({}))
    assert other.model == "check:/random"
    made = one_model.score(context, KEY, other)
    assert made.partition == own.partition
    assert context.store.current("model_scores", own.partition) == own


THREE = {"one": "plain", "two": "Describe the image.", "three": ""}


def test_prompts_by_hand(store, words):
    context = store.context()
    settings = RoleSettings(model="words:any")
    variants = {
        name: settings.model_copy(update={"options": {"prompt": text}})
        for name, text in THREE.items()
    }
    scores = {
        name: {KEY: one_model.score(context, KEY, v, base=settings)} for name, v in variants.items()
    }
    current = context.store.current("model_scores", f"{KEY}--words-any")
    assert current == scores["one"][KEY]  # the variant that is the default
    rows = {n: one_model.rows_of(context, settings, cells) for n, cells in scores.items()}
    found = list(prompt_check.prompt_rows(context, scores, rows))
    assert json.loads(json.dumps(found)) == found
    swap = next(r for r in found if r["family"] == "swap" and r["track"] == "minimal")
    choices = {name: swap_choices(context, cells[KEY]) for name, cells in scores.items()}
    pairs = {tuple(pair["prompts"]): pair["share"] for pair in swap["pairs"]}
    assert set(pairs) == {("one", "two"), ("one", "three"), ("two", "three")}
    for (a, b), share in pairs.items():
        same = [x == y for x, y in zip(choices[a], choices[b], strict=True)]
        assert share == pytest.approx(np.mean(same))
    for name, picked in choices.items():
        right = np.mean([choice == 0 for choice in picked])
        assert swap["accuracy"][name]["accuracy"] == pytest.approx(right)
    assert swap["n_items"] == len(choices["one"])


def swap_choices(context, scores) -> list[int]:
    """Which of the two captions of each minimal item scores higher, read off the rows."""
    negatives = context.current("negatives", KEY).read().to_pylist()
    values = {(r["index"], r["track"]): r["scores"] for r in scores.read().to_pylist()}
    out = []
    for row in negatives:
        if row["track"] == "minimal":
            a, b = row["labels"]
            texts = texts_of(context, row)
            (swap,) = [i for i, t in enumerate(texts) if t == exchanged(texts[0], a, b)]
            own = values[row["index"], "minimal"]
            assert own[0] != own[swap]
            out.append(0 if own[0] > own[swap] else swap)
    return out


def texts_of(context, row):
    from bindbench.candidates import candidate_texts
    from bindbench.pipeline import negatives, validated

    concept = validated.concept_of(KEY, row)
    return candidate_texts(negatives.template_of(row), concept, context.lexicon)


def exchanged(text: str, a: str, b: str) -> str:
    """Exchange two colors, and mend the articles."""
    end = " on a white background."
    words = [{a: b, b: a}.get(word, word) for word in text.removesuffix(end).split()]
    for i, word in enumerate(words[:-1]):
        if word in ("a", "an"):
            words[i] = "an" if words[i + 1][0] in "aeiou" else "a"
    return " ".join(words) + end


def test_the_prompts_of_a_model(words):
    settings = RoleSettings(model="words:any", options={"weight": 2.0}, batch_size=3)
    found = prompt_check.variants(settings)
    assert {name: variant.options for name, variant in found.items()} == {
        name: {"weight": 2.0, "prompt": text} for name, text in PROMPTS.items()
    }
    assert {variant.batch_size for variant in found.values()} == {3}
    with pytest.raises(UserError, match="check:random has no prompt to vary"):
        prompt_check.variants(RoleSettings(model=RANDOM))


def test_an_open_clip_checkpoint(store, tmp_path_factory):
    import sys

    sys.path.append(str(Path(__file__).parent.parent / "models"))
    from nano_folders import tiny_folder

    folder = tiny_folder(tmp_path_factory.mktemp("tiny"), "clip")
    context = store.context()
    settings = settings_of(context.suite, f"open_clip:{folder}", Changes({}, 4))
    scores = one_model.score(context, KEY, settings)
    assert scores.settings["scorer"]["files"]
    assert one_model.score(idle(context), KEY, settings) == scores
    rows = one_model.rows_of(context, settings, {KEY: scores})
    assert {row["model"] for row in rows} == {settings.model}
