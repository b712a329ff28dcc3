"""Answers on disk, by content: what a server was paid for is never asked again."""

import contextlib
import json
import os
import threading
import uuid
from pathlib import Path
from typing import IO, Any

from bindbench.errors import UserError

Answer = dict[str, Any]


def cache_folder() -> Path:
    """Return the folder that BINDBENCH_CACHE names, else one in the user's own cache."""
    named = os.environ.get("BINDBENCH_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "bindbench"


class AnswerStore:
    """The answers of one model, as lines of JSON in a folder.

    Each process appends to a file of its own and reads those of all, so that any number of them
    may work at the same time, on any file system. A line that was cut off by a kill is no answer.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._answers: dict[str, Answer] = {}
        self._read: dict[str, int] = {}  # how many bytes of each file are known
        self._own = f"{uuid.uuid4().hex}.jsonl"
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()

    def refresh(self) -> None:
        """Read what other processes have added."""
        if not self.folder.is_dir():
            return
        for path in sorted(self.folder.glob("*.jsonl")):
            if path.name != self._own:
                self._read_on(path)

    def _read_on(self, path: Path) -> None:
        start = self._read.get(path.name, 0)
        if path.stat().st_size <= start:
            return
        with path.open("rb") as file:
            file.seek(start)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._read[path.name] = start + len(whole)
        for line in whole.splitlines():
            try:
                record = json.loads(line)
                # The first of several answers counts, in every process.
                self._answers.setdefault(record["key"], record["answer"])
            except (ValueError, KeyError, TypeError):
                continue  # torn when the machine went down: it is asked again

    def get(self, key: str) -> Answer | None:
        """Return the answer with this key, or None."""
        return self._answers.get(key)

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer; it is on its way to the disk when this returns.

        Raises:
            UserError: it can't be written.
        """
        line = json.dumps({"key": key, "answer": answer}, sort_keys=True).encode() + b"\n"
        with self._lock:
            self._write(line)
            self._answers[key] = answer

    def prepare(self) -> None:
        """Make sure that answers can be kept, before any is paid for.

        Raises:
            UserError: the folder can't be written.
        """
        with self._lock:
            self._write(b"")

    def _write(self, line: bytes) -> None:
        try:
            if self._file is None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._file = (self.folder / self._own).open("ab")
            self._file.write(line)
            self._file.flush()
        except OSError as error:
            self._abandon()
            raise UserError(
                f"Answers can't be kept in {self.folder} ({error.strerror}): free some space, or "
                "set BINDBENCH_CACHE to a folder that can be written."
            ) from error

    def _abandon(self) -> None:
        """Go on in another file: this one may end in half a line."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        self._file, self._own = None, f"{uuid.uuid4().hex}.jsonl"
