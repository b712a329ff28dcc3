import pytest

from bindbench.errors import UserError
from bindbench.relations import Sense, chain, closure, contradicts, scene_facts, senses
from bindbench.vocabulary import Relation, Vocabulary


def relation(name, inverse, direction=1, **fields):
    return Relation(name=name, inverse=inverse, axis="size", direction=direction, **fields)


def test_senses_of_the_built_in_relations(lexicon):
    assert senses(lexicon.sizes) == {
        "larger than": Sense("bigger than", True, True),
        "smaller than": Sense("bigger than", False, True),
        "bigger than": Sense("bigger than", True, True),
    }
    assert senses(lexicon.positions)["under"] == Sense("above", False, True)
    assert senses(lexicon.positions)["to the right of"] == Sense("to the left of", False, True)


def test_a_relation_cannot_be_its_own_inverse():
    entries = (
        relation("larger than", "smaller than", synonyms=("smaller than",)),
        relation("smaller than", "larger than", -1),
    )
    with pytest.raises(UserError, match="is its own inverse"):
        senses(Vocabulary("sizes", "odd", entries))


def test_facts_of_a_chain():
    over, beneath = Sense("above", True, True), Sense("above", False, True)
    assert chain("abc", [over, beneath]) == [("above", "a", "b"), ("above", "c", "b")]
    assert scene_facts("abc", [over, over]) == {
        ("above", "a", "b"),
        ("above", "b", "c"),
        ("above", "a", "c"),
    }


def test_only_transitive_kinds_are_closed():
    near = Sense("next to", True, False)
    assert scene_facts("abc", [near, near]) == {("next to", "a", "b"), ("next to", "b", "c")}


def test_closure_of_a_longer_chain():
    links = [("above", i, i + 1) for i in range(5)]
    assert closure(links, {"above"}) == {("above", i, j) for i in range(6) for j in range(i + 1, 6)}


def test_contradiction_is_the_inverse_of_a_fact():
    facts = frozenset({("above", "a", "b")})
    assert contradicts([("above", "b", "a")], facts)
    assert not contradicts([("above", "a", "b"), ("above", "b", "c")], facts)
