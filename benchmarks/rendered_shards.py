"""The stage of ``engines.py``, in a module of its own: Ray's actors don't import a script."""

from bindbench.concepts import sample_concepts
from bindbench.models import registry
from bindbench.models.base import ImageRequest
from bindbench.suite import RoleSettings, VocabularySources
from bindbench.tasks import BENCHMARKS
from bindbench.training.validator_data import embedded_lexicon

SETTINGS = RoleSettings(model="mitsuba:icons", options={"resolution": 96, "samples": 8})
SOURCES = VocabularySources(objects="objects_embedded")
IMAGES = 2  # in a shard


def render(requests: list[ImageRequest]) -> int:
    """Render one shard's images and return how many they are."""
    return len(registry.load("generator", SETTINGS, SOURCES).generate(requests))


def shards(count: int) -> list[list[ImageRequest]]:
    """Return the requests of each shard."""
    sampled = sample_concepts(BENCHMARKS["color-n2"], embedded_lexicon(), count * IMAGES, seed=0)
    requests = [ImageRequest(s.concept, "", "minimal", s.index) for s in sampled]
    return [requests[i : i + IMAGES] for i in range(0, len(requests), IMAGES)]
