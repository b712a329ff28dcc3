"""Misbindings by place and size, on boxes whose distances are known by hand."""

import json
import sys

import numpy as np
import pytest
from instabind_samples import asked, cars, write_answers, write_asked
from pytest import approx

from bindbench.cli.main import main
from bindbench.instabind.annotations import Annotations, Instance
from bindbench.instabind.outcomes import Outcomes, classify
from bindbench.instabind.space import distance, overlap, size, space

# Centres at (50, 50), (150, 50) and (250, 50) in an image of 640 x 480: the diagonal is 800.
RAW = cars("red", "blue", "green")


def box(*sides: float) -> Instance:
    raw = RAW["images"][0]["same_class_groups"][0]["instances"][0]
    return Instance.model_validate(raw | {"bbox_xywh": list(sides)})


def table(answer) -> Outcomes:
    return Outcomes.of(classify(one, answer(one)) for one in asked(RAW).values())


def leftmost(question):
    first = question.binding_context.instances[0]
    return {"L2": first.order_label, "L4": "yes"}.get(question.level, first.attribute_value)


def test_measures():
    here, there = box(0, 0, 40, 40), box(30, 40, 40, 40)
    assert distance(here, there, 100.0) == approx(0.5)  # 30 and 40 pixels
    assert overlap(here, there) == 0
    assert overlap(here, box(20, 0, 40, 40)) == approx(800 / 2400)
    assert overlap(here, here) == 1
    assert size(here, box(0, 0, 80, 80)) == 2
    assert size(box(0, 0, 80, 80), here) == -2


def test_the_spread_of_always_leftmost():
    """L1 and L2: from 2 at 100 pixels, from 3 at 200; L3: twice from 2, once from 3. No L4."""
    found = space(table(leftmost), Annotations.model_validate(RAW))
    assert found.misbindings == 7
    one = found.measures["distance"]
    assert one.counts == [0, 4, 3, 0, 0, 0]  # 1/8 and 1/4 of the diagonal
    assert one.mean == approx((4 * 0.125 + 3 * 0.25) / 7)
    # The middle one has two others at 1/8; the rightmost one at 1/8 and one at 1/4.
    assert one.expected == approx([0, 4 + 1.5, 1.5, 0, 0, 0])
    assert one.null == approx((4 * 0.125 + 3 * 0.1875) / 7)
    assert found.nearest == approx(4 / 7)  # of the middle one both others are the nearest
    assert found.measures["overlap"].counts == [7, 0, 0, 0, 0, 0]
    assert found.measures["size"].counts == [0, 0, 0, 7, 0, 0]


def test_no_misbindings_no_spread():
    annotations = Annotations.model_validate(RAW)
    assert space(table(lambda q: q.canonical_answer), annotations) is None


def test_the_command_adds_them_to_the_details(tmp_path, monkeypatch, capsys):
    raw = json.loads(json.dumps(RAW))
    raw["images"][0]["source"] = {"dataset": "COCO"}
    (tmp_path / "a.json").write_text(json.dumps(raw))
    questions = write_asked(tmp_path / "q.jsonl", asked(raw))
    answers = write_answers(tmp_path / "o.jsonl", asked(raw), leftmost)

    def call(*more: object) -> tuple[int, str, str]:
        given = ["--questions", questions, "--outputs", answers, "--json", *more]
        monkeypatch.setattr(sys, "argv", ["bindbench", "instabind", "evaluate", *map(str, given)])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsys.readouterr()
        return int(caught.value.code or 0), out, " ".join(err.split())

    code, out, _ = call("--details", "--annotations", tmp_path / "a.json")
    details = json.loads(out)["details"]
    assert (code, list(details["sources"])) == (0, ["COCO"])
    assert details["space"]["misbindings"] == 7
    code, _, err = call("--annotations", tmp_path / "a.json")
    assert code == 2
    assert "--annotations is for --details" in err
    other = json.loads(json.dumps(raw).replace('"g"', '"h"'))
    (tmp_path / "a.json").write_text(json.dumps(other))
    code, _, err = call("--details", "--annotations", tmp_path / "a.json")
    assert code == 2
    assert "has no group 'g' of image 'im'" in err


def test_bins_lie_between_the_edges():
    found = space(table(leftmost), Annotations.model_validate(RAW))
    for one in found.measures.values():
        assert len(one.counts) == len(one.edges) + 1
        assert sum(one.counts) == found.misbindings == approx(np.sum(one.expected))
