"""What a report shows of single items: pictures with their boxes, captions and verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bindbench.reporting.marks import Marked

CHECKS = ("captions", "presence", "background", "label", "accepted")
ACCEPTED = "accepted"


@dataclass(frozen=True)
class Box:
    """A box in a picture, its sides as fractions of the picture's."""

    label: str
    left: float
    top: float
    right: float
    bottom: float
    role: str = ""  # a style: "target", "source" or "other"


@dataclass(frozen=True)
class Negative:
    """A wrong caption of an item."""

    text: str
    family: str  # one of ``data.FAMILIES``
    semantics: str = "false"


@dataclass(frozen=True)
class Choice:
    """What a model chose for an item: the best of the right caption and all false ones.

    Where a false caption ties with the right one, it is the false one, as ties are losses.
    """

    model: str
    text: str
    right: bool | None  # None: the item has no false caption
    won: Mapping[str, bool | None]  # the same for each family of candidates, strict


@dataclass(frozen=True)
class GalleryItem:
    """What became of one concept in one track."""

    benchmark: str
    index: int  # of the concept
    track: str
    concept: str  # in words
    caption: str  # that the image was made for
    accepted: bool
    concept_id: str = ""
    scored: str = ""  # the caption that models compare with the others; "" if rejected
    image: bytes | None = None  # WebP, small; None if no image was made
    width: int = 0  # of the image, in pixels
    height: int = 0
    boxes: Sequence[Box] = ()
    verdicts: Mapping[str, str] = field(default_factory=dict)  # check -> "pass", "not_run", reason
    reason: str = ""  # why it was rejected, in words; "" if it was accepted
    negatives: Sequence[Negative] = ()
    choices: Sequence[Choice] = ()

    @property
    def failed(self) -> str:
        """The check that rejected the item with its verdict, ``presence: count``, or ``""``."""
        for check in CHECKS:
            verdict = self.verdicts.get(check, "not_run")
            if verdict not in ("pass", "not_run"):
                return f"{check}: {verdict}"
        return ""

    @property
    def verdict(self) -> str:
        """``accepted``, or what rejected it."""
        return ACCEPTED if self.accepted else self.failed or "rejected"

    @property
    def file(self) -> str:
        """Where its picture lies in the report's folder."""
        return f"gallery/{self.benchmark}/{self.index}-{self.track}.webp"


@dataclass(frozen=True)
class GallerySample:
    """One concept in its tracks."""

    benchmark: str
    concept: str
    tracks: Sequence[GalleryItem]

    @property
    def accepted(self) -> bool:
        """Whether it was accepted in every track that is shown."""
        return bool(self.tracks) and all(track.accepted for track in self.tracks)


@dataclass(frozen=True)
class HardNegative:
    """A wrong caption that a model prefers to the right one."""

    model: str
    benchmark: str
    track: str
    image: bytes  # PNG, small
    right: Marked  # the right caption; the pieces that differ from the other one are marked
    chosen: Marked  # the false caption with the highest score
    family: str  # of error: one of ``wording.ERRORS``
    right_score: float
    chosen_score: float
    concept_id: str = ""


@dataclass(frozen=True)
class Disagreement:
    """An image that one judge passes and the other fails."""

    benchmark: str
    track: str
    image: bytes  # PNG, small
    caption: str
    first_passes: bool  # and the second fails, else the other way round
    verdict: str  # of the judge that fails it: "label" or "unsure"
    reason: str  # in words
    concept_id: str = ""
