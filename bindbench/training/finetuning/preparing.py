"""From a suite's store to what the trainings of a recipe share."""

from collections.abc import Sequence

from bindbench.concepts import content_id
from bindbench.models import registry
from bindbench.pipeline import images, negatives
from bindbench.pipeline.base import Context
from bindbench.suite import RoleSettings
from bindbench.training.finetuning.batches import Inputs, TokenMemory
from bindbench.training.finetuning.checking import check, validation_of
from bindbench.training.finetuning.loop import Prepared
from bindbench.training.finetuning.parts import Split
from bindbench.training.finetuning.recipe import BATCHES, Recipe
from bindbench.training.finetuning.samples import Sample, read_images
from bindbench.training.finetuning.towers import Towers, load_towers

CODE_VERSION = "1"
_WHICH = {"seeds", "negatives"}  # trainings there are; neither changes one of them


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
    pixels = _pixels(context, towers, training)
    checked = validation_of(validation, _pixels(context, towers, validation), memory, recipe)
    before = check(towers, checked)
    return Prepared(
        *(towers, pretrained, training, pixels, memory, checked, before),
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
