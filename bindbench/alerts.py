"""Says to a webhook that something failed. Off unless the environment names one."""

import os
import time
from collections.abc import Sequence

from bindbench.errors import UserError

VARIABLE = "BINDBENCH_WEBHOOK"  # holds the address, which is a secret
TIMEOUT = 5.0  # seconds for one try: a sensor has a minute, for up to five alerts
TRIES = 2
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
    if not (address := webhook()):
        return
    for attempt in range(TRIES):
        problem = _post(address, payload)
        if not problem:
            return
        if attempt + 1 < TRIES:
            time.sleep(2.0**attempt)
    raise UserError(f"The webhook that {VARIABLE} names did not take an alert: {problem}.")


def _post(address: str, payload: dict[str, str]) -> str:
    """Return why a payload was not taken, "" if it was."""
    import httpx2

    try:
        response = httpx2.post(address, json=payload, timeout=TIMEOUT, follow_redirects=False)
    except Exception as error:  # its message may hold the address
        return type(error).__name__
    return "" if response.is_success else f"it answered {response.status_code}"
