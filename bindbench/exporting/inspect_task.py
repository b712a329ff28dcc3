"""A task for Inspect: multiple choice among the right caption and at most 49 false ones.

The options and their order are those that BindBench's own ``api:`` models are asked in their first
rotation (``bindbench.scoring.choice.choice_question``), so they depend on the item alone.
"""

import json
from collections.abc import Iterator
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from bindbench.evaluation import BuiltBenchmark
from bindbench.exporting.items import Exported, Item, families_of, new_folder, shards
from bindbench.scoring.choice import MOST_OPTIONS, choice_question
from bindbench.tasks import TRACKS
from bindbench.text_files import write_text

TASK = "bindbench_task.py"


def export(suite: Exported, out: Path, seed: int = 0) -> dict[str, int]:
    """Write the task, its samples and pictures; return how many samples each file holds.

    Args:
        suite: what to write.
        out: a new folder.
        seed: of the options that are offered and of their order.

    Raises:
        UserError: the folder is not empty.
    """
    with new_folder(out) as folder:
        task = package_files("bindbench.exporting") / "consumers" / "inspect_task.py"
        write_text(folder / TASK, task.read_text(encoding="utf-8"))
        (folder / "samples").mkdir()
        found: dict[str, int] = {}
        for benchmark in suite.benchmarks:
            for name, line in _lines(benchmark, folder, seed):
                with (folder / "samples" / f"{name}.jsonl").open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
                found[name] = found.get(name, 0) + 1
        return found


def _lines(
    benchmark: BuiltBenchmark, folder: Path, seed: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Write the pictures; yield the file and the record of each sample."""
    home = folder / "images" / benchmark.key
    home.mkdir(parents=True)
    for part in shards(benchmark):
        for track in TRACKS:
            for item in part[track]:
                path = home / f"{item.row['index']:08d}-{track}.png"
                path.write_bytes(item.image)
                for family in families_of(benchmark.key):
                    if record := sample(item, family, seed):
                        image = {"image": path.relative_to(folder).as_posix()}
                        yield f"{benchmark.key}-{track}-{family}", record | image


def sample(item: Item, family: str, seed: int = 0) -> dict[str, Any] | None:
    """Return an item's sample without its picture; None if it has no false caption."""
    wrong = item.wrong(family)
    if not wrong:
        return None
    order = choice_question(item.key, family, wrong, rotations=1, seed=seed).orders[0]
    return {
        "id": item.key,
        "scene_id": item.row["scene_id"],
        "choices": [item.texts[i] for i in order],
        "target": _label(order.index(0)),
    }


def _label(position: int) -> str:
    """Return an option's name as Inspect has it: A to Z, then 1, 2 and so on."""
    return chr(ord("A") + position) if position < MOST_OPTIONS else str(position + 1 - MOST_OPTIONS)
