import itertools
from collections import Counter
from math import factorial

import numpy as np
import pytest

from bindbench.candidates import (
    ERROR_FAMILIES,
    candidate_families,
    candidate_space,
    candidate_texts,
    candidate_words,
)
from bindbench.captions.contextual import write_contextual
from bindbench.captions.minimal import write_minimal
from bindbench.concepts import Concept, sample_concepts
from bindbench.models.grammar_writer import GrammarWriter
from bindbench.tasks import BENCHMARKS

CASES = [("attribute", 2, 15, 1), ("attribute", 3, 728, 5)]
CASES += [("relation", 2, 3, 1), ("relation", 3, 107, 5)]


@pytest.mark.parametrize(("axis", "n", "confusion", "swap"), CASES)
def test_published_counts(axis, n, confusion, swap):
    space = candidate_space(axis, n)
    assert (len(space) - 1, int(space.swap.sum())) == (confusion, swap)
    assert (space.objects.dtype, space.labels.dtype) == (np.int8, np.int8)
    k = n if axis == "attribute" else n - 1
    assert space.objects[0].tolist() == list(range(n))
    assert space.labels[0].tolist() == list(range(k))
    rows = np.hstack([space.objects, space.labels])
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert (rows[1:] == np.array(sorted(rows[1:].tolist()))).all()
    assert candidate_space(axis, n) is space


@pytest.mark.parametrize("n", [2, 3])
def test_clause_orders_of_the_positive(n):
    space = candidate_space("attribute", n)
    pairs = [sorted(zip(o, a, strict=True)) for o, a in _rows(space)]
    expected = [i > 0 and p == pairs[0] for i, p in enumerate(pairs)]
    assert space.reordered.tolist() == expected
    assert space.reordered.sum() == factorial(n) - 1
    assert not candidate_space("relation", n).reordered.any()


def _rows(space):
    return zip(space.objects.tolist(), space.labels.tolist(), strict=True)


def error_family(objects, labels, n) -> str:
    """The definition in words, by the multiset of pairs."""
    pairs = Counter(zip(objects, labels, strict=True))
    if set(objects) == set(labels) == set(range(n)):
        return "reordered" if pairs == Counter((i, i) for i in range(n)) else "swap"
    if set(objects) == set(range(n)):
        return "object_kept"
    if set(labels) == set(range(n)):
        return "label_kept"
    return "repeated_pair" if max(pairs.values()) > 1 else "other"


@pytest.mark.parametrize(("n", "swaps"), [(2, 2), (3, 30)])
def test_error_families_of_attribute_tasks(n, swaps):
    space = candidate_space("attribute", n)
    names = [ERROR_FAMILIES[code] for code in space.errors]
    assert names[0] == "positive"
    assert names[1:] == [error_family(o, a, n) for o, a in list(_rows(space))[1:]]
    assert names.count("swap") == swaps
    assert names.count("reordered") == factorial(n) - 1
    assert space.errors.dtype == np.int8


def test_error_families_of_two_colors(lexicon):
    concept = Concept("color", ("cup", "bowl"), ("red", "blue"))
    words = candidate_words(concept, lexicon)
    space = candidate_space("attribute", 2)
    names = {w: ERROR_FAMILIES[code] for w, code in zip(words, space.errors, strict=True)}
    assert names[("bowl", "cup"), ("blue", "red")] == "reordered"
    assert names[("bowl", "cup"), ("red", "blue")] == "swap"
    assert names[("cup", "bowl"), ("red", "red")] == "object_kept"
    assert names[("cup", "cup"), ("red", "blue")] == "label_kept"
    assert names[("cup", "cup"), ("blue", "blue")] == "repeated_pair"


def test_families_of_relations():
    space = candidate_space("relation", 3)
    names = Counter(ERROR_FAMILIES[code] for code in space.errors)
    assert names == {"positive": 1, "swap": 5, "other": 102}
    assert Counter(space.families) == {"": 1, "swap": 5, "confusion": 102}


def test_candidates_of_two_colors(lexicon):
    concept = Concept("color", ("scissors", "rice"), ("red", "orange"))
    texts = candidate_texts(write_minimal(concept, lexicon), concept, lexicon)
    families = candidate_families(concept, lexicon)
    assert texts[0] == "a pair of red scissors, and some orange rice on a white background."
    (swap,) = [t for t, family in zip(texts, families, strict=True) if family == "swap"]
    assert swap == "a pair of orange scissors, and some red rice on a white background."
    assert len(set(texts)) == 16


def test_swaps_of_relations_exchange_objects(lexicon):
    concept = Concept("position", ("gloves", "apple"), ("above",))
    texts = candidate_texts(write_minimal(concept, lexicon), concept, lexicon)
    assert texts == [
        "A pair of gloves is above an apple on a white background.",
        "A pair of gloves is above a pair of gloves on a white background.",
        "An apple is above a pair of gloves on a white background.",
        "An apple is above an apple on a white background.",
    ]
    assert candidate_families(concept, lexicon) == ["", "confusion", "swap", "confusion"]


def test_one_object_varies_color_then_object(lexicon):
    concept = Concept("color", ("tie",), ("olive",))
    words, families = candidate_words(concept, lexicon), candidate_families(concept, lexicon)
    colors = [w[1][0] for w, f in zip(words, families, strict=True) if f == "vary_color"]
    nouns = [w[0][0] for w, f in zip(words, families, strict=True) if f == "vary_object"]
    assert words[0] == (("tie",), ("olive",))
    assert colors == [name for name in lexicon.colors.names if name != "olive"]
    # A bow tie is a tie; every other noun is another thing.
    assert nouns == [name for name in lexicon.objects.names if name not in ("tie", "bow tie")]
    assert families == ["", *["vary_color"] * 19, *["vary_object"] * 248]


@pytest.mark.parametrize("key", list(BENCHMARKS))
def test_all_candidates_of_an_item_are_distinct_in_both_tracks(lexicon, key):
    concepts = [s.concept for s in sample_concepts(BENCHMARKS[key], lexicon, 60, seed=5)]
    if key == "color-n3":
        concepts.append(Concept("color", ("gloves", "rice", "chips"), ("olive", "red", "orange")))
    contextual = write_contextual(GrammarWriter(lexicon), concepts, lexicon, 0, 1)
    for concept, written in zip(concepts, contextual, strict=True):
        for template in (write_minimal(concept, lexicon), written.template):
            assert template is not None
            texts = candidate_texts(template, concept, lexicon)
            assert texts[0] == template.text
            assert len(set(texts)) == len(texts) == len(candidate_families(concept, lexicon))


def test_every_noun_takes_every_slot_without_collision(lexicon):
    names = [n.name for n in lexicon.objects.entries if n.number != "count"]
    for objects in itertools.permutations(names[::3], 2):
        concept = Concept("position", objects, ("above",))
        assert len(set(candidate_texts(write_minimal(concept, lexicon), concept, lexicon))) == 4
