"""Survival of a benchmark's concepts and images through all checks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bindbench.analysis.survival import CheckSurvival, Survival, survival
from bindbench.pipeline import captions, concept_set, validated
from bindbench.storage.store import Artifact
from bindbench.tasks import TRACKS


def survival_rows(artifacts: Mapping[str, Artifact], key: str) -> list[dict[str, Any]]:
    """Return one row for each track and check, ``accepted`` last (Auto-Comp, Table 3).

    Every concept counts: one whose caption failed never reached an image, and is ``not_run``
    in every check of images. ``artifacts`` is keyed by ``asset/benchmark``.
    """
    scenes = {
        row["index"]: row["scene_id"]
        for row in artifacts[f"{concept_set.NAME}/{key}"].read(["index", "scene_id"]).to_pylist()
    }
    written = artifacts[f"{captions.NAME}/{key}"].read(["index", "track", "verdict"]).to_pylist()
    checked = {
        (row["index"], row["track"]): row
        for row in artifacts[f"{validated.NAME}/{key}"]
        .read(["index", "track", *validated.CHECKS])
        .to_pylist()
    }
    rows: list[dict[str, Any]] = []
    for track in TRACKS:
        concepts = [row for row in written if row["track"] == track]
        verdicts = {"captions": [row["verdict"] for row in concepts]}
        for check in validated.CHECKS:
            verdicts[check] = [
                checked.get((row["index"], track), {}).get(check, "not_run") for row in concepts
            ]
        clusters = np.array([scenes[row["index"]] for row in concepts])
        rows += _rows(key, track, survival(verdicts, clusters))
    return rows


def _rows(key: str, track: str, found: Survival) -> list[dict[str, Any]]:
    rows = [_check(key, track, check) for check in found.checks if check.reached]
    total = found.overall.n
    passed = round(found.overall.value * total)
    accepted = {
        "check": "accepted",
        "reached": total,
        "passed": passed,
        "total": total,
        "share_of_reached": found.overall.value,
        "share_of_all": found.overall.value,
        "low": found.overall.low,
        "high": found.overall.high,
        "reasons": {},
    }
    return [*rows, {"benchmark": key, "track": track} | accepted]


def _check(key: str, track: str, check: CheckSurvival) -> dict[str, Any]:
    return {
        "benchmark": key,
        "track": track,
        "check": check.check,
        "reached": check.reached,
        "passed": check.passed,
        "total": check.n_all,
        "share_of_reached": check.of_reached.value,
        "share_of_all": check.of_all.value,
        "low": check.of_reached.low,
        "high": check.of_reached.high,
        "reasons": check.reasons,
    }
