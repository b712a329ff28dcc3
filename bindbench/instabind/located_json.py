"""JSON files whose objects know their line, so that an error can name it."""

import json
import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from bindbench.errors import UserError


class Located(dict[str, Any]):
    """A JSON object, and the line of the file that it begins in."""

    line: int = 0


class _Decoder(json.JSONDecoder):
    """Makes every object a ``Located``; refuses keys that are given twice, and NaN."""

    def __init__(self, text: str) -> None:
        super().__init__(object_pairs_hook=_unique, parse_constant=_no_constant)
        breaks = [i for i, character in enumerate(text) if character == "\n"]
        parse_object = json.decoder.JSONObject  # type: ignore[attr-defined]

        def located(start: tuple[str, int], *rest: Any) -> tuple[Located, int]:
            found, end = parse_object(start, *rest)
            found.line = 1 + bisect_left(breaks, start[1])
            return found, end

        self.parse_object = located
        # The scanner in C takes no parser of objects; the one in Python does.
        self.scan_once = json.scanner.py_make_scanner(self)  # type: ignore[attr-defined]


def _unique(pairs: list[tuple[str, Any]]) -> Located:
    found = Located(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"an object has the key {twice!r} twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises:
        UserError: there is no such file, or it is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 at byte {error.start}.") from None


def read_json(path: Path) -> Any:
    """Return the value in a JSON file; its objects are ``Located``.

    Raises:
        UserError: it is not JSON; the sentence names file and line.
    """
    text = read_text(path)
    try:
        return _Decoder(text).decode(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}, line {error.lineno}, is not JSON: {error.msg}.") from None
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}.") from None


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of each line that is not blank.

    Raises:
        UserError: a line is not a JSON object; the sentence names it.
    """
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_unique, parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            raise UserError(
                f"{path}, line {number}, is not JSON: {error.msg} at column {error.colno}."
            ) from None
        except ValueError as error:
            raise UserError(f"{path}, line {number}, is not valid JSON: {error}.") from None
        if not isinstance(row, dict):
            raise UserError(f"{path}, line {number}, is not a JSON object, which it must be.")
        yield number, row


def invalid(path: Path, error: ValidationError, value: Any, line: int | None = None) -> UserError:
    """Return the sentence for the first thing that is wrong with a value.

    Args:
        path: the file that the value was read from.
        error: what pydantic found.
        value: the value; where ``line`` is None, its objects are ``Located``.
        line: the line of the file, where the value is one line of it.
    """
    first = error.errors(include_url=False)[0]
    where = _field(first["loc"])
    reason = first["msg"].removeprefix("Value error, ").rstrip(".")
    given = first.get("input")
    shown = f" (it is {given!r})" if given is None or isinstance(given, str | int | float) else ""
    place = line or _line_of(value, first["loc"])
    return UserError(
        f"{path}, line {place}: {where}{': ' if where else ''}{_lower(reason)}{shown}."
    )


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _line_of(value: Any, location: Sequence[int | str]) -> int:
    """Return the line of the innermost object on the way to a place."""
    line = getattr(value, "line", 1)
    for key in location:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            break
        line = getattr(value, "line", line)
    return line


def _field(location: Sequence[int | str]) -> str:
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in location)
    return text.removeprefix(".")


def finite(values: Sequence[float]) -> bool:
    """Whether all are numbers that are not infinite."""
    return all(math.isfinite(value) for value in values)
