"""The command ``bindbench models``: which model families there are, and what each needs."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel
from rich.console import Console

from bindbench.errors import unknown_name
from bindbench.models.availability import cached_repositories, hub_cache
from bindbench.models.families import FAMILIES
from bindbench.models.family import Family, ModelName
from bindbench.reporting.numbers import gigabytes

NO_PLACE = ("none", "server")


def models_table(family: str | None = None) -> dict[str, Any]:
    """Return the families, and the models in the Hugging Face cache, ready for JSON.

    Args:
        family: only this one, with every name that it knows; that may load its library.

    Raises:
        UserError: there is no such family.
    """
    names = [f.name for f in FAMILIES.values()]
    if family is not None and family not in names:
        raise unknown_name("family", family, set(names))
    chosen = [f for f in FAMILIES.values() if family in (None, f.name)]
    return {
        "families": [_family(f, family is not None) for f in chosen],
        "cache": {"path": str(hub_cache()), "models": list(cached_repositories())},
    }


def _family(family: Family, every_name: bool) -> dict[str, Any]:
    names = family.models or (tuple(family.known()) if every_name else ())
    return {
        "role": family.role,
        "family": family.name,
        "models": [f"{family.name}:{name}" for name in names],
        "named": family.named,
        "summary": family.summary,
        "scored": family.scored,
        "needs": family.needs,
        "weights": {name: _weights_of(family, name) for name in family.models},
        "options": {
            name: {
                "default": _plain(info.get_default(call_default_factory=True)),
                "description": info.description or "",
            }
            for name, info in family.options.model_fields.items()
        },
    }


def _plain(default: Any) -> Any:
    """Return an option's default as JSON data: what differs from the defaults of its own fields."""
    if isinstance(default, BaseModel):
        return default.model_dump(mode="json", exclude_defaults=True)
    return default


def _weights_of(family: Family, name: str) -> dict[str, Any]:
    found = family.weights(ModelName(family.name, name), family.options())
    return {"where": found.where, "bytes": found.bytes}


def print_models(found: dict[str, Any], console: Console) -> None:
    """Print a paragraph for each family, by role; of a single family all there is to say."""

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)

    families, cached = found["families"], found["cache"]
    role = ""
    for family in families:
        if family["role"] != role:
            role = family["role"]
            console.rule(role)
        say(f"{family['family']}: {family['summary']}", "bold")
        for label, text in _lines(family, in_full=len(families) == 1):
            say(f"  {label}: {text}".replace(": \n", ":\n"))
    if cached["models"]:
        say(f"In the Hugging Face cache {cached['path']}: {', '.join(cached['models'])}")
    else:
        say(f"No model is in the Hugging Face cache {cached['path']}.")


def _lines(family: dict[str, Any], in_full: bool) -> Iterator[tuple[str, str]]:
    """Yield a label and a text for each fact; in full, names and options on lines of their own."""
    options = [_option(name, option, in_full) for name, option in family["options"].items()]
    names = [*filter(None, [family["named"]]), *family["models"]]
    facts = {
        "scored by": family["scored"],
        "needs": "; ".join(filter(None, (family["needs"], _weights(family)))),
        "options": _listed(options, in_full),
        "names": _listed(names, in_full),
    }
    yield from ((label, text) for label, text in facts.items() if text)


def _listed(texts: Sequence[str], in_full: bool) -> str:
    return "".join(f"\n    {text}" for text in texts) if in_full else ", ".join(texts)


def _weights(family: dict[str, Any]) -> str:
    """Say which of a family's own weights are here."""
    known = {n: found for n, found in family["weights"].items() if found["where"] not in NO_PLACE}
    return ", ".join(f"the weights of {name} ({_place(found)})" for name, found in known.items())


def _place(found: dict[str, Any]) -> str:
    return found["where"] + (f", {gigabytes(found['bytes'])}" if found["bytes"] else "")


def _option(name: str, option: dict[str, Any], in_full: bool) -> str:
    text = f"{name}={option['default']}" if option["default"] not in ("", None, {}) else name
    return f"{text}  {option['description']}" if in_full and option["description"] else text
