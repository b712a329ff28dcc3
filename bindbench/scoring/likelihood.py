"""Log-likelihoods of many captions after one prefix, exact and in few forward passes.

Three ways, all with the result of one plain pass per caption:

- ``token tree``: all captions in one sequence, each token reading its ancestors only;
- ``copied prefix``: batches of captions, each row on its own copy of the prefix's cache;
- ``level by level``: one token of every branch at a time, the cache reordered by parent.

The first is the fastest. It needs layers that can be told what to read: recurrent ones (linear
attention, convolutions) ignore the mask without an error, and a sliding window looks at the place
in the sequence, which a tree changes. The model's own cache shows both.
"""

import copy
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bindbench.errors import UserError
from bindbench.scoring.prefix import Prefix, PrefixModel, unchanged
from bindbench.scoring.prefix_tree import (
    PADDING,
    Packs,
    TokenTree,
    ancestor_mask,
    grow_tree,
    token_rows,
)

Method = Literal["token tree", "copied prefix", "level by level"]

PACK_NODES = 512  # of a tree in one pass: twice as many cost more in attention than they save
BATCH_ROWS = 16  # captions in one pass on copied prefixes
LEVEL_ROWS = 128  # branches in one pass of a level
LEVELS_FROM = 64  # fewer captions share too little for going level by level
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")

_log = logging.getLogger(__name__)


