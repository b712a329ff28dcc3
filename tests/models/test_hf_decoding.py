"""How local models choose their tokens, against slow searches made of plain passes."""

import numpy as np
import pytest
import torch
from hf_reference import PlainUse

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import Answerer, ReplyRequest
from bindbench.suite import RoleSettings, VocabularySources

IMAGE = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
PROMPTS = ("the red cup", "is the lamp on the table and the chair yellow", "blue")
MOST = 4
INSTRUCT_BLIP = {  # ConMe, section 4: of open-ended texts, and of choices
    "decoding": {
        "beams": 5,
        "temperature": 1.0,
        "top_p": 0.9,
        "repetition_penalty": 1.5,
        "length_penalty": 1.0,
        "max_tokens": 500,
    },
    "choosing": {"beams": 5, "temperature": 1.0, "top_p": 0.9, "max_tokens": 10},
}


def settings(folder, **options) -> RoleSettings:
    return RoleSettings(model=f"hf:{folder}", options=options)


def load(folder, **options) -> Answerer:
    return registry.load("answerer", settings(folder, **options), VocabularySources())


def requests(**fields) -> list[ReplyRequest]:
    return [ReplyRequest(IMAGE, text, max_tokens=MOST, **fields) for text in PROMPTS]


class Slow:
    """A checkpoint after a prompt, read whole for each next token."""

    def __init__(self, folder, prompt: str) -> None:
        self.plain = PlainUse(folder, prompt)
        self.inputs = self.plain.inputs(IMAGE, "")
        self.read = self.inputs["input_ids"][0].tolist()

    @torch.inference_mode()
    def logits(self, tokens: list[int]) -> torch.Tensor:
        given = dict(self.inputs)
        given["input_ids"] = torch.tensor([[*self.read, *tokens]])
        given["attention_mask"] = torch.ones_like(given["input_ids"])
        return self.plain.model(**given, use_cache=False).logits[0, -1].double()

    def text(self, tokens: list[int]) -> str:
        tokenizer = self.plain.processor.tokenizer
        assert tokenizer.eos_token_id not in tokens  # the searches here don't end early
        return tokenizer.decode(tokens, skip_special_tokens=True).strip()


def test_a_repetition_penalty_divides_what_stands_there_already(checkpoint):
    folder = checkpoint("fast_vlm")
    found = load(folder, decoding={"repetition_penalty": 1.5}).reply(requests())
    for prompt, reply in zip(PROMPTS, found, strict=True):
        slow, tokens = Slow(folder, prompt), []
        for _ in range(MOST):
            logits = slow.logits(tokens).clone()
            for token in {*slow.read, *tokens}:
                logits[token] *= 1.5 if logits[token] < 0 else 1 / 1.5
            tokens.append(int(logits.argmax()))
        assert reply.text == slow.text(tokens)
    greedy = load(folder).reply(requests())
    assert [one.text for one in found] != [one.text for one in greedy]


def test_beams_are_the_likeliest_beginnings(checkpoint):
    folder, beams = checkpoint("fast_vlm"), 3
    found = load(folder, decoding={"beams": beams}).reply(requests())
    for prompt, reply in zip(PROMPTS, found, strict=True):
        slow = Slow(folder, prompt)
        held: list[tuple[float, list[int]]] = [(0.0, [])]
        for _ in range(MOST):
            longer = []
            for score, tokens in held:
                values, indices = slow.logits(tokens).log_softmax(-1).topk(beams)
                pairs = zip(values.tolist(), indices.tolist(), strict=True)
                longer += [(score + value, [*tokens, token]) for value, token in pairs]
            held = sorted(longer, reverse=True)[:beams]
        assert reply.text == slow.text(held[0][1])


def test_draws_depend_on_the_request_alone(checkpoint):
    answerer = load(checkpoint("fast_vlm"), decoding={"temperature": 2.0})
    state = torch.get_rng_state()
    together = [reply.text for reply in answerer.reply(requests())]
    alone = [answerer.reply([request])[0].text for request in reversed(requests())]
    assert together == alone[::-1]
    assert [one.text for one in answerer.reply(requests(attempt=1))] != together
    assert [one.text for one in answerer.reply(requests(key="other"))] != together
    assert torch.equal(state, torch.get_rng_state())


def test_a_nucleus_of_one_token_is_greedy(checkpoint):
    folder = checkpoint("fast_vlm")
    drawn = load(folder, decoding={"temperature": 1.0, "top_p": 1e-6}).reply(requests())
    assert drawn == load(folder).reply(requests())


def test_lettered_options_are_decoded_in_their_own_way(checkpoint):
    folder = checkpoint("fast_vlm")
    answerer = load(folder, choosing={"max_tokens": 2}, decoding={"max_tokens": 3})
    long, short = load(folder).reply([*requests()[:1], *requests(lettered=True)[:1]])
    assert long == short  # by default there is no difference
    slow = Slow(folder, PROMPTS[0])
    tokens: list[int] = []
    for _ in range(MOST):
        tokens.append(int(slow.logits(tokens).argmax()))
    texts = [answerer.reply(requests(lettered=lettered)[:1])[0].text for lettered in (False, True)]
    assert texts == [slow.text(tokens[:3]), slow.text(tokens[:2])]


def test_the_paper_s_parameters_write_and_are_recorded(checkpoint):
    folder = checkpoint("fast_vlm")
    options = INSTRUCT_BLIP | {"decoding": INSTRUCT_BLIP["decoding"] | {"max_tokens": 5}}
    answerer = load(folder, **options)
    both = [*requests(), *requests(lettered=True)]
    assert answerer.reply(both) == answerer.reply(both)
    recorded = registry.describe("answerer", settings(folder, **INSTRUCT_BLIP))["options"]
    assert recorded["decoding"] == INSTRUCT_BLIP["decoding"]
    greedy_penalties = {"repetition_penalty": 1.0, "length_penalty": 1.0}
    assert recorded["choosing"] == INSTRUCT_BLIP["choosing"] | greedy_penalties


@pytest.mark.parametrize("wrong", [{"beams": 0}, {"top_p": 0}, {"temperature": -1}, {"beam": 2}])
def test_parameters_that_make_no_sense_are_named(checkpoint, wrong):
    with pytest.raises(UserError, match=rf"decoding\.{next(iter(wrong))}"):
        registry.resolve("answerer", settings(checkpoint("fast_vlm"), decoding=wrong))
