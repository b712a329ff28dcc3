"""The token tree against one built node by node from dictionaries."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from bindbench.scoring.prefix_tree import (
    Packs,
    ancestor_mask,
    grow_tree,
    token_rows,
)

CAPTIONS = st.lists(
    st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=12, unique_by=tuple
).map(sorted)


def prefixes(captions: list[list[int]]) -> list[tuple[int, ...]]:
    """Return every prefix of a caption once, in depth-first order of increasing tokens."""
    return sorted({tuple(c[: i + 1]) for c in captions for i in range(len(c))})


def test_a_tree_by_hand():
    # a red cup | a red hat on | a blue cup, as 1 2 3 | 1 2 4 5 | 1 6 3
    tree = grow_tree(token_rows([[1, 2, 3], [1, 2, 4, 5], [1, 6, 3]]))
    assert tree.tokens.tolist() == [1, 2, 3, 4, 5, 6, 3]
    assert tree.depth.tolist() == [0, 1, 2, 2, 3, 1, 2]
    assert tree.parent.tolist() == [-1, 0, 1, 1, 3, 0, 5]
    assert tree.end.tolist() == [7, 5, 3, 5, 5, 7, 7]
    assert tree.path.tolist() == [[0, 1, 2, -1], [0, 1, 3, 4], [0, 5, 6, -1]]
    assert tree.inner.tolist() == [0, 1, 3, 5]
    values = torch.tensor([1.0, 10, 100, 1000, 10000, 0.5, 0.25])
    assert tree.sums(values).tolist() == [111.0, 11011.0, 1.75]
    assert ancestor_mask(tree, tree.inner).long().tolist() == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 0, 0, 1],
    ]


@given(CAPTIONS)
def test_nodes_are_the_distinct_prefixes(captions):
    tree, known = grow_tree(token_rows(captions)), prefixes(captions)
    place = {prefix: i for i, prefix in enumerate(known)}
    assert tree.tokens.tolist() == [prefix[-1] for prefix in known]
    assert tree.depth.tolist() == [len(prefix) - 1 for prefix in known]
    assert tree.parent.tolist() == [place.get(prefix[:-1], -1) for prefix in known]
    for caption, path in zip(captions, tree.path.tolist(), strict=True):
        nodes = [place[tuple(caption[: i + 1])] for i in range(len(caption))]
        assert path == nodes + [-1] * (len(path) - len(nodes))


@given(CAPTIONS)
def test_a_node_reads_itself_and_what_is_before_it(captions):
    tree, known = grow_tree(token_rows(captions)), prefixes(captions)
    mask = ancestor_mask(tree, torch.arange(len(known)))
    for i, reader in enumerate(known):
        assert mask[i].tolist() == [reader[: len(read)] == read for read in known]
    inner = [i for i, p in enumerate(known) if any(q[:-1] == p for q in known)]
    assert tree.inner.tolist() == inner
    assert torch.equal(ancestor_mask(tree, tree.inner), mask[inner][:, inner])


@given(CAPTIONS, st.integers(1, 20))
def test_packs_are_as_large_as_fits(captions, most):
    packs, start = Packs(token_rows(captions)), 0
    while start < len(captions):
        end = packs.end(start, most)
        assert end > start
        assert end == start + 1 or len(prefixes(captions[start:end])) <= most
        if end < len(captions):
            assert len(prefixes(captions[start : end + 1])) > most
        start = end


def test_rows_sort_as_torch_unique_does():
    rows = token_rows([[1, 2], [1], [0, 5, 5], [1, 2]])
    distinct, places = torch.unique(rows, dim=0, return_inverse=True)
    assert distinct.tolist() == [[0, 5, 5], [1, -1, -1], [1, 2, -1]]
    assert places.tolist() == [2, 1, 0, 2]
