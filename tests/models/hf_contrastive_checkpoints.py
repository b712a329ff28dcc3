"""Tiny contrastive checkpoints of transformers with random weights."""

import string
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from hf_checkpoints import SIZE, VISION, tokenizer
from tokenizers.processors import TemplateProcessing

LENGTH = 24  # tokens of a text
TEXT = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": LENGTH,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": 2,
}


def words() -> Any:
    """Return a tokenizer that ends each text, and tells upper case from lower case."""
    tokens = tokenizer()
    tokens._tokenizer.post_processor = TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return tokens


def clip() -> tuple[Any, Any]:
    tokens = words()
    config = hf.CLIPConfig(
        text_config=TEXT | {"vocab_size": len(tokens)}, vision_config=VISION, projection_dim=16
    )
    images = hf.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=SIZE)
    return hf.CLIPModel(config), hf.CLIPProcessor(images, tokens)


def siglip() -> tuple[Any, Any]:
    tokens = words()
    config = hf.SiglipConfig(
        text_config=TEXT | {"vocab_size": len(tokens), "projection_size": 32}, vision_config=VISION
    )
    images = hf.SiglipImageProcessor(size=SIZE)
    return hf.SiglipModel(config), hf.SiglipProcessor(images, tokens)


def siglip2() -> tuple[Any, Any]:
    """Its own tokenizer lowers text; that of the published checkpoints of type siglip does not."""
    special = ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>")
    letters = (*special, *"▁,.", *string.ascii_letters)
    tokens = hf.Siglip2Tokenizer(vocab={letter: i for i, letter in enumerate(letters)})
    vision = {k: v for k, v in VISION.items() if k != "image_size"}
    vision |= {"num_patches": 16, "patch_size": 16}  # its processor overrides any other
    config = hf.Siglip2Config(
        text_config=TEXT | {"vocab_size": len(tokens), "projection_size": 32}, vision_config=vision
    )
    images = hf.Siglip2ImageProcessor()
    return hf.Siglip2Model(config), hf.Siglip2Processor(images, tokens)


FAMILIES = {"clip": clip, "siglip": siglip, "siglip2": siglip2}


def save(family: str, folder: Path) -> Path:
    """Write a checkpoint whose embeddings are far from each other, so that a mistake shows."""
    torch.manual_seed(0)
    model, processor = FAMILIES[family]()
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "embedding" in name:
                value.copy_(torch.randn_like(value))
        model.logit_scale.fill_(2.0)
        if hasattr(model, "logit_bias"):
            model.logit_bias.fill_(-3.0)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
