"""The asset ``first_checks``: what the checks say of the first track, before the other is made."""

from bindbench.pipeline import images, validated
from bindbench.pipeline.base import Context
from bindbench.storage.store import Artifact

NAME = images.FIRST_CHECKS
CODE_VERSION = validated.CODE_VERSION


def build(context: Context, key: str) -> Artifact:
    """Build the verdicts of the first track's images."""
    return validated.build_as(NAME, context, key, images.FIRST_IMAGES)
