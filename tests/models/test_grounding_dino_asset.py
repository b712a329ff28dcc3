"""The detector through the asset ``validated``, against plain use of both libraries."""

from pathlib import Path

import numpy as np
import pytest
import transformers as hf
from sam2.sam2_image_predictor import SAM2ImagePredictor
from test_grounding_dino_boxes import clipped, plain_use
from test_sam2_masks import built, plain_masks

from bindbench.engine.local import LocalEngine
from bindbench.models.found_boxes import FoundBox, Rules, plain_words, resolve
from bindbench.pipeline import captions, concept_set, images, validated, vocabularies
from bindbench.pipeline.base import Context
from bindbench.storage.store import Artifact, Store
from bindbench.suite import resolve_suite

KEY = "position-n2"
PLAIN = {"box": 0.5, "text": 0.2}


def context_of(root: Path, detector: Path, segmenter: tuple[Path, Path], batch: int) -> Context:
    checkpoint, config = segmenter
    fields = {
        "name": "small",
        "benchmarks": [KEY],
        "concepts": 3,
        "overrides": {
            "shard_size": 3,
            "survival": {"captions": {"low": 0.0}, "presence": {"low": 0.0}},
            "generator": {"options": {"samples": 1, "resolution": 64, "faults": {}}},
            "detector": {
                "model": f"grounding_dino:{detector}",
                "batch_size": batch,
                "options": {
                    "segmenter": str(checkpoint),
                    "segmenter_config": str(config),
                    "box_threshold": PLAIN["box"],
                    "text_threshold": PLAIN["text"],
                },
            },
        },
    }
    suite = resolve_suite(fields, "small.yaml")
    return Context(suite, Store(root, suite.name), LocalEngine(1))


@pytest.fixture(scope="module")
def context(tmp_path_factory, detector, segmenter) -> Context:
    root = tmp_path_factory.mktemp("store")
    context = context_of(root, detector("grounding_dino"), segmenter, batch=4)
    vocabularies.build(context)
    for stage in (concept_set, captions, images):
        stage.build(context, KEY)
    return context


@pytest.fixture(scope="module")
def artifact(context) -> Artifact:
    return validated.build(context, KEY)


def plainly(context: Context, detector: Path, segmenter: tuple[Path, Path]) -> list[dict]:
    """Both libraries as their authors show them, one image and one noun at a time."""
    predictor = SAM2ImagePredictor(built(segmenter[1], segmenter[0]))
    predictor._bb_feat_sizes = [(32, 32), (16, 16), (8, 8)]  # of an image of 128 pixels
    special = hf.AutoProcessor.from_pretrained(detector).tokenizer.all_special_tokens
    known = {*context.lexicon.objects.names, *context.lexicon.shapes.names}
    concepts = {
        r["index"]: r["objects"] for r in context.current("concept_set", KEY).read().to_pylist()
    }
    out = []
    for row in context.current(images.NAME, KEY).read().to_pylist():
        image, nouns = images.decode_png(row["image"]["bytes"]).copy(), concepts[row["index"]]
        found = [
            plain_use(detector, "grounding_dino", image, n, PLAIN["box"], PLAIN["text"])
            for n in nouns
        ]
        answers = [
            [
                FoundBox(score, tuple(clipped(box, image)), plain_words(label, special))
                for score, box, label in zip(
                    f["scores"].tolist(), f["boxes"].tolist(), f["text_labels"], strict=True
                )
            ]
            for f in found
        ]
        kept = resolve(nouns, answers, known, Rules())
        boxes = [(noun, box) for noun, own in zip(nouns, kept, strict=True) for box in own]
        masks = [plain_masks(predictor, image, np.array(box.box)) for _, box in boxes]
        out.append({"boxes": boxes, "areas": [int(mask.sum()) for mask in masks], "row": row})
    return out


def test_detections_of_the_asset_are_those_of_plain_use(context, artifact, detector, segmenter):
    rows = artifact.read().to_pylist()
    plain = plainly(context, detector("grounding_dino"), segmenter)
    assert len(rows) == len(plain) >= 5
    counts = set()
    for row, wanted in zip(rows, plain, strict=True):
        assert (row["index"], row["track"]) == (wanted["row"]["index"], wanted["row"]["track"])
        assert row["names"] == [noun for noun, _ in wanted["boxes"]]
        assert row["scores"] == pytest.approx([b.score for _, b in wanted["boxes"]], abs=1e-3)
        for box, (_, other) in zip(row["boxes"], wanted["boxes"], strict=True):
            assert box == pytest.approx(other.box, abs=0.05)
        for area, other in zip(row["areas"], wanted["areas"], strict=True):
            assert abs(area - other) <= 20  # pixels at the rim, by rounding
        counts.add(len(row["names"]))
    assert len(counts) > 1


def test_what_determines_the_detections_is_in_the_manifest(artifact, segmenter):
    described = artifact.settings["detector"]
    assert described["options"]["dtype"] == "float32"
    assert described["options"]["device"] == "cpu"
    assert len(described["files"]) == len(described["segmenter"]) == 64


def test_a_second_build_has_the_same_bytes(context, artifact, tmp_path, detector, segmenter):
    assert validated.build(context, KEY) == artifact
    again = context_of(tmp_path, detector("grounding_dino"), segmenter, batch=4)
    vocabularies.build(again)
    for stage in (concept_set, captions, images, validated):
        stage.build(again, KEY)
    assert again.current(validated.NAME, KEY).digest == artifact.digest


def test_the_size_of_batches_changes_rounding_only(context, artifact, detector, segmenter):
    other = context_of(Path(context.store.root), detector("grounding_dino"), segmenter, batch=2)
    rows = validated.build(other, KEY).read().to_pylist()
    for row, before in zip(rows, artifact.read().to_pylist(), strict=True):
        assert row["names"] == before["names"]
        assert row["scores"] == pytest.approx(before["scores"], abs=1e-3)
