"""A language model of transformers as the writer of contextual captions.

One with a chat template is asked; one without continues worked examples up to the end of a line.
"""

from collections.abc import Sequence
from typing import Any

import torch
import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

from bindbench.captions.prompts import chat_messages, completion_prompt
from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.models.base import Written
from bindbench.models.halving import Halving
from bindbench.models.hf_generative import attention_of
from bindbench.models.hf_loading import Checkpoint
from bindbench.models.hf_names import HfSource, first_line
from bindbench.models.hf_options import HfOptions, HfWriterOptions
from bindbench.models.hf_sampling import Sampler, Sampling, end_tokens
from bindbench.models.hf_text_names import put_together
from bindbench.vocabulary import Lexicon

REMEDY = "set dtype to bfloat16, quantisation to 8bit or 4bit, or device to auto"
LOADED = ("dtype", "device", "trust_remote_code", "quantisation")  # options of loading


def load_writer(source: HfSource, options: HfWriterOptions, lexicon: Lexicon) -> "HfWriter":
    """Return a model as a writer.

    Raises:
        UserError: the checkpoint lacks a part or is damaged, or it does not fit.
    """
    put_together(source)
    given = options.model_dump(include={*LOADED})
    return HfWriter(Checkpoint(source, HfOptions(**given)), options, lexicon)


class HfWriter:
    """Writes captions by sampling.

    Args:
        checkpoint: of the model.
        options: how it samples.
        lexicon: knows the concepts' words.
    """

    def __init__(self, checkpoint: Checkpoint, options: HfWriterOptions, lexicon: Lexicon) -> None:
        self._name, self._options, self._lexicon = checkpoint.source.name, options, lexicon
        self._tokenizer = checkpoint.tokenizer()
        self._chats = bool(self._tokenizer.chat_template)
        model = _load(checkpoint, options)
        self._stops = end_tokens(model, self._tokenizer)
        padding = self._tokenizer.pad_token_id
        sampling = Sampling(options.temperature, options.top_p, options.max_new_tokens)
        self._sampler = Sampler(model, sampling, self._ends, 0 if padding is None else padding)
        self._halving = Halving(self._name, REMEDY)

    def write(self, concepts: Sequence[Concept], seeds: Sequence[int]) -> list[Written]:
        """Return one caption for each concept; each depends on its own concept and seed.

        Raises:
            UserError: memory runs out for a single caption, or the chat template fails.
        """
        pairs = list(zip(concepts, seeds, strict=True))
        return self._halving.map(self._write, pairs, len(pairs))

    def _write(self, pairs: Sequence[tuple[Concept, int]]) -> list[Written]:
        prompts = [self._tokens(self.prompt(concept)) for concept, _ in pairs]
        found = self._sampler.texts(prompts, [seed for _, seed in pairs])
        return [
            Written(self._text(tokens), "" if ended else "unfinished") for tokens, ended in found
        ]

    def prompt(self, concept: Concept) -> str:
        """Return what the model reads, with its special tokens.

        Raises:
            UserError: the chat template can't write it.
        """
        if not self._chats:
            return completion_prompt(concept, self._lexicon)
        messages = chat_messages(concept, self._lexicon, self._options.system_role)
        wanted = messages[-1]["content"]
        reason = ""
        for form in (messages, [{**m, "content": _parts(m["content"])} for m in messages]):
            try:
                # Templates of models that think first leave an empty thought, or ignore the word.
                text = self._tokenizer.apply_chat_template(
                    form, tokenize=False, add_generation_prompt=True, enable_thinking=False
                )
            except Exception as error:  # a template is a program
                reason = reason or first_line(error)
                continue
            if wanted in text:
                return text
        raise UserError(
            f"{self._name}: its chat template can't write the prompt "
            f"({reason or 'it leaves the text out'}): set the option system_role to false if it "
            "knows no system message, or check the template."
        )

    def _tokens(self, text: str) -> list[int]:
        # A chat template writes its special tokens itself.
        return self._tokenizer(text, add_special_tokens=not self._chats)["input_ids"]

    def _ends(self, token: int) -> bool:
        return token in self._stops or (not self._chats and "\n" in self._decode([token]))

    def _text(self, tokens: list[int]) -> str:
        text = self._decode([token for token in tokens if token not in self._stops])
        return text if self._chats else text.partition("\n")[0]

    def _decode(self, tokens: list[int]) -> str:
        return self._tokenizer.decode(tokens, skip_special_tokens=True)


def _load(checkpoint: Checkpoint, options: HfWriterOptions) -> Any:
    config = checkpoint.config()
    sees = config.model_type in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    return checkpoint.model(
        transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM,
        getattr(torch, options.dtype),
        config=config,
        attn_implementation=attention_of(config, "auto"),
        **checkpoint.placement(options.dtype, options.device, options.quantisation),
    )


def _parts(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]
