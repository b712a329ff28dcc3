"""The blind audit: whether a single cue of the text gives the right caption away.

A benchmark that can be solved from its captions alone measures nothing: 13-15% of SugarCrepe's
right captions carry stray white space and no wrong one does. Each cue is a number that is read off
a caption; choosing the caption with the most of it (or the least) is a model that sees nothing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bindbench.analysis.accuracy import (
    Design,
    Items,
    Mode,
    Outcomes,
    negatives,
    outcomes_of,
    pack,
)
from bindbench.analysis.resampling import (
    LEVEL,
    bootstrap_mean,
    holm,
    poisson_binomial,
    proportion,
)
from bindbench.captions.grammar import article

Direction = Literal["most", "least"]
DIRECTIONS: tuple[Direction, ...] = ("most", "least")
MODES: tuple[Mode, ...] = ("strict", "paper")

_ARTICLE = re.compile(r"\b(an?) ([a-z0-9]\S*)", re.IGNORECASE)
_ODD_SPACE = re.compile(r"\s{2,}|[^\S ]")
_MARK = re.compile(r"[^\w\s]")
_WORD = re.compile(r"[\w'-]+")
_DETERMINERS = frozenset({"a", "an", "some", "pair", "of"})  # they follow the nouns


def _edge_space(text: str) -> int:
    return len(text) - len(text.strip())


def _odd_space(text: str) -> int:
    return len(_ODD_SPACE.findall(text.strip()))


def _final_punctuation(text: str) -> int:
    return text.rstrip()[-1:] in tuple(".!?…")


def _punctuation(text: str) -> int:
    return len(_MARK.findall(text))


def _first_capital(text: str) -> int:
    return text.lstrip()[:1].isupper()


def _capitals(text: str) -> int:
    return sum(map(str.isupper, text))


def _characters(text: str) -> int:
    return len("".join(text.split()))


def _words(text: str) -> int:
    return len(text.split())


def _article_errors(text: str) -> int:
    return sum(found.lower() != article(word) for found, word in _ARTICLE.findall(text))


def _repeated_words(text: str) -> int:
    words = [w for w in _WORD.findall(text.lower()) if w not in _DETERMINERS]
    return len(words) - len(set(words))


CUES: dict[str, Callable[[str], int]] = {
    "edge_space": _edge_space,  # white space before and after
    "odd_space": _odd_space,  # double spaces, tabs and line breaks inside
    "final_punctuation": _final_punctuation,
    "punctuation": _punctuation,
    "first_capital": _first_capital,
    "capitals": _capitals,
    "characters": _characters,  # white space apart
    "words": _words,
    "article_errors": _article_errors,  # "a orange cup"
    "repeated_words": _repeated_words,
}
# Confusion captions repeat words by definition, and the right one never does: known, and the reason
# why Swap stands beside Confusion.
BY_DESIGN = {("repeated_words", "confusion"), ("repeated_words", "confusion_no_count")}


@dataclass(frozen=True)
class CueResult:
    """How well one cue picks the right captions of one family, by its most or its least."""

    cue: str
    direction: Direction
    family: str
    mode: Mode
    n_items: int  # items with something to beat
    differs: int  # of them, those in which the cue tells any of the candidates apart
    accuracy: float  # a tie is a loss
    low: float  # its 95% interval
    high: float
    credit: float  # a tie at the top counts 1 / (number tied)
    credit_low: float
    credit_high: float
    chance: float  # of the accuracy without ties, and of the credit
    p_value: float  # of so many right captions at the top, were they like the wrong ones

    @property
    def by_design(self) -> bool:
        """Whether the family is made so that the cue works."""
        return (self.cue, self.family) in BY_DESIGN

    @property
    def leak(self) -> bool:
        """Whether the cue gives right captions away, and was not meant to."""
        return self.p_value < 1 - LEVEL and not self.by_design


def read_cues(texts: Sequence[Sequence[str]]) -> dict[str, list[np.ndarray]]:
    """Return each cue of each item's captions, float64 (candidates,)."""
    return {
        name: [np.array([read(text) for text in item], float) for item in texts]
        for name, read in CUES.items()
    }


