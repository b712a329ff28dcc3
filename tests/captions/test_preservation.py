from dataclasses import replace

import pytest

from bindbench.captions.preservation import check
from bindbench.concepts import Concept
from bindbench.vocabulary import Lexicon, Noun, Vocabulary

RED_CUP = Concept("color", ("cup",), ("red",))
TWO = Concept("color", ("cup", "chair"), ("red", "blue"))
ABOVE = Concept("position", ("cup", "chair"), ("above",))
CHAIN = Concept("position", ("cup", "chair", "lamp"), ("above", "to the left of"))
LARGER = Concept("relative_size", ("cup", "chair"), ("larger than",))

GOOD = [
    (RED_CUP, "A red cup sits in a kitchen."),
    (RED_CUP, "A red ceramic cup sits in a kitchen."),
    (RED_CUP, "The RED cup shines."),
    (TWO, "A blue chair, not far from a red cup."),
    (Concept("color", ("wine glass",), ("red",)), "A red wine glass."),
    (Concept("color", ("sports car",), ("red",)), "Somebody parked a red sports car."),
    (ABOVE, "A cup is placed directly above a small wooden chair."),
    (CHAIN, "A cup sits above a chair, which is to the left of a lamp."),
    (CHAIN, "A cup sits above a chair that stands to the left of a lamp."),
    (LARGER, "A cup that is much larger than a chair."),
]

BAD = [
    (RED_CUP, "", "format"),
    (RED_CUP, " A red cup.", "format"),
    (RED_CUP, "A red cup.\nIt is nice.", "format"),
    (RED_CUP, "A red  cup.", "format"),
    (RED_CUP, "This is not a red cup.", "negated"),
    (RED_CUP, "There isn't a red cup.", "negated"),
    (RED_CUP, "A cup sits in a kitchen.", "missing_label"),
    (RED_CUP, "A red mug sits in a kitchen.", "missing_object"),
    (RED_CUP, "A reddish cup.", "missing_label"),
    (RED_CUP, "A red cupboard.", "missing_object"),
    (RED_CUP, "A red cup's handle.", "missing_object"),
    (RED_CUP, "A red tea-cup.", "missing_object"),
    (RED_CUP, "A cup that is red.", "missing_label"),
    (RED_CUP, "A red and shiny cup.", "missing_label"),
    (RED_CUP, "Three red cups.", "missing_object"),
    (RED_CUP, "A red cup by another red cup.", "repeated_object"),
    (RED_CUP, "A red cup by two other cups.", "repeated_object"),
    (RED_CUP, "A red cup by a mug.", "repeated_object"),
    (RED_CUP, "A red cup on a chair.", "other_object"),
    (RED_CUP, "A red cup on a sofa.", "other_object"),
    (RED_CUP, "A red cup under the lamp's shade.", "other_object"),
    (RED_CUP, "A red cup with blue dots.", "other_label"),
    (RED_CUP, "A red cup, red as a rose.", "other_label"),
    (RED_CUP, "A red cup by a grey wall.", "other_label"),
    (RED_CUP, "A red cup by a snow-white wall.", "other_label"),
    (RED_CUP, "A red-hot red cup.", "other_label"),
    (RED_CUP, "One red cup.", "determiner"),
    (RED_CUP, "An red cup.", "article"),
    (TWO, "A red chair and a blue cup.", "missing_label"),
    (TWO, "A red cup and a chair, blue.", "missing_label"),
    (Concept("color", ("glasses",), ("red",)), "A red glasses.", "determiner"),
    (Concept("color", ("glasses",), ("red",)), "Some red wine glasses.", "missing_object"),
    (Concept("color", ("car",), ("red",)), "A red sports car.", "missing_object"),
    (Concept("color", ("tie",), ("red",)), "A red bow tie.", "missing_object"),
    (ABOVE, "A chair is above a cup.", "wrong_order"),
    (ABOVE, "A cup is near a chair.", "missing_relation"),
    (ABOVE, "A cup is under a chair.", "missing_relation"),
    (ABOVE, "A cup sits above. A chair waits.", "missing_relation"),
    (ABOVE, "A cup sits under the roof above a chair.", "other_relation"),
    (ABOVE, "A cup is above a chair, slightly to the right.", "other_relation"),
    (ABOVE, "A cup is above a chair, below the roof.", "other_relation"),
    (ABOVE, "A red cup is above a chair.", "other_label"),
    (ABOVE, "A cup is above a chair and a lamp.", "other_object"),
    (CHAIN, "A cup is above a chair and to the left of a lamp.", "unclear_subject"),
    (CHAIN, "A cup is above a chair. The chair is to the left of a lamp.", "repeated_object"),
    (LARGER, "A cup is larger than a chair but smaller than a house.", "other_relation"),
    (LARGER, "A cup is bigger than a chair.", "missing_relation"),
]


@pytest.mark.parametrize(("concept", "text"), GOOD)
def test_accepted(lexicon, concept, text):
    verdict = check(text, concept, lexicon)
    assert verdict.reason == ""
    assert verdict.template is not None and verdict.template.text == text


@pytest.mark.parametrize(("concept", "text", "reason"), BAD)
def test_rejected_with_its_reason(lexicon, concept, text, reason):
    verdict = check(text, concept, lexicon)
    assert (verdict.template, verdict.reason) == (None, reason)


def with_noun(lexicon: Lexicon, noun: Noun) -> Lexicon:
    objects = Vocabulary("objects", "more", (*lexicon.objects.entries, noun))
    return replace(lexicon, objects=objects)


def test_red_wine_glass_is_no_red_wine(lexicon):
    with_wine = with_noun(lexicon, Noun(name="wine", number="mass"))
    concept = Concept("color", ("wine",), ("red",))
    assert check("A red wine glass.", concept, with_wine).reason == "missing_object"
    assert check("Some red wine.", concept, with_wine).reason == ""


def test_a_word_that_is_a_color_and_a_noun(lexicon):
    oranges = with_noun(lexicon, Noun(name="orange"))
    concept = Concept("color", ("lamp", "orange"), ("orange", "red"))
    assert check("An orange lamp by a red orange.", concept, oranges).reason == ""
    assert check("An orange lamp by a red orange and an orange.", concept, oranges).reason == (
        "repeated_object"
    )
