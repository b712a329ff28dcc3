"""Which model families exist for each role, and how a name such as ``mitsuba:icons`` is loaded.

A new family is one file in this folder and one entry in ``FAMILIES``.
"""

import functools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from bindbench.errors import UserError, unknown_name
from bindbench.suite import RoleSettings, Strict, VocabularySources, parse
from bindbench.tasks import Task
from bindbench.vocabulary import Lexicon, Vocabulary
from bindbench.vocabulary_files import load_lexicon

Role = Literal["writer", "generator", "detector", "judge", "scorer"]


@dataclass(frozen=True)
class ModelName:
    """A model as everything names it: ``family:name@revision``."""

    family: str
    name: str
    revision: str = ""

    @classmethod
    def parse(cls, text: str) -> "ModelName":
        """Split a model's name, or raise a UserError that shows the form."""
        match = re.fullmatch(r"([a-z0-9_]+):([^@\s]+)(?:@(\S+))?", text)
        if not match:
            raise UserError(f"Model {text!r} is no model name: write family:name@revision.")
        return cls(match[1], match[2], match[3] or "")

    def __str__(self) -> str:
        return f"{self.family}:{self.name}" + (f"@{self.revision}" if self.revision else "")

    @property
    def slug(self) -> str:
        """The name as a partition key: without the characters that Dagster reserves."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", str(self))


class NoOptions(Strict):
    """The options of a family that has none."""


@dataclass(frozen=True)
class Family:
    """A family of models that fills a role."""

    role: Role
    name: str
    models: tuple[str, ...]  # the names it knows
    options: type[Strict]
    load: Callable[[ModelName, Any, Lexicon], Any]
    identity: Callable[[ModelName, Any], dict[str, str]] = lambda name, options: {}  # e.g. a hash
    check: Callable[[ModelName, Any], object] = lambda name, options: None  # before any loading
    words: Callable[[Lexicon, Sequence[Task]], None] = lambda lexicon, tasks: None  # are they known
    summary: str = ""


class ContrastiveOptions(Strict):
    """Options of models that embed images and texts apart."""

    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    device: str = "cpu"


class OpenClipOptions(ContrastiveOptions):
    """Options of open_clip models."""

    architecture: str = Field("", description="of a checkpoint file without a configuration")


class MitsubaOptions(Strict):
    """Options of the ray tracer."""

    resolution: Annotated[int, Field(ge=64, le=2048)] = 128
    samples: Annotated[int, Field(ge=1, le=4096)] = 8
    faults: dict[str, float] = Field(default_factory=dict)

    @field_validator("faults")
    @classmethod
    def _rates(cls, value: dict[str, float]) -> dict[str, float]:
        from bindbench.rendering.faults import check_rates

        check_rates(value)
        return value


def _grammar(name: ModelName, options: NoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.grammar_writer import GrammarWriter

    return GrammarWriter(lexicon)


def _mitsuba(name: ModelName, options: MitsubaOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.mitsuba_generator import MitsubaGenerator

    return MitsubaGenerator(lexicon, options.resolution, options.samples, options.faults)


def _pixel_detector(name: ModelName, options: NoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.pixel_detector import PixelDetector

    return PixelDetector()


def _pixel_judge(name: ModelName, options: NoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.pixel_judge import PixelJudge

    return PixelJudge(lexicon)


def _check(name: ModelName, options: NoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.checks import ConstantScorer, OracleScorer, RandomScorer

    return {"constant": ConstantScorer, "random": RandomScorer, "oracle": OracleScorer}[name.name]()


def _open_clip(name: ModelName, options: OpenClipOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.open_clip_names import find_source
    from bindbench.models.open_clip_scorer import load_open_clip

    source = find_source(name.name, options.architecture)
    return load_open_clip(str(name), source, options.dtype, options.device)


def _check_open_clip(name: ModelName, options: OpenClipOptions) -> None:
    from bindbench.models.open_clip_names import find_source

    if name.revision:
        raise UserError(
            f"Model {name}: open_clip models have no revisions, leave out @{name.revision}."
        )
    find_source(name.name, options.architecture)


def _open_clip_identity(name: ModelName, options: OpenClipOptions) -> dict[str, str]:
    from bindbench.models.open_clip_names import find_source, identity_of

    return identity_of(find_source(name.name, options.architecture))


def _nano(name: ModelName, options: ContrastiveOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.open_clip_names import find_source
    from bindbench.models.open_clip_scorer import load_open_clip
    from bindbench.models.weights import WEIGHTS

    source = find_source(str(WEIGHTS / f"nano-{name.name}"))
    return load_open_clip(str(name), source, options.dtype, options.device)


def _nano_weights(name: ModelName, options: ContrastiveOptions) -> dict[str, str]:
    from bindbench.models.weights import folder_digest

    return {"weights": folder_digest(f"nano-{name.name}")}


def _validator_weights(name: ModelName, options: NoOptions) -> dict[str, str]:
    from bindbench.models.weights import folder_digest

    return {"weights": folder_digest("validator")}


def _check_drawable(lexicon: Lexicon, tasks: Sequence[Task]) -> None:
    for task in tasks:
        nouns = lexicon.nouns(task)
        missing = [noun.name for noun in nouns.entries if not noun.drawable]
        if missing:
            raise UserError(
                f"The ray tracer can't draw {missing[0]!r} and {len(missing) - 1} more of the "
                f"vocabulary {nouns.name}: give each an icon, or leave them out with 'only'."
            )


def _check_trained(lexicon: Lexicon, tasks: Sequence[Task]) -> None:
    from bindbench.models.weights import WEIGHTS

    known = json.loads((WEIGHTS / "validator" / "config.json").read_text(encoding="utf-8"))
    for task in tasks:
        wanted: list[tuple[Vocabulary[Any], list[str]]] = [(lexicon.nouns(task), known["nouns"])]
        if task.label_role == "colors":
            wanted.append((lexicon.colors, known["colors"]))
        for vocabulary, names in wanted:
            unknown = [name for name in vocabulary.names if name not in names]
            if unknown:
                raise UserError(
                    f"The embedded validator was not trained on {unknown[0]!r} of the vocabulary "
                    f"{vocabulary.name}: use the words of objects_embedded, shapes and colors20, "
                    "or another detector and judge."
                )


FAMILIES: dict[tuple[Role, str], Family] = {
    (family.role, family.name): family
    for family in (
        Family(
            "writer",
            "grammar",
            ("scenes",),
            NoOptions,
            _grammar,
            summary="a grammar of rooms, places and actions; no model",
        ),
        Family(
            "generator",
            "mitsuba",
            ("icons",),
            MitsubaOptions,
            _mitsuba,
            words=_check_drawable,
            summary="ray-traced primitives and extruded icons",
        ),
        Family(
            "detector",
            "pixels",
            ("validator",),
            NoOptions,
            _pixel_detector,
            _validator_weights,
            _validator_weights,
            _check_trained,
            summary="the project's small detector for its own renders",
        ),
        Family(
            "judge",
            "pixels",
            ("validator",),
            NoOptions,
            _pixel_judge,
            _validator_weights,
            _validator_weights,
            _check_trained,
            summary="colors by the same network, relations from boxes and masks",
        ),
        Family(
            "scorer",
            "check",
            ("constant", "random", "oracle"),
            NoOptions,
            _check,
            summary="reference points: no information, chance, and perfect knowledge",
        ),
        Family(
            "scorer",
            "nano",
            ("clip", "negclip"),
            ContrastiveOptions,
            _nano,
            _nano_weights,
            _nano_weights,
            summary="the project's small contrastive encoders, trained on its own renders",
        ),
        Family(
            "scorer",
            "open_clip",
            (),
            OpenClipOptions,
            _open_clip,
            _open_clip_identity,
            _check_open_clip,
            summary="any model of open_clip: architecture/tag, hf-hub:..., a folder or a file",
        ),
    )
}


def resolve(role: Role, settings: RoleSettings) -> tuple[ModelName, Family, Any]:
    """Check a role's settings without loading anything.

    Raises:
        UserError: the family, the name or an option does not exist; the nearest are named.
    """
    name = ModelName.parse(settings.model)
    if (role, name.family) not in FAMILIES:
        families = [family for r, family in FAMILIES if r == role]
        raise unknown_name(f"{role} family", name.family, families)
    family = FAMILIES[role, name.family]
    if family.models and name.name not in family.models:
        known = [f"{name.family}:{model}" for model in family.models]
        raise unknown_name(f"{role} model", f"{name.family}:{name.name}", known)
    options = parse(family.options, settings.options, f"options of {role} {name}")
    family.check(name, options)
    return name, family, options


def describe(role: Role, settings: RoleSettings) -> dict[str, Any]:
    """Return what determines a model's output, for fingerprints."""
    name, family, options = resolve(role, settings)
    return {
        "model": str(name),
        "options": options.model_dump(mode="json"),
        "batch_size": settings.batch_size,
        **family.identity(name, options),
    }


def load(role: Role, settings: RoleSettings, sources: VocabularySources) -> Any:
    """Return the loaded model for one shard; a process loads each one once.

    A model that remembers what it computed (``fresh``) starts each shard without memories, so
    that no bit of a shard depends on those computed before it.
    """
    options = json.dumps(settings.options, sort_keys=True)
    model = _load(role, settings.model, options, sources.model_dump_json())
    return model.fresh() if hasattr(model, "fresh") else model


@functools.lru_cache(maxsize=8)
def _load(role: Role, model: str, options: str, sources: str) -> Any:
    settings = RoleSettings(model=model, options=json.loads(options))
    name, family, parsed = resolve(role, settings)
    return family.load(name, parsed, load_lexicon(json.loads(sources)))
