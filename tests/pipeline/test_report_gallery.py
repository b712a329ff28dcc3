"""The gallery's items against the stored rows, and what its index counts."""

import hashlib
import json
from types import SimpleNamespace

import numpy as np
import pytest
from spine_driver import build_all, small_suite

from bindbench.candidates import candidate_texts
from bindbench.concepts import content_id
from bindbench.engine.local import LocalEngine
from bindbench.models import registry
from bindbench.models.base import Scores
from bindbench.models.family import Family, NoOptions
from bindbench.pipeline import negatives, report, validated
from bindbench.pipeline.base import Context
from bindbench.pipeline.report_data import collect
from bindbench.pipeline.report_gallery import chosen_concepts
from bindbench.reporting.gallery import gallery_files
from bindbench.semantics import FALSE
from bindbench.storage.store import Store
from bindbench.tasks import TRACKS

KEYS = ("color-n1", "color-n2", "position-n3")
MODEL = "stub:coarse"


class Coarse:
    """Scores at random, on a scale so coarse that captions tie."""

    dtype = "float64"
    method = "stub"

    def score(self, requests):
        return [Scores(np.array([self.one(r, i) for i in range(len(r.texts))])) for r in requests]

    def one(self, request, i):
        digest = hashlib.sha256(f"{request.key} {request.texts[i]}".encode()).digest()
        return digest[0] // 8 / 32 + (0.5 if i == 0 else 0)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    family = Family("scorer", "stub", ("coarse",), NoOptions, lambda *_: Coarse(), summary="stub")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.FAMILIES, ("scorer", "stub"), family)
        suite = small_suite(benchmarks=list(KEYS), concepts=12, gallery=7)
        scorers = (registry.RoleSettings(model="check:oracle"), registry.RoleSettings(model=MODEL))
        profile = suite.profile.model_copy(update={"scorers": scorers})
        suite = suite.model_copy(update={"profile": profile})
        store = Store(tmp_path_factory.mktemp("store"), suite.name)
        context = Context(suite, store, LocalEngine(1))
        artifacts = build_all(context)
        data = collect(suite, report.inputs(context))
        yield SimpleNamespace(context=context, artifacts=artifacts, data=data)


def rows(built, asset):
    """Return an artifact's rows by index and track."""
    return {(row["index"], row["track"]): row for row in built.artifacts[asset].read().to_pylist()}


def shown(built, key):
    return {(i.index, i.track): i for i in built.data.gallery if i.benchmark == key}


@pytest.mark.parametrize("key", KEYS)
def test_the_concepts_are_those_with_the_smallest_hashes(built, key):
    checked = rows(built, f"validated/{key}")
    ids = {index: row["concept_id"] for (index, _), row in checked.items()}
    ranked = sorted(ids, key=lambda index: content_id([0, ids[index]]))
    assert {at for at in checked if at[0] in ranked[:7]} == set(shown(built, key))
    artifact = built.artifacts[f"validated/{key}"]
    assert set(chosen_concepts(artifact, 5, 0)) <= set(chosen_concepts(artifact, 7, 0))
    assert chosen_concepts(artifact, 100, 0) == sorted(ids)


@pytest.mark.parametrize("key", KEYS)
def test_a_model_chose_the_highest_of_the_right_and_the_false_captions(built, key):
    scores = rows(built, f"model_scores/{key}--stub-coarse")
    candidates = rows(built, f"negatives/{key}")
    lexicon = built.context.lexicon
    found = set()
    for at, item in shown(built, key).items():
        if not item.accepted:
            assert item.choices == [] and item.scored == ""
            continue
        row, values = candidates[at], scores[at]["scores"]
        false = [i for i, s in enumerate(np.frombuffer(row["semantics"], np.int8)) if s == FALSE]
        best = max([*false, 0], key=lambda i: (values[i], i in false, -i))  # a tie is lost
        texts = candidate_texts(negatives.template_of(row), validated.concept_of(key, row), lexicon)
        (choice,) = [choice for choice in item.choices if choice.model == MODEL]
        assert (choice.text, choice.right) == (texts[best], best == 0)
        assert item.scored == texts[0] == row["caption"]
        found.add(choice.right)
        (oracle,) = [choice for choice in item.choices if choice.model == "check:oracle"]
        assert oracle.right and set(oracle.won.values()) == {True}
    assert key == "color-n1" or found == {True, False}


