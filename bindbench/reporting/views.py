"""The rows of a report arranged as its tables and pictures show them. Nothing is computed here."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bindbench.reporting.data import (
    ALL,
    FAMILIES,
    KINDS,
    MEASURES,
    READOUTS,
    SEMANTICS,
    SETS,
    ReportData,
    Row,
    Rows,
)
from bindbench.reporting.samples import CHECKS, GalleryItem, GallerySample, HardNegative
from bindbench.reporting.wording import CONTROLS
from bindbench.tasks import BENCHMARKS, TRACKS

OWN, BLIND = "score", "blind"  # readouts
FEW = 2  # samples of each kind on the page of a benchmark
MOST_HARDEST = 6  # shown on the page of a benchmark, for each track


T = TypeVar("T")


def distinct(names: Iterable[T], first: Sequence[T] = ()) -> list[T]:
    """Return the distinct names: those of ``first`` in its order, then the others as they come."""
    seen = dict.fromkeys(names)
    return [name for name in first if name in seen] + [name for name in seen if name not in first]


def benchmarks_of(data: ReportData) -> list[str]:
    """Return every benchmark that a report mentions, in the order of the suite."""
    lists = (data.survival, data.shift, data.leaderboard, data.semantics_shares, data.order)
    names = [row["benchmark"] for rows in (*lists, *_calibrations(data)) for row in rows]
    names += [sample.benchmark for sample in data.gallery]
    return distinct((name for name in names if name != ALL), list(BENCHMARKS))


def models_of(rows: Rows) -> list[str]:
    """Return the models as they come, the controls of the machinery last."""
    names = distinct(row["model"] for row in rows)
    return sorted(names, key=lambda name: name in CONTROLS)


def kind_of(data: ReportData, model: str) -> str:
    """Return what kind of model it is: contrastive, generative, control or other."""
    return "control" if model in CONTROLS else data.kinds.get(model, KINDS[-1])


def calibrated(data: ReportData, benchmarks: str | Sequence[str]) -> bool:
    """Say whether the checks were calibrated on a benchmark, or on any of several."""
    wanted = [benchmarks] if isinstance(benchmarks, str) else benchmarks
    return any(row["benchmark"] in wanted for rows in _calibrations(data) for row in rows)


def _calibrations(data: ReportData) -> tuple[Rows, ...]:
    return data.calibration, data.fault_free, data.accepted_faulty


def select(rows: Rows, **wanted: str) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def first(rows: Rows, **wanted: str) -> Row | None:
    """Return the first row that has these values, or None."""
    return next(iter(select(rows, **wanted)), None)


@dataclass(frozen=True)
class Pair:
    """A cell of a leaderboard: the same scores under both semantics."""

    strict: Row | None = None
    paper: Row | None = None

    @property
    def any(self) -> Row | None:
        """Either row, for what both have in common."""
        return self.strict if self.strict is not None else self.paper


@dataclass(frozen=True)
class Line:
    """A row of a leaderboard: a model, or a family of captions of a benchmark."""

    benchmark: str
    family: str
    model: str
    cells: tuple[Pair, ...]


class Scores:
    """The leaderboard's rows by what they measure; by the scorer's own score if not said else."""

    def __init__(self, rows: Rows) -> None:
        self._all = rows
        self.rows = select(rows, readout=OWN)
        self.models = models_of(rows)
        self.benchmarks = distinct((row["benchmark"] for row in rows), list(BENCHMARKS))
        self.retired = {row["model"] for row in rows if row.get("retired")}
        names = ("model", "benchmark", "track", "set", "family", "readout", "semantics")
        self._at = {tuple(row[name] for name in names): row for row in rows}

    def label(self, model: str) -> str:
        """Return a model's name, with a word where it is scored no more."""
        return f"{model} (retired)" if model in self.retired else model

    def pair(
        self, model: str, benchmark: str, track: str, subset: str, family: str, readout: str = OWN
    ) -> Pair:
        """Return the cell of these scores; what was not measured is None in it."""
        key = (model, benchmark, track, subset, family, readout)
        return Pair(self._at.get((*key, SEMANTICS[0])), self._at.get((*key, SEMANTICS[1])))

    def board(self) -> list[Row]:
        """Return all rows, those of the controls last."""
        return sorted(self.rows, key=lambda row: self.models.index(row["model"]))

    def families(self, benchmark: str) -> list[str]:
        """Return the families of captions that a benchmark has."""
        return distinct((row["family"] for row in select(self.rows, benchmark=benchmark)), FAMILIES)

    def has(self, **wanted: str) -> bool:
        """Say whether any row has these values."""
        return first(self.rows, **wanted) is not None

    def by_benchmark(self, track: str, subset: str) -> list[Line]:
        """Return a line for each benchmark and family, with a cell for each model."""
        return [
            Line(
                key,
                family,
                "",
                tuple(self.pair(m, key, track, subset, family) for m in self.models),
            )
            for key in self.benchmarks
            for family in self.families(key)
            if family != "confusion_no_count"  # a slice, shown on the benchmark's page
        ]

    @property
    def real_models(self) -> list[str]:
        """The models that are no controls."""
        return [model for model in self.models if model not in CONTROLS]

    def gaps(self, track: str) -> list[tuple[str, list[tuple[Row | None, Row | None]]]]:
        """Return each benchmark that has both, with every real model's swap and confusion row."""
        names = ("swap", "confusion")
        return [
            (key, [self._strict(model, key, track, names) for model in self.real_models])
            for key in self.benchmarks
            if all(self.has(benchmark=key, track=track, family=name) for name in names)
        ]

    def _strict(
        self, model: str, key: str, track: str, names: tuple[str, str]
    ) -> tuple[Row | None, Row | None]:
        swap, confusion = (self.pair(model, key, track, SETS[0], name).strict for name in names)
        return swap, confusion

    def unbeaten(self, model: str, benchmark: str, track: str) -> bool:
        """Say whether no false caption of any item scores above the right one.

        Every item is then won or tied; False too if nothing was measured.
        """
        strict = {"semantics": SEMANTICS[0], "set": SETS[0], "track": track}
        rows = select(self.rows, model=model, benchmark=benchmark, **strict)
        measured = [row for row in rows if row["accuracy"] is not None]
        return bool(measured) and all(
            math.isclose(row["accuracy"] + (row["tie_rate"] or 0), 1) for row in measured
        )

    def by_model(self, benchmark: str, track: str, subset: str) -> list[Line]:
        """Return a line for each model, with a cell for each family of a benchmark."""
        families = self.families(benchmark)
        return [
            Line(
                benchmark, "", m, tuple(self.pair(m, benchmark, track, subset, f) for f in families)
            )
            for m in self.models
        ]

    def of_model(self, model: str, subset: str) -> list[Line]:
        """Return a line for each benchmark and family: both tracks, and the effect of context."""
        cells = [(track, subset) for track in TRACKS] + [("difference", "paired")]
        return [
            Line(key, family, model, tuple(self.pair(model, key, t, s, family) for t, s in cells))
            for key in self.benchmarks
            for family in self.families(key)
        ]

    def readouts(self, model: str) -> list[str]:
        """Return the readouts of a model, its own score first."""
        return distinct((row["readout"] for row in select(self._all, model=model)), READOUTS)

    def by_readout(self, model: str, track: str) -> list[Line]:
        """Return a line for each benchmark and family, with a cell for each readout of a model."""
        return [
            Line(
                key,
                family,
                model,
                tuple(
                    self.pair(model, key, track, SETS[0], family, readout)
                    for readout in self.readouts(model)
                ),
            )
            for key in self.benchmarks
            for family in self.families(key)
            if family in FAMILIES  # of one picture, not of two
        ]

    def blind(self, benchmark: str, families: Sequence[str]) -> list[Line]:
        """Return a line for each model with an image-free score, a cell for each track, family."""
        return [
            Line(
                benchmark,
                "",
                model,
                tuple(
                    self.pair(model, benchmark, track, SETS[0], family, BLIND)
                    for track in TRACKS
                    for family in families
                ),
            )
            for model in self.models
            if select(self._all, model=model, benchmark=benchmark, readout=BLIND)
        ]

    def tabs(self, benchmark: str | None = None) -> list[tuple[str, str]]:
        """Return the (track, set) combinations that were measured, for tabs."""
        wanted = {} if benchmark is None else {"benchmark": benchmark}
        views = [(track, subset) for subset in SETS for track in TRACKS]
        views.append(("difference", "paired"))
        return [(t, s) for t, s in views if self.has(track=t, set=s, **wanted)]


