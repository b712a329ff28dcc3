"""From artifacts to the rows and samples that a report shows."""

from collections.abc import Mapping

from bindbench.conme.report import PAGE
from bindbench.pipeline import (
    conme_report,
    filter_shift,
    instabind_report,
    leaderboard,
    validated,
)
from bindbench.pipeline.base import suite_lexicon
from bindbench.pipeline.report_blind import audit_rows
from bindbench.pipeline.report_calibration import calibration_rows
from bindbench.pipeline.report_gallery import gallery_items
from bindbench.pipeline.report_judges import agreement_rows, disagreements, judges_of
from bindbench.pipeline.report_models import model_rows
from bindbench.pipeline.report_sets import label_shares, mention_order, semantics_shares
from bindbench.pipeline.report_tables import stored_tables
from bindbench.pipeline.survival import survival_rows
from bindbench.reporting.data import ReportData
from bindbench.storage.store import Artifact
from bindbench.suite import Suite

Artifacts = Mapping[str, Artifact]


def collect(suite: Suite, artifacts: Artifacts) -> ReportData:
    """Return everything that the report of a suite shows."""
    lexicon = suite_lexicon(suite)
    keys = [key for key in suite.benchmarks if f"{validated.NAME}/{key}" in artifacts]
    checks = calibration_rows(keys, artifacts)
    models = model_rows(suite, artifacts, keys)
    return ReportData(
        title=suite.name,
        settings=suite.model_dump(mode="json"),
        survival=[row for key in keys for row in survival_rows(artifacts, key)],
        shift=[r for k in keys for r in artifacts[f"{filter_shift.NAME}/{k}"].read().to_pylist()],
        label_shares=[row for key in keys for row in label_shares(key, artifacts, lexicon)],
        leaderboard=artifacts[leaderboard.NAME].read().to_pylist(),
        semantics_shares=[r for k in keys for r in semantics_shares(k, artifacts, lexicon)],
        blind_audit=audit_rows(keys, artifacts, lexicon, suite.seed),
        order=[row for key in keys for row in mention_order(key, artifacts, lexicon, suite.seed)],
        calibration=checks.calibration,
        fault_free=checks.fault_free,
        accepted_faulty=checks.accepted_faulty,
        gallery=[item for key in keys for item in gallery_items(suite, artifacts, key)],
        tables=stored_tables(artifacts),
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
