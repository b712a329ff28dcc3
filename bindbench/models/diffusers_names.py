"""What the name of a pipeline of diffusers means, found out before anything is loaded.

A name is a folder that ``save_pretrained`` wrote, or a repository of the Hugging Face hub, whose
revision (a branch, tag or commit; else main) is resolved to a commit once and loaded by it.
"""

import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bindbench.errors import UserError, unknown_name
from bindbench.models.availability import Weights, in_hub_cache
from bindbench.models.diffusers_options import KNOWN, DiffusersOptions, Dtype, Published
from bindbench.models.file_digest import tree_digest
from bindbench.models.hf_names import find_file

INDEX = "model_index.json"
# What a pipeline is asked for beside or instead of a text, if it makes no images from texts alone.
OTHER_INPUTS = ("image", "images", "input_images", "control_image", "mask_image", "init_image")
OTHER_OUTPUTS = ("num_frames", "video", "audio_length_in_s", "audio_end_in_s", "frame_size")
OWN = {  # arguments of a pipeline's call -> the options that set them
    "num_inference_steps": "steps",
    "guidance_scale": "guidance",
    "width": "width",
    "height": "height",
    "negative_prompt": "negative_prompt",
}
FIXED = ("prompt", "generator", "output_type", "num_images_per_prompt", "return_dict")


@dataclass(frozen=True)
class DiffusersSource:
    """A pipeline in the terms of ``from_pretrained``, and how it is called."""

    name: str  # for messages
    place: str  # a folder, or a repository of the hub
    commit: str | None  # of a repository
    pipeline: str  # its class
    parts: Mapping[str, str]  # the class of each of its parts
    dtype: Dtype
    call: Mapping[str, Any]  # the arguments that every image shares


def find_source(name: str, revision: str, options: DiffusersOptions) -> DiffusersSource:
    """Return what a name stands for; of the hub, the index of parts is fetched if it is not here.

    Raises:
        UserError: there is no such model, it can't be had, it makes no images from texts, or the
            options don't fit it.
    """
    spelled = f"diffusers:{name}" + (f"@{revision}" if revision else "")
    place, commit, file = find_file(spelled, name, revision, INDEX, "diffusers")
    index = _read_index(spelled, file)
    pipeline = pipeline_class(spelled, index["_class_name"])
    _check_devices(spelled, options)
    known = _published(name, options)
    return DiffusersSource(
        spelled,
        place,
        commit,
        pipeline.__name__,
        {key: str(value[1]) for key, value in index.items() if _is_part(value)},
        options.dtype or (known.dtype if known else "float32"),
        _call(spelled, pipeline, known, options),
    )


def identity_of(source: DiffusersSource) -> dict[str, str]:
    """Return what determines a model's images beyond its name and options.

    That is the hash of its files or its commit, and what the options leave to others.
    """
    files = {} if source.commit is not None else {"files": tree_digest(Path(source.place))}
    commit = {"commit": source.commit} if source.commit is not None else {}
    call = json.dumps(dict(source.call), sort_keys=True)
    return files | commit | {"call": call, "dtype": source.dtype, "safety_checker": "off"}


def weights_of(name: str, revision: str, options: DiffusersOptions) -> Weights:
    """Return where a pipeline's weights are on this machine; the network is not asked."""
    folder = Path(name).expanduser()
    where = "local"
    if not folder.exists():
        cached = in_hub_cache(name, revision, (INDEX,))
        if cached.where == "missing":
            return cached
        folder, where = Path(cached.place), "cached"
    files: list[Path] = []
    for config in sorted(folder.glob("*/config.json")):  # a model's; other parts call theirs others
        found = _weight_files(config.parent, options.variant)
        if not found and config.parent.name != "safety_checker":
            return Weights("missing", str(config.parent))
        files += found
    return Weights(where, str(folder), tuple(files)) if files else Weights("missing", str(folder))


def _weight_files(folder: Path, variant: str) -> list[Path]:
    """Return the files of a part's weights, none if one of several is lacking.

    A part that does not come in the variant is loaded without it.
    """
    named = [(re.fullmatch(_FILE, path.name), path) for path in sorted(folder.iterdir())]
    by_variant: dict[str, list[tuple[int, Path]]] = {}
    for match, path in named:
        if match:
            by_variant.setdefault(match["variant"] or "", []).append((int(match["of"] or 1), path))
    found = by_variant.get(variant) or by_variant.get("") or []
    return [path for _, path in found] if found and len(found) == found[0][0] else []


_FILE = r"[\w-]+?(\.(?P<variant>[A-Za-z]\w*))?(-\d{5}-of-(?P<of>\d{5}))?\.safetensors"


