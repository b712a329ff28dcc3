"""Generative models that answer in words, against the plain greedy use of each."""

import hf_contrastive_checkpoints
import numpy as np
import pytest
import torch
from hf_reference import PlainUse

from bindbench.conme import prompts
from bindbench.conme.modes import LETTERS, YES_NO, Case, vote
from bindbench.conme.samples import Sample
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import Answerer, Question, ReplyRequest
from bindbench.models.hf_answerer import left_padded
from bindbench.suite import RoleSettings, VocabularySources

RNG = np.random.default_rng(0)
IMAGES = [RNG.integers(0, 256, (64, 64, 3), np.uint8) for _ in range(2)]
PROMPTS = ("the red cup", "is the lamp on the table and the chair yellow", "blue")
MOST = 6


def load(model: str, **options) -> Answerer:
    settings = RoleSettings(model=model, options=options)
    return registry.load("answerer", settings, VocabularySources())


def requests(**fields) -> list[ReplyRequest]:
    return [
        ReplyRequest(IMAGES[i % 2], text, max_tokens=MOST, **fields)
        for i, text in enumerate(PROMPTS)
    ]


@torch.inference_mode()
def greedy(folder, image, prompt: str) -> str:
    """The likeliest next token, again and again, each by one plain pass over everything."""
    plain = PlainUse(folder, prompt)
    tokenizer = plain.processor.tokenizer
    inputs, tokens = plain.inputs(image, ""), []
    shape = inputs["input_ids"].shape
    fill = {"attention_mask": 1, "token_type_ids": int(plain.suffix)}
    while len(tokens) < MOST:
        given = {}
        for key, value in inputs.items():
            if value.shape == shape:
                tail = torch.full((1, len(tokens)), fill.get(key, 0), dtype=value.dtype)
                tail = torch.tensor([tokens], dtype=value.dtype) if key == "input_ids" else tail
                value = torch.cat([value, tail], 1)
            given[key] = value
        token = int(plain.model(**given, use_cache=False).logits[0, -1].argmax())
        if token == tokenizer.eos_token_id:
            break
        tokens.append(token)
    return tokenizer.decode(tokens, skip_special_tokens=True).strip()


@pytest.mark.parametrize("family", ["gemma3", "qwen2_5_vl", "fast_vlm", "llava", "smolvlm"])
def test_replies_are_those_of_plain_passes_whatever_is_in_the_batch(family, checkpoint):
    answerer = load(f"hf:{checkpoint(family)}")
    together = answerer.reply(requests())
    alone = [answerer.reply([request])[0] for request in requests()]
    assert [reply.text for reply in together] == [reply.text for reply in alone]
    wanted = [greedy(checkpoint(family), r.image, r.prompt) for r in requests()]
    assert [reply.text for reply in together] == wanted
    assert len({reply.text for reply in together}) > 1  # it reads image or prompt


def test_a_reply_that_ends_at_the_most_tokens_is_not_finished(checkpoint):
    answerer = load(f"hf:{checkpoint('fast_vlm')}")
    (long,) = answerer.reply([ReplyRequest(IMAGES[0], PROMPTS[0], max_tokens=2)])
    assert not long.finished


def test_a_choice_is_among_the_options_and_as_a_judge_makes_it(checkpoint):
    model, template = f"hf:{checkpoint('fast_vlm')}", "{question} {options}"
    answerer = load(model, question=template)
    mixed = [*requests(options=("red", "blue", "green")), *requests()]
    found = answerer.reply(mixed)
    assert found[3:] == answerer.reply(requests())
    settings = RoleSettings(model=model, options={"question": template})
    judge = registry.load("judge", settings, VocabularySources())
    for request, reply in zip(mixed[:3], found, strict=False):
        ((answer,),) = judge.answer(
            [request.image], [()], [[Question(request.prompt, request.options, 0)]]
        )
        assert (reply.text, reply.scores) == (answer.option, answer.scores)


