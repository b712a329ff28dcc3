"""What is wrong in an image fails: detector, judge and checks with outputs that are set by hand.

The outputs go through all that reads those of real models: Grounding DINO's processor and the rules
for its boxes, the presence and background checks, the judge's choice among options, the verdicts.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from detector_stand_ins import FullBoxes, Scene, Sees, hand_set_judge

from bindbench.concepts import Concept
from bindbench.models import registry
from bindbench.models.family import Family, NoOptions
from bindbench.models.found_boxes import Rules
from bindbench.models.grounding_dino_boxes import BoxFinder
from bindbench.models.grounding_dino_detector import GroundingDetector
from bindbench.models.grounding_dino_options import GroundingDinoOptions
from bindbench.models.hf_names import HfSource
from bindbench.models.pixel_judge import PixelJudge
from bindbench.pipeline import captions, concept_set, images
from bindbench.pipeline.validated import ValidateImages
from bindbench.suite import resolve_suite

COLOR = Concept("color", ("cup", "chair"), ("red", "blue"))
SHAPE = Concept("shape_color", ("cube", "sphere"), ("red", "blue"))
POSITION = Concept("position", ("cup", "chair"), ("to the left of",))
SIZE = Concept("relative_size", ("cup", "chair"), ("larger than",))
GLOVES = Concept("color", ("gloves", "chair"), ("red", "blue"))
BOW_TIE = Concept("color", ("bow tie", "chair"), ("red", "blue"))

LEFT, RIGHT, MIDDLE = (0.2, 0.5, 0.3, 0.3), (0.8, 0.5, 0.3, 0.3), (0.5, 0.2, 0.2, 0.2)
CUP, CHAIR = (LEFT, {"cup": 0.8}), (RIGHT, {"chair": 0.7})
RED_CUP, BLUE_CHAIR = {"the cup": {"red": -0.1}}, {"the chair": {"blue": -0.1}}
BOTH = RED_CUP | BLUE_CHAIR


def gloves(*places: tuple[float, float, float, float]) -> list[tuple]:
    return [*((place, {"gloves": 0.8}) for place in places), CHAIR]


ONE_GLOVE, OTHER_GLOVE, THIRD_GLOVE = (0.1, 0.5, 0.1, 0.2), (0.3, 0.5, 0.1, 0.2), MIDDLE
PAIR = (0.2, 0.5, 0.3, 0.2)  # around the first two
RED_GLOVES = {"the gloves": {"red": -0.1}} | BLUE_CHAIR
RED_TIE = {"the bow tie": {"red": -0.1}} | BLUE_CHAIR

Verdicts = tuple[str, str, str]  # presence, background, label
FINE: Verdicts = ("pass", "pass", "pass")


def missing(verdict: str) -> Verdicts:
    return (verdict, "not_run", "not_run")


def labelled(verdict: str) -> Verdicts:
    return ("pass", "pass", verdict)


CASES: dict[str, tuple[Concept, list, Mapping, Verdicts]] = {
    "all as it should be": (COLOR, [CUP, CHAIR], BOTH, FINE),
    # color
    "the wrong color": (
        COLOR,
        [CUP, CHAIR],
        RED_CUP | {"the chair": {"red": -0.1}},
        labelled("label"),
    ),
    "the colors exchanged": (
        COLOR,
        [CUP, CHAIR],
        {"the cup": {"blue": -0.1}, "the chair": {"red": -0.1}},
        labelled("label"),
    ),
    "a color like the right one": (
        COLOR,
        [CUP, CHAIR],
        RED_CUP | {"the chair": {"navy": -0.6, "blue": -0.9}},
        labelled("label"),
    ),
    "a color that is not sure": (
        COLOR,
        [CUP, CHAIR],
        RED_CUP | {"the chair": {"blue": -1.0, "navy": -1.1, "teal": -1.2}},
        labelled("unsure"),
    ),
    # count
    "an object too few": (COLOR, [CUP], BOTH, missing("missing")),
    "an object too many": (COLOR, [CUP, CHAIR, (MIDDLE, {"cup": 0.5})], BOTH, missing("count")),
    "nothing": (COLOR, [], BOTH, missing("missing")),
    "below the box threshold": (COLOR, [CUP, (RIGHT, {"chair": 0.39})], BOTH, missing("missing")),
    "overlapping duplicates": (
        COLOR,
        [
            CUP,
            CHAIR,
            ((0.22, 0.5, 0.3, 0.3), {"cup": 0.6}),
            ((0.8, 0.52, 0.3, 0.3), {"chair": 0.5}),
        ],
        BOTH,
        FINE,
    ),
    "one thing with both labels": (
        COLOR,
        [(LEFT, {"cup": 0.8, "chair": 0.7})],
        BOTH,
        missing("missing"),
    ),
    "two labels merged on the cup": (
        COLOR,
        [(LEFT, {"cup": 0.8, "chair": 0.5}), CHAIR],
        BOTH,
        FINE,
    ),
    # shape
    "the right shapes": (
        SHAPE,
        [(LEFT, {"cube": 0.8}), (RIGHT, {"sphere": 0.8})],
        {"the cube": {"red": -0.1}, "the sphere": {"blue": -0.1}},
        FINE,
    ),
    "the wrong shape": (
        SHAPE,
        [(LEFT, {"cube": 0.8}), (RIGHT, {"cone": 0.8, "sphere": 0.2})],
        {"the cube": {"red": -0.1}, "the sphere": {"blue": -0.1}},
        missing("missing"),
    ),
    "a shape twice": (
        SHAPE,
        [(LEFT, {"cube": 0.8}), (RIGHT, {"cube": 0.8})],
        {},
        missing("missing"),
    ),
    # relation
    "the right relation": (POSITION, [CUP, CHAIR], {"the cup": {"to the left of": -0.1}}, FINE),
    "the wrong relation": (
        POSITION,
        [CUP, CHAIR],
        {"the cup": {"to the right of": -0.1, "to the left of": -3}},
        labelled("label"),
    ),
    "no clear relation": (
        POSITION,
        [CUP, CHAIR],
        {"the cup": {"unclear": -0.1}},
        labelled("label"),
    ),
    "the wrong size": (SIZE, [CUP, CHAIR], {"the cup": {"smaller than": -0.1}}, labelled("label")),
    # pairs
    "gloves as one box": (GLOVES, gloves(PAIR), RED_GLOVES, FINE),
    "gloves as two boxes": (GLOVES, gloves(ONE_GLOVE, OTHER_GLOVE), RED_GLOVES, FINE),
    "gloves as a pair and two boxes": (
        GLOVES,
        gloves(PAIR, ONE_GLOVE, OTHER_GLOVE),
        RED_GLOVES,
        FINE,
    ),
    "three gloves": (
        GLOVES,
        gloves(ONE_GLOVE, OTHER_GLOVE, THIRD_GLOVE),
        RED_GLOVES,
        missing("count"),
    ),
    # nested nouns
    "a bow tie": (BOW_TIE, [(LEFT, {"bow": 0.7, "tie": 0.8}), CHAIR], RED_TIE, FINE),
    "a necktie": (BOW_TIE, [(LEFT, {"bow": 0.2, "tie": 0.8}), CHAIR], RED_TIE, missing("missing")),
    "a bow tie and a necktie": (
        BOW_TIE,
        [(LEFT, {"bow": 0.7, "tie": 0.8}), (MIDDLE, {"tie": 0.8}), CHAIR],
        RED_TIE,
        FINE,
    ),
}
SCENES = {
    name: Scene(255 - k, things, answers)
    for k, (name, (_, things, answers, _)) in enumerate(CASES.items())
}


@pytest.fixture(scope="module")
def finder(detector) -> BoxFinder:
    source = HfSource("tiny", str(detector("grounding_dino")), None, "detector", "grounding-dino")
    return BoxFinder(source, GroundingDinoOptions())


@pytest.fixture
def validate(finder, lexicon, monkeypatch):
    """Returns the rows of images, one for each concept and scene."""

    def run(
        key: str, cases: list[tuple[Concept, Scene]], judge: Any = None
    ) -> list[dict[str, Any]]:
        scenes = [scene for _, scene in cases]
        monkeypatch.setattr(finder, "_model", Sees(finder._processor, scenes))
        known = {*lexicon.objects.names, *lexicon.shapes.names}
        made = {
            "detector": GroundingDetector(finder, FullBoxes(), known, Rules()),
            "judge": judge or hand_set_judge(scenes),
        }
        for role, model in made.items():
            family = Family(role, "stand", ("in",), NoOptions, lambda *_, model=model: model)
            monkeypatch.setitem(registry.FAMILIES, (role, "stand"), family)
        registry._load.cache_clear()
        over: dict[str, Any] = {role: {"model": "stand:in"} for role in made}
        over["vocabularies"] = {"objects": "objects365"}
        over["validation"] = {"label_score": 0.5, "pair_instances": 2}
        suite = resolve_suite({"name": "faults", "benchmarks": [key], "overrides": over}, "faults")
        table = ValidateImages(suite, key)(Shard(cases))
        registry._load.cache_clear()
        return table.to_pylist()

    return run


class Shard:
    """Stands in for the artifacts that the stage reads."""

    def __init__(self, cases: list[tuple[Concept, Scene]]) -> None:
        self.cases = cases
        self.artifacts = (concept_set.NAME, captions.NAME, images.NAME)

    def rows(self, asset: str, columns: Any = None) -> list[dict[str, Any]]:
        return [
            {
                concept_set.NAME: {"index": i, "scene_id": concept.id},
                captions.NAME: {
                    "index": i,
                    "concept_id": concept.id,
                    "track": "minimal",
                    "objects": list(concept.objects),
                    "labels": list(concept.labels),
                    "text": "",
                    "slots": [],
                },
                images.NAME: {
                    "index": i,
                    "track": "minimal",
                    "image": {"bytes": images.encode_png(scene.image())},
                },
            }[asset]
            for i, (concept, scene) in enumerate(self.cases)
        ]


@pytest.mark.parametrize("name", CASES)
def test_a_case_has_its_verdict(name, validate):
    concept, _, _, verdicts = CASES[name]
    (row,) = validate(f"{concept.task_name}-n2", [(concept, SCENES[name])])
    assert (row["presence"], row["background"], row["label"]) == verdicts, row["reason"]
    assert row["accepted"] == (verdicts == FINE)


def test_in_one_batch_each_image_has_its_own_verdict(validate):
    names = [name for name, case in CASES.items() if case[0].task_name == "color"]
    rows = validate("color-n2", [(CASES[name][0], SCENES[name]) for name in names])
    found = [(row["presence"], row["background"], row["label"]) for row in rows]
    assert found == [CASES[name][3] for name in names]


def test_the_reason_names_the_wrong_answer(validate):
    (row,) = validate("color-n2", [(COLOR, SCENES["the wrong color"])])
    assert row["reason"] == "chair: red, not blue"
    (row,) = validate("position-n2", [(POSITION, SCENES["the wrong relation"])])
    assert row["reason"] == "cup, chair: to the right of, not to the left of"


def test_detections_are_kept_with_an_image(validate):
    (row,) = validate("color-n2", [(COLOR, SCENES["all as it should be"])])
    assert row["names"] == ["cup", "chair"]
    assert row["scores"] == pytest.approx([0.8, 0.7])
    assert row["boxes"][0] == pytest.approx([0.05 * 64, 0.35 * 64, 0.35 * 64, 0.65 * 64])
    assert row["areas"] == [(22 - 3) * (42 - 22), (61 - 42) * (42 - 22)]
    assert row["matched"] == [0, 1]


def test_a_dark_background_fails(validate):
    scene = Scene(189, [CUP, CHAIR], BOTH)
    (row,) = validate("color-n2", [(COLOR, scene)])
    assert (row["presence"], row["background"], row["label"]) == ("pass", "background", "not_run")
    assert row["background_share"] == 0.0


# A judge that measures: the relation of boxes and masks


def measured(lexicon) -> PixelJudge:
    return PixelJudge(lexicon)


@pytest.mark.parametrize(
    ("concept", "things", "verdict"),
    [
        (POSITION, [CUP, CHAIR], "pass"),
        (POSITION, [(RIGHT, {"cup": 0.8}), (LEFT, {"chair": 0.7})], "label"),
        (
            POSITION,
            [((0.5, 0.2, 0.2, 0.2), {"cup": 0.8}), ((0.5, 0.8, 0.2, 0.2), {"chair": 0.7})],
            "label",
        ),
        (
            SIZE,
            [((0.3, 0.5, 0.5, 0.5), {"cup": 0.8}), ((0.8, 0.5, 0.2, 0.2), {"chair": 0.7})],
            "pass",
        ),
        (
            SIZE,
            [((0.2, 0.5, 0.2, 0.2), {"cup": 0.8}), ((0.7, 0.5, 0.5, 0.5), {"chair": 0.7})],
            "label",
        ),
    ],
)
def test_relations_are_measured_on_the_boxes_and_masks(validate, lexicon, concept, things, verdict):
    rows = validate(f"{concept.task_name}-n2", [(concept, Scene(255, things))], measured(lexicon))
    assert [(row["presence"], row["label"]) for row in rows] == [("pass", verdict)]


def test_the_size_of_a_pair_is_that_of_both(validate, lexicon):
    # Each glove is smaller than the chair; the two together are larger.
    concept = Concept("relative_size", ("gloves", "chair"), ("larger than",))
    places = [(0.2, 0.25, 0.3, 0.4), (0.2, 0.75, 0.3, 0.4)]
    things = [
        *((place, {"gloves": 0.8}) for place in places),
        ((0.8, 0.5, 0.3, 0.45), {"chair": 0.7}),
    ]
    (row,) = validate("relative_size-n2", [(concept, Scene(255, things))], measured(lexicon))
    assert row["names"] == ["gloves", "gloves", "chair"]
    assert (row["presence"], row["label"]) == ("pass", "pass")
