"""Questions with options: what is offered in which order, what an answer says, and the votes."""

import json
import math
import re
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bindbench.analysis.choice import MOST_WRONG, choice_subset
from bindbench.semantics import FALSE

LETTERS = string.ascii_uppercase  # more options than these are numbered
MOST_OPTIONS = len(LETTERS)
ITEMS_NAMED = 20  # in a summary; more are counted


@dataclass(frozen=True)
class ChoiceQuestion:
    """One set of options, asked once in each of several orders."""

    family: str  # of the wrong options
    offered: tuple[int, ...]  # the candidates, the positive first
    orders: tuple[tuple[int, ...], ...]  # of each rotation: the candidate at each position


def choice_question(
    key: str,
    family: str,
    wrong: Sequence[int],
    rotations: int,
    most: int = MOST_WRONG,
    seed: int = 0,
) -> ChoiceQuestion:
    """Return the question that offers the positive (candidate 0) and wrong candidates.

    The options stand in a shuffled order that is rotated cyclically. With as many rotations as
    options, each stands at each position once, so that a preference for a position gives every
    option the same number of votes. Fewer rotations are spread evenly over the cycle.

    Args:
        key: identifies the item; order and sample follow from it, the family and the seed.
        family: of the wrong candidates.
        wrong: their indices; if there are more than 25, ``most`` of them are drawn.
        rotations: how many orders are asked, at most one for each option.
        most: how many wrong options a question of more than 26 options has.
        seed: another one draws other candidates and orders.
    """
    pool = np.array([0, *wrong])
    if len(pool) > MOST_OPTIONS:
        pool = pool[choice_subset(f"{key}/{family}", len(pool), most, seed)]
    shuffled = np.random.default_rng([seed, *f"{key}/{family}".encode()]).permutation(pool)
    count = min(rotations, len(pool))
    starts = [turn * len(pool) // count for turn in range(count)]
    orders = tuple(tuple(np.roll(shuffled, -start).tolist()) for start in starts)
    return ChoiceQuestion(family, tuple(pool.tolist()), orders)


def wrong_options(truth: np.ndarray, families: Sequence[str]) -> dict[str, list[int]]:
    """Return the wrong candidates of each question that an item asks, by family.

    Only false candidates are offered: a question with two right answers has none. Items of
    several objects have one question about all of them (``confusion``, of which the swaps are a
    part) and one about the swaps alone; items of one object have one for each family; items
    without families have one.

    Args:
        truth: int8 (candidates,): the semantics.
        families: of each candidate, "" for the positive; empty if not known.
    """
    false = [int(i) for i in np.flatnonzero(truth == FALSE)]
    if not families:
        found = {"all": false}
    elif {"swap", "confusion"} & {*families}:
        found = {"confusion": false, "swap": [i for i in false if families[i] == "swap"]}
    else:
        names = dict.fromkeys(name for name in families if name)
        found = {name: [i for i in false if families[i] == name] for name in names}
    return {name: wrong for name, wrong in found.items() if wrong}


def option_labels(count: int) -> list[str]:
    """Return the names of the options: letters, or numbers where the letters run out."""
    if count <= MOST_OPTIONS:
        return list(LETTERS[:count])
    return [str(number) for number in range(1, count + 1)]


def choice_prompt(question: str, texts: Sequence[str], thing: str = "caption") -> str:
    """Return a question with its options, one a line, and how to answer.

    Args:
        question: what is asked.
        texts: of the options.
        thing: what an option is.
    """
    labels = option_labels(len(texts))
    lines = [f"{label}. {text}" for label, text in zip(labels, texts, strict=True)]
    kind = "letter" if labels[0].isalpha() else "number"
    return "\n".join([question, *lines, f"Answer with the {kind} of the {thing} only."])


_LEAD = (
    r"(?:(?:the\s+)?(?:final\s+)?(?:(?:correct|right|best)\s+)?"
    r"(?:answer|option|caption|choice|letter|number)\s*(?:is\b)?\s*:?\s*){0,2}"
)
_LABELLED = re.compile(
    _LEAD + r"[(\[]?(?P<label>[a-z]|\d{1,2})(?P<end>[)\].:,;]*)(?:\s+(?:[-–:]\s+)?(?P<rest>.+))?",
    re.IGNORECASE | re.DOTALL,
)
_YES_NO = re.compile(_LEAD + r"(?P<word>yes|no)[.!]?", re.IGNORECASE)
_THOUGHTS = re.compile(r"\s*<think>.*?</think>", re.DOTALL)


def parse_choice(answer: str, texts: Sequence[str]) -> int | None:
    """Return the position that an answer names, or None if it names none or not clearly one.

    An answer is the option's label, bare or in one of a few common wrappings ("(B)", "**B**.",
    "The answer is B"), alone or before the option's own text; or that text alone. Anything else,
    also a label in the middle of prose, is not read: "A white car" is no vote for A.

    Args:
        answer: the model's words; what stands in <think> tags at their start is left out.
        texts: of the options, in the order in which they were asked.
    """
    words = _bare(answer)
    labels = [label.lower() for label in option_labels(len(texts))]
    plain = [_plain(text) for text in texts]
    meant = {i for i, text in enumerate(plain) if text == _plain(words)}
    found = _LABELLED.fullmatch(words)
    if found and found["label"].lower() in labels:
        position = labels.index(found["label"].lower())
        if found["rest"] is None or _plain(found["rest"]) == plain[position]:
            meant.add(position)
    return meant.pop() if len(meant) == 1 else None


def parse_yes_no(answer: str) -> bool | None:
    """Return whether an answer is yes; None if it is neither "yes" nor "no" alone."""
    found = _YES_NO.fullmatch(_bare(answer))
    return None if found is None else found["word"].lower() == "yes"


def _bare(answer: str) -> str:
    """Return an answer without thoughts and without marks of emphasis."""
    return re.sub(r"[*`]", "", _THOUGHTS.sub("", answer, count=1)).strip().strip("\"'“”")


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .\"'“”")


