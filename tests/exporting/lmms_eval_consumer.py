"""lmms-eval evaluates nano:vlm on exported tasks. Run by its own interpreter.

Prints JSON: by task, the metrics of each item by its id, and their aggregates.
"""

import contextlib
import json
import sys
from itertools import groupby
from pathlib import Path

import numpy as np
from lmms_eval.tasks import TaskManager, get_task_dict

from bindbench.models import registry
from bindbench.models.base import ScoreRequest
from bindbench.suite import RoleSettings, VocabularySources


class Nano:
    """nano:vlm as a model of lmms-eval: the mean loss of the tokens of a continuation."""

    def __init__(self):
        self._scorer = registry.load("scorer", RoleSettings(model="nano:vlm"), VocabularySources())

    def loglikelihood(self, task, requests):
        losses = []
        for doc_id, own in groupby(requests, key=lambda request: request.args[3]):
            arguments = [request.args for request in own]
            context, _, visual, _, _, split = arguments[0]
            assert context == "Describe the image."  # what nano:vlm is asked in BindBench
            (picture,) = visual(task.dataset[split][doc_id])
            texts = [continuation.removeprefix(" ") for _, continuation, *_ in arguments]
            asked = ScoreRequest("item", np.asarray(picture), texts, np.zeros(len(texts), np.int8))
            losses += [(-float(mean), False) for mean in self._scorer.score([asked])[0].mean]
        return losses


def main(folder: Path, names: list[str]) -> dict[str, dict]:
    model, found = Nano(), {}
    for name, task in get_task_dict(names, TaskManager(include_path=str(folder / "tasks"))).items():
        task.build_all_requests(rank=0, world_size=1)
        requests = task.instances
        answers = zip(requests, model.loglikelihood(task, requests), strict=True)
        items = {}
        for doc_id, own in groupby(answers, key=lambda pair: pair[0].args[3]):
            doc = task.test_docs()[doc_id]
            items[doc["id"]] = task.process_results(doc, [answer for _, answer in own])
        totals = {
            metric: aggregate([item[metric] for item in items.values()])
            for metric, aggregate in task.aggregation().items()
        }
        found[name] = {"items": items, "totals": totals}
    return found


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        result = main(Path(sys.argv[1]), sys.argv[2:])
    print(json.dumps(result))
