"""Table 8: what fine-tuning on swap and on Confusion negatives changed, on unseen scenes."""

from collections.abc import Iterator

from bindbench.pipeline import finetuned
from bindbench.pipeline.base import UNPARTITIONED
from bindbench.tables.accuracy import FAMILIES, SINGLE
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, missing

# What is compared, by the artifact's column ``change``; the last is what the paper prints.
CHANGES = {
    "swap": "trained on swap",
    "confusion": "trained on Confusion",
    "extra": "Confusion beyond swap",
}


def table_8(inputs: Inputs) -> Iterator[Number]:
    """Yield each change of accuracy with its interval over seeds and concepts."""
    artifact = inputs.get(finetuned.NAME)
    if artifact is None:
        yield missing("8", _why(inputs))
        return
    model = artifact.settings["recipe"]["model"]
    rows = inputs.rows(finetuned.NAME)
    shown = [row for row in rows if row["family"] in (*FAMILIES, *SINGLE) and row["n_items"]]
    for change, words in CHANGES.items():
        for row in shown:
            if row["change"] != change:
                continue
            names = ("benchmark", "track", "family", "semantics", "change")
            yield Number(
                "8",
                f"{words}, {row['track']}",
                model,
                f"{row['benchmark']} {row['family']}",
                row["value"],
                "difference",
                semantics=row["semantics"],
                low=row["low"],
                high=row["high"],
                n_items=row["n_items"],
                source=Source(finetuned.NAME, UNPARTITIONED, {name: row[name] for name in names}),
            )


def _why(inputs: Inputs) -> str:
    if inputs.suite.finetuning is None:
        return (
            f"Suite {inputs.suite.name} trains nothing: add a section finetuning with model and "
            f"benchmarks to its file (docs/finetune.md), and run {inputs.run_command}."
        )
    return f"The fine-tuning of suite {inputs.suite.name} is not done: build the asset finetuned."
