import itertools

import numpy as np
import pytest
from scipy import stats

from bindbench.analysis.accuracy import design_of
from bindbench.analysis.blind import CUES, CueResult, audit, corrected, read_cues, words_in_order
from bindbench.semantics import FALSE, TRUE, UNDECIDED


def design(n, scenes=None):
    names = [[f"o{i % 7}", f"p{i % 5}"] for i in range(n)]
    return design_of(scenes or [f"s{i}" for i in range(n)], names, names)


def items(n, k=2):
    return [np.array([TRUE, *[FALSE] * (k - 1)], np.int8)] * n


def run(texts, semantics=None, scenes=None, names=None):
    """Audit one family that holds all candidates."""
    semantics = semantics or [items(1, len(t))[0] for t in texts]
    subset = np.ones((len(texts), max(map(len, texts))), bool)
    cues = read_cues(texts)
    cues = {name: cues[name] for name in names or cues}
    return audit(cues, semantics, {"swap": subset}, design(len(texts), scenes))


def found(results, cue, direction="most", mode="strict") -> CueResult:
    (result,) = [r for r in results if (r.cue, r.direction, r.mode) == (cue, direction, mode)]
    return result


@pytest.mark.parametrize(
    ("cue", "text", "value"),
    [
        ("edge_space", "  a red cup\n", 3),
        ("edge_space", "a red cup", 0),
        ("odd_space", " a  red\tcup   here ", 3),
        ("odd_space", " a red cup ", 0),
        ("odd_space", "a\u00a0red cup", 1),
        ("final_punctuation", "A red cup. ", 1),
        ("final_punctuation", "A red cup,", 0),
        ("final_punctuation", "", 0),
        ("punctuation", "A red cup, and (see) a blue chair.", 4),
        ("first_capital", " A red cup", 1),
        ("first_capital", "a Red cup", 0),
        ("capitals", "A Red CUP", 5),
        ("characters", " a  red cup ", 7),
        ("words", " a  red cup ", 3),
        ("article_errors", "a orange cup and an red hat, an hour and a unicycle", 2),
        ("article_errors", "A orange cup", 1),
        ("article_errors", "a pair of orange gloves", 0),
        ("repeated_words", "a red cup and a red cup", 2),
        ("repeated_words", "A red cup, and a blue chair.", 0),
        ("repeated_words", "a pair of red gloves and a pair of blue boots", 0),
    ],
)
def test_cues_are_read_off_a_text(cue, text, value):
    assert CUES[cue](text) == value


def test_words_in_order():
    table = [("a", "b", "c"), ("a", "c", "b"), ("c", "b", "a"), ("b", "b", "c")]
    assert words_in_order(table).tolist() == pytest.approx([1, 2 / 3, 0, 2 / 3])
    assert words_in_order([("a",), ("b",)]).tolist() == [0, 0]


def test_a_stray_space_in_right_captions_is_found():
    clean = [[f"a red cup {i}", f"a tan cup {i}"] for i in range(60)]
    assert not any(r.leak for r in corrected(run(clean)))
    planted = [[f"{a} ", b] for a, b in clean]
    results = corrected(run(planted))
    assert {(r.cue, r.direction) for r in results if r.leak} == {("edge_space", "most")}
    leak = found(results, "edge_space")
    assert (leak.accuracy, leak.credit, leak.chance, leak.differs) == (1, 1, 0.5, 60)
    assert found(results, "edge_space", "least").accuracy == 0


def test_a_leak_in_some_captions_is_found_too():
    """13% of SugarCrepe's right captions carry stray white space and no wrong one does."""
    texts = [[f"a cup{' ' * (i % 8 == 0)}", "a hat"] for i in range(400)]
    leak = found(corrected(run(texts)), "edge_space")
    assert leak.leak
    assert leak.differs == 50
    assert (leak.accuracy, leak.credit) == (0.125, 0.125 + 0.875 / 2)
    assert leak.credit_low < leak.credit < leak.credit_high
    assert leak.credit_low > leak.chance == 0.5


def test_missing_final_periods_are_found():
    texts = [["a cup" + "." * (i % 2), "a hat."] for i in range(80)]
    leaks = {(r.cue, r.direction) for r in corrected(run(texts)) if r.leak}
    assert leaks >= {("final_punctuation", "least"), ("punctuation", "least")}


