"""The tables of a fine-tuning, for the terminal and for Markdown (Auto-Comp, Table 8)."""

from collections.abc import Mapping, Sequence
from typing import Any

from bindbench.reporting.numbers import MISSING, percent, points
from bindbench.reporting.tables import Grid
from bindbench.reporting.wording import FAMILIES, TRACKS

_HEADERS = {"swap": "By swap", "confusion": "By Conf."}
_SHOWN = ("swap", "confusion", "vary_color", "vary_object")
_NOTE = (
    "Before: accuracy of the pretrained model in %; then its change in percentage points by "
    "training on swap and on Confusion negatives, and what Confusion adds to swap, each above its "
    "95% interval over seeds and concepts. Scenes that no training has seen."
)


def gain_grid(result: Mapping[str, Any]) -> Grid:
    """Return the change by each kind of training: a line for each benchmark, track and family.

    N = 1 stands last: naming one object or color, which a training should leave as it was.

    Args:
        result: of ``pipeline.finetuned.measure``.
    """
    recipe = result["recipe"]
    kinds = [kind for kind in _HEADERS if kind in recipe["negatives"]]
    both = len(kinds) == len(_HEADERS)
    rows = [
        row
        for row in result["rows"]
        if row["semantics"] == recipe["semantics"] and row["family"] in _SHOWN and row["n_items"]
    ]
    rows.sort(key=lambda row: row["family"].startswith("vary"))
    lines = []
    for row in rows:
        changes = [*(row["gains"][kind] for kind in kinds), *([row["extra"]] if both else [])]
        names = (row["benchmark"], TRACKS[row["track"]], FAMILIES[row["family"]])
        before = percent(row["pretrained"]).rstrip("%")
        lines.append((*names, str(row["n_items"]), before, *map(_change, changes)))
    headers = ("Items", "Before", *(_HEADERS[kind] for kind in kinds))
    if both:
        headers = (*headers, "Extra of Conf.")
    return Grid(
        f"Fine-tuned {recipe['model']} on {', '.join(recipe['benchmarks'])}",
        ("Benchmark", "Track", "Wrong captions", *headers),
        tuple(lines),
        names=3,
        note=_NOTE,
        apart=True,
    )


def _change(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return MISSING
    low, high = (f"{100 * found[name]:+.0f}".replace("-", "−") for name in ("low", "high"))
    return f"{points(found['value'])}\n{low}…{high}"


def facts(result: Mapping[str, Any]) -> Sequence[str]:
    """Return what the trainings had to make do with, one line each."""
    found: dict[str, None] = {}
    for one in result["trainings"]:
        if one["batch"] < one["batch_asked"]:
            found[
                f"Batches of {one['batch']} positives instead of {one['batch_asked']}: there are "
                "no more training samples."
            ] = None
        if one["samples_that_repeat_negatives"]:
            found[
                f"{one['negatives'].capitalize()}: {one['samples_that_repeat_negatives']} of "
                f"{one['samples']} samples have fewer than {result['recipe']['hard']} negatives, "
                "which repeat."
            ] = None
    if not any(row["family"].startswith("vary") for row in result["rows"]):
        found["What was forgotten is not known: build color-n1 (object retrieval) too."] = None
    return list(found)
