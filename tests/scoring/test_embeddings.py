import numpy as np

from bindbench.scoring.embeddings import EmbeddingCache


class Encoder:
    """Embeds a number as itself and its square, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, keys, positions):
        new = [keys[i] for i in positions]
        self.asked += new
        return np.array([[key, key**2] for key in new], np.float32)


def look_up(cache: EmbeddingCache, encoder: Encoder, keys: list[int]) -> np.ndarray:
    table, rows = cache.get(keys, lambda positions: encoder(keys, positions))
    return table[rows]


def expected(keys):
    return np.array([[key, key**2] for key in keys], np.float32)


def test_each_key_is_encoded_once():
    cache, encoder = EmbeddingCache(1), Encoder()
    for keys in ([3, 1, 3], [1, 2, 2, 3], [3]):
        assert np.array_equal(look_up(cache, encoder, keys), expected(keys))
    assert encoder.asked == [3, 1, 2]


def test_the_least_recently_used_is_forgotten_first():
    cache, encoder = EmbeddingCache(3 * 8 / 2**20), Encoder()  # three rows of two floats
    look_up(cache, encoder, [1, 2, 3])
    look_up(cache, encoder, [1])
    assert np.array_equal(look_up(cache, encoder, [4]), expected([4]))  # in the place of 2
    encoder.asked.clear()
    assert np.array_equal(look_up(cache, encoder, [1, 3, 4]), expected([1, 3, 4]))
    assert encoder.asked == []
    look_up(cache, encoder, [2])
    assert encoder.asked == [2]
    assert len(cache) == 3


def test_one_call_may_ask_for_more_than_the_memory_holds():
    cache, encoder = EmbeddingCache(3 * 8 / 2**20), Encoder()
    look_up(cache, encoder, [100, 101, 102])
    keys = [100, *range(10), 100]  # 100 is known, and may not be forgotten for the new ones
    assert np.array_equal(look_up(cache, encoder, keys), expected(keys))
    assert np.array_equal(look_up(cache, encoder, [1, 200]), expected([1, 200]))
    assert len(cache) == 3


def test_random_requests_are_always_right():
    rng, cache, encoder = np.random.default_rng(0), EmbeddingCache(50 * 8 / 2**20), Encoder()
    for _ in range(300):
        keys = rng.integers(0, 200, rng.integers(0, 80)).tolist()
        if keys:
            assert np.array_equal(look_up(cache, encoder, keys), expected(keys))
