"""Many questions to one server: asked at the same time, answers kept, what is missing explained."""

import base64
import hashlib
import io
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from PIL import Image as Pillow

from bindbench.errors import NOT_ASKED, UserError
from bindbench.models.api_answers import Answer, AnswerStore, cache_folder
from bindbench.models.api_client import ApiClient, NoAnswer, Patience, Refusal, Unusable
from bindbench.models.api_options import ServerOptions, parse_address, read_key
from bindbench.models.base import Image

PATH = "chat/completions"
GIVE_UP = 8  # questions in a row without an answer, after all their retries
KEPT = ("key", "text", "finish", "served", "input", "output")  # of an answer, beside results


@dataclass
class Picture:
    """An image, as requests carry it and as it is remembered."""

    image: Image

    @cached_property
    def digest(self) -> str:
        """A hash of its pixels."""
        shape = repr((self.image.shape, str(self.image.dtype))).encode()
        return hashlib.sha256(shape + self.image.tobytes()).hexdigest()

    @cached_property
    def url(self) -> str:
        """The image itself, as an address."""
        buffer = io.BytesIO()
        Pillow.fromarray(self.image).save(buffer, "PNG")
        return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


@dataclass(frozen=True)
class Ask:
    """One request."""

    key: str  # a hash of all that it says, see ``ask_key``
    body: Callable[[], Mapping[str, Any]]  # makes it when it is sent
    read: Callable[[dict[str, Any]], Answer]  # what is kept of a response; raises Unusable
    may_be_refused: bool = True  # whether a refusal by the filter of content is an answer


def ask_key(body: Mapping[str, Any], *more: int) -> str:
    """Return the key of a request, with digests in place of images.

    Args:
        body: what is sent.
        more: what tells apart requests that are equal, as the number of the attempt.
    """
    return hashlib.sha256(json.dumps([body, *more], sort_keys=True).encode()).hexdigest()[:32]


def picture_messages(prompt: str, picture: str | None, detail: str) -> list[dict[str, Any]]:
    """Return the message of a user who shows an image and asks something.

    Args:
        prompt: the question.
        picture: the image's address, or its digest; None: no image is shown.
        detail: how closely it is to be looked at; empty: by the server.
    """
    if picture is None:
        return [{"role": "user", "content": prompt}]
    shown = {"url": picture} | ({"detail": detail} if detail else {})
    parts = [{"type": "image_url", "image_url": shown}, {"type": "text", "text": prompt}]
    return [{"role": "user", "content": parts}]


def kept(answer: Answer) -> dict[str, Any]:
    """Return the part of an answer that artifacts hold."""
    return {name: answer[name] for name in KEPT}


def dump(raw: Mapping[str, Any]) -> str:
    """Return what artifacts hold of answers, as JSON."""
    # ASCII, since what a server sends need not be text that can be stored.
    return json.dumps(raw, sort_keys=True, separators=(",", ":"))


class Asker:
    """Asks one model; answers that are already there are not asked for again.

    Args:
        name: the model's address.
        label: tells apart answers of the same model, as that of two months.
        options: how it is asked.

    Raises:
        UserError: the environment variable of the key is not set.
    """

    def __init__(self, name: str, label: str, options: ServerOptions):
        self.address = address = parse_address(name)
        self._options = options
        key = read_key(address, options.key_variable)
        patience = Patience(options.timeout, options.retries, options.backoff, options.max_wait)
        self._client = ApiClient(address, key, patience, options.concurrency)
        identity = json.dumps([address.url, address.model, label])
        folder = hashlib.sha256(identity.encode()).hexdigest()[:32]
        self._store = AnswerStore(cache_folder() / "answers" / folder)
        self._lock = threading.Lock()
        self._lost = 0  # questions in a row without an answer

    @property
    def name(self) -> str:
        """The model's, for messages."""
        return f"api:{self.address.url}#{self.address.model}"

    @property
    def hopeless(self) -> bool:
        """Whether the server seems to be gone."""
        return self._lost >= GIVE_UP

    def body(
        self,
        messages: Sequence[Mapping[str, Any]],
        max_tokens: int,
        temperature: float | None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Return a request for a chat completion.

        Args:
            messages: of the chat.
            max_tokens: of the answer.
            temperature: None: left to the server.
            fields: further ones; the option ``extra`` has the last word.
        """
        limit = self.address.max_tokens_field(self._options.max_tokens_field)
        body = {"model": self.address.model, "messages": messages, limit: max_tokens, **fields}
        if temperature is not None:
            body["temperature"] = temperature
        return body | self._options.extra

    def answers(self, asks: Mapping[str, Ask]) -> tuple[dict[str, Answer], dict[str, str]]:
        """Return the answers by key, and why the others are missing.

        Raises:
            UserError: the server refuses every request, or answers can't be kept.
        """
        self._store.refresh()
        missing = [ask for key, ask in asks.items() if self._store.get(key) is None]
        lost: dict[str, str] = {}
        if missing:
            self._store.prepare()
            lost = self._ask_all(missing)
        found = {key: self._store.get(key) for key in asks}
        return {key: answer for key, answer in found.items() if answer is not None}, lost

    def _ask_all(self, asks: Sequence[Ask]) -> dict[str, str]:
        """Ask the server and keep its answers; return why some are missing, by key."""
        lost: dict[str, str] = {}
        self._client.resume()
        if self.hopeless:  # perhaps the server is back
            lost = self._one(asks[0], min(1, self._options.retries))
            asks = asks[1:]
        pool = ThreadPoolExecutor(self._options.concurrency)
        try:
            for found in pool.map(self._one, asks):
                lost |= found
        finally:  # also when the user ends the run
            self._client.stop()
            pool.shutdown(cancel_futures=True)
        return lost

    def _one(self, ask: Ask, retries: int | None = None) -> dict[str, str]:
        if self.hopeless and retries is None:
            return {ask.key: NOT_ASKED}
        try:
            answer = self._fetch(ask, retries)
        except NoAnswer as error:
            with self._lock:
                self._lost += 1
            return {ask.key: str(error)}
        except UserError:
            self._client.stop()  # no other thread needs to find it out
            raise
        with self._lock:
            self._lost = 0
        self._store.put(ask.key, answer)
        return {}

    def _fetch(self, ask: Ask, retries: int | None) -> Answer:
        try:
            return self._client.post(
                PATH, ask.body(), lambda response: _read(ask, response), retries
            )
        except Refusal as error:
            if not ask.may_be_refused:
                raise NoAnswer(str(error)) from error
            return {"text": str(error), "refused": True} | _facts(ask.key, {})


def _read(ask: Ask, response: dict[str, Any]) -> Answer:
    try:
        return ask.read(response) | _facts(ask.key, response)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        kind = type(error).__name__
        raise Unusable(f"the response is no chat completion ({kind}: {error})") from error


def _facts(key: str, response: Mapping[str, Any]) -> Answer:
    """Return what is kept of a response beside its answer."""
    usage, choices = response.get("usage"), response.get("choices")
    tokens = usage if isinstance(usage, dict) else {}
    served = [response.get(name) for name in ("model", "system_fingerprint")]
    return {
        "key": key,
        "finish": choices[0].get("finish_reason") if choices else None,
        "served": " ".join(str(name) for name in served if name),
        "input": _count(tokens.get("prompt_tokens")),
        "output": _count(tokens.get("completion_tokens")),
    }


def _count(value: Any) -> int | None:
    """Return a number of tokens; None where the server did not say."""
    return value if isinstance(value, int) else None
