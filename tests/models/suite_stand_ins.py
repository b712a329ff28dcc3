"""The real suites with tiny models in the place of theirs, and outputs that are set by hand.

``stand_in_suite`` takes a suite's file and its profile as they are, and changes nothing but the
names of models, the machine (device, addresses) and sizes. Every model is loaded by the code that
loads the real one. Random models would accept nothing, so what they say is then replaced: by the
truth, but for a part that ``Truth.wrong`` chooses.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import detector_checkpoints
import hf_checkpoints
import hf_contrastive_checkpoints
import numpy as np
import pytest
import torch
from detector_checkpoints import save_detector, save_sam2
from diffusers_pipelines import SIDE, save_pipeline
from nano_folders import tiny_folder
from transformers.models.grounding_dino.modeling_grounding_dino import (
    GroundingDinoObjectDetectionOutput,
)

from bindbench.captions.minimal import write_minimal
from bindbench.concepts import Concept
from bindbench.models.base import Answer, GeneratedImage, Image, Question, Written
from bindbench.models.diffusers_generator import DiffusersGenerator
from bindbench.models.grounding_dino_boxes import BoxFinder
from bindbench.models.hf_judge import HfJudge
from bindbench.models.hf_writer import HfWriter
from bindbench.suite import merge, profile_fields, suite_fields
from bindbench.validation.labels import label_questions
from bindbench.vocabulary import Lexicon

SUITES = Path(__file__).parent.parent.parent / "suites"
FEW: dict[str, Any] = {"benchmarks": ["color-n2", "position-n2"], "concepts": 6}
SIZES = {"shard_size": 3}
# A part of a real name -> the family of its tiny checkpoint; the first that fits.
FAMILIES = {
    "gemma-3": "gemma3",
    "Qwen2.5-VL": "qwen2_5_vl",
    "Qwen3.5": "qwen3_5",
    "InternVL3": "internvl",
    "clip-vit": "clip",
    "siglip2": "siglip2",
    "siglip": "siglip",
    "stable-diffusion-3.5": "sd3",
    "FLUX": "flux",
    "grounding-dino": "grounding_dino",
}


class Checkpoints:
    """Tiny checkpoints, a folder for each real name, made when they are asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, name: str) -> Path:
        folder = self.root / name.replace("/", "--")
        if folder.exists():
            return folder
        if name.startswith("ViT-") or name.startswith("EVA"):
            folder.mkdir(parents=True)
            return tiny_folder(folder, "siglip" if "SigLIP" in name else "clip")
        kind = next(kind for part, kind in FAMILIES.items() if part in name)
        if kind in hf_checkpoints.FAMILIES:
            return hf_checkpoints.save_checkpoint(kind, folder)
        if kind in hf_contrastive_checkpoints.FAMILIES:
            return hf_contrastive_checkpoints.save(kind, folder)
        return (save_detector if kind == "grounding_dino" else save_pipeline)(kind, folder)

    def segmenter(self) -> dict[str, str]:
        folder = self.root / "sam2"
        names = folder / "tiny.pt", folder / "tiny.yaml"
        checkpoint, config = names if folder.exists() else save_sam2(folder)
        return {"segmenter": str(checkpoint), "segmenter_config": str(config)}


@contextmanager
def words_of(lexicon: Lexicon) -> Iterator[None]:
    """Let the tiny tokenizers know the words of the vocabularies, and captions of any length."""
    words = {w for n in (*lexicon.objects.names, *lexicon.shapes.names) for w in n.split()}
    known = set(detector_checkpoints.WORDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detector_checkpoints, "MORE_WORDS", tuple(sorted(words - known)))
        patch.setitem(detector_checkpoints.BERT, "vocab_size", 1100 + len(words))
        patch.setitem(hf_contrastive_checkpoints.TEXT, "max_position_embeddings", 256)
        yield


def stand_in_suite(
    file: Path,
    checkpoints: Checkpoints,
    server: str = "",
    fast: dict[str, Any] | None = None,
    few: dict[str, Any] = FEW,
) -> dict[str, Any]:
    """Return the fields of a suite file with tiny models.

    Args:
        file: of the suite.
        checkpoints: the tiny models.
        server: ``URL#model`` of a server, for models behind one.
        fast: options of how that is asked.
        few: the benchmarks and the number of concepts.
    """
    fields = suite_fields(file)
    profile = merge(profile_fields(fields["profile"]), fields["overrides"])

    def tiny(role: dict[str, Any]) -> dict[str, Any]:
        family, _, name = role["model"].partition(":")
        options = dict(role.get("options", {}))
        if family == "check":
            return role
        if family == "api":
            label = name.partition("@")[2]
            model = f"api:{server}" + (f"@{label}" if label else "")
            return role | {"model": model, "options": options | (fast or {})}
        options["device"] = "cpu"
        if family == "diffusers":
            options |= {"preset": name, "width": SIDE, "height": SIDE}
        if family == "grounding_dino":
            options |= checkpoints.segmenter()
        if role is profile["writer"]:
            options["max_new_tokens"] = 4
        return role | {"model": f"{family}:{checkpoints.folder(name)}", "options": options}

    roles = [
        r for r in ("writer", "generator", "detector", "judge", "second_judge") if r in profile
    ]
    over = {role: tiny(profile[role]) for role in roles}
    over["scorers"] = [tiny(scorer) for scorer in profile["scorers"]]
    return fields | few | {"overrides": fields["overrides"] | SIZES | over}


