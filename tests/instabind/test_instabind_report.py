"""InstaBind's report: its tables from small answers, worked by hand, and as a page."""

import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from instabind_samples import asked, dataset, group, image, write_answers, write_asked
from PIL import Image
from typer.testing import CliRunner

from bindbench.cli.main import app
from bindbench.errors import UserError
from bindbench.instabind.annotations import Annotations
from bindbench.instabind.outputs import Outputs
from bindbench.instabind.report import render_report
from bindbench.instabind.report_data import findings, statistics, subjects
from bindbench.instabind.report_files import read_folder, write_report
from bindbench.instabind.report_gallery import misbindings
from bindbench.reporting.charts import Bar, bars, stacks

RAW = dataset(
    image("im", group("g", ["red", "blue", "green"])),
    image("im2", group("g2", ["red", "blue", "green", "white"])),
)
ANNOTATIONS = Annotations.model_validate(RAW)
QUESTIONS = asked(RAW)
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"


def right(question):
    return question.canonical_answer


def beside(question):
    """Return the value of the instance to the right of the target, or right where it is last."""
    if question.level != "L1":
        return right(question)
    members = question.binding_context.instances
    return members[min(question.target.order_index, len(members) - 1)].attribute_value


def answers(tmp_path, answer, setting="full_image"):
    """Return what a stand-in answers in a setting."""
    local = ("crop_oracle", "context_crop")
    found = {k: q for k, q in QUESTIONS.items() if setting not in local or q.level in ("L1", "L3")}
    path = write_answers(tmp_path / f"{setting}.jsonl", found, answer, setting)
    return Outputs(path, "m", setting, [(k, answer(q)) for k, q in found.items()])


@pytest.fixture
def outputs(tmp_path):
    """One model that copies a neighbor on L1, but for a crop, and one that is always right."""
    copies = {s: answers(tmp_path, beside, s) for s in ("full_image", "instance_first")}
    return {
        ("copies", "full_image"): copies["full_image"],
        ("copies", "crop_oracle"): answers(tmp_path, right, "crop_oracle"),
        ("copies", "instance_first"): copies["instance_first"],
        ("right", "full_image"): answers(tmp_path, right),
    }


