"""Where a model's weights are on this machine. Nothing is loaded, and the network is never asked.

The three places: the project's own folder (shipped), a path that the user named, and the caches of
the Hugging Face hub and of open_clip.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bindbench.errors import UserError
from bindbench.models.weights import WEIGHTS, folder_digest, shipped_digest

Where = Literal["none", "shipped", "altered", "local", "cached", "missing", "server"]

INDEX = ".index.json"
FORMATS = (".safetensors", ".bin", ".pth", ".pt", ".npz")
_ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "8bit": 1, "4bit": 0.5}


@dataclass(frozen=True)
class Weights:
    """Where weights are, and the files that hold them."""

    where: Where
    place: str = ""  # a folder, a file, a repository or an address
    files: tuple[Path, ...] = ()

    @property
    def bytes(self) -> int | None:
        """The size of the files; None if there are none."""
        return sum(file.stat().st_size for file in self.files) if self.files else None

    def memory(self, dtype: str = "") -> int | None:
        """Return the bytes that the parameters take in memory, None if that can't be told.

        Args:
            dtype: that they are loaded as, or the quantisation; empty: as on disk.
        """
        width = _ITEM_BYTES.get(dtype)
        if width is None or any(file.suffix != ".safetensors" for file in self.files):
            return self.bytes
        return int(sum(map(parameters, self.files)) * width) if self.files else None


NO_WEIGHTS = Weights("none")


def parameters(file: Path) -> int:
    """Return how many numbers a safetensors file holds, by its header."""
    with file.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(size))
    return sum(math.prod(t["shape"]) for name, t in header.items() if name != "__metadata__")


def shipped(name: str) -> Weights:
    """Return the weights in ``bindbench/weights/<name>``, compared with their recorded digest."""
    folder = WEIGHTS / name
    try:
        digest = folder_digest(name)
    except UserError:
        return Weights("missing", str(folder))
    files = tuple(sorted(folder.glob("*.safetensors")))
    right = digest == shipped_digest(name)
    return Weights("shipped" if right else "altered", str(folder), files)


def local(path: Path) -> Weights:
    """Return the weights in a folder, or the file that holds them."""
    if path.is_file():
        return Weights("local", str(path), (path,))
    files = _weight_files(path)
    return Weights("local" if files else "missing", str(path), files)


def in_hub_cache(repository: str, revision: str = "", names: Sequence[str] = ()) -> Weights:
    """Return the weights of a repository of the hub, if the cache holds all of them.

    Args:
        repository: such as google/gemma-3-12b-it.
        revision: a branch, tag or commit; empty for main.
        names: files of which one is enough; empty: any that hold weights, and if there is an
            index, all that it names.
    """
    for folder in _snapshots(repository, revision or "main"):
        files = _named(folder, names) if names else _weight_files(folder)
        if files:
            return Weights("cached", str(folder), files)
    return Weights("missing", repository + (f"@{revision}" if revision else ""))


def open_clip_weights(name: str, architecture: str) -> Weights:
    """Return the weights of an open_clip model, in its folder or in a cache."""
    from bindbench.models.open_clip_names import HUB, find_source

    source = find_source(name, architecture)
    if source.path is not None:
        return local(source.path)
    if source.model.startswith(HUB):
        return in_hub_cache(source.model.removeprefix(HUB), names=_open_clip_names(""))
    from open_clip.pretrained import get_pretrained_cfg

    config = get_pretrained_cfg(source.model, source.pretrained or "")
    if repository := config.get("hf_hub"):
        repository, _, file = repository.rpartition("/")
        return in_hub_cache(repository, names=_open_clip_names(file))
    file = Path("~/.cache/clip").expanduser() / config["url"].rpartition("/")[2]
    return local(file) if file.is_file() else Weights("missing", config["url"])


def _open_clip_names(file: str) -> tuple[str, ...]:
    """Return the files that open_clip looks for where its list names this one, the best first."""
    from open_clip.constants import HF_SAFE_WEIGHTS_NAME, HF_WEIGHTS_NAME

    if not file:
        return HF_SAFE_WEIGHTS_NAME, HF_WEIGHTS_NAME
    return str(Path(file).with_suffix(".safetensors")), file


def hub_cache() -> Path:
    """Return the folder of the Hugging Face hub's cache."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE)


def offline() -> bool:
    """Whether the user forbade downloads from the hub (HF_HUB_OFFLINE)."""
    from huggingface_hub.constants import HF_HUB_OFFLINE

    return bool(HF_HUB_OFFLINE)


def cached_repositories() -> tuple[str, ...]:
    """Return the models in the hub's cache."""
    return tuple(sorted(repository for repository, _, _ in _scan()))


def _snapshots(repository: str, revision: str) -> Iterable[Path]:
    for name, refs, folder in _scan():
        commit = folder.name
        if name == repository and (revision in refs or commit.startswith(revision)):
            yield folder


def _scan() -> list[tuple[str, frozenset[str], Path]]:
    """Return (repository, branches and tags, folder) of each snapshot in the hub's cache."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        found = scan_cache_dir(hub_cache())
    except CacheNotFound:
        return []
    return [
        (repository.repo_id, revision.refs, revision.snapshot_path)
        for repository in found.repos
        if repository.repo_type == "model"
        for revision in repository.revisions
    ]


def _named(folder: Path, names: Sequence[str]) -> tuple[Path, ...]:
    return next(((folder / name,) for name in names if (folder / name).is_file()), ())


def _weight_files(folder: Path) -> tuple[Path, ...]:
    """Return the files of one format that hold a folder's weights; none if one is lacking."""
    for suffix in FORMATS:
        for index in sorted(folder.glob(f"*{suffix}{INDEX}")):
            parts = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
            files = tuple(folder / name for name in sorted(set(parts)))
            return files if all(file.is_file() for file in files) else ()
        if files := tuple(sorted(folder.glob(f"*{suffix}"))):
            return files
    return ()
