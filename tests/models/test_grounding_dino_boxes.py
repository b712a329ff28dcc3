"""Boxes of zero-shot detectors against plain use of transformers, one image and noun at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as hf
from detector_checkpoints import FAMILIES
from detector_stand_ins import Scene, Sees

from bindbench.errors import UserError
from bindbench.models.found_boxes import FoundBox
from bindbench.models.grounding_dino_boxes import BoxFinder, query_text
from bindbench.models.grounding_dino_options import GroundingDinoOptions
from bindbench.models.hf_names import HfSource

RNG = np.random.default_rng(0)
IMAGES = [RNG.integers(0, 256, (h, w, 3), np.uint8) for h, w in ((48, 64), (40, 40), (48, 64))]
NOUNS = [["cup", "bow tie", "hot-air balloon"], ["sports car"], ["gloves", "lamp"]]
BOX = {"owlv2": 0.2, "omdet_turbo": 0.6}  # thresholds in the middle of a tiny model's scores
PIXELS = 0.05


def finder_of(folder: Path, family: str, **options) -> BoxFinder:
    source = HfSource("tiny", str(folder), None, "detector", family.replace("_", "-"))
    return BoxFinder(source, GroundingDinoOptions(**options))


def plain_use(
    folder: Path, family: str, image: np.ndarray, noun: str, box: float, text: float
) -> dict:
    """As the model's page on the hub shows it."""
    processor = hf.AutoProcessor.from_pretrained(folder)
    model = hf.AutoModelForZeroShotObjectDetection.from_pretrained(folder).eval()
    grounded = family.endswith("grounding_dino")
    query = f"{noun}." if grounded else [noun]
    inputs = processor(images=image, text=[query], return_tensors="pt")
    with torch.no_grad():
        outputs = model(**inputs)
    own = {"text_threshold": text} if grounded else {}
    return processor.post_process_grounded_object_detection(
        outputs, threshold=box, target_sizes=[image.shape[:2]], **own, **ids_of(inputs, grounded)
    )[0]


def ids_of(inputs, grounded: bool) -> dict:
    return {"input_ids": inputs.input_ids} if grounded else {}


def clipped(box: list[float], image: np.ndarray) -> list[float]:
    height, width = image.shape[:2]
    return np.clip(box, 0, [width, height, width, height]).tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_boxes_are_those_of_plain_use(family, detector):
    threshold = BOX.get(family, 0.4)
    found = finder_of(detector(family), family, box_threshold=threshold).find(IMAGES, NOUNS)
    counts = []
    for image, nouns, answers in zip(IMAGES, NOUNS, found, strict=True):
        assert len(answers) == len(nouns)
        for noun, boxes in zip(nouns, answers, strict=True):
            plain = plain_use(detector(family), family, image, noun, threshold, 0.3)
            wanted = [
                (score, clipped(box, image), words)
                for score, box, words in zip(
                    plain["scores"].tolist(),
                    plain["boxes"].tolist(),
                    plain["text_labels"] or [None] * len(plain["scores"]),
                    strict=True,
                )
            ]
            wanted = [it for it in wanted if it[1][0] < it[1][2] and it[1][1] < it[1][3]]
            assert [box.score for box in boxes] == pytest.approx([w[0] for w in wanted], abs=2e-4)
            for box, (_, place, words) in zip(boxes, wanted, strict=True):
                assert box.box == pytest.approx(place, abs=PIXELS)
                assert (box.words is None) == (words is None)
                if words is not None:
                    own = noun.replace("-", " ").split()
                    said = [word for word in words.replace(".", " ").split() if word in own]
                    assert box.words.replace("-", " ").split() == said
            counts.append(len(boxes))
    assert sum(counts) > 10
    assert len(set(counts)) > 1


