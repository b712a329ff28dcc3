"""Options of the text-to-image pipelines of diffusers, and the published settings of known ones."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from bindbench.errors import UserError
from bindbench.suite import Strict

Dtype = Literal["float32", "float16", "bfloat16"]


@dataclass(frozen=True)
class Published:
    """How a model's authors, or the paper, use it."""

    steps: int
    guidance: float
    side: int  # of the images, in pixels
    dtype: Dtype
    arguments: dict[str, Any] = field(default_factory=dict)  # further ones of the pipeline's call


# The settings of each model's card; those of the first are the paper's (Auto-Comp, A.6).
KNOWN = {
    "stabilityai/stable-diffusion-3.5-large": Published(28, 4.5, 1024, "bfloat16"),
    "stabilityai/stable-diffusion-3.5-large-turbo": Published(4, 0.0, 1024, "bfloat16"),
    "black-forest-labs/FLUX.1-dev": Published(
        50, 3.5, 1024, "bfloat16", {"max_sequence_length": 512}
    ),
    "black-forest-labs/FLUX.1-schnell": Published(
        4, 0.0, 1024, "bfloat16", {"max_sequence_length": 256}
    ),
    "stabilityai/stable-diffusion-xl-base-1.0": Published(50, 5.0, 1024, "float16"),
    "stabilityai/sdxl-turbo": Published(1, 0.0, 512, "float16"),
    "stabilityai/stable-diffusion-2": Published(50, 7.5, 768, "float16"),
    "stabilityai/stable-diffusion-2-1": Published(50, 7.5, 768, "float16"),
}


class DiffusersOptions(Strict):
    """Options of text-to-image pipelines; what is not given is as published, or the pipeline's."""

    preset: Annotated[
        str, Field(description="the known model whose settings hold, for a copy of it elsewhere")
    ] = ""
    steps: Annotated[int | None, Field(ge=1)] = None
    guidance: Annotated[float | None, Field(ge=0)] = None
    width: Annotated[int | None, Field(ge=16, description="of the images, in pixels")] = None
    height: Annotated[int | None, Field(ge=16)] = None
    negative_prompt: str = ""
    arguments: Annotated[
        dict[str, bool | int | float | str],
        Field(description="further arguments of the pipeline's call, such as true_cfg_scale"),
    ] = Field(default_factory=dict)
    dtype: Annotated[
        Literal["", "float32", "float16", "bfloat16"],
        Field(description="empty: as published, float32 of models that are not known"),
    ] = ""
    variant: Annotated[str, Field(description="of the weights' files, such as fp16")] = ""
    device: Annotated[
        str, Field(description="cpu, cuda, cuda:1, ...; auto spreads the parts over what there is")
    ] = "cpu"
    devices: Annotated[
        list[str], Field(description="in place of device: a whole pipeline on each of these")
    ] = Field(default_factory=list)
    cpu_offload: Annotated[
        Literal["", "model", "sequential"],
        Field(description="keep the weights in the host's memory, and bring parts to the device"),
    ] = ""
    vae_slicing: Annotated[bool, Field(description="decode one image at a time")] = True
    vae_tiling: Annotated[bool, Field(description="decode an image in tiles")] = False
    compile: Annotated[bool, Field(description="by torch.compile, what is run in each step")] = (
        False
    )
    quantisation: Annotated[Literal["", "8bit", "4bit"], Field(description="by bitsandbytes")] = ""

    @model_validator(mode="before")
    @classmethod
    def _first_device(cls, fields: Any) -> Any:
        """Let ``device`` be the first of ``devices``."""
        if isinstance(fields, dict) and fields.get("devices"):
            if fields.get("device", fields["devices"][0]) != fields["devices"][0]:
                raise UserError(
                    f"The options device {fields['device']!r} and devices {fields['devices']!r} "
                    "of a generator exclude each other: leave one out."
                )
            return fields | {"device": fields["devices"][0]}
        return fields
