"""Questions generated from a concept, and a model's share of right answers."""

from bindbench.concepts import Concept
from bindbench.validation.faithfulness import generated_questions
from bindbench.validation.labels import UNCLEAR


def asked(concept, lexicon):
    return [(g.kind, g.question.text, g.right) for g in generated_questions(concept, lexicon)]


def test_an_attribute_concept(lexicon):
    concept = Concept("color", ("umbrella", "scissors", "noodles"), ("red", "blue", "green"))
    assert asked(concept, lexicon) == [
        ("presence", "Is there an umbrella?", "yes"),
        ("presence", "Is there a pair of scissors?", "yes"),
        ("presence", "Are there some noodles?", "yes"),
        ("count", "How many umbrellas are there?", "one"),
        ("attribute", "What is the color of the umbrella?", "red"),
        ("attribute", "What is the color of the scissors?", "blue"),
        ("attribute", "What is the color of the noodles?", "green"),
    ]


def test_a_relational_concept(lexicon):
    concept = Concept("position", ("bus", "cake"), ("under",))
    assert asked(concept, lexicon) == [
        ("presence", "Is there a bus?", "yes"),
        ("presence", "Is there a cake?", "yes"),
        ("count", "How many buses are there?", "one"),
        ("count", "How many cakes are there?", "one"),
        ("relation", "Is the bus above or under the cake?", "under"),
    ]
    last = generated_questions(concept, lexicon)[-1].question
    assert last.options == ("above", "under", UNCLEAR)
    assert (last.subject, last.other) == (0, 1)


def test_the_right_answer_is_an_option(lexicon):
    for task, labels in (("shape_color", ("red", "navy")), ("relative_size", ("bigger than",))):
        objects = ("cube", "torus") if task == "shape_color" else ("bus", "cake")
        for one in generated_questions(Concept(task, objects, labels), lexicon):
            assert one.right in one.question.options
