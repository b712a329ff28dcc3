"""The checks of ConMe's stages: what passes, and what holds a conversation back."""

import json

import numpy as np
import pytest
from conme_driver import build, context_of, fields_of
from PIL import Image as PILImage

from bindbench.models import registry
from bindbench.models.base import Reply
from bindbench.pipeline import conme_evaluation, conme_quality, conme_questions
from bindbench.pipeline.base import Context, whole

WHERE = "photos--panel"


class Stand:
    """Asks of every image but dark ones; chooses the first option, or the right one."""

    def __init__(self, name: str):
        self.name = name

    def reply(self, requests):
        return [Reply(self._text(request)) for request in requests]

    def _text(self, request) -> str:
        if request.prompt.startswith("You examine"):
            dark = self.name == "picky" and request.image.mean() < 100
            one = {
                "question": f"What is it, {self.name}?",
                "answer": "cup",
                "negatives": ["jug", "pan"],
            }
            return "" if dark else json.dumps([one])
        if "\nA. " in request.prompt and self.name == "right":
            return "A" if "\nA. cup\n" in request.prompt else "B"
        return "A"


@pytest.fixture(autouse=True)
def stands(monkeypatch):
    options = registry.FAMILIES["answerer", "check"].options
    names = ("strong", "picky", "first", "right")
    family = registry.Family("answerer", "stand", names, options, lambda n, *_: Stand(n.name))
    monkeypatch.setitem(registry.FAMILIES, ("answerer", "stand"), family)
    registry._load.cache_clear()


def context(tmp_path, strong="strong", targets=("first", "right"), **more) -> Context:
    folder = tmp_path / "images"
    folder.mkdir(exist_ok=True)
    for shade in (50, 60, 200):
        PILImage.fromarray(np.full((8, 8, 3), shade, np.uint8)).save(folder / f"{shade}.png")
    panel = {
        "strong": {"model": f"stand:{strong}"},
        "targets": [{"model": f"stand:{name}"} for name in targets],
    }
    chosen = {"source": "folder", "images": str(folder)}
    return context_of(fields_of(chosen, panel, **more), tmp_path / "store")


def test_a_whole_conversation_passes(tmp_path):
    library = context(tmp_path)
    build(library)
    assert conme_quality.images_there(library, "photos").observed == {"images": 3}
    for judge in (conme_quality.first_asked, conme_quality.harder_asked):
        found = judge(library, WHERE)
        assert (found.passed, found.observed["images"], found.observed["rejected"]) == (True, 3, 0)
    for judge in (conme_quality.first_counted, conme_quality.second_counted):
        found = judge(library, WHERE)
        assert (found.passed, found.observed) == (
            True,
            {"samples": 6, "kept": 6, "survival": 1.0},
        )
    assert conme_quality.samples_left(library, WHERE).observed == {"samples": 6}


def test_too_many_images_without_questions_fail(tmp_path):
    library = context(tmp_path, strong="picky")
    build(library)
    found = conme_quality.first_asked(library, WHERE)
    assert found.failed == (
        "66.7% of the images of photos--panel have no questions (empty reply 2), more than "
        "conme.rejected, 50.0%",
    )
    assert found.observed["reasons"] == {"empty reply": 2}
    # The second round counts those alone that had questions in the first.
    assert conme_quality.harder_asked(library, WHERE).observed["images"] == 1
    assert conme_quality.harder_asked(library, WHERE).passed
    assert conme_quality.first_asked(context(tmp_path, "picky", rejected=0.7), WHERE).passed


def test_nothing_left_fails(tmp_path):
    library = context(tmp_path, targets=("right", "right@2"))
    build(library)
    found = conme_quality.second_counted(library, WHERE)
    assert (found.passed, found.observed["survival"]) == (True, 0.0)
    (why,) = conme_quality.samples_left(library, WHERE).failed
    assert "all targets of photos--panel are right on everything" in why


def test_a_round_of_other_questions_fails(tmp_path):
    build(context(tmp_path))
    other = context(tmp_path, strong="picky")  # asks less, in other words
    conme_questions.build(other, WHERE)
    found = conme_quality.first_counted(other, WHERE)
    assert found.failed == ("photos--panel has 6 samples in round 1 instead of 2",)


def test_a_choice_that_is_missing_or_twice_fails(tmp_path):
    library = context(tmp_path, modes=["generate", "blind"])
    build(library)
    artifact = conme_evaluation.build(library, WHERE, "stand-first")
    place = artifact.partition
    found = conme_quality.evaluated_whole(library, place)
    assert found.passed
    assert found.observed == {"samples": 12, "modes": ["generate", "blind"], "no_choice": 0.0}
    rows = artifact.read()
    for name, altered, why in (
        ("missing", rows.slice(1), "lacks the choices of some samples"),
        ("twice", rows.take([0, *range(len(rows))]), "has 1 choices twice"),
    ):
        summary = dict(artifact.summary)
        library.build(
            artifact.asset, place, rows.schema, {"test": name}, whole({"test": name}, {}),
            lambda task, altered=altered: altered, lambda _, summary=summary: summary,
        )  # fmt: skip
        (said,) = conme_quality.evaluated_whole(library, place).failed
        assert why in said
