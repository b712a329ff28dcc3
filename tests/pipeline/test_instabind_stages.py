"""InstaBind's questions, answers and results as artifacts, on a small set of files."""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from PIL import Image as PILImage
from spine_driver import small_suite

from bindbench.engine.local import LocalEngine
from bindbench.errors import Unfinished, UserError
from bindbench.models import registry
from bindbench.models.base import Reply
from bindbench.models.family import ModelName
from bindbench.pipeline import (
    instabind_answers,
    instabind_files,
    instabind_quality,
    spine,
)
from bindbench.pipeline.base import Context
from bindbench.pipeline.instabind_groups import settings_of
from bindbench.pipeline.preflight import check_instabind
from bindbench.pipeline.report_data import sisters
from bindbench.reporting.data import ReportData
from bindbench.reporting.report import render_report
from bindbench.storage.store import Artifact, Store

sys.path.append(str(Path(__file__).parent.parent / "instabind"))
from instabind_samples import dataset, group, image

NAMES = ("oracle", "yes", "leftmost", "neighbor")
VALUES = ("red", "blue", "green")


@pytest.fixture
def fields(tmp_path):
    """A set of three images of three cars each, in shards of two images."""
    raw = dataset(*(image(name, group(f"g_{name}", list(VALUES))) for name in "abc"))
    for one in raw["images"]:
        one["source"] = {"dataset": "COCO" if one["image_id"] == "a" else "GQA"}
        PILImage.new("RGB", (640, 480), "white").save(tmp_path / f"{one['image_id']}.jpg")
    (tmp_path / "a.json").write_text(json.dumps(raw))
    return {
        "instabind": {
            "sets": {
                "cars": {
                    "source": "file",
                    "annotations": str(tmp_path / "a.json"),
                    "images": str(tmp_path),
                }
            },
            "settings": ["full_image", "crop_oracle"],
            "models": [{"model": f"check:{name}", "batch_size": 5} for name in NAMES],
            "shard_size": 2,
        }
    }


def context_of(fields, root, engine=None) -> Context:
    suite = small_suite(**fields)
    return Context(suite, Store(root, suite.name), engine or LocalEngine(1))


def build(context: Context) -> dict[str, Artifact]:
    built = spine.ask_instabind(context, "cars")
    for place in instabind_answers.cells_of(context.suite):
        for settings in settings_of(context.suite).models:
            slug = ModelName.parse(settings.model).slug
            built += spine.answer_instabind(context, place, slug)
    built += spine.summarize_instabind(context)
    return {f"{one.asset}/{one.partition}": one for one in built}


def test_the_stand_ins_have_the_values_of_paper(fields, tmp_path):
    built = build(context_of(fields, tmp_path / "store"))
    assert built["instabind_questions/cars"].summary == {
        "questions": 48,
        "levels": {"L1": 9, "L2": 9, "L3": 12, "L4": 18},
    }
    rows = built["instabind_results/all"].read().to_pylist()
    found = {(r["model"], r["setting"], r["level"]): r for r in rows}
    assert len(found) == 4 * (5 + 3)
    values = {
        name: [found[f"check:{name}", "full_image", level]["mbr"] for level in ("L1", "L3", "L4")]
        for name in NAMES
    }
    assert values["oracle"] == [0, 0, 0]
    assert values["yes"] == [0, 0, 0.5]
    assert values["leftmost"] == pytest.approx([2 / 3, 3 / 4, 1 / 6])
    assert values["neighbor"] == [1, 1, 0.5]
    crop = found["check:neighbor", "crop_oracle", "all"]
    assert (crop["total"], crop["accuracy"], crop["accuracy_gap"]) == (21, 0, 0)
    assert found["check:neighbor", "full_image", "all"]["accuracy_gap"] is None
    details = json.loads(found["check:leftmost", "full_image", "all"]["details"])
    assert {name: one["total"] for name, one in details["sources"].items()} == {
        "COCO": 16,
        "GQA": 32,
    }
    assert details["space"]["misbindings"] == 3 * (2 + 2 + 3)
    # Boxes stand 100 pixels apart in images whose diagonal is 800: neighbors at 1/8, ends at 1/4.
    distance = details["space"]["measures"]["distance"]
    assert distance["counts"] == [0, 3 * 4, 3 * 3, 0, 0, 0]


def test_the_report_has_pages_for_the_set(fields, tmp_path):
    built = build(context_of(fields, tmp_path / "store"))
    pages = built["instabind_report/all"].read(["page"])["page"].to_pylist()
    assert pages[0] == "instabind-cars.html"


class PagesOf:
    """Stands for the artifact of a report."""

    def __init__(self, page):
        self._page = page

    def read(self, columns):
        return pa.table({"page": [self._page]})


