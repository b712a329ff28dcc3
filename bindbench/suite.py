"""Suites and profiles: everything that decides what is built, validated before anything starts.

A profile names the models of each role and their parameters; a suite adds the benchmarks, the
number of concepts and the seed, and may override any field of its profile.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, Field, ValidationError, field_validator

from bindbench.conme.settings import ConmeSettings
from bindbench.errors import UserError, unknown_name
from bindbench.instabind.limits import Limits
from bindbench.strict import RoleSettings, Strict
from bindbench.tasks import BENCHMARKS, Benchmark, get_benchmark
from bindbench.yaml_files import parse_yaml

PROFILES = Path(__file__).parent / "profiles"
Share = Annotated[float, Field(ge=0, le=1)]


class WriterSettings(RoleSettings):
    """The writer of contextual captions."""

    attempts: Annotated[int, Field(ge=1, description="captions tried for a concept")] = 3


class ValidationSettings(Strict):
    """Thresholds of the image checks (Auto-Comp, A.6)."""

    background_gray: Annotated[int, Field(ge=0, le=255)] = 190
    background_share: Share = 0.70
    label_score: Annotated[Share, Field(description="least score of a right answer")] = 0.5
    pair_instances: Annotated[
        int, Field(ge=1, le=2, description="instances that a pair of gloves may show as")
    ] = 2


class Bounds(Strict):
    """The share of samples that may survive a check before the run is stopped."""

    low: Share = 0.0
    high: Share = 1.0


class VocabularySources(Strict):
    """A built-in name or the path of a YAML file for each vocabulary."""

    objects: str = "objects365"
    shapes: str = "shapes"
    colors: str = "colors20"
    positions: str = "positions4"
    sizes: str = "sizes3"


class FaithfulnessSettings(Strict):
    """What tells how faithful all images are and how diverse captions (Auto-Comp, A.7)."""

    encoder: Annotated[
        RoleSettings | None,
        Field(description="a contrastive scorer: CLIPScore, and how far captions lie apart"),
    ] = None
    answerer: Annotated[
        RoleSettings | None,
        Field(description="a judge that looks: answers questions generated from each concept"),
    ] = None
    benchmarks: Annotated[
        tuple[str, ...], Field(description="that the answerer is asked about; none named: all")
    ] = ()

    @field_validator("benchmarks")
    @classmethod
    def _known_benchmarks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(get_benchmark(key).key for key in value)


class Prices(Strict):
    """What computing costs, in one currency; they decide nothing but what costs say."""

    gpu_hour: Annotated[float | None, Field(ge=0, description="of an accelerator")] = None
    core_hour: Annotated[float | None, Field(ge=0, description="of a worker process")] = None


class Profile(Strict):
    """A named set of models and parameters."""

    name: str
    vocabularies: VocabularySources = VocabularySources()
    writer: WriterSettings
    generator: RoleSettings
    detector: RoleSettings
    judge: RoleSettings
    second_judge: RoleSettings | None = Field(
        None, description="is asked the same as the judge, for their agreement; decides nothing"
    )
    faithfulness: FaithfulnessSettings = Field(
        FaithfulnessSettings(), description="what measures images and captions; decides nothing"
    )
    prices: Prices = Field(Prices(), description="of computing: what the table of costs says")
    scorers: tuple[RoleSettings, ...]
    retired: tuple[RoleSettings, ...] = Field(
        (), description="scorers that are asked no more; the scores that they have stay"
    )
    bases: dict[str, str] = Field(
        default_factory=dict,
        description="by scorer that was trained on hard negatives: the model that it was before",
    )
    validation: ValidationSettings = ValidationSettings()
    survival: dict[str, Bounds] = Field(
        default_factory=dict, description="bounds by check: captions, presence, background, label"
    )
    shuffle_clauses: bool = Field(
        True, description="draw the scored minimal caption's clause order apart from the prompt's"
    )
    shard_size: Annotated[int, Field(ge=1, description="concepts in a shard")] = 32

    @property
    def listed(self) -> tuple[RoleSettings, ...]:
        """The models that the leaderboard shows: the scorers, then those that were."""
        return (*self.scorers, *self.retired)

    @field_validator("survival")
    @classmethod
    def _known_checks(cls, value: dict[str, Bounds]) -> dict[str, Bounds]:
        for name in value:
            if name not in SURVIVAL_CHECKS:
                raise ValueError(f"unknown check {name!r}, known are {', '.join(SURVIVAL_CHECKS)}")
        return value


SURVIVAL_CHECKS = ("captions", "presence", "background", "label")


class InstabindSet(Strict):
    """Where the images and groups of one InstaBind set come from."""

    source: Annotated[
        Literal["file", "generated"],
        Field(description="file: annotations with their images; generated: by the profile"),
    ]
    kind: Annotated[
        Literal["color", "shape", "size", "material"],
        Field(description="generated: what the things in a row differ in"),
    ] = "color"
    groups: Annotated[int, Field(ge=1, description="generated: rows to draw, one in an image")] = 24
    annotations: Annotated[str, Field(description="file: in the authors' JSON schema")] = ""
    images: Annotated[str, Field(description="file: the folder that the image paths are in")] = ""


class Windows(Strict):
    """How rows of small things are looked at: in overlapping windows of the image."""

    things: Annotated[int, Field(ge=1, description="in a row, from which it is done")] = 4
    share: Annotated[float, Field(gt=0, le=1, description="of the image's sides")] = 0.5
    score: Annotated[Share, Field(description="least score of a detection in a window")] = 0.7


class InstabindSettings(Strict):
    """Sets of same-class groups, and the models that are asked about them."""

    sets: dict[Annotated[str, Field(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$")], InstabindSet]
    settings: Annotated[
        tuple[str, ...], Field(min_length=1, description="views and prompts that are asked in")
    ] = ("full_image", "crop_oracle", "context_crop", "instance_first")
    models: Annotated[tuple[RoleSettings, ...], Field(description="the answerers")] = ()
    shard_size: Annotated[int, Field(ge=1, description="images in a shard")] = 16
    limits: Annotated[Limits, Field(description="what generated groups must be like")] = Limits()
    windows: Annotated[Windows | None, Field(description="none: the image as a whole")] = None

    @field_validator("settings")
    @classmethod
    def _known_settings(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        from bindbench.instabind.conditions import condition

        for name in value:
            condition(name)
        return tuple(dict.fromkeys(value))


class MatchPrior(Strict):
    """How far generation is topped up for the words that the checks remove."""

    most: Annotated[float, Field(ge=1, description="concepts in all, in plain ones")] = 4.0
    rounds: Annotated[int, Field(ge=1, description="times that concepts are added")] = 6
    least_survival: Annotated[
        Share, Field(description="a word that surely survives less often is given up")
    ] = 0.05


class SuiteFile(Strict):
    """A suite as its file spells it."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
    profile: str = "embedded"
    benchmarks: tuple[str, ...] = tuple(BENCHMARKS)
    concepts: int | dict[str, int] = 64
    seed: Annotated[int, Field(ge=0)] = 0
    gallery: Annotated[
        int, Field(ge=0, description="concepts of each benchmark that the report's gallery shows")
    ] = 200
    counterparts: bool = False
    replicates: bool = False
    pairs_only: Annotated[
        bool, Field(description="make the contextual image only if the minimal one was accepted")
    ] = False
    match_prior: Annotated[
        MatchPrior | None, Field(description="add concepts for the words that the checks remove")
    ] = None
    models: str | None = Field(None, description="YAML file of models that are evaluated as well")
    instabind: InstabindSettings | None = None
    conme: ConmeSettings | None = None
    finetuning: Annotated[
        dict[str, Any] | None, Field(description="a bindbench.training.finetuning recipe")
    ] = None
    beside: tuple[str, ...] = Field(
        (), description="suites with other generators, by file, that Table 9 lays beside this one"
    )
    overrides: dict[str, Any] = Field(default_factory=dict)


