"""The asset ``instabind_results``: every model's rates on every set, in every setting."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.instabind.annotations import Annotations, Picture
from bindbench.instabind.conditions import condition
from bindbench.instabind.evaluation import evaluated
from bindbench.instabind.outcomes import Outcomes, outcomes
from bindbench.models import registry
from bindbench.models.family import ModelName
from bindbench.pipeline import instabind_annotations, instabind_answers, instabind_questions
from bindbench.pipeline.base import UNPARTITIONED, Context, ShardInputs, table, whole
from bindbench.pipeline.instabind_groups import settings_of
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "instabind_results"
CODE_VERSION = "1"
RATES = (
    *("accuracy", "mbr", "err_mbr", "a_mbr"),
    *("out_of_set_rate", "recognition_rate", "invalid_rate"),
)
GAPS = ("accuracy_gap", "mbr_reduction")  # to the full image, on the same questions
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("set", "model", "setting", "level")),  # level: or "all"
        ("total", pa.int64()),
        ("wrong", pa.int64()),
        *((name + end, pa.float64()) for name in RATES for end in ("", "_low", "_high")),
        ("a_mbr_null", pa.float64()),
        ("distance_counts", pa.string()),  # JSON
        *((name + end, pa.float64()) for name in GAPS for end in ("", "_low", "_high", "_p")),
        ("details", pa.string()),  # JSON, of "all" alone; see docs/instabind.md
    ]
)


@dataclass(frozen=True)
class EvaluateAnswers:
    """Evaluates all answers of a suite."""

    suite: Suite

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each set, model, setting and level."""
        return table(list(self._rows(task)), SCHEMA)

    def _rows(self, task: ShardInputs) -> Iterator[dict[str, Any]]:
        for name in settings_of(self.suite).sets:
            if f"{instabind_questions.NAME}/{name}" not in task.artifacts:
                continue
            annotations = annotations_in(
                task.artifacts[f"{instabind_annotations.NAME}/{name}"], name
            )
            for model, found in self._tables(name, task):
                for setting, rows in found.items():
                    reference = condition(setting).reference
                    full = found.get(reference) if setting != reference else None
                    numbers = evaluated(rows, full, annotations, details=True)
                    for row in _levels(numbers):
                        yield {"set": name, "model": model, "setting": setting} | row

    def _tables(self, name: str, task: ShardInputs) -> Iterator[tuple[str, dict[str, Outcomes]]]:
        """Yield each model's outcomes by setting; a set without questions has none."""
        questions = instabind_questions.questions_in(
            task.artifacts[f"{instabind_questions.NAME}/{name}"]
        )
        for settings in settings_of(self.suite).models if questions else ():
            found = {}
            for setting in settings_of(self.suite).settings:
                key = _key(name, setting, settings)
                if key in task.artifacts:
                    outputs = instabind_answers.outputs_in(task.artifacts[key], settings.model)
                    found[setting] = outcomes(questions, outputs)
            yield settings.model, {name: rows for name, rows in found.items() if len(rows)}


def _levels(numbers: dict[str, Any]) -> Iterator[dict[str, Any]]:
    gaps = numbers.get("gaps", {})
    for level, row in {"all": numbers["overall"], **numbers["levels"]}.items():
        out = {name: row[name] for name in ("total", "wrong", "a_mbr_null", *RATES)}
        for name in RATES:
            low, high = row["intervals"].get(name, (None, None))
            out |= {f"{name}_low": low, f"{name}_high": high}
        gap = gaps.get("overall" if level == "all" else level)
        for name in GAPS if gap else ():
            low, high = gap[name]["interval"]
            out |= {name: gap[name]["value"], f"{name}_low": low, f"{name}_high": high}
            out[f"{name}_p"] = gap[name]["p"]
        if level == "all":
            out["details"] = json.dumps(numbers["details"], sort_keys=True)
        yield {"level": level, "distance_counts": json.dumps(row["distance_counts"])} | out


def annotations_in(artifact: Artifact, name: str) -> Annotations:
    """Return a set's annotations."""
    rows = artifact.read(["picture"])["picture"].to_pylist()
    pictures = [Picture.model_validate_json(row) for row in rows]
    return Annotations(dataset_name=name, dataset_version=artifact.digest[:12], images=pictures)


def _key(name: str, setting: str, settings: RoleSettings) -> str:
    slug = ModelName.parse(settings.model).slug
    return f"{instabind_answers.NAME}/{instabind_answers.partition(name, setting, slug)}"


def build(context: Context) -> Artifact:
    """Build the results from the answers that there are."""
    section = settings_of(context.suite)
    settings = {
        "code": CODE_VERSION,
        "sets": list(section.sets),
        "settings": section.settings,
        "models": [one.model for one in section.models],
    }
    shards = whole(settings, inputs(context))
    function = EvaluateAnswers(context.suite)
    return context.build(NAME, UNPARTITIONED, SCHEMA, settings, shards, function)


def inputs(context: Context) -> dict[str, Artifact]:
    """Return the questions and annotations of the suite's sets, and the answers to them."""
    section, found = settings_of(context.suite), dict[str, Artifact]()
    for name in section.sets:
        parts = {
            f"{module.NAME}/{name}": context.store.current(module.NAME, name)
            for module in (instabind_annotations, instabind_questions)
        }
        if not all(parts.values()):
            continue
        known = {key: part for key, part in parts.items() if part}
        found |= known
        for settings in section.models:
            for setting in section.settings:
                key = _key(name, setting, settings)
                answers = context.store.current(*key.split("/", 1))
                if answers and _fresh(answers, settings, name, known):
                    found[key] = answers
    return found


def _fresh(
    answers: Artifact, settings: RoleSettings, name: str, inputs: dict[str, Artifact]
) -> bool:
    """Whether answers are of the set and the model as they are now; else they are missing."""
    read = {key.removesuffix(f"/{name}"): part.digest for key, part in inputs.items()}
    return (
        answers.settings["inputs"] == read
        and answers.settings["code"] == instabind_answers.CODE_VERSION
        and answers.settings["answerer"] == registry.describe("answerer", settings)
    )
