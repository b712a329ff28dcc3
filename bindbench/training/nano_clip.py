"""Training of the contrastive encoders nano:clip and nano:negclip, from nothing.

First the image trunk learns to name the object and the color in each of its cells, from the
renderer's masks. Then image and text encoders learn contrastively (CLIP), with captions in random
clause order: nano:clip. nano:negclip goes on from there with swapped captions as hard negatives
(NegCLIP, Yuksekgonul et al. 2023).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
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
from bindbench.training.nano_clip_album import Album
from bindbench.training.nano_clip_captions import Narrator, Told
from bindbench.training.nano_clip_codes import Codes
from bindbench.training.nano_clip_data import NanoPlan
from bindbench.training.nano_clip_figures import measure
from bindbench.training.nano_clip_images import UNNAMED, Camera, Scenes, Targets, targets_of
from bindbench.training.nano_clip_model import (
    Trunk,
    new_model,
    save_weights,
    write_folder,
)
from bindbench.training.nano_clip_text import Teller
from bindbench.training.nano_clip_words import Words, text_and_words
from bindbench.training.steps import Deck, Pace, Phase, Report, optimizer_of, schedule
from bindbench.training.trained_scenes import save_scenes
from bindbench.training.validator_data import (
    TRAINING,
    VALIDATION,
    embedded_lexicon,
    load_drawn,
    prepare,
)
from bindbench.vocabulary import Lexicon

LOG_EVERY = 50  # steps
TRUNK, NAMING = Phase(2000, 64), Phase(500, 256)
CLIP, NEGCLIP = Phase(800, 256), Phase(300, 256, 0.5)
TRUNK_RATE, POOL_RATE, NAMING_RATE, RATE = 5e-3, 1e-3, 1.5e-3, 1e-3
EMPTY_WEIGHT = 0.15  # of empty cells
CELL_WEIGHT = 0.5  # of naming cells beside naming objects
PAIRS_WEIGHT = 1.0  # of naming whole images
BOUND_WEIGHT = 2.0  # of naming objects by noun and color at once
LARGEST_SCALE = 100.0
TEXT_GROUPS = 3  # that captions are sorted into by length, to spare padding
COLORS = 0.6, 20  # share of objects that are recolored, and to how many colors in a batch


class Naming(nn.Module):
    """Names cells and objects by noun and by color, and images by all their pairs."""

    def __init__(self, features: int, plan: NanoPlan) -> None:
        super().__init__()
        self.counts = len(plan.nouns), len(plan.colors)
        # One more output each, for empty cells.
        self.words = nn.ModuleList(nn.Linear(features, count + 1) for count in self.counts)

    def loss(self, cells: Tensor, targets: Targets) -> tuple[Tensor, np.ndarray]:
        """Return the loss, and how many objects got the right noun, the right color, and there are.

        An object is named by the mean of the cells, each weighted by how much of it the object
        fills.

        Args:
            cells: features, float32 (B, cells, D).
            targets: what is right.
        """
        objects, there = objects_of(cells, targets), targets.objects[0].flatten() != UNNAMED
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
        return loss, np.array([*hits, there.sum().item()], dtype=float)


def objects_of(cells: Tensor, targets: Targets) -> Tensor:
    """Return each object's mean feature, each cell weighted by how much of it the object fills.

    Args:
        cells: features, float32 (B, cells, D).
        targets: where the objects are.

    Returns:
        float32 (B * MAX_OBJECTS, D); zeros for objects that are not there.
    """
    weights = targets.cover / targets.cover.sum(1, keepdim=True).clamp(min=1e-6)
    return (weights.transpose(1, 2) @ cells).flatten(0, 1)


def pretrain(
    model: Any, scenes: Scenes, plan: NanoPlan, phase: Phase, seed: int, report: Report
) -> None:
    """Let the image encoder learn to name what each cell, each object and each image shows."""
    rng = np.random.default_rng([seed, 1])
    trunk = Trunk(model.visual)
    naming, codes = Naming(Trunk.features, plan), Codes(plan)
    camera = Camera(scenes, plan, *COLORS)
    narrator = Narrator(scenes, plan, Teller(plan.lexicon))
    pool = model.visual.attnpool
    optimizer = optimizer_of(
        [
            ([*trunk.parameters(), *naming.parameters()], TRUNK_RATE * phase.factor),
            ([*pool.parameters()], POOL_RATE * phase.factor),
        ]
    )
    deck, pace, right, all_named = Deck(len(scenes), rng), Pace(phase.steps), np.zeros(3), []
    model.train()
    for step in range(1, phase.steps + 1):
        schedule(optimizer, step, phase.steps)
        rows = deck.deal(phase.batch)
        seen = camera.views(rows, rng)
        targets = targets_of(scenes, seen, *naming.counts)
        with torch.autocast("cpu", torch.bfloat16):
            features = trunk(seen.images)
            pooled = pool(features)
        cells = features.float().flatten(2).transpose(1, 2)
        loss, hits = naming.loss(cells, targets)
        # What the pooling would make of each object alone: so the values that it sums learn to
        # bind noun and color before the sum has to.
        there = targets.objects[0].flatten() != UNNAMED
        values = pool.c_proj(pool.v_proj(objects_of(cells, targets)[there]))
        nouns, colors = (names.flatten()[there] for names in targets.objects)
        names = nouns * (len(plan.colors) + 1) + colors + 1
        object_loss, bound = codes.bound_loss(values, names)
        loss = loss + BOUND_WEIGHT * object_loss
        embeddings = functional.normalize(pooled.float(), dim=-1)
        pair_loss, named = codes.loss(embeddings, torch.from_numpy(narrator.holds(seen.shown)))
        _descend(optimizer, loss + PAIRS_WEIGHT * pair_loss)
        right += hits
        all_named.append((bound, named))
        if step % LOG_EVERY == 0 or step == phase.steps:
            noun, color = right[:2] / max(right[2], 1)
            both, whole = np.mean(all_named, axis=0)
            report(
                f"images: {pace.line(step)}; loss {loss.item():.3f} and {pair_loss.item():.3f}, "
                f"named rightly: nouns {noun:.3f}, colors {color:.3f}, both {both:.3f}, whole "
                f"images {whole:.3f}"
            )
            right[:], all_named = 0, []


def _descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()


def name(
    model: Any,
    tokenizer: Callable[[list[str]], Tensor],
    album: Album,
    narrator: Narrator,
    phase: Phase,
    seed: int,
    report: Report,
) -> None:
    """Let both encoders learn to name the nouns, and the nouns with colors, of image and caption.

    Of the image encoder the pooling alone learns: the trunk stays as it is from here on. The text
    encoder learns to bind at each noun before it has to at the end.
    """
    rng, words = np.random.default_rng([seed, 2]), Words(tokenizer, narrator.plan)
    codes, optimizer = Codes(narrator.plan), _optimizer_of_both(model, phase, NAMING_RATE)
    pace, losses, all_named = Pace(phase.steps), [], []
    for step in range(1, phase.steps + 1):
        schedule(optimizer, step, phase.steps)
        shown, features = album.deal(phase.batch)
        told = narrator.tell(shown, False, rng)
        tokens = tokenizer(told.positives)
        with torch.autocast("cpu", torch.bfloat16):
            images = _pooled(model, features)
            texts, states = text_and_words(model, tokens)
        by_image, image_named = codes.loss(images, torch.from_numpy(narrator.holds(shown)))
        by_text, text_named = codes.loss(texts.float(), told.claims)
        rows, positions, names = words.find(tokens, told.claims)
        by_word, word_named = codes.bound_loss(states[rows, positions].float(), names)
        _descend(optimizer, by_image + by_text + by_word)
        losses.append((by_image.item(), by_text.item()))
        all_named.append((image_named, text_named, word_named))
        if step % LOG_EVERY == 0 or step == phase.steps:
            (image, text), right = np.mean(losses, axis=0), np.mean(all_named, axis=0)
            report(
                f"naming: {pace.line(step)}; loss {image:.3f} and {text:.3f}, named rightly: "
                f"whole images {right[0]:.3f}, whole captions {right[1]:.3f}, words {right[2]:.3f}"
            )
            losses, all_named = [], []


def contrast(
    model: Any,
    tokenizer: Callable[[list[str]], Tensor],
    album: Album,
    narrator: Narrator,
    phase: Phase,
    swaps: bool,
    seed: int,
    report: Report,
) -> None:
    """Train both encoders contrastively, with swapped captions as negatives if ``swaps``."""
    rng = np.random.default_rng([seed, 4 if swaps else 3])
    optimizer = _optimizer_of_both(model, phase, RATE)
    name, pace, losses, hits = "negclip" if swaps else "clip", Pace(phase.steps), [], []
    for step in range(1, phase.steps + 1):
        schedule(optimizer, step, phase.steps)
        shown, features = album.deal_alike(phase.batch)
        told = narrator.tell(shown, swaps, rng)
        images, texts = _embedded(model, tokenizer, features, told)
        loss, hit = _contrastive_loss(model.logit_scale.exp() * images @ texts.T, told)
        _descend(optimizer, loss)
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


def _optimizer_of_both(model: Any, phase: Phase, rate: float) -> torch.optim.AdamW:
    parameters = [*model.visual.attnpool.parameters(), *model.text.parameters(), model.logit_scale]
    return optimizer_of([(parameters, rate * phase.factor)])


def _embedded(
    model: Any, tokenizer: Callable[[list[str]], Tensor], features: Tensor, told: Told
) -> tuple[Tensor, Tensor]:
    """Return the embeddings of images, and of the positives followed by the swapped captions."""
    tokens = tokenizer([*told.positives, *told.swapped])
    order = needed_lengths(model, tokens).argsort(stable=True)
    with torch.autocast("cpu", torch.bfloat16):
        images = _pooled(model, features)
        groups = [text_features(model, tokens[part]) for part in order.chunk(TEXT_GROUPS)]
    return images, torch.cat(groups)[order.argsort(stable=True)].float()


def _pooled(model: Any, features: Tensor) -> Tensor:
    return functional.normalize(model.visual.attnpool(features).float(), dim=-1)


def _contrastive_loss(logits: Tensor, told: Told) -> tuple[Tensor, float]:
    """Return the symmetric loss (CLIP) and how often an image's own caption is first.

    A caption that happens to be true of another image of the batch is no negative of it.

    Args:
        logits: similarities (B, B or more); the first B columns are the images' own captions, in
            their order, the others are true of no image.
        told: the captions.
    """
    count = len(logits)
    right = torch.arange(count)
    blocked = torch.zeros_like(logits, dtype=torch.bool)
    blocked[:, :count] = told.true.T & ~torch.eye(count, dtype=torch.bool)
    logits = logits.masked_fill(blocked, -torch.inf)
    by_image = functional.cross_entropy(logits, right)
    by_text = functional.cross_entropy(logits[:, :count].T, right)
    return (by_image + by_text) / 2, (logits.argmax(1) == right).float().mean().item()


@dataclass(frozen=True)
class Recipe:
    """How long each part of the training is."""

    trunk: Phase = TRUNK
    naming: Phase = NAMING
    clip: Phase = CLIP
    negclip: Phase = NEGCLIP

    def shortened(self, steps: int) -> "Recipe":
        """Return the recipe with this many contrastive steps, and the other parts in proportion."""
        factor = steps / self.clip.steps

        def scaled(phase: Phase) -> Phase:
            return replace(phase, steps=max(1, round(phase.steps * factor)))

        return Recipe(*(scaled(getattr(self, field.name)) for field in fields(self)))


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
        out: folder for the folders ``nano-clip`` and ``nano-negclip``.
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
    album = Album(Trunk(model.visual), data, plan, COLORS, np.random.default_rng([seed, 5]))
    narrator = Narrator(data, plan, Teller(plan.lexicon))
    name(model, tokenizer, album, narrator, recipe.naming, seed, report)
    for kind, phase in (("clip", recipe.clip), ("negclip", recipe.negclip)):
        contrast(model, tokenizer, album, narrator, phase, kind == "negclip", seed, report)
        save_weights(model, folders[kind])
        save_scenes(data, plan, folders[kind])
        _report_figures(kind, folders[kind], plan, development, report)


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
