"""What every caller of a scorer asks of its scores: complete, and finite."""

from collections.abc import Sequence

import numpy as np

from bindbench.errors import UserError
from bindbench.models.base import Scorer, ScoreRequest, Scores


def checked_scores(
    scorer: Scorer, requests: Sequence[ScoreRequest], model: str, where: str
) -> list[Scores]:
    """Return the scores of a batch.

    Args:
        scorer: the model.
        requests: the batch.
        model: the model's name, for messages.
        where: what the items belong to, for messages: a benchmark.

    Raises:
        UserError: a score is missing, NaN or infinite; or the scorer's own.
    """
    found = list(scorer.score(requests))
    if len(found) != len(requests):
        raise UserError(
            f"{model} gave scores for {len(found)} of {len(requests)} items of {where}: a scorer "
            "must return one entry for each request."
        )
    for request, scores in zip(requests, found, strict=True):
        fault = _fault(scores, len(request.texts), scorer.dtype)
        if fault:
            raise UserError(f"{model} gave {fault} for item {request.key} of {where}.")
    return found


def _fault(scores: Scores, texts: int, dtype: str) -> str:
    """Say what is wrong with the scores of one item and what to do; "" if nothing is."""
    rows = {
        "score": scores.values,
        "token count": scores.tokens,
        "image-free score": scores.image_free,
        "score among the swaps": scores.swap,
        "mark of what was asked": scores.asked,
    }
    given = {name: np.asarray(row) for name, row in rows.items() if row is not None}
    for name, row in given.items():
        if row.shape != (texts,):
            return f"{name}s of shape {row.shape} instead of one for each of the {texts} texts"
    asked = given.pop("mark of what was asked", np.ones(texts, bool))
    swap = given.pop("score among the swaps", np.zeros(1))
    if not np.isfinite(swap[0]):
        return "no score for the first text, the right caption, among the swaps"
    if not asked[0]:
        return "no score for the first text, the right caption, which must always be asked"
    for name, row in given.items():
        broken = asked & ~np.isfinite(row)
        if broken.any():
            return f"the {name} {row[np.argmax(broken)]} in {dtype} ({remedy(dtype)})"
    if "token count" in given and (fewest := given["token count"][asked].min()) < 1:
        return f"a text of {fewest} tokens (its tokenizer reads nothing there)"
    return ""


def remedy(dtype: str) -> str:
    """Return what to do about numbers that are not finite."""
    wider = "" if dtype in ("float32", "float64") else ", or set the option dtype to float32"
    return f"check its weights{wider}"
