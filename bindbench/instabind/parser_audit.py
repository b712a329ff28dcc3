"""Does a person agree with the parser? A stratified sample to judge, and the agreement."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bindbench.analysis.resampling import wilson
from bindbench.errors import UserError
from bindbench.instabind.located_json import read_text
from bindbench.instabind.outcomes import Outcomes, outcomes
from bindbench.instabind.outputs import Outputs
from bindbench.instabind.questions import Question
from bindbench.text_files import write_text

FIELDS: tuple[str, ...] = (
    "question_id",
    "setting",
    "question",
    "right",
    "answer",
    "read_as",
    "class",
    "agree",
)
VERDICTS = {"yes": True, "no": False}


@dataclass(frozen=True)
class Agreement:
    """How many judged answers were read as a person reads them."""

    judged: int
    agreed: int
    low: float  # Wilson's interval at 95%
    high: float


def sample(
    questions: Mapping[str, Question], outputs: Outputs, size: int, seed: int = 0
) -> list[dict[str, str]]:
    """Return answers to judge: as many of each class, as far as there are.

    A class is an error class, with adjacent and other misbindings apart. The last field, "agree",
    is empty: a person fills in yes or no.
    """
    table = outcomes(questions, outputs)
    table = table.where(~table.missing)
    answers = dict(outputs.answers)
    rng = np.random.default_rng([seed, size])
    classes = _classes(table)
    strata = [rng.permutation(np.flatnonzero(classes == name)) for name in sorted(set(classes))]
    turns = sorted((turn, i) for i, rows in enumerate(strata) for turn in range(len(rows)))
    chosen = sorted(int(strata[i][turn]) for turn, i in turns[:size])
    return [
        {
            "question_id": table.question_id[row],
            "setting": outputs.setting,
            "question": questions[table.question_id[row]].question,
            "right": table.gold[row],
            "answer": answers[table.question_id[row]],
            "read_as": table.said[row] or "",
            "class": classes[row],
            "agree": "",
        }
        for row in chosen
    ]


def _classes(table: Outcomes) -> np.ndarray:
    """Return the error class of each row, with adjacent and other misbindings apart."""
    classes = table.error.copy()
    classes[table.distance == 1] = "adjacent misbinding"
    classes[table.distance > 1] = "other misbinding"
    return classes


def write_sample(path: Path, rows: list[dict[str, str]]) -> None:
    """Write a sample as CSV.

    Raises:
        UserError: the file cannot be written.
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(FIELDS))
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def read_sample(path: Path) -> list[dict[str, str]]:
    """Return the rows of a sample.

    Raises:
        UserError: it is not a file of ``write_sample``.
    """
    reader = _reader(path, FIELDS)
    return [{name: row[name] or "" for name in FIELDS} for row in reader]


def _reader(path: Path, needed: tuple[str, ...]) -> "csv.DictReader[str]":
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    for name in needed:
        if name not in (reader.fieldnames or []):
            raise UserError(f"{path} has no column {name!r}: judge a file of parser-audit.")
    return reader


def read_agreement(path: Path) -> Agreement:
    """Return the agreement in a sample that was judged, in whole or in part.

    Raises:
        UserError: no such column, a verdict other than yes and no, or none at all.
    """
    reader = _reader(path, ("agree",))
    verdicts = []
    for row in reader:
        said = (row["agree"] or "").strip().lower()
        if said and said not in VERDICTS:
            raise UserError(
                f"{path}, line {reader.line_num}: agree is {said!r}, but must be yes or no."
            )
        if said:
            verdicts.append(VERDICTS[said])
    if not verdicts:
        raise UserError(f"{path} holds no verdicts: write yes or no in the column 'agree'.")
    low, high = wilson(sum(verdicts), len(verdicts))
    return Agreement(len(verdicts), sum(verdicts), float(low), float(high))