class Suite(Strict):
    """A suite with its profile resolved."""

    name: str
    benchmarks: tuple[str, ...]
    concepts: dict[str, int]
    seed: int
    gallery: int
    counterparts: bool
    replicates: bool
    profile: Profile
    pairs_only: bool = False
    match_prior: MatchPrior | None = None
    # A path of this machine: what it holds reaches the profile, see bindbench.releases.
    models: str | None = Field(None, exclude=True)
    beside: tuple[str, ...] = Field((), exclude=True)  # paths too
    instabind: InstabindSettings | None = None
    conme: ConmeSettings | None = None
    finetuning: dict[str, Any] | None = None

    @property
    def resolved_benchmarks(self) -> tuple[Benchmark, ...]:
        """The benchmarks in the suite's order."""
        return tuple(BENCHMARKS[key] for key in self.benchmarks)


def load_suite(source: str, folder: Path = Path("suites")) -> Suite:
    """Load the suite file ``source``: a path, or the name of a file in ``folder``.

    Raises:
        UserError: the file is missing or breaks the schema, or names a benchmark, profile or
            vocabulary that does not exist.
    """
    named = not source.endswith((".yaml", ".yml"))
    if named and "/" in source:
        raise UserError(f"Suite {source} is no YAML file: give a suite's name or a file's path.")
    path = folder / f"{source}.yaml" if named else Path(source)
    if not path.is_file():
        if path.parent == folder:
            raise unknown_name("suite", source, (p.stem for p in folder.glob("*.yaml")))
        why = "is a folder" if path.is_dir() else "does not exist"
        raise UserError(f"Suite file {path} {why}: give a suite's name or a file's path.")
    return resolve_suite(suite_fields(path), str(path))


