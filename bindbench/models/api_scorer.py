"""Scorer for models behind an OpenAI-compatible server."""

from collections.abc import Sequence
from typing import Any

from bindbench.errors import Unfinished, UserError
from bindbench.models.api_answers import Answer
from bindbench.models.api_asker import Ask, Asker, Picture, ask_key, picture_messages
from bindbench.models.api_modes import MODES, NoPromptProbabilities, Unit
from bindbench.models.api_options import ApiOptions
from bindbench.models.base import ScoreRequest, Scores


def load_api(name: str, label: str, options: ApiOptions) -> "ApiScorer":
    """Return the scorer for the model ``URL#model``.

    Args:
        name: the model's address.
        label: tells apart answers of the same model, as that of two months.
        options: how it is asked.

    Raises:
        UserError: the environment variable of the key is not set.
    """
    return ApiScorer(Asker(name, label, options), options)


class ApiScorer:
    """Scores by asking questions."""

    def __init__(self, asker: Asker, options: ApiOptions):
        self._asker = asker
        self._options = options
        self._mode = MODES[options.mode](options)

    @property
    def dtype(self) -> str:
        """Of the numbers that scores are made of."""
        return self._mode.dtype

    @property
    def method(self) -> str:
        """What was asked."""
        return f"{self._mode.method}{', blind' if self._options.blind else ''}"

    def score(self, requests: Sequence[ScoreRequest]) -> list[Scores]:
        """Return the scores of each request's texts.

        Raises:
            Unfinished: some questions have no answer; what was answered is kept.
            UserError: the server refuses every request, or is not one for this mode.
        """
        units = [self._mode.units(request) for request in requests]
        pictures = [Picture(request.image) for request in requests]
        tries: list[list[list[Answer]]] = [[[] for _ in own] for own in units]
        failed: dict[str, str] = {}
        for attempt in range(self._options.asks):
            open_units = [
                (i, k, self._ask(pictures[i], unit, attempt))
                for i, own in enumerate(units)
                for k, unit in enumerate(own)
                if not tries[i][k] or not unit.readable(tries[i][k][-1])
            ]
            answers, lost = self._asker.answers({ask.key: ask for *_, ask in open_units})
            for i, k, ask in open_units:
                if ask.key in answers:
                    tries[i][k].append(answers[ask.key])
                else:
                    failed.setdefault(requests[i].key, lost[ask.key])
            if failed:
                raise Unfinished(self._asker.name, failed, len(requests), self._asker.hopeless)
        return [
            self._mode.scores(request, own) for request, own in zip(requests, tries, strict=True)
        ]

    def _ask(self, picture: Picture, unit: Unit, attempt: int) -> Ask:
        return Ask(
            ask_key(self._body(unit, picture.digest), attempt),
            lambda: self._body(unit, picture.url),
            lambda response: self._read(response, unit),
            may_be_refused=not unit.caption,
        )

    def _body(self, unit: Unit, picture: str) -> dict[str, Any]:
        """Return a request; ``picture`` is the address of the image, or its digest."""
        options = self._options
        shown = picture if unit.with_image else None
        messages = picture_messages(unit.prompt, shown, options.detail)
        if unit.caption:
            messages.append({"role": "assistant", "content": unit.caption})
        most = 1 if unit.caption else options.max_tokens
        return self._asker.body(messages, most, options.temperature, **self._mode.fields())

    def _read(self, response: dict[str, Any], unit: Unit) -> Answer:
        try:
            return self._mode.read(response, unit)
        except NoPromptProbabilities as error:
            raise UserError(
                f"{self._asker.name} {error}: mode logprobs needs a vLLM server and a chat "
                "template that can continue the last message; else use mode choice or yesno."
            ) from error