class Likelihood:
    """The log-likelihoods of captions, by one model.

    Where memory runs out, the size of a pass is halved, from there on, and a warning says so.
    """

    def __init__(self, model: PrefixModel, name: str, pack_nodes: int = PACK_NODES) -> None:
        self.model, self.name = model, name
        self._wanted: dict[Method, int] = {
            "token tree": pack_nodes,
            "copied prefix": BATCH_ROWS,
            "level by level": LEVEL_ROWS,
        }
        self._most = dict(self._wanted)

    def method(self, prefix: Prefix, captions: Sequence[Sequence[int]]) -> Method:
        """Return how these captions are scored."""
        layers = self.model.layers
        if not layers.plain:
            return "copied prefix" if len(captions) < LEVELS_FROM else "level by level"
        longest = prefix.length + max(map(len, captions))
        fits = layers.window is None or longest <= layers.window
        return "token tree" if fits else "copied prefix"

    def describe(self, method: Method) -> str:
        """Name a method for the record, with the size of its passes where memory made it small."""
        most = self._most[method]
        return method if most == self._wanted[method] else f"{method} in passes of {most}"

    @torch.inference_mode()
    def sums(
        self, prefix: Prefix, captions: Sequence[Sequence[int]], method: Method | None = None
    ) -> np.ndarray:
        """Return the sum of the log-probabilities of each caption's tokens in nats.

        Args:
            prefix: what the model has read; holds the same afterwards.
            captions: tokens, at least one each.
            method: how; by default ``method`` decides.

        Returns:
            float64 (captions,); log-probabilities are float32.

        Raises:
            UserError: memory runs out for a single caption.
        """
        ways: dict[Method, Callable[[Prefix, Tensor], Tensor]] = {
            "token tree": self._by_tree,
            "copied prefix": self._by_copies,
            "level by level": self._by_levels,
        }
        rows, places = torch.unique(token_rows(captions), dim=0, return_inverse=True)
        return ways[method or self.method(prefix, captions)](prefix, rows)[places].numpy()

    def _by_tree(self, prefix: Prefix, rows: Tensor) -> Tensor:
        packs, sums, start = Packs(rows), [], 0
        while start < len(rows):
            end = packs.end(start, self._most["token tree"])
            try:
                sums.append(self._pack(prefix, grow_tree(rows[start:end])))
            except RuntimeError as error:
                self._halve("token tree", error, possible=end - start > 1)
                continue
            start = end
        return torch.cat(sums)

    def _pack(self, prefix: Prefix, tree: TokenTree) -> Tensor:
        """Return the captions' sums of one pack, float64 (captions,)."""
        nodes = tree.inner  # leaves are predicted, and read by nobody
        found = torch.empty(len(tree.tokens))
        _take_first(found, prefix, tree)
        if len(nodes):
            seen = torch.ones(len(nodes), prefix.length, dtype=torch.bool)
            mask = torch.cat([seen, ancestor_mask(tree, nodes)], 1)[None, None]
            positions = prefix.position + tree.depth[nodes]
            with unchanged(prefix.cache):
                logits = self.model.read_on(
                    prefix.cache, tree.tokens[nodes][None], positions[None], mask
                )
            _take_next(found, logits[0], tree, nodes)
        return tree.sums(found)

    def _by_copies(self, prefix: Prefix, rows: Tensor) -> Tensor:
        lengths = (rows != PADDING).sum(1)
        order = lengths.argsort(stable=True)  # little of a batch is padding
        sums, start = torch.empty(len(rows), dtype=torch.float64), 0
        while start < len(rows):
            part = order[start : start + self._most["copied prefix"]]
            try:
                sums[part] = self._batch(prefix, rows[part, : lengths[part].max()])
            except RuntimeError as error:
                self._halve("copied prefix", error, possible=len(part) > 1)
                continue
            start += len(part)
        return sums

    def _batch(self, prefix: Prefix, rows: Tensor) -> Tensor:
        inside = rows != PADDING
        tokens = rows.clamp(min=0)
        found = torch.empty(rows.shape)
        found[:, 0] = prefix.first[tokens[:, 0].to(prefix.first.device)].cpu()
        if rows.shape[1] > 1:
            cache = copy.deepcopy(prefix.cache)
            cache.reorder_cache(torch.zeros(len(rows), dtype=torch.int64, device=self.model.device))
            seen = torch.ones(len(rows), prefix.length, dtype=torch.int64)
            mask = torch.cat([seen, inside[:, :-1].long()], 1)
            steps = prefix.position + torch.arange(rows.shape[1] - 1)
            positions = steps.expand(len(rows), -1)
            logits = self.model.read_on(cache, tokens[:, :-1], positions, mask)
            found[:, 1:] = _chosen(logits, tokens[:, 1:])
        return found.double().masked_fill(~inside, 0.0).sum(1)

    def _by_levels(self, prefix: Prefix, rows: Tensor) -> Tensor:
        tree = grow_tree(rows)
        while True:
            found = torch.empty(len(tree.tokens))
            _take_first(found, prefix, tree)
            starts = tree.inner[tree.depth[tree.inner] == 0]
            cache = copy.deepcopy(prefix.cache)
            try:
                self._follow(cache, torch.zeros_like(starts), starts, prefix, tree, found)
            except RuntimeError as error:
                self._halve("level by level", error, self._most["level by level"] > 1)
                continue
            return tree.sums(found)

    def _follow(
        self,
        cache: Any,
        rows: Tensor,
        nodes: Tensor,
        prefix: Prefix,
        tree: TokenTree,
        found: Tensor,
    ) -> None:
        """Read the nodes of one level and all that follow, in parts of a bounded size.

        ``rows`` are the nodes' parents in the cache, which is used up.
        """
        parts = list(_parts(len(nodes), self._most["level by level"]))
        for part in parts:
            state = cache if part is parts[-1] else copy.deepcopy(cache)
            state.reorder_cache(rows[part].to(self.model.device))
            these = nodes[part]
            positions = (prefix.position + tree.depth[these])[:, None]
            logits = self.model.read_on(state, tree.tokens[these][:, None], positions, None)
            _take_next(found, logits[:, -1], tree, these)
            del logits
            following = tree.inner[torch.isin(tree.parent[tree.inner], these)]
            if len(following):
                parents = torch.searchsorted(these, tree.parent[following])
                self._follow(state, parents, following, prefix, tree, found)

    def _halve(self, method: Method, error: RuntimeError, possible: bool) -> None:
        if not is_out_of_memory(error):
            raise error
        if not possible:
            raise UserError(
                f"{self.name}: memory runs out for a single caption: use smaller images, a smaller "
                "dtype, the option quantisation, or device: auto to spread the model over devices."
            ) from error
        self._most[method] = max(1, self._most[method] // 2)
        _log.warning(
            "%s: out of memory, going on with passes of at most %d (%s).",
            self.name,
            self._most[method],
            method,
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of torch means that memory ran out, on a device or on the host."""
    text = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or any(sign in text for sign in OUT_OF_MEMORY)


def _take_first(found: Tensor, prefix: Prefix, tree: TokenTree) -> None:
    """Write the log-probabilities of the nodes that begin a caption."""
    begin = tree.parent < 0
    found[begin] = prefix.first[tree.tokens[begin].to(prefix.first.device)].cpu()


def _take_next(found: Tensor, logits: Tensor, tree: TokenTree, nodes: Tensor) -> None:
    """Write the log-probabilities of the nodes that follow ``nodes``.

    Args:
        found: float32 (all nodes,).
        logits: (nodes, vocabulary).
        tree: the tree.
        nodes: int64 (nodes,), in order.
    """
    following = torch.isin(tree.parent, nodes)
    rows = torch.searchsorted(nodes, tree.parent[following]).to(logits.device)
    logits = logits.float()
    total = logits.logsumexp(-1)
    tokens = tree.tokens[following].to(logits.device)
    found[following] = (logits[rows, tokens] - total[rows]).cpu()


def _chosen(logits: Tensor, tokens: Tensor) -> Tensor:
    """Return the log-probability of each token, float32 (rows, T)."""
    logits = logits.float()
    of_token = logits.gather(-1, tokens.to(logits.device)[..., None])[..., 0]
    return (of_token - logits.logsumexp(-1)).cpu()


def _parts(count: int, most: int) -> Iterator[slice]:
    for start in range(0, count, most):
        yield slice(start, start + most)
