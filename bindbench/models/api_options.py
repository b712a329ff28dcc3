"""The name and the options of a model behind an OpenAI-compatible server."""

import ipaddress
import os
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import Field, field_validator, model_validator

from bindbench.errors import UserError
from bindbench.suite import Strict

Mode = Literal["choice", "yesno", "logprobs"]
Detail = Annotated[
    Literal["", "auto", "low", "high"], Field(description='of images; "": by the server')
]
OURS = ("model", "messages", "stream", "n")  # fields of a request that no option may set

# What the model is asked where the option ``question`` is empty, by (mode, blind).
QUESTIONS: dict[tuple[Mode, bool], str] = {
    ("choice", False): "Which caption describes the image exactly?",
    ("choice", True): (
        "One of these captions describes a picture that you can't see. Which one is most likely?"
    ),
    ("yesno", False): "Does this caption describe the image exactly?",
    ("yesno", True): (
        "This caption may describe a picture that you can't see. Does it describe it exactly?"
    ),
    ("logprobs", False): "Describe the image in one sentence.",
    ("logprobs", True): "Describe the image in one sentence.",
}


class ServerOptions(Strict):
    """Options of all models behind a server.

    Those from ``key_variable`` on say how the server is asked. They don't decide what is asked and
    are no part of a fingerprint.
    """

    max_tokens_field: Annotated[
        Literal["", "max_tokens", "max_completion_tokens"],
        Field(description='the field of a request that limits an answer; "": by the address'),
    ] = ""
    extra: Annotated[
        dict[str, Any], Field(description="further fields of every request; no secrets")
    ] = Field(default_factory=dict)
    key_variable: Annotated[
        str | None,
        Field(exclude=True, description='environment variable with the key; "": send none'),
    ] = None
    concurrency: Annotated[
        int, Field(ge=1, le=256, exclude=True, description="requests at a time, for each worker")
    ] = 8
    timeout: Annotated[
        float, Field(gt=0, le=3600, exclude=True, description="seconds for a whole response")
    ] = 60.0
    retries: Annotated[
        int, Field(ge=0, le=20, exclude=True, description="after a failure that may pass")
    ] = 5
    backoff: Annotated[
        float,
        Field(ge=0, le=600, exclude=True, description="seconds before the first, then doubled"),
    ] = 1.0
    max_wait: Annotated[
        float, Field(ge=0, le=3600, exclude=True, description="the longest of these waits, seconds")
    ] = 120.0
    input_price: Annotated[
        float | None, Field(ge=0, exclude=True, description="of a million tokens")
    ] = None
    output_price: Annotated[
        float | None, Field(ge=0, exclude=True, description="of a million tokens")
    ] = None

    @field_validator("extra")
    @classmethod
    def _not_ours(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in OURS:
            if name in value:
                raise ValueError(f"the field {name!r} is set by BindBench")
        return value

    @model_validator(mode="after")
    def _both_prices(self) -> Self:
        if (self.input_price is None) != (self.output_price is None):
            raise ValueError("input_price and output_price are given together or not at all")
        return self

    @property
    def prices(self) -> tuple[float, float] | None:
        """Of a million tokens of input and of output, where they are known."""
        if self.input_price is None or self.output_price is None:
            return None
        return self.input_price, self.output_price


class AnswerOptions(ServerOptions):
    """Options of what answers questions about images."""

    asks: Annotated[
        int, Field(ge=1, le=10, description="times to put a question until its answer is readable")
    ] = 2
    max_tokens: Annotated[int, Field(ge=1, description="of an answer")] = 16
    temperature: Annotated[
        float | None, Field(ge=0, le=2, description="null: leave it to the server")
    ] = 0.0
    detail: Detail = ""


class ApiOptions(AnswerOptions):
    """Options of scorers behind a server."""

    mode: Annotated[Mode, Field(description="what is asked: see docs/api.md")] = "choice"
    blind: Annotated[bool, Field(description="ask without the image")] = False
    question: Annotated[str, Field(description="in place of the mode's own")] = ""
    rotations: Annotated[
        int, Field(ge=1, le=50, description="orders of the options that a choice is asked in")
    ] = 4
    negatives: Annotated[
        int,
        Field(ge=1, le=98, description="wrong options, where there are too many for letters"),
    ] = 49
    seed: Annotated[int, Field(ge=0, description="of the order and the sample of options")] = 0
    token_probabilities: Annotated[
        bool, Field(description="yesno: ask for the log-probabilities of the answer's first token")
    ] = True
    dtype: Annotated[
        Literal["float32", "float16", "bfloat16"],
        Field(description="that the server computes log-probabilities in; decides what a tie is"),
    ] = "bfloat16"

    @property
    def resolved_question(self) -> str:
        """What the model is asked."""
        return self.question or QUESTIONS[self.mode, self.blind]


class ApiJudgeOptions(AnswerOptions):
    """Options of judges behind a server."""

    orders: Annotated[
        int, Field(ge=1, le=26, description="of the options, in which a question is asked")
    ] = 1
    token_probabilities: Annotated[
        bool, Field(description="ask for the log-probabilities of the answer's first token")
    ] = True


class ApiWriterOptions(ServerOptions):
    """Options of writers behind a server; the sampling is that of Auto-Comp, A.6."""

    temperature: Annotated[
        float | None, Field(gt=0, le=2, description="null: leave it to the server")
    ] = 0.7
    top_p: Annotated[
        float | None, Field(gt=0, le=1, description="null: leave it to the server")
    ] = 0.9
    max_tokens: Annotated[int, Field(ge=1, description="of a caption")] = 150
    send_seed: Annotated[
        bool, Field(description="send each attempt's seed, for servers that know it")
    ] = True
    system_role: Annotated[
        bool, Field(description="the role as a message of its own; false: in the user's")
    ] = True


@dataclass(frozen=True)
class Address:
    """Where a model is served, and what the server calls it."""

    url: str  # without a slash at its end
    model: str

    @property
    def host(self) -> str:
        """The server's name or number."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_loopback(self) -> bool:
        """Whether the server is this machine."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def key_variable(self, option: str | None) -> str:
        """Return the environment variable that holds the key; "" for no key.

        A key goes out unasked only where it can't be read on the way.
        """
        if option is not None:
            return option
        https = self.url.startswith("https:")
        return "OPENAI_API_KEY" if https and not self.is_loopback else ""

    def max_tokens_field(self, option: str) -> str:
        """Return the field that limits an answer: OpenAI refuses the one that all others know."""
        openai = self.host == "api.openai.com"
        return option or ("max_completion_tokens" if openai else "max_tokens")


def parse_address(name: str) -> Address:
    """Return the address in a model's name, ``URL#model``; %40 in it stands for @.

    Raises:
        UserError: it is none, or it holds a user's name, a password or a query.
    """
    url, _, model = name.partition("#")
    parts = _split(url)
    if parts is None or not model:
        # Without the name: where it is written wrongly it may hold a password.
        raise UserError(
            "An api model needs the server's address and its own name there: write "
            "api:URL#model, for example api:http://127.0.0.1:8000/v1#google/gemma-3-12b-it."
        )
    if parts.query or "@" in parts.netloc:
        raise UserError(
            f"The address of the api model on {parts.hostname} holds a query or a user name: keys "
            "are read from the environment variable that the option key_variable names."
        )
    return Address(url.rstrip("/"), unquote(model))


def read_key(address: Address, option: str | None) -> str:
    """Return the key for a server, "" if it needs none.

    Raises:
        UserError: its environment variable is not set.
    """
    variable = address.key_variable(option)
    key = os.environ.get(variable, "") if variable else ""
    if variable and not key:
        raise UserError(
            f"The environment variable {variable} is not set, but {address.url} needs a key: set "
            'it, name another one by the option key_variable, or give key_variable: "" for none.'
        )
    return key


def _split(url: str) -> SplitResult | None:
    """Return the parts of an http address, or None if it is none."""
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # the port is no number
        return None
    return parts if right else None
