"""``bindbench conme sugarcrepe``: the source benchmark itself, audited blind and scored."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bindbench.conme.quality import leaks
from bindbench.errors import UserError
from bindbench.external.sugarcrepe import PARTITIONS, CaptionPair, find_images, read_partition
from bindbench.suite import RoleSettings


def run(annotations: Path, images: Path | None, model: RoleSettings | None, as_json: bool) -> None:
    """Print what cues of the text give away in each partition, or a model's accuracy.

    Raises:
        UserError: a file is not what it should be, or images are missing.
    """
    if (images is None) != (model is None):
        raise UserError("sugarcrepe needs --images and --model together; without both it audits.")
    parts = {name: read_partition(annotations, name) for name in PARTITIONS}
    if images is None or model is None:
        found = {name: _audited(pairs) for name, pairs in parts.items()}
    else:
        found = _scored(parts, images, model)
    if as_json:
        print(json.dumps(found, indent=2))
    elif model is None:
        _print_cues(found, Console())
    else:
        _print_scores(found, Console())


def _audited(pairs: Sequence[CaptionPair]) -> dict[str, Any]:
    texts = [pair.caption for pair in pairs], [pair.negative for pair in pairs]
    cues = leaks(*texts, [pair.file for pair in pairs])
    return {"items": len(pairs), "cues": [asdict(cue) | {"leak": cue.leak} for cue in cues]}


def _scored(
    parts: dict[str, list[CaptionPair]], images: Path, model: RoleSettings
) -> dict[str, Any]:
    from bindbench.external.sugarcrepe_scores import pair_accuracy, score_pairs
    from bindbench.models import registry
    from bindbench.pipeline.progress import log_progress
    from bindbench.suite import VocabularySources

    find_images([pair for pairs in parts.values() for pair in pairs], images)
    scorer = registry.load("scorer", model, VocabularySources())
    found = {}
    for name, pairs in parts.items():
        progress = log_progress("sugarcrepe", name, "items")
        scores = score_pairs(scorer, pairs, images, model.batch_size, progress)
        found[name] = asdict(pair_accuracy(pairs, scores, scorer.dtype))
    return found


def _print_cues(found: dict[str, Any], console: Console) -> None:
    table = Table(title="Cues that give right captions away (%)", box=SIMPLE_HEAD)
    for name in ("Partition", "Items", "Cue", "Right by it alone", "Ties half"):
        table.add_column(name, justify="left" if name in ("Partition", "Cue") else "right")
    for name, own in found.items():
        for i, cue in enumerate(cue for cue in own["cues"] if cue["leak"]):
            head = (name, f"{own['items']:,}") if i == 0 else ("", "")
            said = f"{cue['direction']} {cue['cue'].replace('_', ' ')}"
            table.add_row(*head, said, f"{100 * cue['accuracy']:.1f}", f"{100 * cue['credit']:.1f}")
    console.print(table)


def _print_scores(found: dict[str, Any], console: Console) -> None:
    table = Table(title="SugarCrepe (%)", box=SIMPLE_HEAD)
    for name in ("Partition", "Items", "Accuracy", "95% interval", "Ties"):
        table.add_column(name, justify="left" if name == "Partition" else "right")
    for name, row in found.items():
        interval = f"{100 * row['low']:.1f} to {100 * row['high']:.1f}"
        shares = f"{100 * row['accuracy']:.1f}", interval, f"{100 * row['tie_rate']:.1f}"
        table.add_row(name, f"{row['n_items']:,}", *shares)
    console.print(table)
