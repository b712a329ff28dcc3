"""The code location of BindBench: loads, merges and applies policy."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from dagster import Definitions, in_process_executor, load_assets_from_modules

from assets import agreement, concepts, drift, evaluation, images
from assets.checks import asset_checks
from assets.conme import conme_assets
from assets.conme_results import conme_result_assets
from assets.faithfulness import faithfulness_assets
from assets.finetuning import finetuning_assets
from assets.instabind import instabind_assets
from assets.jobs import jobs
from assets.matching import matching_assets
from resources.bench import (
    BenchResource,
    EngineResource,
    StoreResource,
    default_store,
    default_workers,
)
from resources.roles import (
    DetectorResource,
    GeneratorResource,
    JudgeResource,
    ScorersResource,
    SecondJudgeResource,
    WriterResource,
)
from resources.suite import current_suite
from sensors.alerts import alerts
from sensors.automation import automation
from sensors.drift import weekly_drift
from sensors.models import model_releases

profile = current_suite().profile
twice = (
    {"second_judge": SecondJudgeResource.of(profile.second_judge)} if profile.second_judge else {}
)

defs = Definitions(
    assets=[
        *load_assets_from_modules(
            [concepts, images, *([agreement] if twice else []), evaluation, drift]
        ),
        *matching_assets,
        *faithfulness_assets,
        *instabind_assets,
        *conme_assets,
        *conme_result_assets,
        *finetuning_assets,
    ],
    asset_checks=asset_checks,
    jobs=jobs,
    sensors=[model_releases, automation, alerts],
    schedules=[weekly_drift],
    executor=in_process_executor,  # the engine has worker processes of its own
    resources={
        "bench": BenchResource(
            store=StoreResource(root=default_store()),
            engine=EngineResource(workers=default_workers()),
        ),
        "writer": WriterResource.of(profile.writer),
        "generator": GeneratorResource.of(profile.generator),
        "detector": DetectorResource.of(profile.detector),
        "judge": JudgeResource.of(profile.judge),
        **twice,
        "scorers": ScorersResource(),
    },
)
