"""SAM 2: the pixels of the object in a box.

Checkpoints are read as tensors alone (torch's ``weights_only``), and a configuration may build
nothing but the classes that the package's own configurations build, so that neither can run code.
"""

import functools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sam2
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf
from sam2.sam2_image_predictor import SAM2ImagePredictor

from bindbench.errors import UserError
from bindbench.models.base import Image
from bindbench.models.halving import Halving
from bindbench.models.hf_names import first_line
from bindbench.models.sam2_names import Sam2Source, checkpoint_of
from bindbench.scoring.likelihood import is_out_of_memory

CONFIGS = Path(sam2.__path__[0]) / "configs"
STRIDES = (4, 8, 16)  # of the feature maps that the mask decoder reads
# As the package itself loads it: where the one mask of a box is unstable, the best of three.
STABLE_MASKS = {
    "dynamic_multimask_via_stability": True,
    "dynamic_multimask_stability_delta": 0.05,
    "dynamic_multimask_stability_thresh": 0.98,
}
REMEDY = "use smaller images, dtype bfloat16, or a smaller segmenter such as sam2.1-hiera-tiny"


def load_sam2(source: Sam2Source, device: str, dtype: str) -> "Sam2Masks":
    """Return a model.

    Raises:
        UserError: the checkpoint or its configuration is damaged, they don't fit each other, or
            they don't fit into memory.
    """
    model = _build(source)
    _fill(model, source)
    try:
        model = model.to(device).eval()
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise UserError(
            f"{source.name}: the model does not fit into the memory of {device}: give a smaller "
            "one such as facebook/sam2.1-hiera-tiny, or another device."
        ) from error
    return Sam2Masks(model, source.name, device, dtype)


class Sam2Masks:
    """Finds the mask of each box."""

    def __init__(self, model: Any, name: str, device: str, dtype: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that its image transforms are compiled by torch.jit
            self._predictor = SAM2ImagePredictor(model)
        # The predictor writes down the sizes of 1024 pixels only.
        self._predictor._bb_feat_sizes = [(model.image_size // s,) * 2 for s in STRIDES]
        self._device, self._dtype = torch.device(device).type, getattr(torch, dtype)
        self._halving = Halving(name, REMEDY)

    def masks(self, images: Sequence[Image], boxes: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return for each image the masks of its boxes, bool (boxes, height, width).

        Args:
            images: RGB, uint8 (height, width, 3), of any sizes.
            boxes: float (n, 4) of each image in pixels, n from 1 up.

        Raises:
            UserError: memory runs out for a single image.
        """
        return self._halving.map(self._masks, list(zip(images, boxes, strict=True)), len(images))

    def _masks(self, items: Sequence[tuple[Image, np.ndarray]]) -> list[np.ndarray]:
        half = self._dtype != torch.float32
        with torch.inference_mode(), torch.autocast(self._device, self._dtype, enabled=half):
            # Copies, since decoded images can't be written, of which torch warns.
            self._predictor.set_image_batch([image.copy() for image, _ in items])
            found, _, _ = self._predictor.predict_batch(
                box_batch=[boxes for _, boxes in items], multimask_output=False
            )
            self._predictor.reset_predictor()
        shapes = [image.shape[:2] for image, _ in items]
        return [masks.reshape(-1, *shape) > 0.5 for masks, shape in zip(found, shapes, strict=True)]


def _build(source: Sam2Source) -> Any:
    """Return the model that a configuration describes, with random weights."""
    config = _read_config(source)
    decoder = config.get("sam_mask_decoder_extra_args") or {}
    config["sam_mask_decoder_extra_args"] = {**decoder, **STABLE_MASKS}
    try:
        return instantiate(OmegaConf.create(config), _recursive_=True)
    except Exception as error:  # each class has errors of its own
        cause = error.__cause__ or error
        raise UserError(
            f"{source.name}: no model can be built from {source.config} ({first_line(cause)}): "
            "give the file that the checkpoint was made with."
        ) from error


def _read_config(source: Sam2Source) -> dict[str, Any]:
    """Return the part ``model`` of a configuration, if it names nothing but SAM 2's classes."""
    config = _parse(source.config)
    if not isinstance(config, dict) or not isinstance(config.get("model"), dict):
        raise UserError(
            f"{source.name}: {source.config} is no YAML file with the field model: give one like "
            "those of the package sam2."
        )
    for target in _targets(config["model"]):
        if target not in _classes():
            raise UserError(
                f"{source.name}: {source.config} names {target}, which is none of SAM 2's own "
                "classes and is not loaded: give a file like those of the package sam2."
            )
    return config["model"]


def _parse(path: Path) -> Any:
    try:
        return OmegaConf.to_container(OmegaConf.load(path), resolve=True)
    except Exception:  # of YAML, of OmegaConf, of the encoding
        return None


def _targets(node: Any) -> Iterator[str]:
    """Yield what a configuration would build."""
    if isinstance(node, Mapping):
        if "_target_" in node:
            yield str(node["_target_"])
        for value in node.values():
            yield from _targets(value)
    elif isinstance(node, list):
        for value in node:
            yield from _targets(value)


@functools.cache
def _classes() -> frozenset[str]:
    """Return what the package's own configurations build."""
    files = [file for folder in ("sam2", "sam2.1") for file in (CONFIGS / folder).glob("*.yaml")]
    return frozenset(target for file in files for target in _targets(_parse(file)))


def _fill(model: torch.nn.Module, source: Sam2Source) -> None:
    """Put a checkpoint's weights into a model; all of them, and no others."""
    file = checkpoint_of(source)
    weights = _read_weights(source, file)
    own = model.state_dict()
    lacking, unknown = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
    differ = [k for k in sorted(own.keys() & weights.keys()) if own[k].shape != weights[k].shape]
    for names, problem in (
        (lacking, "lacks {} of its weights, {} first"),
        (unknown, "has {} weights that it does not know, {} first"),
        (differ, "has {} weights of another size, {} first"),
    ):
        if names:
            raise UserError(
                f"{source.name}: for the model of {source.config.name} the checkpoint {file} "
                f"{problem.format(len(names), names[0])}: let segmenter_config name the file that "
                "it was made with."
            )
    model.load_state_dict(weights)


def _read_weights(source: Sam2Source, file: Path) -> dict[str, torch.Tensor]:
    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # of pickle, of zip files, of the disk
        raise UserError(
            f"{source.name}: {file} is damaged, or holds more than tensors, which is not loaded: "
            "download it again, or give a checkpoint as the package sam2 publishes them."
        ) from error
    weights = content.get("model") if isinstance(content, dict) else None
    if not isinstance(weights, dict) or not all(torch.is_tensor(v) for v in weights.values()):
        raise UserError(
            f"{source.name}: {file} holds no weights under the name model: give a checkpoint as "
            "the package sam2 publishes them."
        )
    return weights
