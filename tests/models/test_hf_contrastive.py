"""CLIP, SigLIP and SigLIP 2 of transformers, against the plain use of the library."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hf_contrastive_checkpoints import FAMILIES, LENGTH, save
from PIL import Image as PILImage
from transformers import AutoModel, AutoProcessor

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import ScoreRequest
from bindbench.models.hf_contrastive import HfEncoders
from bindbench.models.hf_loading import Checkpoint
from bindbench.models.hf_names import find_source
from bindbench.models.hf_options import HfOptions
from bindbench.scoring.contrastive import ContrastiveScorer
from bindbench.suite import RoleSettings, VocabularySources

RNG = np.random.default_rng(0)
IMAGES = [RNG.integers(0, 256, (h, w, 3), np.uint8) for h, w in ((64, 64), (40, 80), (90, 30))]
TEXTS = ["a red cup", "a blue chair, and a yellow lamp on a white background.", "A RED Cup", "cup"]
OPTIONS = HfOptions()
SIGLIPS = ("siglip", "siglip2")


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    return {family: save(family, tmp_path_factory.mktemp(family)) for family in FAMILIES}


def load(folder: Path, **options: Any) -> ContrastiveScorer:
    settings = RoleSettings(model=f"hf:{folder}", options=options)
    return registry.load("scorer", settings, VocabularySources())


def ask(texts: list[str] = TEXTS) -> list[ScoreRequest]:
    return [ScoreRequest(str(i), im, texts, np.empty(0, np.int8)) for i, im in enumerate(IMAGES)]


@torch.inference_mode()
def plain(folder: Path, image: np.ndarray, text: str, **how: Any) -> float:
    """Return the model's logit for one image and one text, without its bias."""
    model, processor = (
        AutoModel.from_pretrained(folder).eval(),
        AutoProcessor.from_pretrained(folder),
    )
    inputs = processor(
        text=[text], images=[PILImage.fromarray(image)], return_tensors="pt", truncation=True, **how
    )
    logit = float(model(**inputs).logits_per_image)
    return logit - float(getattr(model, "logit_bias", torch.zeros(())))


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_those_of_one_image_and_text_at_a_time(family, folders):
    scorer = load(folders[family])
    for found, request in zip(scorer.score(ask()), ask(), strict=True):
        for value, text in zip(found.values, TEXTS, strict=True):
            lowered = text if family == "clip" else text.lower()
            alone = plain(
                folders[family], request.image, lowered, padding="max_length", max_length=LENGTH
            )
            assert value == pytest.approx(alone, abs=1e-6 * scorer.scale)
    assert scorer.scale == pytest.approx(math.exp(2))
    assert scorer.method == "similarity"


@pytest.mark.parametrize("family", SIGLIPS)
def test_siglip_reads_the_padding_to_its_full_length(family, folders):
    (found, *_) = load(folders[family]).score(ask(["a red cup"]))
    short = plain(folders[family], IMAGES[0], "a red cup", padding="longest")
    assert abs(found.values[0] - short) > 0.01


@pytest.mark.parametrize("family", SIGLIPS)
def test_siglip_texts_are_lower_case_whatever_the_tokenizer_does(family, folders):
    tokens = AutoProcessor.from_pretrained(folders[family]).tokenizer
    lowers_itself = tokens("A RED Cup")["input_ids"] == tokens("a red cup")["input_ids"]
    assert lowers_itself == (family == "siglip2")
    for found in load(folders[family]).score(ask()):
        assert found.values[2] == found.values[0]


def test_clip_tells_upper_case_from_lower_case_if_its_tokenizer_does(folders):
    for found in load(folders["clip"]).score(ask()):
        assert abs(found.values[2] - found.values[0]) > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_that_is_too_long_is_cut(family, folders):
    long = "a red cup and " * 30
    (found, *_) = load(folders[family]).score(ask([long]))
    alone = plain(folders[family], IMAGES[0], long, padding="max_length", max_length=LENGTH)
    assert found.values[0] == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("what", ["get_image_features", "get_text_features"])
def test_batches_are_halved_where_memory_ends(what, folders, monkeypatch, caplog):
    encoders = HfEncoders(Checkpoint(find_source(str(folders["clip"]), "", OPTIONS), OPTIONS))
    expected = ContrastiveScorer(encoders).score(ask())
    whole, most = getattr(encoders.model, what), 1

    def small(**inputs: Any) -> Any:
        if len(next(iter(inputs.values()))) > most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB.")
        return whole(**inputs)

    monkeypatch.setattr(encoders.model, what, small)
    for found, right in zip(ContrastiveScorer(encoders).score(ask()), expected, strict=True):
        np.testing.assert_allclose(found.values, right.values, atol=1e-5)
    assert "out of memory, going on with 1 at a time" in caplog.text
    most = 0
    with pytest.raises(UserError, match="memory runs out for a single item: set dtype"):
        ContrastiveScorer(encoders).score(ask())


def test_bfloat16(folders):
    exact, rounded = (load(folders["siglip"], dtype=d) for d in ("float32", "bfloat16"))
    assert rounded.dtype == "bfloat16"
    for a, b in zip(exact.score(ask()), rounded.score(ask()), strict=True):
        assert 0 < np.abs(a.values - b.values).max() < 0.3


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"prompt": "What?"}, "the option prompt is for generative models, and clip is a contr"),
        ({"quantisation": "4bit"}, "the option quantisation is for generative models"),
        ({"image_free": False}, "the option image_free is for generative models"),
        ({"device": "auto"}, "device auto is for generative models: name one such as cuda:0"),
    ],
)
def test_options_of_generative_models_are_refused(options, match, folders):
    with pytest.raises(UserError, match=match):
        load(folders["clip"], **options)


def test_a_checkpoint_without_its_processor_is_one_sentence(folders, tmp_path):
    AutoModel.from_pretrained(folders["clip"]).save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"the processor in .* can't be loaded"):
        load(tmp_path)