def votes(orders: Sequence[Sequence[int]], chosen: Sequence[int | None], size: int) -> np.ndarray:
    """Return the share of the rotations in which each candidate was chosen, float64 (size,).

    Args:
        orders: of each rotation: the candidate at each position.
        chosen: of each rotation: the position that was chosen; None: the answer was not readable.
        size: how many candidates the item has.
    """
    counts = np.zeros(size)
    for order, position in zip(orders, chosen, strict=True):
        if position is not None:
            counts[order[position]] += 1
    return counts / len(orders)


_AROUND = " \t\n\r▁Ġ.:)(]['\"*"  # a letter, in a token


def yes_no_log_odds(top: Sequence[tuple[str, float]]) -> float | None:
    """Return log P(yes) - log P(no) from the likeliest first tokens, or None without either.

    Spellings ("Yes", " yes") are added up. Where only one of the two is listed, the other is at
    most as likely as the least likely token listed, which stands in for it.

    Args:
        top: tokens with their log-probabilities.
    """
    found = {word: [p for token, p in top if _word(token) == word] for word in ("yes", "no")}
    if not found["yes"] and not found["no"]:
        return None
    least = min(p for _, p in top)
    yes, no = (_log_sum(found[word]) if found[word] else least for word in ("yes", "no"))
    return yes - no


def letter_shares(top: Sequence[tuple[str, float]], count: int) -> np.ndarray | None:
    """Return each option's share of the probability of all letters, float64 (count,).

    None where the likeliest token is no option's letter, and where options are numbered. Letters
    that are not listed have no share.

    Args:
        top: the likeliest first tokens with their log-probabilities.
        count: how many options there are.
    """
    labels = option_labels(count)
    if not top or count > MOST_OPTIONS:
        return None
    found = [[p for token, p in top if token.strip(_AROUND) == label] for label in labels]
    likeliest = max(top, key=lambda entry: entry[1])[0].strip(_AROUND)
    if likeliest not in labels:
        return None
    shares = np.array([sum(map(math.exp, own)) for own in found])
    return shares / shares.sum()


def first_token_sums(
    top: Sequence[tuple[str, float]], options: Sequence[str]
) -> tuple[float, ...] | None:
    """Return the log-probability of each one-token option from the likeliest first tokens.

    Spellings ("Yes", " yes"; "A", "(A") are added up; of a capital letter, its own case alone, as
    "a" begins many a sentence. An option that is not listed is at most as likely as the least
    likely token listed, which stands in for it. None if no option is listed.
    """
    found = [
        [p for token, p in top if option in (token.strip(_AROUND), _word(token))]
        for option in options
    ]
    if not any(found):
        return None
    least = min(p for _, p in top)
    return tuple(_log_sum(own) if own else least for own in found)


def _word(token: str) -> str:
    return token.strip(" \t\n\r▁Ġ.\"'*").lower()


def _log_sum(values: Sequence[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def usage_of(raws: Iterable[str | None]) -> dict[str, Any]:
    """Sum up what the answers behind scores took, from the column ``raw``; {} if there are none.

    An answer that several items share counts once; tries that failed don't count. Returns
    ``answers`` (distinct ones), ``input_tokens`` and ``output_tokens``, ``unmeasured`` (answers
    for which the server did not say how many tokens they took), ``unreadable`` (questions left
    without an answer that could be read), the keys of the first items with any in
    ``unreadable_items``, and ``served``: the models that the server said it used.
    """
    seen: dict[str, dict[str, Any]] = {}
    unreadable, items, any_raw = 0, [], False
    for raw in raws:
        if raw is None:
            continue
        any_raw, row = True, json.loads(raw)
        seen |= {answer["key"]: answer for answer in row["answers"]}
        unreadable += row["unreadable"]
        items += [row["item"]] if row["unreadable"] else []
    if not any_raw:
        return {}
    answers = list(seen.values())
    return {
        "answers": len(answers),
        "input_tokens": sum(answer["input"] or 0 for answer in answers),
        "output_tokens": sum(answer["output"] or 0 for answer in answers),
        "unmeasured": sum(answer["input"] is None for answer in answers),
        "unreadable": unreadable,
        "unreadable_items": items[:ITEMS_NAMED],
        "served": sorted({answer["served"] for answer in answers} - {""}),
    }


def cost_of(usage: dict[str, Any], input_price: float, output_price: float) -> float:
    """Return what tokens cost, in the currency of the prices, which are for a million tokens."""
    paid = usage["input_tokens"] * input_price + usage["output_tokens"] * output_price
    return paid / 1e6