def words_in_order(words: Sequence[Sequence[str]]) -> np.ndarray:
    """Return, for each caption's words, the share of pairs in alphabetical order, float64.

    A cue of its own: a sampler that sorts its words gives them away by it.
    """
    table = np.unique(np.asarray(words), return_inverse=True)[1].reshape(len(words), -1)
    if table.shape[1] == 1:  # one relation has no order
        return np.zeros(len(words))
    first, second = np.triu_indices(table.shape[1], k=1)
    return (table[:, first] < table[:, second]).mean(axis=1)


def audit(
    cues: Mapping[str, Sequence[np.ndarray]],
    semantics: Sequence[np.ndarray],
    subsets: Mapping[str, np.ndarray],
    design: Design,
    only: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
) -> list[CueResult]:
    """Return what every cue achieves on every family, in both directions and modes.

    The p-values are not corrected: pass the results of a whole report through ``corrected``.

    Args:
        cues: for each cue, the numbers of each item's candidates (candidates,), the positive
            first.
        semantics: int8 (candidates,) for each item.
        subsets: bool (items, candidates): the candidates of each family.
        design: of the items; intervals are clustered by scene, and tests take one item of each.
        only: the families of a cue that makes sense for some of them.
        seed: of the bootstrap.
    """
    results = []
    for cue, values in cues.items():
        items = pack(values, semantics, "float64", design)
        for family, subset in subsets.items():
            if only and family not in only.get(cue, (family,)):
                continue
            for direction in DIRECTIONS:
                signed = items if direction == "most" else replace(items, scores=-items.scores)
                for mode in MODES:
                    outcomes = outcomes_of(signed, mode, subset)
                    if outcomes.included.any():
                        found = (cue, direction, family, mode)
                        results.append(_result(*found, signed, outcomes, subset, seed))
    return results


def _result(
    cue: str,
    direction: Direction,
    family: str,
    mode: Mode,
    items: Items,
    outcomes: Outcomes,
    subset: np.ndarray,
    seed: int,
) -> CueResult:
    counted = outcomes.included
    at_top = _at_top(items, mode, subset)
    scenes, chance = items.design.scenes[counted], float(outcomes.chance[counted].mean())
    share = proportion(outcomes.win[counted], scenes)
    excess = (outcomes.credit - outcomes.chance)[counted]
    interval = bootstrap_mean(excess, scenes, seed) if excess.any() else None
    first = np.unique(scenes, return_index=True)[1]
    won = (outcomes.credit > 0)[counted][first]
    pmf = poisson_binomial((at_top * outcomes.chance)[counted][first])
    differs = int(np.sum(at_top[counted] <= outcomes.rivals[counted]))
    return CueResult(
        cue=cue,
        direction=direction,
        family=family,
        mode=mode,
        n_items=share.n,
        differs=differs,
        accuracy=share.value,
        low=share.low,
        high=share.high,
        credit=float(outcomes.credit[counted].mean()),
        credit_low=max(0.0, chance + interval.low) if interval else chance,
        credit_high=min(1.0, chance + interval.high) if interval else chance,
        chance=chance,
        p_value=min(1.0, float(pmf[int(won.sum()) :].sum())) if differs else 1.0,
    )


def _at_top(items: Items, mode: Mode, subset: np.ndarray) -> np.ndarray:
    """Return how many of each item's candidates share the highest value, int64 (items,)."""
    compared = negatives(items.semantics, mode, subset)
    compared[:, 0] = True
    values = np.where(compared, items.scores, -np.inf)
    return np.sum(values == values.max(axis=1, keepdims=True), axis=1)


def corrected(results: Sequence[CueResult]) -> list[CueResult]:
    """Return the results of one report with p-values corrected by Holm's method, by mode.

    Cues that never tell candidates apart are not counted: they can't be found to leak.
    """
    out = list(results)
    for mode in MODES:
        places = [i for i, result in enumerate(out) if result.mode == mode and result.differs]
        for i, p_value in zip(places, holm([out[i].p_value for i in places]), strict=True):
            out[i] = replace(out[i], p_value=p_value)
    return out
