"""Where a caption begins behind a prompt: templates, special tokens, spaces and merges."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hf_checkpoints import FAMILIES, tokenizer
from hf_reference import PlainUse
from tokenizers.processors import TemplateProcessing
from transformers import AutoProcessor

from bindbench.errors import UserError
from bindbench.models import hf_prompt, registry
from bindbench.models.base import ScoreRequest, Scores
from bindbench.suite import RoleSettings, VocabularySources

IMAGE = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
TEXTS = ["a red cup", "a blue cup and a lamp.", "a cup"]


def scores(folder: Path, texts: list[str], **options: str) -> Scores:
    settings = RoleSettings(model=f"hf:{folder}", options=options)
    scorer = registry.load("scorer", settings, VocabularySources())
    return scorer.score([ScoreRequest("one", IMAGE, texts, np.empty(0, np.int8))])[0]


@pytest.mark.parametrize("prompt", ["", "image", "caption en", "What is it? "])
@pytest.mark.parametrize("family", ["paligemma", "llava", "gemma3"])
def test_any_prompt_will_do(family, prompt, checkpoint):
    found = scores(checkpoint(family), TEXTS, prompt=prompt)
    plain = PlainUse(checkpoint(family), prompt.strip() if family == "paligemma" else prompt)
    for i in range(3):
        shown, blind = (plain.score(s, TEXTS[i], found.tokens[i]) for s in (IMAGE, None))
        assert found.values[i] == pytest.approx(shown, abs=2e-4)
        assert found.image_free[i] == pytest.approx(blind, abs=2e-4)


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
    found = scores(tmp_path, texts)
    plain = PlainUse(tmp_path)
    assert list(found.tokens) == plain.count(IMAGE, texts)
    tokens = hf_prompt.PromptReader("hf:x", plain.processor, plain.prompt).captions(texts)
    assert tokens.cut == 1  # the line break is scored with each of them
    assert [joined.decode(row) for row in tokens.captions] == [f"\n{text}" for text in texts]
    for i, text in enumerate(texts):
        shown, blind = (plain.score(seen, text, found.tokens[i]) for seen in (IMAGE, None))
        assert found.values[i] == pytest.approx(shown, abs=2e-4)
        assert found.image_free[i] == pytest.approx(blind, abs=2e-4)


def test_a_template_that_writes_a_space_before_the_answer_gives_it_to_the_caption(checkpoint):
    processor = AutoProcessor.from_pretrained(checkpoint("llava"))
    reader = hf_prompt.PromptReader("hf:x", processor, "What?")
    tokens = reader.captions(["a cup"])
    text = processor.tokenizer.decode(tokens.captions[0])
    assert text == " a cup"
    assert processor.tokenizer.decode(tokens.prompt).endswith("What? ASSISTANT:")
    assert tokens.prompt.count(processor.tokenizer.bos_token_id) == 1


@pytest.mark.parametrize("answer", ["message.content", "message.content[0].text"])
def test_a_line_break_before_the_answer_belongs_to_the_prompt(answer, checkpoint):
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


def test_what_a_tokenizer_adds_itself_is_added_once_with_and_without_the_image(checkpoint):
    processor = AutoProcessor.from_pretrained(checkpoint("paligemma"))
    reader = hf_prompt.PromptReader("hf:x", processor, "What?")
    tokens = reader.captions(["a cup"])
    assert processor.tokenizer.decode(tokens.captions[0]) == "a cup"
    blind = reader.without_image(tokens)["input_ids"][0]
    shown = reader.with_image(IMAGE, tokens)["input_ids"][0]
    assert processor.tokenizer.decode(blind) == "<s>What?\n"
    assert processor.tokenizer.decode(shown) == "<image>" * 16 + "<s>What?\n"


def test_no_end_of_text_or_turn_is_scored(checkpoint):
    for family in FAMILIES:
        processor = AutoProcessor.from_pretrained(checkpoint(family))
        reader = hf_prompt.PromptReader("hf:x", processor, "What?")
        (row,) = reader.captions(["a red cup."]).captions
        assert processor.tokenizer.decode(row).strip(" ") == "a red cup."


def test_a_template_that_is_broken_is_one_sentence(checkpoint):
    processor = AutoProcessor.from_pretrained(checkpoint("llava"))
    processor.chat_template = "{{ raise_exception('only tools') }}"
    with pytest.raises(UserError, match=r"hf:x: its chat template can't .*only tools"):
        hf_prompt.PromptReader("hf:x", processor, "What?")


def test_a_tokenizer_that_ends_the_prompt_as_a_text_is_one_sentence(checkpoint):
    processor = AutoProcessor.from_pretrained(checkpoint("llava"))
    processor.chat_template = None
    processor.tokenizer._tokenizer.post_processor = TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    with pytest.raises(UserError, match="something else behind the prompt"):
        hf_prompt.PromptReader("hf:x", processor, "What?")


def test_no_place_for_the_image_is_one_sentence(checkpoint):
    processor = AutoProcessor.from_pretrained(checkpoint("llava"))
    processor.chat_template = processor.image_token = None
    with pytest.raises(UserError, match="neither a chat template nor an image token"):
        hf_prompt.PromptReader("hf:x", processor, "What?")
