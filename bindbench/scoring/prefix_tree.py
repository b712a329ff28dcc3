"""Candidate captions as a tree of tokens, in which what several captions share stands once.

The 729 captions of one image hold 21,870 tokens one by one and 5,808 as a tree. Everything here is
done on whole tensors; no loop runs over nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

PADDING = -1  # of token rows; less than any token, so that a caption sorts before its extensions


@dataclass(frozen=True)
class TokenTree:
    """Tokens in depth-first order; the tokens before a node are its ancestors."""

    tokens: Tensor  # int64 (nodes,)
    depth: Tensor  # int64 (nodes,): 0 for the first token of a caption
    parent: Tensor  # int64 (nodes,): -1 for the first token of a caption
    end: Tensor  # int64 (nodes,): a node and all that follows from it are [node, end)
    path: Tensor  # int64 (captions, longest): the nodes of each caption, -1 behind its last

    @property
    def inner(self) -> Tensor:
        """The nodes that another token follows, int64: only their logits are needed."""
        return torch.unique(self.parent[self.parent >= 0])

    def sums(self, log_probabilities: Tensor) -> Tensor:
        """Return each caption's sum of its nodes' values, float64 (captions,)."""
        values = log_probabilities.double()[self.path.clamp(min=0)]
        return values.masked_fill(self.path < 0, 0.0).sum(1)


def token_rows(captions: Sequence[Sequence[int]]) -> Tensor:
    """Return captions as rows of tokens, int64 (captions, longest), padded at the end."""
    lengths = torch.tensor([len(caption) for caption in captions])
    rows = torch.full((len(captions), int(lengths.max())), PADDING)
    inside = torch.arange(rows.shape[1]) < lengths[:, None]
    rows[inside] = torch.tensor([token for caption in captions for token in caption])
    return rows


def grow_tree(rows: Tensor) -> TokenTree:
    """Return the tree of distinct token rows in lexicographic order, as torch.unique gives them."""
    inside = rows != PADDING
    new = torch.ones_like(inside)
    # A node is new from the first column on in which its row differs from the one before.
    new[1:] = (rows[1:] != rows[:-1]).cummax(1).values
    new &= inside
    row, depth = new.nonzero(as_tuple=True)
    number = torch.where(new, new.flatten().cumsum(0).view_as(rows) - 1, -1)
    path = torch.where(inside, number.cummax(0).values, -1)
    parent = torch.where(depth > 0, path[row, (depth - 1).clamp(min=0)], -1)
    last = path.amax(1, keepdim=True).expand_as(path)
    end = torch.zeros(len(row), dtype=torch.int64)
    end.scatter_reduce_(0, path[inside], last[inside] + 1, "amax")
    return TokenTree(rows[row, depth], depth, parent, end, path)


def ancestor_mask(tree: TokenTree, nodes: Tensor) -> Tensor:
    """Say which nodes each node reads: itself and its ancestors, bool (nodes, nodes).

    Args:
        tree: the tree.
        nodes: int64 (nodes,), some of its nodes in order.
    """
    reader, read = nodes[:, None], nodes[None, :]
    return (read <= reader) & (reader < tree.end[nodes][None, :])


class Packs:
    """Divides rows into packs whose own trees are small.

    Args:
        rows: distinct token rows in lexicographic order.
    """

    def __init__(self, rows: Tensor) -> None:
        inside = rows != PADDING
        self._lengths = inside.sum(1)
        shared = ((rows[1:] == rows[:-1]) & inside[1:]).long().cumprod(1).sum(1)
        added = self._lengths.clone()
        added[1:] -= shared
        self._nodes = added.cumsum(0)  # of the tree of all rows up to each

    def end(self, start: int, most: int) -> int:
        """Return where the pack from ``start`` ends that has at most ``most`` nodes.

        One row is a pack, however long it is.
        """
        limit = self._nodes[start] - self._lengths[start] + most
        return max(start + 1, int(torch.searchsorted(self._nodes, limit, right=True)))
