"""Choosing the validator's thresholds on scenes that neither training nor calibration sees."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bindbench.models.base import Detection
from bindbench.models.pixel_detector import select
from bindbench.models.pixel_instances import Instance, find_instances
from bindbench.models.pixel_judge import PixelJudge
from bindbench.models.pixel_network import Thresholds, Trained
from bindbench.tasks import Track
from bindbench.training.validator_data import VALIDATION, Plan, SceneSpec, load_drawn
from bindbench.validation.background import background_verdict
from bindbench.validation.labels import label_questions, label_verdict
from bindbench.validation.presence import presence_verdict
from bindbench.vocabulary import Lexicon

GRID = {
    "score": (0.05, 0.1, 0.2, 0.3),
    "extra": (0.3, 0.4, 0.5, 0.6),
    "noun": (0.05, 0.1, 0.2, 0.3, 0.45, 0.6),
    "color": (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8),
}
# Aims, above what is asked for (.95 accepted minimal, .90 contextual, .95 caught), since a
# hundred scenes a kind measure a rate to two points.
ACCEPT: dict[Track, float] = {"minimal": 0.985, "contextual": 0.96}
CATCH = 0.985
WITHOUT_BAR = {"borderline"}
MAX_PAIR = 1  # renders show a pair of scissors as one thing


@dataclass(frozen=True)
class Case:
    """A validation scene and what the network found in it."""

    spec: SceneSpec
    image: np.ndarray
    instances: Sequence[Instance]


def verdict_of(
    case: Case, trained: Trained, judge: PixelJudge, lexicon: Lexicon, thresholds: Thresholds
) -> str:
    """Run all checks on a scene and return ``pass`` or the first reason against it."""
    presence, detections = _presence(case, trained, lexicon, thresholds)
    if presence != "pass":
        return presence
    return _after_presence(case, judge, lexicon, detections, thresholds.color)


def _presence(
    case: Case, trained: Trained, lexicon: Lexicon, thresholds: Thresholds
) -> tuple[str, list[Detection]]:
    """Return the presence verdict and, if it is ``pass``, each object's detection."""
    query = [trained.nouns.index(name) for name in case.spec.concept.objects]
    found = select(case.instances, query, trained.nouns, thresholds)
    verdict, matched = presence_verdict(case.spec.concept, found, lexicon, MAX_PAIR)
    return verdict, [found[k] for k in matched] if verdict == "pass" else []


def _after_presence(
    case: Case,
    judge: PixelJudge,
    lexicon: Lexicon,
    detections: Sequence[Detection],
    min_score: float,
) -> str:
    if case.spec.track == "minimal":
        background, _ = background_verdict(case.image, [d.mask for d in detections])
        if background != "pass":
            return background
    questions = label_questions(case.spec.concept, lexicon)
    answers = judge.answer_from(case.image, detections, case.instances, questions)
    return label_verdict(case.spec.concept, questions, answers, min_score)[0]


def cases_of(
    trained: Trained, plan: Plan, specs_and_images: Iterable[tuple[SceneSpec, np.ndarray]]
) -> list[Case]:
    """Look at scenes with the network."""
    pairs = list(specs_and_images)
    found = find_instances(trained.network, [image for _, image in pairs])
    return [
        Case(spec, image, instances) for (spec, image), instances in zip(pairs, found, strict=True)
    ]


def rates(cases: Sequence[Case], accepted: Sequence[bool]) -> dict[str, float]:
    """Return the share decided rightly per track and fault kind: ``minimal/none``, ..."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for case, passed in zip(cases, accepted, strict=True):
        fault = case.spec.fault
        groups[f"{case.spec.track}/{fault or 'none'}"].append(passed == (fault is None))
    return {name: float(np.mean(values)) for name, values in sorted(groups.items())}


def merit(figures: dict[str, float]) -> float:
    """Score a table of ``rates``: what is missing to the aims counts most, then the mean."""
    total = 0.0
    for name, rate in figures.items():
        track, _, fault = name.partition("/")
        if fault in WITHOUT_BAR:
            continue
        # The fault-free scenes are one row per track, but they matter as all faults together.
        aim, weight = (CATCH, 1.0) if fault != "none" else (ACCEPT[track], 6.0)  # type: ignore[index]
        total += weight * (min(0.0, rate - aim) * 3 + 0.3 * rate)
    return total


def tune(
    trained: Trained,
    plan: Plan,
    scenes: int,
    cache: Path,
    report: Callable[[str], None],
) -> tuple[Thresholds, dict[str, float]]:
    """Choose the thresholds by the validation scenes.

    Returns:
        The thresholds, and the share of scenes decided rightly with them per track and fault
        kind (an optimistic figure, since they were chosen by it; see the calibration).
    """
    drawn = load_drawn(plan, VALIDATION, scenes, cache)
    specs = [plan.spec(VALIDATION, i) for i in range(scenes)]
    cases = cases_of(trained, plan, zip(specs, (d.image for d in drawn), strict=True))
    judge = PixelJudge(plan.lexicon, trained)
    tried: list[tuple[float, Thresholds, dict[str, float]]] = []
    grid = itertools.product(GRID["score"], GRID["extra"], GRID["noun"])
    for score, extra, noun in grid:
        thresholds = Thresholds(score, extra, noun, 0.0)
        ceilings = [
            _color_ceiling(case, trained, judge, plan.lexicon, thresholds) for case in cases
        ]
        for color in GRID["color"]:
            figures = rates(cases, [ceiling >= color for ceiling in ceilings])
            tried.append((merit(figures), replace(thresholds, color=color), figures))
    best = central([(value, chosen) for value, chosen, _ in tried])
    figures = next(figures for _, chosen, figures in tried if chosen == best)
    report(f"thresholds: {best}")
    for name, rate in figures.items():
        report(f"validation: {name} {rate:.3f}")
    verdicts = Counter(
        verdict_of(case, trained, judge, plan.lexicon, best)
        for case in cases
        if case.spec.fault is None
    )
    report(f"validation: fault-free scenes by verdict: {dict(verdicts.most_common())}")
    return best, figures


def central(tried: Sequence[tuple[float, Thresholds]]) -> Thresholds:
    """Return the thresholds of the highest value; of equal ones those in the middle.

    Where many choices decide the validation scenes alike, the middle one is furthest from where
    others begin to fail.
    """
    highest = max(value for value, _ in tried)
    equal = [chosen for value, chosen in tried if value >= highest - 1e-9]
    points = np.array([[*vars(chosen).values()] for chosen in equal])
    spread = np.maximum(points.max(0) - points.min(0), 1e-9)
    distances = (np.abs(points - np.median(points, axis=0)) / spread).sum(1)
    return equal[int(distances.argmin())]


def _color_ceiling(
    case: Case, trained: Trained, judge: PixelJudge, lexicon: Lexicon, thresholds: Thresholds
) -> float:
    """Return the highest least score of a label up to which the scene is accepted; -1: never."""
    presence, detections = _presence(case, trained, lexicon, thresholds)
    if presence != "pass":
        return -1.0
    if _after_presence(case, judge, lexicon, detections, 0.0) != "pass":
        return -1.0
    questions = label_questions(case.spec.concept, lexicon)
    answers = judge.answer_from(case.image, detections, case.instances, questions)
    return min(
        answer.scores[question.options.index(answer.option)]
        for question, answer in zip(questions, answers, strict=True)
    )
