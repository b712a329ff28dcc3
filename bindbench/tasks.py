"""The four task families and the benchmarks (task + number of objects) made from them."""

import re
from dataclasses import dataclass
from typing import Literal

from bindbench.errors import UserError, unknown_name

Axis = Literal["attribute", "relation"]
Track = Literal["minimal", "contextual"]
TRACKS: tuple[Track, ...] = ("minimal", "contextual")


@dataclass(frozen=True)
class Task:
    """A task family (Auto-Comp, section 4)."""

    name: str
    axis: Axis  # attribute: one label for each object; relation: N-1 labels that chain the objects
    object_role: Literal["objects", "shapes"]  # which vocabulary names the things
    label_role: Literal["colors", "positions", "sizes"]  # which vocabulary labels them
    complexities: tuple[int, ...]  # the values of N that make sense


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task("color", "attribute", "objects", "colors", (1, 2, 3)),
        Task("shape_color", "attribute", "shapes", "colors", (2, 3)),
        Task("position", "relation", "objects", "positions", (2, 3)),
        Task("relative_size", "relation", "objects", "sizes", (2, 3)),
    )
}


@dataclass(frozen=True)
class Benchmark:
    """A task at one compositional complexity, named by its key, such as ``color-n2``."""

    task: Task
    n: int

    @property
    def key(self) -> str:
        """The name used in partitions, paths and commands."""
        return f"{self.task.name}-n{self.n}"

    @property
    def n_labels(self) -> int:
        """Number of labels in a concept: N for attributes, N-1 for relations."""
        return self.n if self.task.axis == "attribute" else self.n - 1


BENCHMARKS: dict[str, Benchmark] = {
    benchmark.key: benchmark
    for benchmark in (Benchmark(task, n) for task in TASKS.values() for n in task.complexities)
}


def get_task(name: str) -> Task:
    """Return the task called ``name``, or raise a UserError that names the nearest ones."""
    if name not in TASKS:
        raise unknown_name("task", name, TASKS)
    return TASKS[name]


def get_benchmark(key: str) -> Benchmark:
    """Return the benchmark with this key, or raise a UserError that says what is wrong with it."""
    if key in BENCHMARKS:
        return BENCHMARKS[key]
    match = re.fullmatch(r"(\w+)-n(\d+)", key)
    if match and match[1] in TASKS:
        allowed = ", ".join(map(str, TASKS[match[1]].complexities))
        raise UserError(
            f"Benchmark {key!r} asks for N={match[2]}: task {match[1]} is defined for N={allowed}."
        )
    raise unknown_name("benchmark", key, BENCHMARKS)
