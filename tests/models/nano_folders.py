"""Tiny open_clip models with random weights, in folders of open_clip's own format."""

import json
from pathlib import Path

import open_clip
import torch
from safetensors.torch import save_file

from bindbench.training.nano_clip_text import save_tokenizer
from bindbench.training.validator_data import embedded_lexicon


def tiny_folder(folder: Path, kind: str, seed: int = 0) -> Path:
    """Write a model of 8 text layers: ``clip``, ``custom`` (timm trunk) or ``siglip`` (no mask)."""
    tokens = save_tokenizer(embedded_lexicon(), folder)
    vision = {"image_size": 32, "patch_size": 8, "width": 32, "layers": 2, "head_width": 16}
    if kind == "custom":
        vision = {"timm_model_name": "test_convnext", "timm_pool": "avg", "image_size": 32}
    text = {
        "context_length": 24,
        "vocab_size": tokens,
        "width": 32,
        "heads": 2,
        "layers": 8,
        "hf_tokenizer_name": "words",
        "pool_type": "eos",
        "eos_id": 2,
    }
    config = {"embed_dim": 16, "vision_cfg": vision, "text_cfg": text}
    if kind != "clip":
        config["custom_text"] = True
    if kind == "siglip":
        config |= {"init_logit_scale": 2.3, "init_logit_bias": -10}
        text |= {"no_causal_mask": True, "pool_type": "last", "proj_bias": True}
    preprocess = {"mean": [0.5] * 3, "std": [0.5] * 3, "resize_mode": "squash"}
    document = {"model_cfg": config, "preprocess_cfg": preprocess}
    (folder / "open_clip_config.json").write_text(json.dumps(document))
    torch.manual_seed(seed)
    model = open_clip.create_model(f"local-dir:{folder}", load_weights=False)
    with torch.no_grad():  # far from each other, so that a mistake shows
        for name, value in model.named_parameters():
            if "embedding" in name:
                value.copy_(torch.randn_like(value))
    tensors = {name: value.contiguous().clone() for name, value in model.state_dict().items()}
    save_file(tensors, folder / "open_clip_model.safetensors")
    return folder
