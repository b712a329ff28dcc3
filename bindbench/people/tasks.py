"""Review tasks: what people are shown and asked, whatever tool they use."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bindbench.errors import UserError


@dataclass(frozen=True)
class Choice:
    """A question with the answers that may be chosen, exactly one of them."""

    name: str  # of its field: letters, digits and _
    title: str  # as people read it
    options: tuple[str, ...] = ()  # none: each task has its own
    required: bool = True


@dataclass(frozen=True)
class Form:
    """What every task of an audit has."""

    choices: tuple[Choice, ...]
    texts: tuple[str, ...] = ()  # fields that are shown, in this order
    image: bool = False  # whether a picture is shown
    comment: bool = False  # whether people may write something


@dataclass(frozen=True)
class Task:
    """One thing to look at."""

    id: str
    texts: dict[str, str] = field(default_factory=dict)
    image: str = ""  # a data URI, an address, or a path that the tool can read
    options: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by choice, its own answers


@dataclass(frozen=True)
class Judgement:
    """What one person said of one task."""

    task_id: str
    annotator: str
    answers: dict[str, str]  # by the name of the choice
    comment: str = ""


def check_tasks(tasks: Sequence[Task], form: Form) -> None:
    """Raise a UserError unless the tasks have ids of their own and all that the form shows."""
    seen: set[str] = set()
    for task in tasks:
        if not task.id or task.id in seen:
            raise UserError(
                f"Two review tasks have the id {task.id!r}."
                if task.id
                else "A review task has no id."
            )
        seen.add(task.id)
        missing = [name for name in form.texts if name not in task.texts]
        if form.image and not task.image:
            missing.append("image")
        own = [choice.name for choice in form.choices if not choice.options]
        missing += [f"options of {name}" for name in own if len({*task.options.get(name, ())}) < 2]
        if missing:
            raise UserError(f"The review task {task.id!r} has no {missing[0]}.")


def by_task(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    """Return the judgements of each task, of all its annotators."""
    found: dict[str, list[Judgement]] = {}
    for one in judgements:
        found.setdefault(one.task_id, []).append(one)
    return found
