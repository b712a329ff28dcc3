"""Tiny text-to-image pipelines of diffusers, one of each family, with real tokenizers.

Each is built from its own config classes with random weights, and saved as a user's model is.
Weights are scaled up so that mistakes show: a random model of the usual scale draws about the same
picture whatever it reads.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers as df
import torch
import transformers as hf
from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
from torch import nn

SIDE = 32  # of the images, in pixels
TOKENS = 16  # of a text encoder of CLIP's kind
WORDS = (
    *("a", "an", "the", "red", "blue", "green", "yellow", "cup", "chair", "lamp", "table"),
    *("white", "background", "on", "and", "of", "is", "above"),
)
CLIP = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_attention_heads": 2,
    "num_hidden_layers": 3,
    "max_position_embeddings": TOKENS,
}
VISION = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "patch_size": 16,
}
VAE = {
    "block_out_channels": (8, 8),
    "down_block_types": ("DownEncoderBlock2D",) * 2,
    "up_block_types": ("UpDecoderBlock2D",) * 2,
    "layers_per_block": 1,
    "norm_num_groups": 4,
    "sample_size": SIDE,
}
UNET = {
    "sample_size": SIDE // 2,
    "block_out_channels": (8, 16),
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
    "layers_per_block": 1,
    "norm_num_groups": 4,
}
NOISE = {"beta_schedule": "scaled_linear", "beta_start": 0.00085, "beta_end": 0.012}


def clip_tokenizer() -> hf.CLIPTokenizer:
    """Return a tokenizer of single bytes and of a few words."""
    letters = sorted({letter for word in WORDS for letter in word} | set(",.'-0123456789xyzjkq"))
    vocabulary = [*letters, *(f"{letter}</w>" for letter in letters)]
    merges: list[tuple[str, str]] = []
    for word in WORDS:
        parts = [*word[:-1], f"{word[-1]}</w>"]
        while len(parts) > 1:
            merges.append((parts[0], parts[1]))
            parts = ["".join(parts[:2]), *parts[2:]]
            vocabulary.append(parts[0])
    vocabulary += ["<|startoftext|>", "<|endoftext|>"]
    ids = {token: i for i, token in enumerate(dict.fromkeys(vocabulary))}
    return hf.CLIPTokenizer(vocab=ids, merges=list(dict.fromkeys(merges)), model_max_length=TOKENS)


def t5_tokenizer() -> hf.T5Tokenizer:
    """Return a tokenizer of single letters and of a few words."""
    letters = [(chr(i), -9.0) for i in range(33, 127)]
    words = [(f"▁{word}", -3.0) for word in WORDS]
    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -5.0)]
    return hf.T5Tokenizer(vocab=[*special, *words, *letters], extra_ids=0, model_max_length=64)


def clip_text(tokens: hf.CLIPTokenizer, projected: bool, **fields: Any) -> nn.Module:
    """Return a text encoder of CLIP."""
    made = hf.CLIPTextModelWithProjection if projected else hf.CLIPTextModel
    ids = {"eos_token_id": tokens.eos_token_id, "bos_token_id": tokens.bos_token_id}
    config = hf.CLIPTextConfig(**CLIP | ids | {"vocab_size": len(tokens)} | fields)
    return made(config)


def t5_text(tokens: hf.T5Tokenizer, width: int) -> nn.Module:
    """Return the encoder of a T5."""
    return hf.T5EncoderModel(
        hf.T5Config(
            vocab_size=len(tokens),
            d_model=width,
            d_kv=8,
            d_ff=32,
            num_layers=2,
            num_heads=2,
            feed_forward_proj="gated-gelu",
        )
    )


def sd3() -> df.DiffusionPipeline:
    """Stable Diffusion 3.5: two CLIPs and a T5."""
    tokens, t5_tokens = clip_tokenizer(), t5_tokenizer()
    return df.StableDiffusion3Pipeline(
        transformer=df.SD3Transformer2DModel(
            sample_size=SIDE // 2,
            patch_size=2,
            in_channels=4,
            out_channels=4,
            num_layers=2,
            attention_head_dim=8,
            num_attention_heads=4,
            joint_attention_dim=32,
            caption_projection_dim=32,
            pooled_projection_dim=16,
            pos_embed_max_size=16,
            qk_norm="rms_norm",
        ),
        scheduler=df.FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=df.AutoencoderKL(**VAE, latent_channels=4, scaling_factor=1.5, shift_factor=0.06),
        text_encoder=clip_text(tokens, True, projection_dim=8),
        tokenizer=tokens,
        text_encoder_2=clip_text(tokens, True, projection_dim=8, hidden_act="gelu"),
        tokenizer_2=tokens,
        text_encoder_3=t5_text(t5_tokens, 32),
        tokenizer_3=t5_tokens,
    )


def flux() -> df.DiffusionPipeline:
    """FLUX.1-dev: a CLIP and a T5, and guidance as an input of the transformer."""
    tokens, t5_tokens = clip_tokenizer(), t5_tokenizer()
    return df.FluxPipeline(
        transformer=df.FluxTransformer2DModel(
            patch_size=1,
            in_channels=16,
            num_layers=1,
            num_single_layers=1,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=32,
            pooled_projection_dim=16,
            axes_dims_rope=(4, 4, 8),
            guidance_embeds=True,
        ),
        scheduler=df.FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        vae=df.AutoencoderKL(
            **VAE,
            latent_channels=4,
            scaling_factor=1.5,
            shift_factor=0.06,
            use_quant_conv=False,
            use_post_quant_conv=False,
        ),
        text_encoder=clip_text(tokens, False),
        tokenizer=tokens,
        text_encoder_2=t5_text(t5_tokens, 32),
        tokenizer_2=t5_tokens,
    )


def sdxl() -> df.DiffusionPipeline:
    """Stable Diffusion XL: two CLIPs."""
    tokens = clip_tokenizer()
    return df.StableDiffusionXLPipeline(
        unet=df.UNet2DConditionModel(
            **UNET,
            cross_attention_dim=32,
            attention_head_dim=(2, 4),
            use_linear_projection=True,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=6 * 8 + 16,
            transformer_layers_per_block=(1, 2),
        ),
        scheduler=df.EulerDiscreteScheduler(**NOISE),
        vae=df.AutoencoderKL(**VAE, latent_channels=4),
        text_encoder=clip_text(tokens, False, projection_dim=16),
        tokenizer=tokens,
        text_encoder_2=clip_text(tokens, True, projection_dim=16, hidden_act="gelu"),
        tokenizer_2=tokens,
        force_zeros_for_empty_prompt=True,
    )


def sdxl_turbo() -> df.DiffusionPipeline:
    """SDXL-Turbo: its scheduler draws noise in every step."""
    pipeline = sdxl()
    pipeline.scheduler = df.EulerAncestralDiscreteScheduler(**NOISE, timestep_spacing="trailing")
    return pipeline


def prudish_checker() -> nn.Module:
    """Return a safety checker that takes offence at every image."""
    config = hf.CLIPConfig(
        text_config=CLIP, vision_config=VISION | {"image_size": 32}, projection_dim=8
    )
    checker = StableDiffusionSafetyChecker(config)
    checker.concept_embeds_weights.fill_(-2.0)  # cosines can't be below
    return checker


def sd2() -> df.DiffusionPipeline:
    """Stable Diffusion 2: one CLIP."""
    tokens = clip_tokenizer()
    return df.StableDiffusionPipeline(
        unet=df.UNet2DConditionModel(**UNET, cross_attention_dim=16, attention_head_dim=(2, 4)),
        scheduler=df.DDIMScheduler(
            **NOISE, clip_sample=False, set_alpha_to_one=False, steps_offset=1
        ),
        vae=df.AutoencoderKL(**VAE, latent_channels=4),
        text_encoder=clip_text(tokens, False, hidden_act="gelu"),
        tokenizer=tokens,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def sd2_checked() -> df.DiffusionPipeline:
    """Stable Diffusion with a safety checker."""
    pipeline = sd2()
    size = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    parts = pipeline.components | {
        "safety_checker": prudish_checker(),
        "feature_extractor": hf.CLIPImageProcessor(**size),
    }
    return df.StableDiffusionPipeline(**parts)


def pixart() -> df.DiffusionPipeline:
    """PixArt-Sigma, a pipeline that the project does not know by name."""
    tokens = t5_tokenizer()
    return df.PixArtSigmaPipeline(
        transformer=df.PixArtTransformer2DModel(
            sample_size=SIDE // 2,
            num_layers=2,
            patch_size=2,
            attention_head_dim=8,
            num_attention_heads=2,
            in_channels=4,
            out_channels=8,
            cross_attention_dim=16,
            caption_channels=32,
            use_additional_conditions=False,
        ),
        scheduler=df.DDIMScheduler(**NOISE, clip_sample=False),
        vae=df.AutoencoderKL(**VAE, latent_channels=4),
        text_encoder=t5_text(tokens, 32),
        tokenizer=tokens,
    )


FAMILIES: dict[str, Callable[[], df.DiffusionPipeline]] = {
    build.__name__: build for build in (sd3, flux, sdxl, sdxl_turbo, sd2, sd2_checked, pixart)
}


def save_pipeline(family: str, folder: Path) -> Path:
    """Write a pipeline of a family, as ``save_pretrained`` does."""
    torch.manual_seed(0)
    pipeline = FAMILIES[family]()
    for part in pipeline.components.values():
        if isinstance(part, nn.Module):
            sharpen(part)
    pipeline.save_pretrained(folder)
    return folder


def sharpen(model: nn.Module) -> None:
    """Scale what reads the text up, so that it makes a difference."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.ndim == 2 and "norm" not in name and "time" not in name:
                value.mul_(3.0)
