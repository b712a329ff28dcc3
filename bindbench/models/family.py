"""What a model family is, and how a model is named."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bindbench.errors import UserError
from bindbench.models.availability import NO_WEIGHTS, Weights
from bindbench.suite import Strict
from bindbench.tasks import Task
from bindbench.vocabulary import Lexicon

Role = Literal["writer", "generator", "detector", "judge", "scorer", "answerer"]


@dataclass(frozen=True)
class ModelName:
    """A model as everything names it: ``family:name@revision``."""

    family: str
    name: str
    revision: str = ""

    @classmethod
    def parse(cls, text: str) -> "ModelName":
        """Split a model's name, or raise a UserError that shows the form."""
        match = re.fullmatch(r"([a-z0-9_]+):([^@\s]+)(?:@(\S+))?", text)
        if not match:
            raise UserError(f"Model {text!r} is no model name: write family:name@revision.")
        return cls(match[1], match[2], match[3] or "")

    def __str__(self) -> str:
        return f"{self.family}:{self.name}" + (f"@{self.revision}" if self.revision else "")

    @property
    def slug(self) -> str:
        """The name as a partition key: without the characters that Dagster reserves."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", str(self))


class NoOptions(Strict):
    """The options of a family that has none."""


@dataclass(frozen=True)
class Family:
    """A family of models that fills a role."""

    role: Role
    name: str
    models: tuple[str, ...]  # the names it knows
    options: type[Strict]
    load: Callable[[ModelName, Any, Lexicon], Any]
    identity: Callable[[ModelName, Any], dict[str, str]] = lambda name, options: {}  # e.g. a hash
    check: Callable[[ModelName, Any], object] = lambda name, options: None  # before any loading
    words: Callable[[Lexicon, Sequence[Task]], None] = lambda lexicon, tasks: None  # are they known
    weights: Callable[[ModelName, Any], Weights] = lambda name, options: NO_WEIGHTS  # are they here
    ready: Callable[[ModelName, Any], object] = lambda name, options: None  # is its key set
    # Whether one process holds it, whatever the number of workers: it fills an accelerator.
    lone: Callable[[Any], bool] = lambda options: getattr(options, "device", "cpu") != "cpu"
    summary: str = ""
    scored: str = ""  # of scorers: how a caption gets its score
    needs: str = ""  # beyond this machine's CPU and the packages
    library: str = ""  # the package that runs it, as it is imported
    named: str = ""  # what a name may be where ``models`` does not list them all
    known: Callable[[], Sequence[str]] = lambda: ()  # names among these; may load the library
    measures: bool = False  # of judges: they look at the masks of detections
