"""Samples, ballots, filtering, replies and taxonomies, with values worked out by hand."""

import json

import numpy as np
import pytest

from bindbench.conme.choices import UNREADABLE, Ballots, hard, measure, same_choices
from bindbench.conme.replies import SCHEMA, parse_sets
from bindbench.conme.samples import QuestionSet, Sample, near_duplicates, samples_of
from bindbench.conme.taxonomy import BUILT_IN, error_rates, load_taxonomy, shares
from bindbench.conme.verification import draw, verified
from bindbench.errors import UserError


def sample(place: int, image: str = "i", number: int = 0) -> Sample:
    """A sample whose right option stands at ``place`` in the first order."""
    while True:
        found = Sample(image, 1, f"What is it ({number})?", "a cup", "a jug")
        if found.right_place(0) == place:
            return found
        number += 1000


# Two samples with the right option first, two with it second.
FOUR = [sample(0, "i", 1), sample(0, "i", 2), sample(1, "j", 3), sample(1, "k", 4)]


def test_the_second_order_shows_the_options_the_other_way_round() -> None:
    one = FOUR[0]
    assert one.options(0) == ("a cup", "a jug")
    assert one.options(1) == ("a jug", "a cup")
    assert FOUR[2].options(0) == ("a jug", "a cup")


def test_an_always_a_model_is_right_half_the_time_and_never_in_both_orders() -> None:
    found = measure(Ballots.of(FOUR, [(0, 0)] * 4))
    assert found is not None
    assert found.accuracy.value == 0.5
    assert Ballots.of(FOUR, [(0, 0)] * 4).correct.mean(axis=0).tolist() == [0.5, 0.5]
    assert found.both.value == 0
    assert found.order_effect.value == 1
    assert found.first == 1


def test_a_perfect_model_and_one_that_says_nothing() -> None:
    right = [tuple(s.right_place(o) for o in (0, 1)) for s in FOUR]
    perfect = measure(Ballots.of(FOUR, right))
    silent = measure(Ballots.of(FOUR, [(None, None)] * 4))
    assert perfect is not None and silent is not None
    assert (perfect.accuracy.value, perfect.both.value, perfect.order_effect.value) == (1, 1, 0)
    assert (silent.accuracy.value, silent.both.value, silent.order_effect.value) == (0, 0, 0)
    assert silent.unreadable == 1


def test_one_unreadable_answer_is_a_loss_and_a_change() -> None:
    # Right in order 0, unreadable in order 1: half right, not right in both, moved.
    found = Ballots.of(FOUR[:1], [(0, None)])
    assert found.correct.tolist() == [[True, False]]
    assert not found.both[0] and found.moved[0]


def test_a_tie_of_scores_chooses_nothing() -> None:
    # Sample 0: tie, then the right option (second place in order 1) wins by a little.
    scores = np.array([[[-1.0, -1.0], [-2.0, -1.5]]])
    found = Ballots.of_scores(FOUR[:1], scores)
    assert found.place.tolist() == [[UNREADABLE, 1]]
    assert found.correct.tolist() == [[False, True]]


def test_filtering_keeps_what_one_target_misses_in_either_order() -> None:
    right = np.array([[s.right_place(o) for o in (0, 1)] for s in FOUR])
    a, b = right.copy(), right.copy()
    a[0] = 1 - a[0]  # misses sample 0 in both orders
    b[1, 1] = 1 - b[1, 1]  # misses sample 1 in one order
    targets = {"a": Ballots.of(FOUR, a.tolist()), "b": Ballots.of(FOUR, b.tolist())}
    assert hard(targets).tolist() == [True, True, False, False]
    # Leave-one-out: filtered by the other alone.
    assert hard(targets, without="a").tolist() == [False, True, False, False]
    assert hard(targets, without="b").tolist() == [True, False, False, False]
    with pytest.raises(ValueError, match="no target"):
        hard({"a": targets["a"]}, without="a")


def test_selection_alone_lowers_four_good_models_to_two_thirds() -> None:
    # NUMBERS.md: independent 80% models fall to (0.8 - 0.8^4) / (1 - 0.8^4) = 66.1%.
    rng = np.random.default_rng(0)
    many = [Sample(f"i{k}", 1, "q", "a", f"b{k}") for k in range(20_000)]
    right = np.array([[s.right_place(o) for o in (0, 1)] for s in many])
    targets = {}
    for name in "abcd":
        knows = rng.random(len(many)) < 0.8
        targets[name] = Ballots.of(many, np.where(knows[:, None], right, 1 - right).tolist())
    kept = targets["a"].where(hard(targets))
    assert kept.both.mean() == pytest.approx((0.8 - 0.8**4) / (1 - 0.8**4), abs=0.015)
    fair = targets["a"].where(hard(targets, without="a"))
    assert fair.both.mean() == pytest.approx(0.8, abs=0.015)


