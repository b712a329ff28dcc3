"""Table 10: which wrong captions the errors on Confusion fall to."""

from collections.abc import Iterator

import numpy as np

from bindbench.analysis.accuracy import Design, Mode
from bindbench.analysis.errors import ErrorParts, error_parts
from bindbench.analysis.resampling import clopper_pearson
from bindbench.candidates import ERROR_FAMILIES, candidate_space
from bindbench.pipeline import negatives
from bindbench.pipeline.report_tallies import has_error_families
from bindbench.pipeline.scored import ScoredSet, scored_parts
from bindbench.pipeline.tallies import MODES, designs
from bindbench.reporting.wording import CONTROLS
from bindbench.storage.store import Artifact
from bindbench.tables.accuracy import accuracy_source
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, missing
from bindbench.tasks import TRACKS, get_benchmark

Parts = dict[tuple[str, Mode], dict[str, ErrorParts]]  # track, semantics -> family -> its parts


def table_10(inputs: Inputs) -> Iterator[Number]:
    """Yield each family's share of the errors, and of the candidates that could have won."""
    keys = [key for key in inputs.benchmarks if has_error_families(get_benchmark(key))]
    models = [model for model in inputs.models if model not in CONTROLS]  # they choose nothing
    if not keys or not models:
        lack = "a model besides the controls" if keys else "an attribute task of several objects"
        yield missing("10", f"Suite {inputs.suite.name} has no errors to sort: give it {lack}.")
        return
    for key in keys:
        candidates = inputs.get(negatives.NAME, key)
        if candidates is None:
            yield missing("10", f"{key} is not built: run {inputs.run_command}.")
            continue
        found = {model: inputs.scores(model, key) for model in models}
        for model in (model for model, scores in found.items() if not scores):
            yield missing("10", f"{model} is not scored on {key}: run {inputs.run_command}.")
        parts = {m: _parts(key, candidates, s, inputs) for m, s in found.items() if s}
        for track, design in designs(candidates):
            for mode in MODES:
                for model, own in parts.items():
                    yield from _numbers((key, track, mode), model, own, design)


def _parts(key: str, candidates: Artifact, scores: Artifact, inputs: Inputs) -> Parts:
    """Return what each family did to each item, read some shards at a time."""
    found: dict[tuple[str, Mode], list[dict[str, ErrorParts]]] = {}
    for tracks in scored_parts(key, candidates, scores, inputs.lexicon):
        for track in TRACKS:
            if len(tracks[track].items):
                for mode in MODES:
                    found.setdefault((track, mode), []).append(_sorted(tracks[track], mode))
    return {
        at: {family: ErrorParts.joined([part[family] for part in parts]) for family in parts[0]}
        for at, parts in found.items()
    }


def _sorted(found: ScoredSet, mode: Mode) -> dict[str, ErrorParts]:
    codes = candidate_space("attribute", found.benchmark.n).errors
    return error_parts(found.items, codes, ERROR_FAMILIES, mode)


def _numbers(
    at: tuple[str, str, Mode], model: str, parts: Parts, design: Design
) -> Iterator[Number]:
    key, track, mode = at
    source = accuracy_source(model, key, track, "confusion", mode, won=False)
    for family, part in parts.get((track, mode), {}).items():
        if not part.against.included.any():
            continue
        column = family.replace("_", " ")
        place = ("10", f"{key}, {track}", model)
        lost = part.lost
        if not lost.any():
            yield Number(*place, column, None, "share", semantics=mode, note="No error.")
            continue
        share = float(part.errors.sum() / lost.sum())
        # Errors on one scene count as one, and a family may have a part of an error.
        scenes = len(np.unique(design.scenes[lost]))
        low, high = clopper_pearson(share * scenes, scenes)
        yield Number(
            *(*place, column, share, "share"),
            semantics=mode,
            low=float(low),
            high=float(high),
            n_items=int(lost.sum()),
            source=source,
        )
        chance = float(np.mean(part.among[lost]))
        yield Number(*place, f"{column} by chance", chance, "share", semantics=mode, source=source)
