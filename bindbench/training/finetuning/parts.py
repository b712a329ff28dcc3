"""The samples of a recipe in the parts of its split. Loads no heavy library."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from bindbench.pipeline.base import Context
from bindbench.training.finetuning.recipe import Recipe
from bindbench.training.finetuning.samples import Sample, read_samples
from bindbench.training.finetuning.splits import Part, check_apart, check_sizes, part_of

SCENES = "finetuning_scenes.json"  # of a checkpoint: what it was trained on


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
