"""open_clip's text encoding without the padding that the text tower can't see.

Captions fill a third of CLIP's 77 tokens. A tower with a causal mask that pools at the end token
never reads what stands behind it, so cutting it off changes nothing but the time.
"""

from typing import Any

import torch
from open_clip.transformer import TextTransformer
from torch import Tensor
from torch.func import functional_call


def text_features(model: Any, tokens: Tensor) -> Tensor:
    """Return what ``model.encode_text(tokens, normalize=True)`` does, in less time if possible.

    Args:
        model: of open_clip.
        tokens: int64 (B, context length).

    Returns:
        (B, D), of length 1 each; gradients flow as they do through the model.
    """
    prefix = _causal_prefix(model)
    if prefix is None:
        return model.encode_text(tokens, normalize=True)
    length = int(needed_lengths(model, tokens).max())
    position, mask = f"{prefix}positional_embedding", f"{prefix}attn_mask"
    tower = model.text if prefix else model
    short = {
        position: tower.positional_embedding[:length],
        mask: tower.attn_mask[:length, :length],
    }
    arguments = {"image": None, "text": tokens[:, :length]}
    found = functional_call(model, short, kwargs=arguments, tie_weights=False)
    return found["text_features"] if isinstance(found, dict) else found[1]


def needed_lengths(model: Any, tokens: Tensor) -> Tensor:
    """Return how many tokens of each row the text tower reads, int64 (B,)."""
    prefix = _causal_prefix(model)
    if prefix is None:
        return torch.full((len(tokens),), tokens.shape[1])
    pool, end = (
        (model.text.pool_type, model.text.eos_id)
        if prefix
        else (model.text_pool_type, model.text_eos_id)
    )
    if pool == "argmax":
        return tokens.argmax(dim=-1) + 1
    return (tokens == end).int().argmax(dim=-1) + 1


def _causal_prefix(model: Any) -> str | None:
    """Return where the state dict holds the text tower if padding can be cut off, else None."""
    if type(model).__name__ == "CLIP":
        causal, pool, prefix = model.attn_mask is not None, model.text_pool_type, ""
    elif type(model).__name__ == "CustomTextCLIP" and type(model.text) is TextTransformer:
        causal = model.text.attn_mask is not None and model.text.cls_emb is None
        pool, prefix = model.text.pool_type, "text."
    else:
        return None
    return prefix if causal and pool in ("argmax", "eos") else None
