"""Rows of like things: drawn, validated by detector and judge, and annotated."""

import json
from pathlib import Path

import pytest
from spine_driver import small_suite

from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.instabind.annotations import AnnotationFile, Picture
from bindbench.instabind.audit import audit
from bindbench.instabind.building import build_annotations
from bindbench.models import registry
from bindbench.models.base import GeneratedImage
from bindbench.models.family import Family, NoOptions
from bindbench.models.mitsuba_generator import MitsubaGenerator
from bindbench.pipeline import (
    instabind_annotations,
    instabind_groups,
    instabind_images,
    instabind_validated,
)
from bindbench.pipeline.base import Context
from bindbench.rendering.faults import FAULTS
from bindbench.storage.store import Artifact, Store
from bindbench.suite import RoleSettings, Suite

STAGES = (instabind_groups, instabind_images, instabind_validated, instabind_annotations)


def suite(groups: int = 4, kind: str = "color", **faults: float) -> Suite:
    rates = dict.fromkeys(FAULTS, 0.0)
    return small_suite(
        instabind={
            "sets": {"rows": {"source": "generated", "kind": kind, "groups": groups}},
            "shard_size": 2,
            "limits": {"area": 0.004, "side": 8},
            "windows": {},
        },
        overrides={"generator": {"options": {"samples": 4, "faults": rates | faults}}},
    )


def built(context: Context) -> dict[str, Artifact]:
    return {stage.NAME: stage.build(context, "rows") for stage in STAGES}


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    chosen = suite()
    return Context(chosen, Store(tmp_path_factory.mktemp("rows"), chosen.name), LocalEngine(1))


@pytest.fixture(scope="module")
def found(context: Context) -> dict[str, Artifact]:
    return built(context)


def test_accepted_images_have_the_annotations_that_they_truly_show(
    found: dict[str, Artifact],
) -> None:
    groups = {r["image_id"]: r for r in found[instabind_groups.NAME].read().to_pylist()}
    images = {r["image_id"]: r for r in found[instabind_images.NAME].read().to_pylist()}
    rows = found[instabind_annotations.NAME].read().to_pylist()
    assert len(rows) >= 2  # of 4 without a fault; larger rows are hard to see
    pictures = [Picture.model_validate_json(row["picture"]) for row in rows]
    for row, picture in zip(rows, pictures, strict=True):
        assert row["image_id"] == picture.image_id
        assert row["image"] == images[picture.image_id]["image"]
        assert (picture.width, picture.height) == (128, 128)
        (group,) = picture.same_class_groups
        assert group.values() == groups[picture.image_id]["values"]
        assert group.class_name == groups[picture.image_id]["class_name"]
        truth = json.loads(images[picture.image_id]["truth"])
        assert group.values() == [item["color"] for item in truth["items"]]
    lines = [[0] for _ in pictures]
    inner = [[[0] * len(p.same_class_groups[0].instances)] for p in pictures]
    file = AnnotationFile(Path("x"), build_annotations("x", pictures), lines, inner)
    assert audit(file) == []


def test_verdicts_have_their_reasons_and_their_calibration(found: dict[str, Artifact]) -> None:
    artifact = found[instabind_validated.NAME]
    rows = artifact.read().to_pylist()
    assert [row["n"] for row in rows] == [3, 4, 5, 6]
    assert all(row["shown"] for row in rows)
    for row in rows:
        assert row["accepted"] == (row["presence"] == row["label"] == "pass")
        assert (row["picture"] is not None) == row["accepted"]
        assert row["accepted"] or row["reason"] or row["presence"] != "pass"
    summary = artifact.summary
    accepted = sum(row["accepted"] for row in rows)
    assert summary["faultless"] == {"images": 4, "accepted": accepted}
    assert summary["faulty"] == {"images": 0, "accepted": 0}


def test_a_longer_set_keeps_the_rows_of_a_shorter_one(
    context: Context, found: dict[str, Artifact]
) -> None:
    longer = Context(suite(groups=5), context.store, context.engine, make_current=False)
    rows = instabind_groups.build(longer, "rows").read().to_pylist()
    assert rows[:4] == found[instabind_groups.NAME].read().to_pylist()


@pytest.mark.parametrize("fault", ["exchanged", "dropped"])
def test_faulty_rows_are_refused(tmp_path: Path, fault: str) -> None:
    chosen = suite(2, "color", **{fault: 1.0})
    made = built(Context(chosen, Store(tmp_path, chosen.name), LocalEngine(1)))
    verdicts = made[instabind_validated.NAME].read().to_pylist()
    assert [row["shown"] for row in verdicts] == [False, False]
    assert not any(row["accepted"] for row in verdicts)
    check = "presence" if fault == "dropped" else "label"
    assert verdicts[0][check] == {"presence": "missing", "label": "label"}[check]
    assert made[instabind_annotations.NAME].rows == 0


class Silent(MitsubaGenerator):
    """Does not tell what it drew."""

    def generate(self, requests):
        return [GeneratedImage(made.image) for made in super().generate(requests)]


def test_no_verdict_depends_on_the_hidden_truth(
    tmp_path: Path, found: dict[str, Artifact], monkeypatch: pytest.MonkeyPatch
) -> None:
    family = Family(
        "generator", "silent", ("one",), NoOptions, lambda *a: Silent(a[-1], 128, 4, {})
    )
    monkeypatch.setitem(registry.FAMILIES, ("generator", "silent"), family)
    usual = suite(2)
    own = usual.profile.model_copy(update={"generator": RoleSettings(model="silent:one")})
    silent = usual.model_copy(update={"profile": own})
    made = built(Context(silent, Store(tmp_path, silent.name), LocalEngine(1)))
    rows = made[instabind_validated.NAME].read().to_pylist()
    told = found[instabind_validated.NAME].read_shard(0).to_pylist()
    assert [row.pop("shown") for row in rows] == [None, None]
    assert all(row.pop("shown") for row in told)
    assert rows == told
    assert "faultless" not in made[instabind_validated.NAME].summary


def test_the_ray_tracer_refuses_materials(tmp_path: Path) -> None:
    chosen = suite(2, "material")
    context = Context(chosen, Store(tmp_path, chosen.name), LocalEngine(1))
    instabind_groups.build(context, "rows")
    with pytest.raises(UserError, match=r"differs in material, which mitsuba:icons can't draw"):
        instabind_images.build(context, "rows")


def test_a_set_that_is_not_there_is_named(context: Context) -> None:
    with pytest.raises(UserError, match="no generated set 'cols'"):
        instabind_groups.build(context, "cols")


@pytest.mark.slow
def test_bytes_do_not_depend_on_the_number_of_workers(
    tmp_path: Path, found: dict[str, Artifact]
) -> None:
    engine = LocalEngine(2)
    again = built(Context(suite(), Store(tmp_path, "small"), engine))
    engine.close()
    assert {n: a.digest for n, a in again.items()} == {n: a.digest for n, a in found.items()}
