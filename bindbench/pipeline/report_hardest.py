"""The hardest negatives of each model, with their captions and pictures."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bindbench.candidates import (
    ERROR_FAMILIES,
    Words,
    candidate_space,
    candidate_texts,
    candidate_words,
)
from bindbench.pipeline import images, negatives, validated
from bindbench.pipeline.report_tallies import HardItem
from bindbench.reporting.marks import mark
from bindbench.reporting.samples import HardNegative
from bindbench.storage.store import Artifact
from bindbench.tasks import Track, get_benchmark
from bindbench.vocabulary import Lexicon


@dataclass(frozen=True)
class Hard:
    """An item that a model loses."""

    model: str
    key: str
    track: Track
    item: HardItem


def hardest_negatives(
    hard: Sequence[Hard], artifacts: Mapping[str, Artifact], lexicon: Lexicon
) -> list[HardNegative]:
    """Return the items with their captions and pictures, each benchmark read once."""
    shown = {}
    for key in dict.fromkeys(one.key for one in hard):
        chosen = [one for one in hard if one.key == key]
        wanted = {one.item.index for one in chosen}
        rows = rows_of(artifacts[f"{negatives.NAME}/{key}"], wanted)
        pixels = rows_of(artifacts[f"{images.NAME}/{key}"], wanted)
        places = {(one.item.index, one.track) for one in chosen}
        pictures = {at: picture(pixels[at]) for at in places}
        for one in chosen:
            at = one.item.index, one.track
            shown[one] = _negative(one, rows[at], pictures[at], lexicon)
    return [shown[one] for one in hard]


def picture(row: Mapping[str, Any]) -> bytes:
    """Return a small picture of a row of the asset ``images``."""
    from bindbench.reporting.thumbnails import thumbnail

    return thumbnail(images.decode_png(row["image"]["bytes"]))


def _negative(one: Hard, row: dict[str, Any], picture: bytes, lexicon: Lexicon) -> HardNegative:
    concept, template = validated.concept_of(one.key, row), negatives.template_of(row)
    text = candidate_texts(template, concept, lexicon)[one.item.candidate]
    words = candidate_words(concept, lexicon)
    right, chosen = mark(template, words[0], text, words[one.item.candidate])
    return HardNegative(
        model=one.model,
        benchmark=one.key,
        track=one.track,
        image=picture,
        right=right,
        chosen=chosen,
        family=_family(one, words),
        right_score=one.item.right_score,
        chosen_score=one.item.chosen_score,
        concept_id=row["concept_id"],
    )


def _family(one: Hard, words: Sequence[Words]) -> str:
    """Return the family of error of the chosen candidate."""
    benchmark = get_benchmark(one.key)
    if benchmark.n > 1:
        space = candidate_space(benchmark.task.axis, benchmark.n)
        return ERROR_FAMILIES[space.errors[one.item.candidate]]
    return "vary_color" if words[one.item.candidate][0] == words[0][0] else "vary_object"


def rows_of(
    artifact: Artifact, index: Collection[int], columns: Sequence[str] | None = None
) -> dict[tuple[int, str], dict[str, Any]]:
    """Return the rows of some items by (index, track); one shard's rows are held at a time."""
    wanted, found = np.array(sorted(index), np.int64), {}
    for i in range(len(artifact.shards)):
        here = np.isin(artifact.read_shard(i, ["index"])["index"].to_numpy(), wanted)
        if here.any():
            for row in artifact.read_shard(i, columns).filter(here).to_pylist():
                found[row["index"], row["track"]] = row
    return found
