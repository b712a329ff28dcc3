"""What the name of a SAM 2 model means, found out before anything is loaded.

``facebook/sam2.1-hiera-large`` is one of the published checkpoints on the Hugging Face hub;
anything else is a path: a checkpoint file of the package ``sam2``, or a folder that holds a
published one. A checkpoint does not say what it is: a published one is known by its file name, any
other needs its configuration, a YAML file like those of the package.
"""

import functools
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bindbench.errors import UserError, unknown_name
from bindbench.models.availability import Weights, in_hub_cache, local
from bindbench.models.file_digest import files_digest
from bindbench.models.hf_names import fetch_file


@dataclass(frozen=True)
class Sam2Source:
    """A model of SAM 2."""

    name: str  # for messages
    config: Path
    path: Path | None  # of a local checkpoint
    repository: str = ""  # of the hub, with the name of the file in it
    revision: str = ""
    file: str = ""


def find_segmenter(name: str, config: str) -> Sam2Source:
    """Return what a name stands for.

    Args:
        name: ``org/name@revision`` of the hub, a file or a folder.
        config: the path of a configuration; empty for a published model.

    Raises:
        UserError: there is no such model, file or configuration, or the package is missing.
    """
    if find_spec("sam2") is None:
        raise UserError(
            f"segmenter {name}: the package sam2 is missing: install it (pip install sam2)."
        )
    path = Path(name).expanduser()
    if path.exists():
        return _local(name, _checkpoint_in(path), config)
    if name.startswith(("/", ".", "~")) or path.suffix == ".pt" or name.count("/") > 1:
        raise UserError(
            f"segmenter {name}: there is no such file or folder: give a checkpoint of SAM 2, or a "
            "name such as facebook/sam2.1-hiera-large."
        )
    repository, _, revision = name.partition("@")
    if repository not in _published():
        raise unknown_name("segmenter", repository, _published())
    known_config, file = _published()[repository]
    chosen = _config_file(name, config) if config else known_config
    return Sam2Source(f"segmenter {name}", chosen, None, repository, revision, file)


@functools.cache
def _published() -> dict[str, tuple[Path, str]]:
    """Return the configuration and checkpoint file of each published model."""
    import sam2
    from sam2.build_sam import HF_MODEL_ID_TO_FILENAMES

    folder = Path(sam2.__path__[0])
    return {name: (folder / config, f) for name, (config, f) in HF_MODEL_ID_TO_FILENAMES.items()}


def _checkpoint_in(path: Path) -> Path:
    """Return the published checkpoint in a folder; a file itself."""
    if path.is_file():
        return path
    found = [path / file for _, file in _published().values() if (path / file).is_file()]
    if len(found) != 1:
        raise UserError(
            f"segmenter {path}: the folder holds {len(found)} published checkpoints of SAM 2: give "
            "the path of one file, such as sam2.1_hiera_large.pt."
        )
    return found[0]


def _local(name: str, file: Path, config: str) -> Sam2Source:
    if config:
        return Sam2Source(f"segmenter {name}", _config_file(name, config), file)
    known = {checkpoint: path for path, checkpoint in _published().values()}
    if file.name not in known:
        raise UserError(
            f"segmenter {name}: the checkpoint does not say what it is: set the option "
            "segmenter_config to the YAML file that it was made with, or give the file its "
            f"published name, such as {next(iter(known))}."
        )
    return Sam2Source(f"segmenter {name}", known[file.name], file)


def _config_file(name: str, config: str) -> Path:
    path = Path(config).expanduser()
    if not path.is_file():
        raise UserError(
            f"segmenter {name}: there is no file {path}: let segmenter_config name a YAML file "
            "like those of the package sam2."
        )
    return path


def checkpoint_of(source: Sam2Source) -> Path:
    """Return the checkpoint file of a model; of the hub, it is fetched if it is not here.

    Raises:
        UserError: it can't be had.
    """
    if source.path is not None:
        return source.path
    return fetch_file(source.name, source.repository, source.revision, source.file, "SAM 2")


def segmenter_identity(source: Sam2Source) -> str:
    """Return what determines a model beyond its name: its commit and file, or its content."""
    checkpoint = checkpoint_of(source)
    if source.path is None:
        commit = f"{checkpoint.parent.name}/{source.file}"
        published = source.config == _published()[source.repository][0]
        return commit if published else f"{commit} {files_digest([source.config])}"
    return files_digest([checkpoint, source.config])


def segmenter_weights(source: Sam2Source) -> Weights:
    """Return where a model's checkpoint is, without asking the network."""
    if source.path is not None:
        return local(source.path)
    return in_hub_cache(source.repository, source.revision, (source.file,))
