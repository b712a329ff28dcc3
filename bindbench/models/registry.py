"""Which model families exist for each role, and how a name such as ``mitsuba:icons`` is loaded.

A new family is one file in this folder and one entry in ``FAMILIES``.
"""

import functools
import gc
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from bindbench.errors import UserError, unknown_name
from bindbench.models.api_options import (
    ApiJudgeOptions,
    ApiOptions,
    ApiWriterOptions,
    ServerOptions,
    parse_address,
    read_key,
)
from bindbench.models.availability import (
    NO_WEIGHTS,
    Weights,
    in_hub_cache,
    local,
    open_clip_weights,
    shipped,
)
from bindbench.models.diffusers_options import KNOWN, DiffusersOptions
from bindbench.models.grounding_dino_options import GroundingDinoOptions
from bindbench.models.hf_options import DEFAULT_PROMPT, HfJudgeOptions, HfOptions, HfWriterOptions
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
    weights: Callable[[ModelName, Any], Weights] = lambda name, options: NO_WEIGHTS  # are they here
    ready: Callable[[ModelName, Any], object] = lambda name, options: None  # is its key set
    # Whether one process holds it, whatever the number of workers: it fills an accelerator.
    lone: Callable[[Any], bool] = lambda options: getattr(options, "device", "cpu") != "cpu"
    summary: str = ""
    scored: str = ""  # of scorers: how a caption gets its score
    needs: str = ""  # beyond this machine's CPU and the packages
    library: str = ""  # the package that runs it, as it is imported
    named: str = ""  # what a name may be where ``models`` does not list them all
    known: Callable[[], Sequence[str]] = lambda: ()  # names among these; may load the library
    measures: bool = False  # of judges: they look at the masks of detections


class ContrastiveOptions(Strict):
    """Options of models that embed images and texts apart."""

    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    device: str = "cpu"


class NanoOptions(ContrastiveOptions):
    """Options of the project's own scorers; ``prompt`` and on are of nano:vlm and vlm-small."""

    prompt: str = DEFAULT_PROMPT
    image_free: bool = True


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


class FolderOptions(Strict):
    """Options of a folder of pictures."""

    longest_side: Annotated[
        int, Field(ge=64, description="larger pictures are reduced to it, in pixels")
    ] = 1024


