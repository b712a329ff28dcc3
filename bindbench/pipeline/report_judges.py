"""What a second judge says of a suite's images, and the images that both judge differently."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from bindbench.models import registry
from bindbench.pipeline import images, second_opinion, validated
from bindbench.pipeline.base import Context
from bindbench.pipeline.report_hardest import picture, rows_of
from bindbench.reporting.samples import Disagreement
from bindbench.storage.store import Artifact
from bindbench.suite import Suite

SHOWN = 4  # disagreements of a benchmark in each direction
Artifacts = Mapping[str, Artifact]


def opinion(context: Context, key: str) -> Artifact | None:
    """Return the second judge's verdicts on a benchmark, if they are of its images as they are."""
    judge = context.suite.profile.second_judge
    found = context.store.current(second_opinion.NAME, key) if judge else None
    if judge is None or found is None:
        return None
    made_of = found.settings["inputs"]
    now = {name: context.current(name, key).digest for name in (validated.NAME, images.NAME)}
    fresh = (
        all(made_of[name] == digest for name, digest in now.items())
        and found.settings["code"] == second_opinion.CODE_VERSION
        and found.settings["second_judge"] == registry.describe("judge", judge)
    )
    return found if fresh else None


def judges_of(suite: Suite) -> tuple[str, str] | None:
    """Return the names of both judges, or None if there is but one."""
    second = suite.profile.second_judge
    return (suite.profile.judge.model, second.model) if second else None


def agreement_rows(keys: Collection[str], artifacts: Artifacts) -> list[dict[str, Any]]:
    """Return the agreement of both judges, as ``second_opinion.agreement_rows``."""
    return second_opinion.agreement_rows(_opinions(keys, artifacts))


def disagreements(keys: Collection[str], artifacts: Artifacts) -> Iterator[Disagreement]:
    """Yield some images of each benchmark that one judge passes and the other fails."""
    for key, found in _opinions(keys, artifacts).items():
        rows = found.read(["index", "track", "first", "label", "reason", "answers"]).to_pylist()
        split = [row for row in rows if (row["first"] == "pass") != (row["label"] == "pass")]
        chosen = [
            row
            for verdict in (True, False)
            for row in [row for row in split if (row["first"] == "pass") == verdict][:SHOWN]
        ]
        index = {row["index"] for row in chosen}
        checked = rows_of(artifacts[f"{validated.NAME}/{key}"], index)
        pixels = rows_of(artifacts[f"{images.NAME}/{key}"], index)
        for row in chosen:
            at = row["index"], row["track"]
            yield _disagreement(key, row, checked[at], picture(pixels[at]))


def _opinions(keys: Collection[str], artifacts: Artifacts) -> dict[str, Artifact]:
    named = {key: f"{second_opinion.NAME}/{key}" for key in keys}
    return {key: artifacts[name] for key, name in named.items() if name in artifacts}


def _disagreement(
    key: str, row: Mapping[str, Any], checked: Mapping[str, Any], image: bytes
) -> Disagreement:
    passed = row["first"] == "pass"
    return Disagreement(
        benchmark=key,
        track=row["track"],
        image=image,
        caption=checked["caption"],
        first_passes=passed,
        verdict=row["label"] if passed else row["first"],
        reason=row["reason"] if passed else checked["reason"],
        concept_id=checked["concept_id"],
    )
