"""What the validator's network is trained to minimise."""

import torch
from torch import Tensor
from torch.nn import functional

from bindbench.models.pixel_network import BOX_UNIT, CELL, SIDE, Outputs
from bindbench.training.validator_augment import MAX_OBJECTS, Batch

MIDDLE = 0.17  # a cell this close to a box's centre (share of the side) is the object's middle
RING = 0.32  # a cell this close, but not in the middle, is neither right nor wrong
SMOOTHING = 0.03
NONE, IGNORED = 0, -1


def assign_cells(boxes: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
    """Say for each cell of the object head what it should find.

    Args:
        boxes: (B, K, 4), pixels.
        valid: bool (B, K).

    Returns:
        The target (B, 16, 16): 1 in the middle of an object, ``IGNORED`` around it, else
        ``NONE``; and the object that each cell belongs to (B, 16, 16).
    """
    axis = torch.arange(SIDE // CELL) * CELL + CELL / 2
    middle = (boxes[..., :2] + boxes[..., 2:]) / 2
    extent = (boxes[..., 2:] - boxes[..., :2]).clamp(min=CELL)
    across = (axis - middle[..., :1]).abs()[..., None, :]  # (B, K, 1, 16)
    down = (axis - middle[..., 1:]).abs()[..., :, None]
    width, height = extent[..., 0, None, None], extent[..., 1, None, None]
    here = valid[..., None, None]
    half = CELL / 2  # the cell that holds the centre always counts
    inside = ((across <= width * MIDDLE) | (across <= half)) & (
        (down <= height * MIDDLE) | (down <= half)
    )
    inside = inside & here
    ring = (across <= width * RING) & (down <= height * RING) & here
    target = torch.full(inside.shape[:1] + inside.shape[2:], float(NONE))
    target[ring.any(1)] = IGNORED
    target[inside.any(1)] = 1
    distance = torch.where(inside, (across / width) ** 2 + (down / height) ** 2, torch.inf)
    return target, distance.argmin(1)


def validator_loss(outputs: Outputs, batch: Batch) -> tuple[Tensor, dict[str, float]]:
    """Return the loss of a batch and its parts.

    Focal loss of the objectness x 3, smooth L1 of the sides x 0.7, cross-entropies of the noun,
    of the object's colors x 0.7, of the mask and of the cells' colors x 0.7. Every object weighs
    the same, however many cells are its middle.
    """
    valid = batch.nouns >= 0
    target, owner = assign_cells(batch.boxes, valid)
    image, row, column = torch.where(target > 0)
    k = owner[image, row, column]
    slot = image * MAX_OBJECTS + k
    weight = 1 / torch.bincount(slot, minlength=valid.numel())[slot].float()
    weight = weight / weight.sum().clamp(min=1)

    def at_cells(maps: Tensor) -> Tensor:
        return maps.float()[image, :, row, column]

    centres = torch.stack([column, row], 1) * CELL + CELL / 2
    boxes = batch.boxes[image, k]
    sides = torch.cat([centres - boxes[:, :2], boxes[:, 2:] - centres], 1) / BOX_UNIT
    box = functional.smooth_l1_loss(at_cells(outputs.sides), sides, beta=0.1, reduction="none")
    noun = functional.cross_entropy(
        at_cells(outputs.nouns),
        batch.nouns[image, k],
        reduction="none",
        label_smoothing=SMOOTHING,
    )
    color = functional.cross_entropy(
        at_cells(outputs.colors), _smooth(batch.shares[image, k]), reduction="none"
    )
    seen = batch.foreground > 0
    fine = functional.cross_entropy(
        outputs.fine_colors.float().permute(0, 2, 3, 1)[seen],
        _smooth(batch.fine_shares[seen]),
        reduction="none",
    )
    parts = {
        "object": _focal(outputs.objectness.float(), target) / valid.sum().clamp(min=1),
        "box": (box.sum(1) * weight).sum(),
        "noun": (noun * weight).sum(),
        "color": (color * weight).sum(),
        "mask": functional.binary_cross_entropy_with_logits(
            outputs.foreground.float(), batch.foreground
        ),
        "parts": (fine * batch.foreground[seen]).sum() / batch.foreground.sum().clamp(min=1),
    }
    total = (
        3 * parts["object"]
        + 0.7 * parts["box"]
        + parts["noun"]
        + 0.7 * parts["color"]
        + 2 * parts["mask"]
        + 0.7 * parts["parts"]
    )
    return total, {name: float(value.detach()) for name, value in parts.items()}


def _smooth(shares: Tensor) -> Tensor:
    return shares * (1 - SMOOTHING) + SMOOTHING / shares.shape[-1]


def _focal(logits: Tensor, target: Tensor) -> Tensor:
    """Return the summed focal loss (Lin et al. 2017), gamma 2, without the ignored cells."""
    positive = target > 0
    entropy = functional.binary_cross_entropy_with_logits(
        logits, positive.float(), reduction="none"
    )
    probability = logits.sigmoid()
    right = torch.where(positive, probability, 1 - probability)
    balance = torch.where(positive, 0.6, 0.4) * (target != IGNORED)
    return (balance * (1 - right) ** 2 * entropy).sum()
