"""Answerers that never look, and what InstaBind's numbers are for them, worked out on paper.

One group of three instances with different values has 3 + 3 + 4 + 6 questions:
L1 and L2 ask for each instance; L3 for the targets 2 (right of 1), 1 and 3 (left and right of 2)
and 2 (left of 3); L4 claims of each instance its own value, and that of its left neighbor (of the
leftmost: its right one).
"""

import numpy as np
import pytest
from pytest import approx

from bindbench.instabind.annotations import Annotations
from bindbench.instabind.answer_bias import yes_no
from bindbench.instabind.asking import Desk, asked_in, pictures_of
from bindbench.instabind.conditions import condition
from bindbench.instabind.metrics import by, metrics
from bindbench.instabind.outcomes import Outcomes, classify
from bindbench.instabind.questions import questions
from bindbench.models import registry
from bindbench.suite import RoleSettings, VocabularySources

VALUES = ("red", "blue", "green", "white", "black", "pink")
LABELS = {3: ("leftmost", "middle", "rightmost")}
IMAGE = np.zeros((100, 700, 3), np.uint8)


def annotations(size: int) -> Annotations:
    ids = [f"car_{i}" for i in range(size)]
    ends = [None, *ids, None]
    instances = [
        {
            "instance_id": ids[i],
            "order_index": i + 1,
            "order_label": LABELS.get(size, [f"place {k}" for k in range(size)])[i],
            "bbox_xywh": [100.0 * i, 10.0, 80.0, 80.0],
            "attributes": {"color": VALUES[i]},
            "neighbors": {"left": ends[i], "right": ends[i + 2]},
        }
        for i in range(size)
    ]
    group = {
        "group_id": "g",
        "class_name": "car",
        "attribute_focus": "color",
        "instances": instances,
    }
    picture = {
        "image_id": "im",
        "image_path": "im.png",
        "width": 700,
        "height": 100,
        "same_class_groups": [group],
    }
    raw = {"dataset_name": "t", "dataset_version": "1", "images": [picture]}
    return Annotations.model_validate(raw)


def answered(name: str, setting: str = "full_image", size: int = 3) -> Outcomes:
    found = annotations(size)
    settings = RoleSettings(model=f"check:{name}")
    model = registry.load("answerer", settings, VocabularySources())
    _, _, options = registry.named("answerer", settings)
    desk = Desk(pictures_of(found), lambda picture: IMAGE, condition(setting), options)
    asked = asked_in(questions(found), setting)
    replies = model.reply([desk.request(question) for question in asked])
    return Outcomes.of(classify(q, r.text) for q, r in zip(asked, replies, strict=True))


def rates(table: Outcomes) -> dict[str, tuple[int, float, float, float | None]]:
    """By level: questions, accuracy, MBR and A-MBR."""
    return {
        level: (one.total, one.accuracy, one.mbr, one.a_mbr)
        for level, one in by(table, "level").items()
    }


@pytest.mark.parametrize("setting", ["full_image", "full_image_choice", "instance_first"])
def test_the_oracle_is_always_right(setting):
    assert metrics(answered("oracle", setting)).accuracy == 1


def test_always_yes():
    table = answered("yes")
    assert rates(table) == {
        "L1": (3, 0, 0, None),
        "L2": (3, 0, 0, None),
        "L3": (4, 0, 0, None),
        "L4": (6, 0.5, 0.5, 1.0),  # every false claim is a neighbor's value
    }
    assert metrics(table).out_of_set_rate == approx(10 / 16)
    assert yes_no(table).d_prime == approx(0)
    assert yes_no(table).bias < 0


def test_always_leftmost():
    table = answered("leftmost")
    found = rates(table)
    assert found["L1"] == (3, approx(1 / 3), approx(2 / 3), 0.5)  # from 2: a neighbor; from 3: not
    assert found["L2"] == found["L1"]
    assert found["L3"] == (4, 0.25, 0.75, approx(2 / 3))  # targets 2, 2 and 3 are wrong
    # Right: the leftmost's both claims, and "no" to the rightmost being blue. "Yes" to the middle
    # being red is a misbinding; "no" to the middle and the rightmost being what they are is not.
    assert found["L4"] == (6, 0.5, approx(1 / 6), 1.0)
    assert metrics(table).recognition_rate == approx(2 / 16)
    assert metrics(table).distance_counts == {"1": 1 + 1 + 2 + 1, "2": 3}


def test_copying_a_neighbor():
    table = answered("neighbor")
    assert rates(table) == {
        "L1": (3, 0, 1.0, 1.0),
        "L2": (3, 0, 1.0, 1.0),
        "L3": (4, 0, 1.0, 1.0),
        "L4": (6, 0, 0.5, 1.0),  # "yes" to the neighbor's value, "no" to its own
    }
    assert metrics(table).err_mbr == approx(13 / 16)
    assert yes_no(table).d_prime < -2


@pytest.mark.parametrize("size", [4, 6])
def test_always_leftmost_of_more(size):
    table = answered("leftmost", size=size)
    one = by(table, "level")["L1"]
    assert (one.accuracy, one.a_mbr) == (approx(1 / size), approx(1 / (size - 1)))
    assert one.distance_counts == {str(d): 1 for d in range(1, size)}


def test_crops_ask_levels_one_and_three_only():
    assert set(rates(answered("neighbor", "crop_oracle"))) == {"L1", "L3"}
