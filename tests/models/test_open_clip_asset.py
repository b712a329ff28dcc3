"""A checkpoint of open_clip through the asset model_scores, and what a broken one leaves behind."""

import numpy as np
import pytest
from nano_folders import tiny_folder

from bindbench.candidates import candidate_texts
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import ScoreRequest
from bindbench.pipeline import (
    captions,
    concept_set,
    images,
    model_scores,
    negatives,
    validated,
    vocabularies,
)
from bindbench.pipeline.base import Context
from bindbench.storage.store import Store
from bindbench.suite import resolve_suite

KEY = "color-n2"


@pytest.fixture(scope="module")
def context(tmp_path_factory) -> Context:
    folder = tiny_folder(tmp_path_factory.mktemp("tiny"), "custom")
    fields = {
        "name": "small",
        "benchmarks": [KEY],
        "concepts": 6,
        "overrides": {
            "shard_size": 3,
            "survival": {"captions": {"low": 0.0}, "presence": {"low": 0.0}},
            "generator": {"options": {"samples": 4, "faults": {}}},
            "scorers": [{"model": f"open_clip:{folder}", "batch_size": 2}],
        },
    }
    suite = resolve_suite(fields, "small.yaml")
    context = Context(suite, Store(tmp_path_factory.mktemp("store"), suite.name), LocalEngine(1))
    vocabularies.build(context)
    for stage in (concept_set, captions, images, validated, negatives):
        stage.build(context, KEY)
    return context


def test_a_tiny_checkpoint_scores_every_candidate_as_it_does_alone(context):
    (settings,) = context.suite.profile.scorers
    artifact = model_scores.build(context, KEY, settings)
    rows = artifact.read().to_pylist()
    items = context.current(negatives.NAME, KEY).read().to_pylist()
    pictures = {
        (r["index"], r["track"]): r["image"]["bytes"]
        for r in context.current(images.NAME, KEY).read().to_pylist()
    }
    assert len(rows) == len(items) > 0
    assert {(row["dtype"], row["method"]) for row in rows} == {("float32", "similarity")}
    scorer = registry.load("scorer", settings, context.suite.profile.vocabularies)
    for row, item in zip(rows, items, strict=True):
        concept = validated.concept_of(KEY, item)
        texts = candidate_texts(negatives.template_of(item), concept, context.lexicon)
        image = images.decode_png(pictures[item["index"], item["track"]])
        (alone,) = scorer.fresh().score([ScoreRequest("", image, texts, np.empty(0, np.int8))])
        assert len(row["scores"]) == 16
        assert [row[name] for name in ("tokens", "image_free", "mean", "subtracted", "raw")] == [
            None
        ] * 5
        np.testing.assert_allclose(row["scores"], alone.values, rtol=0, atol=1e-6 * scorer.scale)


def test_finished_shards_stay_when_an_image_cannot_be_decoded(context, monkeypatch):
    (settings,) = context.suite.profile.scorers
    settings = settings.model_copy(update={"batch_size": 3})  # other content, nothing is built yet
    decode, calls = images.decode_png, []

    def breaks_in_the_second_shard(data: bytes) -> np.ndarray:
        calls.append(data)
        return decode(data[:60] if len(calls) > first else data)

    first = sum(1 for _ in context.current(negatives.NAME, KEY).read_shard(0).to_pylist())
    monkeypatch.setattr(images, "decode_png", breaks_in_the_second_shard)
    with pytest.raises(UserError, match=r"color-n2, item \w+/\w+: An image .* can't be decoded"):
        model_scores.build(context, KEY, settings)
    monkeypatch.undo()
    again: list[bytes] = []
    monkeypatch.setattr(images, "decode_png", lambda data: again.append(data) or decode(data))
    artifact = model_scores.build(context, KEY, settings)
    assert len(again) == len(artifact.read()) - first


NOISE = np.random.default_rng(0).integers(0, 256, (9, 9, 3), np.uint8)


@pytest.mark.parametrize("data", [b"", b"no image", images.encode_png(NOISE)[:90]])
def test_bytes_that_are_no_image_are_one_sentence(data):
    with pytest.raises(UserError, match=f"An image of {len(data)} bytes can't be decoded"):
        images.decode_png(data)