@pytest.mark.parametrize("family", ["fast_vlm", "llava"])
def test_bare_options_score_as_one_plain_pass_for_each(family, checkpoint):
    answerer = load(f"hf:{checkpoint(family)}")
    options = ("the red cup", "the blue cup on the table", "lamp")
    for request in requests(options=options, bare=True)[:2]:
        plain = PlainUse(checkpoint(family), request.prompt)
        counts = plain.count(request.image, list(options))
        wanted = [plain.score(request.image, o, n) for o, n in zip(options, counts, strict=True)]
        (reply,) = answerer.reply([request])
        assert reply.sums == pytest.approx(wanted, abs=1e-4)
        assert reply.tokens == tuple(counts)
        assert reply.text == options[int(np.argmax(wanted))]


def test_letter_and_text_of_a_choice_are_those_of_one_plain_pass_for_each_option(checkpoint):
    folder = checkpoint("fast_vlm")
    sample = Sample("i", 1, "is the lamp on the table", "the red cup", "blue")
    case = Case([sample], {"i": IMAGES[0]}, MOST)
    answerer = load(f"hf:{folder}")

    def plain(prompt: str, options) -> np.ndarray:
        use = PlainUse(folder, prompt)
        counts = use.count(IMAGES[0], list(options))
        sums = [use.score(IMAGES[0], o, n) for o, n in zip(options, counts, strict=True)]
        return np.array([sums, np.array(sums) / counts])

    (letter,) = vote("letter", answerer.reply, case)["letter"]
    for order in (0, 1):
        sums, _ = plain(prompts.choice(sample.question, sample.options(order)), LETTERS)
        assert letter.scores[order] == pytest.approx(sums, abs=1e-4)
        assert letter.places[order] == int(sums.argmax())
    found = vote("text", answerer.reply, case)
    for order in (0, 1):
        sums, means = plain(sample.question, sample.options(order))
        assert found["text"][0].scores[order] == pytest.approx(sums, abs=1e-4)
        assert found["text_mean"][0].scores[order] == pytest.approx(means, abs=1e-4)
    (vqa,) = vote("vqa", answerer.reply, case)["vqa"]
    odds = [
        float(np.subtract(*plain(prompts.vqa_score(sample.question, o), YES_NO)[0]))
        for o in sample.options(0)
    ]
    assert vqa.scores[0] == pytest.approx(odds, abs=2e-4)


def test_padding_stands_on_the_left_and_is_masked():
    rows = [
        {"input_ids": torch.tensor([[5, 6]]), "attention_mask": torch.tensor([[1, 1]])},
        {"input_ids": torch.tensor([[7, 8, 9]]), "attention_mask": torch.tensor([[1, 1, 1]])},
    ]
    pixels = torch.ones(1, 3, 2, 2)
    out = left_padded([row | {"pixel_values": pixels} for row in rows], 99)
    assert out["input_ids"].tolist() == [[99, 5, 6], [7, 8, 9]]
    assert out["attention_mask"].tolist() == [[0, 1, 1], [1, 1, 1]]
    assert out["pixel_values"].shape == (2, 3, 2, 2)


def test_nano_names_the_words_that_it_does_not_know():
    answerer = load("nano:vlm-small")
    image = np.full((128, 128, 3), 255, np.uint8)
    known, unknown = answerer.reply(
        [
            ReplyRequest(image, "What color is the leftmost cake?", max_tokens=4),
            ReplyRequest(image, "What material is the leftmost zebra?", max_tokens=4),
        ]
    )
    assert known.unknown == ()
    assert unknown.unknown == ("material", "zebra")


@pytest.mark.parametrize(
    "model", ["nano:clip", "open_clip:ViT-B-32/openai", "check:random", "nano:negclip"]
)
def test_what_scores_captions_can_not_answer(model):
    with pytest.raises(UserError, match=rf"{model} scores captions and can't answer in words"):
        registry.resolve("answerer", RoleSettings(model=model))


def test_a_contrastive_checkpoint_can_not_answer(tmp_path):
    folder = hf_contrastive_checkpoints.save("clip", tmp_path)
    with pytest.raises(UserError, match="clip can't answer questions"):
        registry.resolve("answerer", RoleSettings(model=f"hf:{folder}"))


def test_unknown_names_get_the_nearest():
    with pytest.raises(UserError, match="did you mean nano:vlm"):
        registry.resolve("answerer", RoleSettings(model="nano:vml"))
    with pytest.raises(UserError, match="did you mean hf"):
        registry.resolve("answerer", RoleSettings(model="hff:x"))
