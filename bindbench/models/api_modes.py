"""What an API model is asked for an item, and the scores that its answers give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bindbench.models.api_answers import Answer
from bindbench.models.api_asker import dump, kept
from bindbench.models.api_client import Unusable
from bindbench.models.api_options import ApiOptions
from bindbench.models.base import ScoreRequest, Scores
from bindbench.scoring.choice import (
    ChoiceQuestion,
    choice_prompt,
    choice_question,
    parse_choice,
    parse_yes_no,
    votes,
    wrong_options,
    yes_no_log_odds,
)

NO_ANSWER = -9999.0  # the log odds of a caption about which no answer could be read: it loses
TOP_TOKENS = 20  # the most that OpenAI gives


@dataclass(frozen=True)
class Unit:
    """One question to ask, again until its answer is readable."""

    prompt: str
    with_image: bool
    readable: Callable[[Answer], bool] = lambda answer: True
    caption: str = ""  # the words of the model itself that are to be scored


class Mode(Protocol):
    """One way to score captions by questions."""

    dtype: str
    method: str

    def fields(self) -> dict[str, Any]:
        """Return what every request holds beside the messages."""
        ...

    def units(self, request: ScoreRequest) -> list[Unit]:
        """Return the questions about an item."""
        ...

    def read(self, response: dict[str, Any], unit: Unit) -> Answer:
        """Return what is kept of a response; raises Unusable, or UserError if none can do."""
        ...

    def scores(self, request: ScoreRequest, answers: Sequence[Sequence[Answer]]) -> Scores:
        """Return the scores; ``answers`` holds, for each unit, those of all its tries."""
        ...


class ChoiceMode:
    """Lettered options in several orders; a caption's score is its share of the votes."""

    dtype = "float64"

    def __init__(self, options: ApiOptions):
        self._options = options
        self.method = f"choice in up to {options.rotations} orders"

    def fields(self) -> dict[str, Any]:
        """Return nothing: text is all that is needed."""
        return {}

    def units(self, request: ScoreRequest) -> list[Unit]:
        """Return one unit for each order of each question."""
        return [
            self._unit([request.texts[i] for i in order])
            for question in self._questions(request)
            for order in question.orders
        ]

    def _questions(self, request: ScoreRequest) -> list[ChoiceQuestion]:
        options = self._options
        return [
            choice_question(
                request.key, family, wrong, options.rotations, options.negatives, options.seed
            )
            for family, wrong in wrong_options(request.truth, request.families).items()
        ]

    def _unit(self, texts: list[str]) -> Unit:
        return Unit(
            choice_prompt(self._options.resolved_question, texts),
            not self._options.blind,
            lambda answer: parse_choice(answer["text"], texts) is not None,
        )

    def read(self, response: dict[str, Any], unit: Unit) -> Answer:
        """Return the answer's words."""
        return {"text": words_of(response)}

    def scores(self, request: ScoreRequest, answers: Sequence[Sequence[Answer]]) -> Scores:
        """Return the shares of the votes.

        With several disjoint questions (one object: other colors, other objects) a caption's score
        is its share less that of the positive in the same question, and the positive's is 0.
        """
        size, left = len(request.texts), iter(answers)
        shares: dict[str, np.ndarray] = {}
        asked: dict[str, np.ndarray] = {}
        rows: list[dict[str, Any]] = []
        for question in self._questions(request):
            own = [next(left) for _ in question.orders]
            chosen = [
                parse_choice(tries[-1]["text"], [request.texts[i] for i in order])
                for order, tries in zip(question.orders, own, strict=True)
            ]
            shares[question.family] = votes(question.orders, chosen, size)
            asked[question.family] = np.isin(np.arange(size), question.offered)
            rows.append(_question_row(question, chosen, own))
        raw = _raw(request, "choice", answers, sum(row["unreadable"] for row in rows))
        raw |= {"questions": rows}
        positive = np.arange(size) == 0
        swap = np.where(asked.pop("swap", positive), shares.pop("swap", np.zeros(size)), np.nan)
        return Scores(
            _merged(shares, asked, size),
            raw=dump(raw),
            asked=np.logical_or.reduce([positive, *asked.values()]),
            swap=swap if {"swap", "confusion"} & {*request.families} else None,
        )


