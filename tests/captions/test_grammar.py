import pytest

from bindbench.captions import grammar
from bindbench.vocabulary import Noun


@pytest.mark.parametrize(
    ("word", "expected"),
    [("cup", "a"), ("orange", "an"), ("umbrella", "an"), ("uniform", "a"), ("hourglass", "an"),
     ("olive", "an"), ("European", "a"), ("one-wheeler", "a"), ("Apple", "an"), ("horn", "a")],
)  # fmt: skip
def test_article(word, expected):
    assert grammar.article(word) == expected


def test_an_entry_may_state_its_article():
    suv = Noun(name="suv", article="an")  # type: ignore[call-arg]
    assert grammar.indefinite(suv) == "an"
    assert grammar.indefinite(suv, "red") == "a"


@pytest.mark.parametrize(
    ("number", "expected"),
    [("count", "a"), ("pair", "a pair of"), ("mass", "some"), ("plural", "some")],
)
def test_indefinite(number, expected):
    assert grammar.indefinite(Noun(name="thing", number=number)) == expected  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("number", "determiner", "plural"),
    [("count", "a", False), ("mass", "some", False), ("plural", "some", True),
     ("pair", "a pair of", False), ("pair", "the", True), ("pair", "", True)],
)  # fmt: skip
def test_agreement(number, determiner, plural):
    noun = Noun(name="thing", number=number)  # type: ignore[call-arg]
    assert grammar.is_plural(noun, determiner) == plural


def test_verbs_take_either_form():
    assert [grammar.verb(form, plural=True) for form in ("is", "are", "catches")] == [
        "are",
        "are",
        "catch",
    ]
    assert [grammar.verb(form, plural=False) for form in ("was", "were", "lie")] == [
        "was",
        "was",
        "lies",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({"name": "cup"}, "cups"), ({"name": "watch"}, "watches"), ({"name": "cherry"}, "cherries"),
     ({"name": "toy"}, "toys"), ({"name": "box"}, "boxes"),
     ({"name": "shelf", "plural": "shelves"}, "shelves"),
     ({"name": "rice", "number": "mass"}, "rice"),
     ({"name": "gloves", "number": "pair"}, "gloves")],
)  # fmt: skip
def test_plural(fields, expected):
    assert grammar.plural(Noun(**fields)) == expected
