"""Tiny language models of transformers, with a chat template and without, saved as a user's are."""

from pathlib import Path

import torch
import transformers as hf
from hf_checkpoints import IDS, TEXT, sharpen, tokenizer

# Of Llama's kind: a message is a string, and there is a system message.
CHAT = """\
{{ bos_token }}{% for message in messages %}<turn>{{ message.role }}
{{ message.content | trim }}<end>
{% endfor %}{% if add_generation_prompt %}<turn>assistant
{% endif %}"""
# Of Gemma 2's kind: there is none.
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('No system role') }}{% endif %}"
)


def save_text_model(
    folder: Path, template: str | None = CHAT, ends: list[int] | None = None, kind: str = "llama"
) -> Path:
    """Write a tiny model with random weights.

    Args:
        folder: to be written.
        template: of chats; None: it is a base model.
        ends: tokens that end a text, beside the tokenizer's own.
        kind: llama, or gpt2, which learned a vector for each position.
    """
    torch.manual_seed(0)
    tokens = tokenizer()
    tokens.chat_template = template
    if kind == "gpt2":
        sizes = {"n_positions": 2048, "n_embd": 48, "n_layer": 2, "n_head": 4}
        config = hf.GPT2Config(**sizes, **IDS, vocab_size=len(tokens), initializer_range=0.2)
        model = hf.GPT2LMHeadModel(config)
    else:
        model = hf.LlamaForCausalLM(hf.LlamaConfig(**TEXT, vocab_size=len(tokens)))
    sharpen(model)
    model.generation_config.eos_token_id = [1, *(ends or [])]
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder
