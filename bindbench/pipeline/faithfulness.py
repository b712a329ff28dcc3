"""The asset ``faithfulness``: answers to questions about every image, accepted or not.

The questions are generated from the concept, so that the right answers are known; the share of
right ones says how faithful the generator is (Auto-Comp, A.7.2 and Table 18). It is built only
where the profile names an answerer, and decides nothing.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.pipeline import captions, concept_set, images, validated
from bindbench.pipeline.asking import ask_all, usage_summary
from bindbench.pipeline.base import (
    Context,
    ShardInputs,
    aligned,
    fresh,
    strings,
    suite_lexicon,
    table,
)
from bindbench.pipeline.judging import ask
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite
from bindbench.tasks import get_benchmark
from bindbench.validation.faithfulness import generated_questions

NAME = "faithfulness"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("concept_id", pa.string()),
        ("scene_id", pa.string()),
        ("track", pa.string()),
        ("kinds", strings()),  # of each question
        ("questions", strings()),
        ("right", strings()),
        ("answers", strings()),  # "": none that can be read
        ("answer_raw", strings()),  # what a server really said, else null
    ]
)


@dataclass(frozen=True)
class AskQuestions:
    """Asks about the images of a shard."""

    suite: Suite
    key: str
    answerer: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each image; none where the benchmark is not asked about.

        Raises:
            Unfinished: a server gave no answer for some images.
        """
        if not is_asked(self.suite, self.key):
            return table([], SCHEMA)
        scenes = {r["index"]: r["scene_id"] for r in task.rows(concept_set.NAME)}
        columns = ["index", "track", "objects", "labels"]
        written = {(r["index"], r["track"]): r for r in task.rows(captions.NAME, columns)}
        rows = [
            row | written[row["index"], row["track"]] | {"scene_id": scenes[row["index"]]}
            for row in task.rows(images.NAME, ["index", "concept_id", "track", "image"])
        ]
        found = ask_all(rows, self.answerer.batch_size, self._ask, _name)
        return table([_kept(row) | more for row, more in zip(rows, found, strict=True)], SCHEMA)

    def _ask(self, batch: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        judge = registry.load("judge", self.answerer, self.suite.profile.vocabularies)
        lexicon = suite_lexicon(self.suite)
        asked = [generated_questions(validated.concept_of(self.key, row), lexicon) for row in batch]
        pixels = [images.decode_png(row["image"]["bytes"]) for row in batch]
        questions = [[one.question for one in of_image] for of_image in asked]
        answers = ask(judge, [_name(row) for row in batch], pixels, [()] * len(batch), questions)
        return [
            {
                "kinds": [one.kind for one in of_image],
                "questions": [one.question.text for one in of_image],
                "right": [one.right for one in of_image],
                "answers": [answer.option for answer in given],
                "answer_raw": [answer.raw for answer in given],
            }
            for of_image, given in zip(asked, answers, strict=True)
        ]


def _name(row: dict[str, Any]) -> str:
    return f"{row['concept_id']}/{row['track']}"


def _kept(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("index", "concept_id", "scene_id", "track")}


def answerer_of(suite: Suite) -> RoleSettings:
    """Return the settings of a suite's answerer.

    Raises:
        UserError: it has none, or one that measures instead of looking.
    """
    settings = suite.profile.faithfulness.answerer
    if settings is None:
        raise UserError(
            f"Suite {suite.name} has no answerer: name one as faithfulness.answerer in its profile."
        )
    name, family, _ = registry.named("judge", settings)
    if family.measures:
        raise UserError(
            f"Suite {suite.name}: faithfulness.answerer {name} measures the masks of detections, "
            "which a rejected image may lack: name a model that looks, such as nano:vlm."
        )
    return settings


def is_asked(suite: Suite, key: str) -> bool:
    """Whether the answerer is asked about a benchmark."""
    wanted = suite.profile.faithfulness.benchmarks
    return not wanted or key in wanted


def build(context: Context, key: str) -> Artifact:
    """Build the answers about a benchmark's images."""
    answerer = answerer_of(context.suite)
    settings = _settings(context, key, answerer)
    shards = aligned(settings, {name: context.current(name, key) for name in _INPUTS})
    summary = functools.partial(summarize, answerer=answerer)
    context = context.holding("judge", answerer)
    function = AskQuestions(context.suite, key, answerer)
    return context.build(NAME, key, SCHEMA, settings, shards, function, summary)


def current(context: Context, key: str) -> Artifact | None:
    """Return what is built of a benchmark, if it is of its images and the answerer as they are."""
    answerer = context.suite.profile.faithfulness.answerer
    if answerer is None:
        return None
    return fresh(context, NAME, key, _settings(context, key, answerer), _INPUTS)


_INPUTS = (images.NAME, captions.NAME, concept_set.NAME)


def _settings(context: Context, key: str, answerer: RoleSettings) -> dict[str, Any]:
    task = get_benchmark(key).task
    return {
        "code": CODE_VERSION,
        "answerer": registry.describe("judge", answerer),
        "asked": is_asked(context.suite, key),
        "nouns": context.lexicon.nouns(task).digest,
        "labels": context.lexicon.labels(task).digest,
    }


def summarize(artifact: Artifact, answerer: RoleSettings) -> dict[str, Any]:
    """Return the share of right answers; of a server also what its answers took."""
    rows = artifact.read(["right", "answers", "answer_raw"]).to_pylist()
    pairs = [pair for row in rows for pair in zip(row["right"], row["answers"], strict=True)]
    right = sum(wanted == given for wanted, given in pairs)
    return {
        "images": len(rows),
        "questions": len(pairs),
        "right": right / len(pairs) if pairs else None,
        **usage_summary("judge", answerer, (raw for row in rows for raw in row["answer_raw"])),
    }
