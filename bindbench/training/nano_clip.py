"""Training of the contrastive encoders nano:clip and nano:negclip, from nothing.

First the image trunk learns to name the object and the color in each of its cells, from the
renderer's masks. Then image and text encoders learn contrastively (CLIP), with captions in random
clause order: nano:clip. nano:negclip goes on from there with swapped captions as hard negatives
(NegCLIP, Yuksekgonul et al. 2023).
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from torch import Tensor, nn
from torch.nn import functional

from bindbench.concepts import Concept
from bindbench.models.open_clip_text import text_features
from bindbench.tasks import TRACKS
from bindbench.training.nano_clip_data import NanoPlan
from bindbench.training.nano_clip_images import UNNAMED, Scenes, cell_targets, views
from bindbench.training.nano_clip_model import new_model, save_weights, write_folder
from bindbench.training.nano_clip_text import Teller

Report = Callable[[str], None]
LOG_EVERY = 50  # steps
SAVE_EVERY = 200  # steps
WARM_UP = 50  # steps
WEIGHT_DECAY = 0.05
PRE_RATE, TRUNK_RATE, RATE = 2e-3, 4e-4, 1e-3
EMPTY_WEIGHT = 0.15  # of empty cells in pre-training
OBJECTS_ONLY = 0.12  # share of captions that name the objects alone
COLORS_TOLD = 0.35  # share of relational scenes that are told by their colors
LARGEST_SCALE = 100.0


@dataclass(frozen=True)
class Phase:
    """One part of the training."""

    steps: int
    batch: int
    factor: float = 1.0  # of the learning rates


@dataclass(frozen=True)
class Told:
    """Captions of a batch: one positive for each image, and swapped ones for some of them."""

    positives: list[str]
    swapped: list[str]


def tell(
    scenes: Scenes,
    rows: np.ndarray,
    mirrored: np.ndarray,
    teller: Teller,
    swaps: bool,
    rng: np.random.Generator,
) -> Told:
    """Write a random true caption of each scene, and false ones if ``swaps``."""
    told = Told([], [])
    for row, flipped in zip(rows, mirrored, strict=True):
        concept: Concept = scenes.concepts[row]
        if concept.task.axis == "relation" and rng.random() < COLORS_TOLD:
            concept = scenes.colored[row]
        elif flipped:
            concept = teller.mirrored(concept)
        concept = teller.retold(concept, rng)
        if rng.random() < OBJECTS_ONLY:
            told.positives.append(teller.objects_only(concept))
            continue
        style, seed = TRACKS[int(rng.integers(len(TRACKS)))], int(rng.integers(2**32))
        told.positives.append(teller.caption(concept, style, seed))
        if swaps and (other := teller.swapped(concept, rng)):
            told.swapped.append(teller.caption(other, style, seed))
    return told


class Pace:
    """Says how far the work is and how much time is left."""

    def __init__(self, total: int) -> None:
        self._total, self._started = total, time.monotonic()

    def line(self, done: int) -> str:
        """Return steps done, their rate and the minutes left."""
        elapsed = time.monotonic() - self._started
        left = elapsed / done * (self._total - done)
        return f"{done}/{self._total}, {done / elapsed:.2f} steps/s, {left / 60:.1f} min left"


def optimizer_of(groups: Sequence[tuple[Sequence[nn.Parameter], float]]) -> torch.optim.AdamW:
    """Return AdamW on (parameters, peak rate) groups; vectors and scalars do not decay."""
    settings = []
    for parameters, rate in groups:
        for decays in (True, False):
            chosen = [p for p in parameters if (p.ndim > 1) == decays]
            decay = WEIGHT_DECAY if decays else 0.0
            settings.append({"params": chosen, "peak": rate, "weight_decay": decay})
    return torch.optim.AdamW(settings, lr=0.0, betas=(0.9, 0.98))


def schedule(optimizer: torch.optim.Optimizer, step: int, steps: int) -> None:
    """Set the rates of a step (from 1): a warm-up, then a half cosine to 2% of the peak."""
    factor = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - 1) / steps))
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * min(1.0, step / WARM_UP) * factor


class Deck:
    """Deals the scenes in random order, again and again."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size, self._rng, self._cards = size, rng, np.empty(0, np.int64)

    def deal(self, count: int) -> np.ndarray:
        """Return the next ``count`` scenes."""
        while len(self._cards) < count:
            self._cards = np.concatenate([self._cards, self._rng.permutation(self._size)])
        dealt, self._cards = self._cards[:count], self._cards[count:]
        return dealt