def reference(pairs: Iterable[Pair], semantics: str, column: str) -> tuple[float, float] | None:
    """Return the lowest and highest value that the cells of one line have for a reference.

    Chance and ceiling belong to the items, so that models scored on the same items share them.
    """
    rows = [getattr(pair, semantics) for pair in pairs]
    values = [row[column] for row in rows if row is not None and row[column] is not None]
    return (min(values), max(values)) if values else None


def funnel(rows: Rows, benchmark: str, track: str) -> list[tuple[str, Row | None]]:
    """Return each check with its row, None where it does not run."""
    found = [first(rows, benchmark=benchmark, track=track, check=check) for check in CHECKS]
    ran = [row if row is not None and row["reached"] else None for row in found]
    return list(zip(CHECKS, ran, strict=True))


def shifts(rows: Rows, benchmark: str, track: str) -> list[tuple[str, Row | None]]:
    """Return each measure of the filter shift with its row."""
    found = [first(rows, benchmark=benchmark, track=track, measure=name) for name in MEASURES]
    return [(name, row) for name, row in zip(MEASURES, found, strict=True) if row is not None]


def weakest(rows: Rows, benchmark: str, track: str) -> Row | None:
    """Return the kind of fault that is caught least often, borderline geometry apart."""
    rows = select(rows, benchmark=benchmark, track=track)
    judged = [row for row in rows if row["share"] is not None and row["fault"] != "borderline"]
    return min(judged, key=lambda row: row["share"], default=None)


