"""Get the caption out of a language model's answer, and say what else was in it.

Models add what they were asked to leave out: an introduction, remarks, quotation marks, markup, a
second sentence. Each is taken off by a fixed rule and named, so that it can be counted. Nothing is
repaired: whether what is left says what it should is for the preservation check.
"""

import re
from typing import NamedTuple

THOUGHTS = "thoughts"  # what stands in <think> tags
MARKUP = "markup"  # emphasis, code fences, headings
PREAMBLE = "preamble"  # "Sure, here is a caption:"
LIST = "list"  # several answers, of which the first counts
REMARK = "remark"  # what follows the caption and is about it
QUOTES = "quotes"  # around the caption
SENTENCES = "sentences"  # all after the first
BLANKS = "blanks"  # tabs and double blanks inside the caption
KINDS = (THOUGHTS, MARKUP, PREAMBLE, LIST, REMARK, QUOTES, SENTENCES, BLANKS)


class Cleaned(NamedTuple):
    """What is left of an answer."""

    text: str
    cut: tuple[str, ...]  # the kinds of what was taken off, in the order of ``KINDS``
    refusal: bool  # the model says that it can't or won't; the text is that


_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_FENCE = re.compile(r"(?:```|~~~)[\w+-]*")
_HEADING = re.compile(r"#{1,6}\s+")
_QUOTATION = re.compile(r">\s+")
_ITEM = re.compile(r"(?:[-*•–]|\(?\d{1,2}[.):])\s+")
_EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")

_ASSENT = r"(?:sure|certainly|of course|okay|ok|absolutely|great|alright|no problem|got it)"
_ANSWER = (
    r"(?:captions?|sentences?|descriptions?|answers?|outputs?|responses?|texts?|versions?"
    r"|examples?|attempts?|options?|results?)"
)
_PREAMBLE = re.compile(
    rf"{_ASSENT}(?: thing)?\s*[,.!:–—]+\s*"
    rf"|(?:here(?:['’]s| is| are)|this is|below is|my|the|an?|final|possible)\b"
    rf"[^:.!?]{{0,80}}?\b{_ANSWER}\b[^:.!?]{{0,60}}:\s*"
    rf"|here(?:['’]s| is) one:\s*"
    rf"|{_ANSWER}(?: \d+)?\s*(?::\s*|$)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?:unfortunately,? )?(?:i['’]m|i am) (?:sorry|afraid|unable|not able|not sure)\b"
    r"|(?:unfortunately,? )?i (?:can['’]?t|cannot|can not|could not|couldn['’]t|won['’]t|will not"
    r"|do not|don['’]t|need|would need|apologi[sz]e)\b"
    r"|sorry\b|(?:my )?apologies\b|as an? (?:ai|language model|assistant)\b"
    r"|(?:(?:could|can) you|please) (?:please )?(?:provide|specify|clarify|give|tell|share)\b",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"\W*(?:note|explanation|p\.?s\.|word count|let me know|feel free|would you|here)\b"
    r"|[(\[]|\W*i(?: |['’])(?:have|used|included|tried|hope|made|kept|chose|ve|m)\b"
    r"|\W*(?:this|the|my) (?:caption|sentence|description)\b",
    re.IGNORECASE,
)
_CLOSING = {'"': '"', "“": "”", "'": "'", "‘": "’", "«": "»"}
_FEWEST_QUOTED = 4  # words before others; fewer are a name in the caption
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)]*\s+(?=\W*[A-Z0-9])")
_ABBREVIATION = re.compile(
    r"(?:^|\W)(?:mr|mrs|ms|dr|prof|st|mt|no|vs|etc|e\.g|i\.e|a\.m|p\.m|[A-Z])$", re.IGNORECASE
)


def clean(answer: str) -> Cleaned:
    """Return the caption in an answer: its first sentence that is no preamble."""
    return _Cleaner().clean(answer)


class _Cleaner:
    """Takes an answer apart, and remembers what was cut."""

    def __init__(self) -> None:
        self._cut: set[str] = set()

    def clean(self, answer: str) -> Cleaned:
        text = self._without(THOUGHTS, _THOUGHTS, answer)
        lines = self._plain_lines(text)
        first = self._first_line(lines)
        refusal = bool(_REFUSAL.match(first))
        if not refusal:
            first = self._first_sentence(self._unquoted(first))
            words = " ".join(first.split())
            self._note(BLANKS, words != first)
            first = words
        return Cleaned(first, tuple(kind for kind in KINDS if kind in self._cut), refusal)

    def _note(self, kind: str, found: object = True) -> None:
        if found:
            self._cut.add(kind)

    def _without(self, kind: str, pattern: re.Pattern[str], text: str) -> str:
        """Return a text without all that a pattern finds."""
        left = pattern.sub("", text)
        self._note(kind, left != text)
        return left

    def _plain_lines(self, text: str) -> list[str]:
        """Return the lines that say something, without markup; headings above others are none."""
        written = [line.strip() for line in text.splitlines() if line.strip()]
        lines = [line for line in written if not _FENCE.fullmatch(line)]
        self._note(MARKUP, len(lines) < len(written))
        while len(lines) > 1 and _HEADING.match(lines[0]):
            self._note(MARKUP)
            del lines[0]
        return [self._plain(line) for line in lines]

    def _plain(self, line: str) -> str:
        for pattern in (_HEADING, _QUOTATION):
            if found := pattern.match(line):
                self._note(MARKUP)
                line = line[found.end() :]
        # A list's marks are left: they tell items apart.
        mark = _ITEM.match(line)
        start = mark.end() if mark else 0
        return line[:start] + self._without(MARKUP, _EMPHASIS, line[start:])

    def _first_line(self, lines: list[str]) -> str:
        """Return the first line that is no preamble, without what introduces it."""
        for number, line in enumerate(lines):
            rest = lines[number + 1 :]
            if item := _ITEM.match(line):
                self._note(LIST)
                line = line[item.end() :]
            while found := _PREAMBLE.match(line):
                self._note(PREAMBLE)
                line = line[found.end() :]
            if not line or (line.endswith(":") and rest):
                self._note(PREAMBLE)
                continue
            self._note(REMARK, rest and not item)
            return line
        return ""

    def _unquoted(self, line: str) -> str:
        """Return what stands in the quotation marks that a line begins with."""
        closing = _CLOSING.get(line[:1])
        if closing is None:
            return line
        end = re.search(rf"{closing}(?!\w)", line[1:])
        inside = line[1 : 1 + end.start()] if end else line[1:]
        after = line[1 + end.end() :].strip(" .") if end else ""
        if after and len(inside.split()) < _FEWEST_QUOTED:
            return line
        self._note(QUOTES)
        self._note(REMARK, after)
        return inside

    def _first_sentence(self, line: str) -> str:
        for end in _SENTENCE_END.finditer(line):
            if line[end.start()] == "." and _ABBREVIATION.search(line[: end.start()]):
                continue
            self._note(REMARK if _REMARK.match(line[end.end() :]) else SENTENCES)
            return line[: end.end()].rstrip()
        return line
