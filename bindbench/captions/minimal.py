"""Minimal captions: the plain lists and chains of Auto-Comp, section 3 ("Minimal Captions")."""

from bindbench.captions import grammar
from bindbench.captions.slots import Draft, Template
from bindbench.concepts import Concept
from bindbench.vocabulary import Lexicon

BACKGROUND = " on a white background."


def write_minimal(concept: Concept, lexicon: Lexicon) -> Template:
    """Return the minimal caption of a concept with its slots.

    Attribute tasks: "a red cup, and a blue chair on a white background."; relational tasks:
    "A cup is above a chair, which is to the left of a lamp on a white background."
    """
    if concept.task.axis == "attribute":
        return _listing(concept, lexicon)
    return _chain(concept, lexicon)


def _listing(concept: Concept, lexicon: Lexicon) -> Template:
    nouns = lexicon.nouns(concept.task)
    draft = Draft()
    for position, (obj, label) in enumerate(zip(concept.objects, concept.labels, strict=True)):
        if position:
            draft.write(", and " if position == concept.n - 1 else ", ")
        draft.phrase(position, nouns[obj], label)
    draft.write(BACKGROUND)
    return draft.template(capital=False)


def _chain(concept: Concept, lexicon: Lexicon) -> Template:
    nouns = [lexicon.nouns(concept.task)[name] for name in concept.objects]
    draft = Draft()
    draft.phrase(0, nouns[0])
    for position, label in enumerate(concept.labels):
        draft.write(", which " if position else " ")
        determiner = grammar.indefinite(nouns[position])
        plural = grammar.is_plural(nouns[position], determiner)
        draft.slot("verb", position, grammar.verb("is", plural))
        draft.write(" ")
        draft.slot("label", position, label)
        draft.write(" ")
        draft.phrase(position + 1, nouns[position + 1])
    draft.write(BACKGROUND)
    return draft.template(capital=True)
