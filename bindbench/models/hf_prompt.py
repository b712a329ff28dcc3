"""The prompt before a caption, as a model's own processor and chat template write it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image as PILImage
from torch import Tensor

from bindbench.errors import UserError
from bindbench.models.base import Image
from bindbench.models.hf_names import first_line
from bindbench.scoring.caption_tokens import CaptionTokens, caption_tokens

SENTINEL = "bindbenchcaption"
TYPES = ("token_type_ids", "mm_token_type_ids")
COMPARED = 4  # tokens at the end of a prompt, by which two ways of writing it are told apart


@dataclass(frozen=True)
class Rendered:
    """A prompt as text, up to where the caption follows; spaces at its end are the caption's."""

    shown: str  # with the image's placeholder
    blind: str  # without
    complete: bool  # it holds all special tokens, and the tokenizer must add none


class PromptReader:
    """Writes the inputs of a model: those of an image and the prompt, and the captions' tokens.

    Args:
        name: the model's, for messages.
        processor: of transformers, with an image processor and a tokenizer.
        prompt: what the model is asked.

    Raises:
        UserError: the processor can't write the prompt, or it ends with something else.
    """

    def __init__(self, name: str, processor: Any, prompt: str) -> None:
        self._name, self._processor = name, processor
        self._tokenizer = processor.tokenizer
        rendered = _rendered(name, processor, prompt)
        self._shown, self._complete = rendered.shown.rstrip(" "), rendered.complete
        try:
            probe = self._process(np.full((224, 224, 3), 127, np.uint8))
        except Exception as error:  # each family's processor has its own
            raise UserError(
                f"{name}: its processor can't take an image and the prompt ({first_line(error)}): "
                "check the checkpoint's processor files and the option prompt."
            ) from error
        self._types = [key for key in TYPES if key in probe]
        ids = probe["input_ids"][0].tolist()
        ending = self._ending(ids)
        # PaliGemma's processor ends the prompt with a line break, behind which the caption begins.
        self._joint = self._shown + ending if ending else rendered.shown
        self._blind = rendered.blind.rstrip(" ") + ending
        # The special token at the beginning, where it is not in the text.
        first = self._tokenizer.bos_token_id
        self._first = [first] if not rendered.complete and first in ids else []
        # A prefix LM's processor takes the answer as suffix, and marks its tokens as another type.
        self.caption_type = 1 if _takes_suffix(processor) else 0

    def captions(self, texts: Sequence[str]) -> CaptionTokens:
        """Return the captions' tokens behind the prompt."""
        return caption_tokens(self._tokenize, self._joint, texts)

    def whole(self, image: Image) -> dict[str, Tensor]:
        """Return everything that the processor makes of an image and the prompt."""
        return self._process(image)

    def with_image(self, image: Image, captions: CaptionTokens) -> dict[str, Tensor]:
        """Return everything that the processor makes of an image and the prompt.

        What stands for a token ends where the captions begin.
        """
        inputs = self._process(image)
        ids = inputs["input_ids"]
        self._check_end(ids[0].tolist(), captions)
        keep = ids.shape[1] - captions.cut
        return {k: v[:, :keep] if v.shape == ids.shape else v for k, v in inputs.items()}

    def without_image(self, captions: CaptionTokens) -> dict[str, Tensor]:
        """Return the same prompt for a model that is shown no image."""
        (ids,) = self._tokenize([self._blind])
        if ids[:1] != self._first:
            ids = self._first + ids
        self._check_end(ids, captions)
        ids = ids[: len(ids) - captions.cut]
        if not ids:
            raise UserError(
                f"{self._name}: without the image nothing stands before the caption: set the "
                "option prompt, or image_free to false."
            )
        tokens = torch.tensor([ids])
        types = {key: torch.zeros_like(tokens) for key in self._types}
        return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), **types}

    def extended(self, inputs: Mapping[str, Tensor], caption: Sequence[int]) -> dict[str, Tensor]:
        """Return the inputs of one plain pass over image, prompt and caption."""
        fill = {"attention_mask": 1, "token_type_ids": self.caption_type}
        shape, out = inputs["input_ids"].shape, {}
        for key, value in inputs.items():
            if value.shape == shape:
                tail = torch.full((1, len(caption)), fill.get(key, 0), dtype=value.dtype)
                tail = torch.tensor([list(caption)]) if key == "input_ids" else tail
                value = torch.cat([value, tail], 1)
            out[key] = value
        return out

    def _process(self, image: Image) -> dict[str, Tensor]:
        special = {"add_special_tokens": False} if self._complete else {}
        inputs = self._processor(
            images=[PILImage.fromarray(image)],
            text=[self._shown],
            return_tensors="pt",
            **special,
        )
        # PaliGemma's processor also returns what a loss would be computed from.
        return {k: v for k, v in inputs.items() if isinstance(v, Tensor) and k != "labels"}

    def _tokenize(self, texts: list[str]) -> list[list[int]]:
        return self._tokenizer(texts, add_special_tokens=False)["input_ids"]

    def _ending(self, ids: list[int]) -> str:
        """Return what the processor added to the prompt's end."""
        # What stands before the end of the image is written differently by each processor.
        image = getattr(self._processor, "image_token", None) or "\0"
        text = self._shown.rpartition(image)[2]
        for ending in ("\n", ""):
            (tokens,) = self._tokenize([text + ending])
            if _same_end(ids, tokens, COMPARED) and (tokens or not ending):
                return ending
        raise UserError(
            f"{self._name}: its processor writes something else behind the prompt than the prompt, "
            "where no caption can follow: check the checkpoint's chat template."
        )

    def _check_end(self, ids: list[int], captions: CaptionTokens) -> None:
        """Raise a UserError if the tokens that captions begin within are not the prompt's."""
        if not _same_end(ids, captions.prompt, captions.cut + 1):
            raise UserError(
                f"{self._name}: its processor and its tokenizer read the end of the prompt "
                "differently: end the option prompt with a whole word."
            )


