"""Small candidate spaces, enumerated here independently of the library."""

import itertools

import numpy as np

from bindbench.analysis.accuracy import Items, design_of, pack
from bindbench.semantics import FALSE, TRUE


def attribute_space(n):
    """Objects and labels (n**(2n), n) with the positive first, and each candidate's semantics."""
    rows = list(itertools.product(range(n), repeat=2 * n))
    positive = (*range(n), *range(n))
    rows.remove(positive)
    table = np.array([positive, *rows])
    objects, labels = table[:, :n], table[:, n:]
    scene = sorted(zip(range(n), range(n), strict=True))
    true = [
        sorted(zip(o, s, strict=True)) == scene
        for o, s in zip(objects.tolist(), labels.tolist(), strict=True)
    ]
    return objects, labels, np.where(true, TRUE, FALSE).astype(np.int8)


def swap_mask(objects, labels):
    """Captions that keep the objects in place and permute the labels, the positive not included."""
    n = objects.shape[1]
    kept = (objects == np.arange(n)).all(axis=1)
    permuted = (np.sort(labels, axis=1) == np.arange(n)).all(axis=1)
    mask = kept & permuted
    mask[0] = False
    return mask


def items_of(scores, semantics, dtype="float64", scenes=None, objects=None, labels=None) -> Items:
    n = len(scores)
    design = design_of(
        scenes or [f"s{i}" for i in range(n)],
        objects or [[f"o{i % 7}", f"o{7 + i % 5}"] for i in range(n)],
        labels or [[f"l{i % 3}", f"l{3 + i % 2}"] for i in range(n)],
    )
    return pack(
        [np.asarray(s, float) for s in scores], [np.asarray(s) for s in semantics], dtype, design
    )
