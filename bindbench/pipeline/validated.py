"""The asset ``validated``: every image with each check's verdict; rejects keep their reason."""

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.concepts import Concept
from bindbench.models import registry
from bindbench.models.base import Detection, Image
from bindbench.pipeline import captions, concept_set, images
from bindbench.pipeline.asking import usage_summary
from bindbench.pipeline.base import (
    Context,
    ShardInputs,
    aligned,
    batches,
    strings,
    suite_lexicon,
    table,
)
from bindbench.pipeline.judging import Case, judged
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite
from bindbench.tasks import get_benchmark
from bindbench.validation.background import background_verdict
from bindbench.validation.presence import presence_verdict, whole_objects

NAME = "validated"
CODE_VERSION = "2"
CHECKS = ("presence", "background", "label")
UNPAIRED = "unpaired"  # the reason of a row whose image was not made
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("concept_id", pa.string()),
        ("scene_id", pa.string()),
        ("track", pa.string()),
        ("objects", strings()),
        ("labels", strings()),
        ("caption", pa.string()),
        ("slots", captions.SLOTS),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("presence", pa.string()),
        ("background", pa.string()),
        ("label", pa.string()),
        ("reason", pa.string()),
        ("accepted", pa.bool_()),
        ("names", strings()),
        ("boxes", pa.list_(pa.list_(pa.float32()))),
        ("scores", pa.list_(pa.float32())),
        ("areas", pa.list_(pa.int64())),
        ("matched", pa.list_(pa.int32())),
        ("background_share", pa.float32()),
        ("answers", strings()),
        ("answer_scores", pa.list_(pa.float32())),
        ("answer_raw", strings()),  # what a server really said, else null
    ]
)


_LISTS = ("names", "boxes", "scores", "areas", "answers", "answer_scores", "answer_raw")


