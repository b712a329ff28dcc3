"""A suite's section ``conme``: image sets, panels of models, and how they converse."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from bindbench.strict import RoleSettings, Strict
from bindbench.tasks import Track

AGENT = "agent:renders"  # the strong model that is the suite's detector and judge
WORDING = "agent:wording"  # the labeller that reads the forms of its questions
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$")]
Mode = Literal["generate", "letter", "text", "vqa"]
MODES: tuple[Mode, ...] = ("generate", "letter", "text", "vqa")
# Blind: the mode of the filter, without the image.
Evaluation = Literal["generate", "letter", "text", "vqa", "blind"]
EVALUATIONS: tuple[Evaluation, ...] = (*MODES, "blind")


class ConmeSet(Strict):
    """Where the images of one set come from."""

    source: Annotated[
        Literal["validated", "folder", "dataset", "sugarcrepe"],
        Field(description="a benchmark of the suite, files, a Hugging Face dataset, or SugarCrepe"),
    ]
    count: Annotated[int, Field(ge=1, description="images; the first ones")] | None = None
    benchmark: Annotated[str, Field(description="validated: one of the suite's benchmarks")] = ""
    track: Annotated[Track, Field(description="validated: of its images")] = "minimal"
    images: Annotated[str, Field(description="folder: the folder; sugarcrepe: COCO's val2017")] = ""
    path: Annotated[str, Field(description="dataset: a folder, or the name of one on the hub")] = ""
    revision: Annotated[str, Field(description="dataset: of the hub; empty: the newest")] = ""
    split: Annotated[str, Field(description="dataset: empty if it has none")] = ""
    column: Annotated[str, Field(description="dataset: of the images")] = "image"
    annotations: Annotated[str, Field(description="sugarcrepe: the folder of its JSON")] = ""
    partition: Annotated[str, Field(description="sugarcrepe: one of its seven")] = ""


class Panel(Strict):
    """The models of one conversation."""

    strong: Annotated[
        RoleSettings, Field(description=f"an answerer that asks, or {AGENT} for our own renders")
    ]
    targets: Annotated[
        tuple[RoleSettings, ...], Field(min_length=2, description="the answerers that are examined")
    ]


class Tokens(Strict):
    """The most that a model may write (ConMe, section 4)."""

    description: Annotated[int, Field(ge=1)] = 500
    questions: Annotated[int, Field(ge=1, description="of the strong model's question sets")] = 2000
    choice: Annotated[int, Field(ge=1, description="of a letter")] = 16
    answer: Annotated[int, Field(ge=1, description="of an open answer")] = 500


class ConmeSettings(Strict):
    """Image sets and panels, each of which converses about each set, and who is evaluated."""

    sets: Annotated[dict[Name, ConmeSet], Field(min_length=1)]
    panels: Annotated[dict[Name, Panel], Field(min_length=1)]
    questions: Annotated[int, Field(ge=1, description="in a round, for each image")] = 10
    negatives: Annotated[int, Field(ge=1, description="wrong answers to each question")] = 3
    attempts: Annotated[
        int, Field(ge=1, le=10, description="times to ask for questions until they can be read")
    ] = 3
    tokens: Tokens = Tokens()
    filter: Annotated[
        Mode, Field(description="of the modes, that in which targets choose in both rounds")
    ] = "generate"
    modes: Annotated[
        tuple[Evaluation, ...],
        Field(min_length=1, description="in which models are evaluated; blind: without the image"),
    ] = EVALUATIONS
    models: Annotated[
        tuple[RoleSettings, ...], Field(description="answerers that are evaluated as well")
    ] = ()
    labeller: Annotated[
        RoleSettings | None,
        Field(
            description=f"an answerer that finds each sample's category, or {WORDING}; null: none"
        ),
    ] = None
    taxonomies: Annotated[tuple[str, ...], Field(description="built-in names or YAML files")] = (
        "formats",
        "topics",
    )
    rejected: Annotated[
        float, Field(ge=0, le=1, description="the most of a set's images without questions")
    ] = 0.5
    shard_size: Annotated[int, Field(ge=1, description="images in a shard")] = 16

    @field_validator("modes")
    @classmethod
    def _once(cls, value: tuple[Evaluation, ...]) -> tuple[Evaluation, ...]:
        return tuple(dict.fromkeys(value))
