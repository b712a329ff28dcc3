"""A chat model behind an OpenAI-compatible server as the writer of contextual captions."""

from collections.abc import Sequence
from typing import Any

from bindbench.captions.prompts import chat_messages
from bindbench.concepts import Concept
from bindbench.errors import Unfinished
from bindbench.models.api_answers import Answer
from bindbench.models.api_asker import Ask, Asker, ask_key, dump, kept
from bindbench.models.api_modes import words_of
from bindbench.models.api_options import ApiWriterOptions
from bindbench.models.base import Written
from bindbench.vocabulary import Lexicon


class ApiWriter:
    """Writes by asking for one caption in each request.

    Args:
        asker: of the model.
        options: how it samples.
        lexicon: knows the concepts' words.
    """

    def __init__(self, asker: Asker, options: ApiWriterOptions, lexicon: Lexicon):
        self._asker, self._options, self._lexicon = asker, options, lexicon

    def write(self, concepts: Sequence[Concept], seeds: Sequence[int]) -> list[Written]:
        """Return one caption for each concept.

        Raises:
            Unfinished: there is none for some concepts; what was answered is kept.
            UserError: the server refuses every request.
        """
        asks = [self._ask(c, seed) for c, seed in zip(concepts, seeds, strict=True)]
        answers, lost = self._asker.answers({ask.key: ask for ask in asks})
        missing = {
            concept.id: lost[ask.key]
            for concept, ask in zip(concepts, asks, strict=True)
            if ask.key not in answers
        }
        if missing:
            raise Unfinished(self._asker.name, missing, len(concepts), self._asker.hopeless)
        return [
            _written(concept, answers[ask.key]) for concept, ask in zip(concepts, asks, strict=True)
        ]

    def _ask(self, concept: Concept, seed: int) -> Ask:
        body = self._body(concept, seed)
        # With the seed, also where it is not sent: another attempt is another answer.
        return Ask(ask_key(body, seed), lambda: body, _read)

    def _body(self, concept: Concept, seed: int) -> dict[str, Any]:
        options = self._options
        messages = chat_messages(concept, self._lexicon, options.system_role)
        fields: dict[str, Any] = {}
        if options.top_p is not None:
            fields["top_p"] = options.top_p
        if options.send_seed:
            fields["seed"] = seed
        return self._asker.body(messages, options.max_tokens, options.temperature, **fields)


def _read(response: dict[str, Any]) -> Answer:
    message = response["choices"][0].get("message") if _has_choice(response) else None
    refused = isinstance(message, dict) and bool(message.get("refusal"))
    return {"text": words_of(response)} | ({"refused": True} if refused else {})


def _has_choice(response: dict[str, Any]) -> bool:
    choices = response.get("choices")
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], dict)


def _written(concept: Concept, answer: Answer) -> Written:
    raw = {"item": concept.id, "unreadable": 0, "answers": [kept(answer)]}
    if answer.get("refused") or answer["finish"] == "content_filter":
        return Written(answer["text"], "refusal", dump(raw))
    return Written(answer["text"], "unfinished" if answer["finish"] == "length" else "", dump(raw))
