"""Training of the generative models nano:vlm and nano:vlm-small, from nothing.

First the image trunk learns from the renderer's masks to name, in each of its cells, the object,
its color and its place; the image tokens made of it learn to look like the words for these. Then
the decoder learns captions, answers and claims, many behind each image, and the trunk goes on.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bindbench.training.nano_clip_data import NanoPlan
from bindbench.training.nano_clip_images import UNNAMED, Camera, Scenes
from bindbench.training.nano_vlm_figures import answers, rows_of
from bindbench.training.nano_vlm_images import (
    AREAS,
    PLACES,
    Boxes,
    CellTargets,
    cell_targets,
    sights_of,
)
from bindbench.training.nano_vlm_model import (
    CELLS,
    CHANNELS,
    IMAGE_TOKENS,
    Shape,
    features_of,
    image_tokens,
    new_model,
    packed_logits,
    save_weights,
    write_folder,
)
from bindbench.training.nano_vlm_packing import IGNORED, Packer
from bindbench.training.nano_vlm_questions import Asker, content_words
from bindbench.training.nano_vlm_rows import RowPlan
from bindbench.training.nano_vlm_text import joined, new_tokenizer, nouns_of
from bindbench.training.steps import Deck, Pace, Phase, Report, optimizer_of, schedule
from bindbench.training.trained_scenes import save_scenes
from bindbench.training.validator_augment import MAX_OBJECTS
from bindbench.training.validator_data import (
    TRAINING,
    VALIDATION,
    embedded_lexicon,
    load_drawn,
    prepare,
)
from bindbench.vocabulary import Lexicon

LOG_EVERY = 50  # steps
SAVE_EVERY = 200  # steps
TRUNK_RATE, WORD_RATE = 3e-3, 2e-3  # while the trunk learns to name
LATER_TRUNK_RATE, RATE = 6e-4, 1.7e-3  # while the decoder learns
EMPTY_WEIGHT = 0.15  # of empty cells
NAMING, ALIGNING, PLACING = 1.0, 1.0, 0.5  # weights of the losses while the trunk learns
LATER_NAMING, LATER_ALIGNING = 0.15, 0.5  # and while the decoder learns
IMAGES, TEXTS, SMALL = Phase(1200, 64), Phase(2400, 32), Phase(1200, 32)
SIZES_REPEATED = 3
RECOLORED = (0.5, 20)  # share of objects, and number of colors in a batch


@dataclass(frozen=True)
class Recipe:
    """How long each part of the training is; the small model has its own share."""

    images: Phase = IMAGES
    texts: Phase = TEXTS
    small: Phase = SMALL

    def shortened(self, steps: int) -> "Recipe":
        """Return the recipe with this many steps of texts, and the other parts in proportion."""
        factor = steps / self.texts.steps

        def scaled(phase: Phase) -> Phase:
            return replace(phase, steps=max(1, round(phase.steps * factor)))

        return Recipe(*(scaled(getattr(self, field.name)) for field in fields(self)))


SHAPES = {"vlm": Shape(), "vlm-small": Shape(width=64, layers=2)}


class Naming(nn.Module):
    """Says, for training only, what each cell shows: object, color, place, its own coordinates."""

    def __init__(self, features: int, plan: NanoPlan) -> None:
        super().__init__()
        sizes = {
            "nouns": len(plan.nouns) + 1,  # one more, for empty cells
            "colors": len(plan.colors) + 1,
            "rows": CELLS,
            "columns": CELLS,
            "left": MAX_OBJECTS,
            "right": MAX_OBJECTS,
            "areas": len(AREAS) + 1,
            **{name: len(words) for name, words in PLACES.items()},
        }
        self.heads = nn.ModuleDict({k: nn.Linear(features, size) for k, size in sizes.items()})

    def loss(self, features: Tensor, targets: CellTargets) -> tuple[Tensor, np.ndarray]:
        """Return the loss, and how many objects' cells got the right noun, the color, and all."""
        own = torch.arange(CELLS * CELLS).expand(len(features), -1)
        wanted = {
            "nouns": targets.nouns,
            "colors": targets.colors,
            "rows": own // CELLS,
            "columns": own % CELLS,
            "left": targets.ranks[0],
            "right": targets.ranks[1],
            "areas": targets.areas,
            **targets.places,
        }
        loss, hits = torch.zeros(()), []
        for name, target in wanted.items():
            logits, target = self.heads[name](features).flatten(0, 1), target.flatten()
            weights = torch.ones(logits.shape[1])
            if name in ("nouns", "colors"):
                weights[-1] = EMPTY_WEIGHT
                there = (target != UNNAMED) & (target != logits.shape[1] - 1)
                hits.append((logits[there][:, :-1].argmax(-1) == target[there]).sum().item())
                hits.append(there.sum().item())
            part = _cross_entropy(logits, target, weights)
            loss = loss + (1.0 if name in ("nouns", "colors") else PLACING) * part
        return loss, np.array([hits[0], hits[2], max(hits[1], 1)], dtype=float)


