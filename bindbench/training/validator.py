"""Training of the embedded validator: render scenes, learn, choose thresholds, write weights."""

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import torch
from torch import nn

from bindbench.models.pixel_network import PixelNetwork, Thresholds, Trained, load, save
from bindbench.training.validator_augment import Augmenter, Batch, Palette, Sample, to_linear
from bindbench.training.validator_data import (
    TRAINING,
    VALIDATION,
    Plan,
    embedded_lexicon,
    load_samples,
    prepare,
)
from bindbench.training.validator_loss import validator_loss
from bindbench.training.validator_tuning import tune
from bindbench.vocabulary import Lexicon

Report = Callable[[str], None]
BATCH = 32
WARM_UP = 30  # steps
LOG_EVERY = 100  # steps
CHECKPOINT_EVERY = 200  # steps
PEAK_RATE = 3e-3


def train_validator(
    out: Path,
    *,
    cache: Path | None = None,
    lexicon: Lexicon | None = None,
    seed: int = 0,
    scenes: int = 6500,
    validation_scenes: int = 1000,
    steps: int = 5000,
    workers: int = 2,
    report: Report = print,
) -> Trained:
    """Rebuild the embedded detector and judge from nothing.

    The weights follow from the arguments (``workers`` and ``cache`` aside) and from the versions
    of the libraries and the processor's instruction set, whose rounding differs. Rendering
    resumes: scenes already in ``cache`` are not drawn again.

    Args:
        out: folder for ``model.safetensors`` and ``config.json``; a checkpoint is written there
            every 200 steps, with the default thresholds.
        cache: folder for the rendered scenes; None: ``scenes`` in ``out``.
        lexicon: its drawable objects and shapes are the nouns and its colors the colors to learn;
            None: the words of the embedded suite.
        seed: seed of the scenes, of the first weights and of the augmentation.
        scenes: number of training scenes.
        validation_scenes: number of further scenes on which the thresholds are chosen.
        steps: number of training steps, of 32 scenes each.
        workers: processes that render.
        report: takes one line of progress.

    Raises:
        UserError: a noun without a mesh, or a folder that can't be written.
    """
    plan = Plan(lexicon or embedded_lexicon(), seed)
    cache = cache or out / "scenes"
    prepare(plan, TRAINING, scenes, cache, workers, report)
    prepare(plan, VALIDATION, validation_scenes, cache, workers, report)
    samples = load_samples(plan, TRAINING, scenes, cache)
    trainer = Trainer(plan, samples, seed, steps)

    def checkpoint(step: int) -> None:
        save(trainer.trained(Thresholds()), out, step=step, seed=seed, scenes=scenes)

    trainer.run(report, checkpoint)
    checkpoint(steps)
    rounded = load(out)  # choose the thresholds for the half-precision weights that ship
    thresholds, figures = tune(rounded, plan, validation_scenes, cache, report)
    trained = trainer.trained(thresholds)
    save(
        trained,
        out,
        step=steps,
        seed=seed,
        scenes=scenes,
        validation=figures,
        date=date.today().isoformat(),
        torch=torch.__version__,
    )
    return trained


def palette_of(lexicon: Lexicon) -> Palette:
    """Return the colors as augmentation needs them."""
    colors = lexicon.colors.entries
    return Palette(
        linear=to_linear(np.array([color.srgb for color in colors])),
        paint=np.array([i for i, color in enumerate(colors) if not color.metal]),
    )


@dataclass
class _Pace:
    """Tells how fast the work goes and how much time is left."""

    total: int
    started: float

    def line(self, done: int) -> str:
        elapsed = time.monotonic() - self.started
        left = elapsed / done * (self.total - done)
        return f"{done}/{self.total}, {done / elapsed:.2f} steps/s, {left / 60:.1f} min left"


class Trainer:
    """AdamW with a cosine schedule and a moving average of the weights, on one thread."""

    def __init__(self, plan: Plan, samples: Sequence[Sample], seed: int, steps: int):
        self.plan, self.steps = plan, steps
        self.augmenter = Augmenter(samples, palette_of(plan.lexicon))
        self.rng = np.random.default_rng([seed, 0xA06])
        torch.manual_seed(seed)
        network = PixelNetwork(len(plan.nouns), len(plan.colors))
        self.network = network.to(memory_format=torch.channels_last)
        self.average = copy.deepcopy(self.network).eval()
        matrices = [p for p in network.parameters() if p.ndim > 1]
        vectors = [p for p in network.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}],
            lr=PEAK_RATE,
            betas=(0.9, 0.98),
        )

    def trained(self, thresholds: Thresholds) -> Trained:
        """Return the averaged network with its names."""
        return Trained(self.average, self.plan.nouns, self.plan.colors, thresholds)

    def run(self, report: Report, checkpoint: Callable[[int], None]) -> None:
        """Train for all steps."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # two threads beside another busy process are far slower
        try:
            self._run(report, checkpoint)
        finally:
            torch.set_num_threads(threads)

    def _run(self, report: Report, checkpoint: Callable[[int], None]) -> None:
        pace = _Pace(self.steps, time.monotonic())
        sums: dict[str, float] = {}
        for step in range(1, self.steps + 1):
            parts = self._step(step)
            sums = {name: sums.get(name, 0.0) + value for name, value in parts.items()}
            if step % LOG_EVERY == 0 or step == self.steps:
                count = (step - 1) % LOG_EVERY + 1
                losses = " ".join(f"{name} {value / count:.3f}" for name, value in sums.items())
                report(f"training: {pace.line(step)}; loss: {losses}")
                sums = {}
            if step % CHECKPOINT_EVERY == 0 and step < self.steps:
                checkpoint(step)

    def _step(self, step: int) -> dict[str, float]:
        batch: Batch = self.augmenter.batch(BATCH, self.rng)
        rate = PEAK_RATE * min(1.0, step / WARM_UP) * 0.5
        rate *= 1 + math.cos(math.pi * (step - 1) / self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate + 1e-5
        with torch.autocast("cpu", torch.bfloat16):
            outputs = self.network(batch.images)
        loss, parts = validator_loss(outputs, batch)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self.optimizer.step()
        self._average(min(0.996, step / (step + 20)))
        return parts

    @torch.no_grad()
    def _average(self, keep: float) -> None:
        for mean, new in zip(
            self.average.state_dict().values(), self.network.state_dict().values(), strict=True
        ):
            if mean.is_floating_point():
                mean.lerp_(new, 1 - keep)
            else:
                mean.copy_(new)
