import json

import pytest
from instabind_samples import cars, dataset, group, image

from bindbench.errors import UserError
from bindbench.instabind.annotations import read_annotations
from bindbench.instabind.audit import audit, order_labels


def read(tmp_path, raw, indent: int | None = 1):
    path = tmp_path / "a.json"
    path.write_text(raw if isinstance(raw, str) else json.dumps(raw, indent=indent))
    return read_annotations(path)


def fault(tmp_path, raw, indent: int | None = 1) -> str:
    with pytest.raises(UserError) as caught:
        read(tmp_path, raw, indent)
    return str(caught.value).replace(str(tmp_path), "")


def first(raw):
    return raw["images"][0]["same_class_groups"][0]["instances"]


def line_with(raw, text: str, nth: int = 1) -> int:
    lines = [i for i, line in enumerate(json.dumps(raw, indent=1).split("\n"), 1) if text in line]
    return lines[nth - 1]


def test_good_annotations_keep_what_is_not_known(tmp_path):
    raw = cars("red", "blue", "green")
    raw["images"][0]["source"] = {"dataset": "COCO", "license": "CC BY 4.0"}
    file = read(tmp_path, raw)
    assert file.annotations.model_dump() == raw
    assert file.annotations.images[0].same_class_groups[0].values() == ["red", "blue", "green"]
    assert file.group_lines == [[line_with(raw, '"group_id"') - 1]]
    assert file.instance_lines == [[[line_with(raw, '"instance_id"', i) - 1 for i in (1, 2, 3)]]]
    assert audit(file) == []


def test_not_json_names_the_line(tmp_path):
    assert fault(tmp_path, '{"images": [\n1,\n]}') == (
        "/a.json, line 3, is not JSON: Expecting value."
    )
    assert "the key 'a' twice" in fault(tmp_path, '{"a": 1, "a": 2}')
    assert "NaN is not a number" in fault(tmp_path, '{"a": NaN}')
    with pytest.raises(UserError, match="Cannot read"):
        read_annotations(tmp_path / "none.json")


def test_two_equal_orders(tmp_path):
    raw = cars("red", "blue", "green")
    first(raw)[2]["order_index"] = 2
    line = line_with(raw, '"group_id"') - 1
    assert fault(tmp_path, raw) == (
        f"/a.json, line {line}: images[0].same_class_groups[0]: 2 instances of group g have the "
        "order_index 2."
    )


def test_orders_with_a_hole(tmp_path):
    raw = cars("red", "blue", "green")
    first(raw)[2]["order_index"] = 4
    assert "the orders of group g are [1, 2, 4], but must be 1 to 3" in fault(tmp_path, raw)


def test_a_missing_attribute(tmp_path):
    raw = cars("red", "blue", "green")
    first(raw)[1]["attributes"] = {"size": "big"}
    assert "car_2 of group g has no attribute 'color'" in fault(tmp_path, raw)


def test_a_missing_or_wrong_field_names_its_instance(tmp_path):
    raw = cars("red", "blue", "green")
    del first(raw)[1]["bbox_xywh"]
    line = line_with(raw, '"instance_id"', 2) - 1
    assert fault(tmp_path, raw) == (
        f"/a.json, line {line}: images[0].same_class_groups[0].instances[1].bbox_xywh: "
        "field required."
    )
    raw = cars("red", "blue", "green")
    first(raw)[0]["order_index"] = "1"
    assert "order_index: input should be a valid integer (it is '1')" in fault(tmp_path, raw)


def test_other_faults_of_a_group(tmp_path):
    raw = cars("red", "blue", "green")
    first(raw)[0]["bbox_xywh"] = [1.0, 2.0, 0.0, 5.0]
    assert "the box [1.0, 2.0, 0.0, 5.0] of car_1 has no area" in fault(tmp_path, raw)
    raw = cars("red", "blue", "green")
    first(raw)[0]["neighbors"]["right"] = "car_9"
    assert "has the neighbor 'car_9', which is not in the group" in fault(tmp_path, raw)


