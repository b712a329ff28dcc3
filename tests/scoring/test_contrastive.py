import numpy as np
import pytest

from bindbench.errors import UserError
from bindbench.models.base import ScoreRequest
from bindbench.scoring.contrastive import ContrastiveScorer


class Fake:
    """An image's mean brightness, or a text's length, as an angle."""

    name, dtype, scale = "fake", "float32", 10.0

    def __init__(self) -> None:
        self.images: list[np.ndarray] = []
        self.texts: list[str] = []

    def encode_images(self, images):
        self.images += list(images)
        return unit([image.mean() / 100 for image in images])

    def encode_texts(self, texts):
        self.texts += list(texts)
        return unit([np.nan if text == "nan" else len(text) / 10 for text in texts])


def unit(angles) -> np.ndarray:
    return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)


def request(key: str, level: int, texts: list[str]) -> ScoreRequest:
    return ScoreRequest(key, np.full((4, 4, 3), level, np.uint8), texts, np.empty(0, np.int8))


def test_a_score_is_the_scaled_cosine():
    (scores,) = ContrastiveScorer(Fake()).score([request("a", 50, ["x" * 5, "x" * 15])])
    np.testing.assert_allclose(scores.values, [10 * np.cos(0), 10 * np.cos(1)], atol=1e-5)
    assert scores.values.dtype == np.float64


def test_equal_images_and_texts_are_encoded_once():
    fake = Fake()
    scorer = ContrastiveScorer(fake)
    scorer.score([request("a", 1, ["p", "q", "p"]), request("b", 1, ["q", "r"])])
    scorer.score([request("c", 1, ["r", "p"]), request("d", 2, ["s"])])
    assert fake.texts == ["p", "q", "r", "s"]
    assert [int(image.mean()) for image in fake.images] == [1, 2]


def test_images_of_equal_bytes_and_other_shape_are_not_equal():
    fake = Fake()
    wide, high = np.zeros((2, 8, 3), np.uint8), np.zeros((8, 2, 3), np.uint8)
    empty = np.empty(0, np.int8)
    ContrastiveScorer(fake).score(
        [ScoreRequest(k, i, ["x"], empty) for k, i in zip("ab", (wide, high), strict=True)]
    )
    assert len(fake.images) == 2


def test_scores_do_not_depend_on_the_batch():
    asked = [request(str(i), i, ["x" * j for j in range(i + 1)]) for i in range(9)]
    together = ContrastiveScorer(Fake()).score(asked)
    scorer = ContrastiveScorer(Fake(), text_megabytes=1e-5)
    for one, scores in zip(asked, together, strict=True):
        assert np.array_equal(scorer.score([one])[0].values, scores.values)


def test_nan_is_refused_with_what_it_is_of():
    with pytest.raises(UserError, match=r"fake gave .* NaN .* the caption 'nan' in float32"):
        ContrastiveScorer(Fake()).score([request("a", 1, ["good", "nan"])])


def test_a_fresh_scorer_remembers_nothing():
    fake = Fake()
    scorer = ContrastiveScorer(fake)
    scorer.score([request("a", 1, ["p"])])
    assert scorer.remembered == 2
    assert scorer.fresh().remembered == 0
    assert scorer.fresh().scale == scorer.scale
