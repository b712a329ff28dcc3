"""BindBench: compositional-binding benchmarks for vision-language models."""

__version__ = "0.1.0"
