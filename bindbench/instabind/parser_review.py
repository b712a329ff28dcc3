"""The parser's audit as review tasks: a sample of answers out, its verdicts in."""

from collections.abc import Mapping, Sequence

from bindbench.people.tasks import Choice, Form, Judgement, Task, by_task

SHOWN = ("question", "answer", "read_as", "error_class")
FORM = Form(
    choices=(Choice("agree", "Was the answer read as you read it?", ("yes", "no")),),
    texts=SHOWN,
    comment=True,
)


def parser_tasks(rows: Sequence[Mapping[str, str]]) -> list[Task]:
    """Return a task for each row of a sample of ``parser_audit``."""
    return [
        Task(
            row["question_id"],
            {
                "question": row["question"],
                "answer": row["answer"] or "(empty)",
                "read_as": row["read_as"] or "(none of the group's values)",
                "error_class": row["class"],
            },
        )
        for row in rows
    ]


def judged(
    rows: Sequence[Mapping[str, str]], judgements: Sequence[Judgement]
) -> list[dict[str, str]]:
    """Return the sample with its verdicts: yes where all annotators of an answer said so."""
    said = by_task(judgements)
    out = []
    for row in rows:
        answers = {one.answers["agree"] for one in said.get(row["question_id"], [])}
        agree = "no" if "no" in answers else "yes" if answers else ""
        out.append({**row, "agree": agree})
    return out
