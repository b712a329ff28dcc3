"""The family ``open_clip``: contrastive models as scorers."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from bindbench.errors import UserError
from bindbench.models.availability import open_clip_weights
from bindbench.models.family import Family, ModelName
from bindbench.suite import Strict
from bindbench.vocabulary import Lexicon


class ContrastiveOptions(Strict):
    """Options of models that embed images and texts apart."""

    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    device: str = "cpu"


class OpenClipOptions(ContrastiveOptions):
    """Options of open_clip models."""

    architecture: str = Field("", description="of a checkpoint file without a configuration")


def _open_clip(name: ModelName, options: OpenClipOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.open_clip_names import find_source
    from bindbench.models.open_clip_scorer import load_open_clip

    source = find_source(name.name, options.architecture)
    return load_open_clip(str(name), source, options.dtype, options.device)


def _check_open_clip(name: ModelName, options: OpenClipOptions) -> None:
    from bindbench.models.open_clip_names import find_source

    if name.revision:
        raise UserError(
            f"Model {name}: open_clip models have no revisions, leave out @{name.revision}."
        )
    find_source(name.name, options.architecture)


def _open_clip_identity(name: ModelName, options: OpenClipOptions) -> dict[str, str]:
    from bindbench.models.open_clip_names import find_source, identity_of

    return identity_of(find_source(name.name, options.architecture))


def _open_clip_names() -> Sequence[str]:
    from bindbench.models.open_clip_names import known_tags

    return [f"{architecture}/{tag}" for architecture, tag in sorted(known_tags())]


OPEN_CLIP = Family(
    "scorer",
    "open_clip",
    (),
    OpenClipOptions,
    _open_clip,
    _open_clip_identity,
    _check_open_clip,
    weights=lambda name, options: open_clip_weights(name.name, options.architecture),
    summary="any contrastive model of open_clip, SigLIP and SigLIP 2 among them",
    scored="similarity of image and caption",
    needs="its weights, downloaded unless they are a folder or in the cache",
    library="open_clip",
    named="architecture/tag of open_clip's list, hf-hub:org/name, a folder, a file",
    known=_open_clip_names,
)