def _is_part(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and value[1] is not None


def _read_index(spelled: str, file: Path) -> dict[str, Any]:
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        index = None
    if not isinstance(index, dict) or "_class_name" not in index:
        raise UserError(
            f"{spelled}: {file} is no JSON object with the field _class_name: restore the file."
        )
    if not isinstance(index["_class_name"], str):
        raise UserError(
            f"{spelled}: this pipeline needs the code in its repository, which is not run: give "
            "one whose class is part of diffusers."
        )
    return index


def pipeline_class(spelled: str, name: str) -> Any:
    """Return a class of diffusers that makes images from texts.

    Raises:
        UserError: this version of diffusers has no such class, or it makes something else.
    """
    import diffusers
    from diffusers.pipelines.pipeline_utils import DiffusionPipeline

    made = getattr(diffusers, name, None)
    if not isinstance(made, type) or not issubclass(made, DiffusionPipeline):
        raise UserError(
            f"{spelled}: diffusers {diffusers.__version__} has no pipeline {name}: install the "
            "version that its model_index.json names, or give another model."
        )
    parameters = inspect.signature(made.__call__).parameters
    asked = [name for name in OTHER_INPUTS if name in parameters]
    if (
        not {"prompt", "generator"} <= parameters.keys()
        or any(name in parameters for name in OTHER_OUTPUTS)
        or (asked and not _is_listed(made))
    ):
        raise UserError(
            f"{spelled}: a {name} makes no images from texts alone: give a text-to-image pipeline "
            "such as stabilityai/stable-diffusion-3.5-large."
        )
    return made


def _is_listed(made: type) -> bool:
    """Whether diffusers counts a class that may be given images among those that need none."""
    from diffusers.pipelines.auto_pipeline import AUTO_TEXT2IMAGE_PIPELINES_MAPPING

    listed = made in AUTO_TEXT2IMAGE_PIPELINES_MAPPING.values()
    return listed and "Control" not in made.__name__


def _published(name: str, options: DiffusersOptions) -> Published | None:
    if options.preset and options.preset not in KNOWN:
        raise unknown_name("preset", options.preset, KNOWN)
    return KNOWN.get(options.preset or name)


def _call(
    spelled: str, pipeline: Any, known: Published | None, options: DiffusersOptions
) -> dict[str, Any]:
    """Return the arguments that every image shares: published, overridden by the options."""
    parameters = inspect.signature(pipeline.__call__).parameters
    call: dict[str, Any] = {
        name: parameters[name].default
        for name in ("num_inference_steps", "guidance_scale")
        if name in parameters
    }
    if known:
        call |= {
            "num_inference_steps": known.steps,
            "guidance_scale": known.guidance,
            "width": known.side,
            "height": known.side,
            **known.arguments,
        }
    call |= {name: value for name, value in _given(spelled, options).items() if value is not None}
    for name in call:
        if name not in parameters:
            option = OWN.get(name, f"arguments: {name}")
            raise UserError(
                f"{spelled}: a {pipeline.__name__} takes no {name}: leave out the option {option}."
            )
    if call.get("negative_prompt"):
        _check_guided(spelled, call, parameters)
    return {name: value for name, value in call.items() if value is not None}


def _given(spelled: str, options: DiffusersOptions) -> dict[str, Any]:
    """Return what the options say of the call; None where they say nothing."""
    for name in options.arguments:
        if name in OWN or name in FIXED:
            right = f"use the option {OWN[name]}" if name in OWN else "it can't be changed"
            raise UserError(
                f"{spelled}: {name} does not belong into the option arguments: {right}."
            )
    own = {name: getattr(options, option) for name, option in OWN.items()}
    return own | {"negative_prompt": options.negative_prompt or None} | options.arguments


def _check_guided(spelled: str, call: dict[str, Any], parameters: Mapping[str, Any]) -> None:
    """Refuse a negative prompt that would change nothing."""
    true_guidance = "true_cfg_scale" in parameters
    name = "true_cfg_scale" if true_guidance else "guidance_scale"
    scale = call.get(name, parameters[name].default if name in parameters else None)
    if scale is not None and scale <= 1:
        option = "arguments: {true_cfg_scale: ...}" if true_guidance else "guidance"
        raise UserError(
            f"{spelled}: negative_prompt changes nothing where {name} is {scale}: set {option} "
            "above 1, or leave it out."
        )


def _check_devices(spelled: str, options: DiffusersOptions) -> None:
    """Refuse options of devices that exclude each other, and quantisation without its package."""
    if "auto" in options.devices:
        raise UserError(f"{spelled}: devices holds auto: name devices such as cuda:0 and cuda:1.")
    if options.quantisation and options.device == "cpu":
        raise UserError(
            f"{spelled}: quantisation {options.quantisation} needs a GPU, and device is cpu: name "
            "one such as cuda, or leave the option out."
        )
    if options.cpu_offload and options.device in ("cpu", "auto"):
        raise UserError(
            f"{spelled}: cpu_offload {options.cpu_offload} needs an accelerator, and device is "
            f"{options.device}: name one such as cuda, or leave the option out."
        )
    if options.quantisation and find_spec("bitsandbytes") is None:
        raise UserError(
            f"{spelled}: the option quantisation needs the package bitsandbytes and a GPU: "
            "install it (pip install bitsandbytes), or leave the option out."
        )
