"""The family ``grounding_dino``: open-vocabulary boxes with masks as a detector."""

from typing import Any

from bindbench.models.availability import Weights
from bindbench.models.family import Family, ModelName
from bindbench.models.grounding_dino_options import GroundingDinoOptions
from bindbench.vocabulary import Lexicon


def _grounding_dino(name: ModelName, options: GroundingDinoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.grounding_dino_detector import load_detector

    return load_detector(_grounding_dino_source(name, options), options, lexicon)


def _grounding_dino_source(name: ModelName, options: GroundingDinoOptions) -> Any:
    from bindbench.models.grounding_dino_names import find_detector

    return find_detector(name.name, name.revision, options)


def _grounding_dino_identity(name: ModelName, options: GroundingDinoOptions) -> dict[str, str]:
    from bindbench.models.grounding_dino_names import detector_identity

    return detector_identity(_grounding_dino_source(name, options))


def _grounding_dino_weights(name: ModelName, options: GroundingDinoOptions) -> Weights:
    from bindbench.models.grounding_dino_names import detector_weights

    return detector_weights(name.name, name.revision, options)


GROUNDING_DINO = Family(
    "detector",
    "grounding_dino",
    (),
    GroundingDinoOptions,
    _grounding_dino,
    _grounding_dino_identity,
    _grounding_dino_source,
    weights=_grounding_dino_weights,
    summary="any nouns, by Grounding DINO; masks by SAM 2",
    needs="the weights of both, downloaded unless they are local or in the cache",
    library="transformers",
    named="org/name of the Hugging Face hub, or a folder",
)
