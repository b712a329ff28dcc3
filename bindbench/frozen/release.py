"""A release: a suite, its artifacts and how they were made, in a folder that can lie anywhere."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field

import bindbench
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.frozen import checksums
from bindbench.frozen.readme import readme
from bindbench.pipeline import concept_set, images, leaderboard, negatives, tables
from bindbench.pipeline.base import Context, suite_lexicon
from bindbench.storage.files import read_bytes
from bindbench.storage.store import CURRENT, FROZEN, Artifact, Store
from bindbench.strict import Strict
from bindbench.suite import Suite, load_suite, parse, read_yaml
from bindbench.text_files import write_text

FILE, SUITE, PROFILE, STORE = "release.yaml", "suite.yaml", "profile.yaml", "store"
README, LICENSE, VOCABULARIES = "README.md", "LICENSE", "vocabularies"
ERRATA = "errata.yaml"
# Of other machines or of other benchmarks, which a release does not hold.
_LEFT_OUT = {"name", "profile", "models", "beside", "instabind", "conme"}
VERSION = re.compile(r"\d+\.\d+\.\d+")


class Facts(Strict):
    """What ``release.yaml`` says."""

    name: Annotated[str, Field(description="of the suite")]
    version: Annotated[str, Field(description="such as 1.0.0, or 1.0.0+e1 after an erratum")]
    bindbench: Annotated[str, Field(description="version of the program that made it")]


@dataclass(frozen=True)
class Release:
    """A release in its folder."""

    folder: Path
    facts: Facts

    @classmethod
    def open(cls, folder: Path) -> "Release":
        """Open a release, whose files are not looked at.

        Raises:
            UserError: it is none.
        """
        if not (folder / FILE).is_file():
            raise UserError(f"{folder} has no {FILE}: give the folder of a release.")
        return cls(folder, parse(Facts, read_yaml(folder / FILE), str(folder / FILE)))

    @property
    def title(self) -> str:
        """Name and version."""
        return f"{self.facts.name} {self.facts.version}"

    @property
    def context(self) -> Context:
        """What stages work in: the release's own suite and store."""
        suite = load_suite(str(self.folder / SUITE))
        return Context(suite, Store(self.folder / STORE, suite.name), LocalEngine(1))

    def seal(self) -> str:
        """List the checksums of what the release holds; return that of the whole.

        What an earlier version listed stays listed.
        """
        names = set(
            checksums.listed(self.folder) if (self.folder / checksums.SUMS).exists() else ()
        )
        names |= {FILE, SUITE, PROFILE, README, LICENSE}
        names |= {p.name for p in self.folder.glob(ERRATA)}
        names |= {f"{VOCABULARIES}/{p.name}" for p in self.folder.glob(f"{VOCABULARIES}/*")}
        context = self.context
        own = Path(STORE, context.suite.name)
        names.add((own / FROZEN).as_posix())
        for artifact in artifacts(context):
            folder = own / artifact.asset / artifact.partition
            names |= {(folder / name).as_posix() for name in _files(artifact)}
        return checksums.write_sums(self.folder, names)


def make(context: Context, version: str, folder: Path, license_text: str) -> str:
    """Make a release of what a suite has built; return its checksum.

    Args:
        context: of the suite; its models are those that are scored.
        version: three numbers, such as 1.0.0.
        folder: an empty or new one.
        license_text: of the data.

    Raises:
        UserError: the version is of another form, the folder is not empty, or a benchmark is not
            built.
    """
    if not VERSION.fullmatch(version):
        raise UserError(f"--version {version}: give three numbers, such as 1.0.0.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} is not empty: give a new folder for the release.")
    for key in context.suite.benchmarks:
        for stage in (concept_set, images, negatives):
            context.current(stage.NAME, key)
    folder.mkdir(parents=True, exist_ok=True)
    _write_suite(context.suite, folder)
    target = Store(folder / STORE, context.suite.name)
    for artifact in artifacts(context):
        _copy(artifact, target)
    release = Release(
        folder,
        Facts(name=context.suite.name, version=version, bindbench=bindbench.__version__),
    )
    write_facts(release)
    write_text(folder / LICENSE, license_text)
    write_readme(release)
    return release.seal()


def write_facts(release: Release) -> None:
    """Write ``release.yaml``, and the version into the store."""
    write_yaml(release.folder / FILE, release.facts.model_dump())
    store = Path(str(release.context.store.path))
    write_text(store / FROZEN, f"{release.facts.version}\n")


def write_readme(release: Release) -> None:
    """Write what the release holds now."""
    text = readme(release.context, release.title, release.facts.bindbench)
    write_text(release.folder / README, text)


def write_yaml(path: Path, value: Any) -> None:
    """Write a YAML file in the order of its fields."""
    write_text(path, yaml.safe_dump(value, sort_keys=False, allow_unicode=True))


def artifacts(context: Context) -> Iterator[Artifact]:
    """Yield the artifacts of a suite that a release holds, once each: what its tables need."""
    found = tables.artifacts(context)
    for key in context.suite.benchmarks:
        found[f"{images.NAME}/{key}"] = context.current(images.NAME, key)
    for name, artifact in found.items():
        if ":" not in name and artifact.asset != leaderboard.NAME:  # it is made again
            yield artifact


def _write_suite(suite: Suite, folder: Path) -> None:
    """Write the suite as a file of its own, with its profile and all words of its vocabularies.

    So the release means the same where other vocabularies are built in.
    """
    lexicon, sources = suite_lexicon(suite), dict[str, str]()
    (folder / VOCABULARIES).mkdir()
    for kind in suite.profile.vocabularies.model_dump():
        words = getattr(lexicon, kind)
        entries = [entry.model_dump(mode="json", exclude_defaults=True) for entry in words.entries]
        sources[kind] = f"{VOCABULARIES}/{kind}.yaml"
        write_yaml(folder / sources[kind], {"kind": kind, "name": words.name, "entries": entries})
    profile = suite.profile.model_dump(mode="json", exclude={"vocabularies"})
    write_yaml(folder / PROFILE, profile)
    fields = {
        "name": suite.name,
        "profile": PROFILE,
        **suite.model_dump(mode="json", exclude=_LEFT_OUT),
        "overrides": {"vocabularies": sources},
    }
    write_yaml(folder / SUITE, fields)


def _copy(artifact: Artifact, target: Store) -> None:
    folder = Path(str(target.partition_path(artifact.asset, artifact.partition)))
    for name in _files(artifact):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == CURRENT:
            path.write_text(f"{artifact.fingerprint}\n")
        else:
            path.write_bytes(read_bytes(artifact.path.parent / name))


def _files(artifact: Artifact) -> list[str]:
    """Return an artifact's files by their path in its partition's folder, the pointer too."""
    shards = [f"{artifact.fingerprint}/{shard.file}" for shard in artifact.shards]
    return [*shards, artifact.manifest_path.name, CURRENT]
