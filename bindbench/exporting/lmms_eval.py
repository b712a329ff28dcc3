"""A task folder for lmms-eval: the dataset, and a multiple-choice task for each family."""

from collections.abc import Iterator
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from bindbench.exporting.card import splits
from bindbench.exporting.huggingface import DataFile, write_dataset
from bindbench.exporting.items import Exported, families_of, new_folder
from bindbench.scoring.prompts import DEFAULT_PROMPT
from bindbench.text_files import write_text

METRICS = {"accuracy": True, "tie_rate": False, "chance": False}  # name -> higher is better

_TASK = """\
task: {name}
dataset_path: {path}
dataset_name: {key}
test_split: {split}
output_type: multiple_choice
process_docs: !function utils.with_{family}
doc_to_visual: !function utils.picture
doc_to_text: {prompt}
doc_to_choice: !function utils.{family}
doc_to_target: 0
target_delimiter: " "
process_results: !function utils.strict
metric_list:
"""


def export(suite: Exported, out: Path) -> list[str]:
    """Write ``dataset`` and ``tasks``; return the names of the tasks.

    Raises:
        UserError: the folder is not empty, or nothing was accepted.
    """
    with new_folder(out) as folder:
        (folder / "dataset").mkdir()
        data = write_dataset(suite, folder / "dataset")
        tasks = folder / "tasks"
        tasks.mkdir()
        utils = package_files("bindbench.exporting") / "consumers" / "lmms_eval_utils.py"
        write_text(tasks / "utils.py", utils.read_text(encoding="utf-8"))
        names = []
        for name, text in _tasks(data, out.absolute() / "dataset"):
            write_text(tasks / f"{name}.yaml", text)
            names.append(name)
        return names


def _tasks(data: list[DataFile], dataset: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the YAML of each task that has an item."""
    for (key, split), own in splits(data).items():
        for family in families_of(key):
            if any(family in file.families for file in own):
                name = f"bindbench_{key}_{split}_{family}".replace("-", "_")
                yield name, _yaml(name=name, path=dataset, key=key, split=split, family=family)


def _yaml(**fields: Any) -> str:
    """Return a task. Not by a YAML library: ``!function`` is a tag of lmms-eval's own."""
    metrics = "".join(
        f"  - metric: {name}\n    aggregation: mean\n    higher_is_better: {str(higher).lower()}\n"
        for name, higher in METRICS.items()
    )
    quoted = fields | {"path": _quoted(str(fields["path"])), "prompt": _quoted(DEFAULT_PROMPT)}
    return _TASK.format(**quoted) + metrics


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
