"""How often the checks were right, where the generator says what it truly drew."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bindbench.analysis.calibration import FAULT_FREE, Calibration, calibrate, implied_faulty
from bindbench.pipeline import images, validated
from bindbench.reporting.data import ALL
from bindbench.storage.store import Artifact
from bindbench.tasks import TRACKS

Artifacts = Mapping[str, Artifact]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class CalibrationRows:
    """The rows of a report on the checks, all benchmarks together."""

    calibration: Rows
    fault_free: Rows
    accepted_faulty: Rows


def calibration_rows(keys: Collection[str], artifacts: Artifacts) -> CalibrationRows:
    """Return how often each fault was caught and how many of the accepted images are faulty."""
    known = [row for key in keys for row in known_faults(key, artifacts)]
    return CalibrationRows(
        [row for track in TRACKS for row in _caught(track, known)],
        [row for track in TRACKS for row in _fault_free(track, known)],
        [row for track in TRACKS for row in _implied(track, known)],
    )


def known_faults(key: str, artifacts: Artifacts) -> Iterator[tuple[str, str, bool]]:
    """Yield (track, fault, accepted) of each image whose generator says what it truly drew."""
    drawn, checked = artifacts[f"{images.NAME}/{key}"], artifacts[f"{validated.NAME}/{key}"]
    for i in range(len(drawn.shards)):
        accepted = {
            (row["index"], row["track"]): row["accepted"]
            for row in checked.read_shard(i, ["index", "track", "accepted"]).to_pylist()
        }
        for row in drawn.read_shard(i, ["index", "track", "truth"]).to_pylist():
            truth = json.loads(row["truth"])
            if truth is not None:
                fault = truth["fault"] or FAULT_FREE
                yield row["track"], fault, accepted[row["index"], row["track"]]


Known = list[tuple[str, str, bool]]


def _calibration(track: str, known: Known) -> Calibration:
    rows = [row for row in known if row[0] == track]
    return calibrate([row[1] for row in rows], np.array([row[2] for row in rows], bool))


def _caught(track: str, known: Known) -> Iterator[dict[str, Any]]:
    for fault, rate in _calibration(track, known).sensitivity.items():
        yield {
            "benchmark": ALL,
            "track": track,
            "fault": fault,
            "n": rate.n,
            "caught": rate.right,
            "share": rate.value,
            "low": rate.lower,
        }


def _fault_free(track: str, known: Known) -> Iterator[dict[str, Any]]:
    rate = _calibration(track, known).specificity
    if rate.n:
        yield {
            "benchmark": ALL,
            "track": track,
            "n": rate.n,
            "accepted": rate.right,
            "share": rate.value,
            "low": rate.lower,
        }


def _implied(track: str, known: Known) -> Iterator[dict[str, Any]]:
    """Return the share of faulty images among the accepted ones at this run's fault rates."""
    faults = [fault for where, fault, _ in known if where == track]
    if not faults:
        return
    rates = {
        fault: faults.count(fault) / len(faults) for fault in sorted(set(faults) - {FAULT_FREE})
    }
    share, bound = implied_faulty(_calibration(track, known), rates)
    yield {"benchmark": ALL, "track": track, "share": share, "low": None, "high": bound}
