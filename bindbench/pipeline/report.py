"""The asset ``report``: the pages that show a suite, made from its artifacts alone."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.pipeline import (
    captions,
    concept_set,
    conme_report,
    filter_shift,
    images,
    instabind_report,
    leaderboard,
    model_scores,
    negatives,
    second_opinion,
    tables,
    validated,
)
from bindbench.pipeline.base import UNPARTITIONED, Context, ShardInputs, table, whole
from bindbench.reporting import NUMBERS
from bindbench.storage.files import files, remove, write_atomically
from bindbench.storage.paths import SCRATCH
from bindbench.storage.store import Artifact
from bindbench.suite import Suite

NAME = "report"
CODE_VERSION = "5"
SCHEMA = pa.schema([("path", pa.string()), ("data", pa.large_binary())])
PER_BENCHMARK = (concept_set, captions, images, validated, negatives, filter_shift)


FOLDERS = ("figures", "gallery", "tables")  # of the files beside the pages


@dataclass(frozen=True)
class RenderReport:
    """Renders the pages, and the figures, tables and pictures beside them."""

    suite: Suite

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each file."""
        from bindbench.pipeline.report_data import collect
        from bindbench.reporting.report import report_files

        files = report_files(collect(self.suite, task.artifacts))
        return table([{"path": path, "data": data} for path, data in files], SCHEMA)


def build(context: Context) -> Artifact:
    """Build the report of everything that has been built so far."""
    settings = {"code": CODE_VERSION, "suite": context.suite.model_dump(mode="json")}
    settings["definitions"] = hashlib.sha256(NUMBERS.read_bytes()).hexdigest()
    shards = whole(settings, inputs(context))
    return context.build(NAME, UNPARTITIONED, SCHEMA, settings, shards, RenderReport(context.suite))


def inputs(context: Context) -> Mapping[str, Artifact]:
    """Return the leaderboard, and what is known of each complete benchmark.

    Its artifacts, its fresh scores, and the second judge's fresh verdicts if there are any; the
    tables, and the pages of the sister benchmarks, which it links.
    """
    from bindbench.pipeline.report_judges import opinion

    found: dict[str, Artifact] = {
        leaderboard.NAME: context.current(leaderboard.NAME, UNPARTITIONED)
    }
    scored = leaderboard.inputs(context)
    for key in context.suite.benchmarks:
        parts = {m.NAME: context.store.current(m.NAME, key) for m in PER_BENCHMARK}
        if all(parts.values()):
            found |= {f"{name}/{key}": part for name, part in parts.items() if part}
            second = opinion(context, key)
            found |= {f"{second_opinion.NAME}/{key}": second} if second else {}
            cells = f"{model_scores.NAME}/{model_scores.partition(key, '')}"
            found |= {name: part for name, part in scored.items() if name.startswith(cells)}
    if numbers := context.store.current(tables.NAME, UNPARTITIONED):
        found[tables.NAME] = numbers
    sections = {instabind_report: context.suite.instabind, conme_report: context.suite.conme}
    for stage, section in sections.items():
        pages = context.store.current(stage.NAME, UNPARTITIONED)
        if section and pages:
            found[stage.NAME] = pages
    return found


def export(context: Context, artifact: Artifact) -> str:
    """Write the report beside the artifacts and return the path of its first page."""
    folder = context.store.path / "html"
    rows: list[dict[str, Any]] = artifact.read().to_pylist()
    paths = {row["path"] for row in rows}
    for old in files(folder):
        if _own(old) and old not in paths:
            remove(folder / old)
    for row in rows:
        write_atomically(folder / row["path"], row["data"], context.store.path / SCRATCH)
    return str(folder / "index.html")


def _own(path: str) -> bool:
    """Whether a file is of the report: those in other folders are of the sister benchmarks."""
    folder, _, name = path.rpartition("/")
    return path.startswith(tuple(f"{own}/" for own in FOLDERS)) or (
        not folder and name.endswith(".html")
    )
