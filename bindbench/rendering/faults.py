"""The mistakes that the embedded generator makes on purpose, as text-to-image models do."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bindbench.concepts import Concept
from bindbench.errors import UserError, unknown_name
from bindbench.tasks import TASKS, TRACKS, Track

_OBJECT_TASKS = ("color", "position", "relative_size")
_ATTRIBUTE_TASKS = ("color", "shape_color")
_STREAM = 0xFA017  # keeps the draw of the fault apart from other draws of the same seed


@dataclass(frozen=True)
class Fault:
    """A kind of mistake and where it can happen."""

    meaning: str
    tasks: tuple[str, ...] = tuple(TASKS)
    min_n: int = 1
    tracks: tuple[Track, ...] = TRACKS

    def applies(self, concept: Concept, track: Track) -> bool:
        """Whether an image of this concept and track can have the fault."""
        return concept.task_name in self.tasks and concept.n >= self.min_n and track in self.tracks


FAULTS: dict[str, Fault] = {
    "dropped": Fault("an object is missing"),
    "doubled": Fault("an object stands there twice"),
    "doubled_clutter": Fault("a second copy of an object stands further back, in the clutter"),
    "replaced": Fault("another noun stands in an object's place", _OBJECT_TASKS),
    "lookalike": Fault("a noun that looks alike stands in an object's place"),
    "wrong_shape": Fault("another shape stands in a shape's place", ("shape_color",)),
    "leaked": Fault("an object has another object's color", _ATTRIBUTE_TASKS, 2),
    "half_leaked": Fault("half of an object has another object's color", _ATTRIBUTE_TASKS, 2),
    "exchanged": Fault("two labels are exchanged: the swap is true", _ATTRIBUTE_TASKS, 2),
    "relation": Fault("one spatial relation is wrong", ("position",), 2),
    "size": Fault("one order of size is wrong", ("relative_size",), 2),
    "borderline": Fault(
        "one relation is near the threshold that decides it", ("position", "relative_size"), 2
    ),
    "background": Fault("the background is not white", tracks=("minimal",)),
}


def check_rates(rates: dict[str, float]) -> None:
    """Raise a UserError unless the rates are shares of known kinds that sum to at most 1."""
    for kind, rate in rates.items():
        if kind not in FAULTS:
            raise unknown_name("fault", kind, FAULTS, "the generator's faults")
        if not (math.isfinite(rate) and 0 <= rate <= 1):
            raise UserError(
                f"The generator's faults: the rate of {kind!r} is {rate}, but must lie between "
                "0 and 1."
            )
    total = sum(rates.values())
    if total > 1 + 1e-9:
        raise UserError(
            f"The generator's faults: the rates sum to {total:g}, but an image has at most one "
            "fault, so they must sum to at most 1."
        )


def check_hard(hard: Mapping[str, float], rates: Mapping[str, float]) -> None:
    """Raise a UserError unless hard words have shares, and there are faults that they can raise."""
    for word, share in hard.items():
        if not (math.isfinite(share) and 0 <= share <= 1):
            raise UserError(
                f"The generator's hard words: the share of {word!r} is {share}, but must lie "
                "between 0 and 1."
            )
    if hard and not any(rates.values()):
        raise UserError(
            "The generator's hard words raise the rates of its faults, but it has none: give "
            "faults, such as {dropped: 0.05}."
        )


def raised(
    rates: dict[str, float], hard: Mapping[str, float], concept: Concept, track: Track
) -> dict[str, float]:
    """Return the rates for a concept: where it mentions a hard word, more faults of the same mix.

    Args:
        rates: the share of images with each kind of fault.
        hard: by object or label, the share of its images that have a fault; of several words the
            largest counts, and none lowers a rate.
        concept: what is drawn.
        track: likewise.
    """
    wanted = max((hard.get(word, 0.0) for word in (*concept.objects, *concept.labels)), default=0.0)
    now = sum(rate for kind, rate in rates.items() if FAULTS[kind].applies(concept, track))
    if not 0 < now < wanted:
        return rates
    return {
        kind: rate * wanted / now
        for kind, rate in rates.items()
        if FAULTS[kind].applies(concept, track)
    }


def draw_fault(rates: dict[str, float], concept: Concept, track: Track, seed: int) -> str | None:
    """Draw the fault of an image: each applicable kind with its rate, at most one, else None.

    The order of ``rates`` does not matter. Kinds that can't happen to this concept and track
    are left out, and their rate is no other kind's.

    Raises:
        UserError: an unknown kind, a rate outside [0, 1], or rates that sum to more than 1.
    """
    check_rates(rates)
    draw = np.random.default_rng([_STREAM, seed, TRACKS.index(track)]).random()
    for kind, fault in FAULTS.items():
        if fault.applies(concept, track):
            draw -= rates.get(kind, 0.0)
            if draw < 0:
                return kind
    return None
