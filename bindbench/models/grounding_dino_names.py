"""What the name of an open-vocabulary detector means, found out before anything is loaded."""

from dataclasses import dataclass
from pathlib import Path

from bindbench.errors import UserError
from bindbench.models.availability import NO_WEIGHTS, Weights, in_hub_cache, local
from bindbench.models.grounding_dino_options import GroundingDinoOptions
from bindbench.models.hf_names import HfSource, identity_of, locate
from bindbench.models.sam2_names import (
    Sam2Source,
    find_segmenter,
    segmenter_identity,
    segmenter_weights,
)

FAMILY = "grounding_dino"


@dataclass(frozen=True)
class DetectorSource:
    """The two models of a detector."""

    boxes: HfSource
    masks: Sam2Source


def find_detector(name: str, revision: str, options: GroundingDinoOptions) -> DetectorSource:
    """Return what a name and the option ``segmenter`` stand for.

    Raises:
        UserError: there is no such model, or it is none that finds objects by their names.
    """
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES as KNOWN,
    )

    masks = find_segmenter(options.segmenter, options.segmenter_config)
    found = locate(FAMILY, name, revision)
    model_type = found.config["model_type"]
    if model_type not in KNOWN:
        raise UserError(
            f"{found.name}: a model of type {model_type} does not find objects by their names: "
            f"give one of type {', '.join(KNOWN)}."
        )
    if options.device == "auto":
        raise UserError(f"{found.name}: device auto is not for detectors: name one such as cuda:0.")
    return DetectorSource(
        HfSource(found.name, found.place, found.commit, "detector", model_type), masks
    )


def detector_identity(source: DetectorSource) -> dict[str, str]:
    """Return what determines a detector beyond its name: commits, or hashes of local files."""
    return {**identity_of(source.boxes), "segmenter": segmenter_identity(source.masks)}


def detector_weights(name: str, revision: str, options: GroundingDinoOptions) -> Weights:
    """Return where the weights of both models are; missing if those of one are."""
    folder = Path(name).expanduser()
    boxes = local(folder) if folder.exists() else in_hub_cache(name, revision)
    masks = segmenter_weights(find_segmenter(options.segmenter, options.segmenter_config))
    both = (boxes, masks)
    for where in ("missing", "cached", "local"):
        if chosen := [weights for weights in both if weights.where == where]:
            shown = chosen if where == "missing" else both
            place = ", ".join(weights.place for weights in shown)
            return Weights(where, place, () if where == "missing" else (*boxes.files, *masks.files))
    return NO_WEIGHTS
