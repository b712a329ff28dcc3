"""Reading vocabularies: built-in ones by name, a user's from a YAML file, each fault a sentence."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from bindbench.errors import UserError, unknown_name
from bindbench.vocabulary import (
    ENTRY_TYPES,
    Entry,
    Lexicon,
    Noun,
    Relation,
    Vocabulary,
    ancestors_of,
    as_words,
)
from bindbench.yaml_files import parse_yaml

BUILT_IN = Path(__file__).parent / "vocabularies"


class Document(BaseModel):
    """The top level of a vocabulary file. Entries are validated one by one, by their kind."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["objects", "shapes", "colors", "positions", "sizes"]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]
    extends: Annotated[str, Field(min_length=1)] | None = None
    only: tuple[str, ...] | None = None
    entries: tuple[Any, ...] = ()


def known_vocabularies() -> dict[str, tuple[str, ...]]:
    """Return the names of the built-in vocabularies by their kind, sorted."""
    found: dict[str, list[str]] = {kind: [] for kind in ENTRY_TYPES}
    for path in sorted(BUILT_IN.glob("*.yaml")):
        document = _read_document(path)
        found[document.kind].append(document.name)
    return {kind: tuple(names) for kind, names in found.items()}


def load_vocabulary(source: str, kind: str) -> Vocabulary[Any]:
    """Load a built-in vocabulary by its name or a user's by the path of its YAML file.

    Links are completed: ``close`` and the synonyms among the entries hold in both directions.

    Raises:
        UserError: the file is missing or not YAML, or an entry breaks the schema; the message
            names the file, the entry and the field.
    """
    if kind not in ENTRY_TYPES:
        raise unknown_name("kind of vocabulary", kind, ENTRY_TYPES)
    path = _find(source, kind)
    document, entries = _collect(path, kind, ())
    entries = _finished(path, document, entries)
    if not entries:
        raise UserError(f"Vocabulary {path} has no entries: give at least one.")
    _check_relations(path, kind, [entry for entry in entries if isinstance(entry, Relation)])
    return Vocabulary(kind, document.name, tuple(entries))


def load_lexicon(sources: dict[str, str]) -> Lexicon:
    """Load the five vocabularies named by ``sources`` (kind to name or path).

    Raises:
        UserError: a kind is missing or unknown, a vocabulary is invalid, or a noun holds a color.
    """
    for kind in sources:
        if kind not in ENTRY_TYPES:
            raise unknown_name("kind of vocabulary", kind, ENTRY_TYPES)
    if missing := [kind for kind in ENTRY_TYPES if kind not in sources]:
        raise UserError(f"No vocabulary is named for {' and '.join(missing)}: name one for each.")
    lexicon = Lexicon(**{kind: load_vocabulary(source, kind) for kind, source in sources.items()})
    _check_colors_apart(lexicon)
    return lexicon


def _find(source: str, kind: str, base: Path | None = None) -> Path:
    """Return the file of a vocabulary: a path if it looks like one, else a built-in name."""
    if source.endswith((".yaml", ".yml")) or "/" in source or "\\" in source:
        path = (base or Path()) / source
        if not path.is_file():
            raise UserError(f"Vocabulary file {path} does not exist: give the path of a YAML file.")
        return path
    path = BUILT_IN / f"{source}.yaml"
    known = [file.stem for file in BUILT_IN.glob("*.yaml")]
    if source not in known:
        raise unknown_name(f"vocabulary of {kind}", source, known)
    return path


def _read_document(path: Path) -> Document:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"Vocabulary {path} can't be read as UTF-8 text: {error}.") from error
    try:
        content = parse_yaml(text)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an impossible date
        raise UserError(_not_yaml(path, error)) from error
    if not isinstance(content, dict):
        raise UserError(
            f"Vocabulary {path} is not a mapping: write the fields kind, name and entries."
        )
    try:
        return Document.model_validate(content)
    except ValidationError as error:
        details = error.errors()[0]
        raise UserError(f"Vocabulary {path}, {_problem(details, Document)}") from error


