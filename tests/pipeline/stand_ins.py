"""Images, detections and answers that cost nothing, so that a test can have many items."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from spine_driver import small_suite

from bindbench.engine.local import LocalEngine
from bindbench.models import registry
from bindbench.models.base import Answer, Detection, GeneratedImage
from bindbench.models.family import Family, NoOptions
from bindbench.pipeline.base import Context
from bindbench.storage.store import Store


class White:
    """Generates white images."""

    def generate(self, requests):
        return [GeneratedImage(np.full((64, 64, 3), 255, np.uint8)) for _ in requests]


class Everything:
    """Finds every noun, on a diagonal, each larger than the one before."""

    def detect(self, images, nouns):
        return [[self.found(i, name) for i, name in enumerate(names)] for names in nouns]

    def found(self, i, name):
        left, size = 2 + 20 * i, 6 * (i + 1)
        mask = np.zeros((64, 64), bool)
        mask[left : left + size, left : left + size] = True
        return Detection(name, 1.0, (left, left, left + size, left + size), mask)


DARKEST = 200


class Gray:
    """Draws one gray value, by the seed."""

    def generate(self, requests):
        return [
            GeneratedImage(np.full((64, 64, 3), DARKEST + r.seed % 12, np.uint8)) for r in requests
        ]


class Misses(Everything):
    """Finds nothing in every k-th gray value."""

    def __init__(self, k: int) -> None:
        self.k = k

    def detect(self, images, nouns):
        found = super().detect(images, nouns)
        missed = [(int(image[0, 0, 0]) - DARKEST) % self.k == 0 for image in images]
        return [[] if miss else own for miss, own in zip(missed, found, strict=True)]


class First:
    """Answers every question with its first option."""

    def answer(self, images, detections, questions):
        return [
            [Answer(q.options[0], (1.0,) * len(q.options)) for q in asked] for asked in questions
        ]


@contextmanager
def cheap_context(root: Path, **fields) -> Iterator[Context]:
    """Give the context of a suite in which every image is accepted."""
    roles = {"generator": White, "detector": Everything, "judge": First}
    with pytest.MonkeyPatch.context() as patch:
        for role, made in roles.items():
            family = Family(role, "stand", ("in",), NoOptions, lambda *_, made=made: made())
            patch.setitem(registry.FAMILIES, (role, "stand"), family)
        patch.setattr("bindbench.pipeline.judging.label_verdict", lambda *_: ("pass", ""))
        registry._load.cache_clear()  # another test's stand-ins have the same names
        suite = small_suite(**fields)
        stand_in = registry.RoleSettings(model="stand:in")
        profile = suite.profile.model_copy(update=dict.fromkeys(roles, stand_in))
        suite = suite.model_copy(update={"profile": profile})
        yield Context(suite, Store(root, suite.name), LocalEngine(1))
