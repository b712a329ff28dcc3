"""Small suites on images that cost nothing, whose tables can be worked out by hand."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "pipeline"))

from stand_ins import cheap_context

from bindbench.models import registry
from bindbench.models.base import Answer, GeneratedImage
from bindbench.models.family import Family, NoOptions
from bindbench.pipeline.base import Context
from bindbench.suite import FaithfulnessSettings, RoleSettings


@contextmanager
def with_models(
    root: Path, models: dict[tuple[str, str], Callable[[], Any]], **fields
) -> Iterator[Context]:
    """Give a context in which every image is accepted, with models of the test's own.

    Args:
        root: of the store.
        models: by role and family; a name is ``family:any``.
        fields: of the suite.
    """
    with pytest.MonkeyPatch.context() as patch:
        for (role, name), make in models.items():
            family = Family(role, name, (), NoOptions, lambda *_, make=make: make())
            patch.setitem(registry.FAMILIES, (role, name), family)
        with cheap_context(root, **fields) as context:
            yield context


class Painter:
    """Draws numbered images, and knows which object it dropped and which color leaked.

    Of four images the second lacks its second object, and in the third both have one color.
    """

    def __init__(self) -> None:
        self.drawn = []

    def generate(self, requests):
        return [GeneratedImage(self._one(request)) for request in requests]

    def _one(self, request):
        number = len(self.drawn)
        things = dict(zip(request.concept.objects, request.concept.labels, strict=True))
        first, second = request.concept.objects[:2]
        if number % 4 == 1:
            del things[second]
        if number % 4 == 2:
            things[second] = things[first]
        self.drawn.append(things)
        image = np.full((64, 64, 3), 255, np.uint8)
        image[0, 0] = number
        return image


class Witness:
    """Answers as the painter drew; of what is not there it says nothing."""

    def __init__(self, painter: Painter) -> None:
        self.painter = painter

    def answer(self, images, detections, questions):
        return [
            [self._one(self.painter.drawn[int(image[0, 0, 0])], question) for question in asked]
            for image, asked in zip(images, questions, strict=True)
        ]

    def _one(self, things, question):
        seen = [name for name in things if name in question.text]
        if question.options == ("yes", "no"):
            said = "yes" if seen else "no"
        elif question.text.startswith("How many"):
            said = question.options[sum(name[:4] in question.text for name in things)]
        else:
            said = things[seen[0]] if seen else ""
        return Answer(said, tuple(float(option == said) for option in question.options))


def role(name: str) -> RoleSettings:
    """Return the settings of a model."""
    return RoleSettings(model=name, batch_size=5)


def measured(context: Context, **fields) -> Context:
    """Return the context with models that measure images and captions."""
    from dataclasses import replace

    profile = context.suite.profile.model_copy(
        update={"faithfulness": FaithfulnessSettings(**fields)}
    )
    return replace(context, suite=context.suite.model_copy(update={"profile": profile}))