def strongest(rows: Rows, track: str, family: str, cue: str) -> Row | None:
    """Return a cue of the blind audit in the direction that finds more right captions, strict."""
    found = select(rows, track=track, family=family, cue=cue, mode=SEMANTICS[0])
    return min(found, key=lambda row: (row["p_value"], -row["credit"]), default=None)


def leaks(data: ReportData, benchmark: str) -> list[Row]:
    """Return the cues that give a benchmark's right captions away, strict."""
    rows = select(data.blind_audit, benchmark=benchmark, mode=SEMANTICS[0])
    return [row for row in rows if row["leak"]]


def hardest(data: ReportData, model: str, benchmark: str, track: str) -> list[HardNegative]:
    """Return a model's hardest negatives, the hardest first."""
    where = (model, benchmark, track)
    return [n for n in data.hardest if (n.model, n.benchmark, n.track) == where]


def hardest_of_each(data: ReportData, benchmark: str, track: str) -> list[HardNegative]:
    """Return the hardest negative of each model on the leaderboard, of a few models at most."""
    found = [hardest(data, m, benchmark, track)[:1] for m in models_of(data.leaderboard)]
    return [negative for negatives in found for negative in negatives][:MOST_HARDEST]


def any_hardest(data: ReportData, benchmark: str) -> bool:
    """Say whether a benchmark has any hardest negative to show."""
    return any(hardest_of_each(data, benchmark, track) for track in TRACKS)


def all_unbeaten(scores: Scores, models: Sequence[str], benchmark: str) -> bool:
    """Say whether no false caption beats the right one for any of these models, in any track."""
    return all(scores.unbeaten(model, benchmark, track) for model in models for track in TRACKS)


def axes_of(rows: Rows) -> list[tuple[str, str]]:
    """Return the (benchmark, axis) combinations that were measured."""
    return list(dict.fromkeys((row["benchmark"], row["axis"]) for row in rows))


def families_of(rows: Rows) -> list[tuple[str, str]]:
    """Return the (benchmark, family of error) combinations that there are."""
    return list(dict.fromkeys((row["benchmark"], row["family"]) for row in rows))


def samples_of(gallery: Sequence[GalleryItem]) -> list[GallerySample]:
    """Return the items by concept, in their order."""
    found: dict[tuple[str, int], list[GalleryItem]] = {}
    for item in gallery:
        found.setdefault((item.benchmark, item.index), []).append(item)
    return [GallerySample(key, items[0].concept, items) for (key, _), items in found.items()]


def example(gallery: Sequence[GalleryItem]) -> GalleryItem | None:
    """Return the item that explains best what binding is: two colored objects, if there are."""
    shown = [item for item in gallery if item.accepted and item.image and item.negatives]
    order = ("color-n2", "shape_color-n2")
    ranked = [item for key in order for item in shown if item.benchmark == key]
    return next(iter([*ranked, *shown]), None)


def highlights(gallery: Sequence[GalleryItem]) -> list[GallerySample]:
    """Return one concept of each benchmark that was accepted in both tracks."""
    chosen = {s.benchmark: s for s in reversed(samples_of(gallery)) if s.accepted}
    return [chosen[key] for key in distinct(chosen, list(BENCHMARKS))]


def few_of_benchmark(gallery: Sequence[GalleryItem], benchmark: str) -> list[GallerySample]:
    """Return a few of a benchmark's concepts: accepted ones, then rejected ones."""
    found = samples_of([item for item in gallery if item.benchmark == benchmark])
    good = [sample for sample in found if sample.accepted]
    return good[:FEW] + [sample for sample in found if not sample.accepted][:FEW]
