"""Two captions of one template with the words that differ marked."""

import re
from collections.abc import Iterable

from bindbench.candidates import Words
from bindbench.captions.slots import Slot, Template

Marked = tuple[tuple[str, bool], ...]  # pieces of a text, each with whether it differs


def mark(template: Template, own: Words, text: str, words: Words) -> tuple[Marked, Marked]:
    """Return the template's caption and another one, cut where their words differ.

    Objects and labels are compared place by place; determiners and verbs, which only follow
    them, are not marked.

    Args:
        template: the right caption with its slots.
        own: the objects and labels of the right caption.
        text: the other caption, rendered from the same template.
        words: the objects and labels of the other caption.

    Raises:
        ValueError: the other caption does not hold its words in the template's order.
    """
    slots = sorted((s for s in template.slots if s.kind in ("object", "label")), key=_start)
    there = _spans(template, slots, own, text, words)
    differ = [_word(slot, own) != _word(slot, words) for slot in slots]
    here = [(slot.start, slot.end) for slot in slots]
    return _cut(template.text, here, differ), _cut(text, there, differ)


def plain(marked: Marked) -> str:
    """Return the text without its marks."""
    return "".join(piece for piece, _ in marked)


def _start(slot: Slot) -> int:
    return slot.start


def _word(slot: Slot, words: Words) -> str:
    objects, labels = words
    return (objects if slot.kind == "object" else labels)[slot.position]


def _spans(
    template: Template, slots: list[Slot], own: Words, text: str, words: Words
) -> list[tuple[int, int]]:
    """Find the words of the other caption, one after the other."""
    spelled = {_word(slot, own): template.text[slot.start : slot.end] for slot in slots}
    spans, last = [], 0
    for slot in slots:
        name = _word(slot, words)
        pattern = rf"(?<!\w){re.escape(spelled.get(name, name))}(?!\w)"
        found = re.compile(pattern, re.IGNORECASE).search(text, last)
        if found is None:
            raise ValueError(f"{name!r} is not where the template has it in {text!r}")
        spans.append(found.span())
        last = found.end()
    return spans


def _cut(text: str, spans: Iterable[tuple[int, int]], differ: Iterable[bool]) -> Marked:
    pieces, last = [], 0
    for (start, end), marked in zip(spans, differ, strict=True):
        if marked:
            pieces += [(text[last:start], False), (text[start:end], True)]
            last = end
    return tuple(piece for piece in (*pieces, (text[last:], False)) if piece[0])