def _not_yaml(path: Path, error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f" at line {mark.line + 1}" if mark else ""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return f"Vocabulary {path} is not YAML{place}: {problem}."


def _problem(details: ErrorDetails, model: type[BaseModel]) -> str:
    """Say in words what pydantic found: the field, its value and what would be right."""
    field = str(details["loc"][0]) if details["loc"] else ""
    value = details["input"]
    expected = details.get("ctx", {}).get("expected", "")
    match details["type"]:
        case "missing":
            return f"field {field} is missing: add it."
        case "extra_forbidden":
            known = ", ".join(model.model_fields)
            return f"field {field} is unknown: the fields are {known}."
        case "literal_error":
            return f"field {field}: {value!r} is not allowed, give {expected}."
        case "string_type" | "string_pattern_mismatch" if field == "rgb":
            return f'field rgb: {value!r} is not a color value, write it quoted like "#1F4FE6".'
        case "string_type":
            return f"field {field}: {value!r} is not text, put it in quotes."
        case "string_pattern_mismatch" if value == "":
            return f"field {field} is empty: give at least one word."
        case "string_pattern_mismatch" if model is not Document:
            return (
                f"field {field}: {value!r} does not fit captions, use lower-case letters, digits, "
                "inner hyphens and single spaces."
            )
        case _:
            return f"field {field}: {value!r} is not allowed ({details['msg']})."


def _collect(path: Path, kind: str, seen: tuple[Path, ...]) -> tuple[Document, list[Any]]:
    """Read a file and what it extends: the document and all entries, not restricted yet."""
    if path.resolve() in seen:
        raise UserError(f"Vocabulary {path} extends itself: remove the field extends of one file.")
    document = _read_document(path)
    if document.kind != kind:
        raise UserError(
            f"Vocabulary {path}, field kind: it holds {document.kind!r}, "
            f"but a vocabulary of kind {kind!r} is needed here."
        )
    own = _own_entries(path, document)
    if document.extends is None:
        return document, own
    base_path = _find(document.extends, kind, path.parent)
    base_document, base = _collect(base_path, kind, (*seen, path.resolve()))
    base = _finished(base_path, base_document, base)
    merged = {entry.name: entry for entry in base} | {entry.name: entry for entry in own}
    return document, list(merged.values())


def _finished(path: Path, document: Document, entries: list[Any]) -> list[Any]:
    """Check and complete the links, then keep what ``only`` names."""
    entries = _with_symmetric_links(_checked_links(path, entries))
    return entries if document.only is None else _restricted(path, entries, document.only)


def _own_entries(path: Path, document: Document) -> list[Any]:
    model = ENTRY_TYPES[document.kind]
    entries: list[Any] = []
    position: dict[str, int] = {}
    for number, raw in enumerate(document.entries, start=1):
        entry = _entry(path, number, raw, model)
        if entry.name in position:
            raise UserError(
                f"Vocabulary {path}, field name: entries {position[entry.name]} and {number} are "
                f"both called {entry.name!r}, names must be distinct."
            )
        if document.kind == "objects" and isinstance(entry, Noun) and entry.primitive:
            raise UserError(
                f"Vocabulary {path}, entry {number} ({entry.name!r}), field primitive: "
                f"{entry.primitive!r} is for shapes only, give an icon."
            )
        position[entry.name] = number
        entries.append(entry)
    return entries


def _entry(path: Path, number: int, raw: Any, model: type[Entry]) -> Entry:
    if not isinstance(raw, dict):
        raise UserError(
            f"Vocabulary {path}, entry {number}: {raw!r} is not a mapping, write {{name: ...}}."
        )
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        label = f" ({raw['name']!r})" if raw.get("name") else ""
        problem = _problem(error.errors()[0], model)
        raise UserError(f"Vocabulary {path}, entry {number}{label}, {problem}") from error


def _checked_links(path: Path, entries: list[Any]) -> list[Any]:
    """Return the entries if what they refer to exists and is no contradiction."""
    by_name = {entry.name: entry for entry in entries}
    for entry in entries:
        for field in ("broader", "close"):
            for target in getattr(entry, field):
                _check_target(path, entry, field, target, by_name)
        if entry.name in entry.synonyms:
            raise _bad_link(path, entry, "synonyms", entry.name, "the entry itself, remove it")
        if entry.name in ancestors_of(entry.name, by_name):
            chain = " and ".join(map(repr, entry.broader))
            raise _bad_link(
                path,
                entry,
                "broader",
                entry.broader[0],
                f"narrower as well: the links of {entry.name!r} to {chain} lead back to it",
            )
    _check_outside_synonyms(path, entries)
    return entries


def _check_target(
    path: Path, entry: Entry, field: str, target: str, by_name: dict[str, Any]
) -> None:
    if target not in by_name:
        raise unknown_name(
            f"entry in field {field}", target, by_name, f"vocabulary {path}, entry {entry.name!r}"
        )
    if target == entry.name:
        raise _bad_link(path, entry, field, target, "the entry itself, remove it")


def _bad_link(path: Path, entry: Entry, field: str, value: object, problem: str) -> UserError:
    return UserError(
        f"Vocabulary {path}, entry {entry.name!r}, field {field}: {value!r} is {problem}."
    )


def _groups(entries: Sequence[Any]) -> dict[str, tuple[str, ...]]:
    """Return for each entry the entries that mean the same, itself included, in their order."""
    group = {entry.name: {entry.name} for entry in entries}
    for entry in entries:
        for synonym in entry.synonyms:
            if synonym in group and synonym not in group[entry.name]:
                joined = group[entry.name] | group[synonym]
                group.update(dict.fromkeys(joined, joined))
    return {
        name: tuple(entry.name for entry in entries if entry.name in members)
        for name, members in group.items()
    }


def _check_outside_synonyms(path: Path, entries: Sequence[Any]) -> None:
    """A word that is no entry may be a synonym of one meaning only."""
    groups = _groups(entries)
    owner: dict[str, str] = {}
    for entry in entries:
        for word in entry.synonyms:
            first = owner.setdefault(word, entry.name)
            if groups[first] != groups[entry.name]:
                raise _bad_link(
                    path, entry, "synonyms", word, f"a synonym of {first!r} too, keep it with one"
                )


def _with_symmetric_links(entries: list[Any]) -> list[Any]:
    """Complete ``close`` and the synonyms among the entries in both directions."""
    groups = _groups(entries)
    close = {entry.name: list(entry.close) for entry in entries}
    for entry in entries:
        for other in entry.close:
            if entry.name not in close[other]:
                close[other].append(entry.name)
    return [
        entry.model_copy(
            update={
                "close": tuple(close[entry.name]),
                "synonyms": _merged(entry.synonyms, groups[entry.name], entry.name),
            }
        )
        for entry in entries
    ]


def _merged(words: Iterable[str], more: Iterable[str], but: str) -> tuple[str, ...]:
    return tuple(word for word in dict.fromkeys([*words, *more]) if word != but)


def _restricted(path: Path, entries: list[Any], only: Sequence[str]) -> list[Any]:
    """Return the entries that ``only`` names, in its order, without links to the others."""
    by_name = {entry.name: entry for entry in entries}
    for name in only:
        if name not in by_name:
            raise unknown_name("entry", name, by_name, f"field only of vocabulary {path}")
        if only.count(name) > 1:
            raise UserError(
                f"Vocabulary {path}, field only: {name!r} is listed twice, once is right."
            )
    kept = set(only)
    return [
        by_name[name].model_copy(
            update={
                "close": tuple(other for other in by_name[name].close if other in kept),
                # A broader entry that is left out hands its place to those above it.
                "broader": tuple(
                    other for other in by_name if other in kept & ancestors_of(name, by_name)
                ),
            }
        )
        for name in only
    ]


def _check_relations(path: Path, kind: str, relations: Sequence[Relation]) -> None:
    """Check that inverse, synonym, axis and direction of all relations agree."""
    by_name = {relation.name: relation for relation in relations}
    groups = _groups(relations)
    axes = ("size",) if kind == "sizes" else ("horizontal", "vertical")
    for relation in relations:
        if relation.axis not in axes:
            right = " or ".join(axes)
            raise _bad_link(
                path, relation, "axis", relation.axis, f"no axis of {kind}, give {right}"
            )
        _check_inverse(path, relation, by_name, groups)
        for name in groups[relation.name]:
            _check_synonym(path, relation, by_name[name], groups)


def _check_inverse(
    path: Path,
    relation: Relation,
    by_name: dict[str, Relation],
    groups: dict[str, tuple[str, ...]],
) -> None:
    inverse = by_name.get(relation.inverse)
    if inverse is None:
        raise _bad_link(
            path, relation, "inverse", relation.inverse, "no entry of the vocabulary, add it"
        )
    if inverse.inverse not in groups[relation.name]:
        raise _bad_link(
            path,
            relation,
            "inverse",
            inverse.name,
            f"itself the inverse of {inverse.inverse!r}, inverses must be mutual",
        )
    if inverse.axis != relation.axis:
        raise _bad_link(
            path,
            relation,
            "inverse",
            inverse.name,
            f"on axis {inverse.axis!r}, not on {relation.axis!r}",
        )
    if inverse.direction != -relation.direction:
        raise _bad_link(
            path,
            relation,
            "inverse",
            inverse.name,
            f"of the same direction {inverse.direction}, give one of them the opposite",
        )


def _check_synonym(
    path: Path, relation: Relation, other: Relation, groups: dict[str, tuple[str, ...]]
) -> None:
    for field in ("axis", "direction", "transitive"):
        if getattr(relation, field) != getattr(other, field):
            raise _bad_link(
                path,
                relation,
                field,
                getattr(relation, field),
                f"{getattr(other, field)!r} in its synonym {other.name!r}, they must agree",
            )
    if other.inverse not in groups.get(relation.inverse, ()):
        raise _bad_link(
            path,
            relation,
            "inverse",
            relation.inverse,
            f"no synonym of {other.inverse!r}, the inverse of its synonym {other.name!r}",
        )


def _check_colors_apart(lexicon: Lexicon) -> None:
    """No noun may hold a color: "a red orange" can't be read back from a caption."""
    for color in lexicon.colors.names:
        pattern = as_words(color)
        for nouns in (lexicon.objects, lexicon.shapes):
            for noun in nouns.names:
                if pattern.search(noun):
                    raise UserError(
                        f"Vocabulary {nouns.name}, entry {noun!r}, field name: it holds {color!r}, "
                        f"a color of vocabulary {lexicon.colors.name}; rename or drop one of them."
                    )
