"""The modes of evaluation, with models whose answers are known."""

from collections.abc import Sequence

import numpy as np
import pytest

from bindbench.conme.choices import UNREADABLE, measure, same_choices
from bindbench.conme.modes import Case, ballots, blind_vote, modes_of, vote
from bindbench.conme.samples import Sample
from bindbench.models.answer_options import ApiAnsweringOptions, HfAnsweringOptions
from bindbench.models.base import Image, Reply, ReplyRequest

GRAY = np.zeros((2, 2, 3), np.uint8)


def sample(place: int, number: int, answer: str = "a cup", negative: str = "two jugs") -> Sample:
    """A sample whose right option stands at ``place`` in the first order."""
    while True:
        found = Sample("i", 1, f"What is it ({number})?", answer, negative)
        if found.right_place(0) == place:
            return found
        number += 1000


TWO = [sample(0, 1), sample(1, 2)]


def case(samples: Sequence[Sample] = TWO, dtype: str = "float32") -> Case:
    images: dict[str, Image] = {"i": GRAY}
    return Case(samples, images, 16, dtype)


def says(*texts: str):
    """A model that says the same words again and again, in turn."""

    def ask(requests: Sequence[ReplyRequest]) -> list[Reply]:
        return [Reply(texts[i % len(texts)]) for i in range(len(requests))]

    return ask


def test_an_always_a_model_is_right_half_the_time_and_never_in_both_orders() -> None:
    found = ballots(TWO, vote("generate", says("A"), case())["generate"])
    assert found.correct.mean(axis=0).tolist() == [0.5, 0.5]
    chosen = measure(found)
    assert chosen is not None
    assert (chosen.both.value, chosen.order_effect.value, chosen.first) == (0, 1, 1)


@pytest.mark.parametrize("text", ["", "It is hard to say.", "A or B", "C", "<think>A</think>"])
def test_what_names_no_option_is_no_choice(text: str) -> None:
    votes = vote("generate", says(text), case())["generate"]
    assert [one.places for one in votes] == [(None, None)] * 2
    assert votes[0].texts == (text, text)
    assert measure(ballots(TWO, votes)).unreadable == 1  # type: ignore[union-attr]


def test_an_option_can_be_named_by_its_text() -> None:
    votes = vote("generate", says("A cup."), case())["generate"]
    assert ballots(TWO, votes).both.all()


def test_equal_texts_are_told_apart_by_the_letter_alone() -> None:
    same = [Sample("i", 1, "What?", "a cup", "a cup")]
    assert vote("generate", says("B"), case(same))["generate"][0].places == (1, 1)
    assert vote("generate", says("a cup"), case(same))["generate"][0].places == (None, None)


def scored(**sums: tuple[float, ...]):
    """A model that gives sums by the prompt's or option's text, each of as many tokens as words."""

    def ask(requests: Sequence[ReplyRequest]) -> list[Reply]:
        out = []
        for request in requests:
            assert request.bare
            name = next(n for n in sums if n.replace("_", " ") in (request.prompt + "any"))
            own = sums[name]
            tokens = tuple(len(option.split()) for option in request.options)
            out.append(Reply("", sums=own, tokens=tokens))
        return out

    return ask


def test_the_likelier_letter_is_chosen_in_each_order() -> None:
    votes = vote("letter", scored(any=(-1.0, -2.0)), case())["letter"]
    assert [one.places for one in votes] == [(0, 0)] * 2
    assert votes[0].scores == ((-1.0, -2.0),) * 2
    # 64-bit and 16-bit scores that differ by 1 in 1,000: a choice and a tie.
    assert vote("letter", scored(any=(-1.001, -1.0)), case())["letter"][0].places == (1, 1)
    coarse = vote("letter", scored(any=(-1.001, -1.0)), case(dtype="bfloat16"))["letter"]
    assert coarse[0].places == (None, None)


def test_a_letter_that_the_server_does_not_list_is_no_choice() -> None:
    votes = vote("letter", says("I see a cup."), case())["letter"]
    assert votes[0].places == (None, None)
    assert np.isnan(votes[0].scores).all()
    assert votes[0].texts == ("I see a cup.",) * 2


