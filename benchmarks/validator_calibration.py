"""How often the embedded validator is right: rendered scenes with a known fault, on fresh seeds.

    python benchmarks/validator_calibration.py [--items 200] [--workers 2] [--seed 0]

Prints one row per task, fault kind and track: items, share decided rightly (fault-free scenes
accepted, faulty ones caught), its lower 95% bound (Clopper-Pearson, one-sided), and the reasons
of the wrong decisions. The seeds are of a range of their own, which neither training nor the choice
of thresholds draws from.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one thread a process: the processes fill the cores

import torch
from scipy.stats import beta

from bindbench.models.base import Detection
from bindbench.models.pixel_detector import PixelDetector
from bindbench.models.pixel_judge import PixelJudge
from bindbench.tasks import BENCHMARKS, TASKS, TRACKS, Benchmark, Track
from bindbench.training.validator_data import (
    CALIBRATION,
    Plan,
    draw,
    embedded_lexicon,
    fault_kinds,
)
from bindbench.training.validator_tuning import MAX_PAIR
from bindbench.validation.background import background_verdict
from bindbench.validation.labels import label_questions, label_verdict
from bindbench.validation.presence import presence_verdict

PART = 25  # items that a worker decides at a time
TARGETS = {"minimal": 0.95, "contextual": 0.90}
CATCH_TARGET = 0.95
WITHOUT_BAR = {"borderline"}


@dataclass(frozen=True)
class Cell:
    """One row of the table."""

    task: str
    track: Track
    fault: str | None

    @property
    def target(self) -> float | None:
        """The share that should be decided rightly, if there is a bar."""
        if self.fault is None:
            return TARGETS[self.track]
        return None if self.fault in WITHOUT_BAR else CATCH_TARGET

    @property
    def benchmarks(self) -> list[Benchmark]:
        """The benchmarks of the task whose images can have the fault."""
        return [
            b
            for b in BENCHMARKS.values()
            if b.task.name == self.task
            and (self.fault is None or self.fault in fault_kinds(b, self.track))
        ]


def cells() -> list[Cell]:
    """All rows, in the order of the table."""
    found = []
    for task in TASKS:
        kinds: dict[str | None, None] = {None: None}
        for benchmark in BENCHMARKS.values():
            if benchmark.task.name == task:
                for track in TRACKS:
                    kinds |= dict.fromkeys(fault_kinds(benchmark, track))
        found += [Cell(task, track, kind) for kind in kinds for track in TRACKS]
    return [cell for cell in found if cell.benchmarks]


@lru_cache(maxsize=1)
def validator(seed: int) -> tuple[Plan, PixelDetector, PixelJudge]:
    """Load the validator once in each worker."""
    torch.set_num_threads(1)
    lexicon = embedded_lexicon()
    return Plan(lexicon, seed), PixelDetector(), PixelJudge(lexicon)


def decide(cell: Cell, start: int, count: int, seed: int) -> list[tuple[str, str]]:
    """Render and validate items of a cell; return each one's benchmark and verdict."""
    plan, detector, judge = validator(seed)
    specs = [
        plan.spec_of(
            CALIBRATION, i, cell.benchmarks[i % len(cell.benchmarks)], cell.track, cell.fault
        )
        for i in range(start, start + count)
    ]
    images = [draw(spec, plan).image for spec in specs]
    found = detector.detect(images, [spec.concept.objects for spec in specs])
    verdicts = [""] * count
    detections: list[list[Detection]] = [[] for _ in specs]
    for i, spec in enumerate(specs):
        verdicts[i], matched = presence_verdict(spec.concept, found[i], plan.lexicon, MAX_PAIR)
        if verdicts[i] == "pass":
            detections[i] = [found[i][k] for k in matched]
        if verdicts[i] == "pass" and spec.track == "minimal":
            verdicts[i], _ = background_verdict(images[i], [d.mask for d in detections[i]])
    left = [i for i, verdict in enumerate(verdicts) if verdict == "pass"]
    questions = [label_questions(specs[i].concept, plan.lexicon) for i in left]
    answers = judge.answer([images[i] for i in left], [detections[i] for i in left], questions)
    min_score = detector.thresholds.color
    for i, asked, given in zip(left, questions, answers, strict=True):
        verdicts[i], _ = label_verdict(specs[i].concept, asked, given, min_score)
    return [(f"n{spec.concept.n}", verdict) for spec, verdict in zip(specs, verdicts, strict=True)]