@dataclass(frozen=True)
class ValidateImages:
    """Runs the checks on the images of a shard; the first that fails ends an image's way."""

    suite: Suite
    key: str
    pictures: str = images.NAME  # the asset that they are in

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each image, and one for each that was not made as its pair was lost.

        Where only pairs are wanted, the images of the first track are checked by now.

        Raises:
            Unfinished: a judge's server gave no answer for some images.
        """
        scenes = {row["index"]: row["scene_id"] for row in task.rows(concept_set.NAME)}
        written = {(r["index"], r["track"]): r for r in task.rows(captions.NAME)}
        done: dict[tuple[int, str], dict[str, Any]] = {}
        if images.FIRST_CHECKS in task.artifacts:
            done = {(row["index"], row["track"]): row for row in task.rows(images.FIRST_CHECKS)}
        made = task.rows(self.pictures, ["index", "track", "image"])
        rows = [
            {**written[at], **image, "scene_id": scenes[image["index"]]}
            for image in made
            if (at := (image["index"], image["track"])) not in done
        ]
        parts = batches(rows, self.suite.profile.detector.batch_size)
        checked = [image for part in parts for image in self._detect(part)]
        self._judge(checked)
        done |= {(image.row["index"], image.row["track"]): image.row for image in checked}
        if images.FIRST_CHECKS in task.artifacts:
            done |= {
                at: _not_made(row, scenes[row["index"]])
                for at, row in written.items()
                if row["verdict"] == "pass" and at not in done
            }
        return table([done[at] for at in written if at in done], SCHEMA)

    def _detect(self, rows: Sequence[dict[str, Any]]) -> list["_Checked"]:
        """Make the checks that look at what is where."""
        vocabularies = self.suite.profile.vocabularies
        lexicon = suite_lexicon(self.suite)
        limits = self.suite.profile.validation
        concepts = [concept_of(self.key, row) for row in rows]
        pixels = [images.decode_png(row["image"]["bytes"]) for row in rows]
        detector = registry.load("detector", self.suite.profile.detector, vocabularies)
        found = detector.detect(pixels, [concept.objects for concept in concepts])
        out: list[_Checked] = []
        for row, concept, image, detections in zip(rows, concepts, pixels, found, strict=True):
            presence, matched = presence_verdict(
                concept, detections, lexicon, limits.pair_instances
            )
            background, share = "not_run", None
            if presence == "pass" and row["track"] == "minimal":
                masks = [detection.mask for detection in detections]
                background, share = background_verdict(
                    image, masks, limits.background_gray, limits.background_share
                )
            verdicts = {"presence": presence, "matched": matched}
            verdicts |= {"background": background, "background_share": share}
            out.append(
                _Checked(_row(row, image, detections) | verdicts, concept, image, detections)
            )
        return out

    def _judge(self, images: Sequence["_Checked"]) -> None:
        """Ask about the images that passed so far, and settle their label verdict."""
        profile = self.suite.profile
        reached = [
            image
            for image in images
            if image.row["presence"] == "pass" and image.row["background"] in ("pass", "not_run")
        ]
        cases = [
            Case(
                f"{image.row['concept_id']}/{image.row['track']}",
                image.concept,
                image.pixels,
                whole_objects(image.concept, image.found),
            )
            for image in reached
        ]
        verdicts = judged(cases, self.suite, profile.judge, profile.validation.label_score)
        for image, verdict in zip(reached, verdicts, strict=True):
            image.row |= verdict | {"accepted": verdict["label"] == "pass"}


@dataclass
class _Checked:
    """An image on its way through the checks."""

    row: dict[str, Any]
    concept: Concept
    pixels: Image
    found: Sequence[Detection]


def _row(row: dict[str, Any], image: Image, detections: Sequence[Detection]) -> dict[str, Any]:
    return _blank(row) | {
        "width": image.shape[1],
        "height": image.shape[0],
        "names": [d.name for d in detections],
        "boxes": [list(d.box) for d in detections],
        "scores": [d.score for d in detections],
        "areas": [int(d.mask.sum()) for d in detections],
    }


def _not_made(row: dict[str, Any], scene_id: str) -> dict[str, Any]:
    """Return the row of an image that was not made, since its pair was lost: no check ran."""
    verdicts = dict.fromkeys(CHECKS, "not_run")
    return _blank(row | {"scene_id": scene_id}) | verdicts | {"reason": UNPAIRED}


def _blank(row: dict[str, Any]) -> dict[str, Any]:
    """Return what a row says before any check."""
    kept = ("index", "concept_id", "scene_id", "track", "objects", "labels", "slots")
    return {name: row[name] for name in kept} | {
        "caption": row["text"],
        "width": 0,
        "height": 0,
        "label": "not_run",
        "reason": "",
        "accepted": False,
        **{name: [] for name in _LISTS},
    }


def concept_of(key: str, row: dict[str, Any]) -> Concept:
    """Return the concept that a row of the benchmark ``key`` holds."""
    return Concept(get_benchmark(key).task.name, tuple(row["objects"]), tuple(row["labels"]))


def settings_of(context: Context, key: str) -> dict[str, Any]:
    """Return what decides a benchmark's verdicts, beside its images and captions."""
    profile, task = context.suite.profile, get_benchmark(key).task
    return {
        "code": CODE_VERSION,
        "detector": registry.describe("detector", profile.detector),
        "judge": registry.describe("judge", profile.judge),
        "validation": profile.validation.model_dump(),
        "nouns": context.lexicon.nouns(task).digest,
        "labels": context.lexicon.labels(task).digest,
    }


def build(context: Context, key: str) -> Artifact:
    """Build the verdicts of a benchmark."""
    first = (images.FIRST_CHECKS,) if context.suite.pairs_only else ()
    return build_as(NAME, context, key, images.NAME, first)


def build_as(
    name: str, context: Context, key: str, pictures: str, more: Sequence[str] = ()
) -> Artifact:
    """Build verdicts of the images in the asset ``pictures``, as the asset ``name``."""
    profile, settings = context.suite.profile, settings_of(context, key)
    read = (concept_set.NAME, captions.NAME, pictures, *more)
    shards = aligned(settings, {asset: context.current(asset, key) for asset in read})
    context = context.holding("detector", profile.detector).holding("judge", profile.judge)
    function = ValidateImages(context.suite, key, pictures)
    summary = functools.partial(summarize, judge=profile.judge)
    return context.build(name, key, SCHEMA, settings, shards, function, summary)


def summarize(artifact: Artifact, judge: RoleSettings) -> dict[str, Any]:
    """Count the verdicts of each check in each track; of a server also what its answers took."""
    rows = artifact.read(["track", *CHECKS, "accepted", "answer_raw"]).to_pylist()
    counts = {
        track: {
            c: dict(sorted(Counter(r[c] for r in rows if r["track"] == track).items()))
            for c in CHECKS
        }
        | {"accepted": sum(r["accepted"] for r in rows if r["track"] == track)}
        for track in ("minimal", "contextual")
    }
    raws = (raw for row in rows for raw in row["answer_raw"])
    made = sum(row["presence"] != "not_run" for row in rows)
    return {"images": made, **counts, **usage_summary("judge", judge, raws)}
