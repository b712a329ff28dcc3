"""From a suite's store to what the trainings of a recipe share."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from bindbench.concepts import content_id
from bindbench.models import registry
from bindbench.pipeline import images, negatives
from bindbench.pipeline.base import Context
from bindbench.suite import RoleSettings
from bindbench.training.finetuning.batches import Inputs, TokenMemory
from bindbench.training.finetuning.checking import validation_of
from bindbench.training.finetuning.loop import SCENES, Prepared
from bindbench.training.finetuning.recipe import BATCHES, Recipe
from bindbench.training.finetuning.samples import Sample, read_images, read_samples
from bindbench.training.finetuning.splits import Part, check_apart, check_sizes, part_of
from bindbench.training.finetuning.towers import Towers, load_towers

CODE_VERSION = "1"
_WHICH = {"seeds", "negatives"}  # trainings there are; neither changes one of them


@dataclass(frozen=True)
class Split:
    """The samples of each part."""

    parts: dict[Part, list[Sample]]

    @property
    def trained(self) -> list[str]:
        """The canonical ids of all scenes that a training sees or is stopped by, sorted."""
        seen = (*self.parts["training"], *self.parts["validation"])
        return sorted({sample.scene for sample in seen})

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """How many samples of each benchmark are in each part."""
        found = {part: Counter(s.benchmark for s in self.parts[part]) for part in self.parts}
        return {part: dict(sorted(count.items())) for part, count in found.items()}


def split(context: Context, recipe: Recipe) -> Split:
    """Return the samples of a recipe in their parts.

    Raises:
        UserError: a benchmark is not built, has no negatives or too few samples, or the model was
            trained on what would be held out.
    """
    parts: dict[Part, list[Sample]] = {part: [] for part in get_args(Part)}
    for key in recipe.benchmarks:
        own: dict[Part, list[Sample]] = {part: [] for part in parts}
        for sample in read_samples(context, key, recipe.tracks, recipe.samples, recipe.semantics):
            own[part_of(sample.scene, recipe.split_seed)].append(sample)
        check_sizes({part: len(found) for part, found in own.items()}, key)
        for part, found in own.items():
            parts[part] += found
    held_out = {sample.scene: sample.benchmark for sample in parts["held_out"]}
    found = Split(parts)
    check_apart(found.trained, held_out, "this fine-tuning")
    check_apart(scenes_of(recipe.model), held_out, recipe.model)
    return found


def scenes_of(model: str) -> list[str]:
    """Return the scenes that a fine-tuned checkpoint was trained on; none of other models."""
    file = Path(model.partition(":")[2]).expanduser() / SCENES
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []


def prepare(context: Context, recipe: Recipe, parts: Split) -> Prepared:
    """Load the model, and read each image and text of the trainings once.

    Raises:
        UserError: the model can't be trained, or does not load.
    """
    settings = RoleSettings(model=recipe.model, options=recipe.options)
    towers = load_towers(settings, context.lexicon, recipe.chunk, recipe.precision)
    training, validation = parts.parts["training"], parts.parts["validation"]
    memory = TokenMemory(towers.tokens)
    pretrained = {name: value.clone() for name, value in towers.model.state_dict().items()}
    return Prepared(
        towers,
        pretrained,
        training,
        _pixels(context, towers, training),
        memory,
        validation_of(validation, _pixels(context, towers, validation), memory, recipe),
        recipe.batch or BATCHES[towers.loss],
    )


def _pixels(context: Context, towers: Towers, samples: Sequence[Sample]) -> Inputs:
    """Return the images of samples as the model reads them; they lie benchmark by benchmark."""
    keys = dict.fromkeys(sample.benchmark for sample in samples)
    own = {key: [sample for sample in samples if sample.benchmark == key] for key in keys}
    return towers.pixels(
        image for key, found in own.items() for image in read_images(context, key, found)
    )


def fingerprint(context: Context, recipe: Recipe, **run: object) -> str:
    """Return a hash of all that determines a training."""
    data = {
        f"{asset}/{key}": context.current(asset, key).digest
        for key in recipe.benchmarks
        for asset in (negatives.NAME, images.NAME)
    }
    model = registry.describe("scorer", RoleSettings(model=recipe.model, options=recipe.options))
    settings = recipe.model_dump(mode="json", exclude=_WHICH)
    return content_id([CODE_VERSION, settings, model, data, run])
