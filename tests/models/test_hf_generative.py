"""Options, prompts and identities of generative models, and what a broken checkpoint says."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hf_checkpoints import FAMILIES, TEXT, tokenizer
from hf_reference import PlainUse
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoProcessor, BertConfig, BertForMaskedLM

from bindbench.errors import UserError
from bindbench.models import hf_names, hf_prompt, registry
from bindbench.models.base import ScoreRequest
from bindbench.models.hf_generative import first_layers
from bindbench.scoring.checked import checked_scores
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


@pytest.mark.parametrize("prompt", ["", "image", "caption en", "What is it? "])
@pytest.mark.parametrize("family", ["paligemma", "llava", "gemma3"])
def test_any_prompt_will_do(family, prompt, checkpoint):
    (found,) = load(checkpoint(family), prompt=prompt).score(
        [ScoreRequest("one", IMAGE, TEXTS[:3], np.empty(0, np.int8))]
    )
    plain = PlainUse(checkpoint(family), prompt.strip() if family == "paligemma" else prompt)
    for i in range(3):
        shown, blind = (plain.score(s, TEXTS[i], found.tokens[i]) for s in (IMAGE, None))
        assert found.values[i] == pytest.approx(shown, abs=2e-4)
        assert found.image_free[i] == pytest.approx(blind, abs=2e-4)


def test_other_weights_are_another_fingerprint(checkpoint, tmp_path):
    folder = shutil.copytree(checkpoint("llava"), tmp_path / "copy")
    before = registry.describe("scorer", settings(folder))["files"]
    tensors = load_file(folder / "model.safetensors")
    tensors[min(tensors)][:1] += 1
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    assert registry.describe("scorer", settings(folder))["files"] != before


def test_a_caption_that_merges_with_the_prompts_end_is_scored_from_its_token_on(tmp_path):
    """With a tokenizer that joins across the line break between the prompt and the caption."""
    torch.manual_seed(0)
    model, processor = FAMILIES["internvl"]()
    named = {
        name: getattr(processor.tokenizer, name)
        for name in ("start_image_token", "end_image_token", "context_image_token", "video_token")
    }
    joined = tokenizer(joined=("\na red", "\na blue"), **named)
    processor.tokenizer = joined
    model.resize_token_embeddings(len(joined))
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    texts = ["a red cup", "a blue cup", "a cup"]
    (found,) = load(tmp_path).score([ScoreRequest("one", IMAGE, texts, np.empty(0, np.int8))])
    plain = PlainUse(tmp_path)
    assert list(found.tokens) == plain.count(IMAGE, texts)
    tokens = hf_prompt.PromptReader("hf:x", plain.processor, plain.prompt).captions(texts)
    assert tokens.cut == 1  # the line break is scored with each of them
    assert [joined.decode(row) for row in tokens.captions] == [f"\n{text}" for text in texts]
    for i, text in enumerate(texts):
        shown, blind = (plain.score(seen, text, found.tokens[i]) for seen in (IMAGE, None))
        assert found.values[i] == pytest.approx(shown, abs=2e-4)
        assert found.image_free[i] == pytest.approx(blind, abs=2e-4)


class TestPrompts:
    def test_a_template_that_writes_a_space_before_the_answer_gives_it_to_the_caption(
        self, checkpoint
    ):
        processor = AutoProcessor.from_pretrained(checkpoint("llava"))
        reader = hf_prompt.PromptReader("hf:x", processor, "What?")
        tokens = reader.captions(["a cup"])
        text = processor.tokenizer.decode(tokens.captions[0])
        assert text == " a cup"
        assert processor.tokenizer.decode(tokens.prompt).endswith("What? ASSISTANT:")
        assert tokens.prompt.count(processor.tokenizer.bos_token_id) == 1

    @pytest.mark.parametrize("answer", ["message.content", "message.content[0].text"])
    def test_a_line_break_before_the_answer_belongs_to_the_prompt(self, answer, checkpoint):
        processor = AutoProcessor.from_pretrained(checkpoint("llava"))
        processor.chat_template = (
            "{% for message in messages %}{% if message.role == 'user' %}"
            "Q: {% for part in message.content %}{{ part.text or '<image>' }}{% endfor %}{{ '\\nA:' }}"
            "{% else %}{{ '\\n' + " + answer + " + '' }}{% endif %}{% endfor %}"
        )
        reader = hf_prompt.PromptReader("hf:x", processor, "What?")
        tokens = reader.captions(["a cup"])
        assert processor.tokenizer.decode(tokens.prompt) == "Q: <image>What?\nA:\n"
        assert processor.tokenizer.decode(tokens.captions[0]) == "a cup"
        blind = reader.without_image(tokens)["input_ids"][0]
        assert processor.tokenizer.decode(blind) == "Q: What?\nA:\n"

    def test_what_a_tokenizer_adds_itself_is_added_once_with_and_without_the_image(
        self, checkpoint
    ):
        processor = AutoProcessor.from_pretrained(checkpoint("paligemma"))
        reader = hf_prompt.PromptReader("hf:x", processor, "What?")
        tokens = reader.captions(["a cup"])
        assert processor.tokenizer.decode(tokens.captions[0]) == "a cup"
        blind = reader.without_image(tokens)["input_ids"][0]
        shown = reader.with_image(IMAGE, tokens)["input_ids"][0]
        assert processor.tokenizer.decode(blind) == "<s>What?\n"
        assert processor.tokenizer.decode(shown) == "<image>" * 16 + "<s>What?\n"

    def test_no_end_of_text_or_turn_is_scored(self, checkpoint):
        for family in FAMILIES:
            processor = AutoProcessor.from_pretrained(checkpoint(family))
            reader = hf_prompt.PromptReader("hf:x", processor, "What?")
            (row,) = reader.captions(["a red cup."]).captions
            assert processor.tokenizer.decode(row).strip(" ") == "a red cup."

    def test_a_template_that_is_broken_is_one_sentence(self, checkpoint):
        processor = AutoProcessor.from_pretrained(checkpoint("llava"))
        processor.chat_template = "{{ raise_exception('only tools') }}"
        with pytest.raises(UserError, match=r"hf:x: its chat template can't .*only tools"):
            hf_prompt.PromptReader("hf:x", processor, "What?")

    def test_a_template_that_closes_the_turn_is_one_sentence(self, checkpoint):
        processor = AutoProcessor.from_pretrained(checkpoint("llava"))
        processor.chat_template = None
        processor.tokenizer._tokenizer.post_processor = closing()
        with pytest.raises(UserError, match="something else behind the prompt"):
            hf_prompt.PromptReader("hf:x", processor, "What?")

    def test_no_place_for_the_image_is_one_sentence(self, checkpoint):
        processor = AutoProcessor.from_pretrained(checkpoint("llava"))
        processor.chat_template = processor.image_token = None
        with pytest.raises(UserError, match="neither a chat template nor an image token"):
            hf_prompt.PromptReader("hf:x", processor, "What?")


def closing():
    from tokenizers.processors import TemplateProcessing

    return TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])


@pytest.fixture
def broken(checkpoint, tmp_path) -> Path:
    return shutil.copytree(checkpoint("llava"), tmp_path / "broken")


def refused(folder: Path | str, match: str, **options) -> None:
    with pytest.raises(UserError, match=match) as found:
        load(folder, **options).score(ASK)
    assert "\n" not in str(found.value)
    assert str(found.value).endswith((".", "?"))


def test_a_missing_tokenizer(broken):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (broken / name).unlink()
    refused(broken, f"hf:{broken}: the processor in {broken} can't be loaded")


def test_a_missing_image_processor(broken):
    (broken / "processor_config.json").unlink()
    refused(broken, "can't be loaded|has no image processor")


def test_a_missing_configuration(broken):
    (broken / "config.json").unlink()
    refused(broken, "holds no config.json")


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"model_type": 3}'])
def test_a_broken_configuration(broken, text):
    (broken / "config.json").write_text(text)
    refused(broken, "config.json is no JSON object with the field model_type")


def test_missing_weights(broken):
    tensors = load_file(broken / "model.safetensors")
    lost = next(name for name in tensors if "layers.1.self_attn.q_proj" in name)
    del tensors[lost]
    save_file(tensors, broken / "model.safetensors", {"format": "pt"})
    refused(broken, r"lacks 1 weights, model\.language_model\.layers\.1\.self_attn\.q_proj")


def test_weights_of_another_shape(broken):
    tensors = load_file(broken / "model.safetensors")
    name = next(name for name in tensors if "layers.1.self_attn.q_proj" in name)
    tensors[name] = tensors[name][:3].clone()
    save_file(tensors, broken / "model.safetensors", {"format": "pt"})
    refused(broken, "the model in .* can't be loaded")


def test_damaged_weights(broken):
    file = broken / "model.safetensors"
    file.write_bytes(file.read_bytes()[:5000])
    refused(broken, "the model in .* can't be loaded")


def test_weights_that_give_no_number_stop_the_run(broken):
    tensors = load_file(broken / "model.safetensors")
    next(v for n, v in tensors.items() if "layers.1.mlp.up_proj" in n)[:] = float("nan")
    save_file(tensors, broken / "model.safetensors", {"format": "pt"})
    refused(broken, "the self-test failed: a caption scores nan")


def test_a_score_that_is_no_number_is_one_sentence(checkpoint, monkeypatch):
    from bindbench.scoring.likelihood import Likelihood

    scorer = load(checkpoint("llava"))
    scorer.score(ASK)
    sums = Likelihood.sums
    monkeypatch.setattr(Likelihood, "sums", lambda *args: sums(*args) - np.inf)
    with pytest.raises(UserError, match=r"gave the score -inf in float32 .* for item one of color"):
        checked_scores(scorer.fresh(), ASK, "hf:tiny", "color-n2")


def test_another_kind_of_model(tmp_path):
    BertForMaskedLM(
        BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    ).save_pretrained(tmp_path)
    refused(tmp_path, "a model of type bert gives no captions scores: give one that loads as")


def test_a_model_with_code_of_its_own_needs_trust(broken):
    config = json.loads((broken / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoModelForImageTextToText": "own.Own"}}
    (broken / "config.json").write_text(json.dumps(config))
    refused(broken, "type own needs the code in its repository: read it, then set")


def test_a_checkpoint_that_is_quantised_already(broken):
    config = json.loads((broken / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "gptq"}
    (broken / "config.json").write_text(json.dumps(config))
    refused(broken, "the checkpoint is quantised already")


def test_quantisation_without_its_package(checkpoint, monkeypatch):
    monkeypatch.setattr(hf_names, "find_spec", lambda name: None)
    refused(checkpoint("llava"), "needs the package bitsandbytes and a GPU", quantisation="4bit")


def test_a_device_that_is_not_here(checkpoint):
    refused(checkpoint("llava"), "device 'cuda:17' can't be used here", device="cuda:17")


def test_a_folder_that_is_not_there(tmp_path):
    refused(tmp_path / "none", f"there is no folder {tmp_path}/none")


def test_a_revision_of_a_folder(checkpoint):
    refused(f"{checkpoint('llava')}@main", "a folder has no revisions, leave out @main")


def test_an_unknown_option_names_the_nearest(checkpoint):
    refused(checkpoint("llava"), "Unknown field 'quantization' .*quantisation", quantization="4bit")
