"""The contrastive encoders as open_clip builds, saves and loads them."""

import json
from pathlib import Path
from typing import Any

import open_clip
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from bindbench.training.nano_clip_text import save_tokenizer
from bindbench.vocabulary import Lexicon

LAYERS, WIDTH = [1, 2, 2, 3], 16  # of CLIP's own ResNet; one cell for 32 pixels
SIZE = 128  # of the images, in pixels
CELLS = SIZE // 32
EMBEDDING = 256
CONTEXT = 40  # tokens of a caption
PAD_ID, END_ID = 0, 2
TEXT = {"width": 128, "heads": 4, "layers": 3}
MEAN, STD = 0.5, 0.25  # of each channel, after scaling to 0 ... 1
WEIGHTS_FILE = "open_clip_model.safetensors"


def write_folder(folder: Path, lexicon: Lexicon) -> None:
    """Write the configuration and the tokenizer of a model: all but its weights."""
    tokens = save_tokenizer(lexicon, folder)
    config: dict[str, Any] = {
        "model_cfg": {
            "embed_dim": EMBEDDING,
            "custom_text": True,
            "vision_cfg": {
                "image_size": SIZE,
                "layers": LAYERS,
                "width": WIDTH,
            },
            "text_cfg": {
                "context_length": CONTEXT,
                "vocab_size": tokens,
                **TEXT,
                # Any name makes open_clip read the tokenizer files of the folder itself.
                "hf_tokenizer_name": "nano-words",
                "pool_type": "eos",
                "eos_id": END_ID,
                "pad_id": PAD_ID,
            },
        },
        "preprocess_cfg": {
            "mean": [MEAN] * 3,
            "std": [STD] * 3,
            "interpolation": "bicubic",
            "resize_mode": "squash",
        },
    }
    (folder / "open_clip_config.json").write_text(json.dumps(config, indent=1) + "\n")


def new_model(folder: Path) -> Any:
    """Return the folder's architecture with random weights, from torch's seed."""
    model = open_clip.create_model(f"local-dir:{folder}", load_weights=False, precision="fp32")
    return model.to(memory_format=torch.channels_last)


class Trunk(nn.Module):
    """The image encoder up to its attention pooling, which it shares its weights with."""

    features = WIDTH * 32

    def __init__(self, visual: Any) -> None:
        super().__init__()
        self.stages = nn.ModuleList([visual.layer1, visual.layer2, visual.layer3, visual.layer4])
        stem = ("conv1", "bn1", "conv2", "bn2", "conv3", "bn3")
        self._stem = nn.ModuleList([getattr(visual, name) for name in stem])
        self._enter = visual.stem

    def forward(self, images: Tensor) -> Tensor:
        """Return features (B, D, CELLS, CELLS)."""
        x = self._enter(images)
        for stage in self.stages:
            x = stage(x)
        return x


def save_weights(model: Any, folder: Path) -> None:
    """Write the weights in half precision; the file appears whole or not at all."""
    tensors = {
        name: tensor.detach().half().contiguous().clone()
        for name, tensor in model.state_dict().items()
    }
    part = folder / (WEIGHTS_FILE + ".part")
    save_file(tensors, part)
    part.replace(folder / WEIGHTS_FILE)