def test_thresholds_are_those_of_the_options(detector):
    folder, family = detector("grounding_dino"), "grounding_dino"
    low = finder_of(folder, family, box_threshold=0.2).find(IMAGES, NOUNS)
    high = finder_of(folder, family, box_threshold=0.9).find(IMAGES, NOUNS)
    few = finder_of(folder, family, box_threshold=0.2, text_threshold=0.9).find(IMAGES, NOUNS)

    def boxes(found) -> list[FoundBox]:
        return [box for image in found for noun in image for box in noun]

    assert 0 < len(boxes(high)) < len(boxes(low)) == len(boxes(few))
    assert min(box.score for box in boxes(high)) > 0.9 > min(box.score for box in boxes(low)) > 0.2
    shorter = [
        len(b.words or "") < len(a.words or "") for a, b in zip(boxes(low), boxes(few), strict=True)
    ]
    assert any(shorter)


def test_half_precision_gives_nearly_the_same(detector):
    folder, family = detector("grounding_dino"), "grounding_dino"
    single = finder_of(folder, family, box_threshold=0.0).find(IMAGES[:1], [["cup"]])[0][0]
    half = finder_of(folder, family, box_threshold=0.0, dtype="bfloat16")
    half = half.find(IMAGES[:1], [["cup"]])[0][0]
    scores = [sorted(box.score for box in boxes) for boxes in (single, half)]
    assert scores[0] != scores[1]
    assert scores[1] == pytest.approx(scores[0], abs=0.2)


def test_each_query_is_one_noun_and_each_pass_one_size(detector, monkeypatch):
    finder = finder_of(detector("grounding_dino"), "grounding_dino")
    passes = []
    plain = finder._find

    def note(queries):
        passes.append([(image.shape[:2], noun) for image, noun in queries])
        return plain(queries)

    monkeypatch.setattr(finder, "_find", note)
    finder.find(IMAGES, NOUNS)
    assert all(len({size for size, _ in queries}) == 1 for queries in passes)
    assert max(map(len, passes)) <= len(IMAGES)
    asked = [noun for queries in passes for _, noun in queries]
    assert sorted(asked) == sorted(noun for nouns in NOUNS for noun in nouns)
    assert query_text("Bow Tie") == "bow tie."


def test_several_names_in_one_query_would_merge_and_do_not(detector):
    """What looks a little like both gets both names; asked for one at a time it gets one."""
    finder = finder_of(detector("grounding_dino"), "grounding_dino")
    scene = Scene(200, [((0.5, 0.5, 0.5, 0.5), {"cup": 0.9, "chair": 0.5})])
    finder._model, image = Sees(finder._processor, [scene]), scene.image()
    inputs = finder._processor(images=image, text="cup. chair.", return_tensors="pt")
    merged = finder._processor.post_process_grounded_object_detection(
        finder._model(**inputs), inputs.input_ids, 0.4, 0.3, target_sizes=[(64, 64)]
    )
    assert merged[0]["text_labels"] == ["cup chair"]
    ((cup,), (chair,)) = finder.find([image], [["cup", "chair"]])[0]
    assert (cup.words, chair.words) == ("cup", "chair")
    assert (cup.score, chair.score) == pytest.approx((0.9, 0.5))
    assert cup.box == chair.box == (16.0, 16.0, 48.0, 48.0)


def test_nan_is_not_taken_for_nothing_found(detector):
    finder = finder_of(detector("grounding_dino"), "grounding_dino", dtype="float16")
    scene = Scene(200, [((0.5, 0.5, 0.5, 0.5), {"cup": 2.0})])  # no probability
    finder._model = Sees(finder._processor, [scene])
    with pytest.raises(UserError, match=r"tiny gave NaN for 'cup' in float16: .* dtype to float32"):
        finder.find([scene.image()], [["chair", "cup"]])


def test_where_memory_runs_out_passes_are_halved(detector, monkeypatch, caplog):
    finder = finder_of(detector("grounding_dino"), "grounding_dino")
    whole = finder.find(IMAGES, NOUNS)
    sizes = []
    plain = finder._find

    def scarce(queries):
        sizes.append(len(queries))
        if len(queries) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return plain(queries)

    monkeypatch.setattr(finder, "_find", scarce)
    again = finder.find(IMAGES, NOUNS)
    assert [[len(n) for n in i] for i in again] == [[len(n) for n in i] for i in whole]
    assert max(sizes) > 1
    assert sizes.count(1) == 6
    assert "out of memory" in caplog.text
