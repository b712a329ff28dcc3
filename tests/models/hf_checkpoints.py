"""Tiny checkpoints of transformers, one of each family, with a real processor and tokenizer.

Each is built from its own config, processor and image processor classes with random weights, and
saved as a user's model is. Weights are scaled up so that mistakes show: a random model of the usual
scale gives every token about the same probability, whatever it reads.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn

SPECIAL = (
    *("<pad>", "</s>", "<s>", "<image>", "<start_of_image>", "<end_of_image>", "<video>"),
    *("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>", "<img>", "</img>"),
    *("<fake_token_around_image>", "<global-img>", "<end_of_utterance>", "<turn>", "<end>"),
)
WORDS = (
    *(" red", " blue", " green", " yellow", " cup", " chair", " lamp", " table", " white"),
    *(" background", " image", " the", " and", " an", " on"),
)
TEMPLATE = """\
{{ bos_token }}{% for message in messages %}<turn>{{ message.role }}
{% for part in message.content %}{% if part.type == 'image' %}IMAGE{% else %}{{ part.text }}\
{% endif %}{% endfor %}<end>
{% endfor %}{% if add_generation_prompt %}<turn>assistant
{% endif %}"""
# Of LLaVA 1.5's kind: the answer stands behind a colon and a space.
COLON = """\
{{ bos_token }}{% for message in messages %}{{ message.role.upper() }}: {% for part in \
message.content %}{% if part.type == 'image' %}IMAGE
{% else %}{{ part.text }}{% endif %}{% endfor %} {% endfor %}{% if add_generation_prompt %}\
ASSISTANT:{% endif %}"""
IDS = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2}
TEXT = IDS | {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "max_position_embeddings": 1024,
}
VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 8,
}
SIZE = {"height": 32, "width": 32}
QWEN_VISION = {
    "depth": 2,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_heads": 2,
    "patch_size": 8,
    "out_hidden_size": 48,
}
QWEN_TOKENS = {"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"}
QWEN_IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"
QWEN_SIZE = {"shortest_edge": 32 * 32, "longest_edge": 64 * 64}


def tokenizer(joined: tuple[str, ...] = (), **named: str) -> hf.PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer of a few hundred tokens.

    Args:
        joined: texts that are one token each, across words and lines.
        named: special tokens by what processors call them.
    """
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not joined)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator([text for text in (*joined, *WORDS) for _ in "1234"], trainer)
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        extra_special_tokens=named,
        model_input_names=["input_ids", "attention_mask"],
    )


def _template(image: str, template: str = TEMPLATE) -> str:
    return template.replace("IMAGE", image)


def _id(tokens: Any, token: str) -> int:
    return tokens.convert_tokens_to_ids(token)


def gemma3(window: int = 512) -> tuple[Any, Any]:
    tokens = tokenizer(
        image_token="<image>", boi_token="<start_of_image>", eoi_token="<end_of_image>"
    )
    text = TEXT | {"vocab_size": len(tokens), "sliding_window": window}
    config = hf.Gemma3Config(
        text_config=text | {"layer_types": ["sliding_attention"] * 2 + ["full_attention"]},
        vision_config=VISION,
        mm_tokens_per_image=4,
        image_token_index=_id(tokens, "<image>"),
        boi_token_index=_id(tokens, "<start_of_image>"),
        eoi_token_index=_id(tokens, "<end_of_image>"),
    )
    processor = hf.Gemma3Processor(
        hf.Gemma3ImageProcessor(size=SIZE),
        tokens,
        chat_template=_template("<start_of_image>"),
        image_seq_length=4,
    )
    model = hf.Gemma3ForConditionalGeneration(config)
    # It begins at zero, so that an untouched random model never sees its image.
    nn.init.normal_(model.model.multi_modal_projector.mm_input_projection_weight, std=0.2)
    return model, processor


def gemma3_narrow() -> tuple[Any, Any]:
    """Its sliding windows are shorter than prompt and caption."""
    return gemma3(window=24)


def qwen2_5_vl() -> tuple[Any, Any]:
    tokens = tokenizer(**QWEN_TOKENS)
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 2, 2]}
    config = hf.Qwen2_5_VLConfig(
        text_config=TEXT | {"vocab_size": len(tokens), "rope_parameters": rope},
        vision_config=QWEN_VISION | {"fullatt_block_indexes": [1], "window_size": 32},
        **_qwen_ids(tokens),
    )
    processor = hf.Qwen2_5_VLProcessor(
        hf.Qwen2VLImageProcessor(size=QWEN_SIZE, patch_size=8),
        tokens,
        hf.Qwen2VLVideoProcessor(),
        chat_template=_template(QWEN_IMAGE),
    )
    return hf.Qwen2_5_VLForConditionalGeneration(config), processor


