"""Any chat model says which category of a taxonomy a sample is of (ConMe, section 5.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bindbench.conme import prompts
from bindbench.conme.asking import AskAll
from bindbench.conme.samples import Sample
from bindbench.conme.taxonomy import Taxonomy
from bindbench.models.base import Image, Reply, ReplyRequest


@dataclass(frozen=True)
class Labelled:
    """The category of a sample."""

    label: str  # "": the reply names none
    reply: Reply


def label(
    ask: AskAll, taxonomy: Taxonomy, samples: Sequence[Sample], images: Mapping[str, Image]
) -> list[Labelled]:
    """Return the category of each sample, which is one of the taxonomy's or none.

    The categories are the options of a choice, so that a model can't name anything else. All
    samples of a question with its answer are of one category, and asked for once.

    Args:
        ask: the model.
        taxonomy: whose categories.
        samples: what is labelled.
        images: by image id.
    """
    categories = tuple(taxonomy.categories)
    keys = list(dict.fromkeys((s.image_id, s.question, s.answer) for s in samples))
    requests = [
        ReplyRequest(
            images[image],
            prompts.categorise(taxonomy, question, answer),
            categories,
            key=f"{taxonomy.name}/{image}/{i}",
        )
        for i, (image, question, answer) in enumerate(keys)
    ]
    found = dict(zip(keys, ask(requests), strict=True))
    replies = [found[s.image_id, s.question, s.answer] for s in samples]
    return [Labelled(r.text if r.text in taxonomy.categories else "", r) for r in replies]
