"""Says to a webhook that something failed. Off unless the environment names one."""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any

from bindbench.errors import UserError

VARIABLE = "BINDBENCH_WEBHOOK"  # holds the address, which is a secret
TIMEOUT = 5.0  # seconds for one try: a sensor has a minute, for up to five alerts
TRIES = 2
PAUSE = 1.0  # seconds after one that failed
MOST = 2000  # characters of a message


def webhook() -> str:
    """Return the address of the webhook, "" for none."""
    return os.environ.get(VARIABLE, "").strip()


def message(title: str, lines: Sequence[str]) -> dict[str, str]:
    """Return the payload: Slack's, which Mattermost, Rocket.Chat and others take as well.

    Args:
        title: what failed.
        lines: why.
    """
    text = "\n".join([f"*{_plain(title)}*", *(_plain(line) for line in lines)])
    return {"text": text if len(text) <= MOST else f"{text[: MOST - 3]}..."}


def _plain(text: str) -> str:
    """Return a text without what Slack would take for a link, a mention or a line."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(escaped.split())


def send(payload: dict[str, str]) -> None:
    """Post a payload to the webhook; do nothing if there is none.

    Raises:
        UserError: it did not take it after several tries. Nowhere is its address named.
    """
    address, problem = webhook(), ""
    for _ in range(TRIES if address else 0):
        problem = _post(address, payload)
        if not problem:
            return
        time.sleep(PAUSE)
    if problem:
        raise UserError(f"The webhook that {VARIABLE} names did not take an alert: {problem}.")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: an alert goes to the address that was given, or nowhere."""

    def redirect_request(self, *args: Any, **fields: Any) -> None:
        """Return no further request."""


def _post(address: str, payload: dict[str, str]) -> str:
    """Return why a payload was not taken, "" if it was."""
    # By the standard library: other clients log the address of each request.
    body = json.dumps(payload).encode()
    try:
        request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT):
            return ""
    except urllib.error.HTTPError as error:
        return f"it answered {error.code}"
    except (OSError, ValueError, HTTPException) as error:  # their messages may hold the address
        reason = getattr(error, "reason", error)
        return type(reason if isinstance(reason, Exception) else error).__name__
