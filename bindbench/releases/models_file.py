"""The models file: a YAML file that a user edits, with models and watches on the hub.

A suite names it by its field ``models``. One that is removed while Dagster runs holds nothing; a
run refuses to start without it.
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from bindbench.errors import UserError
from bindbench.suite import RoleSettings, Strict, parse, read_yaml

TASKS = ("image-text-to-text", "zero-shot-image-classification")


class Entry(RoleSettings):
    """A model that is evaluated beside those of the suite."""

    status: Annotated[
        Literal["active", "retired"], Field(description="retired: not evaluated, scores stay")
    ] = "active"

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that say how it is evaluated."""
        return self.model_dump(exclude={"status"})

    @property
    def settings(self) -> RoleSettings:
        """How it is evaluated."""
        return RoleSettings(**self.fields)


class Watch(Strict):
    """Models of the hub that are evaluated when they appear or get a new commit."""

    organisation: Annotated[str, Field(description="or a user of the hub")] = ""
    collection: Annotated[str, Field(description="as in its address: owner/title-id")] = ""
    names: Annotated[str, Field(description="pattern of a name, as */siglip2-*")] = "*"
    tasks: Annotated[tuple[str, ...], Field(min_length=1, description="of the hub")] = TASKS
    since: Annotated[
        date | None,
        Field(description="first day; none: the day of the first look"),
    ] = None
    options: Annotated[dict[str, Any], Field(description="of the family hf")] = Field(
        default_factory=dict
    )
    batch_size: Annotated[int, Field(ge=1)] = 16

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if self.organisation and self.collection:
            raise ValueError("give an organisation or a collection: for both write two watches")
        if not (self.organisation or self.collection or self.search):
            raise ValueError(
                "it would find all models: give an organisation, a collection, or names with "
                "three characters in a row"
            )
        return self

    @property
    def label(self) -> str:
        """What it looks at, in words; names it in the record."""
        where = f"collection {self.collection}" if self.collection else self.organisation
        return f"watch on {where or 'the hub'}, names {self.names}, tasks {', '.join(self.tasks)}"

    @property
    def search(self) -> str:
        """The longest literal part of the names, "" if it has fewer than three characters."""
        literal = "".join(" " if c in "*?[]!/" else c for c in self.names).split()
        longest = max(literal, key=len, default="")
        return longest if len(longest) >= 3 else ""


class ModelsFile(Strict):
    """Everything that a models file says."""

    models: tuple[Entry, ...] = ()
    watches: tuple[Watch, ...] = ()


def read_models_file(path: str | None) -> ModelsFile:
    """Read the file that a suite names.

    Args:
        path: of the file; None: the suite names none.

    Raises:
        UserError: it is no YAML, or a field is wrong.
    """
    if path is None or not Path(path).is_file():
        return ModelsFile()
    fields = {name: value or [] for name, value in read_yaml(Path(path)).items()}
    file = parse(ModelsFile, fields, path)
    for name in _repeated(entry.model for entry in file.models):
        raise UserError(f"{path}: models lists {name} twice: keep one of them.")
    return file


def _repeated(names: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)
