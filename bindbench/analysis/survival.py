"""Survival: the share of rows that passes each validation check (Auto-Comp, Table 3)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bindbench.analysis.resampling import Estimate, proportion

PASS = "pass"
NOT_RUN = "not_run"


@dataclass(frozen=True)
class CheckSurvival:
    """How many rows came to one check and how many passed it."""

    check: str
    n_all: int  # rows in all
    reached: int  # rows whose verdict is not ``not_run``
    passed: int
    of_reached: Estimate  # passed / reached, with its interval; n = 0 where the check never ran
    of_all: Estimate  # passed / all
    reasons: dict[str, int]  # rejects by their reason, most frequent first


@dataclass(frozen=True)
class Survival:
    """The survival of one benchmark and track."""

    checks: tuple[CheckSurvival, ...]
    overall: Estimate  # accepted / all


def accepted(verdicts: Mapping[str, Sequence[str]]) -> np.ndarray:
    """Return which rows are accepted, bool (rows,).

    Args:
        verdicts: verdicts of all rows by check, in the order in which the checks are made.

    A row is accepted if no check rejected it and the last check passed it; a check that does not
    apply to its track (the background in the contextual one) is ``not_run`` and does not count.
    """
    table = _table(verdicts)
    return np.isin(table, (PASS, NOT_RUN)).all(axis=0) & (table[-1] == PASS)


def survival(verdicts: Mapping[str, Sequence[str]], clusters: np.ndarray | None = None) -> Survival:
    """Return the survival of each check and overall.

    Args:
        verdicts: as in ``accepted``.
        clusters: (rows,) scene ids, by which the intervals are clustered.
    """
    table = _table(verdicts)
    checks = tuple(_check(name, row, clusters) for name, row in zip(verdicts, table, strict=True))
    return Survival(checks, proportion(accepted(verdicts), clusters))


def survival_records(
    tracks: Mapping[tuple[str, str], Survival],
) -> list[dict[str, str | int | float | None]]:
    """Return Table 3: one record for each (benchmark, track).

    Columns: benchmark, track, n, then for each check its name (passed / reached, None where it
    never ran), name_low, name_high and name_of_all, then overall, overall_low, overall_high.
    """
    records = []
    for (benchmark, track), result in tracks.items():
        record: dict[str, str | int | float | None] = {"benchmark": benchmark, "track": track}
        record["n"] = result.overall.n
        for check in result.checks:
            ran = check.reached > 0
            record[check.check] = check.of_reached.value if ran else None
            record[f"{check.check}_low"] = check.of_reached.low if ran else None
            record[f"{check.check}_high"] = check.of_reached.high if ran else None
            record[f"{check.check}_of_all"] = check.of_all.value if ran else None
        overall = result.overall
        record |= {
            "overall": overall.value,
            "overall_low": overall.low,
            "overall_high": overall.high,
        }
        records.append(record)
    return records


def _table(verdicts: Mapping[str, Sequence[str]]) -> np.ndarray:
    """Return the verdicts as one array (checks, rows) of strings."""
    lengths = {check: len(rows) for check, rows in verdicts.items()}
    if not lengths or len(set(lengths.values())) > 1:
        raise ValueError(f"every check needs one verdict for each row, got {lengths}")
    return np.asarray([np.asarray(rows, object) for rows in verdicts.values()])


def _check(name: str, row: np.ndarray, clusters: np.ndarray | None) -> CheckSurvival:
    reached, passed = row != NOT_RUN, row == PASS
    failures = Counter(row[reached & ~passed].tolist())
    return CheckSurvival(
        check=name,
        n_all=len(row),
        reached=int(reached.sum()),
        passed=int(passed.sum()),
        of_reached=proportion(passed[reached], None if clusters is None else clusters[reached]),
        of_all=proportion(passed, clusters),
        reasons=dict(sorted(failures.items(), key=lambda pair: (-pair[1], pair[0]))),
    )