class Truth:
    """What the generated images are of, by their pixels."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self.concepts: dict[str, Concept] = {}

    def record(self, image: Image, concept: Concept) -> None:
        self.concepts[digest(image)] = concept

    def label(self, image: Image, question: str) -> str:
        """Return the right answer to a question about an image."""
        concept = self.concepts[digest(image)]
        asked = label_questions(concept, self.lexicon)
        (label,) = (w for q, w in zip(asked, concept.labels, strict=True) if q.text == question)
        return label

    @staticmethod
    def wrong(image: Image, part: int) -> bool:
        """Whether this is one of every ``part`` images, of which something is said wrongly."""
        return int(digest(image), 16) % part == 0


def digest(image: Image) -> str:
    return hashlib.sha256(np.ascontiguousarray(image).tobytes()).hexdigest()


def written(concept: Concept, lexicon: Lexicon) -> str:
    """Return a contextual caption of a concept that passes the check."""
    text = write_minimal(concept, lexicon).text.removesuffix(" on a white background.")
    room = "In a quiet room"
    if concept.task.axis == "attribute":
        return f"{room} there is {text}."
    return f"{room}, {text[0].lower()}{text[1:]}."


class Finds(torch.nn.Module):
    """Stands in for Grounding DINO's network: a box for each query, nothing in some images."""

    device = torch.device("cpu")

    def forward(self, input_ids, pixel_values, **inputs):
        logits = torch.full((len(input_ids), 1, 256), -torch.inf)
        boxes = torch.zeros(len(input_ids), 1, 4)
        for i, ids in enumerate(input_ids.tolist()):
            seen = int(hashlib.sha256(pixel_values[i].numpy().tobytes()).hexdigest(), 16)
            place = sum(ids) % 25
            boxes[i, 0] = torch.tensor([(place % 5 + 0.5) / 5, (place // 5 + 0.5) / 5, 0.15, 0.15])
            logits[i, 0, : len(ids)] = -4.0 if seen % 5 == 0 else 3.0
        return GroundingDinoObjectDetectionOutput(logits=logits, pred_boxes=boxes)


@contextmanager
def outputs_by_hand(truth: Truth) -> Iterator[None]:
    """Replace what the loaded models say, after they have computed what they would say."""
    with pytest.MonkeyPatch.context() as patch:
        _after(
            patch, BoxFinder, "__init__", lambda _, finder, *a: setattr(finder, "_model", Finds())
        )

        def captions(_: list[Written], writer: HfWriter, pairs: Any) -> list[Written]:
            return [
                Written("A caption of nothing." if seed % 4 == 0 else written(c, truth.lexicon))
                for c, seed in pairs
            ]

        def light(made: list[GeneratedImage], _: Any, requests: Any) -> list[GeneratedImage]:
            out = []
            for request, one in zip(requests, made, strict=True):
                dark = Truth.wrong(one.image, 3)
                image = (one.image // 8 + (60 if dark else 220)).astype(np.uint8)
                truth.record(image, request.concept)
                out.append(GeneratedImage(image))
            return out

        def answer(found: Answer, _: Any, image: Image, question: Question) -> Answer:
            assert found.option in question.options
            right = truth.label(image, question.text)
            false = next(option for option in question.options if option != right)
            said = false if Truth.wrong(image, 4) else right
            return Answer(said, tuple(float(option == said) for option in question.options))

        _after(patch, HfWriter, "_write", captions)
        _after(patch, DiffusersGenerator, "generate", light)
        _after(patch, HfJudge, "_answer", answer)
        yield


def _after(patch: pytest.MonkeyPatch, owner: type, name: str, change: Callable[..., Any]) -> None:
    """Give ``change`` the result and the arguments of a method, and its result to the caller."""
    method = getattr(owner, name)

    def changed(self: Any, *args: Any) -> Any:
        return change(method(self, *args), self, *args)

    patch.setattr(owner, name, changed)
