import json

import pytest
from instabind_samples import asked, cars, write_answers, write_lines

from bindbench.errors import UserError
from bindbench.instabind.outcomes import classify, outcomes
from bindbench.instabind.outputs import read_outputs

FOUR = asked(cars("red", "blue", "green", "black"))


def judge(key: str, answer: str | None):
    found = classify(FOUR[f"im_g_{key}"], answer)
    return found.error, found.source, found.distance


@pytest.mark.parametrize(
    ("key", "answer", "expected"),
    [
        ("l1_car_1_color", "Red.", ("correct", 1, 0)),
        ("l1_car_1_color", "maroon", ("correct", 1, 0)),
        ("l1_car_1_color", "blue", ("misbinding", 2, 1)),
        ("l1_car_1_color", "black", ("misbinding", 4, 3)),
        ("l1_car_1_color", "pink", ("out_of_set", 0, 0)),
        ("l1_car_1_color", "red and blue", ("out_of_set", 0, 0)),
        ("l1_car_1_color", "unclear", ("invalid", 0, 0)),
        ("l1_car_1_color", None, ("invalid", 0, 0)),
        ("l2_car_2_color_blue", "B", ("correct", 2, 0)),
        ("l2_car_2_color_blue", "D. rightmost", ("misbinding", 4, 2)),
        ("l2_car_2_color_blue", "E", ("out_of_set", 0, 0)),
        ("l3_car_1_right_car_2", "red", ("misbinding", 1, 1)),  # the anchor's own color
        ("l3_car_1_right_car_2", "black", ("misbinding", 4, 2)),
        ("l4_car_1_color_red_yes", "Yes", ("correct", 0, 0)),
        ("l4_car_1_color_red_yes", "No", ("recognition", 0, 0)),
        ("l4_car_1_color_blue_no", "no", ("correct", 0, 0)),
        ("l4_car_1_color_blue_no", "yes", ("misbinding", 2, 1)),
        ("l4_car_1_color_blue_no", "The car is blue", ("invalid", 0, 0)),
    ],
)
def test_classes(key, answer, expected):
    assert judge(key, answer) == expected


def test_a_claim_that_nobody_owns_is_a_recognition_failure():
    question = FOUR["im_g_l4_car_1_color_blue_no"].model_copy(
        update={"proposed_attribute_value": "pink"}
    )
    assert classify(question, "yes").error == "recognition"


def test_the_nearest_owner_is_the_source():
    found = asked(cars("red", "blue", "green", "blue"))
    assert classify(found["im_g_l1_car_1_color"], "blue").source == 2
    # Its own value is right, although another instance has it as well.
    assert classify(found["im_g_l1_car_2_color"], "blue").error == "correct"


def test_missing_answers_are_invalid_and_compat_leaves_them_out(tmp_path):
    path = write_answers(tmp_path / "o.jsonl", dict(list(FOUR.items())[:3]), lambda q: "red")
    table = outcomes(FOUR, read_outputs(path, FOUR))
    assert (len(table), int(table.missing.sum())) == (len(FOUR), len(FOUR) - 3)
    assert set(table.error[table.missing]) == {"invalid"}
    assert len(outcomes(FOUR, read_outputs(path, FOUR, compat=True), compat=True)) == 3


def test_a_localized_setting_asks_two_levels(tmp_path):
    some = {key: q for key, q in FOUR.items() if q.level == "L1"}
    path = write_answers(tmp_path / "o.jsonl", some, lambda q: "red", "crop_oracle")
    table = outcomes(FOUR, read_outputs(path, FOUR))
    assert {level: len(part) for level, part in table.by("level").items()} == {"L1": 4, "L3": 6}


def test_bad_output_files(tmp_path):
    path = write_answers(tmp_path / "o.jsonl", FOUR, lambda q: "red")
    lines = path.read_text().split("\n")
    row = json.loads(lines[0])

    def fault(*rows) -> str:
        write_lines(path, list(rows))
        with pytest.raises(UserError) as caught:
            read_outputs(path, FOUR)
        return str(caught.value).replace(str(tmp_path), "")

    assert fault(row, row) == (
        "/o.jsonl, line 2: the question 'im_g_l1_car_1_color' is also answered in line 1."
    )
    assert len(read_outputs(path, FOUR, compat=True).answers) == 2
    unknown = fault({**row, "question_id": "im_g_l1_car_1_colour"})
    assert "Unknown question_id 'im_g_l1_car_1_colour' in /o.jsonl, line 1" in unknown
    assert "did you mean im_g_l1_car_1_color" in unknown
    assert fault({**row, "prediction": None}) == (
        "/o.jsonl, line 1: prediction: input should be a valid string (it is None)."
    )
    assert "line 2: the model is 'x', but 'm' in the first line" in fault(
        row, {**json.loads(lines[1]), "model": "x"}
    )
    level = {"question_id": "im_g_l2_car_1_color_red", "setting": "crop_oracle"}
    assert "is of level L2, but crop_oracle is only for L1 and L3" in fault({**row, **level})
    assert fault() == "/o.jsonl holds no answers."
    path.write_text(lines[0] + "\nnot json\n")
    with pytest.raises(UserError, match=r"o\.jsonl, line 2, is not JSON"):
        read_outputs(path, FOUR)
