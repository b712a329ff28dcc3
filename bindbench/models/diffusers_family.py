"""The family ``diffusers``: text-to-image pipelines as generators."""

from typing import Any

from bindbench.models.availability import Weights
from bindbench.models.diffusers_options import KNOWN, DiffusersOptions
from bindbench.models.family import Family, ModelName
from bindbench.vocabulary import Lexicon


def _diffusers(name: ModelName, options: DiffusersOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.diffusers_generator import load_diffusers

    return load_diffusers(_diffusers_source(name, options), options)


def _diffusers_source(name: ModelName, options: DiffusersOptions) -> Any:
    from bindbench.models.diffusers_names import find_source

    return find_source(name.name, name.revision, options)


def _diffusers_identity(name: ModelName, options: DiffusersOptions) -> dict[str, str]:
    from bindbench.models.diffusers_names import identity_of

    return identity_of(_diffusers_source(name, options))


def _diffusers_weights(name: ModelName, options: DiffusersOptions) -> Weights:
    from bindbench.models.diffusers_names import weights_of

    return weights_of(name.name, name.revision, options)


DIFFUSERS = Family(
    "generator",
    "diffusers",
    (),
    DiffusersOptions,
    _diffusers,
    _diffusers_identity,
    _diffusers_source,
    weights=_diffusers_weights,
    summary="any text-to-image pipeline of diffusers: Stable Diffusion, FLUX and others",
    needs="its weights, downloaded unless they are a folder or in the cache",
    library="diffusers",
    named="org/name of the Hugging Face hub, or a folder",
    known=lambda: tuple(KNOWN),
)
