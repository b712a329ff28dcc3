"""Asking an OpenAI-compatible server: deadlines, bounded retries, and what can't be helped."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx2

from bindbench.errors import UserError
from bindbench.models.api_options import Address

T = TypeVar("T")

HOPELESS = (401, 403, 404, 405)  # every other request would be refused as well
WORDS_SHOWN = 200  # of a server's message


class NoAnswer(Exception):
    """A request that has no answer, after all retries; says why."""


class Refusal(Exception):
    """The server's filter of content refuses this one request, at every try; says why."""


class Unusable(Exception):
    """A response without what was asked for, which may come at the next try; says what is wrong."""


class _Passing(Exception):
    """A failure that may pass, with the wait that the server asks for, in seconds."""

    def __init__(self, why: str, wait: float = 0.0):
        super().__init__(why)
        self.wait = wait


@dataclass(frozen=True)
class Patience:
    """How long a request is tried."""

    timeout: float  # seconds for a whole response, however slowly it comes
    retries: int
    backoff: float  # seconds before the first retry, doubled each time
    max_wait: float  # the longest wait, seconds


class ApiClient:
    """Sends requests to one server, from several threads.

    Retried are the statuses 408, 409, 425, 429 and 5xx, timeouts, broken connections, responses
    that are no JSON, and those that hold no answer; no other status is. A wait that the server
    asks for holds for all threads.
    """

    def __init__(self, address: Address, key: str, patience: Patience, connections: int):
        self._address = address
        self._key = key
        self._patience = patience
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx2.Client(
            headers=headers,
            limits=httpx2.Limits(max_connections=connections),
            trust_env=not address.is_loopback,  # no proxy leads to this machine
        )
        self._lock = threading.Lock()
        self._not_before = 0.0  # on the monotonic clock
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End the waits of all threads; their requests then have no answer."""
        self._stopped.set()

    def resume(self) -> None:
        """Take requests again after ``stop``."""
        self._stopped.clear()

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[dict[str, Any]], T],
        retries: int | None = None,
    ) -> T:
        """Return what ``read`` finds in the response.

        Args:
            path: after the server's address.
            body: sent as JSON.
            read: takes the response's JSON; raises Unusable if it holds no answer.
            retries: fewer or more than usual.

        Raises:
            NoAnswer: all tries failed, or the server can't take the request.
            Refusal: its filter of content refuses the request.
            UserError: the server refuses every request.
        """
        content = json.dumps(body).encode()
        most = self._patience.retries if retries is None else retries
        for attempt in range(most + 1):
            if self._stopped.is_set():
                raise NoAnswer("not asked")
            self._wait_for_turn()
            try:
                return read(self._send(path, content))
            except (_Passing, Unusable) as error:
                if attempt == most:
                    tries = f", after {attempt + 1} tries" if attempt else ""
                    raise NoAnswer(f"{error}{tries}") from error
                self._wait(attempt, error)
        raise AssertionError("unreachable")

    def _wait(self, attempt: int, failure: Exception) -> None:
        asked = failure.wait if isinstance(failure, _Passing) else 0.0
        if asked > self._patience.max_wait:
            raise NoAnswer(f"{failure} and asks to wait {asked:.0f} s, longer than max_wait")
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + asked)
        wait = min(self._patience.backoff * 2**attempt, self._patience.max_wait)
        self._stopped.wait(max(wait, asked))

    def _wait_for_turn(self) -> None:
        while (left := self._not_before - time.monotonic()) > 0 and not self._stopped.wait(left):
            pass

    def _send(self, path: str, content: bytes) -> dict[str, Any]:
        try:
            status, headers, data = self._exchange(path, content)
        except httpx2.TimeoutException as error:
            raise _Passing(f"no response within {self._patience.timeout:g} s") from error
        except httpx2.RequestError as error:
            name = type(error).__name__
            raise _Passing(self._short(f"the connection failed ({name}: {error})")) from error
        if status == 200:
            return _json_object(data)
        why = f"the server answered {status}: {self._short(_message(data))}"
        if status in HOPELESS or 300 <= status < 400:
            raise UserError(f"{self._address.url} refuses {self._address.model}: {why}.")
        if status in (408, 409, 425, 429) or status >= 500:
            raise _Passing(why, _retry_after(headers.get("Retry-After")))
        if b"content_filter" in data or b"content_policy" in data:
            raise Refusal(why)
        raise NoAnswer(why)

    def _exchange(self, path: str, content: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """Send one request; its deadline holds however slowly the bytes trickle in."""
        timeout = self._patience.timeout
        deadline = time.monotonic() + timeout
        url = f"{self._address.url}/{path}"
        headers = {"Content-Type": "application/json"}
        with self._http.stream(
            "POST", url, content=content, headers=headers, timeout=timeout
        ) as response:
            parts = []
            for part in response.iter_bytes():
                parts.append(part)
                if time.monotonic() > deadline:
                    raise httpx2.ReadTimeout("the response is too slow")
            return response.status_code, response.headers, b"".join(parts)

    def _short(self, text: str) -> str:
        """Return a server's words on one line, without the key."""
        if self._key:
            text = text.replace(self._key, "***")
        words = " ".join(text.split()).rstrip(".")
        return words if len(words) <= WORDS_SHOWN else f"{words[:WORDS_SHOWN]}..."


def _json_object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError as error:  # also where the bytes are no text
        raise _Passing("the response is not JSON") from error
    if not isinstance(value, dict):
        raise _Passing("the response is not a JSON object")
    return value


def _message(data: bytes) -> str:
    """Return what an error response says, in whatever form."""
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except ValueError:
        return text or "no message"
    error = value.get("error", value) if isinstance(value, dict) else value
    message = error.get("message", error) if isinstance(error, dict) else error
    return message if isinstance(message, str) else json.dumps(message)


def _retry_after(header: str | None) -> float:
    """Return the seconds that a Retry-After header asks for: a number or a date; 0 if none."""
    if not header:
        return 0.0
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return 0.0
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
