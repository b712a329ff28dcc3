"""How far each conversation of ConMe came: questions, choices, and what is truly right."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from bindbench.pipeline import (
    conme_calibration,
    conme_first_round,
    conme_harder_questions,
    conme_questions,
    conme_second_round,
)
from bindbench.pipeline.base import Context
from bindbench.pipeline.conme_cells import cells_of, split
from bindbench.pipeline.conme_rounds import ballots_in, kept_in

ROUNDS = (
    (1, conme_questions.NAME, conme_first_round.NAME),
    (2, conme_harder_questions.NAME, conme_second_round.NAME),
)


def conversation_rows(context: Context) -> list[dict[str, Any]]:
    """Return one row for each round of each conversation that has been built."""
    return [row for where in cells_of(context.suite) for row in _rows(context, where)]


def _rows(context: Context, where: str) -> Iterator[dict[str, Any]]:
    name, panel = split(where)
    calibration = context.store.current(conme_calibration.NAME, where)
    for number, questions, played in ROUNDS:
        asked = context.store.current(questions, where)
        round = context.store.current(played, where)
        if asked is None or round is None:
            continue
        targets, kept = ballots_in(round).values(), kept_in(round)
        truth = calibration.summary.get(f"round_{number}", {}) if calibration else {}
        yield {
            "set": name,
            "panel": panel,
            "round": number,
            "images": asked.summary["images"],
            "questions": asked.summary["questions"],
            "rejected": sum(asked.summary["rejected"].values()),
            "samples": len(kept),
            "kept": int(kept.sum()),
            "accuracy": _accuracy([one.correct for one in targets]),
            "accuracy_kept": _accuracy([one.where(kept).correct for one in targets]),
            "wrong": truth.get("all", {}).get("error_rate"),
            "wrong_kept": truth.get("kept", {}).get("error_rate"),
        }


def _accuracy(correct: list[np.ndarray]) -> float | None:
    """Return the mean accuracy of the targets, over both orders; None without samples."""
    return float(np.mean(correct)) if correct and correct[0].size else None
