"""Calibration of a validator: what it catches, and what slips into the accepted images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bindbench.analysis.resampling import clopper_pearson_lower

FAULT_FREE = ""


@dataclass(frozen=True)
class Rate:
    """A rate of right decisions with its exact one-sided 95% lower bound."""

    n: int
    right: int
    lower: float

    @property
    def value(self) -> float | None:
        """The rate; None without items."""
        return self.right / self.n if self.n else None


@dataclass(frozen=True)
class Calibration:
    """How often a validator is right on images whose fault is known."""

    specificity: Rate  # fault-free images that are accepted
    sensitivity: dict[str, Rate]  # images with each kind of fault that are rejected


def calibrate(faults: Sequence[str], accepted: np.ndarray) -> Calibration:
    """Return the calibration.

    Args:
        faults: (images,) the kind of fault of each image; "" where it has none.
        accepted: bool (images,): whether the validator accepted it.
    """
    kinds = np.asarray(faults, object)
    free = kinds == FAULT_FREE
    return Calibration(
        specificity=_rate(accepted[free]),
        sensitivity={
            kind: _rate(~accepted[kinds == kind]) for kind in sorted(set(kinds[~free].tolist()))
        },
    )


def _rate(right: np.ndarray) -> Rate:
    n, total = len(right), int(np.sum(right))
    return Rate(n, total, clopper_pearson_lower(total, n))


def faulty_among_accepted(
    sensitivity: Mapping[str, float], specificity: float, fault_rates: Mapping[str, float]
) -> float | None:
    """Return the share of faulty images among the accepted ones.

    sum_k f_k (1 - s_k) / (sum_k f_k (1 - s_k) + (1 - sum_k f_k) c), with the fault rates f,
    sensitivities s and specificity c: at 50% faults, 95 / 95 leaves 5%. With the lower bounds of
    the rates it is an upper bound. None where nothing would be accepted.

    Args:
        sensitivity: by kind of fault.
        specificity: share of fault-free images that are accepted.
        fault_rates: share of images that have each kind of fault; every kind needs a sensitivity.
    """
    missing = sorted(fault_rates.keys() - sensitivity.keys())
    if missing:
        raise ValueError(f"no sensitivity for the faults {missing}")
    faulty = sum(rate * (1 - sensitivity[kind]) for kind, rate in fault_rates.items())
    right = (1 - sum(fault_rates.values())) * specificity
    return faulty / (faulty + right) if faulty + right else None


def implied_faulty(
    calibration: Calibration, fault_rates: Mapping[str, float]
) -> tuple[float | None, float | None]:
    """Return the implied share of faulty images among the accepted, and its upper bound.

    The bound takes every rate at its lower bound. None: a kind was never tried, or nothing would
    be accepted.
    """
    used = {kind: rate for kind, rate in fault_rates.items() if rate > 0}
    rates = [calibration.sensitivity.get(kind, Rate(0, 0, 0.0)) for kind in used]
    values = [rate.value for rate in [calibration.specificity, *rates]]
    if any(value is None for value in values):
        return None, None
    point = dict(zip(used, [rate.right / rate.n for rate in rates], strict=True))
    bound = dict(zip(used, [rate.lower for rate in rates], strict=True))
    specificity = calibration.specificity
    return (
        faulty_among_accepted(point, specificity.right / specificity.n, used),
        faulty_among_accepted(bound, specificity.lower, used),
    )
