"""Contextual captions: written by a model, checked, and written again where the check fails.

Auto-Comp, section 3 ("Contextual Captions"). Every attempt has a seed of its own, because a
retry with the same one would only fail again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bindbench.captions.preservation import check
from bindbench.captions.slots import Template
from bindbench.concepts import Concept, content_id
from bindbench.models.base import Writer
from bindbench.vocabulary import Lexicon


@dataclass(frozen=True)
class ContextualCaption:
    """The last caption written for a concept, and what became of it."""

    text: str
    template: Template | None  # None: no attempt passed
    attempts: int
    reason: str  # why the last attempt failed; "" if it passed


def write_contextual(
    writer: Writer, concepts: Sequence[Concept], lexicon: Lexicon, seed: int, attempts: int
) -> list[ContextualCaption]:
    """Write a contextual caption for each concept, with up to ``attempts`` tries (at least 1).

    All captions of one attempt are one batch. Each depends on its concept, the seed and the
    attempt, and on nothing else in the batch as far as the writer keeps them apart.
    """
    written: dict[int, ContextualCaption] = {}
    waiting = list(range(len(concepts)))
    for attempt in range(1, attempts + 1):
        batch = [concepts[i] for i in waiting]
        seeds = [attempt_seed(seed, concept, attempt) for concept in batch]
        texts = writer.write(batch, seeds) if batch else []
        for i, text in zip(waiting, texts, strict=True):
            verdict = check(text, concepts[i], lexicon)
            written[i] = ContextualCaption(text, verdict.template, attempt, verdict.reason)
        waiting = [i for i in waiting if written[i].template is None]
    return [written[i] for i in range(len(concepts))]


def attempt_seed(seed: int, concept: Concept, attempt: int) -> int:
    """Return the seed of one attempt at one concept's caption, below 2**32."""
    return int(content_id([seed, "contextual", concept.id, attempt])[:8], 16)
