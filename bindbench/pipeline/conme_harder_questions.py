"""The asset ``conme_harder_questions``: questions after the targets' answers (ConMe, stage 6)."""

from dataclasses import dataclass

import pyarrow as pa

from bindbench.conme.examiner import Answered, Asked
from bindbench.pipeline import conme_open_answers, conme_questions
from bindbench.pipeline.asking import ask_all
from bindbench.pipeline.base import Context, ShardInputs, table
from bindbench.pipeline.conme_images import shown
from bindbench.pipeline.conme_questions import SCHEMA, build_round, row_of, sets_of
from bindbench.pipeline.conme_strong import load_strong
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "conme_harder_questions"
CODE_VERSION = "1"
UNASKED = Asked((), (), {}, reason="no questions in the first round")


@dataclass(frozen=True)
class AskHarder:
    """Lets the strong model ask again about the images of a shard."""

    suite: Suite
    strong: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each image.

        Raises:
            Unfinished: a server gave no answer for some images.
        """
        sets = sets_of(task.rows(conme_questions.NAME, ["image_id", "sets"]))
        answers: dict[str, dict[str, list[str]]] = {key: {} for key in sets}
        for row in task.rows(conme_open_answers.NAME, ["image_id", "model", "text"]):
            answers[row["image_id"]].setdefault(row["model"], []).append(row["text"])
        images = shown(task)
        cases = [Answered(k, images[k], own, answers[k]) for k, own in sets.items() if own]
        examiner = load_strong(self.suite, self.strong)
        asked = ask_all(cases, self.strong.batch_size, examiner.harder, lambda case: case.key)
        found = {case.key: one for case, one in zip(cases, asked, strict=True)}
        return table([row_of(key, 2, found.get(key, UNASKED)) for key in sets], SCHEMA)


def build(context: Context, where: str) -> Artifact:
    """Build the questions of the second round."""
    read = (conme_questions, conme_open_answers)
    return build_round(context, where, (NAME, CODE_VERSION), read, AskHarder)