def qwen3_vl() -> tuple[Any, Any]:
    tokens = tokenizer(**QWEN_TOKENS)
    config = hf.Qwen3VLConfig(
        text_config=TEXT | {"vocab_size": len(tokens), "rope_parameters": _interleaved([2, 2, 2])},
        vision_config=QWEN_VISION
        | {"num_position_embeddings": 16, "deepstack_visual_indexes": [0, 1]},
        **_qwen_ids(tokens),
    )
    return hf.Qwen3VLForConditionalGeneration(config), _qwen3_processor(tokens)


def qwen3_5() -> tuple[Any, Any]:
    tokens = tokenizer(**QWEN_TOKENS)
    linear = {
        "layer_types": ["linear_attention"] * 2 + ["full_attention"],
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
    }
    rope = _interleaved([2, 2, 2]) | {"partial_rotary_factor": 1.0}
    config = hf.Qwen3_5Config(
        text_config=TEXT | linear | {"vocab_size": len(tokens), "rope_parameters": rope},
        vision_config=QWEN_VISION | {"num_position_embeddings": 16},
        **_qwen_ids(tokens),
    )
    return hf.Qwen3_5ForConditionalGeneration(config), _qwen3_processor(tokens)


def _interleaved(section: list[int]) -> dict[str, Any]:
    return {
        "rope_type": "default",
        "rope_theta": 1e4,
        "mrope_section": section,
        "mrope_interleaved": True,
    }


def _qwen_ids(tokens: Any) -> dict[str, int]:
    return {
        "image_token_id": _id(tokens, "<|image_pad|>"),
        "video_token_id": _id(tokens, "<|video_pad|>"),
        "vision_start_token_id": _id(tokens, "<|vision_start|>"),
        "vision_end_token_id": _id(tokens, "<|vision_end|>"),
    }


def _qwen3_processor(tokens: Any) -> Any:
    return hf.Qwen3VLProcessor(
        hf.Qwen2VLImageProcessor(size=QWEN_SIZE, patch_size=8),
        tokens,
        hf.Qwen3VLVideoProcessor(),
        chat_template=_template(QWEN_IMAGE),
    )


def internvl() -> tuple[Any, Any]:
    tokens = tokenizer(
        start_image_token="<img>",
        end_image_token="</img>",
        context_image_token="<image>",
        video_token="<video>",
    )
    config = hf.InternVLConfig(
        text_config=TEXT | {"vocab_size": len(tokens), "model_type": "qwen2"},
        vision_config=VISION | {"image_size": [32, 32], "patch_size": [8, 8]},
        image_token_id=_id(tokens, "<image>"),
    )
    processor = hf.InternVLProcessor(
        hf.GotOcr2ImageProcessor(size=SIZE),
        tokens,
        hf.InternVLVideoProcessor(),
        image_seq_length=4,
        chat_template=_template("<image>"),
    )
    return hf.InternVLForConditionalGeneration(config), processor


def llava() -> tuple[Any, Any]:
    tokens = tokenizer()
    vision = VISION | {"model_type": "clip_vision_model", "projection_dim": 16}
    config = hf.LlavaConfig(
        text_config=TEXT | {"vocab_size": len(tokens), "model_type": "llama"},
        vision_config=vision,
        image_token_index=_id(tokens, "<image>"),
        image_seq_length=16,
    )
    processor = hf.LlavaProcessor(
        hf.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=SIZE),
        tokens,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_template("<image>", COLON),
    )
    return hf.LlavaForConditionalGeneration(config), processor


def llava_onevision() -> tuple[Any, Any]:
    tokens = tokenizer()
    vision = VISION | {"model_type": "siglip_vision_model", "vision_use_head": False}
    config = hf.LlavaOnevisionConfig(
        text_config=TEXT | {"vocab_size": len(tokens), "model_type": "qwen2"},
        vision_config=vision,
        image_token_index=_id(tokens, "<image>"),
        video_token_index=_id(tokens, "<video>"),
        image_grid_pinpoints=[[32, 32], [32, 64]],
    )
    processor = hf.LlavaOnevisionProcessor(
        hf.LlavaOnevisionImageProcessor(size=SIZE, image_grid_pinpoints=[[32, 32], [32, 64]]),
        tokens,
        hf.LlavaOnevisionVideoProcessor(),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=_template("<image>"),
    )
    return hf.LlavaOnevisionForConditionalGeneration(config), processor