def test_a_cue_that_is_the_same_in_all_captions_says_nothing():
    result = found(
        run([["a cup", "a hat", "a pot"]] * 30, scenes=list(map(str, range(30)))), "words"
    )
    assert result.differs == 0
    assert (result.accuracy, result.p_value, result.leak) == (0, 1, False)
    assert result.credit == result.credit_low == result.credit_high == pytest.approx(1 / 3)


def test_modes_count_the_candidates_that_accuracy_counts():
    texts = [["aa", "bbb", "c", "dddd"]]
    semantics = [np.array([TRUE, UNDECIDED, FALSE, TRUE], np.int8)]
    results = run(texts, semantics)
    strict, paper = (found(results, "characters", mode=mode) for mode in ("strict", "paper"))
    assert (strict.accuracy, strict.chance) == (1, 0.5)  # against "c" alone
    assert (paper.accuracy, paper.chance) == (0, 0.25)


def test_the_p_value_is_the_tail_of_the_positives_at_the_top():
    """By hand: with 2, 3 and 4 candidates of distinct lengths chance is 1/2, 1/3 and 1/4."""
    texts = [["aaa", "b"], ["aaa", "b", "bb"], ["a", "bb", "bbb", "bbbb"]]
    p = [1 / 2, 1 / 3, 1 / 4]
    at_least_two = sum(
        np.prod([q if hit else 1 - q for q, hit in zip(p, hits, strict=True)])
        for hits in itertools.product([0, 1], repeat=3)
        if sum(hits) >= 2
    )
    assert found(run(texts), "characters").p_value == pytest.approx(at_least_two)
    ties = [["aa", "b", "bb", "bb"]] * 3  # at the top with probability 3/4
    scenes = ["x", "y", "z"]
    assert found(run(ties, scenes=scenes), "characters").p_value == pytest.approx(0.75**3)


def test_replicates_of_a_scene_are_one_observation():
    texts = [["aa", "b"]] * 12
    result = found(run(texts, scenes=["x"] * 6 + ["y"] * 6), "characters")
    assert result.p_value == pytest.approx(0.25)
    assert result.n_items == 12


def test_p_values_are_exact_where_right_captions_are_like_wrong_ones():
    rng = np.random.default_rng(0)
    low = []
    for _ in range(400):
        texts = [["x" * int(m) for m in rng.integers(1, 5, 6)] for _ in range(30)]
        low.append(found(run(texts, names=["characters"]), "characters").p_value)
    below = int(np.sum(np.array(low) <= 0.1))
    assert below > 5  # it has power to reject at all
    assert stats.binom.sf(below - 1, 400, 0.1) > 0.001  # and rejects no more often than it may


def test_repeated_words_in_confusion_are_by_design():
    subset = {"confusion": np.ones((40, 2), bool), "swap": np.ones((40, 2), bool)}
    texts = [["a red cup and a blue hat", "a red cup and a red cup"]] * 40
    cues = {"repeated_words": read_cues(texts)["repeated_words"]}
    results = corrected(audit(cues, items(40), subset, design(40)))
    least = [r for r in results if r.direction == "least"]
    assert all(r.accuracy == 1 and r.p_value < 1e-6 for r in least)
    assert {(r.family, r.by_design, r.leak) for r in least} == {
        ("confusion", True, False),
        ("swap", False, True),
    }


def test_a_cue_may_be_asked_of_some_families_only():
    subset = {"confusion": np.ones((4, 2), bool), "swap": np.ones((4, 2), bool)}
    cues = {"order": [np.array([0.0, 1.0])] * 4}
    results = audit(cues, items(4), subset, design(4), only={"order": ["swap"]})
    assert {r.family for r in results} == {"swap"}
    assert audit(cues, items(4), {"swap": subset["swap"] & False}, design(4)) == []


def test_correction_counts_the_cues_that_can_be_found():
    cues = {"a": [np.array([1.0, 0.0])] * 5, "b": [np.array([0.0, 0.0])] * 5}
    results = audit(cues, items(5), {"swap": np.ones((5, 2), bool)}, design(5))
    raw = [r for r in results if r.mode == "strict" and r.cue == "a"]
    assert [r.p_value for r in raw] == pytest.approx([1 / 32, 1])
    # Two directions of one cue tell candidates apart: the smaller p-value counts twice.
    fixed = [r for r in corrected(results) if r.mode == "strict" and r.cue == "a"]
    assert [r.p_value for r in fixed] == pytest.approx([2 / 32, 1])
