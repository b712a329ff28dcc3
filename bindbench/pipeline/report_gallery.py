"""The items of a report's gallery: a bounded sample of each benchmark, with all that is known."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bindbench.analysis.accuracy import negatives as rivals_of
from bindbench.analysis.accuracy import outcomes_of
from bindbench.candidates import candidate_families, candidate_texts
from bindbench.captions.minimal import write_minimal
from bindbench.concepts import content_id
from bindbench.pipeline import images, negatives, validated
from bindbench.pipeline.base import suite_lexicon
from bindbench.pipeline.report_hardest import rows_of
from bindbench.pipeline.report_models import listed_cells
from bindbench.pipeline.scored import assemble
from bindbench.reporting.samples import Box, Choice, GalleryItem, Negative
from bindbench.semantics import FALSE
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import TRACKS
from bindbench.vocabulary import Lexicon

NEGATIVES = 4  # wrong captions that are kept of an item
Artifacts = Mapping[str, Artifact]
Row = dict[str, Any]
Rows = dict[tuple[int, str], Row]  # by index and track


def gallery_items(suite: Suite, artifacts: Artifacts, key: str) -> Iterator[GalleryItem]:
    """Yield the items of ``suite.gallery`` concepts of a benchmark, in the order of their index."""
    lexicon, checked = suite_lexicon(suite), artifacts[f"{validated.NAME}/{key}"]
    index = chosen_concepts(checked, suite.gallery, suite.seed)
    rows = rows_of(checked, index)
    candidates = rows_of(artifacts[f"{negatives.NAME}/{key}"], index)
    pixels = rows_of(artifacts[f"{images.NAME}/{key}"], index, ["index", "track", "image"])
    picked = {
        model: _picked(key, candidates, scores, lexicon)
        for model, _, scores in listed_cells(suite, artifacts, [key])
    }
    shown = (at for at in rows if at in pixels)  # all but images that lost pairs never got
    for at in sorted(shown, key=lambda at: (at[0], TRACKS.index(at[1]))):
        own = {model: found[at] for model, found in picked.items() if at in found}
        yield _item(key, rows[at], pixels[at], candidates.get(at), own, lexicon)


def chosen_concepts(checked: Artifact, count: int, seed: int) -> list[int]:
    """Return the index of some concepts: those whose hash with the seed is smallest."""
    ids: dict[int, str] = {}
    for i in range(len(checked.shards)):
        table = checked.read_shard(i, ["index", "concept_id"])
        ids |= dict(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    ranked = sorted(ids, key=lambda index: (content_id([seed, ids[index]]), index))
    return sorted(ranked[:count])


Picked = tuple[int, bool | None, dict[str, bool | None]]  # candidate, right, won by family


def _picked(
    key: str, candidates: Rows, scores: Artifact, lexicon: Lexicon
) -> dict[tuple[int, str], Picked]:
    """Return what a model chose among the candidates of each item."""
    given = {"swap"} & {*scores.summary["columns"]}
    columns = ["index", "track", "dtype", "asked", "scores", *given]
    cells = rows_of(scores, {index for index, _ in candidates}, columns)
    out: dict[tuple[int, str], Picked] = {}
    for track in TRACKS:
        rows = [row for (_, where), row in candidates.items() if where == track]
        if not rows:
            continue
        found = assemble(key, rows, {r["index"]: cells[r["index"], track] for r in rows}, lexicon)
        every = outcomes_of(found.items)
        best = np.where(rivals_of(found.items.semantics), found.items.scores, -np.inf)
        wrong = best.argmax(axis=1)
        families = {
            family: outcomes_of(found.of(family), subset=subset)
            for family, subset in found.subsets.items()
        }
        for i, index in enumerate(found.index.tolist()):
            right = bool(every.win[i]) if every.included[i] else None
            won = {f: bool(o.win[i]) if o.included[i] else None for f, o in families.items()}
            out[index, track] = (int(wrong[i]) if right is False else 0, right, won)
    return out


def _item(
    key: str,
    row: Row,
    pixels: Row,
    candidates: Row | None,
    picked: Mapping[str, Picked],
    lexicon: Lexicon,
) -> GalleryItem:
    from bindbench.reporting.thumbnails import picture

    concept = validated.concept_of(key, row)
    texts = texts_of(key, candidates, lexicon) if candidates else []
    return GalleryItem(
        benchmark=key,
        index=row["index"],
        track=row["track"],
        concept=write_minimal(concept, lexicon).text,
        caption=row["caption"],
        accepted=row["accepted"],
        concept_id=row["concept_id"],
        scored=candidates["caption"] if candidates else "",
        image=picture(images.decode_png(pixels["image"]["bytes"])),
        width=row["width"],
        height=row["height"],
        boxes=list(_boxes(row)),
        verdicts={"captions": "pass"} | {check: row[check] for check in validated.CHECKS},
        reason=row["reason"],
        negatives=_negatives(key, candidates, texts, lexicon) if candidates else (),
        choices=[
            Choice(model, texts[candidate], right, won)
            for model, (candidate, right, won) in picked.items()
        ],
    )


def texts_of(key: str, row: Row, lexicon: Lexicon) -> list[str]:
    """Return the candidates of an item as captions."""
    return candidate_texts(negatives.template_of(row), validated.concept_of(key, row), lexicon)


def _boxes(row: Row) -> Iterator[Box]:
    for name, (left, top, right, bottom) in zip(row["names"], row["boxes"], strict=True):
        width, height = row["width"], row["height"]
        yield Box(name, left / width, top / height, right / width, bottom / height)


def _negatives(key: str, row: Row, texts: Sequence[str], lexicon: Lexicon) -> list[Negative]:
    """Return a few false candidates, evenly spread over the item's space."""
    families = candidate_families(validated.concept_of(key, row), lexicon)
    false = np.flatnonzero(np.frombuffer(row["semantics"], np.int8) == FALSE)
    picked = false[np.linspace(0, len(false) - 1, min(NEGATIVES, len(false))).astype(int)]
    return [Negative(texts[i], families[i]) for i in map(int, picked)]
