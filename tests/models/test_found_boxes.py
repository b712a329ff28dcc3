"""From answers to instances: every rule by hand."""

import pytest

from bindbench.models.found_boxes import FoundBox, Rules, is_answer, plain_words, resolve

KNOWN = {"tie", "bow tie", "cup", "bowl", "gloves", "car", "sports car", "baseball", "baseball bat"}


def found(score: float, *box: float, words: str | None = None) -> FoundBox:
    return FoundBox(score, (box[0], box[1], box[2], box[3]), words)


def instances(nouns: list[str], *answers: list[FoundBox], rules: Rules | None = None):
    """Return the scores of the boxes that are left, by noun."""
    kept = resolve(nouns, answers, KNOWN, rules or Rules())
    return {noun: [box.score for box in boxes] for noun, boxes in zip(nouns, kept, strict=True)}


def test_boxes_apart_are_instances_strongest_first():
    cups = [found(0.5, 0, 0, 10, 10), found(0.9, 20, 0, 30, 10)]
    assert instances(["cup"], cups) == {"cup": [0.9, 0.5]}
    assert instances(["cup", "bowl"], [], []) == {"cup": [], "bowl": []}


def test_overlapping_duplicates_are_one_instance():
    # Intersection over union 80 / 120 and 20 / 180: the first is a duplicate, the second is not.
    doubled = [found(0.5, 2, 0, 12, 10), found(0.9, 0, 0, 10, 10), found(0.6, 8, 0, 18, 10)]
    assert instances(["cup"], doubled) == {"cup": [0.9, 0.6]}
    assert instances(["cup"], doubled, rules=Rules(one_noun=1)) == {"cup": [0.9, 0.6, 0.5]}


def test_a_chain_of_duplicates_goes_by_the_strongest():
    # The middle one overlaps both; it is the strongest once, and the weakest once.
    low, high = [found(s, x, 0, x + 10, 10) for s, x in ((0.6, 0), (0.9, 3), (0.7, 6))], None
    high = [FoundBox(1.5 - box.score, box.box) for box in low]
    assert instances(["cup"], low) == {"cup": [0.9]}
    assert instances(["cup"], high) == {"cup": pytest.approx([0.9, 0.8])}


def test_gloves_are_one_box_or_two():
    left, right = found(0.7, 0, 0, 10, 20), found(0.6, 14, 0, 24, 20)
    both = found(0.8, 0, 0, 24, 20)
    assert instances(["gloves"], [both]) == {"gloves": [0.8]}
    assert instances(["gloves"], [left, right]) == {"gloves": [0.7, 0.6]}
    # A detector that gives each glove and the pair sees two gloves, not three.
    assert instances(["gloves"], [both, left, right]) == {"gloves": [0.7, 0.6]}
    assert instances(["gloves"], [both, left]) == {"gloves": [0.8, 0.7]}


def test_a_third_glove_is_seen():
    boxes = [found(0.7, x, 0, x + 10, 20) for x in (0, 14, 28)]
    assert instances(["gloves"], [*boxes, found(0.9, 0, 0, 38, 20)]) == {"gloves": [0.7] * 3}


def test_a_large_thing_behind_small_ones_is_no_frame():
    # The two small ones fill less than 80% of the large one.
    small = [found(0.7, 0, 0, 4, 4), found(0.6, 8, 0, 12, 4)]
    assert instances(["cup"], [found(0.8, 0, 0, 12, 12), *small]) == {"cup": [0.8, 0.7, 0.6]}


@pytest.mark.parametrize(
    ("noun", "words", "right"),
    [
        ("bow tie", "bow tie", True),
        ("bow tie", "tie", False),  # the query found a necktie
        ("bow tie", "bow", True),  # no noun of its own
        ("bow tie", None, True),  # a detector that does not say
        ("bow tie", "", False),  # it answers to the period
        ("tie", "tie", True),
        ("baseball bat", "baseball", False),
        ("cup", "cup", True),
        ("coffee machine", "machine", True),
    ],
)
def test_what_a_box_answers_to_decides_whether_it_is_what_was_asked_for(noun, words, right):
    assert is_answer(noun, words, KNOWN) is right


def test_a_necktie_is_no_bow_tie():
    assert instances(["bow tie"], [found(0.8, 0, 0, 9, 30, words="tie")]) == {"bow tie": []}


@pytest.mark.parametrize(
    "tie",
    [
        (0, 0, 20, 10),  # the whole bow tie
        (8, 2, 12, 8),  # its knot
        (-2, -1, 21, 11),  # a little more than it
    ],
)
def test_the_tie_in_a_bow_tie_is_not_counted_twice(tie):
    bow = [found(0.5, 0, 0, 20, 10, words="bow tie")]
    for order in (["tie", "bow tie"], ["bow tie", "tie"]):
        answers = {"tie": [found(0.9, *tie, words="tie")], "bow tie": bow}
        kept = instances(order, *(answers[noun] for noun in order))
        assert kept == {"bow tie": [0.5], "tie": []}


def test_a_tie_beside_a_bow_tie_is_a_tie():
    bow = [found(0.5, 0, 0, 20, 10), found(0.45, 40, 0, 50, 40, words="tie")]
    ties = [found(0.9, 0, 0, 20, 10), found(0.8, 40, 0, 50, 40)]
    assert instances(["tie", "bow tie"], ties, bow) == {"tie": [0.8], "bow tie": [0.5]}


def test_the_same_thing_as_two_nouns_is_the_likelier():
    cup, bowl = found(0.6, 0, 0, 20, 20), found(0.7, 0, 0, 19, 20)
    assert instances(["cup", "bowl"], [cup], [bowl]) == {"cup": [], "bowl": [0.7]}
    assert instances(["bowl", "cup"], [bowl], [cup]) == {"cup": [], "bowl": [0.7]}
    both = instances(["cup", "bowl"], [cup], [bowl], rules=Rules(two_nouns=1))
    assert both == {"cup": [0.6], "bowl": [0.7]}


def test_a_thing_on_another_is_a_thing():
    # A cup in a bowl: 225 / 400.
    cup, bowl = found(0.6, 0, 0, 15, 15), found(0.7, 0, 0, 20, 20)
    assert instances(["cup", "bowl"], [cup], [bowl]) == {"cup": [0.6], "bowl": [0.7]}


def test_all_nested_pairs_of_the_vocabulary_are_resolved(lexicon):
    pairs = [sorted(pair, key=len) for pair in lexicon.objects.nested]
    assert ["tie", "bow tie"] in pairs
    known = set(lexicon.objects.names)
    for short, long in pairs:
        same = [found(0.9, 0, 0, 20, 10, words=short)], [found(0.5, 0, 0, 20, 10, words=long)]
        kept = resolve([short, long], same, known, Rules())
        assert [len(boxes) for boxes in kept] == [0, 1]
        assert not is_answer(long, short, known)


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("bow tie. [SEP]", "bow tie"),
        ("[CLS] hot - air balloon", "hot-air balloon"),
        (". [SEP]", ""),
        ("chef ' s hat", "chef's hat"),
        ("Cup", "cup"),
    ],
)
def test_labels_are_read_as_the_vocabularies_spell_them(label, words):
    assert plain_words(label, ["[CLS]", "[SEP]", "[PAD]"]) == words