def _cross_entropy(logits: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
    """The mean over what is asked for; zero where nothing is."""
    if not (target != UNNAMED).any():
        return logits.sum() * 0
    return functional.cross_entropy(logits, target, weights, ignore_index=UNNAMED)


class Aligning:
    """Makes image tokens look like the words for what their cells show."""

    def __init__(self, plan: NanoPlan, vocabulary: dict[str, int]) -> None:
        def ids(words: Sequence[str]) -> Tensor:
            return torch.tensor([vocabulary[joined(word)] for word in words])

        self._nouns, self._colors = ids(plan.nouns), ids(plan.colors)
        self._places = {name: ids(words) for name, words in PLACES.items()}

    def loss(self, tokens: Tensor, targets: CellTargets, embeddings: Tensor) -> Tensor:
        """Return the loss of image tokens (B, P, W)."""
        loss = torch.zeros(())
        wanted = [(self._nouns, targets.nouns, 1.0), (self._colors, targets.colors, 1.0)]
        wanted += [(ids, targets.places[name], 0.5) for name, ids in self._places.items()]
        for ids, target, weight in wanted:
            target = target.masked_fill(target >= len(ids), UNNAMED)
            there = target != UNNAMED
            loss = loss + weight * _cross_entropy(tokens[there] @ embeddings[ids].T, target[there])
        return loss


@dataclass(frozen=True)
class School:
    """All that both models learn from."""

    plan: NanoPlan
    scenes: Scenes
    boxes: Boxes
    tokenizer: Any
    seed: int
    report: Report

    def packer(self) -> Packer:
        """Return what packs texts."""
        return Packer(self.tokenizer, content_words(self.plan.lexicon), IMAGE_TOKENS)

    def sizes_often(self) -> np.ndarray:
        """Return the scenes, those about sizes several times: few others are clear in size."""
        about_sizes = [c.task.label_role == "sizes" for c in self.scenes.concepts]
        return np.repeat(np.arange(len(self.scenes)), np.where(about_sizes, SIZES_REPEATED, 1))

    def camera(self) -> Camera:
        """Return what makes views of the scenes."""
        return Camera(self.scenes, self.plan, *RECOLORED)


def _descend(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    for group in optimizer.param_groups:
        nn.utils.clip_grad_norm_(group["params"], 1.0)
    optimizer.step()


def see(model: Any, naming: Naming, school: School, phase: Phase) -> None:
    """Let trunk, projector and word embeddings learn to name what each cell shows."""
    rng = np.random.default_rng([school.seed, 0x5EE])
    trunk = model.model.vision_tower
    embeddings = model.get_input_embeddings().weight
    words = [*model.model.multi_modal_projector.parameters(), embeddings]
    optimizer = optimizer_of(
        [
            ([*trunk.parameters(), *naming.parameters()], TRUNK_RATE * phase.factor),
            (words, WORD_RATE * phase.factor),
        ]
    )
    aligning, camera = Aligning(school.plan, school.tokenizer.get_vocab()), school.camera()
    deck, pace, right = Deck(len(school.scenes), rng), Pace(phase.steps), np.zeros(3)
    model.train()
    for step in range(1, phase.steps + 1):
        schedule(optimizer, step, phase.steps)
        seen = camera.views(deck.deal(phase.batch), rng)
        sights = sights_of(school.scenes, school.boxes, seen, school.plan)
        targets = cell_targets(school.scenes, seen, sights, school.plan)
        with torch.autocast("cpu", torch.bfloat16):
            features = features_of(model, seen.images)
            tokens = image_tokens(model, features)
        named, hits = naming.loss(features.float(), targets)
        aligned = aligning.loss(tokens.float(), targets, embeddings)
        _descend(optimizer, NAMING * named + ALIGNING * aligned)
        right += hits
        if step % LOG_EVERY == 0 or step == phase.steps:
            noun, color = right[:2] / right[2]
            school.report(
                f"images: {pace.line(step)}; loss {named.item():.3f} and {aligned.item():.3f}, "
                f"cells named rightly: nouns {noun:.3f}, colors {color:.3f}"
            )
            right[:] = 0


def talk(
    model: Any,
    naming: Naming,
    school: School,
    phase: Phase,
    save: Callable[[], None],
    progress: Callable[[], str],
) -> None:
    """Let the whole model learn to caption, to answer and to judge claims."""
    rng = np.random.default_rng([school.seed, 0x7A1C])
    trunk = [*model.model.vision_tower.parameters(), *naming.parameters()]
    apart = {id(parameter) for parameter in trunk}
    rest = [parameter for parameter in model.parameters() if id(parameter) not in apart]
    optimizer = optimizer_of(
        [(trunk, LATER_TRUNK_RATE * phase.factor), (rest, RATE * phase.factor)]
    )
    vocabulary = school.tokenizer.get_vocab()
    aligning, camera, packer = Aligning(school.plan, vocabulary), school.camera(), school.packer()
    asker = Asker(school.plan.lexicon, nouns_of(school.plan.lexicon))
    often, pace, losses = school.sizes_often(), Pace(phase.steps), []
    deck = Deck(len(often), rng)
    model.train()
    for step in range(1, phase.steps + 1):
        schedule(optimizer, step, phase.steps)
        seen = camera.views(often[deck.deal(phase.batch)], rng)
        sights = sights_of(school.scenes, school.boxes, seen, school.plan)
        targets = cell_targets(school.scenes, seen, sights, school.plan)
        packed = packer.pack([asker.ask(s, rng) if s else [] for s in sights])
        with torch.autocast("cpu", torch.bfloat16):
            features = features_of(model, seen.images)
            tokens = image_tokens(model, features)
            logits = packed_logits(model, tokens, packed)
        asked = packed.labels != IGNORED
        each = functional.cross_entropy(
            logits[asked].float(), packed.labels[asked], reduction="none"
        )
        said = (each * packed.weights[asked]).sum() / packed.weights[asked].sum().clamp(min=1)
        named, _ = naming.loss(features.float(), targets)
        aligned = aligning.loss(tokens.float(), targets, model.get_input_embeddings().weight)
        _descend(optimizer, said + LATER_NAMING * named + LATER_ALIGNING * aligned)
        losses.append([said.item(), named.item(), aligned.item()])
        if step % LOG_EVERY == 0 or step == phase.steps:
            words, cells, likeness = np.mean(losses, 0)
            school.report(
                f"texts: {pace.line(step)}; loss {words:.3f}, of cells {cells:.3f} and "
                f"{likeness:.3f}"
            )
            losses = []
        if step % SAVE_EVERY == 0 or step == phase.steps:
            save()
            school.report(progress())


def train_nano_vlm(
    out: Path,
    *,
    cache: Path,
    lexicon: Lexicon | None = None,
    seed: int = 0,
    scenes: int = 7000,
    rows: int = 2000,
    development: tuple[int, int] = (240, 120),
    recipe: Recipe | None = None,
    workers: int = 2,
    report: Report = print,
) -> None:
    """Rebuild nano:vlm and nano:vlm-small from nothing.

    The weights follow from the arguments (``workers`` and ``cache`` aside) and from the versions
    of the libraries and the processor's instruction set, whose rounding differs. Rendering
    resumes: scenes already in ``cache`` are not drawn again; nano:clip's are the same.

    Args:
        out: folder for the folders ``nano-vlm`` and ``nano-vlm-small``; weights are written there
            every 200 steps.
        cache: folder for the rendered scenes.
        lexicon: the words to learn; None: those of the embedded suite.
        seed: seed of the scenes, of the first weights and of the order of things.
        scenes: number of training scenes of distinct objects.
        rows: number of training scenes of like objects.
        development: scenes and rows of unseen pairs that progress is measured on; 0: none.
        recipe: the steps of each part.
        workers: processes that render.
        report: takes one line of progress.

    Raises:
        UserError: a noun without a mesh, or a folder that can't be written.
    """
    recipe = recipe or Recipe()
    lexicon = lexicon or embedded_lexicon()
    plan, row_plan = NanoPlan(lexicon, seed), RowPlan(lexicon, seed)
    folders = {name: out / f"nano-{name}" for name in SHAPES}
    for name, folder in folders.items():
        write_folder(folder, lexicon, SHAPES[name])
    splits = ((TRAINING, scenes, rows), (VALIDATION, *development))
    for split, count, row_count in splits:
        prepare(plan, split, count, cache, workers, report)
        prepare(row_plan, split, row_count, cache, workers, report)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two threads beside another busy process are far slower
    try:
        data = load_scenes(plan, row_plan, *splits[0], cache)
        held = load_scenes(plan, row_plan, *splits[1], cache) if any(development) else None
        school = School(plan, data, Boxes.of(data), new_tokenizer(lexicon), seed, report)
        _train(folders, school, recipe, held)
    finally:
        torch.set_num_threads(threads)


def load_scenes(
    plan: NanoPlan, row_plan: RowPlan, split: int, scenes: int, rows: int, cache: Path
) -> Scenes:
    """Return the scenes, then the rows, of a split."""
    drawn = load_drawn(plan, split, scenes, cache) + load_drawn(row_plan, split, rows, cache)
    specs = [plan.spec(split, i) for i in range(scenes)]
    specs += [row_plan.spec(split, i) for i in range(rows)]
    return Scenes.of(plan, drawn, specs)


def _train(folders: dict[str, Path], school: School, recipe: Recipe, held: Scenes | None) -> None:
    torch.manual_seed(school.seed)
    words = len(school.tokenizer)
    model = new_model(SHAPES["vlm"], words)
    naming = Naming(CHANNELS[-1], school.plan)
    see(model, naming, school, recipe.images)
    trunk, names = copy.deepcopy(model.model.vision_tower.state_dict()), copy.deepcopy(naming)
    for name, phase in (("vlm", recipe.texts), ("vlm-small", recipe.small)):
        if name != "vlm":
            model, naming = new_model(SHAPES[name], words), names
            model.model.vision_tower.load_state_dict(trunk)
        talk(
            model,
            naming,
            school,
            phase,
            save=lambda model=model, name=name: save_weights(model, folders[name]),
            progress=lambda model=model, name=name: _progress(name, model, school, held),
        )
        save_scenes(school.scenes, school.plan, folders[name])


def _progress(name: str, model: Any, school: School, held: Scenes | None) -> str:
    """Say how many answers about development scenes are right."""
    if held is None:
        return f"{name}: saved"
    asker = Asker(school.plan.lexicon, nouns_of(school.plan.lexicon), held_out=True)
    found = answers(model, school.packer(), asker, held, school.plan, 1, school.seed)
    shares = (f"{row.name} {row.value} of {row.n}" for row in rows_of(found, school.plan))
    return f"{name}: answers right: " + ", ".join(shares)
