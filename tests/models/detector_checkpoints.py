"""Tiny detectors: of transformers, with real processors, and of SAM 2, as users' models are saved.

Each is built from its own configuration with random weights, scaled up so that mistakes show.
"""

from pathlib import Path
from typing import Any

import sam2
import torch
import transformers as hf
import yaml
from hydra.utils import instantiate
from omegaconf import OmegaConf
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import nn

# Grounding DINO finds the ends of phrases by BERT's own numbers of these tokens.
BERT_TOKENS = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103, ".": 1012}
WORDS = ("cup", "chair", "bow", "tie", "gloves", "lamp", "sports", "car", "hot", "-", "air")
MORE_WORDS = (
    "balloon",
    "table",
    "umbrella",
    "key",
    "bus",
    "cube",
    "sphere",
    "wine",
    "glass",
    "cone",
)
GROUNDED = {
    "num_queries": 12,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "d_model": 32,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "fusion_droppath": 0.0,
}
SWIN = {"image_size": 64, "embed_dim": 8, "depths": [1, 1, 1, 1], "num_heads": [1, 1, 2, 2]}
BERT = {
    "vocab_size": 1100,
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 256,
}
CLIP_TEXT = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
CLIP_VISION = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 48,
    "patch_size": 16,
}


def bert_tokenizer(folder: Path) -> Any:
    """Return a tokenizer that knows a few words, by BERT's numbers of the special tokens."""
    entries = [f"[unused{i}]" for i in range(BERT["vocab_size"])]
    for token, place in BERT_TOKENS.items():
        entries[place] = token
    for place, word in enumerate((*WORDS, *MORE_WORDS), start=1030):
        entries[place] = word
    file = folder / "vocab.txt"
    file.write_text("\n".join(entries), encoding="utf-8")
    return hf.BertTokenizer(str(file))


def grounding_dino(folder: Path) -> tuple[Any, Any]:
    config = hf.GroundingDinoConfig(**_grounded(), **GROUNDED)
    return hf.GroundingDinoForObjectDetection(config), _grounded_processor(folder)


def mm_grounding_dino(folder: Path) -> tuple[Any, Any]:
    config = hf.MMGroundingDinoConfig(**_grounded(), **GROUNDED)
    return hf.MMGroundingDinoForObjectDetection(config), _grounded_processor(folder)


def _grounded() -> dict[str, Any]:
    backbone = hf.SwinConfig(**SWIN, window_size=4, out_indices=[2, 3, 4])
    return {"backbone_config": backbone, "text_config": hf.BertConfig(**BERT)}


def _grounded_processor(folder: Path) -> Any:
    images = hf.GroundingDinoImageProcessor(size={"shortest_edge": 96, "longest_edge": 128})
    return hf.GroundingDinoProcessor(images, bert_tokenizer(folder))


