"""The self-test rejects each mistake that a model would take without an error."""

import contextlib
import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from hf_checkpoints import gemma3, sharpen

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import ScoreRequest
from bindbench.models.hf_prompt import PromptReader
from bindbench.scoring import likelihood, prefix
from bindbench.scoring.likelihood_scorer import LikelihoodScorer
from bindbench.suite import RoleSettings, VocabularySources

IMAGE = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
TEXTS = [f"a {a} cup and a {b} chair" for a in ("red", "blue") for b in ("red", "blue")]
ASK = [ScoreRequest("one", IMAGE, TEXTS, np.empty(0, np.int8))]
TREE_FAMILIES = ("gemma3", "qwen2_5_vl", "qwen3_vl", "internvl", "llava", "paligemma", "idefics3")


def load(folder, **options) -> LikelihoodScorer:
    settings = RoleSettings(model=f"hf:{folder}", options=options)
    registry._load.cache_clear()  # a scorer that has not been tested yet
    return registry.load("scorer", settings, VocabularySources())


def rejected(folder, **options) -> None:
    with pytest.raises(UserError, match=r"the self-test failed: a caption scores .* by one pass"):
        load(folder, **options).score(ASK)


@pytest.mark.parametrize("family", TREE_FAMILIES)
def test_a_causal_mask_in_place_of_the_tree_is_rejected(family, checkpoint, monkeypatch):
    def causal(tree, nodes):
        return torch.ones(len(nodes), len(nodes), dtype=torch.bool).tril()

    monkeypatch.setattr(likelihood, "ancestor_mask", causal)
    rejected(checkpoint(family))


def shift_positions(monkeypatch, by: int) -> None:
    read = prefix.PrefixModel._read

    def shifted(self, inputs, cache):
        found = read(self, inputs, cache)
        return replace(found, position=found.position + by)

    monkeypatch.setattr(prefix.PrefixModel, "_read", shifted)


@pytest.mark.parametrize("family", [*TREE_FAMILIES, "qwen3_5", "gemma3_narrow"])
@pytest.mark.parametrize("by", [-1, 1])
def test_positions_off_by_one_are_rejected(family, by, checkpoint, monkeypatch):
    shift_positions(monkeypatch, by)
    rejected(checkpoint(family))


def test_positions_off_by_one_are_rejected_in_bfloat16_too(checkpoint, monkeypatch):
    shift_positions(monkeypatch, 1)
    rejected(checkpoint("qwen2_5_vl"), dtype="bfloat16")


def test_a_forgotten_token_type_of_the_image_is_rejected(checkpoint, monkeypatch):
    read = prefix.PrefixModel._read

    def forgetful(self, inputs, cache):
        return read(self, {k: v for k, v in inputs.items() if k != "token_type_ids"}, cache)

    monkeypatch.setattr(prefix.PrefixModel, "_read", forgetful)
    rejected(checkpoint("gemma3"))


def test_a_forgotten_token_type_of_the_caption_is_rejected(checkpoint, monkeypatch):
    made = PromptReader.__init__

    def forgetful(self, *args):
        made(self, *args)
        self.caption_type = 0  # PaliGemma would read the caption in both directions

    monkeypatch.setattr(PromptReader, "__init__", forgetful)
    rejected(checkpoint("paligemma"))


def test_a_boolean_mask_in_eager_attention_is_rejected(checkpoint, monkeypatch):
    monkeypatch.setattr(prefix.PrefixModel, "_prepared", lambda self, mask: mask)
    rejected(checkpoint("llava"), attention="eager")


def test_a_tree_in_recurrent_layers_is_rejected(checkpoint, monkeypatch):
    """They ignore the mask: 14 nats off, and no error."""

    @contextlib.contextmanager
    def unchanged(cache):  # by a copy, since recurrent layers can't be cropped
        before = copy.deepcopy(cache)
        yield
        cache.layers[:] = before.layers

    monkeypatch.setattr(likelihood, "unchanged", unchanged)
    monkeypatch.setattr(likelihood.Likelihood, "method", lambda *args: "token tree")
    rejected(checkpoint("qwen3_5"))


def test_a_model_that_ignores_its_image_is_rejected(tmp_path):
    torch.manual_seed(0)
    model, processor = gemma3()
    sharpen(model)
    with torch.no_grad():
        model.model.multi_modal_projector.mm_input_projection_weight.zero_()
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    with pytest.raises(UserError, match="another image changes no score"):
        load(tmp_path).score(ASK)


def test_a_way_of_scoring_is_tested_once_and_before_it_is_used(checkpoint, monkeypatch):
    scorer = load(checkpoint("llava"))
    scorer.score(ASK)
    monkeypatch.setattr(prefix.PrefixModel, "in_one_pass", None)  # a second test would call it
    scorer.fresh().score(ASK)