def test_sum_and_mean_over_tokens_can_choose_differently() -> None:
    # Both options have two tokens but the negative of the third sample: "jugs", with one.
    three = sample(0, 3, answer="a cup", negative="jugs")
    asked: list[ReplyRequest] = []

    def ask(requests: Sequence[ReplyRequest]) -> list[Reply]:
        asked.extend(requests)
        return [
            Reply("", sums=(-4.0, -3.0), tokens=tuple(len(o.split()) for o in r.options))
            for r in requests
        ]

    found = vote("text", ask, case([three]))
    assert asked[0].prompt == three.question and asked[0].options == ("a cup", "jugs")
    # Sums: -3 beats -4, the wrong one. Means: -4 / 2 = -2 beats -3, the right one.
    assert found["text"][0].places == (1, 0)
    assert found["text_mean"][0].places == (0, 1)
    assert found["text_mean"][0].scores == ((-2.0, -3.0), (-3.0, -2.0))


def test_options_of_one_question_are_scored_together() -> None:
    many = [Sample("i", 1, "What?", "a cup", wrong) for wrong in ("a jug", "a pan", "a pot")]
    sizes: list[int] = []

    def ask(requests: Sequence[ReplyRequest]) -> list[Reply]:
        sizes.extend(len(request.options) for request in requests)
        sums = (-2.0, -1.0, -3.0, -2.0)
        return [Reply("", sums=sums, tokens=(2,) * 4) for _ in requests]

    found = ballots(many, vote("text", ask, case(many))["text"])
    assert sizes == [4]
    # -2 loses against -1, wins against -3, and ties with -2: nothing is chosen.
    assert found.correct.tolist() == [[False, False], [True, True], [False, False]]
    assert found.place[2].tolist() == [UNREADABLE, UNREADABLE]
    assert not found.moved.any()


def test_vqa_score_compares_the_odds_of_yes() -> None:
    # Odds: cup 2 - 1, jugs 3 - 2.5. The probability of yes alone would be higher for neither.
    ask = scored(**{"a_cup": (-1.0, -2.0), "two_jugs": (-2.5, -3.0)})
    found = ballots(TWO, vote("vqa", ask, case())["vqa"])
    assert found.both.all()
    tie = scored(**{"a_cup": (-1.0, -2.0), "two_jugs": (-2.0, -3.0)})
    assert not ballots(TWO, vote("vqa", tie, case())["vqa"]).correct.any()
    assert vote("vqa", says("Maybe."), case())["vqa"][0].places == (None, None)


def test_a_blind_model_sees_gray_and_chooses_by_the_words_alone() -> None:
    seen: list[np.ndarray] = []

    def ask(requests: Sequence[ReplyRequest]) -> list[Reply]:
        seen.extend(request.image for request in requests)
        return [Reply("a cup") for _ in requests]

    votes = blind_vote("generate", ask, case())
    assert list(votes) == ["blind"]
    assert ballots(TWO, votes["blind"]).both.all()  # the words give the answer away
    assert len(seen) == 4 and all(image.shape == GRAY.shape for image in seen)
    assert all((image == 127).all() for image in seen)
    sums = blind_vote("text", scored(What=(-1.0, -2.0)), case())["blind"]
    assert sums[0].scores == ((-1.0, -2.0), (-2.0, -1.0))  # of the two readings the sum


def test_modes_agree_as_far_as_their_choices_do() -> None:
    right = ballots(TWO, vote("generate", says("a cup"), case())["generate"])
    first = ballots(TWO, vote("letter", scored(any=(-1.0, -2.0)), case())["letter"])
    assert same_choices(right, first)[0] == 0.5


def test_no_samples_are_no_votes() -> None:
    for mode in ("generate", "letter", "text", "vqa"):
        assert not any(vote(mode, says("A"), case([])).values())


def test_models_are_asked_in_the_modes_that_they_can_do() -> None:
    api = ApiAnsweringOptions()
    assert modes_of("api:x", api) == ("generate", "letter", "vqa")
    assert modes_of("api:x", api.model_copy(update={"token_probabilities": False})) == ("generate",)
    assert modes_of("hf:x", HfAnsweringOptions()) == ("generate", "letter", "text", "vqa")
    assert modes_of("check:yes", HfAnsweringOptions()) == ("generate",)
