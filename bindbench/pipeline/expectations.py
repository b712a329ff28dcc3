"""Great Expectations behind one function. Importing it takes seconds: see ``quality.expect``."""

import functools
import logging
import os
from collections.abc import Sequence

os.environ["GX_ANALYTICS_ENABLED"] = "false"

import great_expectations as gx
import pandas as pd
from great_expectations.core.batch_definition import BatchDefinition
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.core.expect_column_values_to_be_between import (
    ExpectColumnValuesToBeBetween,
)

from bindbench.pipeline.limits import Limit

logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)


@functools.cache
def _frames() -> BatchDefinition:
    """Return this process's definition of a frame to validate; making one costs a folder."""
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("rows").add_dataframe_asset("frame")
    return asset.add_batch_definition_whole_dataframe("all")


def failures(frame: pd.DataFrame, limits: Sequence[Limit]) -> list[str]:
    """Return one sentence for each limit that some value of its column breaks."""
    suite = gx.ExpectationSuite(
        name="limits",
        expectations=[
            ExpectColumnValuesToBeBetween(
                column=limit.column,
                min_value=None if limit.low == float("-inf") else limit.low,
                max_value=None if limit.high == float("inf") else limit.high,
            )
            for limit in limits
        ],
    )
    outcome = _frames().get_batch({"dataframe": frame}).validate(suite)
    return [_sentence(result) for result in outcome.results if not bool(result.success)]


def _sentence(result: "gx.core.ExpectationValidationResult") -> str:
    config = result.expectation_config
    assert config is not None
    fields = config.kwargs
    seen = result.result.get("partial_unexpected_list", [])[:3]
    low, high = fields.get("min_value"), fields.get("max_value")
    return f"{fields['column']} is {', '.join(map(str, seen))}: it must lie in [{low}, {high}]"
