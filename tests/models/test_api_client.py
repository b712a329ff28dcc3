"""The HTTP client against a server that misbehaves."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest
from api_server import (
    DROPPED,
    EMPTY,
    HANG,
    MALFORMED,
    TRICKLE,
    ApiServer,
    Reply,
    always,
    answer,
    error,
    first,
)

from bindbench.errors import UserError
from bindbench.models import api_client
from bindbench.models.api_client import ApiClient, NoAnswer, Patience, Refusal
from bindbench.models.api_modes import words_of
from bindbench.models.api_options import parse_address

BODY = {"messages": [{"role": "user", "content": "hello"}]}
QUICK = Patience(timeout=20, retries=3, backoff=0.001, max_wait=5)
FINE = always(answer("fine"))


@pytest.fixture
def server():
    with ApiServer(FINE) as server:
        yield server


def client_of(server: ApiServer, patience: Patience = QUICK, key: str = "") -> ApiClient:
    return ApiClient(parse_address(server.name.removeprefix("api:")), key, patience, 8)


def post(client: ApiClient, body=BODY):
    return client.post("chat/completions", body, words_of)


@pytest.mark.parametrize(
    "failure",
    [
        *(error(429), error(500), error(503), error(408), MALFORMED, EMPTY, answer(None)),
        *(answer(" \n"), Reply(body=b"[1, 2]"), DROPPED, HANG, TRICKLE),
    ],
    ids=lambda reply: f"{reply.status}-{reply.body[:20]!r}-{reply.delay:g}-{reply.pause:g}",
)
def test_what_may_pass_is_retried_until_it_has(server, failure):
    server.script = first([failure, failure], FINE)
    slow = failure in (HANG, TRICKLE)
    patience = Patience(1.0, 3, 0.001, 5) if slow else QUICK
    assert post(client_of(server, patience)) == "fine"
    assert server.count == 3


@pytest.mark.parametrize(
    "failure, why",
    [
        (error(500, "broken"), "the server answered 500: broken, after 4 tries"),
        (error(429, "slow down"), "the server answered 429: slow down, after 4 tries"),
        (MALFORMED, "the response is not JSON, after 4 tries"),
        (EMPTY, r"the answer is empty \(finish_reason stop\), after 4 tries"),
        (answer("", "length"), "finish_reason length, raise max_tokens"),
        (DROPPED, "the connection failed .*, after 4 tries"),
    ],
)
def test_nothing_is_retried_for_ever(server, failure, why):
    server.script = always(failure)
    with pytest.raises(NoAnswer, match=why):
        post(client_of(server))
    assert server.count == 4


@pytest.mark.parametrize("failure", [HANG, TRICKLE])
def test_a_response_that_never_ends_has_a_deadline(server, failure):
    server.script = always(failure)
    with pytest.raises(NoAnswer, match=r"no response within 0\.2 s, after 2 tries"):
        post(client_of(server, Patience(0.2, 1, 0.001, 5)))
    assert server.count == 2


def test_a_server_that_is_not_there_is_said():
    with ApiServer(FINE) as server:
        client = client_of(server)
    with pytest.raises(NoAnswer, match=r"the connection failed .*after 4 tries"):
        post(client)


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_request_that_can_never_be_answered_is_not_retried(server, status):
    server.script = always(error(status, "too long"))
    with pytest.raises(NoAnswer, match=f"the server answered {status}: too long$"):
        post(client_of(server))
    assert server.count == 1


def test_a_filter_of_content_is_told_apart(server):
    server.script = always(error(400, "content_filter: no such pictures"))
    with pytest.raises(Refusal, match="no such pictures"):
        post(client_of(server))
    assert server.count == 1


@pytest.mark.parametrize("status", [401, 403, 404, 307])
def test_a_server_that_refuses_everything_is_a_user_error(server, status):
    server.script = always(error(status, "wrong key"))
    with pytest.raises(UserError, match=f"refuses stand-in: the server answered {status}: wrong"):
        post(client_of(server))
    assert server.count == 1


def test_the_key_is_sent_and_never_shown(server):
    secret = "sk-very-secret"
    server.script = lambda asked: error(400, f"bad key {asked.headers['Authorization']}")
    with pytest.raises(NoAnswer) as caught:
        post(client_of(server, key=secret))
    assert server.asked[0].headers["Authorization"] == f"Bearer {secret}"
    assert secret not in str(caught.value)
    assert "Bearer ***" in str(caught.value)
    server.script = always(error(401, f"invalid {secret}"))
    with pytest.raises(UserError) as caught:
        post(client_of(server, key=secret))
    assert secret not in str(caught.value)
    post_without_key = client_of(server)
    server.script = FINE
    post(post_without_key)
    assert "Authorization" not in server.asked[-1].headers


class Clock:
    """Stands for the clock and for the waiting on it."""

    def __init__(self):
        self.now, self.waits, self.stopped, self.short = 1000.0, [], False, 0

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.waits.append(round(seconds, 6))
        if self.short:  # as if this wait were over at once
            self.short -= 1
        else:
            self.now += seconds
        return self.stopped

    def is_set(self) -> bool:
        return self.stopped


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(api_client, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


def waits(server: ApiServer, clock: Clock, patience: Patience) -> list[float]:
    client = client_of(server, patience)
    client._stopped = clock  # type: ignore[assignment]
    post(client)
    return clock.waits


def test_waits_double_up_to_the_longest(server, clock):
    server.script = first([error(500)] * 5, FINE)
    assert waits(server, clock, Patience(20, 5, 1, 6)) == [1, 2, 4, 6, 6]


def test_the_wait_that_a_server_asks_for_is_kept(server, clock):
    server.script = first([error(429, retry_after="7"), error(503, retry_after="0.5")], FINE)
    assert waits(server, clock, Patience(20, 5, 1, 60)) == [7, 2]


def test_a_date_to_wait_for_is_kept(server, clock):
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    server.script = first([error(429, retry_after=date)], FINE)
    (waited,) = waits(server, clock, Patience(20, 5, 1, 60))
    assert 20 < waited <= 30


@pytest.mark.parametrize("header", ["soon", "-5", ""])
def test_a_wait_that_is_none_is_the_usual_one(server, clock, header):
    server.script = first([error(429, retry_after=header)], FINE)
    assert waits(server, clock, Patience(20, 5, 1, 60)) == [1]


def test_a_wait_that_is_too_long_is_not_begun(server, clock):
    server.script = always(error(429, "tomorrow", retry_after="86400"))
    with pytest.raises(NoAnswer, match="tomorrow and asks to wait 86400 s, longer than max_wait"):
        waits(server, clock, Patience(20, 5, 1, 60))
    assert (server.count, clock.waits) == (1, [])


def test_a_wait_that_one_thread_is_told_holds_for_the_next_request(server, clock):
    """The first request's own wait ends early; what follows it is held back all the same."""
    server.script = first([error(429, retry_after="7")], FINE)
    clock.short = 1
    assert waits(server, clock, Patience(20, 5, 1, 60)) == [7, 7]
