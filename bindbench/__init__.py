"""BindBench: compositional-binding benchmarks for vision-language models."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bindbench.evaluation import Evaluation, evaluate, open_benchmark

__version__ = "0.1.0"
__all__ = ["Evaluation", "evaluate", "open_benchmark"]


def __getattr__(name: str) -> Any:
    """Import what is public on first use, so that the command line starts at once."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from bindbench import evaluation

    return getattr(evaluation, name)
