"""Two models side by side: against wins counted one item at a time."""

import json

import numpy as np
import pytest
from spine_driver import build_all
from stand_ins import cheap_context

from bindbench.analysis.resampling import holm, mcnemar
from bindbench.candidates import candidate_texts
from bindbench.cli.main import app
from bindbench.errors import UserError
from bindbench.pipeline.comparing import Side, Wanted, compare_models
from bindbench.pipeline.flipped import cards
from bindbench.pipeline.negatives import template_of
from bindbench.pipeline.validated import concept_of
from bindbench.reporting.marks import plain
from bindbench.semantics import FALSE

KEYS = ("color-n2", "position-n2")
RANDOM, CONSTANT, ORACLE = "check:random", "check:constant", "check:oracle"


@pytest.fixture(scope="module")
def contexts(tmp_path_factory):
    """Two suites with the same concepts; the second holds more of them."""
    root, made = tmp_path_factory.mktemp("store"), []
    for name, concepts in (("few", 12), ("more", 20)):
        with cheap_context(root, name=name, benchmarks=KEYS, concepts=concepts) as context:
            build_all(context)
            made.append(context)
    return made


def wins(context, key, model, track):
    """What became of each item among the false captions: (concept, replicate) -> won."""
    scores = {
        (row["index"], row["track"]): row["scores"]
        for row in context.current("model_scores", f"{key}--{model.replace(':', '-')}")
        .read()
        .to_pylist()
    }
    found = {}
    for row in context.current("negatives", key).read().to_pylist():
        if row["track"] == track:
            values = scores[row["index"], track]
            false = np.frombuffer(row["semantics"], np.int8) == FALSE
            rivals = [v for v, f in zip(values, false, strict=True) if f]
            if rivals:
                found[row["concept_id"]] = all(values[0] > v for v in rivals)
    return found


def test_rows_are_those_of_wins_counted_one_by_one(contexts):
    context = contexts[1]
    found = compare_models(Side.of(context, RANDOM), Side.of(context, ORACLE), Wanted())
    strict = [r for r in found.rows if (r["family"], r["semantics"]) == ("confusion", "strict")]
    assert len(strict) == len(KEYS) * 2
    for row in strict:
        where = row["benchmark"], RANDOM, row["track"]
        one, two = wins(context, *where), wins(context, where[0], ORACLE, row["track"])
        first, second = (np.array([side[c] for c in one]) for side in (one, two))
        assert row["n_items"] == len(one)
        assert (row["first"], row["second"]) == (first.mean(), second.mean())
        assert row["only_first"] == np.sum(first & ~second)
        assert row["only_second"] == np.sum(second & ~first)
        assert row["low"] <= row["difference"] <= row["high"]
        assert row["wide_low"] <= row["low"] <= row["high"] <= row["wide_high"]
        own = [f for f in found.flips if (f.benchmark, f.track) == (row["benchmark"], row["track"])]
        own = [f for f in own if (f.family, f.semantics) == ("confusion", "strict")]
        assert len(own) == row["only_first"] + row["only_second"]
        assert sum(flip.second_wins for flip in own) == row["only_second"]


def test_p_values_are_corrected_over_the_rows_of_one_semantics(contexts):
    sides = Side.of(contexts[1], RANDOM), Side.of(contexts[1], ORACLE)
    found = compare_models(*sides, Wanted(semantics=("strict",), families=("confusion",)))
    plain_p = []
    for row in found.rows:
        one = wins(contexts[1], row["benchmark"], RANDOM, row["track"])
        two = wins(contexts[1], row["benchmark"], ORACLE, row["track"])
        plain_p.append(mcnemar(*(np.array([side[c] for c in one]) for side in (one, two))))
    assert [row["p_value"] for row in found.rows] == pytest.approx(holm(plain_p))


