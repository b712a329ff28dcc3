"""Every family of generative models through the asset model_scores, against its plain use."""

import numpy as np
import pytest
from hf_checkpoints import FAMILIES
from hf_reference import PlainUse

from bindbench.candidates import candidate_texts
from bindbench.engine.local import LocalEngine
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
from bindbench.suite import RoleSettings, resolve_suite

KEY = "color-n2"
NATS = 2e-4


@pytest.fixture(scope="module")
def context(tmp_path_factory) -> Context:
    fields = {
        "name": "small",
        "benchmarks": [KEY],
        "concepts": 3,
        "overrides": {
            "shard_size": 3,
            "survival": {"captions": {"low": 0.0}, "presence": {"low": 0.0}},
            "generator": {"options": {"samples": 4, "faults": {}}},
        },
    }
    suite = resolve_suite(fields, "small.yaml")
    context = Context(suite, Store(tmp_path_factory.mktemp("store"), suite.name), LocalEngine(1))
    vocabularies.build(context)
    for stage in (concept_set, captions, images, validated, negatives):
        stage.build(context, KEY)
    return context


def requests_of(context: Context) -> list[ScoreRequest]:
    pictures = {
        (r["index"], r["track"]): r["image"]["bytes"]
        for r in context.current(images.NAME, KEY).read().to_pylist()
    }
    found = []
    for item in context.current(negatives.NAME, KEY).read().to_pylist():
        concept = validated.concept_of(KEY, item)
        texts = candidate_texts(negatives.template_of(item), concept, context.lexicon)
        image = images.decode_png(pictures[item["index"], item["track"]])
        found.append(ScoreRequest(str(item["index"]), image, texts, np.empty(0, np.int8)))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_of_the_asset_are_those_of_one_plain_pass_per_caption(family, context, checkpoint):
    settings = RoleSettings(model=f"hf:{checkpoint(family)}", batch_size=2)
    rows = model_scores.build(context, KEY, settings).read().to_pylist()
    requests = requests_of(context)
    assert len(rows) == len(requests) >= 4
    plain = PlainUse(checkpoint(family))
    for row, request in list(zip(rows, requests, strict=True))[:: len(rows) - 1]:
        texts, image = list(request.texts), request.image
        assert row["tokens"] == plain.count(image, texts)
        for i in range(0, 16, 3):
            count = row["tokens"][i]
            shown, blind = (plain.score(seen, texts[i], count) for seen in (image, None))
            assert row["scores"][i] == pytest.approx(shown, abs=NATS)
            assert row["image_free"][i] == pytest.approx(blind, abs=NATS)
            assert row["mean"][i] == pytest.approx(shown / count, abs=NATS)
            assert row["subtracted"][i] == pytest.approx(shown - blind, abs=2 * NATS)
    assert {row["method"] for row in rows} == {f"log-likelihood by {METHODS[family]}; {PASSED}"}


PASSED = "self-test passed"
METHODS = dict.fromkeys(FAMILIES, "token tree") | {
    "qwen3_5": "copied prefix",
    "gemma3_narrow": "copied prefix",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_change_with_the_image(family, context, checkpoint):
    settings = RoleSettings(model=f"hf:{checkpoint(family)}")
    scorer = registry.load("scorer", settings, context.suite.profile.vocabularies)
    one, two, *_ = requests_of(context)
    other = ScoreRequest("other", two.image, one.texts, one.truth)
    first, second = scorer.score([one, other])
    assert np.abs(first.values - second.values).max() > 0.05
    np.testing.assert_array_equal(first.image_free, second.image_free)
