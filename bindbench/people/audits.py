"""Questions to people about a benchmark's images (Auto-Comp, section 5, A.10, Tables 11 and 20).

Three kinds, each with a form of its own: does the picture show what its caption says, and which of
several captions fits (the swaps, or at most 50 of the Confusion candidates). What is given out says
neither what the pipeline thinks nor which caption is right; that stays in the audit's key.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bindbench.errors import UserError
from bindbench.instabind.located_json import read_json
from bindbench.people.answers import KINDS, Answered, Kind
from bindbench.people.tasks import Choice, Form, Judgement, Task
from bindbench.text_files import write_text

CHOICE = "answer"
VERDICTS = ("yes", "no")
_FITS = "Does the picture show what the caption says, all of it and with nothing of it twice?"
_WHICH = "Which caption fits the picture?"
FORMS: dict[Kind, Form] = {
    "concordance": Form((Choice(CHOICE, _FITS),), texts=("caption",), image=True),
    "swap": Form((Choice(CHOICE, _WHICH),), image=True),
    "confusion": Form((Choice(CHOICE, _WHICH),), image=True),
}
KEY = "key.json"


@dataclass(frozen=True)
class Question:
    """One question of an audit."""

    id: str  # tells nothing
    kind: Kind
    benchmark: str
    track: str
    item: str  # the image: concept_id/track
    scene: str
    offered: tuple[str, ...]  # in the order that people see
    right: str  # for concordance the pipeline's verdict, else the item's caption
    caption: str  # of the image


def task_of(question: Question, image: str) -> Task:
    """Return the review task of a question, its image as people's tool reads it."""
    texts = {"caption": question.caption} if question.kind == "concordance" else {}
    return Task(question.id, texts, image, {CHOICE: question.offered})


def write_key(path: Path, suite: str, questions: Sequence[Question]) -> None:
    """Write what the tasks don't say.

    Raises:
        UserError: the file can't be written.
    """
    rows = {"suite": suite, "questions": [asdict(one) for one in questions]}
    write_text(path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def read_key(path: Path, suite: str) -> list[Question]:
    """Return the questions of an audit.

    Raises:
        UserError: the file is no key, or of another suite.
    """
    raw = read_json(path)
    if not isinstance(raw, dict) or not isinstance(raw.get("questions"), list):
        raise UserError(f"{path} is no key of an audit: name a folder of bindbench audit export.")
    if raw.get("suite") != suite:
        raise UserError(
            f"{path} is an audit of suite {raw.get('suite')}, not of {suite}: name it by --suite."
        )
    names = set(Question.__dataclass_fields__)
    found = []
    for row in raw["questions"]:
        if not isinstance(row, dict) or set(row) != names or row["kind"] not in KINDS:
            line = getattr(row, "line", "?")
            raise UserError(f"{path}, line {line}: this is no question with {sorted(names)}.")
        found.append(Question(**{**row, "offered": tuple(row["offered"])}))
    return found


def answered(judgements: Sequence[Judgement], questions: Mapping[str, Question]) -> list[Answered]:
    """Return people's answers with what they are about.

    Raises:
        UserError: an answer was not offered.
    """
    found = []
    for one in judgements:
        asked, chosen = questions[one.task_id], one.answers[CHOICE]
        if chosen not in asked.offered:
            raise UserError(
                f"{one.annotator} answered {chosen!r} to task {one.task_id}, which was not "
                "offered: the labels are of another export than the key."
            )
        found.append(
            Answered(
                one.annotator,
                asked.item,
                asked.scene,
                asked.benchmark,
                asked.track,
                asked.kind,
                asked.offered,
                chosen,
                asked.right,
            )
        )
    return found
