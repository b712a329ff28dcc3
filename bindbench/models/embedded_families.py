"""The families that this project made itself or that need no weights: the embedded default."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, field_validator

from bindbench.errors import UserError
from bindbench.models.availability import shipped
from bindbench.models.family import Family, ModelName, NoOptions
from bindbench.models.hf_options import DEFAULT_PROMPT, HfJudgeOptions, HfOptions
from bindbench.models.open_clip_family import ContrastiveOptions
from bindbench.suite import Strict
from bindbench.tasks import Task
from bindbench.vocabulary import Lexicon, Vocabulary

NANO_VLMS = ("vlm", "vlm-small")


class MitsubaOptions(Strict):
    """Options of the ray tracer."""

    resolution: Annotated[int, Field(ge=64, le=2048)] = 128
    samples: Annotated[int, Field(ge=1, le=4096)] = 8
    faults: dict[str, float] = Field(default_factory=dict)
    hard: dict[str, float] = Field(
        default_factory=dict,
        exclude_if=lambda hard: not hard,  # images without it keep their fingerprints
        description="by object or label: the share of its images that have a fault",
    )

    @field_validator("faults")
    @classmethod
    def _rates(cls, value: dict[str, float]) -> dict[str, float]:
        from bindbench.rendering.faults import check_rates

        check_rates(value)
        return value


class NanoOptions(ContrastiveOptions):
    """Options of the project's own scorers; ``prompt`` and on are of nano:vlm and vlm-small."""

    prompt: str = DEFAULT_PROMPT
    image_free: bool = True


def _grammar(name: ModelName, options: NoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.grammar_writer import GrammarWriter

    return GrammarWriter(lexicon)


def _mitsuba(name: ModelName, options: MitsubaOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.mitsuba_generator import MitsubaGenerator

    return MitsubaGenerator(
        lexicon, options.resolution, options.samples, options.faults, options.hard
    )


def _check_drawable(lexicon: Lexicon, tasks: Sequence[Task]) -> None:
    for task in tasks:
        nouns = lexicon.nouns(task)
        missing = [noun.name for noun in nouns.entries if not noun.drawable]
        if missing:
            raise UserError(
                f"The ray tracer can't draw {missing[0]!r} and {len(missing) - 1} more of the "
                f"vocabulary {nouns.name}: give each an icon, or leave them out with 'only'."
            )


def _pixel_detector(name: ModelName, options: NoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.pixel_detector import PixelDetector

    return PixelDetector()


def _pixel_judge(name: ModelName, options: NoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.pixel_judge import PixelJudge

    return PixelJudge(lexicon)


def _validator_weights(name: ModelName, options: NoOptions) -> dict[str, str]:
    from bindbench.models.weights import folder_digest

    return {"weights": folder_digest("validator")}


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


def _nano(name: ModelName, options: NanoOptions, lexicon: Lexicon) -> Any:
    if name.name in NANO_VLMS:
        from bindbench.models.hf_generative import load_generative

        return load_generative(nano_vlm(name), HfOptions(**options.model_dump()))
    from bindbench.models.open_clip_names import find_source
    from bindbench.models.open_clip_scorer import load_open_clip
    from bindbench.models.weights import WEIGHTS

    source = find_source(str(WEIGHTS / f"nano-{name.name}"))
    return load_open_clip(str(name), source, options.dtype, options.device)


def nano_vlm(name: ModelName) -> Any:
    """Return where a generative nano model is, under its own name."""
    from bindbench.models.hf_names import find_source
    from bindbench.models.weights import WEIGHTS

    source = find_source(str(WEIGHTS / f"nano-{name.name}"), "", HfOptions())
    return replace(source, name=str(name))


def _nano_judge(name: ModelName, options: ContrastiveOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.hf_judge import load_judge

    given = HfJudgeOptions(question="{question}", **options.model_dump())
    return load_judge(nano_vlm(name), given)


def nano_weights(name: ModelName, options: object) -> dict[str, str]:
    """Return the hash of a nano model's weights."""
    from bindbench.models.weights import folder_digest

    return {"weights": folder_digest(f"nano-{name.name}")}


def _check_nano(name: ModelName, options: NanoOptions) -> None:
    nano_weights(name, options)
    defaults = NanoOptions()
    for field in ("prompt", "image_free"):
        if name.name not in NANO_VLMS and getattr(options, field) != getattr(defaults, field):
            raise UserError(
                f"Model {name}: the option {field} is for {' and '.join(NANO_VLMS)}, and {name} is "
                "contrastive: leave it out."
            )


def _check(name: ModelName, options: NoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.checks import ConstantScorer, OracleScorer, RandomScorer

    return {"constant": ConstantScorer, "random": RandomScorer, "oracle": OracleScorer}[name.name]()


EMBEDDED = (
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
        library="mitsuba",
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
        weights=lambda name, options: shipped("validator"),
        summary="the project's small detector for its own renders",
        library="torch",
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
        weights=lambda name, options: shipped("validator"),
        summary="colors by the same network, relations from boxes and masks",
        measures=True,
        library="torch",
    ),
    Family(
        "judge",
        "nano",
        NANO_VLMS,
        ContrastiveOptions,
        _nano_judge,
        nano_weights,
        nano_weights,
        weights=lambda name, options: shipped(f"nano-{name.name}"),
        summary="the likeliest option by the project's small vision-language models",
        library="transformers",
    ),
    Family(
        "scorer",
        "check",
        ("constant", "random", "oracle"),
        NoOptions,
        _check,
        summary="reference points: no information, chance, and perfect knowledge",
        scored="one number for all; a hash of the item; the truth",
    ),
    Family(
        "scorer",
        "nano",
        ("clip", "negclip", *NANO_VLMS),
        NanoOptions,
        _nano,
        nano_weights,
        _check_nano,
        weights=lambda name, options: shipped(f"nano-{name.name}"),
        summary="the project's small models, trained on its own renders: contrastive encoders, "
        "and vision-language models",
        scored="similarity of image and caption; log-likelihood of the caption (vlm)",
        library="open_clip",
    ),
)
