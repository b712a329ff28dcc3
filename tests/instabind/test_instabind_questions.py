import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instabind_samples import asked, cars, dataset, group, image, write_asked, write_lines

from bindbench.errors import UserError
from bindbench.instabind.questions import read_questions, write_questions


def test_the_questions_on_three_cars():
    found = asked(cars("red", "blue", "green"))
    assert [(q.question_id, q.question, q.canonical_answer) for q in found.values()] == [
        ("im_g_l1_car_1_color", "What color is the leftmost car?", "red"),
        ("im_g_l1_car_2_color", "What color is the middle car?", "blue"),
        ("im_g_l1_car_3_color", "What color is the rightmost car?", "green"),
        *[
            (
                f"im_g_l2_car_{i}_color_{color}",
                f"Where is the {color} car?\nA. leftmost\nB. middle\nC. rightmost",
                place,
            )
            for i, color, place in [
                (1, "red", "leftmost"),
                (2, "blue", "middle"),
                (3, "green", "rightmost"),
            ]
        ],
        *[
            (
                f"im_g_l3_car_{i}_{side}_car_{j}",
                f"What color is the car immediately to the {side} of the {named} car?",
                answer,
            )
            for i, side, j, named, answer in [
                (1, "right", 2, "red", "blue"),
                (2, "left", 1, "blue", "red"),
                (2, "right", 3, "blue", "green"),
                (3, "left", 2, "green", "blue"),
            ]
        ],
        ("im_g_l4_car_1_color_red_yes", "Is the leftmost car red?", "yes"),
        ("im_g_l4_car_1_color_blue_no", "Is the leftmost car blue?", "no"),
        ("im_g_l4_car_2_color_blue_yes", "Is the middle car blue?", "yes"),
        ("im_g_l4_car_2_color_red_no", "Is the middle car red?", "no"),
        ("im_g_l4_car_3_color_green_yes", "Is the rightmost car green?", "yes"),
        ("im_g_l4_car_3_color_blue_no", "Is the rightmost car blue?", "no"),
    ]


def test_persons_are_asked_about_their_upper_clothing():
    raw = dataset(
        image("im", group("g", ["red", "blue", "gray"], "person", "upper_clothing_color"))
    )
    found = [q.question for q in asked(raw).values()]
    assert found[0] == "What color is the upper clothing of the leftmost person?"
    assert found[3].startswith("Where is the person wearing red upper clothing?\nA. ")
    assert found[6] == (
        "What color is the upper clothing of the person immediately to the right of the person "
        "wearing red upper clothing?"
    )
    assert found[10] == "Is the upper clothing of the leftmost person red?"


def test_another_attribute():
    raw = dataset(image("im", group("g", ["metal", "rubber", "wood"], "cube", "material")))
    found = [q.question for q in asked(raw).values()]
    assert found[0] == "What material is the leftmost cube?"
    assert found[3].startswith("Where is the metal cube?\n")
    assert found[10] == "Is the leftmost cube metal?"


def test_a_shared_value_names_nobody_and_is_no_false_claim():
    found = asked(cars("red", "grey", "gray", "blue"))
    levels = [q.level for q in found.values()]
    assert [levels.count(f"L{i}") for i in (1, 2, 3, 4)] == [4, 2, 2, 8]
    assert [q.canonical_answer for q in found.values() if q.level == "L3"] == ["grey", "gray"]
    false = {
        q.target_instance_id: q.proposed_attribute_source_instance_id
        for q in found.values()
        if q.canonical_answer == "no"
    }
    # car_3's left neighbor is gray as well, so the right one; car_4's left neighbor is not.
    assert false == {"car_1": "car_2", "car_2": "car_1", "car_3": "car_4", "car_4": "car_3"}


def test_no_false_claim_where_all_are_alike():
    found = asked(cars("red", "red", "red"))
    assert [(q.level, q.canonical_answer) for q in found.values()] == [("L1", "red")] * 3 + [
        ("L4", "yes")
    ] * 3


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.sampled_from(["red", "blue", "green", "black", "white"]), min_size=3, max_size=5)
)
def test_every_answer_is_its_targets(values):
    found = asked(cars(*values))
    for question in found.values():
        target = question.target
        assert target.order_index == question.binding_context.target_order_index
        if question.level == "L2":
            right = [o.text for o in question.answer_options or [] if o.is_correct]
            assert right == [question.canonical_answer] == [target.order_label]
        elif question.level == "L4":
            same = question.proposed_attribute_value == target.attribute_value
            assert question.canonical_answer == ("yes" if same else "no")
        else:
            assert question.canonical_answer == target.attribute_value
            if question.level == "L3":
                anchor = next(
                    one
                    for one in question.binding_context.instances
                    if one.instance_id == question.anchor_instance_id
                )
                step = target.order_index - anchor.order_index
                assert step == (1 if question.relation == "right" else -1)
    assert len(found) == len({q.question_id for q in found.values()})


def test_written_questions_are_read_again(tmp_path):
    found = asked(cars("red", "blue", "green"))
    write_questions(tmp_path / "q.jsonl", found.values())
    assert read_questions(tmp_path / "q.jsonl") == found
    row = json.loads((tmp_path / "q.jsonl").read_text().split("\n")[0])
    assert list(row)[-1] == "binding_context"  # L1 has no fields of its own
    with pytest.raises(UserError, match="Cannot write"):
        write_questions(tmp_path / "none" / "q.jsonl", found.values())


def test_bad_question_files(tmp_path):
    found = asked(cars("red", "blue", "green"))
    path = write_asked(tmp_path / "q.jsonl", found)
    lines = path.read_text().split("\n")

    def fault(text: str) -> str:
        path.write_text(text)
        with pytest.raises(UserError) as caught:
            read_questions(path)
        return str(caught.value).replace(str(tmp_path), "")

    assert fault(lines[0] + "\n{not json\n").startswith("/q.jsonl, line 2, is not JSON: ")
    assert fault(lines[0] + "\n[1]\n").startswith("/q.jsonl, line 2, is not a JSON object")
    assert fault(f"{lines[0]}\n\n{lines[0]}") == (
        "/q.jsonl, line 3: the question 'im_g_l1_car_1_color' is also in line 1."
    )
    assert fault("") == "/q.jsonl holds no questions."
    row = json.loads(lines[0])
    write_lines(path, [{**row, "level": "L5"}])
    assert "line 1: level: input should be 'L1', 'L2', 'L3' or 'L4'" in fault(path.read_text())
    write_lines(path, [{**row, "target_instance_id": "car_9"}])
    assert "the target 'car_9' is not among the instances" in fault(path.read_text())
    write_lines(path, [{**row, "answer_type": "yes_no"}])
    assert "answer_type of a question of L1 must be attribute" in fault(path.read_text())
    write_lines(path, [{**row, "level": "L4", "answer_type": "yes_no"}])
    assert "a question of L4 needs its proposed_attribute_value" in fault(path.read_text())
