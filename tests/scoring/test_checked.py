import numpy as np
import pytest

from bindbench.errors import UserError
from bindbench.models.base import ScoreRequest, Scores
from bindbench.scoring.checked import checked_scores

IMAGE = np.zeros((2, 2, 3), np.uint8)
ASKED = [ScoreRequest(f"item{i}", IMAGE, ["a", "b", "c"], np.empty(0, np.int8)) for i in range(2)]
GOOD = np.array([-3.0, -4.0, -6.0])
TOKENS = np.array([3, 4, 3], np.int32)


class Says:
    dtype, method = "bfloat16", "stub"

    def __init__(self, *found: Scores):
        self.found = list(found)

    def score(self, requests):
        return self.found


def check(*found: Scores) -> list[Scores]:
    return checked_scores(Says(*found), ASKED, "hf:stub", "color-n2")


def test_good_scores_pass():
    full = Scores(GOOD, TOKENS, GOOD - 1, "{}")
    assert check(Scores(GOOD), full) == [Scores(GOOD), full]


def test_mean_and_subtracted_are_worked_out():
    scores = Scores(GOOD, TOKENS, np.array([-4.0, -4.0, -5.0]))
    assert scores.mean is not None and scores.subtracted is not None
    assert scores.mean.tolist() == [-1, -1, -2]
    assert scores.subtracted.tolist() == [1, 0, -1]
    assert Scores(GOOD).mean is None and Scores(GOOD).subtracted is None


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (Scores(np.array([1.0, np.nan, 2.0])), "the score nan in bfloat16 "),
        (Scores(np.array([1.0, np.inf, 2.0])), "the score inf in bfloat16 "),
        (Scores(GOOD, TOKENS, np.array([1.0, 2.0, -np.inf])), "the image-free score -inf in"),
        (Scores(GOOD, np.array([1, 0, 2])), r"a text of 0 tokens \(its tokenizer"),
        (Scores(GOOD[:2]), r"scores of shape \(2,\) instead of one for each of the 3 texts"),
        (Scores(GOOD, TOKENS[:2]), r"token counts of shape \(2,\)"),
        (Scores(GOOD, TOKENS, GOOD[None]), r"image-free scores of shape \(1, 3\)"),
        (Scores(GOOD, asked=np.array([False, True, True])), "no score for the first text"),
        (Scores(np.array([np.nan, 1, 2]), asked=np.array([True, True, False])), "the score nan"),
    ],
)
def test_broken_scores_are_one_sentence_that_names_the_item(broken, message):
    with pytest.raises(UserError, match=rf"hf:stub gave {message}.* for item item1 of color-n2\.$"):
        check(Scores(GOOD), broken)


def test_what_was_not_asked_may_be_anything():
    scores = Scores(np.array([1.0, np.nan, 2.0]), asked=np.array([True, False, True]))
    assert check(Scores(GOOD), scores)[1] is scores


def test_a_missing_item_is_noticed():
    with pytest.raises(UserError, match="hf:stub gave scores for 1 of 2 items of color-n2"):
        check(Scores(GOOD))