def lower_bound(right: int, items: int, confidence: float = 0.95) -> float:
    """Return the one-sided Clopper-Pearson bound of a share."""
    return float(beta.ppf(1 - confidence, right, items - right + 1)) if right else 0.0


def row(cell: Cell, results: list[tuple[str, str]]) -> tuple[str, int, bool]:
    """Format a row; return it with the number decided rightly and whether the bar is missed."""
    correct = [(verdict == "pass") == (cell.fault is None) for _, verdict in results]
    right, items = sum(correct), len(correct)
    wrong = [pair for pair, ok in zip(results, correct, strict=True) if not ok]
    reasons = Counter(verdict if cell.fault is None else "accepted" for _, verdict in wrong)
    sizes = Counter(n for n, _ in wrong)
    note = ", ".join(f"{name} {count}" for name, count in sorted((reasons + sizes).items()))
    missed = cell.target is not None and right / items < cell.target
    target = "none" if cell.target is None else f"{100 * cell.target:.0f}%"
    line = (
        f"| {cell.task} | {cell.fault or '(fault-free)'} | {cell.track} | {items} "
        f"| {100 * right / items:.1f}%{' MISSED' if missed else ''} "
        f"| {100 * lower_bound(right, items):.1f}% | {target} | {note} |"
    )
    return line, right, missed


def summary(totals: dict[tuple[str, bool], tuple[int, int]], fault_rate: float) -> list[str]:
    """Say per track what the table implies for the images that are accepted."""
    lines = []
    for track in TRACKS:
        good, good_items = totals[track, False]
        caught, bad_items = totals[track, True]
        specificity, sensitivity = good / good_items, caught / bad_items
        bad = fault_rate * (1 - sensitivity)
        share = bad / (bad + (1 - fault_rate) * specificity)
        lines.append(
            f"{track}: {100 * specificity:.1f}% of {good_items} fault-free accepted "
            f"(at least {100 * lower_bound(good, good_items):.1f}%), {100 * sensitivity:.1f}% of "
            f"{bad_items} faulty caught (at least {100 * lower_bound(caught, bad_items):.1f}%; "
            f"borderline left out); with {100 * fault_rate:.0f}% of the images faulty, "
            f"{100 * share:.1f}% of the accepted would be."
        )
    return lines


def main() -> None:
    """Run the calibration."""
    parser = argparse.ArgumentParser(description="Calibrate the embedded validator.")
    parser.add_argument("--items", type=int, default=200, help="items per row")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=0, help="seed of the scenes")
    parser.add_argument("--fault-rate", type=float, default=0.5, help="for the summary")
    options = parser.parse_args()
    table = cells()
    jobs = [
        (cell, start, min(PART, options.items - start), options.seed)
        for cell in table
        for start in range(0, options.items, PART)
    ]
    started = time.monotonic()
    results: dict[Cell, list[tuple[str, str]]] = {cell: [] for cell in table}
    context = multiprocessing.get_context("spawn")
    print("| task | fault | track | items | right | at least | bar | of the wrong |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    totals: dict[tuple[str, bool], tuple[int, int]] = {}
    missed = 0
    with ProcessPoolExecutor(options.workers, mp_context=context) as pool:
        decided = pool.map(decide, *zip(*jobs, strict=True))
        for done, (job, part) in enumerate(zip(jobs, decided, strict=True), start=1):
            cell = job[0]
            results[cell] += part
            left = (time.monotonic() - started) / done * (len(jobs) - done)
            print(f"{done}/{len(jobs)}, {left / 60:.1f} min left", end="\r", file=sys.stderr)
            if len(results[cell]) == options.items:
                line, right, under = row(cell, results[cell])
                print(line, flush=True)
                missed += under
                if cell.fault not in WITHOUT_BAR:
                    key = cell.track, cell.fault is not None
                    before = totals.get(key, (0, 0))
                    totals[key] = before[0] + right, before[1] + options.items
    print()
    print("\n".join(summary(totals, options.fault_rate)))
    print(f"{missed} of {len(table)} rows miss their bar.")


if __name__ == "__main__":
    main()
