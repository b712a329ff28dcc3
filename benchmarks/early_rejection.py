"""What abandoning both images of a lost pair saves, where only pairs are wanted (pairs_only).

The baseline is the same suite with both tracks of every concept made and checked. The paired set
must be the same. A contextual image is saved for each minimal one that is rejected, so the survival
of the minimal track explains the saving.

    python benchmarks/early_rejection.py --concepts 60
"""

import argparse
import json
import tempfile
import time
from dataclasses import dataclass

from bindbench.engine.local import LocalEngine
from bindbench.pipeline import (
    captions,
    concept_set,
    first_checks,
    first_images,
    images,
    paired_set,
    validated,
)
from bindbench.pipeline.base import Context
from bindbench.storage.store import Artifact, Store
from bindbench.suite import Suite, load_suite

BOTH = (images, validated)
EARLY = (first_images, first_checks, images, validated)


@dataclass(frozen=True)
class Measured:
    """One benchmark, built up to its pairs."""

    seconds: float  # of images and checks, of the processor
    images: int
    survival: float  # accepted of all minimal images
    pairs: Artifact


def measure(suite: Suite, key: str, folder: str) -> Measured:
    """Build a benchmark in a store of its own."""
    context = Context(suite, Store(folder, suite.name), LocalEngine(1))
    concept_set.build(context, key)
    captions.build(context, key)
    started = time.process_time()
    for stage in EARLY if suite.pairs_only else BOTH:
        stage.build(context, key)
    seconds = time.process_time() - started
    rows = context.current(validated.NAME, key).read(["track", "accepted"]).to_pylist()
    minimal = [row["accepted"] for row in rows if row["track"] == "minimal"]
    return Measured(
        seconds,
        context.current(images.NAME, key).rows,
        sum(minimal) / len(minimal),
        paired_set.build(context, key),
    )


def compare(suite: Suite, key: str) -> dict[str, float | int | str]:
    """Return what one benchmark takes both ways."""
    found = {}
    for early in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            found[early] = measure(suite.model_copy(update={"pairs_only": early}), key, folder)
    both, early = found[False], found[True]
    if early.pairs.digest != both.pairs.digest:
        raise SystemExit(f"{key}: the paired sets differ")
    return {
        "benchmark": key,
        "pairs": both.pairs.rows,
        "minimal survival": round(both.survival, 3),
        "images": both.images,
        "images, early": early.images,
        "images saved": round(1 - early.images / both.images, 3),
        "saved by survival": round((1 - both.survival) / 2, 3),
        "CPU seconds": round(both.seconds, 1),
        "CPU seconds, early": round(early.seconds, 1),
        "time saved": round(1 - early.seconds / both.seconds, 3),
    }


def main() -> None:
    """Print one line for each benchmark."""
    parser = argparse.ArgumentParser(description="What pairs_only saves on the embedded suite.")
    parser.add_argument("--benchmarks", nargs="+", default=["color-n2", "color-n3", "position-n3"])
    parser.add_argument("--concepts", type=int, default=60)
    options = parser.parse_args()
    suite = load_suite("embedded")
    suite = suite.model_copy(update={"concepts": dict.fromkeys(suite.benchmarks, options.concepts)})
    compare(  # models are loaded, and what is compiled is compiled
        suite.model_copy(update={"concepts": dict.fromkeys(suite.benchmarks, 2)}), "color-n2"
    )
    for key in options.benchmarks:
        print(json.dumps(compare(suite, key)), flush=True)


if __name__ == "__main__":
    main()
