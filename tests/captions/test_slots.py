import pytest

from bindbench.captions.finder import find_slots
from bindbench.captions.preservation import check
from bindbench.captions.slots import Renderer, Slot, Template, render
from bindbench.concepts import Concept

TWO = Concept("color", ("cup", "chair"), ("red", "blue"))
ABOVE = Concept("position", ("cup", "chair", "lamp"), ("above", "to the left of"))


def refill(text, concept, objects, labels, lexicon) -> str:
    verdict = check(text, concept, lexicon)
    assert verdict.template, verdict.reason
    own = render(verdict.template, concept, concept.objects, concept.labels, lexicon)
    assert own == text
    return render(verdict.template, concept, objects, labels, lexicon)


def parts(text, concept, lexicon):
    return [(s.kind, s.position, text[s.start : s.end]) for s in _slots(text, concept, lexicon)]


def _slots(text, concept, lexicon):
    spans = find_slots(text, concept, lexicon)
    assert not spans.reason
    return spans.slots


def test_slots_of_an_attribute_caption(lexicon):
    text = "There is a shiny red cup in the garden, and a blue wooden chair lies beside it."
    assert parts(text, TWO, lexicon) == [
        ("verb", 0, "is"),
        ("det", 0, "a"),
        ("label", 0, "red"),
        ("object", 0, "cup"),
        ("det", 1, "a"),
        ("label", 1, "blue"),
        ("object", 1, "chair"),
        ("verb", 1, "lies"),
    ]


def test_slots_of_a_relational_caption(lexicon):
    text = "Above the street, a cup sits above a chair, which is to the left of the lamp."
    concept = Concept("position", ("cup", "chair", "lamp"), ("above", "to the left of"))
    assert parts(text, concept, lexicon) == [
        ("det", 0, "a"),
        ("object", 0, "cup"),
        ("verb", 0, "sits"),
        ("label", 0, "above"),
        ("det", 1, "a"),
        ("object", 1, "chair"),
        ("verb", 1, "is"),
        ("label", 1, "to the left of"),
        ("object", 2, "lamp"),
    ]


REFILLED = [
    # Articles follow the next word, and the capital stays at the start.
    ("A red cup stands by a blue chair.", ("chair", "cup"), ("blue", "red"),
     "A blue chair stands by a red cup."),
    # Words in any order of mention: positions are those of the concept.
    ("By a blue chair stands a red cup.", ("cup", "chair"), ("blue", "red"),
     "By a red chair stands a blue cup."),
    # A word between is kept, and decides the article.
    ("An old red cup and a blue chair.", ("chair", "cup"), ("red", "blue"),
     "An old red chair and a blue cup."),
    # A plural verb that two things share stays; definite articles stay.
    ("The red cup and the blue chair stand here.", ("cup", "cup"), ("red", "red"),
     "The red cup and the red cup stand here."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "objects", "labels", "expected"), REFILLED)
def test_refilled(lexicon, text, objects, labels, expected):
    assert refill(text, TWO, objects, labels, lexicon) == expected


ORANGES = Concept("color", ("gloves", "chips"), ("orange", "red"))
NUMBERS = [
    ("A pair of orange gloves lies near some red chips.", ("chips", "gloves"), ("red", "orange"),
     "Some red chips lie near a pair of orange gloves."),
    ("A pair of orange gloves and some red chips lie there.", ("chips", "gloves"),
     ("red", "orange"), "Some red chips and a pair of orange gloves lie there."),
    ("Orange gloves, which are warm, and red chips.", ("chips", "gloves"), ("red", "orange"),
     "Red chips, which are warm, and orange gloves."),
    ("There are some red chips by the pair of orange gloves.", ("chips", "gloves"),
     ("red", "orange"), "There is a pair of orange gloves by the red chips."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "objects", "labels", "expected"), NUMBERS)
def test_plural_and_pair_nouns(lexicon, text, objects, labels, expected):
    assert refill(text, ORANGES, objects, labels, lexicon) == expected


def test_a_bare_noun_gives_way_to_one_with_an_article(lexicon):
    concept = Concept("color", ("gloves",), ("orange",))
    text = "Orange gloves rest on the floor."
    assert refill(text, concept, ("cup",), ("orange",), lexicon) == (
        "An orange cup rests on the floor."
    )
    assert refill(text, concept, ("rice",), ("red",), lexicon) == "Red rice rests on the floor."


def test_the_nearer_noun_does_not_take_an_inverted_verb(lexicon):
    concept = Concept("color", ("cup", "chips"), ("red", "blue"))
    text = "Next to a red cup rests a blue chair."
    assert refill(text, TWO, ("chair", "cup"), ("red", "blue"), lexicon) == (
        "Next to a red chair rests a blue cup."
    )
    text = "Next to a red cup rest some blue chips."
    assert refill(text, concept, ("chips", "cup"), ("red", "blue"), lexicon) == (
        "Next to some red chips rests a blue cup."
    )


def test_relations_and_objects_refilled(lexicon):
    text = "In a kitchen, a cup can be seen above a chair that is to the left of a lamp."
    concept = ABOVE
    assert refill(text, concept, ("lamp", "lamp", "cup"), ("above", "above"), lexicon) == (
        "In a kitchen, a lamp can be seen above a lamp that is above a cup."
    )


def test_spelling_is_kept_when_words_move(lexicon):
    concept = Concept("color", ("suv", "chair"), ("red", "blue"))
    text = "A red SUV stands by a blue chair."
    assert refill(text, concept, ("chair", "suv"), ("blue", "red"), lexicon) == (
        "A blue chair stands by a red SUV."
    )


def test_words_outside_the_concept(lexicon):
    concept = Concept("color", ("cup",), ("red",))
    template = Template(
        "A red cup.", (Slot("det", 0, 0, 1), Slot("label", 0, 2, 5), Slot("object", 0, 6, 9))
    )
    renderer = Renderer(template, concept, lexicon)
    assert renderer.render(("cup",), ("olive",)) == "An olive cup."
    assert renderer.render(("scissors",), ("red",)) == "A pair of red scissors."
    assert renderer.render(("cup",), ("red",)) == "A red cup."


def test_the_frame_abstracts_slots(lexicon):
    texts = [
        "A pair of orange gloves lies near some red chips.",
        "A red cup lies near a blue chair.",
    ]
    frames = {
        Template(text, find_slots(text, concept, lexicon).slots).frame
        for text, concept in zip(texts, (ORANGES, TWO), strict=True)
    }
    assert frames == {"<label 0> <object 0> <verb 0> near <label 1> <object 1>."}