def test_agreement_of_two_modes() -> None:
    # Choices (right, wrong, right, wrong) against (right, right, right, wrong): 3 of 4 alike;
    # shares (1/2, 1/2) and (3/4, 1/4): expected 1/2, kappa (3/4 - 1/2) / (1 - 1/2) = 1/2.
    two = FOUR[:2]
    one = Ballots.of(two, [(0, 0), (0, 0)])  # the right place is 0, then 1
    other = Ballots.of(two, [(0, 1), (0, 0)])
    assert same_choices(one, other) == (0.75, 0.5)
    always = Ballots.of(two, [(0, 1), (0, 1)])
    assert same_choices(always, always)[0] == 1.0
    assert np.isnan(same_choices(always, always)[1])


def test_samples_refuse_equal_options_and_repeats() -> None:
    sets = [
        QuestionSet("What color?", "Red.", ("blue", "red", "Blue ")),
        QuestionSet("what  color?", "red", ("blue",)),
    ]
    found = samples_of("i", 1, sets)
    assert [s.negative for s in found.kept] == ["blue"]
    assert found.refused == {"equal options": 1, "duplicate": 2}


def test_near_duplicates_share_most_words() -> None:
    texts = ["What color is the cup?", "what color is the red cup?", "How many cups are there?"]
    # 5 of 6 words: 0.83; the third shares nothing but "cup?" against "cups".
    assert near_duplicates(texts) == [(0, 1)]
    assert near_duplicates(texts, least=0.9) == []


ONE = {"question": "How many?", "answer": 2, "negatives": ["3", "2.", "", "3"]}


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (json.dumps({"questions": [ONE]}), ""),
        (json.dumps([ONE]), ""),
        (json.dumps(ONE), ""),
        ("```json\n" + json.dumps({"questions": [ONE]}) + "\n```", "fence"),
        ("Here they are:\n" + json.dumps({"questions": [ONE]}) + "\nGood luck!", "prose"),
        ('{"questions": [' + json.dumps(ONE) + ', {"question": "What', "cut off"),
        ("<think>{}</think>" + json.dumps([ONE]), ""),
    ],
)
def test_replies_are_read_and_mended(text: str, mended: str) -> None:
    found = parse_sets(text)
    assert found.sets == (QuestionSet("How many?", "2", ("3",)),)
    assert found.mended == mended
    assert found.faults == {"negative equals answer": 1, "empty negative": 1, "negative twice": 1}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty reply"),
        ("I am sorry, I can't help with that.", "no JSON"),
        ('{"questions": [', "no JSON"),
        ('{"questions": []}', "no questions"),
        ('[{"answer": "2", "negatives": ["3"]}]', "no question"),
        ('[{"question": "How many?", "negatives": ["3"]}]', "no answer"),
        ('[{"question": "How many?", "answer": "2", "negatives": "3"}]', "no negative"),
        ('["How many?"]', "not an object"),
        ('[{"question": "Is it?", "answer": true, "negatives": ["no"]}]', "no answer"),
    ],
)
def test_useless_replies_say_why(text: str, fault: str) -> None:
    found = parse_sets(text)
    assert found.sets == ()
    assert found.faults == {fault: 1}


def test_the_schema_describes_what_is_read() -> None:
    assert set(SCHEMA["properties"]["questions"]["items"]["required"]) == {
        *("question", "answer", "negatives")
    }


def test_taxonomies_have_the_papers_categories() -> None:
    sizes = [len(load_taxonomy(name).categories) for name in BUILT_IN]
    assert sizes == [4, 10]
    with pytest.raises(UserError, match="did you mean topics"):
        load_taxonomy("topic")


def test_error_rates_by_category() -> None:
    ballots = Ballots.of(FOUR, [(0, 1), (1, 1), (1, 0), (1, 1)])
    # Right: both, one, both, one. Two samples of color: 4 of 4; two of count: 2 of 4 wrong.
    labels = ["color", "count", "color", "count"]
    found = {row.category: row for row in error_rates(load_taxonomy("topics"), labels, ballots)}
    assert (found["color"].n, found["color"].rate.value) == (2, 0.0)
    assert (found["count"].n, found["count"].rate.value) == (2, 0.5)
    assert found["scene"].n == 0
    assert shares(load_taxonomy("topics"), [*labels, ""])[""] == 0.2


def test_what_people_found_wrong_and_what_it_changes() -> None:
    right = [tuple(s.right_place(o) for o in (0, 1)) for s in FOUR]
    ballots = {"good": Ballots.of(FOUR, right), "a": Ballots.of(FOUR, [(0, 0)] * 4)}
    found = verified(np.array([0, 2, 3]), np.array([True, False, True]), ballots)
    assert found.n == 3
    assert found.error_rate.value == pytest.approx(1 / 3)
    whole, part = found.accuracy["a"]
    assert part is not None and part.n == 2
    assert (whole.accuracy.value, part.accuracy.value) == (0.5, 0.5)


def test_the_sample_for_people_is_drawn_without_repeats_and_by_seed() -> None:
    images = [str(i) for i in range(50)]
    assert len({*draw(images, 20, 1)}) == 20
    assert draw(images, 20, 1).tolist() == draw(images, 20, 1).tolist()
    assert draw(images, 20, 1).tolist() != draw(images, 20, 2).tolist()
    assert draw(images, 99, 1).tolist() == list(range(50))
