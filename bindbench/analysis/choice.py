"""Which candidates a question of limited length offers."""

import hashlib

import numpy as np

MOST_WRONG = 49  # beside the right one, where all candidates are too many to list


def choice_subset(key: str, candidates: int, most: int = MOST_WRONG, seed: int = 0) -> np.ndarray:
    """Return which candidates of an item are offered, bool (candidates,): the first and a sample.

    At most ``most`` others, each equally likely. They depend on the seed, the key and the number
    of candidates alone, and a smaller ``most`` takes a part of a larger one's. The semantics of
    the candidates play no part: an item's chance follows from those that were drawn.

    Args:
        key: identifies the item, as ``ScoreRequest.key`` does.
        candidates: how many there are; candidate 0 is the positive.
        most: how many others to offer.
        seed: another one draws other candidates.
    """
    stream = hashlib.shake_256(f"choice:{seed}:{key}".encode()).digest(8 * candidates)
    places = np.frombuffer(stream, "<u8").copy()
    places[0] = 0  # the positive is always among the first
    offered = np.zeros(candidates, bool)
    offered[np.argsort(places, kind="stable")[: most + 1]] = True
    return offered
