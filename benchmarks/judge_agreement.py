"""How far two judges agree on images that reach the label check (Auto-Comp, Table 21).

    python benchmarks/judge_agreement.py [--first pixels:validator] [--second nano:vlm]
        [--images 60]

Images are rendered with the embedded profile's faults on fresh seeds. Those that pass the presence
and the background check go to both judges; for each task and for all it prints how many there are,
the share that both decide alike with its interval, Cohen's kappa, the shares that one judge alone
passes, and the share that each decides as the renderer's truth has it.
"""

import argparse
import os
from collections import defaultdict
from dataclasses import dataclass

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from bindbench.analysis.agreement import agreement
from bindbench.models import registry
from bindbench.models.base import ImageRequest
from bindbench.suite import Profile, RoleSettings, VocabularySources, profile_fields
from bindbench.tasks import BENCHMARKS, TRACKS, Benchmark, Track
from bindbench.training.validator_data import draw_concept
from bindbench.validation.background import background_verdict
from bindbench.validation.labels import label_questions, label_verdict
from bindbench.validation.presence import presence_verdict
from bindbench.vocabulary_files import load_lexicon

FIRST_SEED = 1 << 59  # of the images; no pipeline and no training draws from there
BATCH = 20
HARMLESS = (None, "background")  # faults that leave every label right
DOUBTFUL = ("borderline", "half_leaked")  # neither right nor wrong


@dataclass(frozen=True)
class Decided:
    """What two judges say of an image."""

    first: bool
    second: bool
    right: bool | None  # by the renderer's truth


def decide(
    benchmark: Benchmark,
    track: Track,
    count: int,
    models: dict[str, RoleSettings],
    sources: VocabularySources,
) -> list[Decided]:
    """Render images of a benchmark and ask both judges about those that reach them."""
    profile = Profile(**profile_fields("embedded"))
    lexicon = load_lexicon(sources.model_dump())
    rng = np.random.default_rng([0x21, list(BENCHMARKS).index(benchmark.key), TRACKS.index(track)])
    generator, detector = (
        registry.load(role, getattr(profile, role), sources) for role in ("generator", "detector")
    )
    judges = {name: registry.load("judge", setting, sources) for name, setting in models.items()}
    least = {"first": profile.validation.label_score, "second": 0.0}
    decided = []
    for start in range(0, count, BATCH):
        concepts = [draw_concept(benchmark, lexicon, rng) for _ in range(min(BATCH, count - start))]
        requests = [
            ImageRequest(concept, "", track, FIRST_SEED + int(rng.integers(1 << 58)))
            for concept in concepts
        ]
        made = generator.generate(requests)
        found = detector.detect([m.image for m in made], [c.objects for c in concepts])
        for concept, one, detections in zip(concepts, made, found, strict=True):
            presence, matched = presence_verdict(
                concept, detections, lexicon, profile.validation.pair_instances
            )
            if presence != "pass":
                continue
            if track == "minimal":
                verdict, _ = background_verdict(one.image, [d.mask for d in detections])
                if verdict != "pass":
                    continue
            own, asked = [detections[j] for j in matched], label_questions(concept, lexicon)
            passed = {
                name: label_verdict(
                    concept, asked, judge.answer([one.image], [own], [asked])[0], least[name]
                )[0]
                == "pass"
                for name, judge in judges.items()
            }
            fault = (one.truth or {}).get("fault")
            right = None if fault in DOUBTFUL else fault in HARMLESS
            decided.append(Decided(passed["first"], passed["second"], right))
    return decided


def line(name: str, decided: list[Decided]) -> str:
    """Format a row of the table."""
    first, second = (np.array([getattr(d, f) for d in decided]) for f in ("first", "second"))
    found = agreement(first, second)
    known = np.array([d.right is not None for d in decided])
    truth = np.array([bool(d.right) for d in decided])
    right = [100 * float((own == truth)[known].mean()) for own in (first, second)]
    kappa = "-" if found.kappa is None else f"{found.kappa:.3f}"
    share = found.agreement
    return (
        f"| {name} | {found.n_items} | {100 * share.value:.1f} "
        f"({100 * share.low:.0f}-{100 * share.high:.0f}) | {kappa} "
        f"| {100 * found.only_first:.1f} | {100 * found.only_second:.1f} "
        f"| {found.asymmetry_p:.2g} | {right[0]:.1f} | {right[1]:.1f} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", default="pixels:validator")
    parser.add_argument("--second", default="nano:vlm")
    parser.add_argument("--images", type=int, default=60, help="of each benchmark and track")
    given = parser.parse_args()
    sources = VocabularySources(objects="objects_embedded")
    models = {name: RoleSettings(model=getattr(given, name)) for name in ("first", "second")}
    groups: dict[str, list[Decided]] = defaultdict(list)
    for benchmark in BENCHMARKS.values():
        for track in TRACKS:
            decided = decide(benchmark, track, given.images, models, sources)
            for name in (benchmark.task.name, "all"):
                groups[name] += decided
    print(f"first: {given.first}, second: {given.second}")
    print(
        "| task | images | alike | kappa | first alone passes | second alone | p | right | right |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in sorted(groups, key=lambda name: (name == "all", name)):
        print(line(name, groups[name]), flush=True)


if __name__ == "__main__":
    main()
