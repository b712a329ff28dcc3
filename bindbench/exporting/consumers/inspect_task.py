# pyright: reportMissingImports=false
"""BindBench for Inspect: choose the caption of a picture among at most 50.

inspect eval bindbench_task.py -T benchmark=color-n2 -T track=minimal -T family=swap --model ...
"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

HERE = Path(__file__).parent
QUESTION = "Which caption describes the image?"


@task
def bindbench(benchmark: str = "color-n2", track: str = "minimal", family: str = "swap") -> Task:
    """Return the task; the options and their order were drawn when it was exported."""
    file = HERE / "samples" / f"{benchmark}-{track}-{family}.jsonl"
    if not file.is_file():
        known = ", ".join(path.stem for path in sorted(file.parent.glob("*.jsonl")))
        raise ValueError(f"{file.name} was not exported: there are {known}")
    return Task(
        dataset=json_dataset(str(file), sample),
        solver=multiple_choice(),
        scorer=choice(),
    )


def sample(record: dict) -> Sample:
    """Return a sample from a line of the file."""
    image = ContentImage(image=str(HERE / record["image"]))
    return Sample(
        id=record["id"],
        input=[ChatMessageUser(content=[image, ContentText(text=QUESTION)])],
        choices=record["choices"],
        target=record["target"],
        metadata={"chance": 1 / len(record["choices"]), "scene_id": record["scene_id"]},
    )