def _merged(shares: dict[str, np.ndarray], asked: dict[str, np.ndarray], size: int) -> np.ndarray:
    if len(shares) == 1:
        return next(iter(shares.values()))
    out = np.zeros(size)
    for family, share in shares.items():
        out[asked[family]] = share[asked[family]] - share[0]
    return out


def _question_row(
    question: ChoiceQuestion, chosen: Sequence[int | None], answers: Sequence[Sequence[Answer]]
) -> dict[str, Any]:
    rotations = [
        {
            "order": order,
            "chosen": None if position is None else order[position],
            "answers": [answer["key"] for answer in tries],
        }
        for order, position, tries in zip(question.orders, chosen, answers, strict=True)
    ]
    return {
        "family": question.family,
        "rotations": rotations,
        "unreadable": sum(position is None for position in chosen),
    }


class YesNoMode:
    """One question for each caption; its score is the log odds of yes, or 1 for yes and 0 for no.

    Log odds need the probabilities of the answer's first token; an item where the server did not
    give them for every caption is scored by the answers themselves.
    """

    def __init__(self, options: ApiOptions):
        self._options = options
        self.dtype = options.dtype
        self.method = "yes or no for each caption"

    def fields(self) -> dict[str, Any]:
        """Ask for the probabilities of the first token."""
        if not self._options.token_probabilities:
            return {}
        return {"logprobs": True, "top_logprobs": TOP_TOKENS}

    def units(self, request: ScoreRequest) -> list[Unit]:
        """Return one unit for each caption."""
        question = self._options.resolved_question
        return [
            Unit(
                f"{question}\nCaption: {text}\nAnswer with yes or no only.",
                not self._options.blind,
                lambda answer: (
                    _odds(answer) is not None or parse_yes_no(answer["text"]) is not None
                ),
            )
            for text in request.texts
        ]

    def read(self, response: dict[str, Any], unit: Unit) -> Answer:
        """Return the answer's words, and the likeliest first tokens if they are given."""
        answer: Answer = {"text": words_of(response)}
        top = first_tokens(response["choices"][0].get("logprobs"))
        return answer | ({"top": top} if top else {})

    def scores(self, request: ScoreRequest, answers: Sequence[Sequence[Answer]]) -> Scores:
        """Return the log odds, or the answers themselves."""
        last = [tries[-1] for tries in answers]
        said = [parse_yes_no(answer["text"]) for answer in last]
        odds = [_odds(answer) for answer in last]
        # Not where the first token is no answer but the words are ("Answer: yes").
        by_odds = all("top" in answer for answer in last) and not any(
            odds[i] is None and said[i] is not None for i in range(len(last))
        )
        values = (
            [NO_ANSWER if found is None else found for found in odds]
            if by_odds
            else [float(bool(found)) for found in said]
        )
        unreadable = sum(found is None for found in (odds if by_odds else said))
        raw = _raw(request, "yesno", answers, unreadable)
        raw |= {"scale": "log odds" if by_odds else "answer"}
        return Scores(np.array(values, np.float64), raw=dump(raw))


def _odds(answer: Answer) -> float | None:
    return yes_no_log_odds(answer["top"]) if "top" in answer else None


