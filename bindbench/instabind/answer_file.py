"""A file of answers that grows: what is answered is kept, and only the rest is asked."""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bindbench.errors import UserError
from bindbench.instabind.asking import Desk, asked_in
from bindbench.instabind.outputs import read_outputs
from bindbench.instabind.questions import Question
from bindbench.models.base import Answerer, Reply
from bindbench.pipeline.asking import ask_all
from bindbench.storage.progress import Progress


@dataclass(frozen=True)
class Answered:
    """What a run did."""

    asked: int  # questions of the setting
    kept: int  # of these: answered before
    cut_off: int  # new answers that ended at the most tokens
    unknown: dict[str, int]  # words that the model has no token for: new questions with them


class AnswerFile:
    """The answers of one model in one setting, in the authors' schema.

    Args:
        path: the file, which need not exist.
        model: the model's name.
        setting: the setting's.
    """

    def __init__(self, path: Path, model: str, setting: str) -> None:
        self.path, self._model, self._setting = path, model, setting

    def answered(self, questions: Mapping[str, Question]) -> set[str]:
        """Return the questions that have an answer; half a line at the end is taken away.

        Raises:
            UserError: the file is of another model or setting, or holds something else.
        """
        self._mend()
        if not self.path.exists() or not self.path.stat().st_size:
            return set()
        found = read_outputs(self.path, questions)
        for field in ("model", "setting"):
            given, due = getattr(found, field), getattr(self, f"_{field}")
            if given != due:
                raise UserError(
                    f"{self.path} holds answers of the {field} {given!r}, not {due!r}: name "
                    "another file."
                )
        return {key for key, _ in found.answers}

    def add(self, questions: Sequence[Question], replies: Sequence[Reply]) -> None:
        """Add answers; they are on their way to the disk when this returns.

        Raises:
            UserError: the file can't be written.
        """
        rows = [
            {
                "question_id": question.question_id,
                "prediction": reply.text,
                "model": self._model,
                "setting": self._setting,
            }
            for question, reply in zip(questions, replies, strict=True)
        ]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UserError(f"Cannot write {self.path}: {error.strerror}.") from None

    def _mend(self) -> None:
        """Take away what follows the last line break: a run was killed while it wrote."""
        if not self.path.is_file():
            return
        data = self.path.read_bytes()
        if not data.endswith(b"\n") and data:
            with self.path.open("r+b") as file:
                file.truncate(data.rfind(b"\n") + 1)


def answer(
    model: Answerer,
    questions: Mapping[str, Question],
    desk: Desk,
    file: AnswerFile,
    batch_size: int,
    on_progress: Progress | None = None,
) -> Answered:
    """Ask a model the questions of a setting that a file has no answer to yet.

    Args:
        model: the model.
        questions: all questions on the annotations, by id.
        desk: makes the requests of the setting.
        file: gets the answers, batch by batch.
        batch_size: questions in one call of the model.
        on_progress: called after each batch, with questions as its unit.

    Raises:
        Unfinished: a server gave no answer for some questions; the others' are in the file.
        UserError: an image can't be shown, or the file can't be read or written.
    """
    asked = asked_in(questions.values(), desk.where.name)
    before = file.answered(questions)
    left = [question for question in asked if question.question_id not in before]
    kept, done, cut = len(asked) - len(left), 0, 0
    words: Counter[str] = Counter()
    started = time.monotonic()

    def ask(batch: Sequence[Question]) -> list[None]:
        nonlocal done, cut
        replies = model.reply([desk.request(question) for question in batch])
        file.add(batch, replies)
        done += len(batch)
        cut += sum(not reply.finished for reply in replies)
        words.update(word for reply in replies for word in reply.unknown)
        if on_progress:
            rate = done / max(time.monotonic() - started, 1e-9)
            on_progress(kept + done, len(asked), kept, rate, (len(left) - done) / rate)
        return [None] * len(batch)

    ask_all(left, batch_size, ask, lambda question: question.question_id)
    return Answered(len(asked), kept, cut, dict(words.most_common()))
