"""Whether models behind servers still answer as they did."""

from datetime import UTC, datetime

from dagster import Config, MaterializeResult, asset
from pydantic import Field

from assets.evaluation import GROUP
from assets.metadata import result
from bindbench.releases import drift as drift_stage
from resources.bench import BenchResource


class DriftConfig(Config):
    """What a check is called."""

    label: str = Field(
        default="",
        description="Of this check; the same label asks nothing twice. Empty: today's date (UTC).",
    )


@asset(group_name=GROUP, kinds={"parquet", "llm"}, code_version=drift_stage.CODE_VERSION)
def api_drift(config: DriftConfig, bench: BenchResource) -> MaterializeResult:
    """How many choices of models behind servers changed since they were scored."""
    label = config.label or f"{datetime.now(UTC):%Y-%m-%d}"
    artifact = drift_stage.build(bench.context(), label)
    return result(artifact, **drift_stage.worst(artifact))
