import json

import numpy as np
import pytest
import torch

from bindbench.errors import UserError
from bindbench.models.base import Detection, Question
from bindbench.models.pixel_detector import PixelDetector, match, select
from bindbench.models.pixel_instances import Instance, find_instances, fit_square
from bindbench.models.pixel_judge import Geometry, PixelJudge, direction
from bindbench.models.pixel_network import (
    Outputs,
    PixelNetwork,
    Thresholds,
    Trained,
    load,
    normalise,
    save,
)
from bindbench.vocabulary import Color, Lexicon, Noun, Relation, Vocabulary

NOUNS = ("cup", "chair", "lamp")
COLORS = ("red", "blue")
LINES = Thresholds(score=0.1, extra=0.5, noun=0.2, color=0.7)


def instance(score: float, *nouns: float, box=(0.0, 0.0, 8.0, 8.0), red: float = 1.0) -> Instance:
    mask = np.zeros((32, 32), dtype=bool)
    mask[int(box[1]) : int(box[3]), int(box[0]) : int(box[2])] = True
    return Instance(score, box, np.array(nouns), np.array([red, 1 - red]), mask)


def test_two_nouns_never_share_an_instance():
    # The first instance looks more like either noun, but each noun gets one.
    found = [instance(0.9, 0.5, 0.5, 0.0), instance(0.8, 0.3, 0.05, 0.65)]
    assert match(found, [0, 1], LINES) == [1, 0]


def test_an_unlikely_noun_is_not_found():
    assert match([instance(0.9, 0.1, 0.9, 0.0)], [0], LINES) == [-1]
    assert match([instance(0.05, 1.0, 0.0, 0.0)], [0], LINES) == [-1]
    assert match([], [0, 1], LINES) == [-1, -1]


def test_what_is_left_over_is_reported_under_its_own_noun_if_strong():
    found = [
        instance(0.9, 0.9, 0.1, 0.0),
        instance(0.7, 0.2, 0.7, 0.1),
        instance(0.4, 0.0, 0.0, 1.0),
    ]
    assert [(d.name, d.score) for d in select(found, [0], NOUNS, LINES)] == [
        ("cup", 0.9),
        ("chair", 0.7),
    ]


class Painted(torch.nn.Module):
    """Stands in for a network: sees a red cup where the image is red, a blue chair where blue."""

    def forward(self, x: torch.Tensor) -> Outputs:
        pixels = x * 0.25 + 0.5
        strength = torch.stack([pixels[:, 0] - pixels[:, 1], pixels[:, 2] - pixels[:, 1]], 1)
        fine = torch.nn.functional.avg_pool2d(strength, 4)
        objectness = torch.full((len(x), 16, 16), -9.0)
        sides = torch.zeros(len(x), 4, 16, 16)
        for b in range(len(x)):
            for k in range(2):
                rows, columns = torch.where(strength[b, k] > 0.5)
                if len(rows) == 0:
                    continue
                left, right = columns.min(), columns.max() + 1
                top, bottom = rows.min(), rows.max() + 1
                x = torch.arange(16) * 8 + 4
                for row in torch.where((x > top + 8) & (x < bottom - 8))[0]:
                    for column in torch.where((x > left + 8) & (x < right - 8))[0]:
                        objectness[b, row, column] = 4.0
                        sides[b, :, row, column] = (
                            torch.tensor(
                                [x[column] - left, x[row] - top, right - x[column], bottom - x[row]]
                            )
                            / 16
                        )
        coarse = torch.nn.functional.max_pool2d(fine, 2)
        nouns = torch.cat([coarse, torch.zeros_like(coarse[:, :1])], 1) * 20
        return Outputs(objectness, sides, nouns, coarse * 20, fine.amax(1) * 20 - 10, fine * 20)


def picture(side: int = 128) -> np.ndarray:
    image = np.full((side, side, 3), 255, dtype=np.uint8)
    unit = side // 32
    image[16 * unit : 24 * unit, 2 * unit : 12 * unit] = (255, 0, 0)
    image[2 * unit : 12 * unit, 18 * unit : 30 * unit] = (0, 0, 255)
    return image


