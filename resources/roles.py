"""One resource for each role of model. Their defaults are the suite's."""

from typing import Any

from dagster import ConfigurableResource
from pydantic import Field

from bindbench.suite import RoleSettings, WriterSettings


class RoleResource(ConfigurableResource):
    """The model of a role and how it runs."""

    model: str = Field(description="The model, as family:name@revision.")
    options: dict[str, Any] = Field(description="Parameters of the model's family.")
    batch_size: int = Field(description="Items in one call of the model; never across a shard.")

    def settings(self) -> RoleSettings:
        """Return the settings as the library takes them."""
        return RoleSettings(**self._fields())

    def _fields(self) -> dict[str, Any]:
        return {"model": self.model, "options": self.options, "batch_size": self.batch_size}

    @classmethod
    def of(cls, settings: RoleSettings) -> "RoleResource":
        """Return the resource with a suite's settings."""
        return cls(**settings.model_dump())


class WriterResource(RoleResource):
    """Writes contextual captions."""

    attempts: int = Field(description="Captions tried for a concept before it is rejected.")

    def settings(self) -> WriterSettings:
        """Return the settings as the library takes them."""
        return WriterSettings(**self._fields(), attempts=self.attempts)


class GeneratorResource(RoleResource):
    """Makes the images."""


class DetectorResource(RoleResource):
    """Finds the objects of a concept in an image."""


class JudgeResource(RoleResource):
    """Answers closed questions about an image."""


class SecondJudgeResource(RoleResource):
    """Answers the same questions as the judge, for their agreement."""


class ScorersResource(ConfigurableResource):
    """The models that are evaluated."""

    models: list[dict[str, Any]] = Field(
        default=[],
        description="Model, options and batch size of each, in place of the suite's and the "
        "models file's. Empty: those.",
    )

    def roles(self) -> dict[str, tuple[RoleSettings, ...]]:
        """Return the role with its settings, as ``BenchResource.context`` takes it."""
        settings = tuple(RoleSettings(**fields) for fields in self.models)
        return {"scorers": settings} if settings else {}