def paligemma(text: dict[str, Any] | None = None) -> tuple[Any, Any]:
    """Of all families the one without a chat template."""
    tokens = tokenizer(image_token="<image>")
    images = hf.SiglipImageProcessor(size=SIZE)
    images.image_seq_length = 16
    processor = hf.PaliGemmaProcessor(images, tokens)
    config = hf.PaliGemmaConfig(
        text_config=TEXT | {"vocab_size": len(tokens)} | (text or {"model_type": "gemma"}),
        vision_config=VISION | {"model_type": "siglip_vision_model", "vision_use_head": False},
        image_token_index=_id(tokens, "<image>"),
        projection_dim=48,
        hidden_size=48,
    )
    return hf.PaliGemmaForConditionalGeneration(config), processor


def paligemma2() -> tuple[Any, Any]:
    """Its attention has a soft cap, which is computed by the eager implementation alone."""
    return paligemma({"model_type": "gemma2", "query_pre_attn_scalar": 12, "sliding_window": 512})


def smolvlm() -> tuple[Any, Any]:
    return _idefics(hf.SmolVLMConfig, hf.SmolVLMForConditionalGeneration, smol=True)


def idefics3() -> tuple[Any, Any]:
    return _idefics(hf.Idefics3Config, hf.Idefics3ForConditionalGeneration, smol=False)


def _idefics(config_class: Any, model_class: Any, smol: bool) -> tuple[Any, Any]:
    tokens = tokenizer(
        fake_image_token="<fake_token_around_image>",
        image_token="<image>",
        global_image_token="<global-img>",
        end_of_utterance_token="<end_of_utterance>",
    )
    config = config_class(
        text_config=TEXT | {"vocab_size": len(tokens), "model_type": "llama"},
        vision_config=VISION,
        image_token_id=_id(tokens, "<image>"),
        scale_factor=2,
    )
    sizes = {"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}}
    template = _template("<image>", COLON)
    if smol:
        processor = hf.SmolVLMProcessor(
            hf.SmolVLMImageProcessor(**sizes),
            tokens,
            hf.SmolVLMVideoProcessor(),
            image_seq_len=4,
            chat_template=template,
        )
    else:
        processor = hf.Idefics3Processor(
            hf.Idefics3ImageProcessor(**sizes), tokens, image_seq_len=4, chat_template=template
        )
    return model_class(config), processor


def fast_vlm() -> tuple[Any, Any]:
    tokens = tokenizer()
    trunk = hf.TimmWrapperConfig(architecture="test_convnext", do_pooling=False)
    trunk.hidden_size = 64
    config = hf.FastVlmConfig(
        text_config=TEXT | {"vocab_size": len(tokens), "model_type": "llama"},
        vision_config=trunk,
        image_token_index=_id(tokens, "<image>"),
        image_seq_length=4,
    )
    processor = hf.LlavaProcessor(
        hf.CLIPImageProcessor(size={"shortest_edge": 64}, crop_size={"height": 64, "width": 64}),
        tokens,
        patch_size=32,
        vision_feature_select_strategy="full",
        chat_template=_template("<image>"),
    )
    return hf.FastVlmForConditionalGeneration(config), processor


FAMILIES: dict[str, Callable[[], tuple[Any, Any]]] = {
    build.__name__: build
    for build in (
        gemma3,
        gemma3_narrow,
        qwen2_5_vl,
        qwen3_vl,
        qwen3_5,
        internvl,
        llava,
        llava_onevision,
        paligemma,
        paligemma2,
        smolvlm,
        idefics3,
        fast_vlm,
    )
}


def save_checkpoint(family: str, folder: Path, seed: int = 0) -> Path:
    """Write a checkpoint of a family, as ``save_pretrained`` does."""
    torch.manual_seed(seed)
    model, processor = FAMILIES[family]()
    sharpen(model)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def sharpen(model: nn.Module) -> None:
    """Scale matrices up, so that what is read and where it stands makes a difference."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.ndim == 2 and "embed" not in name and "norm" not in name:
                value.mul_(3.0)
        head = model.get_output_embeddings()  # type: ignore[operator]
        head.weight.mul_(4.0)