def test_the_suites_report_links_the_pages_that_there_are(fields, tmp_path):
    context = context_of(fields, tmp_path / "store")
    found = {"instabind_report": build(context)["instabind_report/all"]}
    link = ("InstaBind: cars", "instabind/instabind-cars.html")
    assert sisters(context.suite, found) == [link]
    assert sisters(context.suite, {}) == []
    assert sisters(context.suite, found | {"conme_report": PagesOf("conme.html")}) == [
        link,
        ("ConMe", "conme/conme.html"),
    ]
    page = render_report(ReportData("small", sisters=[link]))["index.html"]
    assert '<a href="instabind/instabind-cars.html">InstaBind: cars</a>' in page


@pytest.mark.slow
def test_workers_change_no_bit(fields, tmp_path):
    alone = build(context_of(fields, tmp_path / "one"))
    engine = LocalEngine(2)
    try:
        together = build(context_of(fields, tmp_path / "two", engine))
    finally:
        engine.close()
    assert {k: a.digest for k, a in alone.items()} == {k: a.digest for k, a in together.items()}


class Failing:
    """Answers with the prompt; fails at one question, once."""

    asked: list[str]
    failing: str

    def __init__(self):
        self.asked, self.failing = [], ""

    def reply(self, requests):
        self.asked += [request.key for request in requests]
        missing = {r.key: "no answer" for r in requests if r.key == self.failing}
        if missing:
            raise Unfinished("stand:in", missing, len(requests))
        return [Reply(request.prompt) for request in requests]


@pytest.fixture
def failing(monkeypatch):
    made = Failing()
    family = registry.Family(
        "answerer",
        "stand",
        ("in",),
        registry.FAMILIES["answerer", "check"].options,
        lambda *_: made,
    )
    monkeypatch.setitem(registry.FAMILIES, ("answerer", "stand"), family)
    registry._load.cache_clear()
    return made


def test_a_shard_that_failed_is_all_that_is_asked_again(fields, tmp_path, failing):
    fields["instabind"]["models"] = [{"model": "stand:in", "batch_size": 100}]
    context = context_of(fields, tmp_path / "store")
    spine.ask_instabind(context, "cars")
    failing.failing = "c_g_c_l1_car_1_color"  # of the second shard
    with pytest.raises(UserError, match="c_g_c_l1_car_1_color"):
        spine.answer_instabind(context, "cars--full_image", "stand-in")
    assert len(failing.asked) == 48
    failing.asked, failing.failing = [], ""
    (found,) = spine.answer_instabind(context, "cars--full_image", "stand-in")
    assert len(failing.asked) == 16
    assert all(key.startswith("c_") for key in failing.asked)
    assert found.rows == 48
    spine.answer_instabind(context, "cars--full_image", "stand-in")
    assert len(failing.asked) == 16  # kept


def test_answers_to_other_questions_are_not_counted(fields, tmp_path):
    context = context_of(fields, tmp_path / "store")
    build(context)
    path = Path(fields["instabind"]["sets"]["cars"]["annotations"])
    path.write_text(path.read_text().replace('"blue"', '"white"'))
    spine.ask_instabind(context, "cars")
    (results, _) = spine.summarize_instabind(context)
    assert results.rows == 0


def test_a_set_s_files_are_checked_before_anything_starts(fields):
    fields["instabind"]["sets"]["cars"]["images"] = "nowhere"
    with pytest.raises(UserError, match=r"instabind.sets.cars needs .* nowhere is not there"):
        check_instabind(small_suite(**fields))
    fields["instabind"]["models"] = [{"model": "nano:clip"}]
    fields["instabind"]["sets"] = {}
    with pytest.raises(UserError, match="can't answer in words"):
        check_instabind(small_suite(**fields))


def test_images_that_are_missing_are_counted(fields, tmp_path):
    (tmp_path / "a.jpg").unlink()
    (tmp_path / "b.jpg").unlink()
    with pytest.raises(UserError, match=r"2 of 3 images are missing; first: .*image a"):
        instabind_files.build(context_of(fields, tmp_path / "store"), "cars")


def test_the_audit_of_a_file_is_in_its_summary(fields, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(path.read_text().replace('"green"', '"grey"'))
    (annotations, _) = spine.ask_instabind(context_of(fields, tmp_path / "store"), "cars")
    assert annotations.summary == {"images": 3, "findings": {"alias": 3}}


def test_checks(fields, tmp_path):
    context = context_of(fields, tmp_path / "store")
    build(context)
    assert instabind_quality.groups_left(context, "cars").passed
    assert instabind_quality.every_level_asked(context, "cars").passed
