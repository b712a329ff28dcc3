"""The blind audit of a suite: what its captions give away without any image."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from bindbench.analysis.blind import CueResult, audit, corrected, read_cues, words_in_order
from bindbench.candidates import candidate_texts, candidate_words
from bindbench.pipeline import negatives, validated
from bindbench.pipeline.scored import COLUMNS, assemble
from bindbench.storage.store import Artifact
from bindbench.tasks import TRACKS
from bindbench.vocabulary import Lexicon

MOST_CAPTIONS = 100_000  # read of a benchmark and track, from its first items on
Rows = list[dict[str, Any]]


def audit_rows(
    keys: Collection[str], artifacts: Mapping[str, Artifact], lexicon: Lexicon, seed: int
) -> Rows:
    """Return one row for each benchmark, track, family, cue, direction and mode.

    Artifacts are keyed by ``asset/benchmark``; tracks without an accepted item have no rows.
    """
    where, results = [], []
    for key in keys:
        for track in TRACKS:
            some = _first(artifacts[f"{negatives.NAME}/{key}"], track)
            for result in audit_track(key, some, lexicon, seed):
                where.append({"benchmark": key, "track": track})
                results.append(result)
    return [
        place | asdict(result) | {"leak": result.leak, "by_design": result.by_design}
        for place, result in zip(where, corrected(results), strict=True)
    ]


def _first(artifact: Artifact, track: str) -> Rows:
    """Return the first items of a track whose captions are few enough to be read one by one."""
    rows: Rows = []
    captions = 0
    for i in range(len(artifact.shards)):
        for row in artifact.read_shard(i, [*COLUMNS, "caption", "slots"]).to_pylist():
            if row["track"] != track:
                continue
            captions += len(row["semantics"])
            if rows and captions > MOST_CAPTIONS:
                return rows
            rows.append(row)
    return rows


def audit_track(key: str, rows: Rows, lexicon: Lexicon, seed: int) -> Iterator[CueResult]:
    """Yield the uncorrected results of one track, given its rows of the asset ``negatives``."""
    if not rows:
        return
    concepts = [validated.concept_of(key, row) for row in rows]
    texts = [
        candidate_texts(negatives.template_of(row), concept, lexicon)
        for row, concept in zip(rows, concepts, strict=True)
    ]
    cues, only = read_cues(texts), {}
    if concepts[0].n > 1:
        words = [candidate_words(concept, lexicon) for concept in concepts]
        for part, name in enumerate(("object_order", "label_order")):
            cues[name] = [words_in_order([pair[part] for pair in item]) for item in words]
            only[name] = ["swap"]  # elsewhere words repeat, which no order is
    nothing = {"dtype": "float64", "asked": None}
    found = assemble(
        key,
        rows,
        {row["index"]: nothing | {"scores": [0.0] * len(row["semantics"])} for row in rows},
        lexicon,
    )
    semantics = [np.frombuffer(row["semantics"], np.int8) for row in rows]
    yield from audit(cues, semantics, found.subsets, found.items.design, only, seed)
