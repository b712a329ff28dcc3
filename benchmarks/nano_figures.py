"""Measure the shipped contrastive encoders on scenes that training never saw.

Prints the table of their model cards: unseen (object, color) pairs, and the beginning of every
benchmark of the embedded suite, freshly rendered from seeds of their own.

    python benchmarks/nano_figures.py --scenes 2160 --cache DIR
"""

import argparse
from pathlib import Path

import torch

from bindbench.models import registry
from bindbench.suite import RoleSettings, VocabularySources
from bindbench.training.nano_clip_data import NanoPlan
from bindbench.training.nano_clip_figures import measure, table
from bindbench.training.validator_data import embedded_lexicon, prepare

TEST = 2
MODELS = ("nano:clip", "nano:negclip")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=2160)
    parser.add_argument("--cache", type=Path, required=True, help="folder for rendered scenes")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(1)
    plan = NanoPlan(embedded_lexicon(), 0)
    prepare(plan, TEST, args.scenes, args.cache, args.workers, print)
    sources = VocabularySources(objects="objects_embedded")
    figures = {}
    for name in MODELS:
        scorer = registry.load("scorer", RoleSettings(model=name), sources)
        figures[name] = measure(scorer, plan, TEST, args.scenes, args.cache)
        print(f"{name}: measured {len(figures[name])} figures", flush=True)
    print(table(figures))


if __name__ == "__main__":
    main()
