"""The network behind the embedded detector and judge: what is where, and of which color.

A small residual network with two heads. At stride 8 every cell says whether it is the middle of
an object, how far the object's sides are, and which noun and color it has. At stride 4 every cell
says whether it belongs to an object and which color it shows, which gives masks and makes an
object of two colors visible as one.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from safetensors.torch import save as to_bytes
from torch import Tensor, nn
from torch.nn import functional

from bindbench.errors import UserError

SIDE = 128  # pixels: the side of the square images that the network sees
CELL = 8  # pixels: the side of a cell of the object head
FINE = 4  # pixels: the side of a cell of the mask head
BOX_UNIT = 16.0  # pixels: distances to a box's sides are predicted in this unit
WIDTHS = (24, 40, 80, 160)
FUSED = 128
FINE_WIDTH = 64


@dataclass(frozen=True)
class Outputs:
    """The raw maps of a batch of B images with N nouns and C colors."""

    objectness: Tensor  # (B, 16, 16) logits: the cell is the middle of an object
    sides: Tensor  # (B, 4, 16, 16): distance to the left, top, right, bottom, in BOX_UNIT
    nouns: Tensor  # (B, N, 16, 16) logits
    colors: Tensor  # (B, C, 16, 16) logits: of the object
    foreground: Tensor  # (B, 32, 32) logits: the cell is part of an object
    fine_colors: Tensor  # (B, C, 32, 32) logits: of the cell


def _convolution(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
    )


class Residual(nn.Module):
    """Two 3 x 3 convolutions beside an identity; it starts close to the identity."""

    def __init__(self, width: int):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(width)
        nn.init.constant_(self.second_norm.weight, 0.2)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, width, H, W) to the same shape."""
        y = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(x + self.second_norm(self.second(y)))


class PixelNetwork(nn.Module):
    """Maps normalised images of shape (B, 3, 128, 128) to ``Outputs``."""

    def __init__(self, n_nouns: int, n_colors: int, depths: tuple[int, int, int] = (1, 3, 2)):
        super().__init__()
        half, quarter, eighth, sixteenth = WIDTHS
        self.stem = nn.Sequential(_convolution(3, half, 2), _convolution(half, quarter, 2))
        self.stage4 = self._stage(quarter, depths[0])
        self.down8 = _convolution(quarter, eighth, 2)
        self.stage8 = self._stage(eighth, depths[1])
        self.down16 = _convolution(eighth, sixteenth, 2)
        self.stage16 = self._stage(sixteenth, depths[2])
        self.lateral = nn.Conv2d(sixteenth, eighth, 1)
        self.fuse = _convolution(2 * eighth, FUSED, 1)
        self.objectness = nn.Conv2d(FUSED, 1, 1)
        self.sides = nn.Conv2d(FUSED, 4, 1)
        self.nouns = nn.Conv2d(FUSED, n_nouns, 1)
        self.colors = nn.Conv2d(FUSED, n_colors, 1)
        self.to_fine = nn.Conv2d(FUSED, FINE_WIDTH // 2, 1)
        self.fine = _convolution(quarter + FINE_WIDTH // 2, FINE_WIDTH, 1)
        self.fine_out = nn.Conv2d(FINE_WIDTH, 1 + n_colors, 1)
        # Objects are rare among cells: start from "no object", or the first steps diverge.
        nn.init.constant_(self._bias(self.objectness), -3.0)

    @staticmethod
    def _stage(width: int, depth: int) -> nn.Sequential:
        return nn.Sequential(*(Residual(width) for _ in range(depth)))

    @staticmethod
    def _bias(layer: nn.Conv2d) -> Tensor:
        assert layer.bias is not None
        return layer.bias

    def forward(self, x: Tensor) -> Outputs:
        """Return the maps of a batch."""
        at4 = self.stage4(self.stem(x))
        at8 = self.stage8(self.down8(at4))
        at16 = self.stage16(self.down16(at8))
        wide = functional.interpolate(self.lateral(at16), scale_factor=2.0, mode="nearest")
        fused = self.fuse(torch.cat([at8, wide], 1))
        coarse = functional.interpolate(self.to_fine(fused), scale_factor=2.0, mode="nearest")
        fine = self.fine_out(self.fine(torch.cat([at4, coarse], 1)))
        return Outputs(
            objectness=self.objectness(fused)[:, 0],
            sides=self.sides(fused),
            nouns=self.nouns(fused),
            colors=self.colors(fused),
            foreground=fine[:, 0],
            fine_colors=fine[:, 1:],
        )


def normalise(images: np.ndarray) -> Tensor:
    """Turn uint8 images (B, 128, 128, 3) into the network's input (B, 3, 128, 128)."""
    x = torch.from_numpy(np.ascontiguousarray(images)).permute(0, 3, 1, 2).float() / 255
    return ((x - 0.5) / 0.25).contiguous(memory_format=torch.channels_last)


@dataclass(frozen=True)
class Thresholds:
    """Where the detector draws its lines; chosen on validation scenes by the training."""

    score: float = 0.1  # least objectness of a queried instance
    extra: float = 0.5  # least objectness of an instance that no query asked for
    noun: float = 0.2  # least probability of the queried noun
    color: float = 0.7  # least probability of the right color, for the label check


@dataclass(frozen=True)
class Trained:
    """A network with the names of its outputs."""

    network: PixelNetwork
    nouns: tuple[str, ...]
    colors: tuple[str, ...]
    thresholds: Thresholds


def save(trained: Trained, folder: Path, **facts: Any) -> None:
    """Write ``model.safetensors`` (half precision) and ``config.json`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        name: value.half().contiguous() if value.is_floating_point() else value
        for name, value in trained.network.state_dict().items()
    }
    (folder / "model.safetensors").write_bytes(to_bytes(state))
    config = {
        "nouns": trained.nouns,
        "colors": trained.colors,
        "thresholds": vars(trained.thresholds),
        **facts,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def load(folder: Path) -> Trained:
    """Load what ``save`` wrote, in single precision and ready for inference.

    Raises:
        UserError: a file is missing or is not what ``save`` writes.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        state = load_file(str(folder / "model.safetensors"))
        network = PixelNetwork(len(config["nouns"]), len(config["colors"]))
        network.load_state_dict(
            {k: v.float() if v.is_floating_point() else v for k, v in state.items()}
        )
        thresholds = Thresholds(**config["thresholds"])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise UserError(
            f"The validator's weights in {folder} can't be loaded ({error}): the folder must hold "
            "model.safetensors and config.json as 'bindbench train validator' writes them."
        ) from error
    network = network.eval().to(memory_format=torch.channels_last)
    return Trained(network, tuple(config["nouns"]), tuple(config["colors"]), thresholds)
