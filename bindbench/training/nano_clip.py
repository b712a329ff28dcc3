"""Training of the contrastive encoders nano:clip and nano:negclip, from nothing.

First the image trunk learns to name the object and the color in each of its cells, from the
renderer's masks. Then image and text encoders learn contrastively (CLIP), with captions in random
clause order: nano:clip. nano:negclip goes on from there with swapped captions as hard negatives
(NegCLIP, Yuksekgonul et al. 2023).
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from torch import Tensor, nn
from torch.nn import functional

from bindbench.models.open_clip_names import find_source
from bindbench.models.open_clip_scorer import load_open_clip
from bindbench.models.open_clip_text import needed_lengths, text_features
from bindbench.training.nano_clip_captions import Narrator, Told
from bindbench.training.nano_clip_data import NanoPlan, held_out_pairs
from bindbench.training.nano_clip_figures import measure
from bindbench.training.nano_clip_images import UNNAMED, Camera, Scenes, Targets, targets_of
from bindbench.training.nano_clip_model import Trunk, new_model, save_weights, write_folder
from bindbench.training.nano_clip_text import Teller
from bindbench.training.validator_data import (
    TRAINING,
    VALIDATION,
    embedded_lexicon,
    load_drawn,
    prepare,
)
from bindbench.vocabulary import Lexicon

Report = Callable[[str], None]
LOG_EVERY = 50  # steps
SAVE_EVERY = 200  # steps
WARM_UP = 50  # steps
WEIGHT_DECAY = 0.05
PRE_RATE, TRUNK_RATE, RATE = 5e-3, 1e-3, 1.5e-3
EMPTY_WEIGHT = 0.15  # of empty cells in pre-training
CELL_WEIGHT = 0.5  # of naming cells beside naming objects
PAIR_WEIGHT = 1.0  # of naming noun and color at once
PAIR_WIDTH = 192
LARGEST_SCALE = 100.0
TRUNK_COLORS = 0.4, 20  # share of objects that are recolored, and to how many colors in a batch
# In contrastive training many images of a batch share colors, so that it takes the color of the
# right object to tell them apart.
BATCH_COLORS = 0.7, 6
BATCH_NOUNS, ALIKE = 12, 0.75  # likewise, nouns of the scenes that are alike, and their share
TELLINGS = 3  # captions of each image in a step: texts are cheap beside images
TEXT_GROUPS = 3  # that captions are sorted into by length, to spare padding


@dataclass(frozen=True)
class Phase:
    """One part of the training."""

    steps: int
    batch: int
    factor: float = 1.0  # of the learning rates


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


class AlikeDeck:
    """Deals batches of which most scenes are made of few nouns, drawn for each batch.

    Scenes of a random batch can be told apart by their nouns alone, and a model that is trained on
    such batches never needs to bind; the more alike they are, the more the rest counts.
    """

    def __init__(self, scenes: Scenes, nouns: int, rng: np.random.Generator) -> None:
        self._holds = np.zeros((len(scenes), nouns), np.float32)
        for row, held in zip(self._holds, scenes.nouns, strict=True):
            row[held[held != UNNAMED]] = 1
        self._rest, self._rng = Deck(len(scenes), rng), rng

    def deal(self, count: int) -> np.ndarray:
        """Return ``count`` scenes, those that are alike all distinct."""
        few = np.zeros(self._holds.shape[1], np.float32)
        few[self._rng.choice(len(few), min(BATCH_NOUNS, len(few)), replace=False)] = 1
        share = self._holds @ few / self._holds.sum(1)
        alike = min(round(ALIKE * count), len(share))
        chosen = np.argsort(-share - 0.1 * self._rng.random(len(share)))[:alike]
        return np.concatenate([chosen, self._rest.deal(count - alike)])


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


class Naming(nn.Module):
    """Names cells and objects by noun and color, and objects by both at once.

    The score of a noun with a color is the features' product with noun embedding * color
    embedding: features that serve it bind the two, and pairs never seen are scored as well.
    """

    def __init__(self, features: int, plan: NanoPlan) -> None:
        super().__init__()
        self.counts = len(plan.nouns), len(plan.colors)
        # One more output each, for empty cells.
        self.words = nn.ModuleList(nn.Linear(features, count + 1) for count in self.counts)
        self.bound = nn.Linear(features, PAIR_WIDTH)
        self.embeddings = nn.ParameterList(
            nn.Parameter(torch.randn(count, PAIR_WIDTH)) for count in self.counts
        )
        held = held_out_pairs(plan.lexicon)
        pairs = [(noun, color) in held for noun in plan.nouns for color in plan.colors]
        self.register_buffer("held_out", torch.tensor(pairs))

    def loss(self, cells: Tensor, targets: Targets) -> tuple[Tensor, np.ndarray]:
        """Return the loss, and how many objects got the right noun, color, both, and there are.

        An object is named by the mean of the cells, each weighted by how much of it the object
        fills. Pairs that are held out are neither right nor wrong.

        Args:
            cells: features, float32 (B, cells, D).
            targets: what is right.
        """
        weights = targets.cover / targets.cover.sum(1, keepdim=True).clamp(min=1e-6)
        objects = (weights.transpose(1, 2) @ cells).flatten(0, 1)
        there = targets.objects[0].flatten() != UNNAMED
        loss, hits = torch.zeros(()), []
        for k, count in enumerate(self.counts):
            by_class = torch.ones(count + 1)
            by_class[-1] = EMPTY_WEIGHT
            cell_logits = self.words[k](cells).flatten(0, 1)
            loss = loss + CELL_WEIGHT * functional.cross_entropy(
                cell_logits, targets.cells[k].flatten(), by_class, ignore_index=UNNAMED
            )
            logits, names = self.words[k](objects[there]), targets.objects[k].flatten()[there]
            loss = loss + functional.cross_entropy(logits, names)
            hits.append((logits[:, :-1].argmax(-1) == names).sum().item())
        nouns, colors = (names.flatten()[there] for names in targets.objects)
        codes = self.embeddings[0][:, None] * self.embeddings[1][None]
        pairs = self.bound(objects[there]) @ codes.flatten(0, 1).T / math.sqrt(PAIR_WIDTH)
        pairs = pairs.masked_fill(self.held_out, -torch.inf)
        names = nouns * self.counts[1] + colors
        loss = loss + PAIR_WEIGHT * functional.cross_entropy(pairs, names)
        hits.append((pairs.argmax(-1) == names).sum().item())
        return loss, np.array([*hits, there.sum().item()], dtype=float)


def pretrain(
    model: Any, scenes: Scenes, plan: NanoPlan, phase: Phase, seed: int, report: Report
) -> None:
    """Let the image trunk learn to name the noun and the color of each cell and each object."""
    rng = np.random.default_rng([seed, 1])
    trunk = Trunk(model.visual)
    naming, camera = Naming(Trunk.features, plan), Camera(scenes, plan, *TRUNK_COLORS)
    parameters = [*trunk.parameters(), *naming.parameters()]
    optimizer = optimizer_of([(parameters, PRE_RATE * phase.factor)])
    deck, pace, right = Deck(len(scenes), rng), Pace(phase.steps), np.zeros(4)
    model.train()
    for step in range(1, phase.steps + 1):
        schedule(optimizer, step, phase.steps)
        rows = deck.deal(phase.batch)
        seen = camera.views(rows, rng)
        targets = targets_of(scenes, seen, *naming.counts)
        with torch.autocast("cpu", torch.bfloat16):
            features = trunk(seen.images)
        loss, hits = naming.loss(features.float().flatten(2).transpose(1, 2), targets)
        _descend(optimizer, loss, parameters)
        right += hits
        if step % LOG_EVERY == 0 or step == phase.steps:
            noun, color, both = right[:3] / max(right[3], 1)
            report(
                f"trunk: {pace.line(step)}; loss {loss.item():.3f}, objects named: "
                f"noun {noun:.3f}, color {color:.3f}, both {both:.3f}"
            )
            right[:] = 0


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
    plan: NanoPlan,
    phase: Phase,
    swaps: bool,
    seed: int,
    report: Report,
    checkpoint: Callable[[int], None],
) -> None:
    """Train both encoders contrastively, with swapped captions as negatives if ``swaps``."""
    rng = np.random.default_rng([seed, 3 if swaps else 2])
    trunk = list(Trunk(model.visual).parameters())
    known = {id(p) for p in trunk}
    others = [p for p in model.parameters() if id(p) not in known]
    optimizer = optimizer_of([(trunk, TRUNK_RATE * phase.factor), (others, RATE * phase.factor)])
    camera, narrator = (
        Camera(scenes, plan, *BATCH_COLORS),
        Narrator(scenes, plan, Teller(plan.lexicon)),
    )
    name = "negclip" if swaps else "clip"
    deck, pace, losses, hits = AlikeDeck(scenes, len(plan.nouns), rng), Pace(phase.steps), [], []
    model.train()
    for step in range(1, phase.steps + 1):
        schedule(optimizer, step, phase.steps)
        rows = deck.deal(phase.batch)
        seen = camera.views(rows, rng)
        told = [narrator.tell(seen, swaps, rng) for _ in range(TELLINGS)]
        with torch.autocast("cpu", torch.bfloat16):
            images = model.encode_image(seen.images, normalize=True)
            texts = [_embedded(model, tokenizer, each) for each in told]
        scaled = model.logit_scale.exp() * images.float()
        loss, hit = _contrastive_loss([scaled @ each.float().T for each in texts], told)
        _descend(optimizer, loss, [*trunk, *others])
        with torch.no_grad():
            model.logit_scale.clamp_(0, math.log(LARGEST_SCALE))
        losses.append(loss.item())
        hits.append(hit)
        if step % LOG_EVERY == 0 or step == phase.steps:
            report(
                f"{name}: {pace.line(step)}; loss {np.mean(losses):.3f}, own caption first "
                f"{np.mean(hits):.3f}, scale {model.logit_scale.exp().item():.1f}"
            )
            losses, hits = [], []
        if step % SAVE_EVERY == 0 or step == phase.steps:
            checkpoint(step)


def _embedded(model: Any, tokenizer: Callable[[list[str]], Tensor], told: Told) -> Tensor:
    """Return the embeddings of the positives, then of the swapped captions."""
    tokens = tokenizer([*told.positives, *told.swapped])
    order = needed_lengths(model, tokens).argsort(stable=True)
    groups = [text_features(model, tokens[part]) for part in order.chunk(TEXT_GROUPS)]
    return torch.cat(groups)[order.argsort(stable=True)]


def _contrastive_loss(tellings: Sequence[Tensor], told: Sequence[Told]) -> tuple[Tensor, float]:
    """Return the symmetric loss (CLIP) and how often an image's own caption is first.

    A caption that happens to be true of another image of the batch is no negative of it.

    Args:
        tellings: similarities (B, B or more), one for each telling; the first B columns are the
            images' own captions, in their order, the others are true of no image.
        told: the tellings.
    """
    losses, hits = [], []
    for logits, captions in zip(tellings, told, strict=True):
        right, count = torch.arange(len(logits)), len(logits)
        also_true = captions.true.T & ~torch.eye(count, dtype=torch.bool)
        blocked = torch.zeros_like(logits, dtype=torch.bool)
        blocked[:, :count] = also_true
        logits = logits.masked_fill(blocked, -torch.inf)
        by_image = functional.cross_entropy(logits, right)
        by_text = functional.cross_entropy(logits[:, :count].T, right)
        losses.append((by_image + by_text) / 2)
        hits.append((logits.argmax(1) == right).float().mean().item())
    return torch.stack(losses).mean(), float(np.mean(hits))


@dataclass(frozen=True)
class Recipe:
    """How long each part of the training is."""

    trunk: Phase = Phase(1400, 64)
    clip: Phase = Phase(1000, 160)
    negclip: Phase = Phase(300, 160, 0.5)

    def shortened(self, steps: int) -> "Recipe":
        """Return the recipe with this many contrastive steps, and the other parts in proportion."""
        factor = steps / self.clip.steps

        def scaled(phase: Phase) -> Phase:
            return replace(phase, steps=max(1, round(phase.steps * factor)))

        return Recipe(scaled(self.trunk), scaled(self.clip), scaled(self.negclip))


def train_nano_clip(
    out: Path,
    *,
    cache: Path,
    lexicon: Lexicon | None = None,
    seed: int = 0,
    scenes: int = 7000,
    development: int = 600,
    recipe: Recipe | None = None,
    workers: int = 2,
    report: Report = print,
) -> None:
    """Rebuild nano:clip and nano:negclip from nothing.

    The weights follow from the arguments (``workers`` and ``cache`` aside) and from the versions
    of the libraries and the processor's instruction set, whose rounding differs. Rendering
    resumes: scenes already in ``cache`` are not drawn again.

    Args:
        out: folder for the folders ``nano-clip`` and ``nano-negclip``; weights are written there
            every 200 steps.
        cache: folder for the rendered scenes.
        lexicon: the words to learn; None: those of the embedded suite.
        seed: seed of the scenes, of the first weights and of the order of things.
        scenes: number of training scenes.
        development: number of scenes of unseen pairs that progress is measured on; 0: none.
        recipe: the steps of each part.
        workers: processes that render.
        report: takes one line of progress.

    Raises:
        UserError: a noun without a mesh, or a folder that can't be written.
    """
    recipe = recipe or Recipe()
    plan = NanoPlan(lexicon or embedded_lexicon(), seed)
    folders = {name: out / f"nano-{name}" for name in ("clip", "negclip")}
    for folder in folders.values():
        write_folder(folder, plan.lexicon)
    prepare(plan, TRAINING, scenes, cache, workers, report)
    prepare(plan, VALIDATION, development, cache, workers, report)
    specs = [plan.spec(TRAINING, i) for i in range(scenes)]
    data = Scenes.of(plan, load_drawn(plan, TRAINING, scenes, cache), specs)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two threads beside another busy process are far slower
    try:
        _train(folders, data, plan, recipe, seed, report, (development, cache))
    finally:
        torch.set_num_threads(threads)


def _train(
    folders: dict[str, Path],
    data: Scenes,
    plan: NanoPlan,
    recipe: Recipe,
    seed: int,
    report: Report,
    development: tuple[int, Path],
) -> None:
    torch.manual_seed(seed)
    model = new_model(folders["clip"])
    tokenizer = open_clip.get_tokenizer(f"local-dir:{folders['clip']}")
    pretrain(model, data, plan, recipe.trunk, seed, report)
    for name, phase in (("clip", recipe.clip), ("negclip", recipe.negclip)):
        folder = folders[name]

        def checkpoint(_step: int, folder: Path = folder) -> None:
            save_weights(model, folder)

        swaps = name == "negclip"
        contrast(model, tokenizer, data, plan, phase, swaps, seed, report, checkpoint)
        save_scenes(data, plan, folder)
        _report_figures(name, folder, plan, development, report)


def _report_figures(
    name: str, folder: Path, plan: NanoPlan, development: tuple[int, Path], report: Report
) -> None:
    """Measure the shipped form of a model, in half precision on disk, on the development split."""
    scenes, cache = development
    if not scenes:
        return
    scorer = load_open_clip(f"nano:{name}", find_source(str(folder)), "float32", "cpu")
    for figure in measure(scorer, plan, VALIDATION, scenes, cache):
        report(
            f"{name}: {figure.name}: {100 * figure.share:.1f}% of {figure.items} "
            f"({100 * figure.low:.0f}-{100 * figure.high:.0f}%; chance {100 * figure.chance:.1f}%)"
        )


def save_scenes(data: Scenes, plan: NanoPlan, folder: Path) -> None:
    """Write the ids of all scenes that were rendered for training, as sorted 64-bit numbers."""
    told = [data.said(row, data.colors[row], plan) for row in range(len(data))]
    scenes = {concept.scene_id(plan.lexicon) for concept in (*data.concepts, *told)}
    ids = np.array(sorted(int(scene, 16) for scene in scenes), np.uint64)
    np.save(folder / "training_scenes.npy", ids, allow_pickle=False)


def trained_scenes(folder: Path) -> frozenset[str]:
    """Return the canonical ids of the scenes that a model was trained on."""
    ids = np.load(folder / "training_scenes.npy", allow_pickle=False)
    return frozenset(f"{int(scene):016x}" for scene in ids)