def _diffusers(name: ModelName, options: DiffusersOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.diffusers_generator import load_diffusers

    return load_diffusers(_diffusers_source(name, options), options)


def _diffusers_source(name: ModelName, options: DiffusersOptions) -> Any:
    from bindbench.models.diffusers_names import find_source

    return find_source(name.name, name.revision, options)


def _diffusers_identity(name: ModelName, options: DiffusersOptions) -> dict[str, str]:
    from bindbench.models.diffusers_names import identity_of

    return identity_of(_diffusers_source(name, options))


def _diffusers_weights(name: ModelName, options: DiffusersOptions) -> Weights:
    from bindbench.models.diffusers_names import weights_of

    return weights_of(name.name, name.revision, options)


def _folder(name: ModelName, options: FolderOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.folder_generator import FolderGenerator

    return FolderGenerator(_open_folder(name, options), options.longest_side)


def _open_folder(name: ModelName, options: FolderOptions) -> Any:
    from bindbench.models.folder_generator import open_folder

    return open_folder(name.name)


def _folder_identity(name: ModelName, options: FolderOptions) -> dict[str, str]:
    from bindbench.models.folder_generator import identity_of

    return identity_of(_open_folder(name, options))


def _pixel_detector(name: ModelName, options: NoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.pixel_detector import PixelDetector

    return PixelDetector()


def _pixel_judge(name: ModelName, options: NoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.pixel_judge import PixelJudge

    return PixelJudge(lexicon)


def _grounding_dino(name: ModelName, options: GroundingDinoOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.grounding_dino_detector import load_detector

    return load_detector(_grounding_dino_source(name, options), options, lexicon)


def _grounding_dino_source(name: ModelName, options: GroundingDinoOptions) -> Any:
    from bindbench.models.grounding_dino_names import find_detector

    return find_detector(name.name, name.revision, options)


def _grounding_dino_identity(name: ModelName, options: GroundingDinoOptions) -> dict[str, str]:
    from bindbench.models.grounding_dino_names import detector_identity

    return detector_identity(_grounding_dino_source(name, options))


def _grounding_dino_weights(name: ModelName, options: GroundingDinoOptions) -> Weights:
    from bindbench.models.grounding_dino_names import detector_weights

    return detector_weights(name.name, name.revision, options)


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


def _open_clip_names() -> Sequence[str]:
    from bindbench.models.open_clip_names import known_tags

    return [f"{architecture}/{tag}" for architecture, tag in sorted(known_tags())]


def _hf(name: ModelName, options: HfOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.hf_names import find_source

    source = find_source(name.name, name.revision, options)
    if source.kind == "contrastive":
        from bindbench.models.hf_contrastive import load_contrastive

        return load_contrastive(source, options)
    from bindbench.models.hf_generative import load_generative

    return load_generative(source, options)


def _check_hf(name: ModelName, options: HfOptions) -> None:
    from bindbench.models.hf_names import find_source

    find_source(name.name, name.revision, options)


def _hf_identity(name: ModelName, options: HfOptions) -> dict[str, str]:
    from bindbench.models.hf_names import find_source, identity_of

    return identity_of(find_source(name.name, name.revision, options))


def _hf_weights(name: ModelName, options: HfOptions | HfJudgeOptions) -> Weights:
    folder = Path(name.name).expanduser()
    return local(folder) if folder.exists() else in_hub_cache(name.name, name.revision)


NANO_VLMS = ("vlm", "vlm-small")


def _nano(name: ModelName, options: NanoOptions, lexicon: Lexicon) -> Any:
    if name.name in NANO_VLMS:
        from bindbench.models.hf_generative import load_generative

        return load_generative(_nano_vlm(name), HfOptions(**options.model_dump()))
    from bindbench.models.open_clip_names import find_source
    from bindbench.models.open_clip_scorer import load_open_clip
    from bindbench.models.weights import WEIGHTS

    source = find_source(str(WEIGHTS / f"nano-{name.name}"))
    return load_open_clip(str(name), source, options.dtype, options.device)


def _nano_vlm(name: ModelName) -> Any:
    """Return where a generative nano model is, under its own name."""
    from bindbench.models.hf_names import find_source
    from bindbench.models.weights import WEIGHTS

    source = find_source(str(WEIGHTS / f"nano-{name.name}"), "", HfOptions())
    return replace(source, name=str(name))


def _nano_weights(name: ModelName, options: ContrastiveOptions) -> dict[str, str]:
    from bindbench.models.weights import folder_digest

    return {"weights": folder_digest(f"nano-{name.name}")}


def _check_nano(name: ModelName, options: NanoOptions) -> None:
    _nano_weights(name, options)
    defaults = NanoOptions()
    for field in ("prompt", "image_free"):
        if name.name not in NANO_VLMS and getattr(options, field) != getattr(defaults, field):
            raise UserError(
                f"Model {name}: the option {field} is for {' and '.join(NANO_VLMS)}, and {name} is "
                "contrastive: leave it out."
            )


def _nano_judge(name: ModelName, options: ContrastiveOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.hf_judge import load_judge

    given = HfJudgeOptions(question="{question}", **options.model_dump())
    return load_judge(_nano_vlm(name), given)


def _hf_judge(name: ModelName, options: HfJudgeOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.hf_judge import load_judge

    return load_judge(_hf_judge_source(name, options), options)


def _hf_judge_source(name: ModelName, options: HfJudgeOptions) -> Any:
    from bindbench.models.hf_names import find_source

    given = HfOptions(**options.model_dump(exclude={"question"}))
    source = find_source(name.name, name.revision, given)
    if source.kind != "generative":
        raise UserError(
            f"{source.name}: a model of type {source.model_type} can't answer questions: give a "
            "judge that is generative."
        )
    return source


def _hf_judge_identity(name: ModelName, options: HfJudgeOptions) -> dict[str, str]:
    from bindbench.models.hf_names import identity_of

    return identity_of(_hf_judge_source(name, options))


def _validator_weights(name: ModelName, options: NoOptions) -> dict[str, str]:
    from bindbench.models.weights import folder_digest

    return {"weights": folder_digest("validator")}


def _api(name: ModelName, options: ApiOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.api_scorer import load_api

    return load_api(name.name, name.revision, options)


def _server(name: ModelName, options: ServerOptions) -> Weights:
    return Weights("server", parse_address(name.name).url)


def _server_key(name: ModelName, options: ServerOptions) -> str:
    return read_key(parse_address(name.name), options.key_variable)


def _api_judge(name: ModelName, options: ApiJudgeOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.api_asker import Asker
    from bindbench.models.api_judge import ApiJudge

    return ApiJudge(Asker(name.name, name.revision, options), options)


def _api_writer(name: ModelName, options: ApiWriterOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.api_asker import Asker
    from bindbench.models.api_writer import ApiWriter

    return ApiWriter(Asker(name.name, name.revision, options), options, lexicon)


def _api_writer_identity(name: ModelName, options: ApiWriterOptions) -> dict[str, str]:
    from bindbench.captions.prompts import prompts_digest

    return {"prompts": prompts_digest()}


def _hf_writer(name: ModelName, options: HfWriterOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.hf_writer import load_writer

    return load_writer(_hf_writer_source(name, options), options, lexicon)


def _hf_writer_source(name: ModelName, options: HfWriterOptions) -> Any:
    from bindbench.models.hf_text_names import find_text_source

    return find_text_source(name.name, name.revision, options)


def _hf_writer_identity(name: ModelName, options: HfWriterOptions) -> dict[str, str]:
    from bindbench.captions.prompts import prompts_digest
    from bindbench.models.hf_text_names import text_identity

    source = _hf_writer_source(name, options)
    return {**text_identity(source), "prompts": prompts_digest()}


def _hf_writer_weights(name: ModelName, options: HfWriterOptions) -> Weights:
    from bindbench.models.hf_text_names import text_weights

    return text_weights(name.name, name.revision)


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
            "writer",
            "hf",
            (),
            HfWriterOptions,
            _hf_writer,
            _hf_writer_identity,
            _hf_writer_source,
            weights=_hf_writer_weights,
            summary="any chat model of transformers; one without a chat template is given examples "
            "to continue",
            needs="its weights, downloaded unless they are a folder, a file or in the cache",
            library="transformers",
            named="org/name of the Hugging Face hub, a folder, a GGUF file, or gemma3-270m (of the "
            "extra gemma)",
        ),
        Family(
            "writer",
            "api",
            (),
            ApiWriterOptions,
            _api_writer,
            _api_writer_identity,
            lambda name, options: parse_address(name.name),
            weights=_server,
            ready=_server_key,
            summary="any chat model behind an OpenAI-compatible server",
            needs="its server, and for most a key in an environment variable",
            library="httpx2",
            named="URL#model",
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
            "generator",
            "diffusers",
            (),
            DiffusersOptions,
            _diffusers,
            _diffusers_identity,
            _diffusers_source,
            weights=_diffusers_weights,
            summary="any text-to-image pipeline of diffusers: Stable Diffusion, FLUX and others",
            needs="its weights, downloaded unless they are a folder or in the cache",
            library="diffusers",
            named="org/name of the Hugging Face hub, or a folder",
            known=lambda: tuple(KNOWN),
        ),
        Family(
            "generator",
            "folder",
            (),
            FolderOptions,
            _folder,
            _folder_identity,
            _open_folder,
            summary="your own pictures, with a table that says what each shows",
            needs="a picture for each caption",
            named="a folder with metadata.jsonl or metadata.csv",
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
            "detector",
            "grounding_dino",
            (),
            GroundingDinoOptions,
            _grounding_dino,
            _grounding_dino_identity,
            _grounding_dino_source,
            weights=_grounding_dino_weights,
            summary="any nouns, by Grounding DINO; masks by SAM 2",
            needs="the weights of both, downloaded unless they are local or in the cache",
            library="transformers",
            named="org/name of the Hugging Face hub, or a folder",
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
            _nano_weights,
            _nano_weights,
            weights=lambda name, options: shipped(f"nano-{name.name}"),
            summary="the likeliest option by the project's small vision-language models",
            library="transformers",
        ),
        Family(
            "judge",
            "api",
            (),
            ApiJudgeOptions,
            _api_judge,
            check=lambda name, options: parse_address(name.name),
            weights=_server,
            ready=_server_key,
            summary="a choice among lettered options by any model behind an OpenAI-compatible "
            "server",
            needs="its server, and for most a key in an environment variable",
            library="httpx2",
            named="URL#model",
        ),
        Family(
            "judge",
            "hf",
            (),
            HfJudgeOptions,
            _hf_judge,
            _hf_judge_identity,
            _hf_judge_source,
            weights=_hf_weights,
            summary="the likeliest option by a vision-language model of transformers",
            needs="its weights, downloaded unless they are a folder or in the cache",
            library="transformers",
            named="org/name of the Hugging Face hub, or a folder",
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
            _nano_weights,
            _check_nano,
            weights=lambda name, options: shipped(f"nano-{name.name}"),
            summary="the project's small models, trained on its own renders: contrastive encoders, "
            "and vision-language models",
            scored="similarity of image and caption; log-likelihood of the caption (vlm)",
            library="open_clip",
        ),
        Family(
            "scorer",
            "open_clip",
            (),
            OpenClipOptions,
            _open_clip,
            _open_clip_identity,
            _check_open_clip,
            weights=lambda name, options: open_clip_weights(name.name, options.architecture),
            summary="any contrastive model of open_clip, SigLIP and SigLIP 2 among them",
            scored="similarity of image and caption",
            needs="its weights, downloaded unless they are a folder or in the cache",
            library="open_clip",
            named="architecture/tag of open_clip's list, hf-hub:org/name, a folder, a file",
            known=_open_clip_names,
        ),
        Family(
            "scorer",
            "api",
            (),
            ApiOptions,
            _api,
            lambda name, options: {"question": options.resolved_question},
            lambda name, options: parse_address(name.name),
            weights=_server,
            ready=_server_key,
            summary="any model behind an OpenAI-compatible server: OpenAI, vLLM and others",
            scored="answers to questions with options, or to one for each caption; by vLLM also "
            "the log-likelihood of each caption",
            needs="its server, and for most a key in an environment variable",
            library="httpx2",
            named="URL#model",
        ),
        Family(
            "scorer",
            "hf",
            (),
            HfOptions,
            _hf,
            _hf_identity,
            _check_hf,
            weights=_hf_weights,
            summary="models of transformers: vision-language models, and CLIP, SigLIP, SigLIP 2",
            scored="log-likelihood of the caption given the image; similarity (CLIP, SigLIP)",
            needs="its weights, downloaded unless they are a folder or in the cache",
            library="transformers",
            named="org/name of the Hugging Face hub, or a folder",
        ),
    )
}


def named(role: Role, settings: RoleSettings) -> tuple[ModelName, Family, Any]:
    """Return what a role's settings name, with the family's options; its files are not looked at.

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
    return name, family, options


def resolve(role: Role, settings: RoleSettings) -> tuple[ModelName, Family, Any]:
    """Check a role's settings without loading anything.

    Raises:
        UserError: as ``named`` does, or the model is not there.
    """
    name, family, options = named(role, settings)
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


def processes(role: Role, settings: RoleSettings, workers: int) -> int:
    """Return how many of an engine's worker processes hold a model."""
    _, family, options = named(role, settings)
    return 1 if family.lone(options) else workers


def accelerators_of(role: Role, settings: RoleSettings) -> tuple[str, ...]:
    """Return the accelerators that a model is held on, as its options name them."""
    _, _, options = named(role, settings)
    devices = getattr(options, "devices", ()) or (getattr(options, "device", "cpu"),)
    return tuple(device for device in devices if device != "cpu")


def load(role: Role, settings: RoleSettings, sources: VocabularySources) -> Any:
    """Return the loaded model for one shard; a process loads each one once.

    A model that remembers what it computed (``fresh``) starts each shard without memories, so
    that no bit of a shard depends on those computed before it.
    """
    options = json.dumps(settings.options, sort_keys=True)
    key = (role, settings.model, options, sources.model_dump_json())
    _, family, parsed = named(role, settings)
    if family.lone(parsed):
        _make_room(key)
    model = _load(*key)
    return model.fresh() if hasattr(model, "fresh") else model


_lone: list[tuple[str, ...]] = []  # the keys of the lone models that this process holds
_TOGETHER = {"detector", "judge"}  # roles of one stage, in turns for each of its shards


def _make_room(key: tuple[str, ...]) -> None:
    """Forget the models of this process before another one fills an accelerator."""
    others = [held for held in _lone if held != key]
    if any({held[0], key[0]} != _TOGETHER for held in others):
        _load.cache_clear()
        gc.collect()
        others = []
    _lone[:] = [*others, key]


@functools.lru_cache(maxsize=8)
def _load(role: Role, model: str, options: str, sources: str) -> Any:
    settings = RoleSettings(model=model, options=json.loads(options))
    name, family, parsed = resolve(role, settings)
    return family.load(name, parsed, load_lexicon(json.loads(sources)))
