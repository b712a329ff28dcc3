"""Reading what the strong model writes: question sets as JSON, mended where that is safe."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from bindbench.conme.samples import QuestionSet, plain

# What a server with structured output is asked for.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "answer": {"type": "string"},
                    "negatives": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["question", "answer", "negatives"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["questions"],
    "additionalProperties": False,
}
_FENCE = re.compile(r"```(?:json)?\s*(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHTS = re.compile(r"\s*<think>.*?</think>", re.DOTALL)


@dataclass(frozen=True)
class Reply:
    """What could be read of a reply."""

    sets: tuple[QuestionSet, ...]
    faults: dict[str, int]  # what was left out, by reason
    mended: str  # how the JSON was made readable; empty: it was


def parse_sets(text: str) -> Reply:
    """Return the question sets in a reply.

    JSON in a code fence or in prose is taken out of it; of JSON that breaks off, the objects that
    are whole are kept. A set without a question, an answer or a wrong answer is left out and
    counted, as is a wrong answer that reads like the right one.
    """
    text = _THOUGHTS.sub("", text, count=1)
    if not text.strip():
        return Reply((), {"empty reply": 1}, "")
    found, mended = _objects(text)
    if found is None:
        return Reply((), {"no JSON": 1}, "")
    faults: Counter[str] = Counter()
    sets = [one for value in found if (one := _set(value, faults)) is not None]
    if not found:
        faults["no questions"] += 1
    return Reply(tuple(sets), dict(faults), mended)


def _objects(text: str) -> tuple[list[Any] | None, str]:
    """Return the questions as JSON values, and what had to be done to read them."""
    stripped = text.strip()
    attempts = [(stripped, "")]
    if fenced := _FENCE.search(stripped):
        attempts.append((fenced[1].strip(), "fence"))
    if (start := _first(stripped)) is not None:
        attempts.append((stripped[start:], "prose"))
    for candidate, mended in attempts:
        try:
            value, end = json.JSONDecoder().raw_decode(candidate)
        except ValueError:
            continue
        questions = _questions(value)
        if questions is not None and (mended == "prose" or not candidate[end:].strip()):
            return questions, mended
    whole = _whole_objects(stripped)
    return (whole, "cut off") if whole else (None, "")


def _first(text: str) -> int | None:
    """Return where the first bracket stands."""
    found = re.search(r"[\[{]", text)
    return found.start() if found else None


def _questions(value: Any) -> list[Any] | None:
    """Return the list of questions of a reply, however it is wrapped."""
    if isinstance(value, dict) and "question" in value:
        return [value]
    if isinstance(value, dict):
        lists = [entry for entry in value.values() if isinstance(entry, list)]
        return lists[0] if len(lists) == 1 else None
    return value if isinstance(value, list) else None


def _whole_objects(text: str) -> list[Any]:
    """Return the objects with a question that can be read out of broken JSON."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while (start := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, start)
        except ValueError:
            at = start + 1
            continue
        if isinstance(value, dict) and "question" in value:
            found.append(value)
    return found


def _set(value: Any, faults: Counter[str]) -> QuestionSet | None:
    if not isinstance(value, dict):
        faults["not an object"] += 1
        return None
    question, answer = _text(value.get("question")), _text(value.get("answer"))
    given = value.get("negatives")
    negatives = [_text(one) for one in given] if isinstance(given, list) else []
    if not question or not answer:
        faults["no question" if not question else "no answer"] += 1
        return None
    kept: dict[str, str] = {}
    for negative in negatives:
        if not negative:
            faults["empty negative"] += 1
        elif plain(negative) == plain(answer):
            faults["negative equals answer"] += 1
        elif plain(negative) in kept:
            faults["negative twice"] += 1
        else:
            kept[plain(negative)] = negative
    if not kept:
        faults["no negative"] += 1
        return None
    return QuestionSet(question, answer, tuple(kept.values()))


def _text(value: Any) -> str:
    """Return a text without space around it; numbers are read as their digits."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value).split())
