"""A model behind an OpenAI-compatible server as a judge: it chooses among lettered options.

Where the server gives the probabilities of the answer's first token, an option's score is the
share of its letter among all letters; else the letter that was answered has all of it. Asked in
several orders of the options, the shares are averaged. A letter cannot be anything but an option,
and prose is not read (see ``bindbench.scoring.choice.parse_choice``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bindbench.errors import Unfinished
from bindbench.models.api_answers import Answer as Reply
from bindbench.models.api_asker import Ask, Asker, Picture, ask_key, dump, kept, picture_messages
from bindbench.models.api_modes import TOP_TOKENS, first_tokens, words_of
from bindbench.models.api_options import ApiJudgeOptions
from bindbench.models.base import Answer, Detection, Image, Question
from bindbench.scoring.choice import choice_prompt, letter_shares, parse_choice


@dataclass
class _Turn:
    """One question in one order of its options, with the replies to it so far."""

    picture: Picture
    question: Question
    order: tuple[int, ...]  # the option at each place
    replies: list[Reply]

    @property
    def texts(self) -> list[str]:
        """The options as they are shown."""
        return [self.question.options[i] for i in self.order]

    def shares(self) -> np.ndarray | None:
        """Return the options' shares, float64 (options,), or None if no answer can be read."""
        if not self.replies:
            return None
        reply = self.replies[-1]
        place = parse_choice(reply["text"], self.texts)
        if place is None:
            return None
        shown = letter_shares(reply.get("top", []), len(self.order))
        # Behind words ("The answer is B") the first token tells nothing of the letters.
        if shown is None or int(shown.argmax()) != place:
            shown = np.eye(len(self.order))[place]
        out = np.zeros(len(self.order))
        out[list(self.order)] = shown
        return out


class ApiJudge:
    """Answers closed questions about whole images; the detections are not shown.

    Args:
        asker: of the model.
        options: how it is asked.
    """

    def __init__(self, asker: Asker, options: ApiJudgeOptions):
        self._asker, self._options = asker, options

    def answer(
        self,
        images: Sequence[Image],
        detections: Sequence[Sequence[Detection]],
        questions: Sequence[Sequence[Question]],
    ) -> list[list[Answer]]:
        """Return the answers to each image's questions; scores are the options' probabilities.

        Raises:
            Unfinished: some images have no answer; what was answered is kept. They are named by
                their place in the batch.
            UserError: the server refuses every request.
        """
        turns = [
            [self._turns(Picture(image), question) for question in asked]
            for image, asked in zip(images, questions, strict=True)
        ]
        for attempt in range(self._options.asks):
            self._ask_open(turns, attempt)
        return [[_answer(own) for own in asked] for asked in turns]

    def _turns(self, picture: Picture, question: Question) -> list[_Turn]:
        count = len(question.options)
        orders = min(self._options.orders, count)
        starts = [turn * count // orders for turn in range(orders)]
        return [
            _Turn(picture, question, tuple(np.roll(np.arange(count), -start).tolist()), [])
            for start in starts
        ]

    def _ask_open(self, turns: Sequence[Sequence[Sequence[_Turn]]], attempt: int) -> None:
        """Ask what has no readable answer yet."""
        open_turns = [
            (i, turn, self._ask(turn, attempt))
            for i, asked in enumerate(turns)
            for own in asked
            for turn in own
            if turn.shares() is None
        ]
        replies, lost = self._asker.answers({ask.key: ask for *_, ask in open_turns})
        missing: dict[str, str] = {}
        for i, turn, ask in open_turns:
            if ask.key in replies:
                turn.replies.append(replies[ask.key])
            else:
                missing.setdefault(str(i), lost[ask.key])
        if missing:
            raise Unfinished(self._asker.name, missing, len(turns), self._asker.hopeless)

    def _ask(self, turn: _Turn, attempt: int) -> Ask:
        return Ask(
            ask_key(self._body(turn, turn.picture.digest), attempt),
            lambda: self._body(turn, turn.picture.url),
            _read,
        )

    def _body(self, turn: _Turn, picture: str) -> dict[str, Any]:
        options = self._options
        prompt = choice_prompt(turn.question.text, turn.texts, "right option")
        messages = picture_messages(prompt, picture, options.detail)
        fields: dict[str, Any] = {}
        if options.token_probabilities:
            fields = {"logprobs": True, "top_logprobs": TOP_TOKENS}
        return self._asker.body(messages, options.max_tokens, options.temperature, **fields)


def _read(response: dict[str, Any]) -> Reply:
    reply: Reply = {"text": words_of(response)}
    top = first_tokens(response["choices"][0].get("logprobs"))
    return reply | ({"top": top} if top else {})


def _answer(turns: Sequence[_Turn]) -> Answer:
    """Return the option with the largest share over all orders that have a readable answer."""
    options = turns[0].question.options
    raw = {
        "item": turns[0].question.text,
        "unreadable": sum(turn.shares() is None for turn in turns),
        "answers": [kept(reply) for turn in turns for reply in turn.replies],
    }
    found = [shares for turn in turns if (shares := turn.shares()) is not None]
    if not found:
        return Answer("", (0.0,) * len(options), dump(raw))
    shares = np.mean(found, axis=0)
    best = options[int(np.argmax(shares))]
    return Answer(best, tuple(float(share) for share in shares), dump(raw))
