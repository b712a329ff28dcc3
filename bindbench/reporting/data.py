"""What a report shows: plain rows, as the analysis computed them, and a gallery of samples.

A number that was not measured is ``None``; it is shown as missing, never as zero. Shares,
accuracies and correlations are fractions, not percent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bindbench.reporting.samples import Disagreement, GalleryItem, HardNegative

Row = Mapping[str, Any]
Rows = Sequence[Row]

MEASURES = (
    "label_tv",
    "object_tv",
    "pair_tv",
    "labels_within",
    "labels_below",
    "objects_within",
    "objects_below",
)
SCORE_TRACKS = ("minimal", "contextual", "difference")
SETS = ("all", "paired")
FAMILIES = ("swap", "confusion", "confusion_no_count", "vary_color", "vary_object")
SEMANTICS = ("strict", "paper")
KINDS = ("contrastive", "generative", "other")  # of models
READOUTS = ("score", "mean", "subtracted", "blind", "blind_choice")

ALL = "all"  # in place of a benchmark, in the rows of a calibration: all benchmarks together

# The columns that each list of rows must have; a row may have more.
COLUMNS: dict[str, tuple[str, ...]] = {
    # low, high: the interval of share_of_reached. "accepted" is reached by everything.
    "survival": (
        *("benchmark", "track", "check", "reached", "passed", "total"),
        *("share_of_reached", "share_of_all", "low", "high"),
    ),
    # sampled: the value among the sampled concepts, before any check; excess: value - sampled.
    "shift": (
        *("benchmark", "track", "measure", "value"),
        *("null_low", "null_high", "sampled", "excess"),
    ),
    # Of the label's mentions in accepted images; null_low and null_high: by luck alone.
    "label_shares": (
        *("benchmark", "track", "label", "mentions", "share", "target"),
        *("null_low", "null_high"),
    ),
    # Track "difference": contextual minus minimal on the paired set (Auto-Comp, table 6).
    # ceiling: the credit of a perfect model that ignores the order of clauses; None: no limit.
    # readout: which of the model's numbers decides. Shown too where given: wide_low and wide_high,
    # the interval beyond these words; undecided, the share of items that a coarse arithmetic
    # leaves open; and for differences p_value and detectable, the smallest difference that would
    # have been found.
    "leaderboard": (
        *("model", "benchmark", "track", "set", "readout", "family", "semantics"),
        *("n_items", "n_excluded"),
        *("accuracy", "low", "high", "credit", "tie_rate", "chance", "ceiling"),
    ),
    # true, false, undecided: shares of the family's candidates.
    "semantics_shares": ("benchmark", "family", "true", "false", "undecided"),
    # One cue of the captions alone, taken at its most or its least. differs: items in which it
    # tells any candidates apart; leak: it gives right captions away and was not meant to.
    "blind_audit": (
        *("benchmark", "track", "family", "mode", "cue", "direction", "n_items", "differs"),
        *("accuracy", "low", "high", "credit", "credit_low", "credit_high", "chance", "p_value"),
        *("by_design", "leak"),
    ),
    "order": ("benchmark", "track", "axis", "correlation", "low", "high", "n"),
    # Errors on Confusion, strict: errors fall to the family (fractions where families tie), share
    # is its part in all of them (None without errors), chance_share its part in the candidates;
    # accuracy is that against the family alone, on n_items items.
    "error_families": (
        *("model", "benchmark", "track", "family", "errors", "share", "chance_share"),
        *("n_items", "accuracy", "low", "high", "chance"),
    ),
    # Items lost to nothing but wrong counts, strict: share of those that have other false captions.
    "counting": ("model", "benchmark", "track", "n_items", "share", "low", "high", "chance"),
    # Swap, strict, by mention order; order: "concordant" or "discordant" with the axis.
    "concordance": (
        *("model", "benchmark", "track", "axis", "order"),
        *("n_items", "accuracy", "low", "high", "chance"),
    ),
    # Swap, strict. slice "label": of the items that mention the word, a color or a relation;
    # slice "close": word "look_alikes", those with two colors that look alike, or "others".
    "by_label": (
        *("model", "benchmark", "track", "slice", "word"),
        *("n_items", "accuracy", "low", "high", "chance"),
    ),
    # Of two judges (Auto-Comp, table 21): benchmark, or "all"; low and high are of the agreement,
    # only_first is the share that the first alone passes, with first_low and first_high.
    "agreement": (
        *("benchmark", "images", "agreement", "low", "high", "kappa", "disagree", "p"),
        *("only_first", "first_low", "first_high", "only_second", "second_low", "second_high"),
    ),
    # share: caught / n; low: its lower bound.
    "calibration": ("benchmark", "track", "fault", "n", "caught", "share", "low"),
    # share: accepted / n among images without any fault; low: its lower bound.
    "fault_free": ("benchmark", "track", "n", "accepted", "share", "low"),
    # share: the faulty images among the accepted ones that the calibration implies. Either bound
    # may be None.
    "accepted_faulty": ("benchmark", "track", "share", "low", "high"),
}


@dataclass(frozen=True)
class Table:
    """One table of the catalogue with its numbers, as ``bindbench.tables.number`` stores them."""

    number: str
    title: str
    about: str
    rows: Rows

    @property
    def file(self) -> str:
        """Where its numbers lie in the report's folder."""
        return f"tables/table-{self.number}.csv"


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows. ``COLUMNS`` names the columns of each list of rows."""

    title: str
    settings: Mapping[str, Any] = field(default_factory=dict)  # JSON values, shown in a fold
    survival: Rows = ()
    shift: Rows = ()
    leaderboard: Rows = ()
    semantics_shares: Rows = ()
    blind_audit: Rows = ()
    order: Rows = ()
    calibration: Rows = ()
    fault_free: Rows = ()
    accepted_faulty: Rows = ()
    label_shares: Rows = ()
    gallery: Sequence[GalleryItem] = ()
    tables: Sequence[Table] = ()
    judges: tuple[str, str] | None = None  # the names of both, where there is a second one
    agreement: Rows = ()
    disagreements: Sequence[Disagreement] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)  # model -> one of KINDS
    error_families: Rows = ()
    counting: Rows = ()
    concordance: Rows = ()
    by_label: Rows = ()
    hardest: Sequence[HardNegative] = ()  # of a model, benchmark and track the hardest first
    sisters: Sequence[tuple[str, str]] = ()  # title and address of the sister benchmarks' pages

    def __post_init__(self) -> None:
        """Check that every row has its columns.

        Raises:
            ValueError: a row lacks a column.
        """
        for name, columns in COLUMNS.items():
            for index, row in enumerate(getattr(self, name)):
                missing = [column for column in columns if column not in row]
                if missing:
                    raise ValueError(f"Row {index} of {name} lacks {', '.join(missing)}.")
