"""Questions generated from a concept, whose right answers are known from the text alone.

The score of an image is the share that a model answers rightly, as in TIFA (Hu et al., 2023; Auto-
Comp, A.7.2). There a language model writes questions from a caption; here a concept says all that
a caption claims, so that they follow from templates: is each object there, how often, of what
color, and in what relation to the next.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from bindbench.captions import grammar
from bindbench.concepts import Concept
from bindbench.models.base import Question
from bindbench.validation.labels import label_questions
from bindbench.vocabulary import Lexicon, Noun

Kind = Literal["presence", "count", "attribute", "relation"]
KINDS: tuple[Kind, ...] = get_args(Kind)
YES_NO = ("yes", "no")
COUNTS = ("zero", "one", "two", "three", "four")


@dataclass(frozen=True)
class Generated:
    """A question with its right answer."""

    kind: Kind
    question: Question
    right: str  # one of the question's options


def generated_questions(concept: Concept, lexicon: Lexicon) -> list[Generated]:
    """Return the questions about an image of a concept, in a fixed order.

    Nouns of pairs, masses and plurals are not counted: "a pair of gloves" may show as one thing or
    as two. Labels are asked for as the checks ask (``label_questions``).
    """
    nouns = [lexicon.nouns(concept.task)[name] for name in concept.objects]
    return [
        *(_presence(noun, i) for i, noun in enumerate(nouns)),
        *(_count(noun, i) for i, noun in enumerate(nouns) if noun.number == "count"),
        *(
            Generated(concept.task.axis, question, label)
            for question, label in zip(
                label_questions(concept, lexicon), concept.labels, strict=True
            )
        ),
    ]


def _presence(noun: Noun, i: int) -> Generated:
    determiner = grammar.indefinite(noun)
    verb = "Are" if grammar.is_plural(noun, determiner) else "Is"
    return Generated(
        "presence", Question(f"{verb} there {determiner} {noun.name}?", YES_NO, i), "yes"
    )


def _count(noun: Noun, i: int) -> Generated:
    text = f"How many {grammar.plural(noun)} are there?"
    return Generated("count", Question(text, COUNTS, i), "one")
