"""The asset ``instabind_report``: pages on each set of same-class groups, for a browser."""

from dataclasses import dataclass

import pyarrow as pa

from bindbench.instabind.outputs import Outputs
from bindbench.models.family import ModelName
from bindbench.pipeline import (
    instabind_annotations,
    instabind_answers,
    instabind_questions,
    instabind_results,
)
from bindbench.pipeline.base import UNPARTITIONED, Context, ShardInputs, table, whole
from bindbench.pipeline.instabind_groups import settings_of
from bindbench.storage.files import files, remove, write_atomically
from bindbench.storage.paths import SCRATCH
from bindbench.storage.store import Artifact
from bindbench.suite import Suite

NAME = "instabind_report"
CODE_VERSION = "1"
SCHEMA = pa.schema([("page", pa.string()), ("html", pa.large_string())])
FOLDER = "instabind"  # below that of the suite's report


def first_page(name: str) -> str:
    """Return the file of a set's first page."""
    return f"instabind-{name}.html"


@dataclass(frozen=True)
class RenderPages:
    """Renders the pages of every set."""

    suite: Suite

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each page."""
        from bindbench.instabind.report import render_report

        pages: dict[str, str] = {}
        for name in settings_of(self.suite).sets:
            key = f"{instabind_questions.NAME}/{name}"
            questions = (
                instabind_questions.questions_in(task.artifacts[key])
                if key in task.artifacts
                else {}
            )
            if not questions:
                continue
            pictures = task.artifacts[f"{instabind_annotations.NAME}/{name}"]
            pages |= render_report(
                f"{self.suite.name}: {name}",
                instabind_results.annotations_in(pictures, name),
                questions,
                self._outputs(name, task),
                _Pictures(pictures),
                first_page(name).removesuffix(".html"),
            )
        return table([{"page": name, "html": html} for name, html in pages.items()], SCHEMA)

    def _outputs(self, name: str, task: ShardInputs) -> dict[tuple[str, str], Outputs]:
        section, found = settings_of(self.suite), dict[tuple[str, str], Outputs]()
        for model in section.models:
            slug = ModelName.parse(model.model).slug
            for setting in section.settings:
                cell = instabind_answers.partition(name, setting, slug)
                answers = task.artifacts.get(f"{instabind_answers.NAME}/{cell}")
                if answers:
                    outputs = instabind_answers.outputs_in(answers, model.model)
                    found[model.model, setting] = outputs
        return found


@dataclass(frozen=True)
class _Pictures:
    """Finds the few images that are shown."""

    artifact: Artifact

    def __call__(self, image_id: str) -> bytes | None:
        for i in range(len(self.artifact.shards)):
            names = self.artifact.read_shard(i, ["image_id"])["image_id"].to_pylist()
            if image_id in names:
                images = self.artifact.read_shard(i, ["image"])["image"]
                return images[names.index(image_id)].as_py()["bytes"]
        return None


def build(context: Context) -> Artifact:
    """Build the pages of what has been answered."""
    settings = {
        "code": CODE_VERSION,
        "suite": context.suite.name,
        "section": settings_of(context.suite).model_dump(mode="json"),
    }
    shards = whole(settings, instabind_results.inputs(context))
    return context.build(NAME, UNPARTITIONED, SCHEMA, settings, shards, RenderPages(context.suite))


def export(context: Context, artifact: Artifact) -> str:
    """Write the pages beside the artifacts and return the path of the first one."""
    folder = context.store.path / "html" / FOLDER
    rows = artifact.read().to_pylist()
    for old in files(folder):
        if old.endswith(".html") and old not in {row["page"] for row in rows}:
            remove(folder / old)
    for row in rows:
        page = folder / row["page"]
        write_atomically(page, row["html"].encode(), context.store.path / SCRATCH)
    return str(folder / rows[0]["page"]) if rows else str(folder)
