"""From artifacts to the rows and samples that a report shows."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bindbench.analysis.calibration import FAULT_FREE, Calibration, calibrate, implied_faulty
from bindbench.analysis.order import ImageAxis, along_axis, order_correlation
from bindbench.candidates import candidate_families, candidate_texts
from bindbench.captions.minimal import write_minimal
from bindbench.conme.report import PAGE
from bindbench.pipeline import (
    conme_report,
    filter_shift,
    images,
    instabind_report,
    leaderboard,
    negatives,
    validated,
)
from bindbench.pipeline.base import suite_lexicon
from bindbench.pipeline.report_blind import audit_rows
from bindbench.pipeline.report_judges import agreement_rows, disagreements, judges_of
from bindbench.pipeline.report_models import asks_about, findings, rows_of
from bindbench.pipeline.survival import survival_rows
from bindbench.reporting.data import GallerySample, GalleryTrack, Negative, ReportData
from bindbench.semantics import FALSE, TRUE, UNDECIDED
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import TRACKS, get_benchmark
from bindbench.vocabulary import Lexicon

SAMPLES = 6  # of each kind, accepted and rejected, for a benchmark
NEGATIVES = 4  # shown with a sample
Artifacts = Mapping[str, Artifact]


def collect(suite: Suite, artifacts: Artifacts) -> ReportData:
    """Return everything that the report of a suite shows."""
    lexicon = suite_lexicon(suite)
    keys = [key for key in suite.benchmarks if f"{validated.NAME}/{key}" in artifacts]
    known = list(_known_faults(keys, artifacts))
    models = findings(suite, artifacts, keys)
    return ReportData(
        title=suite.name,
        settings=suite.model_dump(mode="json"),
        survival=[row for key in keys for row in survival_rows(artifacts, key)],
        shift=[r for k in keys for r in artifacts[f"{filter_shift.NAME}/{k}"].read().to_pylist()],
        leaderboard=artifacts[leaderboard.NAME].read().to_pylist(),
        semantics_shares=[r for k in keys for r in _shares(k, artifacts, lexicon)],
        blind_audit=audit_rows(keys, artifacts, lexicon, suite.seed),
        order=[r for k in keys for r in _order(k, artifacts, lexicon, suite.seed)],
        calibration=[row for track in TRACKS for row in _caught(track, known)],
        fault_free=[row for track in TRACKS for row in _fault_free(track, known)],
        accepted_faulty=[row for track in TRACKS for row in _implied(track, known)],
        gallery=[sample for key in keys for sample in _gallery(key, artifacts, lexicon)],
        judges=judges_of(suite),
        agreement=agreement_rows(keys, artifacts),
        disagreements=list(disagreements(keys, artifacts)),
        kinds=models.kinds,
        error_families=models.error_families,
        counting=models.counting,
        concordance=models.concordance,
        by_label=models.by_label,
        hardest=models.hardest,
        sisters=sisters(suite, artifacts),
    )


def sisters(suite: Suite, artifacts: Artifacts) -> list[tuple[str, str]]:
    """Return the first pages of the sister benchmarks, as they lie below the report's folder."""
    pages = {
        name: set(artifacts[name].read(["page"])["page"].to_pylist())
        for name in (instabind_report.NAME, conme_report.NAME)
        if name in artifacts
    }
    firsts = [
        (f"InstaBind: {name}", instabind_report, instabind_report.first_page(name))
        for name in (suite.instabind.sets if suite.instabind else ())
    ]
    firsts.append(("ConMe", conme_report, PAGE))
    return [
        (title, f"{stage.FOLDER}/{page}")
        for title, stage, page in firsts
        if page in pages.get(stage.NAME, ())
    ]


def _rows(artifact: Artifact, columns: list[str]) -> Iterator[dict[str, Any]]:
    """Yield some columns of every row; no more than one shard's rows are held."""
    for i in range(len(artifact.shards)):
        yield from artifact.read_shard(i, columns).to_pylist()


def _shares(key: str, artifacts: Artifacts, lexicon: Lexicon) -> Iterator[dict[str, Any]]:
    """Return the shares of true, false and undecided candidates of each family."""
    columns = ["objects", "labels", "semantics"]
    counts: dict[str, np.ndarray] = {}
    for row in _rows(artifacts[f"{negatives.NAME}/{key}"], columns):
        concept = validated.concept_of(key, row)
        families = np.array(candidate_families(concept, lexicon))
        semantics = np.frombuffer(row["semantics"], np.int8)
        for family in set(families[1:].tolist()):
            found = np.bincount(semantics[families == family], minlength=3)
            counts[family] = counts.get(family, np.zeros(3, np.int64)) + found
    if "swap" in counts:  # the swaps are part of the confusion space
        counts["confusion"] = counts["confusion"] + counts["swap"]
    for family in sorted(counts):
        shares = counts[family] / counts[family].sum()
        yield {
            "benchmark": key,
            "family": family,
            "true": float(shares[TRUE]),
            "false": float(shares[FALSE]),
            "undecided": float(shares[UNDECIDED]),
        }


