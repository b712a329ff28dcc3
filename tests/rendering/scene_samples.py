"""Random concepts for the tests of this folder."""

import numpy as np

from bindbench.concepts import Concept
from bindbench.tasks import get_benchmark
from bindbench.vocabulary import Lexicon


def random_concept(lexicon: Lexicon, key: str, seed: int) -> Concept:
    benchmark = get_benchmark(key)
    rng = np.random.default_rng([77, seed])
    nouns = lexicon.nouns(benchmark.task)
    names = [noun.name for noun in nouns.entries if noun.drawable]
    labels = lexicon.labels(benchmark.task).names
    return Concept(
        benchmark.task.name,
        tuple(names[k] for k in rng.choice(len(names), benchmark.n, replace=False)),
        tuple(labels[k] for k in rng.choice(len(labels), benchmark.n_labels, replace=False)),
    )
