"""The three ways of scoring, where memory ends and in what order captions come."""

import itertools

import numpy as np
import pytest
from stand_in import BLIND, WORDS, StandIn, StandInReader, prefix_model, scorer
from test_likelihood_known import BLIND_P, BRIGHT_P, DARK_P, ask

from bindbench.errors import UserError
from bindbench.scoring.likelihood import Likelihood

METHODS = ("token tree", "copied prefix", "level by level")
TABLES = [BLIND_P, DARK_P, BRIGHT_P]
CAPTIONS = [
    [WORDS.index("a"), *middle, WORDS.index("cup")][: 2 + len(middle)]
    for n in range(4)
    for middle in itertools.product((3, 4), repeat=n)
]


def by_hand(model: StandIn, caption: list[int]) -> float:
    table, before = model.log_p[BLIND].double(), [WORDS.index("say:"), *caption]
    return sum(float(table[a, b]) for a, b in itertools.pairwise(before))


def engine(model: StandIn, **how) -> tuple[Likelihood, object]:
    likelihood = Likelihood(prefix_model(model), "stand-in", **how)
    inputs = StandInReader().without_image(StandInReader().captions(["a"]))
    return likelihood, likelihood.model.read_prefix(inputs)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("captions", [CAPTIONS, CAPTIONS[::-1], CAPTIONS * 2, [[5]], [[5], [4]]])
def test_every_way_gives_each_captions_sum_in_the_order_asked(method, captions):
    model = StandIn(TABLES)
    likelihood, prefix = engine(model, pack_nodes=6)
    expected = [by_hand(model, caption) for caption in captions]
    for _ in range(2):  # the prefix is as it was
        np.testing.assert_allclose(likelihood.sums(prefix, captions, method), expected, atol=1e-5)
    assert prefix.cache.get_seq_length() == prefix.length == 1


@pytest.mark.parametrize("method", METHODS)
def test_passes_are_halved_where_memory_ends(method, caplog):
    whole = StandIn(TABLES)
    expected = [by_hand(whole, caption) for caption in CAPTIONS]
    small = StandIn(TABLES, most=5)
    likelihood, prefix = engine(small)
    np.testing.assert_allclose(likelihood.sums(prefix, CAPTIONS, method), expected, atol=1e-5)
    assert "stand-in: out of memory, going on with passes of at most" in caplog.text
    small.calls.clear()
    likelihood.sums(prefix, CAPTIONS, method)
    # What did not fit is not tried again.
    assert max(rows * length for rows, length in small.calls) <= 5
    assert likelihood.describe(method).startswith(f"{method} in passes of ")


@pytest.mark.parametrize(("method", "most"), [("token tree", 3), ("copied prefix", 3)])
def test_a_caption_that_does_not_fit_alone_is_one_sentence(method, most):
    likelihood, prefix = engine(StandIn(TABLES, most=most))
    with pytest.raises(UserError, match="stand-in: memory runs out for a single caption: use"):
        likelihood.sums(prefix, CAPTIONS, method)


def test_an_image_that_does_not_fit_is_one_sentence():
    with pytest.raises(UserError, match="memory runs out for one image"):
        scorer(StandIn(TABLES, most=1)).score([ask(BLIND)])


def test_a_self_test_that_does_not_fit_is_one_sentence():
    with pytest.raises(UserError, match="memory runs out in the self-test"):
        scorer(StandIn(TABLES, most=10)).score([ask(BLIND)])


def test_other_errors_of_a_model_are_not_taken_for_memory(monkeypatch):
    likelihood, prefix = engine(StandIn(TABLES))

    def breaks(*args):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(likelihood.model, "read_on", breaks)
    for method in METHODS:
        with pytest.raises(RuntimeError, match="shapes"):
            likelihood.sums(prefix, CAPTIONS, method)


def test_a_caption_without_a_token_is_refused_with_its_item():
    with pytest.raises(UserError, match="item 2 holds a caption without any token"):
        scorer(StandIn(TABLES)).score([ask(2, ["a red cup", ""])])
