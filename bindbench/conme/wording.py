"""A labeller that is no model: it reads the forms of the questions that the agent of renders asks.

``bindbench.conme.sight`` writes these in a few fixed forms, and the form says what a question is
about. Any other question has no category.
"""

import re
from collections.abc import Sequence

from bindbench.conme.labelling import Labelled
from bindbench.conme.samples import Sample, plain
from bindbench.conme.taxonomy import Taxonomy
from bindbench.models.base import Reply

# By form: the category of ``topics`` (ConMe, Table 6). The first form that fits counts.
TOPICS = {
    r"what color (is|are) .+": "color",
    r"how many objects are there": "count",
    r"where (is|are) the .+": "proximity",
    r"(is|are) the .+ or .+ the .+": "proximity",
    r"what is the .+ object": "attribute",
    r"what is .+ the .+": "proximity",
}
FORMAT = "selective"  # of all of them: they ask about what is there and can be said (Table 5)


def topic_of(question: str) -> str:
    """Return the topic that a question's form says; "": it has none of the forms."""
    text = plain(question).rstrip("?")
    return next((topic for form, topic in TOPICS.items() if re.fullmatch(form, text)), "")


def label_by_wording(taxonomy: Taxonomy, samples: Sequence[Sample]) -> list[Labelled]:
    """Return the category of each sample, by its question's form.

    Args:
        taxonomy: ``topics`` or ``formats``; nothing is known of others.
        samples: what is labelled.
    """
    labels = []
    for sample in samples:
        topic = topic_of(sample.question)
        label = {"topics": topic, "formats": FORMAT if topic else ""}.get(taxonomy.name, "")
        labels.append(Labelled(label, Reply(label)))
    return labels
