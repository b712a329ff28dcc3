"""SugarCrepe evaluated by any scorer: the right caption has to score above the wrong one."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image as PILImage

from bindbench.analysis.accuracy import Accuracy, design_of, outcomes_of, pack, summarise
from bindbench.errors import UserError
from bindbench.external.sugarcrepe import CaptionPair, find_images
from bindbench.models.base import Image, Scorer, ScoreRequest
from bindbench.semantics import FALSE, TRUE
from bindbench.storage.progress import Progress

SEMANTICS = np.array([TRUE, FALSE], np.int8)


def score_pairs(
    scorer: Scorer,
    pairs: Sequence[CaptionPair],
    folder: Path,
    batch_size: int,
    on_progress: Progress | None = None,
) -> np.ndarray:
    """Return the scores of right and wrong captions, float64 (pairs, 2).

    Args:
        scorer: the model.
        pairs: the items; captions are scored as published, with their stray spaces.
        folder: COCO's val2017.
        batch_size: items in a call of the model.
        on_progress: called after each batch.

    Raises:
        UserError: images are missing (before anything is scored), or one can't be read.
    """
    paths = find_images(pairs, folder)
    scores, started = np.empty((len(pairs), 2)), time.monotonic()
    for start in range(0, len(pairs), batch_size):
        batch = pairs[start : start + batch_size]
        requests = [
            ScoreRequest(one.id, _read(paths[one.file]), (one.caption, one.negative), SEMANTICS)
            for one in batch
        ]
        found = scorer.score(requests)
        scores[start : start + len(batch)] = [own.values for own in found]
        if on_progress:
            done = start + len(batch)
            rate = done / max(time.monotonic() - started, 1e-9)
            on_progress(done, len(pairs), 0, rate, (len(pairs) - done) / rate)
    return scores


def pair_accuracy(pairs: Sequence[CaptionPair], scores: np.ndarray, dtype: str) -> Accuracy:
    """Return the accuracy of scored pairs; the interval is clustered by image, a tie is a loss."""
    none = [()] * len(pairs)
    design = design_of([pair.file for pair in pairs], none, none)
    items = pack(list(scores), [SEMANTICS] * len(pairs), dtype, design)
    return summarise(outcomes_of(items), design)


def _read(path: Path) -> Image:
    try:
        with PILImage.open(path) as image:
            return np.asarray(image.convert("RGB"))
    except OSError as error:
        raise UserError(f"{path} can't be read as an image: {error}.") from None
