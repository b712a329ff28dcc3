"""The asset ``instabind_validated``: does each image show its row? Rejects keep their reason.

An accepted image has its annotations: the values that were asked for and seen, in the boxes that
the detector found. ``shown`` is what the generator truly drew. No check reads it; it is there to
say how good they are.
"""

import functools
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.errors import Unfinished
from bindbench.instabind.building import build_group, build_picture
from bindbench.instabind.row_checks import Look, label, looks, presence
from bindbench.instabind.rows import Row
from bindbench.models import registry
from bindbench.models.base import Answer, Detection, Image, Judge
from bindbench.models.windows import detect_in_windows
from bindbench.pipeline import instabind_groups, instabind_images
from bindbench.pipeline.asking import ask_all, usage_summary
from bindbench.pipeline.base import (
    Context,
    ShardInputs,
    aligned,
    batches,
    strings,
    suite_lexicon,
    table,
)
from bindbench.pipeline.images import decode_png
from bindbench.pipeline.instabind_groups import row_of, set_of, settings_of
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "instabind_validated"
CODE_VERSION = "1"
CHECKS = ("presence", "label")
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("image_id", pa.string()),
        ("n", pa.int32()),
        ("track", pa.string()),
        ("presence", pa.string()),
        ("label", pa.string()),
        ("reason", pa.string()),
        ("accepted", pa.bool_()),
        ("names", strings()),  # of the row's things, from left to right
        ("boxes", pa.list_(pa.list_(pa.float32()))),
        ("scores", pa.list_(pa.float32())),
        ("answers", strings()),
        ("answer_scores", pa.list_(pa.float32())),
        ("answer_raw", strings()),
        ("picture", pa.string()),
        ("shown", pa.bool_()),
    ]
)


@dataclass
class _Checked:
    """An image on its way through the checks."""

    record: dict[str, Any]
    row: Row
    pixels: Image
    things: Sequence[Detection]


