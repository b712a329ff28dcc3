"""What the name of an open_clip model means, found out before anything is loaded.

``ViT-B-32/laion2b_s34b_b79k`` is one of open_clip's own architectures with a tag of its list,
``hf-hub:org/repository`` a model of the Hugging Face hub; anything else is a path: a folder in
open_clip's format (``open_clip_config.json``, weights, tokenizer files) or a checkpoint file.
"""

import functools
import json
from dataclasses import dataclass
from pathlib import Path

from bindbench.errors import UserError, unknown_name
from bindbench.models.file_digest import files_digest

CONFIG = "open_clip_config.json"
HUB = "hf-hub:"
CHECKPOINTS = (".safetensors", ".bin", ".pth", ".pt", ".npz")
_FOLDER_CHECKPOINTS = CHECKPOINTS[:3]  # what open_clip looks for in a folder


@dataclass(frozen=True)
class Source:
    """A model in the terms of ``open_clip.create_model``."""

    model: str  # an architecture of open_clip, or local-dir:... or hf-hub:...
    pretrained: str | None  # a tag or a checkpoint file; None where the model says it
    path: Path | None  # the local folder or file


def find_source(name: str, architecture: str = "") -> Source:
    """Return what a name stands for.

    Args:
        name: the part of the model's name after ``open_clip:``.
        architecture: an architecture of open_clip, for a checkpoint file that has no
            configuration beside it; empty otherwise.

    Raises:
        UserError: no such model, folder or file, or one that lacks a part.
    """
    if name.startswith(HUB):
        return Source(name, None, None)
    path = Path(name).expanduser()
    if path.is_dir():
        return Source(f"local-dir:{path}", None, _checked_folder(path))
    if path.is_file():
        return _checkpoint(path, architecture)
    if name.startswith(("/", ".", "~")) or path.suffix in CHECKPOINTS:
        raise UserError(
            f"open_clip:{name}: there is no such file or folder; give a folder with {CONFIG} or a "
            "checkpoint file."
        )
    model, _, tag = name.partition("/")
    if (model, tag) not in known_tags():
        known = {f"open_clip:{a}/{b}" for a, b in known_tags()}
        raise unknown_name("model", f"open_clip:{name}", known)
    return Source(model, tag, None)


def _checked_folder(folder: Path) -> Path:
    config = folder / CONFIG
    if not config.is_file():
        raise UserError(f"{folder} holds no {CONFIG}: give a folder in open_clip's own format.")
    try:
        readable = "model_cfg" in json.loads(config.read_text(encoding="utf-8"))
    except (ValueError, TypeError):
        readable = False
    if not readable:
        raise UserError(f"{config} is no JSON object with the field model_cfg: restore the file.")
    if not any(file.suffix in _FOLDER_CHECKPOINTS for file in folder.iterdir()):
        raise UserError(
            f"{folder} holds no weights: put open_clip_model.safetensors beside its {CONFIG}."
        )
    return folder


def _checkpoint(file: Path, architecture: str) -> Source:
    if not architecture:
        raise UserError(
            f"The checkpoint {file} does not say what it is: set the option architecture to a "
            "name of open_clip such as ViT-B-32, or give the folder that holds it and "
            f"{CONFIG}."
        )
    if architecture not in _architectures():
        raise unknown_name("architecture of open_clip", architecture, _architectures())
    return Source(architecture, str(file), file)


@functools.cache
def known_tags() -> frozenset[tuple[str, str]]:
    """Return open_clip's own list, as (architecture, tag)."""
    import open_clip

    return frozenset((str(model), str(tag)) for model, tag in open_clip.list_pretrained())


@functools.cache
def _architectures() -> frozenset[str]:
    import open_clip

    return frozenset(open_clip.list_models())


def identity_of(source: Source) -> dict[str, str]:
    """Return what determines a model beyond its name: a hash of its files, or its commit.

    Weights that are not on this machine yet are downloaded.
    """
    if source.path is not None:
        files = [source.path]
        if source.path.is_dir():
            files = [f for f in source.path.iterdir() if f.is_file()]
        return {"files": files_digest(files)}
    return {"checkpoint": _downloaded(source)}


@functools.cache
def _downloaded(source: Source) -> str:
    """Return the commit and file name of a checkpoint of the hub, or the hash of another one."""
    from open_clip.pretrained import (
        download_pretrained,
        download_pretrained_from_hf,
        get_pretrained_cfg,
    )

    try:
        if source.model.startswith(HUB):
            found = download_pretrained_from_hf(source.model.removeprefix(HUB))
        else:
            found = download_pretrained(get_pretrained_cfg(source.model, source.pretrained or ""))
    except Exception as error:  # the hub's client raises errors of many libraries
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(
            f"The weights of open_clip:{source.model}/{source.pretrained or ''} can't be "
            f"downloaded ({reason}): check the network, or give a local folder."
        ) from error
    path = Path(found)
    if "snapshots" in path.parts:
        return "/".join(path.parts[path.parts.index("snapshots") + 1 :])
    return files_digest([path])
