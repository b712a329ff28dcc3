"""Generative models as judges, against the plain use of each, and the shipped one on renders."""

from collections.abc import Sequence

import hf_contrastive_checkpoints
import numpy as np
import pytest
from hf_reference import PlainUse

from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.models import embedded_families, registry
from bindbench.models.base import Judge, Question
from bindbench.models.weights import WEIGHTS
from bindbench.suite import RoleSettings, VocabularySources
from bindbench.training.nano_clip_data import NanoPlan
from bindbench.training.nano_vlm_text import NUMBERS
from bindbench.training.validator_data import SceneSpec, draw, embedded_lexicon
from bindbench.validation.labels import label_questions, label_verdict

RNG = np.random.default_rng(0)
IMAGES = [RNG.integers(0, 256, (64, 64, 3), np.uint8) for _ in range(2)]
QUESTIONS = [
    Question("red or blue cup", ("red", "blue", "a green chair"), 0),
    Question("the color of the lamp", ("yellow", "green"), 1),
]


def load(model: str, **options) -> Judge:
    settings = RoleSettings(model=model, options=options)
    return registry.load("judge", settings, VocabularySources())


@pytest.mark.parametrize("family", ["gemma3", "qwen2_5_vl", "fast_vlm"])
def test_options_have_the_probabilities_of_plain_passes(family, checkpoint):
    judge = load(f"hf:{checkpoint(family)}", question="the image: {question} {options}")
    asked = [QUESTIONS, QUESTIONS[:1]]
    found = judge.answer(IMAGES, [[], []], asked)
    assert [len(answers) for answers in found] == [2, 1]
    for image, answers, questions in zip(IMAGES, found, asked, strict=True):
        for answer, question in zip(answers, questions, strict=True):
            plain = PlainUse(
                checkpoint(family), f"the image: {question.text} {', '.join(question.options)}"
            )
            counts = plain.count(image, list(question.options))
            sums = [
                plain.score(image, option, count)
                for option, count in zip(question.options, counts, strict=True)
            ]
            shares = np.exp(sums) / np.exp(sums).sum()
            assert answer.scores == pytest.approx(shares, abs=1e-3)
            assert answer.option == question.options[int(np.argmax(sums))]


def test_a_judge_answers_alike_alone_and_among_others(checkpoint):
    judge = load(f"hf:{checkpoint('qwen2_5_vl')}")
    together = judge.answer(IMAGES, [[], []], [QUESTIONS, QUESTIONS])
    alone = [judge.answer([image], [[]], [QUESTIONS])[0] for image in IMAGES]
    assert together == alone


def test_a_contrastive_model_is_no_judge(tmp_path):
    folder = hf_contrastive_checkpoints.save("clip", tmp_path)
    with pytest.raises(UserError, match="clip can't answer questions"):
        registry.resolve("judge", RoleSettings(model=f"hf:{folder}"))


def test_the_nano_family_knows_which_options_are_whose(monkeypatch):
    monkeypatch.setattr(embedded_families, "nano_weights", lambda name, options: {})
    settings = RoleSettings(model="nano:clip", options={"prompt": "What is this?"})
    with pytest.raises(UserError, match="the option prompt is for vlm and vlm-small"):
        registry.resolve("scorer", settings)
    settings = RoleSettings(model="nano:vlm", options={"prompt": "What is this?"})
    assert registry.resolve("scorer", settings)[2].prompt == "What is this?"
    with pytest.raises(UserError, match="nano:vlm"):
        registry.resolve("judge", RoleSettings(model="nano:clip"))


# The shipped model on fresh renders


PLAN = NanoPlan(embedded_lexicon(), 0)
COLORS = [
    Concept("color", ("bus",), ("orange",)),
    Concept("color", ("guitar", "bus"), ("red", "blue")),
    Concept("color", ("fire hydrant", "airplane"), ("yellow", "purple")),
    Concept("color", ("key", "chair", "helicopter"), ("green", "pink", "navy")),
]
RELATIONS = [
    Concept("position", ("bus", "guitar"), ("to the left of",)),
    Concept("position", ("umbrella", "chair"), ("above",)),
    Concept("position", ("bus", "key", "fan"), ("to the right of", "under")),
]
SHAPES = [
    Concept("shape_color", ("sphere", "cone"), ("green", "pink")),
    Concept("shape_color", ("torus", "cone"), ("purple", "yellow")),
]


def image_of(concept: Concept, fault: str | None, seed: int) -> np.ndarray:
    return draw(SceneSpec(concept, ("minimal", "contextual")[seed % 2], fault, seed), PLAN).image


def verdict(
    judge: Judge, image: np.ndarray, concept: Concept, questions: Sequence[Question]
) -> str:
    (answers,) = judge.answer([image], [[]], [questions])
    return label_verdict(concept, questions, answers)[0]


def closed(concept: Concept, kind: str) -> tuple[Concept, list[Question]]:
    """A question on the count or on the shapes, as the label check asks for other labels."""
    if kind == "count":
        questions = [Question("How many objects are there?", NUMBERS[1:], 0)]
        return Concept(concept.task_name, ("",), (NUMBERS[concept.n],)), questions
    names = PLAN.lexicon.shapes.names
    pairs = enumerate(concept.labels)
    questions = [Question(f"What shape is the {color} object?", names, i) for i, color in pairs]
    return Concept(concept.task_name, concept.objects, concept.objects), questions


CASES = [
    *(("color", concept, fault) for concept in COLORS[1:] for fault in ("leaked", "exchanged")),
    *(("relation", concept, "relation") for concept in RELATIONS),
    *(("count", concept, fault) for concept in COLORS[1:3] for fault in ("dropped", "doubled")),
    *(("shape", concept, "wrong_shape") for concept in SHAPES),
]


@pytest.mark.slow
@pytest.mark.skipif(not (WEIGHTS / "nano-vlm").exists(), reason="no weights of nano:vlm")
@pytest.mark.parametrize(("kind", "concept", "fault"), CASES)
def test_the_wrong_label_fails_and_the_right_one_passes(kind, concept, fault):
    judge, asked = load("nano:vlm"), (concept, label_questions(concept, PLAN.lexicon))
    if kind in ("count", "shape"):
        asked = closed(concept, kind)
    for seed in (1_000_001, 1_000_002):
        assert verdict(judge, image_of(concept, None, seed), *asked) == "pass"
        assert verdict(judge, image_of(concept, fault, seed), *asked) == "label"
