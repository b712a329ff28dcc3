"""What tells generative models from contrastive ones: their kind, and what counting decides."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bindbench.analysis.accuracy import Design, Outcomes
from bindbench.analysis.resampling import proportion
from bindbench.models.family import ModelName
from bindbench.scoring.contrastive import ContrastiveScorer
from bindbench.storage.store import Artifact

ANSWERING = ("api",)  # families of models that answer, whatever they are asked


def kind_of(model: str, scores: Artifact) -> str:
    """Return how a model gives scores: one of ``bindbench.reporting.data.KINDS``.

    ``contrastive``: the similarity of an image and a text embedded apart; ``generative``: the
    log-likelihood of the text given the image, or an answer; ``other``: any other way.
    """
    methods = {row["method"] for row in scores.read(["method"]).to_pylist()}
    if methods == {ContrastiveScorer.method}:
        return "contrastive"
    if "tokens" in scores.summary["columns"] or ModelName.parse(model).family in ANSWERING:
        return "generative"
    return "other"


def counting_row(outcomes: Mapping[str, Outcomes], design: Design) -> dict[str, Any] | None:
    """Return the share of items that are lost to nothing but wrong counts; None for one object.

    Such an item beats every false caption that mentions each object as often as the scene holds
    it, and not all of Confusion: it is what Confusion without ``count`` negatives gains, item by
    item. Chance is what random scores lose so. Items that have no other false captions don't count.
    """
    if "confusion" not in outcomes:
        return None
    same, every = outcomes["confusion_no_count"], outcomes["confusion"]
    kept = same.included
    if not kept.any():
        return None
    share = proportion((same.win & ~every.win)[kept], design.scenes[kept])
    return {
        "n_items": share.n,
        "share": share.value,
        "low": share.low,
        "high": share.high,
        "chance": float(np.mean((same.chance - every.chance)[kept])),
    }