@pytest.mark.parametrize("key", KEYS)
def test_the_index_counts_what_the_leaderboard_counts_where_everything_is_shown(built, key):
    everything = built.context.suite.model_copy(update={"gallery": 1000})
    data = collect(everything, report.inputs(built.context))
    files = dict(gallery_files(data))
    index = json.loads(files["gallery/index.js"].decode().removeprefix("bindbench.index(")[:-3])
    model = index["models"].index(MODEL)
    for row in built.artifacts["leaderboard/all"].read().to_pylist():
        wanted = (MODEL, key, "all", "strict", "score")
        if (
            tuple(row[n] for n in ("model", "benchmark", "set", "semantics", "readout")) != wanted
            or row["track"] not in TRACKS
        ):
            continue
        family = [name for name, _ in index["families"]].index(row["family"])
        letters = [
            index["won"][family][model][i]
            for i, (benchmark, track) in enumerate(
                zip(index["benchmark"], index["track"], strict=True)
            )
            if index["benchmarks"][benchmark][0] == key
            and index["tracks"][track][0] == row["track"]
        ]
        won, lost = letters.count("1"), letters.count("0")
        assert (won + lost, letters.count("-")) == (row["n_items"], row["n_excluded"])
        assert won == round((row["accuracy"] or 0) * row["n_items"])
        assert letters.count(".") == sum(
            not r["accepted"]
            for r in built.artifacts[f"validated/{key}"].read().to_pylist()
            if r["track"] == row["track"]
        )


def test_items_say_what_the_checks_said(built):
    for key in KEYS:
        checked = rows(built, f"validated/{key}")
        for at, item in shown(built, key).items():
            row = checked[at]
            assert (item.caption, item.reason) == (row["caption"], row["reason"])
            assert {name: item.verdicts[name] for name in validated.CHECKS} == {
                name: row[name] for name in validated.CHECKS
            }
            left, top, right, bottom = row["boxes"][0]
            side = row["width"], row["height"]
            box = item.boxes[0]
            assert (box.left, box.right) == pytest.approx((left / side[0], right / side[0]))
            assert (box.top, box.bottom) == pytest.approx((top / side[1], bottom / side[1]))


def test_labels_stand_against_the_uniform_target(built):
    for track in TRACKS:
        counts: dict[str, int] = {}
        for (_, where), row in rows(built, "validated/color-n2").items():
            for label in row["labels"] if row["accepted"] and where == track else ():
                counts[label] = counts.get(label, 0) + 1
        found = [
            row
            for row in built.data.label_shares
            if (row["benchmark"], row["track"]) == ("color-n2", track)
        ]
        total = sum(counts.values())
        assert {row["label"]: row["mentions"] for row in found if row["mentions"]} == counts
        for row in found:
            assert row["share"] == row["mentions"] / total
            assert row["target"] == 1 / len(found)
            assert row["null_low"] <= row["target"] <= row["null_high"]


def test_the_export_writes_every_file_and_removes_only_its_own_old_ones(built):
    folder = built.context.store.path / "html"
    kept, old = ["instabind/page.html", "notes.txt"], ["gallery/gone.webp", "model-gone.html"]
    for name in (*kept, *old):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"old")
    artifact = built.artifacts["report/all"]
    assert report.export(built.context, artifact) == str(folder / "index.html")
    wanted = {row["path"]: row["data"] for row in artifact.read().to_pylist()}
    there = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    assert set(there) == {*wanted, *kept}
    assert all(there[name].read_bytes() == data for name, data in wanted.items())
    pictures = [name for name in wanted if name.endswith(".webp")]
    assert sorted(pictures) == sorted(item.file for item in built.data.gallery)
