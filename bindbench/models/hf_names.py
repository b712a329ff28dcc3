"""What the name of a model of transformers means, found out before anything is loaded.

A name is a folder that ``save_pretrained`` wrote, or a repository of the Hugging Face hub, whose
revision (a branch, tag or commit; else main) is resolved to a commit once and loaded by it.
"""

import errno
import functools
import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from bindbench.errors import UserError
from bindbench.models.file_digest import tree_digest
from bindbench.models.hf_options import HfOptions

CONFIG = "config.json"
CONTRASTIVE = ("clip", "siglip", "siglip2")
AUTO_CLASS = "AutoModelForImageTextToText"


@dataclass(frozen=True)
class HfSource:
    """A model in the terms of ``from_pretrained``."""

    name: str  # for messages
    place: str  # a folder, or a repository of the hub
    commit: str | None  # of a repository
    kind: Literal["generative", "contrastive", "detector", "text"]
    model_type: str
    gguf: str = ""  # the file in the folder that holds everything


@dataclass(frozen=True)
class Place:
    """Where a checkpoint is, and what its configuration says."""

    name: str  # for messages
    place: str  # a folder, or a repository of the hub
    commit: str | None  # of a repository
    config: dict[str, Any]


def find_source(name: str, revision: str, options: HfOptions) -> HfSource:
    """Return what a name stands for; of the hub, the configuration is fetched if it is not here.

    Raises:
        UserError: there is no such model, it can't be had, or it is of a kind that can't be scored.
    """
    found = locate("hf", name, revision)
    kind = _kind_of(found.name, found.config, options.trust_remote_code)
    source = HfSource(found.name, found.place, found.commit, kind, found.config["model_type"])
    _check_options(source, options)
    return source


def locate(family: str, name: str, revision: str) -> Place:
    """Return where a checkpoint is; of the hub, the configuration is fetched if it is not here.

    Args:
        family: for messages.
        name: of a repository, or a folder.
        revision: of a repository; empty for main.

    Raises:
        UserError: there is no such checkpoint, or it can't be had.
    """
    spelled = f"{family}:{name}" + (f"@{revision}" if revision else "")
    place, commit, file = find_file(spelled, name, revision, CONFIG, "transformers")
    return Place(spelled, place, commit, _read_config(spelled, file))


def find_file(
    spelled: str, name: str, revision: str, file: str, library: str
) -> tuple[str, str | None, Path]:
    """Return a checkpoint's folder or repository, its commit if it has one, and a file of it.

    Args:
        spelled: the model's name, for messages.
        name: of a folder, or of a repository of the hub.
        revision: of a repository; empty for main.
        file: one that every model of ``library`` has; of the hub it is fetched if it is not here.
        library: such as transformers.

    Raises:
        UserError: there is no such checkpoint, or it can't be had.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        if revision:
            raise UserError(f"{spelled}: a folder has no revisions, leave out @{revision}.")
        if not (path / file).is_file():
            raise UserError(f"{spelled}: {path} holds no {file}: give what save_pretrained wrote.")
        return str(path), None, path / file
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise UserError(f"{spelled}: there is no folder {path}: give one, or a name of the hub.")
    fetched = fetch_file(spelled, name, revision, file, library)
    return name, fetched.parent.name, fetched


def identity_of(source: HfSource) -> dict[str, str]:
    """Return what determines a model beyond its name: the hash of its files, or its commit."""
    if source.commit is not None:
        return {"commit": source.commit}
    return {"files": tree_digest(Path(source.place))}


@functools.cache
def fetch_file(spelled: str, repository: str, revision: str, file: str, library: str) -> Path:
    """Return a file of a repository of the hub in its cache, in a folder named by the commit.

    Args:
        spelled: the model's name, for messages.
        repository: such as google/gemma-3-12b-it.
        revision: a branch, tag or commit; empty for main.
        file: one that every model of ``library`` has.
        library: such as transformers.

    Raises:
        UserError: it can't be had.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(repository, file, revision=revision or None))
    except Exception as error:  # the hub's client raises errors of many libraries
        reason = f"can't be fetched ({first_line(error)})"
        if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
            reason = f"has no {file}, so that it is none of {library}"
        raise hub_error(spelled, error) or UserError(f"{spelled}: the model {reason}.") from error


