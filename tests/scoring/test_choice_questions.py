import itertools
import json
import math
from collections import Counter

import numpy as np
import pytest

from bindbench.analysis.accuracy import decide
from bindbench.scoring.choice import (
    choice_prompt,
    choice_question,
    cost_of,
    option_labels,
    parse_choice,
    parse_yes_no,
    usage_of,
    votes,
    wrong_options,
    yes_no_log_odds,
)
from bindbench.semantics import FALSE, TRUE, UNDECIDED

TEXTS = ["A red cup and a blue chair.", "A blue cup and a red chair.", "A white car."]


@pytest.mark.parametrize("wrong", [[1], [1, 2, 3], list(range(1, 16)), list(range(1, 50))])
def test_with_all_rotations_every_option_stands_at_every_position_once(wrong):
    question = choice_question("item", "confusion", wrong, rotations=50)
    assert len(question.orders) == len(wrong) + 1
    for position in range(len(wrong) + 1):
        assert sorted(order[position] for order in question.orders) == [0, *wrong]


@pytest.mark.parametrize("size, rotations", [(16, 4), (15, 4), (50, 4), (7, 3), (4, 4)])
def test_fewer_rotations_are_spread_over_the_cycle(size, rotations):
    orders = choice_question("item", "confusion", list(range(1, size)), rotations).orders
    places = sorted(order.index(0) for order in orders)
    gaps = np.diff([*places, places[0] + size])
    assert len(orders) == rotations
    assert set(gaps) <= {size // rotations, -(-size // rotations)}
    for order in orders:  # cyclic: every option has the neighbour that it has elsewhere
        follows = dict(zip(order, [*order[1:], order[0]], strict=True))
        assert follows == dict(zip(orders[0], [*orders[0][1:], orders[0][0]], strict=True))


def test_over_all_items_the_positive_stands_at_every_position_equally_often():
    items, size = 4000, 5
    counts = Counter(
        order.index(0)
        for item in range(items)
        for order in choice_question(f"item {item}", "confusion", [1, 2, 3, 4], 1).orders
    )
    # Each position: binomial with mean 800 and standard deviation 25.
    assert all(abs(counts[position] - items / size) < 5 * 25.3 for position in range(size))


def test_where_the_letters_run_out_49_wrong_options_are_drawn_and_numbered():
    question = choice_question("item", "confusion", list(range(1, 724)), rotations=2)
    assert len(question.offered) == 50
    assert question.offered[0] == 0
    assert option_labels(50) == [str(i) for i in range(1, 51)]
    assert question == choice_question("item", "confusion", list(range(1, 724)), rotations=2)
    others = [
        choice_question("item", "confusion", list(range(1, 724)), 2, seed=1),
        choice_question("other", "confusion", list(range(1, 724)), 2),
    ]
    assert all(set(other.offered) != set(question.offered) for other in others)


def test_every_wrong_option_is_drawn_equally_often():
    counts = Counter(
        candidate
        for item in range(2000)
        for candidate in choice_question(str(item), "all", list(range(1, 101)), 1, most=10).offered
    )
    assert counts[0] == 2000
    drawn = [counts[candidate] for candidate in range(1, 101)]  # mean 200, deviation 13.4
    assert 200 - 5 * 13.4 < min(drawn) < max(drawn) < 200 + 5 * 13.4


def test_26_options_have_letters_and_none_is_left_out():
    question = choice_question("item", "all", list(range(1, 26)), 1, most=3)
    assert len(question.offered) == 26
    assert "".join(option_labels(26)) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def test_only_false_captions_are_offered():
    truth = np.array([TRUE, FALSE, UNDECIDED, TRUE, FALSE], np.int8)
    assert wrong_options(truth, ()) == {"all": [1, 4]}
    several = ["", "swap", "swap", "confusion", "confusion"]
    assert wrong_options(truth, several) == {"confusion": [1, 4], "swap": [1]}
    single = ["", "vary_color", "vary_color", "vary_object", "vary_object"]
    assert wrong_options(truth, single) == {"vary_color": [1], "vary_object": [4]}
    unclear = np.array([TRUE, UNDECIDED, UNDECIDED, TRUE, FALSE], np.int8)
    assert wrong_options(unclear, several) == {"confusion": [4]}


def test_the_prompt_lists_the_options():
    assert choice_prompt("Which one?", TEXTS[:2]) == (
        "Which one?\nA. A red cup and a blue chair.\nB. A blue cup and a red chair.\n"
        "Answer with the letter of the caption only."
    )
    assert "number of the caption" in choice_prompt("Which?", [str(i) for i in range(27)])


READ = [
    *[(form, 1) for form in ("B", "b", " B\n", "(B)", "[B]", "B.", "B)", "**B**", "`B`", '"B"')],
    *[(form, 1) for form in ("Answer: B", "The answer is B.", "Option B", "The answer is (B).")],
    *[(form, 1) for form in ("The correct answer is option B", "**Answer:** B", "Caption B.")],
    ("B. A blue cup and a red chair.", 1),
    ("B: a blue cup and a red chair", 1),
    ("(B) A blue  cup and a red chair.", 1),
    ("A blue cup and a red chair.", 1),
    ("a blue cup and a red chair", 1),
    ("A. A red cup and a blue chair.", 0),
    ("<think>Is it A? No, B.</think>\nB", 1),
    ("A white car.", 2),
]
NOT_READ = [
    *("", "D", "AB", "A or B", "A, B", "1", "none", "Neither A nor B", "I think it is B."),
    *("A white cup.", "The image shows B", "A. A blue cup and a red chair.", "B because", "?"),
    *("<think>B", "A blue chair and a red cup", "Answer", "a red cup", "B\nA", "not B", "B B"),
]


@pytest.mark.parametrize("answer, position", READ)
def test_an_answer_that_names_one_option_is_read(answer, position):
    assert parse_choice(answer, TEXTS) == position


@pytest.mark.parametrize("answer", NOT_READ)
def test_an_answer_that_does_not_is_never_guessed(answer):
    assert parse_choice(answer, TEXTS) is None


def test_numbers_are_read_where_options_are_numbered():
    texts = [f"caption {chr(97 + i // 26)}{i}" for i in range(50)]
    assert [parse_choice(form, texts) for form in ("1", "50", "Number 17.", "(3)")] == [
        0,
        49,
        16,
        2,
    ]
    assert [parse_choice(form, texts) for form in ("0", "51", "A", "1 2", "117")] == [None] * 5


def test_an_answer_that_names_two_options_is_not_read():
    assert parse_choice("B. A red cup.", ["A red cup.", "B. A red cup."]) == 1
    assert parse_choice("A. x", ["x", "A. x"]) is None


@pytest.mark.parametrize(
    "answer, said",
    [
        *[(form, True) for form in ("Yes", "yes.", " YES\n", "**Yes**", "Answer: yes", '"Yes"')],
        *[(form, False) for form in ("No", "no.", "The answer is no.")],
        *[(form, None) for form in ("", "Yes and no", "Yesterday", "not", "Yes, but", "maybe")],
    ],
)
def test_yes_and_no_are_read_alone(answer, said):
    assert parse_yes_no(answer) is said


def test_votes_by_hand():
    orders = [(2, 0, 1), (0, 1, 2), (1, 2, 0)]
    assert votes(orders, [1, 0, 0], 4).tolist() == [2 / 3, 1 / 3, 0, 0]
    assert votes(orders, [1, None, None], 4).tolist() == [1 / 3, 0, 0, 0]
    assert votes(orders, [None, None, None], 4).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_one_that_always_takes_the_same_letter_ties_everywhere_and_gets_chance(size):
    question = choice_question("item", "all", list(range(1, size)), size)
    for position in range(size):
        shares = votes(question.orders, [position] * size, size)
        assert shares.tolist() == [1 / size] * size
        result = decide(shares[None], np.arange(size)[None] > 0, "float64")
        assert not result.win[0]
        assert result.credit[0] == result.chance[0] == 1 / size


@pytest.mark.parametrize("size, rotations", [(2, 2), (3, 3), (4, 3), (3, 1)])
def test_over_all_possible_answers_the_mean_credit_is_chance(size, rotations):
    question = choice_question("item", "all", list(range(1, size)), rotations)
    shares = [
        votes(question.orders, chosen, size)
        for chosen in itertools.product(range(size), repeat=rotations)
    ]
    rivals = np.tile(np.arange(size) > 0, (len(shares), 1))
    credit = decide(np.array(shares), rivals, "float64").credit
    assert np.mean(credit) == pytest.approx(1 / size, abs=1e-12)


def test_log_odds_add_up_spellings():
    top = [("Yes", math.log(0.5)), (" yes", math.log(0.2)), ("No", math.log(0.1)), ("I", -9.0)]
    assert yes_no_log_odds(top) == pytest.approx(math.log(0.7 / 0.1), abs=1e-12)


def test_a_word_that_is_not_listed_is_at_most_as_likely_as_the_least_listed():
    top = [("Yes", math.log(0.9)), ("The", math.log(0.05)), ("A", math.log(0.01))]
    assert yes_no_log_odds(top) == pytest.approx(math.log(0.9 / 0.01), abs=1e-12)
    assert yes_no_log_odds([("No", math.log(0.9)), ("Not", -5.0)]) == pytest.approx(
        -5.0 - math.log(0.9), abs=1e-12
    )
    assert yes_no_log_odds([("The", -0.1), ("Now", -3.0)]) is None


def raw(item, answers, unreadable=0):
    return json.dumps({"item": item, "answers": answers, "unreadable": unreadable})


def kept(key, tokens=(10, 2), served="m 1"):
    return {"key": key, "input": tokens[0], "output": tokens[1], "served": served}


def test_usage_counts_a_shared_answer_once():
    raws = [
        raw("i1", [kept("a"), kept("shared", (30, 6), "m 2")]),
        None,
        raw("i2", [kept("shared", (30, 6), "m 2"), kept("b", (None, None), "")], 2),
    ]
    assert usage_of(raws) == {
        "answers": 3,
        "input_tokens": 40,
        "output_tokens": 8,
        "unmeasured": 1,
        "unreadable": 2,
        "unreadable_items": ["i2"],
        "served": ["m 1", "m 2"],
    }
    assert usage_of([None, None]) == {}


def test_cost_is_by_the_million():
    usage = {"input_tokens": 2_000_000, "output_tokens": 500_000}
    assert cost_of(usage, 0.15, 0.6) == pytest.approx(0.6, abs=1e-12)
