"""Verdicts on rows from detections and answers."""

import numpy as np
import pytest

from bindbench.instabind.limits import Limits
from bindbench.instabind.row_checks import label, looks, presence
from bindbench.instabind.rows import MATERIALS, Row
from bindbench.models.base import Answer, Detection
from bindbench.training.validator_data import embedded_lexicon
from bindbench.vocabulary import Lexicon

SIZE = (120, 60)
LIMITS = Limits(area=0, side=4)


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return embedded_lexicon()


def row(kind: str = "color", values: tuple[str, ...] = ("red", "blue", "white")) -> Row:
    name = "object" if kind == "shape" else "key"
    objects = values if kind == "shape" else (name,) * len(values)
    return Row(kind, name, values, objects, values, (1.0,) * len(values), "")


def seen(name: str, left: float, width: float = 20.0) -> Detection:
    mask = np.zeros((SIZE[1], SIZE[0]), bool)
    mask[20:40, int(left) : int(left + width)] = True
    return Detection(name, 0.9, (left, 20.0, left + width, 40.0), mask)


KEYS = [seen("key", 80), seen("key", 5), seen("key", 40)]


def test_the_rows_things_are_found_from_left_to_right() -> None:
    verdict, things = presence(row(), KEYS, SIZE, LIMITS)
    assert verdict == "pass"
    assert [one.box[0] for one in things] == [5, 40, 80]


def test_other_things_in_the_image_do_not_count() -> None:
    verdict, things = presence(row(), [*KEYS, seen("cube", 105, 10)], SIZE, LIMITS)
    assert (verdict, len(things)) == ("pass", 3)


@pytest.mark.parametrize(
    ("detections", "verdict"),
    [
        (KEYS[:2], "missing"),
        ([*KEYS[:2], seen("cube", 40)], "missing"),
        ([*KEYS, seen("key", 105, 10)], "count"),
        ([*KEYS[:2], seen("key", 84)], "order"),
        ([*KEYS[:2], seen("key", 40, 3)], "tiny"),
    ],
)
def test_each_verdict(detections: list[Detection], verdict: str) -> None:
    assert presence(row(), detections, SIZE, LIMITS)[0] == verdict


def test_each_thing_is_shown_alone(lexicon: Lexicon) -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 255, (60, 120, 3)).astype(np.uint8)
    things = presence(row(), KEYS, SIZE, LIMITS)[1]
    found = looks(row(), image, things, lexicon)
    assert [look.right for look in found] == [("red",), ("blue",), ("white",)]
    assert [look.about for look in found] == [("leftmost",), ("middle",), ("rightmost",)]
    assert found[0].questions[0].text == "What is the color of the key?"
    assert found[0].questions[0].options == lexicon.colors.names
    # 20 x 20 pixels and 15% around are 26 x 26; a margin of 35% of that, 9 pixels, is repeated.
    for look, left in zip(found, (5, 40, 80), strict=True):
        assert look.image.shape == (44, 44, 3)
        assert (look.image[9:-9, 9:-9] == image[17:43, left - 3 : left + 23]).all()
        assert (look.image[0] == look.image[9]).all()
        (inside,) = look.detections
        assert inside.box == (12, 12, 32, 32)
        assert inside.mask.sum() == 400
        assert inside.mask[12:32, 12:32].all()


def test_shapes_and_materials_have_their_questions(lexicon: Lexicon) -> None:
    image = np.zeros((60, 120, 3), np.uint8)
    shapes = row("shape", ("cube", "sphere", "cone"))
    (first, *_) = looks(shapes, image, KEYS, lexicon)
    assert first.questions[0].text == "What is the shape of the object?"
    assert first.questions[0].options == lexicon.shapes.names
    (first, *_) = looks(row("material", ("wood", "glass", "stone")), image, KEYS, lexicon)
    assert first.questions[0].text == "What is the key made of?"
    assert first.questions[0].options == MATERIALS


def test_sizes_are_compared_in_the_whole_image(lexicon: Lexicon) -> None:
    image = np.zeros((60, 120, 3), np.uint8)
    sized = row("size", ("medium", "large", "small"))
    (look,) = looks(sized, image, KEYS, lexicon)
    assert look.image is image
    assert [(q.subject, q.other) for q in look.questions] == [(2, 0), (0, 1)]
    assert look.right == ("smaller than", "smaller than")
    assert look.questions[0].text == (
        "Is the rightmost key larger than or smaller than the leftmost key?"
    )


def test_a_wrong_answer_a_weak_one_and_none(lexicon: Lexicon) -> None:
    look = looks(row(), np.zeros((60, 120, 3), np.uint8), KEYS, lexicon)[0]
    names = lexicon.colors.names

    def verdict(option: str, score: float) -> tuple[str, str]:
        scores = tuple(score if name == option else 0.0 for name in names)
        return label(look, [Answer(option, scores)], 0.8)

    assert verdict("red", 0.8) == ("pass", "")
    assert verdict("blue", 0.9) == ("label", "leftmost: blue, not red")
    assert verdict("red", 0.79) == ("unsure", "leftmost: red by 0.79 only")
    assert label(look, [Answer("", (0.0,) * len(names))], 0.8) == ("unsure", "leftmost: no answer")
