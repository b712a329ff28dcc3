"""The camera: where points of the scene appear in the image.

Image coordinates are in units of the image side: u to the right and v upwards, both in [0, 1].
"""

from dataclasses import dataclass

import numpy as np

WINDOW = 3.2  # world units that one image side spans at the target's distance


@dataclass(frozen=True)
class Camera:
    """A pinhole camera in front of the scene (y < 0), above its target (0, 0, ``height``)."""

    height: float
    elevation: float  # radians
    fov: float  # degrees, of the whole image side

    @property
    def distance(self) -> float:
        """Distance to the target, in world units."""
        return WINDOW / 2 / float(np.tan(np.radians(self.fov) / 2))

    @property
    def target(self) -> tuple[float, float, float]:
        """The point that the camera looks at."""
        return (0.0, 0.0, self.height)

    @property
    def origin(self) -> tuple[float, float, float]:
        """The camera's place."""
        back, up = np.cos(self.elevation), np.sin(self.elevation)
        return (0.0, -float(back) * self.distance, self.height + float(up) * self.distance)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return the image coordinates (P, 2) of world points (P, 3)."""
        sin, cos = np.sin(self.elevation), np.cos(self.elevation)
        z = points[:, 2] - self.height
        depth = self.distance + points[:, 1] * cos - z * sin
        scale = self.distance / depth / WINDOW
        right, up = points[:, 0], z * cos + points[:, 1] * sin
        return np.stack([0.5 + right * scale, 0.5 + up * scale], 1)


def turned(points: np.ndarray, degrees: float) -> np.ndarray:
    """Return points (P, 3) turned about the vertical axis."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.stack(
        [
            points[:, 0] * cos - points[:, 1] * sin,
            points[:, 0] * sin + points[:, 1] * cos,
            points[:, 2],
        ],
        1,
    )
