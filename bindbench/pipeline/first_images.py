"""The asset ``first_images``: where only pairs are wanted, the images of the first track alone."""

from bindbench.pipeline import captions, images
from bindbench.pipeline.base import Context, aligned
from bindbench.storage.store import Artifact
from bindbench.tasks import TRACKS

NAME = images.FIRST_IMAGES
CODE_VERSION = images.CODE_VERSION
FIRST = TRACKS[0]  # minimal: one caption a concept, no writer, and most of what fails fails here


def build(context: Context, key: str) -> Artifact:
    """Build the images of the first track."""
    settings = images.settings_of(context, key) | {"tracks": [FIRST]}
    shards = aligned(settings, {captions.NAME: context.current(captions.NAME, key)})
    context = context.holding("generator", context.suite.profile.generator)
    function = images.MakeImages(context.suite, key, (FIRST,))
    return context.build(NAME, key, images.SCHEMA, settings, shards, function)
