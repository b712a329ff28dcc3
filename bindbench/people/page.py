"""A plain page for a quick check: it works from disk, and saves its answers to a file."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from bindbench.errors import UserError
from bindbench.instabind.located_json import read_json
from bindbench.people.audits import CHOICE, FORMS, Question
from bindbench.people.tasks import Judgement


def render_page(suite: str, questions: Sequence[Question], images: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        suite: its name.
        questions: in the order that they are asked.
        images: by question id, a data URI.
    """
    from bindbench.reporting.report import environment

    asked = [
        {
            "id": one.id,
            "image": images[one.id],
            "title": FORMS[one.kind].choices[0].title,
            "caption": one.caption if one.kind == "concordance" else "",
            "options": list(one.offered),
        }
        for one in questions
    ]
    data = json.dumps(asked, ensure_ascii=False).replace("</", "<\\/")
    return environment().get_template("people.html").render(suite=suite, data=data)


def read_page(path: Path, questions: Mapping[str, Question]) -> list[Judgement]:
    """Return the answers that the page saved.

    Raises:
        UserError: not such a file, or an answer to no question of this audit.
    """
    raw = read_json(path)
    if not (raw["name"] and isinstance(raw["name"], str) and isinstance(raw["answers"], dict)):
        raise UserError(
            f"{path}: name must be who answered, and answers an object from question id to the "
            "answer: save them on the page once more."
        )
    found = []
    for key, chosen in raw["answers"].items():
        if key not in questions:
            raise UserError(f"{path}: there is no question {key!r} in this audit.")
        found.append(Judgement(key, raw["name"], {CHOICE: str(chosen)}))
    return found


def is_page(raw: object) -> bool:
    """Whether a JSON document looks like what the page saves."""
    return isinstance(raw, dict) and {"name", "answers"} <= set(raw)