@pytest.mark.parametrize("side", [128, 96, 256])
def test_boxes_and_masks_are_in_the_pixels_of_the_image(side):
    found = find_instances(Painted(), [picture(side)])[0]  # type: ignore[arg-type]
    assert len(found) == 2
    by_noun = {NOUNS[int(i.nouns.argmax())]: i for i in found}
    unit = side / 32
    assert by_noun["cup"].box == pytest.approx([2 * unit, 16 * unit, 12 * unit, 24 * unit], abs=4)
    assert by_noun["chair"].box == pytest.approx([18 * unit, 2 * unit, 30 * unit, 12 * unit], abs=4)
    assert by_noun["cup"].mask.shape == (side, side)
    assert by_noun["cup"].mask.sum() == pytest.approx(80 * unit**2, rel=0.15)
    assert not (by_noun["cup"].mask & by_noun["chair"].mask).any()
    assert by_noun["cup"].colors[0] > 0.99
    assert by_noun["chair"].colors[1] > 0.99


def test_an_oblong_image_keeps_its_proportions():
    image = np.zeros((64, 256, 3), dtype=np.uint8)
    square = fit_square(image)
    assert square.pixels.shape == (128, 128, 3)
    assert square.box(np.array([0.0, 0, 128, 32])) == (0, 0, 256, 64)
    assert square.mask(np.ones((128, 128))).shape == (64, 256)


def network() -> PixelNetwork:
    torch.manual_seed(0)
    return PixelNetwork(len(NOUNS), len(COLORS)).eval()


def test_saved_weights_are_small_and_reload_to_half_precision(tmp_path):
    original = network()
    save(Trained(original, NOUNS, COLORS, LINES), tmp_path, steps=7)
    loaded = load(tmp_path)
    assert (loaded.nouns, loaded.colors, loaded.thresholds) == (NOUNS, COLORS, LINES)
    assert (tmp_path / "model.safetensors").stat().st_size < 4e6
    assert json.loads((tmp_path / "config.json").read_text())["steps"] == 7
    x = normalise(np.random.default_rng(0).integers(0, 256, (2, 128, 128, 3)).astype(np.uint8))
    with torch.inference_mode():
        a, b = original(x), loaded.network(x)
    assert torch.allclose(a.nouns, b.nouns, atol=0.02)


def test_missing_weights_are_named(tmp_path):
    with pytest.raises(UserError, match=f"{tmp_path}.*bindbench train validator"):
        load(tmp_path)


def test_a_noun_outside_the_training_is_an_error_that_names_the_nearest(tmp_path):
    save(Trained(network(), NOUNS, COLORS, LINES), tmp_path)
    with pytest.raises(UserError, match=r"'lamb'.*lamp"):
        PixelDetector(tmp_path).detect([picture()], [["cup", "lamb"]])


@pytest.fixture
def judge() -> PixelJudge:
    def relation(name: str, inverse: str, axis: str, sign: int) -> Relation:
        return Relation.model_validate(
            {"name": name, "inverse": inverse, "axis": axis, "direction": sign}
        )

    lexicon = Lexicon(
        Vocabulary("objects", "few", tuple(Noun(name=n) for n in NOUNS)),
        Vocabulary("shapes", "none", ()),
        Vocabulary("colors", "two", tuple(Color(name=c, rgb="#000000") for c in COLORS)),
        Vocabulary(
            "positions",
            "two",
            (relation("above", "under", "vertical", 1), relation("under", "above", "vertical", -1)),
        ),
        Vocabulary(
            "sizes",
            "two",
            (
                relation("larger than", "smaller than", "size", 1),
                relation("smaller than", "larger than", "size", -1),
            ),
        ),
    )
    return PixelJudge(lexicon, Trained(Painted(), NOUNS, COLORS, LINES))  # type: ignore[arg-type]


def block(left: float, top: float, right: float, bottom: float, side: int = 100) -> Detection:
    mask = np.zeros((side, side), dtype=bool)
    mask[int(top) : int(bottom), int(left) : int(right)] = True
    return Detection("cup", 0.9, (left, top, right, bottom), mask)


