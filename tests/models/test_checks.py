import itertools

import numpy as np
import pytest

from bindbench.analysis.accuracy import design_of, evaluate, outcomes_of, pack
from bindbench.analysis.resampling import chance_test
from bindbench.models.base import Scorer, ScoreRequest
from bindbench.models.checks import ConstantScorer, OracleScorer, RandomScorer
from bindbench.semantics import FALSE, TRUE, UNDECIDED

BLANK = np.zeros((2, 2, 3), np.uint8)
MODES = ("strict", "paper")


def requests(n=300, widths=(4, 16, 108), seed=0):
    """Items of different widths with random truths, as the benchmarks have them."""
    rng = np.random.default_rng(seed)
    made = []
    for index, width in zip(range(n), itertools.cycle(widths)):
        truth = rng.choice([TRUE, FALSE, UNDECIDED], width, p=[0.1, 0.7, 0.2]).astype(np.int8)
        truth[0] = TRUE
        made.append(
            ScoreRequest(f"item-{index}", BLANK, [f"text {k}" for k in range(width)], truth)
        )
    return made


def values(scorer: Scorer, made) -> list[np.ndarray]:
    return [scores.values for scores in scorer.score(made)]


def scored(scorer: Scorer, made):
    names = [[f"o{i % 9}"] for i in range(len(made))]
    design = design_of([request.key for request in made], names, names)
    return pack(values(scorer, made), [request.truth for request in made], scorer.dtype, design)


@pytest.mark.parametrize("mode", MODES)
def test_a_constant_gets_nothing_but_ties(mode):
    result = evaluate(scored(ConstantScorer(), requests()), mode)
    assert result.accuracy == 0
    assert result.tie_rate == 1
    assert result.credit == result.chance


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(5))
def test_random_scores_pass_the_test_of_chance(mode, seed):
    outcomes = outcomes_of(scored(RandomScorer(seed), requests(900, seed=seed)), mode)
    wins, chances = int(outcomes.win.sum()), outcomes.chance[outcomes.included]
    assert chance_test(wins, chances) > 0.001
    assert not outcomes.at_top_tied.any()


def test_the_test_of_chance_finds_a_constant_and_an_oracle():
    for scorer in (ConstantScorer(), OracleScorer()):
        outcomes = outcomes_of(scored(scorer, requests(900)))
        assert chance_test(int(outcomes.win.sum()), outcomes.chance[outcomes.included]) < 0.001


def test_random_scores_depend_on_seed_key_and_index_alone():
    made = requests(6)
    whole = values(RandomScorer(3), made)
    for request, scores in zip(made, whole, strict=True):
        assert np.array_equal(values(RandomScorer(3), [request])[0], scores)
        shorter = ScoreRequest(request.key, BLANK, request.texts[:2], request.truth[:2])
        assert np.array_equal(values(RandomScorer(3), [shorter])[0], scores[:2])
        assert not np.array_equal(values(RandomScorer(4), [request])[0], scores)
    assert not np.array_equal(whole[0], whole[3])  # equal width, other key


def test_random_scores_are_uniform():
    scores = np.concatenate(values(RandomScorer(0), requests(300)))
    assert 0 <= scores.min() < scores.max() < 1
    assert np.histogram(scores, 10, (0, 1))[0] / len(scores) == pytest.approx(0.1, abs=0.01)


def test_the_oracle_is_always_right_and_shows_the_ceiling():
    items = scored(OracleScorer(), requests())
    strict, paper = evaluate(items), evaluate(items, "paper")
    assert (strict.accuracy, strict.credit, strict.tie_rate) == (1, 1, 0)
    assert paper.credit == pytest.approx(paper.ceiling)
    assert paper.accuracy == pytest.approx(paper.ceiling_ties_lose)
    assert 0 < paper.ceiling < 1


def test_the_oracle_scores_by_semantics():
    truth = np.array([TRUE, FALSE, UNDECIDED, TRUE], np.int8)
    request = ScoreRequest("item", BLANK, list("abcd"), truth)
    assert values(OracleScorer(), [request])[0].tolist() == [1, 0, 0.5, 1]
    with pytest.raises(ValueError, match="item bad"):
        OracleScorer().score([ScoreRequest("bad", BLANK, ["a"], np.array([FALSE], np.int8))])