def first_tokens(logprobs: Any) -> list[list[Any]]:
    """Return the likeliest tokens at the first place that is not blank, with log-probabilities."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    for place in content or []:
        if place.get("token", "").strip():
            top = place.get("top_logprobs") or []
            return [[entry["token"], float(entry["logprob"])] for entry in top]
    return []


class LikelihoodMode:
    """The log-likelihood of each caption as the model's own words, by a vLLM server.

    The server scores the tokens of a prompt (``prompt_logprobs``); the caption is its end. Sums
    and token counts are over the caption's own tokens, in nats.
    """

    def __init__(self, options: ApiOptions):
        self._options = options
        self.dtype = options.dtype
        self.method = "log-probabilities of the prompt"

    def fields(self) -> dict[str, Any]:
        """Ask for the prompt's log-probabilities, with the caption as its open end."""
        return {
            "prompt_logprobs": 1,
            "add_generation_prompt": False,
            "continue_final_message": True,
        }

    def units(self, request: ScoreRequest) -> list[Unit]:
        """Return one unit for each caption with the image, unless blind, then one without."""
        prompt = self._options.resolved_question
        return [
            Unit(prompt, with_image, caption=text)
            for with_image in ([False] if self._options.blind else [True, False])
            for text in request.texts
        ]

    def read(self, response: dict[str, Any], unit: Unit) -> Answer:
        """Return the caption's tokens with their log-probabilities."""
        return {"text": "", "tokens": caption_tokens(response.get("prompt_logprobs"), unit.caption)}

    def scores(self, request: ScoreRequest, answers: Sequence[Sequence[Answer]]) -> Scores:
        """Return sums over the caption's tokens."""
        found = [tries[-1]["tokens"] for tries in answers]
        sums = np.array([sum(p for _, p in tokens) for tokens in found], np.float64)
        size = len(request.texts)
        return Scores(
            sums[:size],
            tokens=np.array([len(tokens) for tokens in found[:size]], np.int32),
            image_free=None if self._options.blind else sums[size:],
            raw=dump(_raw(request, "logprobs", answers, 0)),
        )


class NoPromptProbabilities(Exception):
    """The server does not score prompts as is needed; says what is missing."""


def caption_tokens(places: Any, caption: str) -> list[tuple[str, float]]:
    """Return the tokens at the end of a prompt that spell the caption, with log-probabilities.

    Args:
        places: vLLM's ``prompt_logprobs``: for each token of the prompt (None for the first) a
            mapping from token ids to their logprob, rank and text. Of the two entries where the
            likeliest token was another one, the prompt's own has the larger rank.
        caption: what the prompt ends with. White space is not compared: tokens are given one by
            one, and some tokenizers leave out the blank before a word.

    Raises:
        NoPromptProbabilities: there are none, or they do not end with the caption.
    """
    if not isinstance(places, list):
        raise NoPromptProbabilities("gave no prompt_logprobs")
    wanted, spelled = "".join(caption.split()), ""
    found: list[tuple[str, float]] = []
    for place in reversed(places):
        if spelled == wanted or not place:
            break
        own = max(place.values(), key=lambda entry: entry.get("rank") or 0)
        text = own.get("decoded_token") or ""
        found.append((text, float(own["logprob"])))
        spelled = "".join(text.replace("▁", " ").replace("Ġ", " ").split()) + spelled
    if spelled != wanted:
        raise NoPromptProbabilities(
            f"scored a prompt that ends with {spelled[-60:]!r} instead of the caption {caption!r}"
        )
    return found[::-1]


def words_of(response: dict[str, Any]) -> str:
    """Return the words of a chat completion; of a refusal, its reason.

    Raises:
        Unusable: there are none.
    """
    choices = response.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Unusable("the response holds no choices")
    message = choices[0].get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):  # some servers answer in parts
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    if isinstance(content, str) and content.strip():
        return content
    if isinstance(message, dict) and message.get("refusal"):
        return str(message["refusal"])
    finish = choices[0].get("finish_reason")
    hint = ", raise max_tokens" if finish == "length" else ""
    raise Unusable(f"the answer is empty (finish_reason {finish}{hint})")


def _raw(
    request: ScoreRequest, mode: str, answers: Sequence[Sequence[Answer]], unreadable: int
) -> dict[str, Any]:
    return {
        "item": request.key,
        "mode": mode,
        "unreadable": unreadable,
        "answers": [kept(answer) for tries in answers for answer in tries],
    }


MODES: dict[str, Callable[[ApiOptions], Mode]] = {
    "choice": ChoiceMode,
    "yesno": YesNoMode,
    "logprobs": LikelihoodMode,
}
