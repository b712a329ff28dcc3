"""``bindbench instabind answer``: a file of answers that a run can go on with."""

import json
import sys

import pytest
from instabind_samples import cars, dataset, group, image
from PIL import Image as PILImage

from bindbench.cli.main import main
from bindbench.instabind.annotations import Picture
from bindbench.instabind.asking import folder_reader
from bindbench.models import check_answerers

VALUES = ("red", "blue", "green")


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    PILImage.new("RGB", (640, 480), "white").save(tmp_path / "im.jpg")
    annotations = tmp_path / "a.json"
    annotations.write_text(json.dumps(cars(*VALUES)))

    def run(*arguments: object, model: str = "check:leftmost") -> tuple[int, str, str]:
        given = ["--annotations", annotations, "--images", tmp_path, "--model", model]
        given += ["--out", tmp_path / "o.jsonl", *arguments]
        monkeypatch.setattr(sys, "argv", ["bindbench", "instabind", "answer", *map(str, given)])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsys.readouterr()
        return int(caught.value.code or 0), out, " ".join(err.split())

    return run


def lines(folder):
    return [json.loads(line) for line in (folder / "o.jsonl").read_text().splitlines()]


def test_answers_are_in_the_authors_schema_and_can_be_evaluated(
    call, tmp_path, monkeypatch, capsys
):
    code, out, _ = call()
    assert (code, out) == (0, f"16 questions\nAnswers: {tmp_path / 'o.jsonl'}\n")
    assert lines(tmp_path)[0] == {
        "question_id": "im_g_l1_car_1_color",
        "prediction": "red",
        "model": "check:leftmost",
        "setting": "full_image",
    }
    for command in (
        ["questions", tmp_path / "a.json", "--out", tmp_path / "q.jsonl"],
        ["evaluate", "--questions", tmp_path / "q.jsonl", "--outputs", tmp_path / "o.jsonl"],
    ):
        given = ["bindbench", "instabind", *map(str, command)]
        monkeypatch.setattr(
            sys, "argv", [*given, *(["--json"] if command[0] == "evaluate" else [])]
        )
        with pytest.raises(SystemExit):
            main()
    printed = capsys.readouterr().out
    found = json.loads(printed[printed.index("{") :])
    assert found["levels"]["L1"]["accuracy"] == pytest.approx(1 / 3)


def test_what_is_answered_is_kept_and_the_rest_is_asked(call, tmp_path, monkeypatch):
    call()
    whole = (tmp_path / "o.jsonl").read_text()
    # Killed in the middle of a line: the last whole one counts.
    (tmp_path / "o.jsonl").write_text(whole[: len(whole) // 2])
    left = whole[: len(whole) // 2].count("\n")
    asked = []
    reply = check_answerers.CheckAnswerer.reply

    def counted(self, requests):
        asked.extend(request.key for request in requests)
        return reply(self, requests)

    monkeypatch.setattr(check_answerers.CheckAnswerer, "reply", counted)
    code, out, _ = call()
    assert code == 0
    assert out.startswith(f"16 questions, {left} of them answered before")
    assert len(asked) == 16 - left
    assert (tmp_path / "o.jsonl").read_text() == whole


def test_crops_ask_for_levels_one_and_three(call, tmp_path):
    assert call("--setting", "crop_oracle")[0] == 0
    assert {line["question_id"].split("_")[2] for line in lines(tmp_path)} == {"l1", "l3"}


def test_a_file_of_another_model_or_setting_is_left_alone(call, tmp_path):
    call()
    before = (tmp_path / "o.jsonl").read_text()
    code, _, err = call(model="check:yes")
    assert code == 2
    assert "holds answers of the model 'check:leftmost', not 'check:yes'" in err
    code, _, err = call("--setting", "instance_first")
    assert "holds answers of the setting 'full_image', not 'instance_first'" in err
    assert (tmp_path / "o.jsonl").read_text() == before


def test_a_broken_line_is_named(call, tmp_path):
    (tmp_path / "o.jsonl").write_text("{}\nno json\n")
    code, _, err = call()
    assert code == 2
    assert "o.jsonl, line" in err


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("--setting", "crop"), "Unknown setting 'crop': did you mean"),
        (("--model", "open_clip:ViT-B-32/openai"), "can't answer in words"),
        (("--option", "wording=nan"), "wording is 'nan'"),
        (("--option", "wordin=nano"), "did you mean wording"),
    ],
)
def test_wrong_arguments(call, arguments, wanted):
    code, _, err = call(*arguments)
    assert code == 2
    assert wanted in err


def test_missing_images_are_named_before_anything_is_asked(call, tmp_path):
    (tmp_path / "im.jpg").unlink()
    code, _, err = call()
    assert code == 2
    assert "has no images/im.jpg and no im.jpg, the image im" in err
    assert not (tmp_path / "o.jsonl").exists()


def test_a_damaged_image_is_named(call, tmp_path):
    (tmp_path / "im.jpg").write_bytes(b"no image")
    code, _, err = call()
    assert code == 2
    assert "im.jpg can't be read as an image" in err


def test_a_box_outside_its_image_is_named(call, tmp_path):
    raw = cars(*VALUES)
    raw["images"][0]["same_class_groups"][0]["instances"][2]["bbox_xywh"] = [700.0, 0.0, 9.0, 9.0]
    (tmp_path / "a.json").write_text(json.dumps(raw))
    code, _, err = call("--setting", "crop_oracle")
    assert code == 2
    assert (
        "im_g_l1_car_3_color: the box (700, 0, 709, 9) lies outside its image of 640 x 480" in err
    )


def test_an_image_of_another_size_than_annotated_is_refused_and_a_turned_one_is_turned(tmp_path):
    raw = dataset(image("im", group("g", list(VALUES))))["images"][0]
    picture = Picture.model_validate(raw | {"width": 30, "height": 20})
    read = folder_reader(tmp_path)
    turned = PILImage.new("RGB", (20, 30), "red")
    exif = PILImage.Exif()
    exif[0x0112] = 6  # a camera held upright
    turned.save(tmp_path / "im.jpg", exif=exif)
    assert read(picture).shape == (20, 30, 3)
    turned.save(tmp_path / "im.jpg")
    with pytest.raises(Exception, match="has 20 x 30 pixels, but im is annotated as 30 x 20"):
        read(picture)
