"""Which scenes are trained on, which stop the training, and which are held out for the results."""

from collections.abc import Iterable, Mapping
from typing import Literal

from bindbench.errors import UserError
from bindbench.pipeline.base import seed_of

Part = Literal["training", "validation", "held_out"]
HELD_OUT = 0.2
VALIDATION = 0.1  # of what is not held out


def part_of(scene: str, seed: int) -> Part:
    """Return the part that a scene belongs to.

    It depends on the scene's canonical id alone, so that a scene is in the same part in every
    track, benchmark and suite, and stays there when a suite grows.
    """
    if _draw(scene, seed, "held_out") < HELD_OUT:
        return "held_out"
    return "validation" if _draw(scene, seed, "validation") < VALIDATION else "training"


def _draw(scene: str, seed: int, what: str) -> float:
    return seed_of("finetuning", what, seed, scene) / 2**31


def check_sizes(counts: Mapping[Part, int], where: str) -> None:
    """Raise a UserError if a part of the split is empty, or the training too small for a batch."""
    fewest: dict[Part, int] = {"training": 2, "validation": 1, "held_out": 1}
    for part, count in counts.items():
        if count < fewest[part]:
            raise UserError(
                f"{where} has {sum(counts.values())} usable samples, which is too few to split "
                f"(training {counts['training']}, validation {counts['validation']}, held out "
                f"{counts['held_out']}): build more concepts."
            )


def check_apart(trained: Iterable[str], held_out: Mapping[str, str], model: str) -> None:
    """Raise a UserError if a held-out scene is among those that a model was trained on.

    Args:
        trained: canonical ids of scenes.
        held_out: canonical ids, each with the benchmark that it is of.
        model: what was trained on them, for the message.
    """
    leaked = sorted(held_out.keys() & set(trained))
    if leaked:
        raise UserError(
            f"The split would leak: {model} was trained on {len(leaked)} of {len(held_out)} "
            f"held-out scenes, {leaked[0]} of {held_out[leaked[0]]} the first: split by the seed "
            "that it was trained with, or start from a model that has not seen them."
        )
