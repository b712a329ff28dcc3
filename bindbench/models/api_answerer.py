"""A model behind an OpenAI-compatible server that answers in words, or chooses among options."""

from collections.abc import Mapping, Sequence
from typing import Any

from bindbench.errors import Unfinished
from bindbench.models.answer_options import ApiAnsweringOptions
from bindbench.models.api_answers import Answer
from bindbench.models.api_asker import Ask, Asker, Picture, ask_key, dump, kept, picture_messages
from bindbench.models.api_judge import ApiJudge
from bindbench.models.api_modes import TOP_TOKENS, first_tokens, words_of
from bindbench.models.api_options import ApiJudgeOptions
from bindbench.models.base import Question, Reply, ReplyRequest
from bindbench.scoring.choice import first_token_sums


class ApiAnswerer:
    """Asks one question in each request.

    Args:
        asker: of the model.
        options: how it is asked.
    """

    def __init__(self, asker: Asker, options: ApiAnsweringOptions):
        self._asker, self._options = asker, options
        shared = ApiJudgeOptions.model_fields.keys() & ApiAnsweringOptions.model_fields.keys()
        given = {name: getattr(options, name) for name in shared}
        self._judge = ApiJudge(asker, ApiJudgeOptions(**given))

    def reply(self, requests: Sequence[ReplyRequest]) -> list[Reply]:
        """Return one reply for each request.

        Raises:
            Unfinished: there is none for some; what was answered is kept.
            UserError: the server refuses every request.
        """
        missing: dict[str, str] = {}
        written = [r for r in requests if r.bare or not r.options]
        found = self._write(written, missing)
        found |= self._choose([r for r in requests if r.options and not r.bare], missing)
        if missing:
            raise Unfinished(self._asker.name, missing, len(requests), self._asker.hopeless)
        return [found[id(request)] for request in requests]

    def _write(self, requests: Sequence[ReplyRequest], missing: dict[str, str]) -> dict[int, Reply]:
        asks = [self._ask(request) for request in requests]
        answers, lost = self._asker.answers({ask.key: ask for ask in asks}) if asks else ({}, {})
        found = {}
        for request, ask in zip(requests, asks, strict=True):
            if ask.key in answers:
                found[id(request)] = _reply(request, answers[ask.key])
            else:
                missing[request.key] = lost[ask.key]
        return found

    def _ask(self, request: ReplyRequest) -> Ask:
        picture = Picture(request.image)
        return Ask(
            ask_key(self._body(request, picture.digest), *_attempts(request)),
            lambda: self._body(request, picture.url),
            _read,
        )

    def _body(self, request: ReplyRequest, picture: str) -> dict[str, Any]:
        messages = picture_messages(request.prompt, picture, self._options.detail)
        fields: dict[str, Any] = {}
        if request.bare:
            fields = {"logprobs": True, "top_logprobs": TOP_TOKENS}
        if request.schema is not None and self._options.structured:
            fields["response_format"] = _response_format(self._options.structured, request.schema)
        return self._asker.body(messages, request.max_tokens, self._options.temperature, **fields)

    def _choose(
        self, requests: Sequence[ReplyRequest], missing: dict[str, str]
    ) -> dict[int, Reply]:
        if not requests:
            return {}
        questions = [[Question(r.prompt, r.options, subject=0)] for r in requests]
        try:
            answers = self._judge.answer(
                [r.image for r in requests], [()] * len(requests), questions
            )
        except Unfinished as error:  # names them by their place
            missing |= {requests[int(place)].key: why for place, why in error.items.items()}
            return {}
        return {
            id(request): Reply(answer.option, scores=answer.scores, raw=answer.raw)
            for request, (answer,) in zip(requests, answers, strict=True)
        }


def _attempts(request: ReplyRequest) -> tuple[int, ...]:
    """Return what makes another attempt another request; the first has the key of its body."""
    return (request.attempt,) if request.attempt else ()


def _response_format(kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    if kind == "json_object":
        return {"type": kind}
    return {"type": kind, "json_schema": {"name": "reply", "strict": True, "schema": schema}}


def _read(response: dict[str, Any]) -> Answer:
    # Nothing said is an answer: asked again for ever, it would keep all others from being used.
    answer: Answer = {"text": "" if _said_nothing(response) else words_of(response)}
    top = first_tokens(response["choices"][0].get("logprobs"))
    return answer | ({"top": top} if top else {})


def _said_nothing(response: dict[str, Any]) -> bool:
    """Whether a model ended its answer, or was cut off, before its first word."""
    choice = response["choices"][0]
    message = choice["message"]
    ended = choice.get("finish_reason") in ("stop", "length")
    return ended and not (message.get("content") or "") and not message.get("refusal")


def _reply(request: ReplyRequest, answer: Answer) -> Reply:
    raw = {"item": request.key, "unreadable": 0, "answers": [kept(answer)]}
    refused = bool(answer.get("refused")) or answer["finish"] == "content_filter"
    text = "" if refused else answer["text"].strip()
    top = answer.get("top", []) if request.bare else []
    sums = first_token_sums(top, request.options)
    tokens = (1,) * len(request.options) if sums else None
    finished = answer["finish"] != "length"
    return Reply(text, finished, sums=sums, tokens=tokens, raw=dump(raw), refused=refused)