def _same_end(first: list[int], second: list[int], count: int) -> bool:
    count = min(count, len(first), len(second))
    return first[len(first) - count :] == second[len(second) - count :]


def _takes_suffix(processor: Any) -> bool:
    return "suffix" in inspect.signature(processor.__call__).parameters


def _rendered(name: str, processor: Any, prompt: str) -> Rendered:
    if getattr(processor, "chat_template", None):
        return _chat(name, processor, prompt)
    image = getattr(processor, "image_token", None)
    if not isinstance(image, str):
        raise UserError(
            f"{name}: its processor has neither a chat template nor an image token, so that there "
            "is no place for the image: add chat_template.jinja to the checkpoint."
        )
    gap = " " if prompt and not prompt[-1].isspace() else ""
    return Rendered(image + prompt + gap, prompt + gap, complete=False)


def _chat(name: str, processor: Any, prompt: str) -> Rendered:
    text = [{"type": "text", "text": prompt}] if prompt else []
    shown = [{"role": "user", "content": [{"type": "image"}, *text]}]
    blind = [{"role": "user", "content": text}]

    def render(messages: list[Any], generate: bool) -> str:
        # Templates of models that think first leave an empty thought, or ignore the word.
        return processor.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=generate, enable_thinking=False
        )

    try:
        start, alone = render(shown, True), render(blind, True)
    except Exception as error:  # a template is a program
        raise UserError(
            f"{name}: its chat template can't write the prompt ({first_line(error)}): check the "
            "template and the option prompt."
        ) from error
    gap = _gap(start, lambda answer: render([*shown, answer], False))
    # As transformers does: the tokenizer adds its special tokens unless the template wrote them.
    bos = processor.tokenizer.bos_token
    return Rendered(start + gap, alone + gap, complete=bool(bos) and start.startswith(bos))


def _gap(start: str, render: Callable[[dict[str, Any]], str]) -> str:
    """Return the white space that a template writes between where answers begin and an answer."""
    for content in ([{"type": "text", "text": SENTINEL}], SENTINEL):
        try:
            whole = render({"role": "assistant", "content": content})
        except Exception:  # it takes answers in the other form
            continue
        between = whole[len(start) :].partition(SENTINEL)[0]
        if whole.startswith(start) and between.isspace():
            return between
    return ""
