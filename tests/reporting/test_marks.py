import pytest

from bindbench.candidates import candidate_texts, candidate_words
from bindbench.captions.minimal import write_minimal
from bindbench.captions.slots import Draft
from bindbench.concepts import Concept
from bindbench.reporting.marks import mark, plain

CONCEPTS = [
    Concept("color", ("cup", "chair"), ("red", "blue")),
    Concept("color", ("gloves", "apple", "rice"), ("orange", "red", "lime")),
    Concept("color", ("cup",), ("red",)),
    Concept("position", ("cup", "chair", "gloves"), ("to the left of", "above")),
    Concept("relative_size", ("cup", "gloves"), ("larger than",)),
]


def test_only_the_words_that_differ_are_marked(lexicon):
    concept = CONCEPTS[0]
    template = write_minimal(concept, lexicon)
    texts, words = candidate_texts(template, concept, lexicon), candidate_words(concept, lexicon)
    swapped = words.index((("cup", "chair"), ("blue", "red")))
    right, chosen = mark(template, words[0], texts[swapped], words[swapped])
    assert [text for text, marked in right if marked] == ["red", "blue"]
    assert [text for text, marked in chosen if marked] == ["blue", "red"]
    assert chosen[0] == ("a ", False)


@pytest.mark.parametrize("concept", CONCEPTS, ids=str)
def test_marks_change_no_letter_and_name_every_difference(lexicon, concept):
    template = write_minimal(concept, lexicon)
    texts, words = candidate_texts(template, concept, lexicon), candidate_words(concept, lexicon)
    for text, other in zip(texts, words, strict=True):
        right, chosen = mark(template, words[0], text, other)
        assert (plain(right), plain(chosen)) == (template.text, text)
        pairs = [(a, b) for i in (0, 1) for a, b in zip(words[0][i], other[i], strict=True)]
        differ = [(a, b) for a, b in pairs if a != b]
        assert sorted(t.lower() for t, m in right if m) == sorted(a for a, _ in differ)
        assert sorted(t.lower() for t, m in chosen if m) == sorted(b for _, b in differ)


def test_a_spelling_of_the_caption_is_found():
    draft = Draft()
    draft.slot("object", 0, "SUV")
    draft.write(" and suvs beside a ")
    draft.slot("object", 1, "cup")
    template = draft.template(False)
    own, other = (("suv", "cup"), ()), (("cup", "suv"), ())
    right, chosen = mark(template, own, "cup and suvs beside a SUV", other)
    assert chosen == (("cup", True), (" and suvs beside a ", False), ("SUV", True))
    assert [text for text, marked in right if marked] == ["SUV", "cup"]


def test_a_caption_of_another_template_is_refused():
    draft = Draft()
    draft.slot("object", 0, "cup")
    with pytest.raises(ValueError, match="'chair' is not where the template has it"):
        mark(draft.template(False), (("cup",), ()), "a table", (("chair",), ()))
