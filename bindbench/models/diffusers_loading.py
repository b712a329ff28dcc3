"""Loading pipelines of diffusers onto their devices; what goes wrong becomes one sentence."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import diffusers
import torch
import transformers
from diffusers.pipelines.pipeline_utils import DiffusionPipeline
from diffusers.quantizers.pipe_quant_config import PipelineQuantizationConfig

from bindbench.accelerators import is_here
from bindbench.errors import UserError
from bindbench.models.diffusers_names import DiffusersSource
from bindbench.models.diffusers_options import DiffusersOptions
from bindbench.models.hf_names import first_line, hub_error
from bindbench.scoring.likelihood import is_out_of_memory

LIBRARIES: tuple[Any, ...] = (diffusers, transformers)
RANDOM = "newly initialized"  # what both say of weights that they did not find


def load_pipelines(source: DiffusersSource, options: DiffusersOptions) -> list[Any]:
    """Return a pipeline for each device, ready to draw.

    Raises:
        UserError: a device is not here, or a part is lacking, damaged, of another architecture
            than the configuration says, or too large.
    """
    devices = options.devices or [options.device]
    for device in devices:
        if device != "auto" and not is_here(device):
            raise UserError(
                f"{source.name}: device {device!r} can't be used here: give cpu, or a device that "
                "torch finds."
            )
    if options.device == "auto" and not torch.accelerator.is_available():
        raise UserError(
            f"{source.name}: device auto spreads a model over accelerators, and there is none "
            "here: give cpu."
        )
    return [_place(source, _loaded(source, options, d), options, d) for d in devices]


def _loaded(source: DiffusersSource, options: DiffusersOptions, device: str) -> Any:
    how: dict[str, Any] = {"device_map": "balanced"} if device == "auto" else {}
    if "safety_checker" in source.parts:  # it would put black in the place of some images
        how |= {"safety_checker": None, "requires_safety_checker": False}
    if options.quantisation:
        how["quantization_config"] = _quantisation(source, options)
    try:
        with _reports() as reports:
            pipeline = DiffusionPipeline.from_pretrained(
                source.place,
                revision=source.commit,
                dtype=getattr(torch, source.dtype),
                use_safetensors=True,
                variant=options.variant or None,
                **how,
            )
    except Exception as error:  # each part, format and library has errors of its own
        raise _not_loaded(source, device, error) from error
    if reports:  # of these the libraries only warn, and draw random numbers in their place
        raise UserError(
            f"{source.name}: the checkpoint {source.place} lacks weights ({reports[0]}): it is "
            "incomplete, or of another architecture than its configuration says."
        )
    return pipeline


def _place(source: DiffusersSource, pipeline: Any, options: DiffusersOptions, device: str) -> Any:
    """Bring a pipeline to its device, and set how it decodes and computes."""
    pipeline.set_progress_bar_config(disable=True)
    vae: Any = getattr(pipeline, "vae", None)
    if options.vae_slicing and hasattr(vae, "enable_slicing"):
        vae.enable_slicing()  # a batch's images are decoded one by one: no peak at its end
    if options.vae_tiling:
        if not hasattr(vae, "enable_tiling"):
            raise UserError(
                f"{source.name}: the VAE of a {source.pipeline} knows no tiles: leave out the "
                "option vae_tiling."
            )
        vae.enable_tiling()
    try:
        if options.cpu_offload == "model":
            pipeline.enable_model_cpu_offload(device=device)
        elif options.cpu_offload == "sequential":
            pipeline.enable_sequential_cpu_offload(device=device)
        elif device != "auto":
            pipeline.to(device)
    except (RuntimeError, ValueError) as error:
        raise _not_loaded(source, device, error) from error
    if options.compile:
        denoiser(pipeline).compile()
    return pipeline


def denoiser(pipeline: Any) -> Any:
    """Return the part that runs in each step."""
    names = ("transformer", "unet", "prior", "decoder")
    return next(getattr(pipeline, name) for name in names if getattr(pipeline, name, None))


def _quantisation(source: DiffusersSource, options: DiffusersOptions) -> Any:
    """Return how the large parts are quantised: what runs in each step, and all but CLIP's texts.

    The VAE stays as it is, since its errors would be seen, and CLIP, since it is small.
    """
    large = [
        name
        for name, kind in source.parts.items()
        if name.startswith(("transformer", "unet"))
        or (name.startswith("text_encoder") and not kind.startswith("CLIP"))
    ]
    how: dict[str, Any] = {f"load_in_{options.quantisation}": True}
    if options.quantisation == "4bit":
        how |= {
            "bnb_4bit_quant_type": "nf4",
            "bnb_4bit_compute_dtype": getattr(torch, source.dtype),
        }
    return PipelineQuantizationConfig(
        quant_backend=f"bitsandbytes_{options.quantisation}",
        quant_kwargs=how,
        components_to_quantize=large,
    )


def _not_loaded(source: DiffusersSource, device: str, error: Exception) -> UserError:
    if is_out_of_memory(error):
        return UserError(
            f"{source.name}: the pipeline does not fit into the memory of {device} in "
            f"{source.dtype}: set dtype to bfloat16, quantisation to 8bit or 4bit, cpu_offload to "
            "model, or device to auto."
        )
    return hub_error(source.name, error) or UserError(
        f"{source.name}: the pipeline in {source.place} can't be loaded ({first_line(error)}): "
        "complete the checkpoint, or install what it asks for."
    )


@contextmanager
def _reports() -> Iterator[list[str]]:
    """Collect what the libraries say of weights that they lack, and keep the rest to ourselves."""
    found: list[str] = []

    class Reader(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            text = record.getMessage()
            if RANDOM in text:
                found.append(_first_key(text))

    reader = Reader(logging.WARNING)
    for library in LIBRARIES:
        library.utils.logging.set_verbosity_warning()
        library.utils.logging.disable_default_handler()
        library.utils.logging.disable_progress_bar()
        library.utils.logging.add_handler(reader)
    try:
        yield found
    finally:
        for library in LIBRARIES:
            library.utils.logging.remove_handler(reader)
            library.utils.logging.enable_default_handler()
            library.utils.logging.set_verbosity_error()


def _first_key(report: str) -> str:
    """Return the first weight that a report names."""
    for line in report.splitlines():
        if "MISSING" in line and "|" in line:  # a table of transformers
            return line.partition("|")[0].strip()
    return report.rpartition("[")[2].partition("]")[0].partition(",")[0].strip("' ")
