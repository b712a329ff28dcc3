"""How the assets are partitioned: by benchmark, and by benchmark and model for the scores."""

from dagster import (
    DynamicPartitionsDefinition,
    MultiPartitionsDefinition,
    StaticPartitionsDefinition,
)

from resources.suite import current_suite

benchmarks = StaticPartitionsDefinition(list(current_suite().benchmarks))
models = DynamicPartitionsDefinition(name="model")
scores = MultiPartitionsDefinition({"benchmark": benchmarks, "model": models})
