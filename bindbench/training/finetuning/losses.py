"""Contrastive losses with hard negatives beside those of the batch.

Both take similarities of shape (B, B + M): column i < B is the caption of image i, the other M are
hard negatives, and no image's own caption is among them.
"""

import torch
from torch import Tensor
from torch.nn import functional


def infonce(logits: Tensor, excluded: Tensor) -> Tensor:
    """Return the symmetric loss of CLIP, with the hard negatives of all images as further texts.

    That of NegCLIP (Yuksekgonul et al., 2023; Auto-Comp, A.9): images choose among all B + M
    captions, captions among the B images.

    Args:
        logits: temperature times cosine, float (B, B + M).
        excluded: bool (B, B + M): captions that may be true of an image that is not their own, and
            take no part in its loss.
    """
    count = len(logits)
    right = torch.arange(count, device=logits.device)
    logits = logits.masked_fill(excluded, -torch.inf)
    by_image = functional.cross_entropy(logits, right)
    by_text = functional.cross_entropy(logits[:, :count].T, right)
    return (by_image + by_text) / 2


def sigmoid(logits: Tensor, excluded: Tensor) -> Tensor:
    """Return the loss of SigLIP (Zhai et al., 2023), each pair of image and caption for itself.

    The sum over all pairs of -log(sigmoid(z * logit)), with z = 1 for an image's own caption and
    -1 for any other, hard negatives among them; divided by the number of images.

    Args:
        logits: temperature times cosine plus bias, float (B, B + M).
        excluded: bool (B, B + M): pairs that take no part.
    """
    own = torch.eye(*logits.shape, dtype=torch.bool, device=logits.device)
    losses = -functional.logsigmoid(torch.where(own, logits, -logits))
    return losses.masked_fill(excluded, 0.0).sum() / len(logits)
