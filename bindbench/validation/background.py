"""The background check of the minimal track: is everything that is not an object nearly white?"""

from collections.abc import Sequence

import numpy as np
from PIL import Image as PillowImage
from scipy.ndimage import binary_dilation

from bindbench.models.base import Image

BACKGROUND = "background"


def background_share(
    image: Image, masks: Sequence[np.ndarray], min_gray: float = 190.0, dilation: int = 2
) -> float:
    """Return the share of the pixels outside all objects that are bright enough.

    Args:
        image: RGB, uint8 (height, width, 3).
        masks: the pixels of each object, bool (height, width).
        min_gray: least gray level, 0 to 255 (ITU-R BT.601 luma, rounded).
        dilation: pixels by which the masks are grown, since their rims are uncertain.

    Returns:
        A share in [0, 1]; 1 if the objects fill the image.
    """
    gray = np.asarray(PillowImage.fromarray(image).convert("L"))
    objects = np.zeros(image.shape[:2], dtype=bool)
    for mask in masks:
        objects |= mask
    if dilation and objects.any():
        objects = binary_dilation(objects, iterations=dilation)
    outside = np.logical_not(objects)
    return float((gray[outside] >= min_gray).mean()) if outside.any() else 1.0


def background_verdict(
    image: Image,
    masks: Sequence[np.ndarray],
    min_gray: float = 190.0,
    min_share: float = 0.7,
    dilation: int = 2,
) -> tuple[str, float]:
    """Check for a white background: ``min_share`` of it must reach ``min_gray``.

    The published rule is gray >= 190 on at least 70% of the pixels that are no object.

    Returns:
        The verdict, ``pass`` or ``background``, and the share of bright pixels.
    """
    share = background_share(image, masks, min_gray, dilation)
    return ("pass" if share >= min_share else BACKGROUND), share
