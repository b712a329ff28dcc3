"""The page on the kinds of models: its rows as its tables show them, one column for each model."""

from collections.abc import Sequence
from dataclasses import dataclass

from bindbench.reporting import views
from bindbench.reporting.data import KINDS, SETS, ReportData, Row, Rows

MEASURES = ("swap", "confusion", "confusion_no_count")


@dataclass(frozen=True)
class KindLine:
    """A row of a table: one measure of every model, and what sets the kinds apart."""

    benchmark: str
    name: str  # of the measure: a family of captions or of errors, or an axis
    cells: tuple[Row | None, ...]  # in the order of ``Kinds.models``
    gap: float | None  # mean of the generative models minus mean of the contrastive ones


class Kinds:
    """The real models of a report by their kind."""

    def __init__(self, data: ReportData) -> None:
        self._data = data
        self._scores = views.Scores(data.leaderboard)
        real = [model for model in self._scores.real_models if model in data.kinds]
        self.groups = {
            kind: models
            for kind in KINDS
            if (models := [model for model in real if data.kinds[model] == kind])
        }
        self.models = [model for models in self.groups.values() for model in models]

    @property
    def comparable(self) -> bool:
        """Whether there are models of both kinds."""
        return {"contrastive", "generative"} <= set(self.groups)

    def accuracies(self, track: str) -> list[KindLine]:
        """Return the strict accuracies on Swap and Confusion, and that without wrong counts."""
        return self._lines(
            [
                (key, family, [self._score(model, key, track, family) for model in self.models])
                for key in self._scores.benchmarks
                for family in MEASURES
            ],
            "accuracy",
        )

    def _score(self, model: str, key: str, track: str, family: str) -> Row | None:
        return self._scores.pair(model, key, track, SETS[0], family).strict

    def counting(self, track: str) -> list[KindLine]:
        """Return the share of items that are lost to nothing but wrong counts."""
        return self._lines(self._rows(self._data.counting, track, ""), "share")

    def errors(self, track: str) -> list[KindLine]:
        """Return each family's part in the errors."""
        return self._lines(self._rows(self._data.error_families, track, "family"), "share")

    def _rows(self, rows: Rows, track: str, name: str) -> list[tuple[str, str, list[Row | None]]]:
        """Return the rows of each benchmark and value of the column ``name``, by model."""
        at = {
            (row["benchmark"], row[name] if name else "", row["model"]): row
            for row in rows
            if row["track"] == track
        }
        return [
            (key, value, [at.get((key, value, model)) for model in self.models])
            for key, value in dict.fromkeys((key, value) for key, value, _ in at)
        ]

    def orders(self, track: str) -> list["OrderLine"]:
        """Return the accuracies by mention order along each axis."""
        rows = views.select(self._data.concordance, track=track)
        found = []
        for key, axis in views.axes_of(rows):
            cells = tuple(
                tuple(
                    views.first(rows, benchmark=key, axis=axis, model=model, order=order)
                    for order in ("concordant", "discordant")
                )
                for model in self.models
            )
            of_set = views.first(self._data.order, benchmark=key, axis=axis, track=track)
            if any(row is not None for pair in cells for row in pair):
                found.append(OrderLine(key, axis, of_set, cells, self._gap(_leans(cells))))
        return found

    def _lines(
        self, rows: Sequence[tuple[str, str, list[Row | None]]], column: str
    ) -> list[KindLine]:
        return [
            KindLine(
                key,
                name,
                tuple(cells),
                self._gap([None if row is None else row[column] for row in cells]),
            )
            for key, name, cells in rows
            if any(row is not None for row in cells)
        ]

    def _gap(self, values: Sequence[float | None]) -> float | None:
        """Return the generative models' mean minus that of the contrastive ones."""
        means = []
        for kind in ("generative", "contrastive"):
            members = self.groups.get(kind, [])
            known = [
                value
                for model, value in zip(self.models, values, strict=True)
                if model in members and value is not None
            ]
            if not known:
                return None
            means.append(sum(known) / len(known))
        return means[0] - means[1]


@dataclass(frozen=True)
class OrderLine:
    """A row of the table of mention order."""

    benchmark: str
    axis: str
    of_set: Row | None  # the set's own rank correlation
    cells: tuple[tuple[Row | None, ...], ...]  # of each model: concordant, discordant
    gap: float | None  # by how much more the generative models lean on the order


def _leans(cells: Sequence[Sequence[Row | None]]) -> list[float | None]:
    """Return each model's accuracy on concordant items minus that on discordant ones."""
    return [
        first["accuracy"] - second["accuracy"]
        if first is not None
        and second is not None
        and first["accuracy"] is not None
        and second["accuracy"] is not None
        else None
        for first, second in cells
    ]
