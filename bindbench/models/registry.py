"""How a name such as ``mitsuba:icons`` becomes a model: checked, described and loaded."""

import functools
import gc
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from bindbench.engine.base import Demand
from bindbench.errors import UserError, unknown_name
from bindbench.models.families import FAMILIES
from bindbench.models.family import Family, ModelName, Role
from bindbench.models.file_digest import CONTENT, content_revision
from bindbench.suite import RoleSettings, VocabularySources, parse
from bindbench.vocabulary_files import load_lexicon


def named(role: Role, settings: RoleSettings) -> tuple[ModelName, Family, Any]:
    """Return what a role's settings name, with the family's options; its files are not looked at.

    Raises:
        UserError: the family, the name or an option does not exist; the nearest are named.
    """
    name = ModelName.parse(settings.model)
    _check_answers(role, name)
    if (role, name.family) not in FAMILIES:
        families = [family for r, family in FAMILIES if r == role]
        raise unknown_name(f"{role} family", name.family, families)
    family = FAMILIES[role, name.family]
    if family.models and name.name not in family.models:
        known = [f"{name.family}:{model}" for model in family.models]
        raise unknown_name(f"{role} model", f"{name.family}:{name.name}", known)
    options = parse(family.options, settings.options, f"options of {role} {name}")
    return _without_content(name), family, options


def _check_answers(role: Role, name: ModelName) -> None:
    """Raise a UserError for a scorer that can't answer in words, where an answerer is wanted."""
    own, scorer = (FAMILIES.get((kind, name.family)) for kind in (role, "scorer"))
    if role != "answerer" or scorer is None or (own and not own.models):
        return
    if own is None or (name.name not in own.models and name.name in scorer.models):
        raise UserError(
            f"{name} scores captions and can't answer in words: give a generative model, such as "
            "nano:vlm, hf:org/name or api:URL#model."
        )


def _without_content(name: ModelName) -> ModelName:
    """Return a local checkpoint's name without the hash of its files: families know none."""
    return replace(name, revision="") if name.revision.startswith(CONTENT) else name


def resolve(role: Role, settings: RoleSettings) -> tuple[ModelName, Family, Any]:
    """Check a role's settings without loading anything.

    Raises:
        UserError: as ``named`` does, or the model is not there, or no more the one that is meant.
    """
    name, family, options = named(role, settings)
    family.check(name, options)
    _check_content(ModelName.parse(settings.model))
    return name, family, options


def _check_content(name: ModelName) -> None:
    """Raise a UserError for a local checkpoint whose files are not those that its name means."""
    path = Path(name.name).expanduser()
    if name.revision.startswith(CONTENT) and content_revision(path) != name.revision:
        raise UserError(
            f"{name}: the files have changed since, they are {content_revision(path)} now: restore "
            "them, or leave the revision out."
        )


def describe(role: Role, settings: RoleSettings) -> dict[str, Any]:
    """Return what determines a model's output, for fingerprints."""
    name, family, options = resolve(role, settings)
    return {
        "model": str(name),
        "options": options.model_dump(mode="json"),
        "batch_size": settings.batch_size,
        **family.identity(name, options),
    }


def is_contrastive(name: ModelName, options: Any) -> bool:
    """Whether a scorer embeds images and texts apart, found out before anything large is loaded."""
    if name.family == "hf":
        from bindbench.models.hf_names import find_source

        return find_source(name.name, name.revision, options).kind == "contrastive"
    if name.family == "nano":
        from bindbench.models.embedded_families import NANO_VLMS

        return name.name not in NANO_VLMS
    return name.family == "open_clip"


def processes(role: Role, settings: RoleSettings, workers: int) -> int:
    """Return how many of an engine's worker processes hold a model."""
    _, family, options = named(role, settings)
    return 1 if family.lone(options) else workers


def demand(role: Role, settings: RoleSettings) -> Demand:
    """Return what a model asks of an engine's workers."""
    _, family, options = named(role, settings)
    devices = [d.partition(":") for d in accelerators_of(role, settings) if d.startswith("cuda")]
    gpus = max((int(number or 0) + 1 for _, _, number in devices), default=0)
    return Demand(role, family.lone(options), gpus)


def accelerators_of(role: Role, settings: RoleSettings) -> tuple[str, ...]:
    """Return the accelerators that a model is held on, as its options name them."""
    _, _, options = named(role, settings)
    devices = getattr(options, "devices", ()) or (getattr(options, "device", "cpu"),)
    return tuple(device for device in devices if device != "cpu")


def load(role: Role, settings: RoleSettings, sources: VocabularySources) -> Any:
    """Return the loaded model for one shard; a process loads each one once.

    A model that remembers what it computed (``fresh``) starts each shard without memories, so
    that no bit of a shard depends on those computed before it.
    """
    options = json.dumps(settings.options, sort_keys=True)
    key = (role, settings.model, options, sources.model_dump_json())
    _, family, parsed = named(role, settings)
    if family.lone(parsed):
        _make_room(key)
    model = _load(*key)
    return model.fresh() if hasattr(model, "fresh") else model


_lone: list[tuple[str, ...]] = []  # the keys of the lone models that this process holds
_TOGETHER = {"detector", "judge"}  # roles of one stage, in turns for each of its shards


def _make_room(key: tuple[str, ...]) -> None:
    """Forget the models of this process before another one fills an accelerator."""
    others = [held for held in _lone if held != key]
    if any({held[0], key[0]} != _TOGETHER for held in others):
        _load.cache_clear()
        gc.collect()
        others = []
    _lone[:] = [*others, key]


@functools.lru_cache(maxsize=8)
def _load(role: Role, model: str, options: str, sources: str) -> Any:
    settings = RoleSettings(model=model, options=json.loads(options))
    name, family, parsed = resolve(role, settings)
    return family.load(name, parsed, load_lexicon(json.loads(sources)))