def test_a_flip_says_what_each_side_prefers(contexts):
    context = contexts[1]
    sides = Side.of(context, RANDOM), Side.of(context, ORACLE)
    found = compare_models(*sides, Wanted(families=("confusion",), semantics=("strict",)))
    by_place = {}
    for key in KEYS:
        scores = context.current("model_scores", f"{key}--check-random").read().to_pylist()
        rows = context.current("negatives", key).read().to_pylist()
        by_place |= {(key, r["track"], r["index"]): [r] for r in rows}
        for row in scores:
            by_place[key, row["track"], row["index"]].append(row["scores"])
    assert found.flips
    shown = {
        (card.benchmark, card.track, one.flip.index): (card, one)
        for card in cards(*sides, found.flips, 1000)
        for one in card.flips
    }
    for flip in found.flips:
        row, values = by_place[flip.benchmark, flip.track, flip.index[0]]
        false = np.flatnonzero(np.frombuffer(row["semantics"], np.int8) == FALSE)
        best = max(false, key=lambda k: values[k])
        assert flip.margins[0] == pytest.approx(values[0] - values[best])
        assert flip.chosen[0] == (0 if values[0] > values[best] else best)
        assert flip.chosen[1] == 0  # the oracle knows
        card, one = shown[flip.benchmark, flip.track, flip.index]
        texts = candidate_texts(template_of(row), concept_of(flip.benchmark, row), context.lexicon)
        assert card.right == row["caption"] == plain(one.chosen[1])
        assert plain(one.chosen[0]) == texts[flip.chosen[0]]


def test_two_suites_are_compared_on_the_concepts_of_both(contexts):
    few, more = contexts
    found = compare_models(Side.of(few, RANDOM), Side.of(more, RANDOM), Wanted())
    strict = [r for r in found.rows if (r["family"], r["semantics"]) == ("confusion", "strict")]
    for row in strict:
        one, two = (wins(c, row["benchmark"], RANDOM, row["track"]) for c in contexts)
        common = one.keys() & two.keys()
        assert len(one) < len(two)
        assert row["n_items"] == len(common)
        assert row["first"] == pytest.approx(np.mean([one[c] for c in common]))
        assert row["second"] == pytest.approx(np.mean([two[c] for c in common]))


def test_ties_flip_nothing(contexts):
    sides = Side.of(contexts[1], CONSTANT), Side.of(contexts[1], ORACLE)
    found = compare_models(*sides, Wanted(benchmarks=KEYS[:1]))
    assert {row["benchmark"] for row in found.rows} == {KEYS[0]}
    assert all(row["only_first"] == 0 for row in found.rows)  # all ties are losses


def test_what_can_not_be_compared_is_said(contexts):
    context = contexts[0]
    side = Side.of(context, RANDOM)
    with pytest.raises(UserError, match="compared with itself"):
        compare_models(side, Side.of(context, RANDOM), Wanted())
    with pytest.raises(UserError, match="check:random"):
        Side.of(context, "check:randm")
    with pytest.raises(UserError, match="no items in common"):
        compare_models(side, Side.of(context, ORACLE), Wanted(benchmarks=("color-n3",)))


def suite_file(context, folder):
    """A suite file in which the command finds the context's models."""
    path = folder / f"{context.suite.name}.yaml"
    scorers = [{"model": settings.model} for settings in context.suite.profile.scorers]
    fields = {"name": context.suite.name, "benchmarks": KEYS, "concepts": 12}
    path.write_text(json.dumps(fields | {"overrides": {"scorers": scorers}}))
    return str(path)


def test_the_command_writes_a_page_of_its_own(contexts, tmp_path):
    from typer.testing import CliRunner

    context, page = contexts[0], tmp_path / "page.html"
    where = ["--suite", suite_file(context, tmp_path), "--store", str(context.store.root)]
    asked = ["compare", RANDOM, ORACLE, *where, "--out", str(page)]
    ran = CliRunner().invoke(app, [*asked, "--json"], catch_exceptions=False)
    found = json.loads(ran.stdout)
    html = page.read_text()
    assert html.count("<article") == len(
        {(f["benchmark"], f["track"], f["index"][0]) for f in found["flips"]}
    )
    assert "http://" not in html.replace("http://www.w3.org", "")
    assert CliRunner().invoke(app, asked, catch_exceptions=False).exit_code == 0
    wrong = CliRunner().invoke(app, [*asked, "--track", "minimum"])
    assert isinstance(wrong.exception, UserError)