def pretrain(
    model: Any, scenes: Scenes, plan: NanoPlan, phase: Phase, seed: int, report: Report
) -> None:
    """Let the image trunk learn to name the noun and the color in each cell."""
    rng = np.random.default_rng([seed, 1])
    trunk, nouns, colors = model.visual.trunk, len(plan.nouns), len(plan.colors)
    head = nn.Conv2d(trunk.num_features, nouns + 1 + colors + 1, 1)
    parameters = [*trunk.parameters(), *head.parameters()]
    optimizer = optimizer_of([(parameters, PRE_RATE * phase.factor)])
    weights = [torch.ones(count + 1) for count in (nouns, colors)]
    for weight in weights:
        weight[-1] = EMPTY_WEIGHT
    deck, pace, right = Deck(len(scenes), rng), Pace(phase.steps), np.zeros(3)
    model.train()
    for step in range(1, phase.steps + 1):
        schedule(optimizer, step, phase.steps)
        rows = deck.deal(phase.batch)
        seen = views(scenes, rows, rng)
        targets = cell_targets(scenes, rows, seen.grid, nouns, colors)
        with torch.autocast("cpu", torch.bfloat16):
            cells = head(trunk.forward_features(seen.images))
        found = cells.float().flatten(2).transpose(1, 2).split([nouns + 1, colors + 1], dim=-1)
        loss = torch.zeros(())
        for logits, target, weight in zip(found, targets, weights, strict=True):
            loss = loss + functional.cross_entropy(
                logits.flatten(0, 1), target.flatten(), weight=weight, ignore_index=UNNAMED
            )
        _descend(optimizer, loss, parameters)
        right += _named_rightly(found, targets, nouns)
        if step % LOG_EVERY == 0 or step == phase.steps:
            noun, color = right[:2] / max(right[2], 1)
            report(
                f"trunk: {pace.line(step)}; loss {float(loss):.3f}, "
                f"cells named: noun {noun:.3f}, color {color:.3f}"
            )
            right[:] = 0


def _named_rightly(
    found: Sequence[Tensor], targets: Sequence[Tensor], nouns: int
) -> np.ndarray:
    """Count the object cells with the right noun, with the right color, and all of them."""
    cells = (targets[0] >= 0) & (targets[0] < nouns)
    hits = [
        float((logits[..., :-1].argmax(-1) == target)[cells].sum())
        for logits, target in zip(found, targets, strict=True)
    ]
    return np.array([*hits, float(cells.sum())])


def _descend(
    optimizer: torch.optim.Optimizer, loss: Tensor, parameters: Sequence[nn.Parameter]
) -> None:
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()


def contrast(
    model: Any,
    tokenizer: Callable[[list[str]], Tensor],
    scenes: Scenes,
    teller: Teller,
    phase: Phase,
    swaps: bool,
    seed: int,
    report: Report,
    checkpoint: Callable[[int], None],
) -> None:
    """Train both encoders contrastively, with swapped captions as negatives if ``swaps``."""
    rng = np.random.default_rng([seed, 3 if swaps else 2])
    trunk = list(model.visual.trunk.parameters())
    known = {id(p) for p in trunk}
    others = [p for p in model.parameters() if id(p) not in known]
    optimizer = optimizer_of(
        [(trunk, TRUNK_RATE * phase.factor), (others, RATE * phase.factor)]
    )
    name = "negclip" if swaps else "clip"
    deck, pace, losses, hits = Deck(len(scenes), rng), Pace(phase.steps), [], []
    model.train()
    for step in range(1, phase.steps + 1):
        schedule(optimizer, step, phase.steps)
        rows = deck.deal(phase.batch)
        seen = views(scenes, rows, rng)
        told = tell(scenes, rows, seen.mirrored, teller, swaps, rng)
        with torch.autocast("cpu", torch.bfloat16):
            images = model.encode_image(seen.images, normalize=True)
            texts = text_features(model, tokenizer([*told.positives, *told.swapped]))
        logits = model.logit_scale.exp() * images.float() @ texts.float().T
        right = torch.arange(len(rows))
        loss = functional.cross_entropy(logits, right)
        loss = (loss + functional.cross_entropy(logits[:, : len(rows)].T, right)) / 2
        _descend(optimizer, loss, [*trunk, *others])
        with torch.no_grad():
            model.logit_scale.clamp_(0, math.log(LARGEST_SCALE))
        losses.append(float(loss))
        hits.append(float((logits.argmax(1) == right).float().mean()))
        if step % LOG_EVERY == 0 or step == phase.steps:
            report(
                f"{name}: {pace.line(step)}; loss {np.mean(losses):.3f}, own caption first "
                f"{np.mean(hits):.3f}, scale {float(model.logit_scale.exp()):.1f}"
            )
            losses, hits = [], []
        if step % SAVE_EVERY == 0 or step == phase.steps:
            checkpoint(step)
