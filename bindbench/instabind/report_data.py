"""What InstaBind's report shows, computed: the figures behind the paper's tables and figures."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bindbench.instabind.adjacency import EXCLUDED_LEVEL, Adjacency, adjacency
from bindbench.instabind.annotations import Annotations
from bindbench.instabind.answer_bias import LetterBias, YesNo, letters, yes_no
from bindbench.instabind.conditions import CHOICE, FULL, INSTANCE_FIRST, SETTINGS, is_localized
from bindbench.instabind.gaps import Gaps, gaps
from bindbench.instabind.metrics import Metrics, by, confusion, metrics
from bindbench.instabind.outcomes import (
    INVALID,
    MISBINDING,
    OUT_OF_SET,
    RECOGNITION,
    Outcomes,
    outcomes,
)
from bindbench.instabind.outputs import Outputs
from bindbench.instabind.questions import LEVELS, WORN, Question
from bindbench.instabind.space import Space, datasets, space
from bindbench.reporting.numbers import count

ERRORS = ("adjacent", "nonadjacent", OUT_OF_SET, RECOGNITION, INVALID)  # as in figure 2


@dataclass(frozen=True)
class Subject:
    """A model that answers in one way: free text, or a choice of the group's values."""

    model: str
    choice: bool
    tables: Mapping[str, Outcomes]  # by setting, without the ending of a choice

    @property
    def name(self) -> str:
        """The model's name, and whether it chooses."""
        return f"{self.model}, choice" if self.choice else self.model


@dataclass(frozen=True)
class Effect:
    """One intervention on one subject, on the questions that both settings ask."""

    setting: str
    full: Metrics
    other: Metrics
    gaps: Gaps


@dataclass(frozen=True)
class Findings:
    """What is shown of one subject."""

    subject: Subject
    full: Metrics | None  # None: not asked on the full image
    errors: Mapping[str, float]  # share of all questions, by ERRORS; empty without ``full``
    levels: Mapping[str, Mapping[str, Metrics]]  # setting -> level
    effects: Sequence[Effect]  # localized settings
    instance_first: Effect | None
    slices: Mapping[str, Mapping[str, Metrics]]  # of the full image: what is sliced by -> value
    confusion: Mapping[str, Sequence[Sequence[int]]]  # by group size: target to source
    adjacency: Mapping[str, Adjacency]  # "all" but L4, and each level of them
    space: Space | None
    yes_no: YesNo | None
    letters: LetterBias | None


def statistics(
    annotations: Annotations, questions: Mapping[str, Question]
) -> list[tuple[str, str]]:
    """Return the set's counts, name and value (InstaBind-Lite, Table II)."""
    groups = [group for picture in annotations.images for group in picture.same_class_groups]
    sizes = Counter(len(group.instances) for group in groups)
    levels = Counter(question.level for question in questions.values())
    asked = Counter(group.attribute_focus for group in groups)
    sources = Counter(datasets(annotations).values())
    people = asked[WORN] / len(groups) if groups else 0.0
    return [
        ("Images", count(len(annotations.images))),
        ("Same-class groups", count(len(groups))),
        ("Instances", count(sum(len(group.instances) for group in groups))),
        ("Questions", count(len(questions))),
        ("Person groups", f"{people:.2%}"),
        ("Non-person groups", f"{1 - people:.2%}"),
        (_joined("Group size", sorted(sizes)), _joined("", (sizes[n] for n in sorted(sizes)))),
        (_joined("Question", LEVELS), _joined("", (levels[level] for level in LEVELS))),
        *(
            (f"Groups asked about {name.replace('_', ' ')}", count(n))
            for name, n in asked.most_common()
        ),
        *((f"Images from {name}", count(n)) for name, n in sources.most_common()),
        ("Classes", count(len({group.class_name for group in groups}))),
    ]


def _joined(name: str, parts: Iterable[object]) -> str:
    return f"{name} {' / '.join(count(x) if isinstance(x, int) else str(x) for x in parts)}".strip()


def subjects(
    questions: Mapping[str, Question], outputs: Mapping[tuple[str, str], Outputs]
) -> list[Subject]:
    """Return the models with their outcomes by setting, in the order of the outputs."""
    found: dict[tuple[str, bool], dict[str, Outcomes]] = {}
    for (model, setting), answers in outputs.items():
        tables = found.setdefault((model, setting.endswith(CHOICE)), {})
        tables[setting.removesuffix(CHOICE)] = outcomes(questions, answers)
    return [Subject(model, choice, _ordered(tables)) for (model, choice), tables in found.items()]


def _ordered(tables: Mapping[str, Outcomes]) -> dict[str, Outcomes]:
    """Return the known settings in their order, then the others."""
    known = [name for name in SETTINGS if name in tables]
    return {name: tables[name] for name in dict.fromkeys([*known, *tables])}


def findings(subject: Subject, annotations: Annotations) -> Findings:
    """Return what a subject's outcomes show."""
    full = subject.tables.get(FULL)
    localized = {name: table for name, table in subject.tables.items() if is_localized(name)}
    first = subject.tables.get(INSTANCE_FIRST)
    return Findings(
        subject=subject,
        full=None if full is None else metrics(full),
        errors={} if full is None else _errors(full),
        levels={name: by(table, "level") for name, table in subject.tables.items()},
        effects=[]
        if full is None
        else [_effect(name, full, table) for name, table in localized.items()],
        instance_first=None
        if full is None or first is None
        else _effect(INSTANCE_FIRST, full, first),
        slices={} if full is None else _slices(full, annotations),
        confusion={} if full is None else confusion(full),
        adjacency={} if full is None else _adjacency(full),
        space=None if full is None else space(full, annotations),
        yes_no=None if full is None else yes_no(full),
        letters=None if full is None else letters(full),
    )


def _errors(table: Outcomes) -> dict[str, float]:
    misbound = table.error == MISBINDING
    parts = {
        "adjacent": misbound & (table.distance == 1),
        "nonadjacent": misbound & (table.distance > 1),
        **{name: table.error == name for name in ERRORS[2:]},
    }
    return {name: float(part.mean()) for name, part in parts.items()}


def _effect(setting: str, full: Outcomes, other: Outcomes) -> Effect:
    asked = set(other.question_id) & set(full.question_id)
    same, common = (
        table.where(np.array([key in asked for key in table.question_id], bool))
        for table in (full, other)
    )
    return Effect(setting, metrics(same), metrics(common), gaps(full, other)["overall"])


def _slices(table: Outcomes, annotations: Annotations) -> dict[str, dict[str, Metrics]]:
    """Return the metrics by class, size of the group, place of the target, and dataset."""
    sources = datasets(annotations)
    place = [f"{t} of {n}" for t, n in zip(table.target, table.group_size, strict=True)]
    origin = [sources[image] for image in table.image_id]
    return {
        "class": by(table, "class_name"),
        "size": by(table, "group_size"),
        "place": _by_values(table, place),
        "source": _by_values(table, origin),
    }


def _by_values(table: Outcomes, values: Sequence[str]) -> dict[str, Metrics]:
    """Return the metrics of each of the values (n,); "2 of 3" comes before "1 of 4"."""
    every = np.array(values, object)
    order = sorted(set(values), key=lambda value: value.split()[::-1])
    return {value: metrics(table.where(every == value)) for value in order}


def _adjacency(table: Outcomes) -> dict[str, Adjacency]:
    parts: dict[str, Any] = {"all": table} | table.by("level")
    return {name: adjacency(part) for name, part in parts.items() if name != EXCLUDED_LEVEL}
