"""The gallery's data: plain scripts that its page loads as it needs them, and pictures beside them.

A page that was opened from disk may not fetch anything, but it may load scripts and pictures. The
index holds what items are filtered by; their texts are in parts, of which only those are loaded
that are shown or searched.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from bindbench.reporting import views, wording
from bindbench.reporting.data import FAMILIES, ReportData
from bindbench.reporting.samples import ACCEPTED, GalleryItem
from bindbench.tasks import BENCHMARKS, TRACKS

PART = 250  # items in a script
WON, LOST, EXCLUDED, NOT_SCORED = "10-."


def gallery_files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    """Yield the gallery's files, path in the report's folder and content."""
    items = data.gallery
    models = views.models_of(data.leaderboard)
    yield "gallery/index.js", _script("index", gallery_index(items, models))
    others = _other_captions(items)
    for start in range(0, len(items), PART):
        some = items[start : start + PART]
        rows = [_details(item, others[item.benchmark, item.index], models) for item in some]
        yield f"gallery/part-{start // PART}.js", _script("part", start // PART, rows)
    for item in items:
        if item.image is not None:
            yield item.file, item.image


def _script(function: str, *values: Any) -> bytes:
    """Return a script that hands values to the page."""
    said = (json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values)
    return f"bindbench.{function}({','.join(said)});\n".encode()


def gallery_index(items: Sequence[GalleryItem], models: Sequence[str]) -> dict[str, Any]:
    """Return what items are filtered by, as columns of codes and of characters."""
    benchmarks = views.distinct((item.benchmark for item in items), list(BENCHMARKS))
    verdicts = views.distinct((item.verdict for item in items), [ACCEPTED])
    families = views.distinct((f for item in items for c in item.choices for f in c.won), FAMILIES)
    chosen = [{choice.model: choice.won for choice in item.choices} for item in items]
    return {
        "part": PART,
        "benchmarks": [[key, wording.title_of(key)] for key in benchmarks],
        "tracks": [[track, wording.TRACKS[track]] for track in TRACKS],
        "verdicts": [[name, _verdict_title(name)] for name in verdicts],
        "families": [[name, wording.FAMILIES[name]] for name in families],
        "models": list(models),
        "real": sum(model not in wording.CONTROLS for model in models),  # the first ones
        "benchmark": [benchmarks.index(item.benchmark) for item in items],
        "track": [TRACKS.index(item.track) for item in items],
        "verdict": [verdicts.index(item.verdict) for item in items],
        "index": [item.index for item in items],
        # One character an item, by family and model.
        "won": [
            ["".join(_outcome(won.get(model, {}), family) for won in chosen) for model in models]
            for family in families
        ],
    }


def _verdict_title(verdict: str) -> str:
    return {ACCEPTED: "Accepted", "rejected": "Rejected"}.get(verdict) or wording.verdict_title(
        verdict
    )


def _outcome(won: Any, family: str) -> str:
    if family not in won:
        return NOT_SCORED
    return EXCLUDED if won[family] is None else WON if won[family] else LOST


def _other_captions(items: Sequence[GalleryItem]) -> dict[tuple[str, int], dict[str, str]]:
    """Return the captions of each concept by track."""
    found: dict[tuple[str, int], dict[str, str]] = {}
    for item in items:
        found.setdefault((item.benchmark, item.index), {})[item.track] = item.caption
    return found


def _details(item: GalleryItem, captions: dict[str, str], models: Sequence[str]) -> dict[str, Any]:
    """Return the texts of an item and where its boxes are; ``chose`` counts in ``texts``."""
    texts = views.distinct(choice.text for choice in item.choices)
    return {
        "id": item.concept_id,
        "concept": item.concept,
        "caption": item.caption,
        "scored": item.scored,
        "other": next((text for track, text in captions.items() if track != item.track), ""),
        "file": item.file if item.image is not None else "",
        "size": [item.width, item.height],
        "boxes": [
            [box.label, *(round(side, 4) for side in (box.left, box.top, box.right, box.bottom))]
            for box in item.boxes
        ],
        "checks": [
            [wording.CHECKS[check], verdict]
            for check, verdict in item.verdicts.items()
            if check in wording.CHECKS
        ],
        "reason": wording.reason_text(item.reason),
        "texts": texts,
        "chose": sorted(
            [models.index(choice.model), texts.index(choice.text), choice.right]
            for choice in item.choices
            if choice.model in models
        ),
    }