@dataclass(frozen=True)
class ValidateRows:
    """Runs the checks on the images of a shard; the first that fails ends an image's way."""

    suite: Suite
    name: str

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each image.

        Raises:
            Unfinished: a judge's server gave no answer for some images.
        """
        groups = task.rows(instabind_groups.NAME)
        pictures = task.rows(instabind_images.NAME, ["image_id", "image"])
        rows = [{**group, **picture} for group, picture in zip(groups, pictures, strict=True)]
        parts = batches(rows, self.suite.profile.detector.batch_size)
        checked = [image for part in parts for image in self._detect(part)]
        self._judge([image for image in checked if image.record["presence"] == "pass"])
        truths = task.rows(instabind_images.NAME, ["truth"])
        for image, truth in zip(checked, truths, strict=True):  # when all is decided
            drawn = json.loads(truth["truth"])
            image.record["shown"] = None if drawn is None else drawn["fault"] is None
        return table([image.record for image in checked], SCHEMA)

    def _detect(self, records: Sequence[dict[str, Any]]) -> list[_Checked]:
        """Look at what is where."""
        profile, limits = self.suite.profile, settings_of(self.suite).limits
        detector = registry.load("detector", profile.detector, profile.vocabularies)
        rows = [row_of(record) for record in records]
        pixels = [decode_png(record["image"]["bytes"]) for record in records]
        nouns = [tuple(dict.fromkeys(row.objects)) for row in rows]
        found = self._found(detector, rows, pixels, nouns)
        out = []
        for record, row, image, seen in zip(records, rows, pixels, found, strict=True):
            size = (image.shape[1], image.shape[0])
            verdict, things = presence(row, seen, size, limits)
            out.append(_Checked(_record(record, verdict, things), row, image, things))
        return out

    def _found(
        self,
        detector: Any,
        rows: Sequence[Row],
        pixels: Sequence[Image],
        nouns: Sequence[Sequence[str]],
    ) -> list[list[Detection]]:
        """Detect in the whole image, and where a row has many things in windows."""
        how = settings_of(self.suite).windows
        small = [how is not None and len(row.values) >= how.things for row in rows]
        whole = [k for k, is_small in enumerate(small) if not is_small]
        parts = [k for k, is_small in enumerate(small) if is_small]
        found = dict(
            zip(
                whole,
                detector.detect([pixels[k] for k in whole], [nouns[k] for k in whole]),
                strict=True,
            )
        )
        if how is not None:
            images, names = [pixels[k] for k in parts], [nouns[k] for k in parts]
            seen = detect_in_windows(detector, images, names, how.share, how.score)
            found |= dict(zip(parts, seen, strict=True))
        return [found[k] for k in range(len(rows))]

    def _judge(self, images: Sequence[_Checked]) -> None:
        """Ask about the things of each image, and settle its verdict."""
        profile, lexicon = self.suite.profile, suite_lexicon(self.suite)
        judge: Judge = registry.load("judge", profile.judge, profile.vocabularies)
        asked = [
            (k, look)
            for k, image in enumerate(images)
            for look in looks(image.row, image.pixels, image.things, lexicon)
        ]

        def ask(batch: Sequence[tuple[int, Look]]) -> list[list[Answer]]:
            seen = [look for _, look in batch]
            try:
                return judge.answer(
                    [look.image for look in seen],
                    [look.detections for look in seen],
                    [look.questions for look in seen],
                )
            except Unfinished as error:  # a judge knows images by their place in the batch
                named = {_key(images, batch[int(k)]): why for k, why in error.items.items()}
                raise Unfinished(error.model, named, len(batch), error.hopeless) from error

        answers = ask_all(asked, profile.judge.batch_size, ask, lambda one: _key(images, one))
        for k, image in enumerate(images):
            own = [(look, said) for (at, look), said in zip(asked, answers, strict=True) if at == k]
            verdicts = [label(*one, profile.validation.label_score) for one in own]
            _settle(self.name, image, verdicts, [answer for _, said in own for answer in said])


def _key(images: Sequence[_Checked], one: tuple[int, Look]) -> str:
    return f"{images[one[0]].record['image_id']}/{', '.join(one[1].about)}"


def _record(record: dict[str, Any], verdict: str, things: Sequence[Detection]) -> dict[str, Any]:
    return {
        "index": record["index"],
        "image_id": record["image_id"],
        "n": len(record["values"]),
        "track": record["track"],
        "presence": verdict,
        "label": "not_run",
        "reason": "",
        "accepted": False,
        "names": [one.name for one in things],
        "boxes": [list(one.box) for one in things],
        "scores": [one.score for one in things],
        "answers": [],
        "answer_scores": [],
        "answer_raw": [],
    }


def _settle(
    name: str, image: _Checked, verdicts: Sequence[tuple[str, str]], answers: Sequence[Answer]
) -> None:
    """Write down what the judge said; a wrong answer counts before one that is unsure."""
    worst = min(verdicts, key=lambda v: ("label", "unsure", "pass").index(v[0]))
    image.record |= {
        "label": worst[0],
        "reason": worst[1],
        "accepted": worst[0] == "pass",
        "answers": [answer.option for answer in answers],
        "answer_scores": [max(answer.scores) for answer in answers],
        "answer_raw": [answer.raw for answer in answers],
    }
    if image.record["accepted"]:
        image.record["picture"] = _picture(name, image)


def _picture(name: str, image: _Checked) -> str:
    key, row = image.record["image_id"], image.row
    boxes = [one.box for one in image.things]
    group = build_group(f"{key}_1", row.class_name, row.kind, boxes, row.values)
    source = {"dataset": f"BindBench {name}", "source_image_id": key, "license": "", "url": ""}
    size = (image.pixels.shape[1], image.pixels.shape[0])
    return build_picture(key, f"images/{key}.png", size, source, [group]).model_dump_json()


def build(context: Context, name: str) -> Artifact:
    """Build the verdicts of a set."""
    profile, chosen = context.suite.profile, settings_of(context.suite)
    windows = chosen.windows.model_dump() if chosen.windows else None
    settings = {
        "code": CODE_VERSION,
        "kind": set_of(context.suite, name).kind,
        "detector": registry.describe("detector", profile.detector),
        "judge": registry.describe("judge", profile.judge),
        "label_score": profile.validation.label_score,
        "limits": chosen.limits.model_dump(),
        "windows": windows,
        "shapes": context.lexicon.shapes.digest,
        "colors": context.lexicon.colors.digest,
    }
    inputs = {
        asset: context.current(asset, name)
        for asset in (instabind_groups.NAME, instabind_images.NAME)
    }
    shards = aligned(settings, inputs)
    context = context.holding("detector", profile.detector).holding("judge", profile.judge)
    summary = functools.partial(summarize, judge=profile.judge)
    function = ValidateRows(context.suite, name)
    return context.build(NAME, name, SCHEMA, settings, shards, function, summary)


def summarize(artifact: Artifact, judge: RoleSettings) -> dict[str, Any]:
    """Count the verdicts; where the generator knows what it drew, also how right they are."""
    rows = artifact.read([*CHECKS, "accepted", "shown", "answer_raw"]).to_pylist()
    counts = {check: dict(sorted(Counter(r[check] for r in rows).items())) for check in CHECKS}
    by_truth = {
        name: {
            "images": sum(r["shown"] is shown for r in rows),
            "accepted": sum(r["accepted"] for r in rows if r["shown"] is shown),
        }
        for name, shown in (("faultless", True), ("faulty", False))
    }
    raws = (raw for row in rows for raw in row["answer_raw"])
    return {
        "images": len(rows),
        **counts,
        "accepted": sum(r["accepted"] for r in rows),
        **(by_truth if any(r["shown"] is not None for r in rows) else {}),
        **usage_summary("judge", judge, raws),
    }
