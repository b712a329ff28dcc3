"""Options, prompts and identities of generative models, and what a broken checkpoint says."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hf_checkpoints import TEXT
from hf_reference import PlainUse
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

from bindbench.models import registry
from bindbench.models.base import ScoreRequest
from bindbench.models.hf_generative import first_layers
from bindbench.scoring.likelihood_scorer import LikelihoodScorer
from bindbench.suite import RoleSettings, VocabularySources

IMAGE = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
TEXTS = [
    f"a {a} cup, a {b} chair, and a {c} lamp on a white background."
    for a in ("red", "blue", "green", "yellow")
    for b in ("red", "blue", "green", "yellow")
    for c in ("red", "blue", "green", "yellow", "white")
]
ASK = [ScoreRequest("one", IMAGE, TEXTS, np.empty(0, np.int8))]
SPREAD = range(0, len(TEXTS), 19)


def settings(folder: Path | str, **options) -> RoleSettings:
    return RoleSettings(model=f"hf:{folder}", options=options)


def load(folder: Path | str, **options) -> LikelihoodScorer:
    return registry.load("scorer", settings(folder, **options), VocabularySources())


@pytest.mark.parametrize("family", ["gemma3", "qwen2_5_vl", "paligemma", "qwen3_5"])
def test_many_candidates_in_several_packs_score_as_each_alone(family, checkpoint):
    scorer = load(checkpoint(family))
    (found,) = scorer.score(ASK)
    assert sum(found.tokens) > 1000
    plain = PlainUse(checkpoint(family))
    for i in SPREAD:
        assert found.values[i] == pytest.approx(
            plain.score(IMAGE, TEXTS[i], found.tokens[i]), abs=2e-4
        )
    method = "level by level" if family == "qwen3_5" else "token tree"
    assert scorer.method == f"log-likelihood by {method}; self-test passed"


def test_equal_work_gives_equal_bits(checkpoint):
    scorer = load(checkpoint("gemma3"))
    (first,) = scorer.fresh().score(ASK)
    scorer.score([ScoreRequest("two", 255 - IMAGE, TEXTS[::3], np.empty(0, np.int8))])
    (second,) = scorer.fresh().score(ASK)
    np.testing.assert_array_equal(first.values, second.values)
    np.testing.assert_array_equal(first.image_free, second.image_free)


@pytest.mark.parametrize("options", [{"attention": "eager"}, {"device": "auto"}])
def test_options_that_change_how_it_is_computed_change_no_score(options, checkpoint):
    (usual,), (other,) = (load(checkpoint("qwen2_5_vl"), **o).score(ASK) for o in ({}, options))
    np.testing.assert_allclose(usual.values, other.values, atol=2e-4)


@pytest.mark.parametrize("family", ["gemma3", "llava"])
def test_bfloat16_is_close_to_float32_and_says_so(family, checkpoint):
    (exact,) = load(checkpoint(family)).score(ASK)
    scorer = load(checkpoint(family), dtype="bfloat16")
    (rounded,) = scorer.score(ASK)
    assert scorer.dtype == "bfloat16"
    assert 0 < np.abs(exact.values - rounded.values).max() < 2.0  # of about 150 nats


def test_the_first_layers_show_every_kind():
    config = AutoConfig.for_model("gemma3", text_config=TEXT | {"num_hidden_layers": 12})
    part = first_layers(config).get_text_config()
    # Gemma 3 has five sliding layers to each full one.
    assert part.num_hidden_layers == len(part.layer_types) == 6
    assert set(part.layer_types) == {"sliding_attention", "full_attention"}
    assert config.get_text_config().num_hidden_layers == 12
    plain = AutoConfig.for_model("llava", text_config={"num_hidden_layers": 12})
    assert first_layers(plain).get_text_config().num_hidden_layers == 4


def test_another_prompt_is_another_score_and_another_fingerprint(checkpoint):
    folder = checkpoint("llava")
    (found,) = load(folder, prompt="What is on the table?").score(ASK)
    plain = PlainUse(folder, "What is on the table?")
    for i in SPREAD:
        assert found.values[i] == pytest.approx(
            plain.score(IMAGE, TEXTS[i], found.tokens[i]), abs=2e-4
        )
    described = [
        json.dumps(registry.describe("scorer", settings(folder, **options)))
        for options in ({}, {"prompt": "What?"}, {"dtype": "bfloat16"}, {"attention": "eager"})
    ]
    assert len(set(described)) == 4
    assert "files" in described[0]


def test_other_weights_are_another_fingerprint(checkpoint, tmp_path):
    folder = shutil.copytree(checkpoint("llava"), tmp_path / "copy")
    before = registry.describe("scorer", settings(folder))["files"]
    tensors = load_file(folder / "model.safetensors")
    tensors[min(tensors)][:1] += 1
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    assert registry.describe("scorer", settings(folder))["files"] != before
