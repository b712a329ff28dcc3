"""Builds the stages of ConMe on one set, with one panel."""

from pathlib import Path
from typing import Any

from spine_driver import small_suite

from bindbench.engine.local import LocalEngine
from bindbench.pipeline import spine
from bindbench.pipeline.base import Context
from bindbench.storage.store import Artifact, Store


def fields_of(images: dict[str, Any], panel: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a suite's fields with a set ``photos`` and a panel ``panel``, two images a shard."""
    section = {"sets": {"photos": images}, "panels": {"panel": panel}, "shard_size": 2}
    return {"conme": section | more}


def context_of(fields: dict[str, Any], root: str | Path, engine: Any = None) -> Context:
    """Return the context of a suite with these fields."""
    suite = small_suite(**fields)
    return Context(suite, Store(root, suite.name), engine or LocalEngine(1))


def build(context: Context) -> dict[str, Artifact]:
    """Return every artifact of the conversation by its asset."""
    built = [*spine.show_conme(context, "photos"), *spine.converse(context, "photos--panel")]
    return {artifact.asset: artifact for artifact in built}
