"""Pictures of artifacts, small enough to stand in Dagster's metadata."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bindbench.pipeline import captions, concept_set, images, validated
from bindbench.pipeline.base import Context
from bindbench.pipeline.survival import survival_rows
from bindbench.storage.store import Artifact
from bindbench.tasks import get_benchmark

SHEET = 8  # images of a contact sheet


def image_sheet(artifact: Artifact) -> bytes:
    """Return the first images with their captions, as PNG."""
    from bindbench.reporting.sheets import SheetItem, contact_sheet

    rows = artifact.read_shard(0).to_pylist()[:SHEET]
    return contact_sheet(
        [SheetItem(images.decode_png(r["image"]["bytes"]), r["caption"]) for r in rows]
    )


def verdict_sheet(artifact: Artifact, made: Artifact) -> bytes:
    """Return accepted and rejected images with boxes and verdicts, as PNG."""
    from bindbench.reporting.sheets import SheetItem, contact_sheet

    pixels = {(r["index"], r["track"]): r["image"]["bytes"] for r in made.read_shard(0).to_pylist()}
    rows = artifact.read_shard(0).to_pylist()
    rows = [row for row in rows if (row["index"], row["track"]) in pixels]
    good = [row for row in rows if row["accepted"]][: SHEET // 2]
    bad = [row for row in rows if not row["accepted"]][: SHEET // 2]
    return contact_sheet(
        [
            SheetItem(
                images.decode_png(pixels[row["index"], row["track"]]),
                row["caption"],
                row["boxes"],
                row["names"],
                verdict(row),
            )
            for row in [*good, *bad]
        ]
    )


def verdict(row: Mapping[str, Any]) -> str:
    """Return ``pass``, or the check that failed with its reason."""
    failed = ((c, row[c]) for c in validated.CHECKS if row[c] not in ("pass", "not_run"))
    check, reason = next(failed, ("", ""))
    return f"{check}: {row['reason'] or reason}" if check else "pass"


def survival_plot(context: Context, key: str) -> bytes:
    """Return the survival funnel of a benchmark, as PNG."""
    from bindbench.reporting.plots import survival_funnel

    names = (concept_set.NAME, captions.NAME, validated.NAME)
    artifacts = {f"{name}/{key}": context.current(name, key) for name in names}
    return survival_funnel(survival_rows(artifacts, key), key)


def shift_plot(context: Context, key: str) -> bytes:
    """Return the labels among the accepted images against their target, as PNG."""
    from bindbench.reporting.plots import label_distribution

    rows = context.current(validated.NAME, key).read(["labels", "accepted"]).to_pylist()
    counts = Counter(label for row in rows if row["accepted"] for label in row["labels"])
    words = context.lexicon.labels(get_benchmark(key).task).names
    total = sum(counts.values())
    shares = {word: counts[word] / total if total else 0.0 for word in words}
    return label_distribution(shares, dict.fromkeys(words, 1 / len(words)))


def leaderboard_plot(artifact: Artifact, key: str) -> bytes:
    """Return the accuracies of every model on one benchmark, as PNG."""
    from bindbench.reporting.plots import leaderboard_bars

    return leaderboard_bars(artifact.read().to_pylist(), key)
