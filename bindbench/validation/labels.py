"""The label check: is every object of its color, and does every relation hold?

One closed question is asked per label, so that any judge can answer it: a measuring one or a
vision-language model whose answer is constrained to the options.
"""

from collections.abc import Sequence

from bindbench.concepts import Concept
from bindbench.models.base import Answer, Question
from bindbench.vocabulary import Lexicon, Noun

LABEL, UNSURE = "label", "unsure"
UNCLEAR = "unclear"  # the option of a relation that the picture does not decide


def label_questions(concept: Concept, lexicon: Lexicon) -> list[Question]:
    """Return one question for each label of a concept, in the order of its labels.

    ``subject`` and ``other`` count the concept's objects: the judge must get the detections that
    were matched to them, in that order.

    Attribute tasks ask for each object's color among all colors. Relational tasks ask about one
    axis, the relation against its inverse, since a diagonal satisfies two relations of different
    axes; synonyms never meet in one question, so that "bigger" can't be wrong where "larger" is
    right.
    """
    nouns = lexicon.nouns(concept.task)
    objects = [nouns[name] for name in concept.objects]
    if concept.task.axis == "attribute":
        return [
            Question(f"What is the color of the {noun.name}?", lexicon.colors.names, i)
            for i, noun in enumerate(objects)
        ]
    return [_relation_question(objects, i, name, lexicon) for i, name in enumerate(concept.labels)]


def _relation_question(objects: Sequence[Noun], i: int, name: str, lexicon: Lexicon) -> Question:
    relations = lexicon.positions if name in lexicon.positions.by_name else lexicon.sizes
    relation = relations[name]
    # In the vocabulary's order, so that the place of an option says nothing about the answer.
    options = sorted((name, relation.inverse), key=relations.names.index)
    first, second = objects[i], objects[i + 1]
    verb = "Are" if first.number in ("pair", "plural") else "Is"
    text = f"{verb} the {first.name} {options[0]} or {options[1]} the {second.name}?"
    return Question(text, (*options, UNCLEAR), i, i + 1)


def label_verdict(
    concept: Concept,
    questions: Sequence[Question],
    answers: Sequence[Answer],
    min_score: float = 0.0,
) -> tuple[str, str]:
    """Compare a judge's answers with the concept's labels.

    Args:
        concept: what the image should show.
        questions: those of ``label_questions``.
        answers: one for each question.
        min_score: least score of the right option, in the judge's own unit.

    Returns:
        The verdict and its reason, empty if it is ``pass``. ``label``: an answer differs from its
        label; ``unsure``: none does, but the score of one is below ``min_score``, or the judge
        gave no answer.
    """
    unsure = ""
    for label, question, answer in zip(concept.labels, questions, answers, strict=True):
        if not answer.option:
            unsure = unsure or f"{_what(concept, question)}: no answer"
            continue
        if answer.option != label:
            return LABEL, f"{_what(concept, question)}: {answer.option}, not {label}"
        score = answer.scores[question.options.index(label)]
        if score < min_score:
            unsure = unsure or f"{_what(concept, question)}: {label} by {score:.2f} only"
    return (UNSURE, unsure) if unsure else ("pass", "")


def _what(concept: Concept, question: Question) -> str:
    """Name what a question is about."""
    first = concept.objects[question.subject]
    return first if question.other is None else f"{first}, {concept.objects[question.other]}"
