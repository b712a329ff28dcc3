"""What tables are made of: a suite's settings and the artifacts that it has built so far."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bindbench.models.family import ModelName
from bindbench.pipeline import leaderboard, model_scores
from bindbench.pipeline.base import suite_lexicon
from bindbench.reporting.wording import CONTROLS
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import get_benchmark
from bindbench.vocabulary import Lexicon

# model, benchmark, track, set, family, semantics -> the leaderboard's row
Cell = tuple[str, str, str, str, str, str]
_WHERE = ("benchmark", "track", "set", "family", "semantics")


@dataclass(frozen=True)
class Inputs:
    """A suite and its artifacts, those of partitions as ``asset/partition``, others as ``asset``.

    Whatever is not built, or not of what it was built from, is not there.
    """

    suite: Suite
    artifacts: Mapping[str, Artifact]
    beside: tuple["Inputs", ...] = ()  # of the suites that Table 9 lays beside this one
    _rows: dict[Any, list[dict[str, Any]]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def lexicon(self) -> Lexicon:
        """The suite's vocabularies."""
        return suite_lexicon(self.suite)

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """The keys of the suite's benchmarks."""
        return self.suite.benchmarks

    @property
    def several(self) -> list[str]:
        """The benchmarks with more than one object."""
        return [key for key in self.benchmarks if get_benchmark(key).n > 1]

    @cached_property
    def models(self) -> list[str]:
        """The names of the models that are evaluated, and those that were; controls last."""
        names = dict.fromkeys(settings.model for settings in self.suite.profile.listed)
        return sorted(names, key=lambda name: name in CONTROLS)

    @property
    def run_command(self) -> str:
        """What builds whatever is missing."""
        return f"'bindbench run --suite {self.suite.name}'"

    def get(self, asset: str, partition: str | None = None) -> Artifact | None:
        """Return an artifact, or None if it is not there."""
        return self.artifacts.get(asset if partition is None else f"{asset}/{partition}")

    def has(self, assets: Iterable[str], partition: str) -> bool:
        """Whether all of these assets have the partition."""
        return all(self.get(asset, partition) for asset in assets)

    def rows(
        self, asset: str, partition: str | None = None, columns: tuple[str, ...] | None = None
    ) -> list[dict[str, Any]]:
        """Return an artifact's rows, read once; none if it is not there."""
        artifact = self.get(asset, partition)
        if artifact is None:
            return []
        key = (asset, partition, columns)
        if key not in self._rows:
            self._rows[key] = artifact.read(columns).to_pylist()
        return self._rows[key]

    def scores(self, model: str, key: str) -> Artifact | None:
        """Return a model's scores of a benchmark."""
        return self.get(model_scores.NAME, scores_partition(model, key))

    @cached_property
    def board(self) -> Mapping[Cell, Mapping[str, Any]]:
        """The leaderboard's rows by the models' own scores, of cells with any item."""
        return {
            (row["model"], *(row[name] for name in _WHERE)): row
            for row in self.rows(leaderboard.NAME)
            if row["readout"] == "score" and row["accuracy"] is not None
        }


def scores_partition(model: str, key: str) -> str:
    """Return the partition of a model's scores."""
    return model_scores.partition(key, ModelName.parse(model).slug)
