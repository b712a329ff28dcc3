"""Which revision a name means now: a commit of the hub, or the content of a local checkpoint."""

import re
from dataclasses import replace
from pathlib import Path

from bindbench.models.family import ModelName
from bindbench.models.file_digest import CONTENT, content_revision
from bindbench.releases.hub import commit_of

_COMMIT = re.compile(r"[0-9a-f]{40}")


def is_local(name: ModelName) -> bool:
    """Whether a model is a folder or a file of this machine."""
    return Path(name.name).expanduser().exists()


def is_missing(name: ModelName) -> bool:
    """Whether a name is the path of something that is not there."""
    return name.name.startswith(("/", ".", "~")) and not is_local(name)


def is_pinned(name: ModelName) -> bool:
    """Whether a name means the same model for ever."""
    return name.revision.startswith(CONTENT) or bool(_COMMIT.fullmatch(name.revision))


def on_hub(name: ModelName) -> bool:
    """Whether a model's revisions are commits of the hub."""
    return name.family == "hf" and not is_missing(name) and not is_local(name)


def moves(name: ModelName) -> bool:
    """Whether a name may mean another model tomorrow, as far as can be told."""
    return not is_pinned(name) and (on_hub(name) or is_local(name))


def pinned(name: ModelName) -> ModelName:
    """Return the name with the revision that it means now.

    Names that can't be pinned stay as they are: those of shipped models, tags of open_clip's list,
    and models behind a server.

    Raises:
        UserError: the hub has no such model, or can't be reached.
    """
    if is_pinned(name):
        return name
    if is_local(name):
        return replace(name, revision=content_revision(Path(name.name).expanduser()))
    if on_hub(name):
        return replace(name, revision=commit_of(name.name, name.revision))
    return name
