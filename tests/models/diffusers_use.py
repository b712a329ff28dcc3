"""What the tests of pipelines share: requests, the plain use, and what a part of one is given."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from diffusers import DiffusionPipeline
from diffusers_pipelines import SIDE

from bindbench.concepts import Concept
from bindbench.models import registry
from bindbench.models.base import ImageRequest
from bindbench.models.diffusers_generator import DiffusersGenerator
from bindbench.suite import RoleSettings, VocabularySources

OPTIONS: dict[str, Any] = {"steps": 2, "guidance": 4.5, "width": SIDE, "height": SIDE}
PIXART = {"use_resolution_binning": False, "clean_caption": False}
TEXTS = ("a red cup and a chair", "a lamp", "the blue table is above a cup", "a lamp", "a cup")


def options_of(family: str, **more: Any) -> dict[str, Any]:
    arguments = PIXART if family == "pixart" else {}
    return OPTIONS | {"arguments": arguments} | more


def requests(texts: tuple[str, ...] = TEXTS) -> list[ImageRequest]:
    concept = Concept("color", ("cup", "chair"), ("red", "blue"))
    return [ImageRequest(concept, text, "minimal", 10 + i) for i, text in enumerate(texts)]


def load(folder: Path, **options: Any) -> DiffusersGenerator:
    settings = RoleSettings(model=f"diffusers:{folder}", options=options)
    return registry.load("generator", settings, VocabularySources())


class PlainUse:
    """A pipeline as a reader of its documentation would use it, one image at a time."""

    def __init__(self, folder: Path, **parts: Any) -> None:
        self.pipeline: Any = DiffusionPipeline.from_pretrained(folder, **parts)
        self.pipeline.set_progress_bar_config(disable=True)

    def draw(self, text: str, seed: int, **arguments: Any) -> np.ndarray:
        given = {"num_inference_steps": 2, "guidance_scale": 4.5, "width": SIDE, "height": SIDE}
        generator = torch.Generator().manual_seed(seed)
        return np.asarray(
            self.pipeline(text, generator=generator, **given | arguments).images[0], np.int16
        )


def distance(first: np.ndarray, second: np.ndarray) -> int:
    assert first.shape == second.shape
    return int(np.abs(first.astype(np.int16) - second.astype(np.int16)).max())


@contextmanager
def watch(module: torch.nn.Module) -> Iterator[list[int]]:
    """Collect the length of each batch that a part of a pipeline gets."""
    seen: list[int] = []

    def note(_, args, named):
        seen.append(len(args[0] if args else next(iter(named.values()))))

    handle = module.register_forward_pre_hook(note, with_kwargs=True)
    yield seen
    handle.remove()


@contextmanager
def memory_for(module: torch.nn.Module, most: int) -> Iterator[list[int]]:
    """Let memory run out for larger batches, and collect those that were tried."""
    tried: list[int] = []

    def check(_, args, named):
        tried.append(len(args[0] if args else named["hidden_states"]))
        if tried[-1] > most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    handle = module.register_forward_pre_hook(check, with_kwargs=True)
    yield tried
    handle.remove()


def pipeline_of(generator: DiffusersGenerator, index: int = 0) -> Any:
    return generator._drawers[index].pipeline
