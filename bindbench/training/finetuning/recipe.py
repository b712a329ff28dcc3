"""What decides a fine-tuning. The defaults are the paper's (Auto-Comp, section 5 and A.9)."""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from bindbench.analysis.accuracy import Mode
from bindbench.suite import Strict
from bindbench.tasks import Track, get_benchmark

Negatives = Literal["swap", "confusion"]
NEGATIVES: tuple[Negatives, ...] = ("swap", "confusion")
BATCHES = {"softmax": 2048, "sigmoid": 4096}  # positives, by loss: CLIP and SigLIP
BETAS = 0.9, 0.98
Count = Annotated[int, Field(ge=1)]


class Recipe(Strict):
    """The model, the data, the negatives and the optimizer."""

    model: str
    options: dict[str, Any] = Field(default_factory=dict, description="of the model's family")
    benchmarks: Annotated[tuple[str, ...], Field(min_length=1, description="trained on")]
    tracks: Annotated[tuple[Track, ...], Field(min_length=1)] = ("minimal",)
    negatives: Annotated[tuple[Negatives, ...], Field(min_length=1)] = NEGATIVES
    semantics: Annotated[
        Mode, Field(description="strict: only false captions are negatives; paper: all others")
    ] = "strict"
    seeds: Annotated[Count, Field(description="trainings of each kind")] = 3
    hard: Annotated[Count, Field(description="hard negatives of a positive")] = 3
    samples: Annotated[int, Field(ge=2, description="of each benchmark")] = 5000
    split_seed: Annotated[int, Field(ge=0)] = 0
    steps: Annotated[Count, Field(description="at most")] = 5000
    batch: Annotated[
        Annotated[int, Field(ge=2)] | None, Field(description="positives; None: by the loss")
    ] = None
    chunk: Annotated[
        Count, Field(description="images or captions that are in memory at once with gradients")
    ] = 256
    rate: Annotated[float, Field(gt=0, description="the highest learning rate")] = 1e-6
    warm_up: Annotated[int, Field(ge=0, description="steps")] = 500
    weight_decay: Annotated[float, Field(ge=0, description="of matrices")] = 0.1
    check_every: Annotated[Count, Field(description="steps between validations")] = 100
    patience: Annotated[Count, Field(description="validations without a better one")] = 10
    precision: Annotated[
        Literal["float32", "bfloat16"], Field(description="of activations; weights are float32")
    ] = "float32"

    @field_validator("benchmarks", "tracks", "negatives")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value))

    @field_validator("benchmarks")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(get_benchmark(key).key for key in value)