def suite_fields(path: Path) -> dict[str, Any]:
    """Read a suite's fields; the paths in them are taken from the file's own folder."""
    fields = read_yaml(path)
    base = path.resolve().parent
    for name in ("profile", "models"):
        if isinstance(fields.get(name), str):
            fields[name] = _absolute(fields[name], base)
    if isinstance(others := fields.get("beside"), list):
        fields["beside"] = [_absolute(str(other), base) for other in others]
    for part in ("instabind", "conme"):
        section = fields.get(part)
        if isinstance(section, dict) and isinstance(sets := section.get("sets"), dict):
            for one in sets.values():
                for name in {"annotations", "images"} & set(one if isinstance(one, dict) else ()):
                    one[name] = str(base / str(one[name]))
    over = fields.get("overrides")
    if isinstance(over, dict) and isinstance(sources := over.get("vocabularies"), dict):
        over["vocabularies"] = {
            kind: _absolute(source, base) if isinstance(source, str) else source
            for kind, source in sources.items()
        }
    return fields


def _absolute(source: str, base: Path) -> str:
    """Return a file's path from ``base``; a built-in name stays as it is."""
    return str(base / source) if source.endswith((".yaml", ".yml")) else source


def resolve_suite(fields: dict[str, Any], where: str) -> Suite:
    """Validate a suite's fields and merge its overrides into its profile."""
    file = parse(SuiteFile, fields, where)
    if not file.benchmarks:
        raise UserError(
            f"{where}: benchmarks is empty: name at least one of {', '.join(BENCHMARKS)}."
        )
    keys = tuple(dict.fromkeys(get_benchmark(key).key for key in file.benchmarks))
    counts = _counts(file, keys, where)
    profile = parse(
        Profile, merge(profile_fields(file.profile), file.overrides), f"{where}: overrides"
    )
    return Suite(
        name=file.name,
        benchmarks=keys,
        concepts=counts,
        seed=file.seed,
        gallery=file.gallery,
        counterparts=file.counterparts,
        replicates=file.replicates,
        profile=profile,
        pairs_only=file.pairs_only,
        match_prior=file.match_prior,
        models=file.models,
        beside=file.beside,
        instabind=file.instabind,
        conme=file.conme,
        finetuning=file.finetuning,
    )


def profile_fields(name: str) -> dict[str, Any]:
    """Return the fields of a built-in profile or of a profile file."""
    if name.endswith((".yaml", ".yml")):
        return read_yaml(Path(name))
    path = PROFILES / f"{name}.yaml"
    if not path.is_file():
        raise unknown_name("profile", name, (p.stem for p in PROFILES.glob("*.yaml")))
    return read_yaml(path)


def _counts(file: SuiteFile, keys: tuple[str, ...], where: str) -> dict[str, int]:
    counts = (
        file.concepts if isinstance(file.concepts, dict) else dict.fromkeys(keys, file.concepts)
    )
    for key, count in counts.items():
        get_benchmark(key)
        if count < 1:
            raise UserError(f"{where}: concepts of {key} is {count}: it must be at least 1.")
    missing = [key for key in keys if key not in counts]
    if missing:
        raise UserError(f"{where}: concepts has no number for {missing[0]}: add one.")
    return {key: counts[key] for key in keys}


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the values of ``over``, merged mapping by mapping.

    An empty mapping empties the field, and another model does not inherit the options of the
    one that it replaces.
    """
    merged = dict(base)
    if over.get("model", base.get("model")) != base.get("model"):
        merged.pop("options", None)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and value:
            merged[key] = merge(old, value)
        else:
            merged[key] = value
    return merged


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds a mapping."""
    try:
        value = parse_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} does not exist: give the path of a YAML file.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise UserError(f"{path} is not YAML{line}: {getattr(error, 'problem', error)}.") from None
    if not isinstance(value, dict):
        raise UserError(f"{path} holds no mapping: write 'field: value' lines.")
    return value


M = TypeVar("M", bound=BaseModel)


def parse(model: type[M], fields: dict[str, Any], where: str) -> M:
    """Validate ``fields`` against a pydantic model; the first fault becomes one sentence."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        faults = error.errors()
        # A misspelt field is often why another one is missing.
        fault = next((one for one in faults if one["type"] == "extra_forbidden"), faults[0])
        field = ".".join(map(str, fault["loc"])) or "file"
        if fault["type"] == "extra_forbidden":
            raise unknown_name("field", field, model.model_fields, where) from None
        value = "" if fault["type"] == "missing" else f" is {fault['input']!r}"
        why = fault["msg"]
        if fault["type"] == "string_pattern_mismatch":
            why = "use small letters, digits, '-' and '_', beginning with a letter or a digit"
        raise UserError(f"{where}: {field}{value}: {why}.") from None
