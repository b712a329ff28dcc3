"""Log-likelihoods of all candidates of an image against one forward pass per candidate.

    python benchmarks/likelihood.py [--model "Gemma 3"]

Same model, same image of 256 tokens, same captions, one thread, float32. The models are small (4
layers of 256) with the shapes of their families; what is compared is the work, which is the same
share of a large model's. The baseline reads image, prompt and caption anew for each candidate, and
computes the logits of the caption's tokens only. Memory is the process's peak.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from likelihood_models import CASES, Case, candidates

from bindbench.scoring.likelihood import Likelihood
from bindbench.scoring.prefix import PrefixModel

BENCHMARKS = ("color-n3", "color-n2")  # 729 and 16 candidates
REPEATS = {"color-n3": 1, "color-n2": 5}
NATS = 2e-4


def ours(likelihood: Likelihood, case: Case, captions: list[list[int]]) -> np.ndarray:
    """Return the log-likelihoods by the project's engine, the image read anew."""
    return likelihood.sums(likelihood.model.read_prefix(case.inputs), captions)


def one_by_one(model: PrefixModel, case: Case, captions: list[list[int]]) -> np.ndarray:
    """Return the log-likelihoods by one pass of image, prompt and caption for each."""
    shape, out = case.inputs["input_ids"].shape, []
    for caption in captions:
        tail = {"input_ids": torch.tensor([caption])}
        none = torch.zeros(1, len(caption), dtype=torch.int64)
        whole = {
            key: torch.cat([value, tail.get(key, none).to(value.dtype)], 1)
            if value.shape == shape
            else value
            for key, value in case.inputs.items()
        }
        out.append(model.in_one_pass(whole, len(caption)))
    return np.array(out)


def timed(run: Callable[[], np.ndarray], repeats: int) -> tuple[np.ndarray, float]:
    """Return the scores and the fastest time in seconds of the CPU, whatever else it does."""
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        scores = run()
        seconds.append(time.process_time() - started)
    return scores, min(seconds)


def peak() -> float:
    """Return the process's peak memory so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(case: Case, key: str) -> None:
    """Run both on one benchmark's candidates and print the ratio."""
    captions, before = candidates(key), peak()
    model = PrefixModel(case.model, case.model.get_decoder(), additive=False)
    likelihood = Likelihood(model, case.name)
    fast, seconds = timed(lambda: ours(likelihood, case, captions), 3 * REPEATS[key])
    memory = peak()
    slow, baseline = timed(lambda: one_by_one(model, case, captions), REPEATS[key])
    difference = np.abs(fast - slow).max()
    print(
        f"{case.name:<11} K={len(captions):<4} {seconds:7.3f} s, one pass per candidate "
        f"{baseline:7.3f} s: {baseline / seconds:5.1f} times faster, at most {difference:.1e} nats "
        f"apart; peak memory {before:.0f} MiB before, {memory:.0f} by us, {peak():.0f} by both",
        flush=True,
    )
    assert difference < NATS


def main() -> None:
    """Compare all families, or the one that is named."""
    parser = argparse.ArgumentParser(description="Shared-prefix scoring against one by one.")
    parser.add_argument("--model", help="one of the families alone")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for build in CASES:
        case = build()
        if options.model in (None, case.name):
            case.model.eval()
            for key in BENCHMARKS:
                compare(case, key)


if __name__ == "__main__":
    main()
