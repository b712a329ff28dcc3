"""An audit of a small suite, and people who answer as they are told."""

import json
from pathlib import Path

import numpy as np
import pytest
import stand_ins

from bindbench.models.base import GeneratedImage
from bindbench.people.audits import Question
from bindbench.pipeline import spine

KEYS = ("color-n1", "color-n2", "position-n3")


class Spotty:
    """Some images are gray, which is no background for the minimal track."""

    def generate(self, requests):
        return [
            GeneratedImage(np.full((64, 64, 3), 255 if r.seed % 3 else 100, np.uint8))
            for r in requests
        ]


def small_audit(folder: Path):
    """Yield the context of a suite whose benchmarks are built up to their candidates."""
    fields = {"benchmarks": [*KEYS], "concepts": 12, "overrides": {"shard_size": 5}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stand_ins, "White", Spotty)
        with stand_ins.cheap_context(folder, **fields) as context:
            spine.build_vocabulary(context)
            for key in KEYS:
                spine.build_benchmark(context, key)
            yield context


def labeled(tasks: list[dict], answers: dict[str, dict[str, str]]) -> list[dict]:
    """Return tasks as Label Studio exports them, with the answers of people by task id."""
    return [
        {
            "id": number,
            "data": task["data"],
            "annotations": [
                {
                    "completed_by": person,
                    "was_cancelled": False,
                    "result": [
                        {
                            "from_name": "answer",
                            "to_name": "image",
                            "type": "choices",
                            "value": {"choices": [said]},
                        }
                    ],
                }
                for person, said in answers.get(task["data"]["task_id"], {}).items()
            ],
        }
        for number, task in enumerate(tasks)
    ]


def tasks_in(folder: Path) -> list[dict]:
    """Return the tasks of all kinds of an exported audit."""
    files = [folder / f"{kind}.json" for kind in ("concordance", "swap", "confusion")]
    return [task for file in files for task in json.loads(file.read_text())]


def wrong_of(question: Question) -> str:
    """Return the first wrong answer that a question offers."""
    return next(option for option in question.offered if option != question.right)
