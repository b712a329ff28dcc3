"""Models of four families with random weights, an image of 256 tokens and candidate captions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import transformers as hf
from torch import Tensor

from bindbench.candidates import candidate_texts
from bindbench.captions.minimal import write_minimal
from bindbench.concepts import sample_concepts
from bindbench.tasks import BENCHMARKS
from bindbench.training.validator_data import embedded_lexicon

VOCABULARY = 4000
IMAGE, START, END = 3999, 3998, 3997
PROMPT = [5, 6, 7, 8]  # behind the image
TEXT = {
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "vocab_size": VOCABULARY,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": 2,
    "max_position_embeddings": 4096,
}
VISION = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 224,
    "patch_size": 14,
}


@dataclass(frozen=True)
class Case:
    """A model with the inputs of one image and a prompt, as its processor would write them."""

    name: str
    model: Any
    inputs: dict[str, Tensor]


def gemma3() -> Case:
    layers = ["sliding_attention"] * 3 + ["full_attention"]
    config = hf.Gemma3Config(
        text_config=TEXT | {"sliding_window": 1024, "layer_types": layers},
        vision_config=VISION,
        mm_tokens_per_image=256,
        image_token_index=IMAGE,
    )
    ids = _ids([IMAGE] * 256)
    types = (ids == IMAGE).long()
    pixels = torch.randn(1, 3, 224, 224)
    inputs = {"input_ids": ids, "token_type_ids": types, "pixel_values": pixels}
    return Case("Gemma 3", hf.Gemma3ForConditionalGeneration(config), inputs)


def qwen2_5_vl() -> Case:
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [4, 6, 6]}
    config = hf.Qwen2_5_VLConfig(
        text_config=TEXT | {"rope_parameters": rope},
        vision_config={
            "depth": 2,
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_heads": 4,
            "out_hidden_size": 256,
            "fullatt_block_indexes": [1],
        },
        image_token_id=IMAGE,
        video_token_id=3990,
        vision_start_token_id=START,
        vision_end_token_id=END,
    )
    ids = _ids([START, *[IMAGE] * 256, END])
    inputs = {
        "input_ids": ids,
        "mm_token_type_ids": (ids == IMAGE).int(),
        "pixel_values": torch.randn(1024, 1176),
        "image_grid_thw": torch.tensor([[1, 32, 32]]),
    }
    return Case("Qwen2.5-VL", hf.Qwen2_5_VLForConditionalGeneration(config), inputs)


def internvl() -> Case:
    config = hf.InternVLConfig(
        text_config=TEXT | {"model_type": "qwen2"},
        vision_config=VISION | {"image_size": [448, 448], "patch_size": [14, 14]},
        image_token_id=IMAGE,
    )
    inputs = {"input_ids": _ids([IMAGE] * 256), "pixel_values": torch.randn(1, 3, 448, 448)}
    return Case("InternVL", hf.InternVLForConditionalGeneration(config), inputs)


def llava() -> Case:
    config = hf.LlavaConfig(
        text_config=TEXT | {"model_type": "llama"},
        vision_config=VISION | {"model_type": "clip_vision_model", "projection_dim": 64},
        image_token_index=IMAGE,
        image_seq_length=256,
    )
    inputs = {"input_ids": _ids([IMAGE] * 256), "pixel_values": torch.randn(1, 3, 224, 224)}
    return Case("LLaVA", hf.LlavaForConditionalGeneration(config), inputs)


CASES = (gemma3, qwen2_5_vl, internvl, llava)


def _ids(image: Sequence[int]) -> Tensor:
    return torch.tensor([[2, *image, *PROMPT]])


def candidate_captions(key: str) -> list[str]:
    """Return the candidate captions of one concept of a benchmark."""
    lexicon = embedded_lexicon()
    (scene,) = sample_concepts(BENCHMARKS[key], lexicon, 1, seed=0)
    return candidate_texts(write_minimal(scene.concept, lexicon), scene.concept, lexicon)


def candidates(key: str) -> list[list[int]]:
    """Return the same captions as tokens, of which each word is one."""
    split = [re.findall(r"\w+|[,.]", text) for text in candidate_captions(key)]
    number = {word: 100 + i for i, word in enumerate(sorted({w for row in split for w in row}))}
    return [[number[word] for word in row] for row in split]
