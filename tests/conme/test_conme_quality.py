"""Repeats, leaks and the self-check, with samples whose numbers follow by hand."""

import pytest

from bindbench.conme.quality import leaks, repeats, self_check
from bindbench.conme.samples import Sample


def test_near_repeats_are_counted_within_an_image() -> None:
    asked = [
        ("i", "What color is the cup?"),
        ("i", "what color is the red cup?"),  # 5 of 6 words
        ("i", "How many jugs are there?"),
        ("j", "What color is the cup?"),  # another image
    ]
    samples = [Sample(image, 1, text, "a", negative) for image, text in asked for negative in "bc"]
    found = repeats(samples)
    assert (found.questions, found.near) == (4, 1)
    assert found.examples == ((asked[0][1], asked[1][1]),)
    assert repeats([]).questions == 0


def test_longer_answers_leak() -> None:
    right = [f"a red cup that stands on the table number {i}" for i in range(40)]
    wrong = [f"a blue jug {i}" for i in range(40)]
    found = leaks(right, wrong, [str(i) for i in range(40)])
    words = next(cue for cue in found if cue.cue == "words")
    assert (words.direction, words.accuracy) == ("most", 1.0)
    assert words.leak
    assert not next(cue for cue in found if cue.cue == "edge_space").leak
    assert leaks([], [], []) == []


def test_options_alike_do_not_leak() -> None:
    colors = ["red", "tan", "sky", "ash"]
    right = [colors[i % 4] for i in range(40)]
    wrong = [colors[(i + 1) % 4] for i in range(40)]
    assert not any(cue.leak for cue in leaks(right, wrong, [str(i) for i in range(40)]))


def test_the_self_check_has_three_criteria() -> None:
    names = ("answer", "negative", "clear")
    verdicts: list[dict[str, bool | None]] = [
        dict(zip(names, given, strict=True))
        for given in [
            (True, True, True),
            (True, True, False),
            (False, True, True),
            (None, True, True),
        ]
    ]
    found = self_check(verdicts, ["i", "j", "k", "l"])
    assert found is not None and (found.n, found.unread) == (3, 1)
    rates = {name: share.value for name, share in found.passed.items()}
    assert rates == pytest.approx({"answer": 2 / 3, "negative": 1, "clear": 2 / 3, "all": 1 / 3})
    assert self_check([], []) is None
