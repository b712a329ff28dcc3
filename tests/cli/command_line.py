"""Running ``bindbench`` in this process."""

import sys

import pytest

from bindbench.cli.main import main


def call(monkeypatch, *arguments: str) -> int:
    """Run the command and return its exit code."""
    monkeypatch.setattr(sys, "argv", ["bindbench", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)
