"""One model on one published set, from its file to a result."""

import time
from pathlib import Path

from bindbench.external.pictures import find_pictures
from bindbench.external.readers import read_items
from bindbench.external.results import ExternalResult, ItemScores, Measured, data_digest
from bindbench.external.scores import measure, score_items
from bindbench.models import registry
from bindbench.pipeline.progress import log_progress
from bindbench.suite import RoleSettings, VocabularySources


def evaluate_set(form: str, data: Path, images: Path, settings: RoleSettings) -> ExternalResult:
    """Return what a model achieves on a set.

    Args:
        form: plain, winoground, aro, whatsup or sugarcrepe.
        data: the set's file; of sugarcrepe, a folder or a partition's file.
        images: the folder that the pictures' paths begin in.
        settings: the model.

    Raises:
        UserError: something in the file is wrong, pictures are missing or outside the folder, or
            the model can't be had.
    """
    items = read_items(form, data)
    find_pictures(items, images)  # before a model is loaded
    scorer = registry.load("scorer", settings, VocabularySources())
    progress, started, scores = log_progress("external", data.name, "items"), time.monotonic(), []
    for own in score_items(scorer, settings.model, items, images, settings.batch_size):
        scores.append(own)
        if len(scores) % settings.batch_size == 0 or len(scores) == len(items):
            rate = len(scores) / max(time.monotonic() - started, 1e-9)
            progress(len(scores), len(items), 0, rate, (len(items) - len(scores)) / rate)
    return ExternalResult(
        format=form,
        data=data.name,
        digest=data_digest(data),
        scorer=settings,
        method=scorer.method,
        dtype=scorer.dtype,
        rows=tuple(Measured(**row) for row in measure(form, items, scores, scorer.dtype)),
        items=tuple(
            ItemScores(id=item.id, scores=tuple(own.tolist()))
            for item, own in zip(items, scores, strict=True)
        ),
    )