class Page(HTMLParser):
    """Elements, the rows of tables, and ids."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.rows, self.cell = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell = []

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.rows[-1].append(" ".join("".join(self.cell).split()))
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell.append(data)


def test_the_set_is_counted_as_in_table_2():
    found = dict(statistics(ANNOTATIONS, QUESTIONS))
    assert found["Images"] == found["Same-class groups"] == "2"
    assert found["Instances"] == "7"
    assert found["Question L1 / L2 / L3 / L4"] == "7 / 7 / 10 / 14"
    assert found["Group size 3 / 4"] == "1 / 1"
    assert found["Person groups"] == "0.00%" and found["Non-person groups"] == "100.00%"


def test_copies_of_neighbors_are_counted_by_hand(outputs):
    copies, perfect = (findings(one, ANNOTATIONS) for one in subjects(QUESTIONS, outputs))
    assert copies.full is not None and perfect.full is not None
    # Of 7 instances 5 have one to their right: 5 of the 38 questions are wrong.
    assert (copies.full.total, copies.full.wrong) == (38, 5)
    assert copies.errors == pytest.approx(
        {"adjacent": 5 / 38, "nonadjacent": 0, "out_of_set": 0, "recognition": 0, "invalid": 0}
    )
    assert copies.adjacency["all"].observed == 1
    # Boxes stand 100 pixels apart in images of 640 by 480, with a diagonal of 800.
    assert copies.space is not None and copies.space.measures["distance"].mean == 0.125
    places = {name: one.wrong for name, one in copies.slices["place"].items()}
    assert places == {
        **{f"{i} of 3": int(i < 3) for i in (1, 2, 3)},
        **{f"{i} of 4": int(i < 4) for i in (1, 2, 3, 4)},
    }
    assert list(copies.slices["source"]) == ["unknown"]
    assert copies.adjacency["all"].null == pytest.approx((1 / 2 + 1 + 1 / 3 + 2 / 3 + 2 / 3) / 5)
    (crop,) = copies.effects
    assert (crop.setting, crop.gaps.total) == ("crop_oracle", 17)
    assert (crop.full.mbr, crop.other.mbr) == (5 / 17, 0)
    assert crop.gaps.accuracy_gap.value == crop.gaps.mbr_reduction.value == 5 / 17
    assert copies.instance_first is not None
    assert copies.instance_first.gaps.accuracy_gap.value == 0
    assert perfect.full.accuracy == 1 and perfect.effects == []


def test_a_choice_is_another_subject(tmp_path):
    given = {
        ("m", "full_image"): answers(tmp_path, right),
        ("m", "full_image_choice"): answers(tmp_path, beside, "full_image_choice"),
    }
    assert [one.name for one in subjects(QUESTIONS, given)] == ["m", "m, choice"]


def test_the_pages_show_the_figures(outputs):
    pages = render_report("Tiny", ANNOTATIONS, QUESTIONS, outputs)
    assert list(pages) == ["instabind.html", "instabind-copies.html", "instabind-right.html"]
    rows = Page(pages["instabind.html"]).rows
    (table3,) = [row for row in rows if row[:2] == ["copies", "38"]]
    shown = [cell.split()[0] for cell in table3[2:]]
    assert shown == ["86.8%", "13.2%", "100%", "100%", "0%", "0%", "63.3%"]
    (perfect,) = [row for row in rows if row[:2] == ["right", "38"]]
    assert perfect[4] == perfect[5] == perfect[8] == "—"  # nothing wrong, nothing to divide by
    (crop,) = [row for row in rows if row[:2] == ["copies", "Crop"]]
    assert crop[2:7] == ["17", "70.6%", "29.4%", "100%", "0%"]
    assert crop[7].startswith("+29.4") and crop[8].startswith("+29.4")
    matrix = [row for row in Page(pages["instabind-copies.html"]).rows if row[0] == "1"]
    assert ["1", "2", "1", "0"] in matrix  # of the first of three: L2 and L3 right, L1 copied


def test_figures_say_their_numbers(outputs):
    page = render_report("Tiny", ANNOTATIONS, QUESTIONS, outputs)["instabind.html"]
    charts = re.findall(r'<svg class="chart"[^>]* aria-label="(Figure \d)[^"]*"', page)
    assert charts == ["Figure 1", "Figure 2", "Figure 3", "Figure 5"]
    assert "copies: accuracy 86.8%, misbinding (MBR) 13.2%, out of set 0.0%" in page
    assert "copies: adjacent misbinding 13.2%, farther misbinding 0.0%" in page
    assert "copies: distance 1 13.2%, distance 2 0.0%, distance 3 0.0%" in page
    assert "copies: Full image 29.4%, Crop 0.0%" in page


def test_bars_are_as_long_as_their_values():
    svg = bars("t", ["a", "b"], [("m", [Bar(0.4, 0.3, 0.5), None])])
    widths = [float(w) for w in re.findall(r'width="([\d.]+)" height="10"', svg)]
    ends = [float(x) for x in re.findall(r'class="tick" x1="([\d.]+)"', svg)]
    assert widths == pytest.approx([0.8 * (ends[-1] - ends[0])], abs=0.11)  # the axis ends at 50%
    assert "not measured" in svg
    whisker = re.search(r'class="whisker" x1="([\d.]+)" x2="([\d.]+)"', svg)
    assert whisker is not None
    left, end = (float(x) for x in whisker.groups())
    assert end == ends[-1] and left == pytest.approx(ends[0] + 1.5 * widths[0] / 2, abs=0.11)


def test_parts_of_a_stack_follow_each_other():
    svg = stacks("t", ["a", "b"], [("m", [0.25, 0.125])])
    found = re.findall(r'x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="23"', svg)
    (x1, w1), (x2, w2) = [tuple(map(float, one)) for one in found]
    assert x2 == pytest.approx(x1 + w1, abs=0.11) and w2 == pytest.approx(w1 / 2, abs=0.11)
    assert "37.5%" in svg


def png(shape=(480, 640, 3)):
    out = io.BytesIO()
    Image.fromarray(np.full(shape, 90, np.uint8)).save(out, "PNG")
    return out.getvalue()


def test_a_misbinding_shows_target_and_source(outputs):
    copies, _ = subjects(QUESTIONS, outputs)
    pictures = {"im": png()}
    first, second = misbindings(copies, ANNOTATIONS, QUESTIONS, pictures.get)
    assert {first.image_id, second.image_id} == {"im", "im2"}
    assert first.image is not None and second.image is None
    assert Image.open(io.BytesIO(first.image)).size == (320, 240)
    assert (first.level, first.right, first.said, first.distance) == ("L1", "red", "blue", 1)
    assert first.mended_by == ["crop_oracle"]
    assert [frame.label for frame in first.frames] == ["green", "source: blue", "target: red"]
    target = first.frames[-1]  # the box (10, 20, 80, 60) of an image of 640 by 480
    assert (target.left, target.top) == (10 / 640, 20 / 480)
    assert (target.right, target.bottom) == (90 / 640, 80 / 480)
    pages = render_report("Tiny", ANNOTATIONS, QUESTIONS, outputs, pictures.get)
    page = pages["instabind-copies.html"]
    assert page.count('class="box target"') == page.count('class="box source"') == 2
    assert page.count("<img") == 1 and "no picture at hand" in page


def test_a_picture_that_is_none_is_named(outputs):
    with pytest.raises(UserError, match="The picture of image im can't be read"):
        render_report("Tiny", ANNOTATIONS, QUESTIONS, outputs, lambda image: b"nothing")


def test_pages_are_whole_accessible_and_equal_each_time(outputs):
    pages = render_report(HOSTILE, ANNOTATIONS, QUESTIONS, outputs, {"im": png()}.get)
    again = render_report(HOSTILE, ANNOTATIONS, QUESTIONS, outputs, {"im": png()}.get)
    assert pages == again
    ids = {
        name: {a["id"] for _, a in Page(text).elements if a.get("id")}
        for name, text in pages.items()
    }
    for name, text in pages.items():
        elements = Page(text).elements
        for tag, values in elements:
            assert not [key for key in values if key.startswith("on")]
            assert tag != "th" or values.get("scope")
            assert tag != "img" or (values["alt"] and values["src"].startswith("data:image/png"))
            assert values.get("role") != "img" or values.get("aria-label")
            if tag == "a":
                target, _, anchor = values["href"].partition("#")
                assert not anchor or anchor in ids[target or name], values["href"]
                assert (target or name) in pages
        assert "<script>alert" not in text
        assert not re.search(r"(src|href)=\"https?:", text)


def test_nothing_answered_is_said():
    pages = render_report("Tiny", ANNOTATIONS, QUESTIONS, {})
    assert list(pages) == ["instabind.html"]
    assert "No model has answered on the full image yet." in pages["instabind.html"]


def test_a_model_without_the_full_image_has_its_levels(tmp_path):
    alone = {("m", "crop_oracle"): answers(tmp_path, right, "crop_oracle")}
    pages = render_report("Tiny", ANNOTATIONS, QUESTIONS, alone)
    assert [
        cell.split()[0] for row in Page(pages["instabind-m.html"]).rows if row[0] == "L1"
        for cell in row[:3]
    ] == ["L1", "7", "100%"]  # fmt: skip


# Files and command


@pytest.fixture
def files(tmp_path):
    """Annotations, questions, the answers of two models, and one picture."""
    (tmp_path / "a.json").write_text(ANNOTATIONS.model_dump_json())
    write_asked(tmp_path / "q.jsonl", QUESTIONS)
    (tmp_path / "o" / "named").mkdir(parents=True)
    write_answers(tmp_path / "o" / "full.jsonl", QUESTIONS, beside)
    write_answers(tmp_path / "o" / "named" / "full.jsonl", QUESTIONS, right)
    (tmp_path / "pictures" / "images").mkdir(parents=True)
    (tmp_path / "pictures" / "images" / "im.jpg").write_bytes(png())
    return tmp_path


def test_a_subfolder_is_one_model(files):
    assert list(read_folder(files / "o", QUESTIONS)) == [
        ("m", "full_image"),
        ("named", "full_image"),
    ]


def test_the_command_writes_the_pages(files):
    arguments = ["--annotations", "a.json", "--questions", "q.jsonl", "--outputs", "o"]
    paths = [str(files / one) if not one.startswith("--") else one for one in arguments]
    more = ["--out", str(files / "pages"), "--images", str(files / "pictures")]
    done = CliRunner().invoke(app, ["instabind", "report", *paths, *more])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (files / "pages").iterdir()) == [
        "instabind-m.html",
        "instabind-named.html",
        "instabind.html",
    ]
    page = (files / "pages" / "instabind-m.html").read_text(encoding="utf-8")
    assert page.count("data:image/png") == 1


def test_what_is_wrong_with_the_files_is_said(files):
    (files / "empty").mkdir()
    with pytest.raises(UserError, match="empty holds no answers: give a folder"):
        read_folder(files / "empty", QUESTIONS)
    write_answers(files / "o" / "again.jsonl", QUESTIONS, right)
    with pytest.raises(UserError, match=r"full\.jsonl holds answers of m in the setting full_"):
        read_folder(files / "o", QUESTIONS)
    other = Annotations.model_validate(dataset(image("other", group("g", ["red", "blue"]))))
    (files / "a.json").write_text(other.model_dump_json())
    with pytest.raises(UserError, match="has no group 'g' of image 'im'"):
        write_report(files / "a.json", files / "q.jsonl", files / "o", files / "pages")
