"""What must hold of ConMe's stages before anything is built from them."""

from collections import Counter
from typing import Any

import numpy as np

from bindbench.conme.choices import hard
from bindbench.conme.modes import READINGS
from bindbench.conme.samples import Round, samples_of
from bindbench.pipeline import (
    conme_evaluation,
    conme_first_round,
    conme_harder_questions,
    conme_images,
    conme_questions,
    conme_second_round,
)
from bindbench.pipeline.base import Context
from bindbench.pipeline.conme_cells import settings_of
from bindbench.pipeline.conme_rounds import ballots_in, kept_in
from bindbench.pipeline.quality import Outcome

QUESTIONS: dict[Round, str] = {1: conme_questions.NAME, 2: conme_harder_questions.NAME}
ROUNDS: dict[Round, str] = {1: conme_first_round.NAME, 2: conme_second_round.NAME}


def images_there(context: Context, name: str) -> Outcome:
    """The set holds at least one image, and each has an id of its own."""
    ids = context.current(conme_images.NAME, name).read(["image_id"])["image_id"].to_pylist()
    failed = () if ids else (f"the set {name} holds no image",)
    if len(ids) != len(set(ids)):
        failed = (f"{len(ids) - len(set(ids))} images of {name} have the id of another",)
    return Outcome(not failed, failed, {"images": len(ids)})


def first_asked(context: Context, where: str) -> Outcome:
    """The share of images without questions is no higher than the suite allows."""
    return _asked(context, where, 1)


def harder_asked(context: Context, where: str) -> Outcome:
    """The share of images without harder questions is no higher than the suite allows."""
    return _asked(context, where, 2)


def _asked(context: Context, where: str, round: Round) -> Outcome:
    rows = context.current(QUESTIONS[round], where).read(["status", "reason"]).to_pylist()
    # What had no questions in the first round was counted there.
    reached = [row for row in rows if row["reason"] != conme_harder_questions.UNASKED.reason]
    reasons = Counter(row["reason"] for row in reached if row["status"] == "rejected")
    share = sum(reasons.values()) / len(reached) if reached else 1.0
    most = settings_of(context.suite).rejected
    why = ", ".join(f"{reason} {count}" for reason, count in sorted(reasons.items()))
    failed = (
        (
            f"{share:.1%} of the images of {where} have no questions ({why}), more than "
            f"conme.rejected, {most:.1%}",
        )
        if share > most
        else ()
    )
    observed = {"images": len(reached), "rejected": share, "reasons": dict(sorted(reasons.items()))}
    return Outcome(not failed, failed, observed)


def first_counted(context: Context, where: str) -> Outcome:
    """Every sample of the first round is there once, and kept where a target misses it."""
    return _counted(context, where, 1)


def second_counted(context: Context, where: str) -> Outcome:
    """Every sample of the second round is there once, and kept where a target misses it."""
    return _counted(context, where, 2)


def _counted(context: Context, where: str, round: Round) -> Outcome:
    asked = conme_questions.sets_in(context.current(QUESTIONS[round], where))
    expected = {s.id for key, sets in asked.items() for s in samples_of(key, round, sets).kept}
    artifact = context.current(ROUNDS[round], where)
    ids = artifact.read(["sample_id"])["sample_id"].to_pylist()
    kept, targets = kept_in(artifact), ballots_in(artifact)
    failed = []
    if set(ids) != expected or len(ids) != len(expected):
        failed.append(f"{where} has {len(ids)} samples in round {round} instead of {len(expected)}")
    elif ids and not np.array_equal(kept, hard(targets)):
        failed.append(f"what {where} keeps of round {round} is not what a target misses")
    survival = float(kept.mean()) if ids else 0.0
    observed: dict[str, Any] = {"samples": len(ids), "kept": int(kept.sum()), "survival": survival}
    return Outcome(not failed, tuple(failed), observed)


def samples_left(context: Context, where: str) -> Outcome:
    """At least one sample is left of the second round."""
    kept = int(kept_in(context.current(conme_second_round.NAME, where)).sum())
    why = f"all targets of {where} are right on everything: name weaker or more targets"
    return Outcome(kept > 0, () if kept else (why,), {"samples": kept})


def evaluated_whole(context: Context, place: str) -> Outcome:
    """The model's choice of every sample is there once, in every mode that it can be asked in."""
    artifact = context.current(conme_evaluation.NAME, place)
    rows = artifact.read(["sample_id", "reading", "places"]).to_pylist()
    readings = [r for mode in artifact.summary["modes"] for r in READINGS[mode]]
    ids = {row["sample_id"] for row in rows}
    pairs = Counter((row["sample_id"], row["reading"]) for row in rows)
    failed = []
    if set(pairs) != {(key, reading) for key in ids for reading in readings}:
        failed.append(f"{place} lacks the choices of some samples in some modes")
    if len(pairs) != len(rows):
        failed.append(f"{place} has {len(rows) - len(pairs)} choices twice")
    none = sum(p is None for row in rows for p in row["places"])
    share = none / max(sum(len(row["places"]) for row in rows), 1)
    observed = {"samples": len(ids), "modes": artifact.summary["modes"], "no_choice": share}
    return Outcome(not failed, tuple(failed), observed)
