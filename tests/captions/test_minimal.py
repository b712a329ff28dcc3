import pytest

from bindbench.captions.finder import find_slots
from bindbench.captions.minimal import write_minimal
from bindbench.concepts import Concept, sample_concepts
from bindbench.tasks import BENCHMARKS

PUBLISHED = [
    ("color", ("cup",), ("red",), "a red cup on a white background."),
    ("color", ("cup", "chair"), ("red", "blue"),
     "a red cup, and a blue chair on a white background."),
    ("color", ("cup", "chair", "lamp"), ("red", "blue", "green"),
     "a red cup, a blue chair, and a green lamp on a white background."),
    ("shape_color", ("cube", "cone"), ("orange", "white"),
     "an orange cube, and a white cone on a white background."),
    ("position", ("cup", "chair", "lamp"), ("above", "to the left of"),
     "A cup is above a chair, which is to the left of a lamp on a white background."),
    ("relative_size", ("cup", "chair"), ("larger than",),
     "A cup is larger than a chair on a white background."),
    ("color", ("gloves", "noodles"), ("olive", "brown"),
     "a pair of olive gloves, and some brown noodles on a white background."),
    ("position", ("chips", "gloves", "apple"), ("under", "above"),
     "Some chips are under a pair of gloves, which is above an apple on a white background."),
    ("position", ("apple", "noodles", "suv"), ("under", "above"),
     "An apple is under some noodles, which are above an suv on a white background."),
]  # fmt: skip


@pytest.mark.parametrize(("task", "objects", "labels", "text"), PUBLISHED)
def test_forms(lexicon, task, objects, labels, text):
    assert write_minimal(Concept(task, objects, labels), lexicon).text == text


@pytest.mark.parametrize("key", list(BENCHMARKS))
def test_slots_are_those_that_the_finder_finds(lexicon, key):
    for sampled in sample_concepts(BENCHMARKS[key], lexicon, 400, seed=3):
        template = write_minimal(sampled.concept, lexicon)
        spans = find_slots(template.text, sampled.concept, lexicon)
        assert (spans.reason, spans.slots) == ("", template.slots)