def clip_tokenizer() -> Any:
    """Return a tokenizer of whole words, with the ends of a text marked as CLIP's are."""
    core = Tokenizer(models.WordLevel({t: i for i, t in enumerate(_clip_words())}, "<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        model_max_length=16,
    )


def owlv2(folder: Path) -> tuple[Any, Any]:
    """Of the detectors that take a list of names and give a number for each."""
    tokens = clip_tokenizer()
    config = hf.Owlv2Config(
        text_config=CLIP_TEXT | {"vocab_size": len(tokens)},
        vision_config=CLIP_VISION,
        projection_dim=32,
    )
    images = hf.Owlv2ImageProcessor(size={"height": 48, "width": 48})
    return hf.Owlv2ForObjectDetection(config), hf.Owlv2Processor(images, tokens)


def omdet_turbo(folder: Path) -> tuple[Any, Any]:
    tokens = clip_tokenizer()
    text = CLIP_TEXT | {"vocab_size": len(tokens), "hidden_size": 64, "projection_dim": 64}
    config = hf.OmDetTurboConfig(
        backbone_config=hf.SwinConfig(**SWIN, window_size=4, out_indices=[2, 3, 4]),
        text_config=hf.CLIPTextConfig(**text),
        image_size=96,
        apply_layernorm_after_vision_backbone=False,  # timm's trunk needs it, this one has it
        text_projection_in_dim=64,
        text_projection_out_dim=64,
        task_encoder_hidden_dim=32,
        class_embed_dim=64,
        num_queries=12,
        encoder_hidden_dim=32,
        vision_features_channels=[32, 32, 32],
        encoder_in_channels=[16, 32, 64],
        encoder_attention_heads=4,
        encoder_dim_feedforward=32,
        decoder_hidden_dim=32,
        decoder_num_heads=4,
        decoder_num_layers=2,
        decoder_dim_feedforward=32,
    )
    images = hf.DetrImageProcessor(size={"height": 96, "width": 96})
    return hf.OmDetTurboForObjectDetection(config), hf.OmDetTurboProcessor(images, tokens)


def _clip_words() -> tuple[str, ...]:
    return ("<pad>", "<s>", "</s>", "<unk>", *WORDS, *MORE_WORDS)


FAMILIES = {
    build.__name__: build for build in (grounding_dino, mm_grounding_dino, owlv2, omdet_turbo)
}


def save_detector(family: str, folder: Path, seed: int = 0) -> Path:
    """Write a checkpoint of a family, as ``save_pretrained`` does."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    model, processor = FAMILIES[family](folder)
    _sharpen(model)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _sharpen(model: nn.Module) -> None:
    """Scale matrices up, and give boxes a size: those of an untouched model all look alike."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            if any(part in name for part in ("bbox_embed", "bbox_head", "box_head")):
                value.normal_(std=0.4)
            elif name.endswith("text_projection"):
                value.normal_(std=0.3)  # OmDet's begins at zero
            elif "class_embed" in name and "bias" in name:
                value.zero_()  # it begins where hardly anything is an object
            elif value.ndim == 2 and "embed" not in name and "norm" not in name:
                value.mul_(3.0)


def sam2_config(side: int = 128) -> dict[str, Any]:
    """Return the package's configuration of its smallest model, with a tiny trunk."""
    file = Path(sam2.__path__[0]) / "configs" / "sam2.1" / "sam2.1_hiera_t.yaml"
    config: Any = OmegaConf.to_container(OmegaConf.load(file), resolve=True)
    model, width, memory = config["model"], 32, 16
    model["image_size"] = side
    encoder = model["image_encoder"]
    encoder["trunk"] |= {
        "embed_dim": 8,
        "num_heads": 1,
        "stages": [1, 1, 2, 1],
        "global_att_blocks": [3],
        "window_pos_embed_bkg_spatial_size": [4, 4],
    }
    encoder["neck"] |= {"d_model": width, "backbone_channel_list": [64, 32, 16, 8]}
    encoder["neck"]["position_encoding"]["num_pos_feats"] = width
    attention = model["memory_attention"]
    attention |= {"d_model": width, "num_layers": 1}
    attention["layer"] |= {"d_model": width, "dim_feedforward": 32}
    attention["layer"]["self_attention"]["embedding_dim"] = width
    attention["layer"]["cross_attention"] |= {"embedding_dim": width, "kv_in_dim": memory}
    remember = model["memory_encoder"]
    remember |= {"in_dim": width, "out_dim": memory}
    remember["position_encoding"]["num_pos_feats"] = memory
    remember["mask_downsampler"]["embed_dim"] = width
    remember["fuser"]["layer"]["dim"] = width
    return config


def save_sam2(folder: Path, side: int = 128, seed: int = 0) -> tuple[Path, Path]:
    """Write a checkpoint as the package's are written; return it and its configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "tiny.yaml"
    config.write_text(yaml.safe_dump(sam2_config(side)), encoding="utf-8")
    torch.manual_seed(seed)
    model = instantiate(OmegaConf.load(config)["model"], _recursive_=True)
    with torch.no_grad():
        for value in model.sam_mask_decoder.parameters():
            if value.ndim == 2:
                value.mul_(2.0)
    checkpoint = folder / "tiny.pt"
    torch.save({"model": model.state_dict()}, checkpoint)
    return checkpoint, config