def test_the_judge_answers_colors_and_nouns_from_the_pixels(judge):
    detections = [block(8, 64, 48, 96), block(72, 8, 120, 48)]
    questions = [
        Question("What is the color of the cup?", COLORS, 0),
        Question("What is the color of the chair?", ("blue", "red"), 1),
        Question("What is this?", NOUNS, 1),
    ]
    answers = judge.answer([picture()], [detections], [questions])[0]
    assert [answer.option for answer in answers] == ["red", "blue", "chair"]
    assert answers[0].scores[0] > 0.99
    assert answers[1].scores[0] > 0.99


def test_options_that_the_network_does_not_know_are_refused(judge):
    question = Question("What is it made of?", ("wood", "iron"), 0)
    with pytest.raises(UserError, match="made of"):
        judge.answer([picture()], [[block(0, 0, 9, 9)]], [[question]])


def test_relations_are_measured_along_their_axis(judge):
    image = np.zeros((100, 100, 3), dtype=np.uint8)
    high, low = block(10, 10, 30, 30), block(70, 60, 90, 80)
    question = Question("?", ("above", "under", "unclear"), 0, 1)
    [[answer]] = judge.answer([image], [[high, low]], [[question]])
    assert (answer.option, answer.scores) == ("above", (1, 0, 0))
    [[answer]] = judge.answer([image], [[low, high]], [[question]])
    assert answer.option == "under"
    [[answer]] = judge.answer([image], [[high, block(70, 22, 90, 42)]], [[question]])
    assert answer.option == "unclear"


def test_size_needs_the_extents_and_the_areas_to_agree(judge):
    image = np.zeros((100, 100, 3), dtype=np.uint8)
    question = Question("?", ("larger than", "smaller than", "unclear"), 0, 1)
    square, small, plank = block(0, 0, 40, 40), block(50, 50, 70, 70), block(0, 50, 60, 55)
    answers = [
        judge.answer([image], [[first, second]], [[question]])[0][0].option
        for first, second in ((square, small), (small, square), (square, plank), (square, square))
    ]
    # The plank is longer (60 to 40) but of less area (300 to 1600).
    assert answers == ["larger than", "smaller than", "unclear", "unclear"]


@pytest.mark.parametrize(("shift", "sign"), [(16, -1), (14, 0), (-14, 0), (-16, 1)])
def test_offsets_are_shares_of_the_longer_side(shift, sign):
    image = np.zeros((50, 100, 3), dtype=np.uint8)
    pair = block(40, 10, 50, 20), block(40 + shift, 10, 50 + shift, 20)
    assert direction(image, pair, "horizontal", Geometry(offset=0.15)) == sign


def test_the_shipped_weights_decide_fresh_renders():
    """Fault-free scenes pass and exchanged colors are caught, on scenes of unused seeds."""
    from bindbench.tasks import BENCHMARKS
    from bindbench.training.validator_data import CALIBRATION, Plan, draw, embedded_lexicon
    from bindbench.validation.labels import label_questions, label_verdict
    from bindbench.validation.presence import presence_verdict

    plan = Plan(embedded_lexicon(), 12345)
    specs = [
        plan.spec_of(CALIBRATION, i, BENCHMARKS["color-n2"], "minimal", fault)
        for fault in (None, "exchanged")
        for i in range(6)
    ]
    images = [draw(spec, plan).image for spec in specs]
    detector, judge = PixelDetector(), PixelJudge(plan.lexicon)
    queries = [spec.concept.objects for spec in specs]
    found = detector.detect(images, queries)
    again = detector.detect(images, queries)
    verdicts = []
    for i, (spec, detections) in enumerate(zip(specs, found, strict=True)):
        presence, matched = presence_verdict(spec.concept, detections, plan.lexicon, max_pair=1)
        assert [d.box for d in detections] == [d.box for d in again[i]]
        if presence != "pass":
            verdicts.append(presence)
            continue
        questions = label_questions(spec.concept, plan.lexicon)
        shown = [detections[k] for k in matched]
        [answers] = judge.answer([images[i]], [shown], [questions])
        least = detector.thresholds.color
        verdicts.append(label_verdict(spec.concept, questions, answers, least)[0])
    assert verdicts[:6].count("pass") >= 5
    assert "pass" not in verdicts[6:]