def _order(key: str, artifacts: Artifacts, lexicon: Lexicon, seed: int) -> Iterator[dict[str, Any]]:
    """Return the rank correlation of mention order with every axis that is not asked about."""
    benchmark = get_benchmark(key)
    if benchmark.n == 1:
        return
    columns = ["track", "labels", "scene_id", "accepted", "boxes", "areas", "matched"]
    rows = [r for r in _rows(artifacts[f"{validated.NAME}/{key}"], columns) if r["accepted"]]
    axes: tuple[ImageAxis, ...] = ("horizontal", "vertical")
    for track in TRACKS:
        for axis in axes:
            kept = [
                row
                for row in rows
                if row["track"] == track and not asks_about(axis, key, row["labels"], lexicon)
            ]
            if not kept:
                continue
            fields = [[row[name] for row in kept] for name in ("boxes", "areas", "matched")]
            scenes = np.array([row["scene_id"] for row in kept])
            found = order_correlation(axis, along_axis(axis, *fields), scenes, seed).spearman
            yield {
                "benchmark": key,
                "track": track,
                "axis": axis,
                "correlation": found.value,
                "low": found.low,
                "high": found.high,
                "n": found.n,
            }


def _known_faults(keys: list[str], artifacts: Artifacts) -> Iterator[tuple[str, str, bool]]:
    """Yield (track, fault, accepted) of each image whose generator says what it truly drew."""
    for key in keys:
        accepted = {
            (row["index"], row["track"]): row["accepted"]
            for row in artifacts[f"{validated.NAME}/{key}"]
            .read(["index", "track", "accepted"])
            .to_pylist()
        }
        rows = artifacts[f"{images.NAME}/{key}"].read(["index", "track", "truth"]).to_pylist()
        for row in rows:
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
            "benchmark": "all",
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
            "benchmark": "all",
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
    yield {"benchmark": "all", "track": track, "share": share, "low": None, "high": bound}


def _gallery(key: str, artifacts: Artifacts, lexicon: Lexicon) -> Iterator[GallerySample]:
    """Yield some concepts that both tracks accepted and some that a check rejected."""
    verdicts: dict[int, list[bool]] = {}
    for row in _rows(artifacts[f"{validated.NAME}/{key}"], ["index", "accepted"]):
        verdicts.setdefault(row["index"], []).append(row["accepted"])
    good = [i for i, accepted in verdicts.items() if all(accepted)]
    bad = [i for i, accepted in verdicts.items() if not all(accepted)]
    chosen = sorted([*good[:SAMPLES], *bad[:SAMPLES]])
    rows: dict[int, dict[str, dict[str, Any]]] = {}
    for (i, track), row in rows_of(artifacts[f"{validated.NAME}/{key}"], chosen).items():
        rows.setdefault(i, {})[track] = row
    pixels = rows_of(artifacts[f"{images.NAME}/{key}"], chosen)
    candidates = rows_of(artifacts[f"{negatives.NAME}/{key}"], chosen)
    for i in chosen:
        tracks = [
            _gallery_track(key, row, pixels[i, track], candidates.get((i, track)), lexicon)
            for track, row in rows[i].items()
        ]
        first = next(iter(rows[i].values()))
        text = write_minimal(validated.concept_of(key, first), lexicon).text
        yield GallerySample(key, text, tracks, first["concept_id"])


def _gallery_track(
    key: str,
    row: dict[str, Any],
    image: dict[str, Any],
    candidates: dict[str, Any] | None,
    lexicon: Lexicon,
) -> GalleryTrack:
    verdicts = {"captions": "pass"} | {check: row[check] for check in validated.CHECKS}
    return GalleryTrack(
        track=row["track"],
        caption=row["caption"],
        accepted=row["accepted"],
        image=image["image"]["bytes"],
        width=row["width"],
        height=row["height"],
        boxes=row["boxes"],
        names=row["names"],
        verdicts=verdicts,
        reason=row["reason"],
        negatives=_negatives(key, candidates, lexicon) if candidates else (),
    )


def _negatives(key: str, row: dict[str, Any], lexicon: Lexicon) -> list[Negative]:
    """Return a few false candidates, evenly spread over the item's space."""
    concept = validated.concept_of(key, row)
    texts = candidate_texts(negatives.template_of(row), concept, lexicon)
    families = candidate_families(concept, lexicon)
    false = np.flatnonzero(np.frombuffer(row["semantics"], np.int8) == FALSE)
    picked = false[np.linspace(0, len(false) - 1, min(NEGATIVES, len(false))).astype(int)]
    return [Negative(texts[i], families[i]) for i in picked.tolist()]