def hub_error(spelled: str, error: BaseException) -> UserError | None:
    """Say in one sentence why a model of the hub can't be had; None if it is for no known reason.

    Args:
        spelled: the model's name.
        error: of the hub's client, or one of transformers that it caused.
    """
    from huggingface_hub import errors

    chain = list(_chain(error))

    def is_any(*kinds: type[BaseException]) -> bool:
        return any(isinstance(link, kinds) for link in chain)

    if any(isinstance(link, OSError) and link.errno == errno.ENOSPC for link in chain):
        return UserError(
            f"{spelled}: the disk is full: free space in the hub's cache, or let HF_HOME name "
            "another folder."
        )
    if is_any(errors.GatedRepoError):
        return UserError(
            f"{spelled}: this model is gated: accept its terms on its page of the hub and set "
            "HF_TOKEN to a token that may read it."
        )
    if is_any(errors.RevisionNotFoundError):
        return UserError(f"{spelled}: there is no such revision: give a branch, tag or commit.")
    if is_any(errors.RepositoryNotFoundError, errors.HFValidationError):
        return UserError(
            f"{spelled}: the hub has no such model, or it is private: check the name, or set "
            "HF_TOKEN."
        )
    if is_any(errors.LocalEntryNotFoundError, ConnectionError):
        return UserError(
            f"{spelled}: this model is not in the cache and the hub can't be reached: download it "
            "where there is a network (hf download), or give a local folder."
        )
    return None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, without its final period."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip().rstrip(".") if lines else type(error).__name__


def _chain(error: BaseException | None) -> Any:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _read_config(spelled: str, file: Path) -> dict[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        config = None
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise UserError(
            f"{spelled}: {file} is no JSON object with the field model_type: restore the file, or "
            "give a checkpoint of transformers (open_clip's go by open_clip:)."
        )
    if "quantization_config" in config:
        raise UserError(
            f"{spelled}: the checkpoint is quantised already, which can't be checked in float32: "
            "give the original weights, and the option quantisation."
        )
    return config


def _kind_of(
    spelled: str, config: dict[str, Any], trusted: bool
) -> Literal["generative", "contrastive"]:
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    model_type = config["model_type"]
    if model_type in CONTRASTIVE:
        return "contrastive"
    if model_type in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        return "generative"
    own_code = AUTO_CLASS in config.get("auto_map", {})
    if own_code and trusted:
        return "generative"
    if own_code:
        raise UserError(
            f"{spelled}: a model of type {model_type} needs the code in its repository: read it, "
            "then set the option trust_remote_code."
        )
    raise UserError(
        f"{spelled}: a model of type {model_type} gives no captions scores: give one that loads as "
        f"{AUTO_CLASS}, or a CLIP, SigLIP or SigLIP 2 model."
    )


def _check_options(source: HfSource, options: HfOptions) -> None:
    defaults = HfOptions()
    if source.kind == "contrastive":
        for field in ("prompt", "quantisation", "attention", "image_free"):
            if getattr(options, field) != getattr(defaults, field):
                raise UserError(
                    f"{source.name}: the option {field} is for generative models, and "
                    f"{source.model_type} is a contrastive one: leave it out."
                )
        if options.device == "auto":
            raise UserError(
                f"{source.name}: device auto is for generative models: name one such as cuda:0."
            )
    if options.quantisation and find_spec("bitsandbytes") is None:
        raise UserError(
            f"{source.name}: the option quantisation needs the package bitsandbytes and a GPU: "
            "install it (pip install bitsandbytes), or leave the option out."
        )
