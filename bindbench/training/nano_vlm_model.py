"""nano:vlm as transformers builds, saves and loads it: FastVLM with a small timm trunk."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import (
    CLIPImageProcessor,
    FastVlmConfig,
    FastVlmForConditionalGeneration,
    GenerationConfig,
    LlavaProcessor,
)

from bindbench.training.nano_clip_model import MEAN, STD
from bindbench.training.nano_vlm_packing import ATTENTION, Packed
from bindbench.training.nano_vlm_text import BOS, EOS, IMAGE, PAD, new_tokenizer
from bindbench.vocabulary import Lexicon

SIZE, CELL = 128, 16  # sides of the images and of what one image token stands for, in pixels
CELLS = SIZE // CELL
IMAGE_TOKENS = CELLS**2
CHANNELS = (32, 64, 128, 192)  # of the trunk's stages
LONGEST = 256  # positions
WEIGHTS_FILE = "model.safetensors"


@dataclass(frozen=True)
class Shape:
    """The size of a model."""

    width: int = 128  # of the decoder
    layers: int = 4
    heads: int = 4
    trunk: tuple[int, int, int, int] = (1, 2, 2, 1)  # blocks of the trunk's stages


def config_of(shape: Shape, words: int) -> FastVlmConfig:
    """Return the architecture for a vocabulary of ``words`` tokens."""
    vision = {
        "model_type": "timm_wrapper",
        "architecture": "resnet18",
        "do_pooling": False,
        "hidden_size": CHANNELS[-1],
        "num_labels": 0,
        "model_args": {
            "layers": list(shape.trunk),
            "channels": list(CHANNELS),
            "stem_width": 16,
            "output_stride": CELL,
        },
    }
    text = {
        "model_type": "llama",
        "hidden_size": shape.width,
        "intermediate_size": 2 * shape.width,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "vocab_size": words,
        "max_position_embeddings": LONGEST,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
        "tie_word_embeddings": True,
    }
    return FastVlmConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=IMAGE,
        image_seq_length=IMAGE_TOKENS,
        tie_word_embeddings=True,
    )


def new_model(shape: Shape, words: int) -> Any:
    """Return a model with random weights, from torch's seed."""
    model = FastVlmForConditionalGeneration(config_of(shape, words))
    model.model.vision_tower.to(memory_format=torch.channels_last)
    return model


def features_of(model: Any, images: Tensor) -> Tensor:
    """Return the trunk's features of images (B, 3, SIZE, SIZE) as (B, IMAGE_TOKENS, D)."""
    found = model.model.vision_tower(images, return_dict=True).last_hidden_state
    return found.flatten(2).transpose(1, 2)


def image_tokens(model: Any, features: Tensor) -> Tensor:
    """Return what stands for an image among the word embeddings, (B, IMAGE_TOKENS, W)."""
    return model.model.multi_modal_projector(features)


def packed_logits(model: Any, tokens: Tensor, packed: Packed) -> Tensor:
    """Return the logits of the packed texts' tokens, (B, C, M, V), given image tokens (B, P, W)."""
    embed = model.get_input_embeddings()
    count, prefix = len(tokens), 1 + tokens.shape[1]
    first = embed(torch.full((count, 1), BOS))
    embedded = torch.cat([first, tokens.to(first.dtype), embed(packed.ids.flatten(1))], 1)
    positions = torch.cat([torch.arange(prefix).expand(count, -1), packed.positions.flatten(1)], 1)
    language, usual = model.model.language_model, model.config.text_config._attn_implementation
    language.config._attn_implementation = ATTENTION
    try:
        hidden = language(
            inputs_embeds=embedded,
            position_ids=positions,
            use_cache=False,
            bias=packed.bias(prefix),
        ).last_hidden_state
    finally:
        language.config._attn_implementation = usual
    return model.lm_head(hidden[:, prefix:]).view(*packed.ids.shape, -1)


def write_folder(folder: Path, lexicon: Lexicon, shape: Shape) -> None:
    """Write the configuration, the processor and the tokenizer: all but the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = new_tokenizer(lexicon)
    config = config_of(shape, len(tokenizer))
    config.architectures = ["FastVlmForConditionalGeneration"]
    config.dtype = "float16"
    config.save_pretrained(folder)
    GenerationConfig(
        bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD, max_new_tokens=40
    ).save_pretrained(folder)
    images = CLIPImageProcessor(
        size={"height": SIZE, "width": SIZE},
        do_center_crop=False,
        image_mean=[MEAN] * 3,
        image_std=[STD] * 3,
    )
    LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=CELL,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
        chat_template=tokenizer.chat_template,
    ).save_pretrained(folder)


def save_weights(model: Any, folder: Path) -> None:
    """Write the weights in half precision; the file appears whole or not at all."""
    tensors = {
        name: (tensor.half() if tensor.is_floating_point() else tensor).contiguous().clone()
        for name, tensor in model.state_dict().items()
        if name != "lm_head.weight"  # tied to the embeddings
    }
    part = folder / (WEIGHTS_FILE + ".part")
    save_file(tensors, part, metadata={"format": "pt"})
    part.replace(folder / WEIGHTS_FILE)


def parameters_of(folder: Path) -> dict[str, Any]:
    """Return a folder's configuration as JSON."""
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))
