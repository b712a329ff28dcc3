"""What all settings are made of."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """A frozen model that refuses fields it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RoleSettings(Strict):
    """The model of one role."""

    model: Annotated[str, Field(description="family:name@revision")]
    options: dict[str, Any] = Field(default_factory=dict, description="parameters of the family")
    batch_size: Annotated[int, Field(ge=1)] = 16
