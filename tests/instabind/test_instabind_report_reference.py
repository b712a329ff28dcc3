"""The report's tables against the paper's, where BINDBENCH_REFERENCE holds the published files."""

import os
from pathlib import Path

import pytest

from bindbench.instabind.annotations import read_annotations
from bindbench.instabind.questions import read_questions
from bindbench.instabind.report_data import findings, statistics, subjects
from bindbench.instabind.report_files import read_folder

FOLDER = Path(os.environ.get("BINDBENCH_REFERENCE", "")) / "instabind"
pytestmark = [
    pytest.mark.reference,
    pytest.mark.skipif(
        "BINDBENCH_REFERENCE" not in os.environ, reason="BINDBENCH_REFERENCE is not set"
    ),
]
# In percent. Table V: accuracy and MBR on the full image, with the crop, with the context crop.
TABLE_5 = {
    "qwen25vl": (69.56, 14.57, 69.44, 12.72, 73.36, 11.24),
    "llava15": (47.92, 34.33, 68.06, 15.21, 66.86, 18.21),
}
# Table VI: MBR reduced by the crop and by the context crop, with the ends of the intervals.
TABLE_6 = {
    "qwen25vl": ((1.85, -0.12, 3.69), (3.33, 1.38, 5.18)),
    "llava15": ((19.13, 16.73, 21.41), (16.12, 13.62, 18.40)),
}
# Table VII: accuracy and MBR with instance-first prompts. Two answers of each model that the
# authors read as option A are read otherwise here: see docs/instabind.md.
TABLE_7 = {"qwen25vl": (73.19, 12.76), "llava15": (31.80, 35.16)}
# Figure 3 has no numbers; the share of misbindings at distance 1 is the A-MBR of Table III.
TABLE_3_A_MBR = {"qwen25vl": 82.65, "llava15": 78.70}


@pytest.fixture(scope="module")
def found():
    questions = read_questions(FOLDER / "questions.jsonl")
    outputs = read_folder(FOLDER / "outputs", questions)
    annotations = read_annotations(FOLDER / "annotations.json").annotations
    return {one.name: findings(one, annotations) for one in subjects(questions, outputs)}


def test_table_2():
    annotations = read_annotations(FOLDER / "annotations.json").annotations
    counted = dict(statistics(annotations, read_questions(FOLDER / "questions.jsonl")))
    plain = {name: value.replace("\u2009", "") for name, value in counted.items()}
    wanted = {
        "Images": "524",
        "Same-class groups": "529",
        "Instances": "1773",
        "Questions": "9580",
        "Person groups": "36.86%",
        "Non-person groups": "63.14%",
        "Group size 3 / 4 / 5 / 6": "391 / 98 / 32 / 8",
        "Question L1 / L2 / L3 / L4": "1773 / 1773 / 2488 / 3546",
        "Images from COCO": "205",
        "Images from GQA": "21",
        "Images from VAW": "4",
    }
    assert {name: plain.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("model", TABLE_5)
def test_tables_5_and_6(found, model):
    crop, context = found[model].effects[:2]
    assert (crop.setting, context.setting) == ("crop_oracle", "context_crop")
    ours = [
        100 * value
        for one in (crop.full, crop.other, context.other)
        for value in (one.accuracy, one.mbr)
    ]
    assert ours == pytest.approx(TABLE_5[model], abs=0.0101)
    for effect, (value, *ends) in zip((crop, context), TABLE_6[model], strict=True):
        reduction = effect.gaps.mbr_reduction
        assert 100 * reduction.value == pytest.approx(value, abs=0.0101)
        assert [100 * end for end in reduction.interval] == pytest.approx(ends, abs=0.5)


@pytest.mark.parametrize("model", TABLE_7)
def test_table_7(found, model):
    effect = found[model].instance_first
    assert [100 * effect.other.accuracy, 100 * effect.other.mbr] == pytest.approx(
        TABLE_7[model], abs=2 * 100 / 9580 + 0.0051
    )


@pytest.mark.parametrize("model", TABLE_3_A_MBR)
def test_figures_2_and_3_agree_with_table_3(found, model):
    one = found[model]
    near = one.errors["adjacent"] / (one.errors["adjacent"] + one.errors["nonadjacent"])
    assert 100 * near == pytest.approx(TABLE_3_A_MBR[model], abs=0.0051)
    assert sum(one.errors.values()) == pytest.approx(1 - one.full.accuracy)
    counts = one.full.distance_counts
    assert counts["1"] == round(one.errors["adjacent"] * one.full.total)
