"""How much of each model's error may be the benchmark's: faulty images that the checks let pass."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bindbench.analysis.label_noise import Tally, Uncertain, audited, split_error, two_judges
from bindbench.analysis.resampling import Estimate
from bindbench.pipeline import audit, images, second_opinion, validated
from bindbench.pipeline.report_calibration import known_faults
from bindbench.tables.accuracy import FAMILIES, SINGLE, accuracy_source
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, missing
from bindbench.tasks import TRACKS, get_benchmark

TABLE = "label noise"
MODE = "strict"
_WIDTH = 2 * 1.96  # of a 95% interval, in standard errors
Shares = dict[str, tuple[Uncertain, int]]  # by source: the faulty share, and of how many images


def table_label_noise(inputs: Inputs) -> Iterator[Number]:
    """Yield the faulty share by each source, then what it makes of each model's error."""
    for key in inputs.benchmarks:
        if not inputs.has((images.NAME, validated.NAME), key):
            yield missing(TABLE, f"{key} is not built: run {inputs.run_command}.")
            continue
        for track in TRACKS:
            found = faulty_shares(inputs, key, track)
            for source, (share, n) in found.items():
                yield _share(("faulty images", key, f"{track}, by {source}"), share, n)
            if not found:
                yield missing(
                    TABLE,
                    f"{key}, {track}: nothing tells how many accepted images are faulty: name a "
                    "second_judge in the profile, or ask people with 'bindbench audit export'.",
                )
                continue
            yield from _models(inputs, key, track, next(iter(found.values()))[0])


def faulty_shares(inputs: Inputs, key: str, track: str) -> Shares:
    """Return the faulty share of a track's accepted images by each source, the surest first."""
    seed = inputs.suite.seed
    tallies = {
        "people": _by_people(inputs, key, track),
        "renders": _by_renders(inputs, key, track),
    }
    found: Shares = {
        name: (audited(tally, seed), tally.n) for name, tally in tallies.items() if tally.n
    }
    rows = inputs.rows(second_opinion.NAME, key, ("track", "first", "label"))
    judges = two_judges({one: _answers(rows, one) for one in TRACKS}, seed)
    if judges and track in judges.faulty:
        found["two judges"] = judges.faulty[track], sum(row["track"] == track for row in rows)
    return found


def _by_renders(inputs: Inputs, key: str, track: str) -> Tally:
    """Count the accepted images whose generator knows a fault of them."""
    faults = [
        fault
        for where, fault, accepted in known_faults(key, inputs.artifacts)
        if where == track and accepted
    ]
    return Tally(sum(map(bool, faults)), len(faults))


def _by_people(inputs: Inputs, key: str, track: str) -> Tally:
    """Count the accepted images that most people say do not show their caption."""
    artifact = inputs.get(audit.NAME)
    votes: dict[str, Counter[str]] = {}
    for one in audit.answers_of(artifact) if artifact else ():
        if (one.kind, one.benchmark, one.track, one.right) == ("concordance", key, track, "yes"):
            votes.setdefault(one.item, Counter())[one.chosen] += 1
    return Tally(sum(vote["no"] > vote["yes"] for vote in votes.values()), len(votes))


def _answers(rows: list[dict[str, Any]], track: str) -> np.ndarray:
    """Return how often each judge passed a track's images, int64 (2, 2)."""
    table = np.zeros((2, 2), np.int64)
    for row in rows:
        if row["track"] == track:
            table[int(row["first"] == "pass"), int(row["label"] == "pass")] += 1
    return table


def _models(inputs: Inputs, key: str, track: str, faulty: Uncertain) -> Iterator[Number]:
    families = SINGLE if get_benchmark(key).n == 1 else FAMILIES
    for family in families:
        for model in inputs.models:
            row = inputs.board.get((model, key, track, "all", family, MODE))
            if row is None:
                continue
            error, place = _error(row), (f"{key} {family}, {track}", model)
            yield Number(
                *(TABLE, *place, "error", error.value, "share", MODE),
                low=error.low,
                high=error.high,
                n_items=error.n,
                source=accuracy_source(model, key, track, family, MODE),
            )
            never, chance, always = (
                split_error(error, faulty, on_faulty, inputs.suite.seed)
                for on_faulty in (0.0, row["chance"], 1.0)
            )
            for column, value in (
                ("the benchmark's part, at most", never.part),
                ("true error, at least", never.true_error),
                ("true error by chance", chance.true_error),
                ("true error, at most", always.true_error),
            ):
                yield _share((*place, column), value, error.n, MODE)


def _error(row: Mapping[str, Any]) -> Estimate:
    """Return a leaderboard row's error, with the size that its interval is that of."""
    value, n = 1 - row["accuracy"], row["n_items"]
    width = row["high"] - row["low"]
    size = value * (1 - value) * (_WIDTH / width) ** 2 if width else n
    return Estimate(value, 1 - row["high"], 1 - row["low"], n, min(n, size) or n)


def _share(where: tuple[str, str, str], found: Uncertain, n: int, mode: str = "") -> Number:
    low, high = found.interval
    return Number(TABLE, *where, found.value, "share", mode, low=low, high=high, n_items=n)
