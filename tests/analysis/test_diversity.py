import itertools

import numpy as np
import pytest
from scipy import stats

from bindbench.analysis.diversity import distinct, distinct_at, semantic_diversity, words


def test_words():
    assert words("A T-shirt, and the chef's cup: 2 cups.") == [
        "a",
        "t-shirt",
        "and",
        "the",
        "chef's",
        "cup",
        "2",
        "cups",
    ]


def test_distinct_by_hand():
    captions = ["A red cup.", "a red chair"]
    assert distinct(captions, 1) == pytest.approx(4 / 6)
    assert distinct(captions, 2) == pytest.approx(3 / 4)
    assert distinct(captions, 3) == 1
    assert distinct(captions, 4) is None
    assert distinct(["a a a a"], 2) == pytest.approx(1 / 3)


CAPTIONS = ["a red cup", "a red chair on a mat", "a blue cup", "the red cup", "a red cup and a mat"]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_distinct_of_fewer_is_the_mean_over_all_choices(n, size):
    counts = []
    for chosen in itertools.combinations(CAPTIONS, size):
        grams = [tuple(w[i : i + n]) for c in chosen for w in [words(c)] for i in range(len(w))]
        grams = [gram for gram in grams if len(gram) == n]
        counts.append((len(set(grams)), len(grams)))
    different, total = np.mean(counts, axis=0)
    assert distinct_at(CAPTIONS, n, size) == pytest.approx(different / total)


def test_distinct_of_all_is_distinct():
    assert distinct_at(CAPTIONS, 2, len(CAPTIONS)) == pytest.approx(distinct(CAPTIONS, 2))
    assert distinct_at(["cup"], 2, 1) is None
    with pytest.raises(ValueError, match="6 of 5"):
        distinct_at(CAPTIONS, 2, 6)


def brute_force(vectors):
    pairs = itertools.combinations(vectors, 2)
    return 1 - np.mean([a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) for a, b in pairs])


def test_semantic_diversity_by_hand():
    # Cosines of the three pairs: 0, 0.6 and 0.8.
    vectors = np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
    found = semantic_diversity(vectors)
    assert found is not None and found.value == pytest.approx(1 - 1.4 / 3)
    assert semantic_diversity(vectors[:1]) is None
    two = semantic_diversity(vectors[:2])
    assert two is not None and (two.value, two.low, two.high) == (1.0, 0.0, 2.0)


def test_semantic_diversity_is_the_mean_over_pairs_with_the_jackknife_of_its_scenes():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(12, 5)).astype(np.float32) + 1
    scenes = np.repeat([7, 3, 5, 1], [3, 3, 2, 4])
    found = semantic_diversity(vectors, scenes)
    assert found is not None and found.value == pytest.approx(brute_force(vectors))
    without = np.array([brute_force(vectors[scenes != scene]) for scene in np.unique(scenes)])
    half = stats.t.ppf(0.975, 3) * np.sqrt(3 / 4 * np.sum((without - without.mean()) ** 2))
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))
    assert (found.n, found.n_effective) == (12, 4)


def test_the_jackknife_covers():
    # The mean cosine of independent vectors of a distribution is the squared length of their mean.
    rng, inside = np.random.default_rng(1), 0
    angles = rng.uniform(0, np.pi / 2, size=(400, 40))
    truth = 1 - 2 * (2 / np.pi) ** 2
    for row in angles:
        found = semantic_diversity(np.stack([np.cos(row), np.sin(row)], axis=1))
        assert found is not None
        inside += found.low <= truth <= found.high
    assert 0.91 <= inside / 400 <= 0.98