def test_an_id_is_given_twice(tmp_path):
    raw = dataset(
        image("a", group("g", ["red", "blue", "green"])), image("a", group("h", ["red"] * 3))
    )
    second, one = line_with(raw, '"image_id"', 2) - 1, line_with(raw, '"image_id"') - 1
    assert fault(tmp_path, raw) == (
        f"/a.json, line {second}: the image_id 'a' is also given in line {one}."
    )
    raw["images"][1]["image_id"] = "b"
    raw["images"][1]["same_class_groups"][0]["group_id"] = "g"
    assert "the group_id 'g' is also given in line" in fault(tmp_path, raw)
    # In one line: still an error, although the lines are the same.
    assert "the group_id 'g' is also given in line 1." in fault(tmp_path, raw, indent=None)


def found(tmp_path, raw) -> list[tuple[str, int, str]]:
    return [(one.kind, one.line, one.message) for one in audit(read(tmp_path, raw))]


def test_a_box_outside_its_image(tmp_path):
    raw = cars("red", "blue", "green")
    first(raw)[2]["bbox_xywh"], first(raw)[2]["center_xy"] = [600.0, 20.0, 80.0, 60.0], [640.0, 50]
    [(kind, line, message)] = found(tmp_path, raw)
    assert (kind, line) == ("outside", line_with(raw, '"instance_id"', 3) - 1)
    assert "leaves the image of 640 x 480 by 40 pixels" in message


def test_orders_against_centres(tmp_path):
    raw = cars("red", "blue", "green")
    boxes = first(raw)
    boxes[0]["bbox_xywh"], boxes[1]["bbox_xywh"] = boxes[1]["bbox_xywh"], boxes[0]["bbox_xywh"]
    boxes[0]["center_xy"], boxes[1]["center_xy"] = boxes[1]["center_xy"], boxes[0]["center_xy"]
    [(kind, _, message)] = found(tmp_path, raw)
    assert kind == "order"
    assert "car_2 is right of car_1 by its order, but its box's centre is at x = 50" in message


def test_shared_attributes_also_under_an_alias(tmp_path):
    kinds = {kind: message for kind, _, message in found(tmp_path, cars("gray", "grey", "red"))}
    assert set(kinds) == {"shared_attribute", "alias"}
    assert kinds["shared_attribute"].startswith("car_1 and car_2 are gray, and neighbors:")
    assert kinds["alias"] == "car_2 is 'grey', which is read as 'gray'"
    [(kind, _, message)] = found(tmp_path, cars("red", "gray", "red"))
    assert kind == "shared_attribute"
    assert message.startswith("car_1 and car_3 are red: ")


def test_labels_neighbors_centres_flags_sizes_and_persons(tmp_path):
    raw = cars("red", "blue", "green")
    first(raw)[1]["order_label"] = "second from left"
    first(raw)[0]["neighbors"]["right"] = "car_3"
    first(raw)[2]["center_xy"] = [1.0, 2.0]
    first(raw)[2]["ambiguity_flag"] = True
    assert [kind for kind, _, _ in found(tmp_path, raw)] == [
        "neighbor",
        "label",
        "centre",
        "ambiguous",
    ]
    pair = dataset(image("im", group("g", ["red", "blue", "green"], "person")))
    pair["images"][0]["same_class_groups"][0]["instances"].pop()
    pair["images"][0]["same_class_groups"][0]["instances"][1]["neighbors"]["right"] = None
    assert [kind for kind, _, _ in found(tmp_path, pair)] == ["size", "person"]


def test_order_labels():
    assert order_labels(3) == ["leftmost", "middle", "rightmost"]
    assert order_labels(4) == ["leftmost", "second from left", "third from left", "rightmost"]
    assert order_labels(5)[1:4] == ["second from left", "middle", "second from right"]
    assert order_labels(6)[3:] == ["fourth from left", "second from right", "rightmost"]
