"""Contextual captions: written by a model, cleaned, checked, and written again where that fails.

Auto-Comp, section 3 ("Contextual Captions"). Every attempt has a seed of its own, because a
retry with the same one would only fail again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bindbench.captions.cleaning import clean
from bindbench.captions.preservation import check
from bindbench.captions.slots import Template
from bindbench.concepts import Concept, content_id
from bindbench.models.base import Writer, Written
from bindbench.vocabulary import Lexicon

REFUSAL, UNFINISHED = "refusal", "unfinished"  # reasons beside those of the check
_WHOLE = re.compile(r"[.!?…][\"'”’)]*$")


@dataclass(frozen=True)
class Attempt:
    """One try at a caption."""

    written: Written
    text: str  # the caption in it
    cut: tuple[str, ...]  # what else was in it, see ``cleaning``
    template: Template | None  # None: it failed
    reason: str  # why it failed; "" if it passed


@dataclass(frozen=True)
class ContextualCaption:
    """All tries at a concept's caption; the last one counts."""

    tries: tuple[Attempt, ...]

    @property
    def text(self) -> str:
        """The last caption written."""
        return self.tries[-1].text

    @property
    def template(self) -> Template | None:
        """Its template; None: no attempt passed."""
        return self.tries[-1].template

    @property
    def attempts(self) -> int:
        """How often it was tried."""
        return len(self.tries)

    @property
    def reason(self) -> str:
        """Why the last attempt failed; "" if it passed."""
        return self.tries[-1].reason


def write_contextual(
    writer: Writer, concepts: Sequence[Concept], lexicon: Lexicon, seed: int, attempts: int
) -> list[ContextualCaption]:
    """Write a contextual caption for each concept, with up to ``attempts`` tries (at least 1).

    All captions of one attempt are one batch. Each depends on its concept, the seed and the
    attempt, and on nothing else in the batch as far as the writer keeps them apart.

    Raises:
        Unfinished: the writer gave no caption for some concepts.
    """
    tries: list[list[Attempt]] = [[] for _ in concepts]
    waiting = list(range(len(concepts)))
    for attempt in range(1, attempts + 1):
        batch = [concepts[i] for i in waiting]
        seeds = [attempt_seed(seed, concept, attempt) for concept in batch]
        written = writer.write(batch, seeds) if batch else []
        for i, found in zip(waiting, written, strict=True):
            tries[i].append(checked(found, concepts[i], lexicon))
        waiting = [i for i in waiting if tries[i][-1].template is None]
    return [ContextualCaption(tuple(own)) for own in tries]


def checked(written: Written, concept: Concept, lexicon: Lexicon) -> Attempt:
    """Clean what a writer wrote and check it."""
    cleaned = clean(written.text)
    if cleaned.refusal or written.fault == REFUSAL:
        return Attempt(written, cleaned.text, cleaned.cut, None, REFUSAL)
    # Cut off behind a whole sentence, it is the sentence that counts.
    if written.fault == UNFINISHED and not _WHOLE.search(cleaned.text):
        return Attempt(written, cleaned.text, cleaned.cut, None, UNFINISHED)
    verdict = check(cleaned.text, concept, lexicon)
    return Attempt(written, cleaned.text, cleaned.cut, verdict.template, verdict.reason)


def attempt_seed(seed: int, concept: Concept, attempt: int) -> int:
    """Return the seed of one attempt at one concept's caption, below 2**32."""
    return int(content_id([seed, "contextual", concept.id, attempt])[:8], 16)
