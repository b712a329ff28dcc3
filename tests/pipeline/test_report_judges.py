"""What the report says of two judges, and of the kind of a model, from small artifacts."""

import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import yaml
from PIL import Image

from bindbench.analysis.resampling import blaker
from bindbench.pipeline.report_judges import SHOWN, agreement_rows, disagreements, opinion
from bindbench.pipeline.report_kinds import kind_of
from bindbench.suite import RoleSettings

# Verdicts of both judges on the images of two benchmarks; the pictures tell them apart.
VERDICTS = {
    "color-n2": [("pass", "pass")] * 3 + [("pass", "label")] * 6 + [("unsure", "pass")],
    "position-n2": [("label", "label"), ("label", "pass")],
}


def artifact(rows, **more) -> Any:
    """Return what reads like an artifact of one shard."""
    table = pa.Table.from_pylist(rows)
    return SimpleNamespace(
        read=lambda columns=None: table.select(columns) if columns else table,
        read_shard=lambda i, columns=None: table.select(columns) if columns else table,
        shards=[0],
        **more,
    )


def png(shade):
    out = io.BytesIO()
    Image.fromarray(np.full((8, 8, 3), shade, np.uint8)).save(out, "PNG")
    return out.getvalue()


@pytest.fixture(scope="module")
def artifacts():
    found = {}
    for key, verdicts in VERDICTS.items():
        places = [
            {"index": i, "track": "minimal", "concept_id": f"{key}{i}", "scene_id": f"s{i}"}
            for i in range(len(verdicts))
        ]
        found[f"second_opinion/{key}"] = artifact(
            [
                at | {"first": first, "label": second, "reason": f"second on {i}", "answers": []}
                for i, (at, (first, second)) in enumerate(zip(places, verdicts, strict=True))
            ]
        )
        found[f"validated/{key}"] = artifact(
            [at | {"caption": f"c{i}", "reason": f"first on {i}"} for i, at in enumerate(places)]
        )
        found[f"images/{key}"] = artifact(
            [at | {"image": {"bytes": png(20 * i), "path": ""}} for i, at in enumerate(places)]
        )
    return found


def test_each_direction_has_its_own_interval(artifacts):
    color, position, both = agreement_rows([*VERDICTS, "relative_size-n2"], artifacts)
    assert (color["only_first"], color["only_second"]) == (0.6, 0.1)
    assert (color["first_low"], color["first_high"]) == blaker(6, 10, 0.95)
    assert (color["second_low"], color["second_high"]) == blaker(1, 10, 0.95)
    assert (position["only_first"], position["only_second"]) == (0, 0.5)
    assert (both["benchmark"], both["images"]) == ("all", 12)
    assert both["only_second"] == 2 / 12 and both["first_low"] < 0.5 < both["first_high"]


def test_a_disagreement_says_who_failed_the_image_and_why(artifacts):
    found = list(disagreements(VERDICTS, artifacts))
    shown = [(d.benchmark, d.caption, d.first_passes, d.verdict, d.reason) for d in found]
    assert shown == [
        *(("color-n2", f"c{i}", True, "label", f"second on {i}") for i in range(3, 3 + SHOWN)),
        ("color-n2", "c9", False, "unsure", "first on 9"),
        ("position-n2", "c1", False, "label", "first on 1"),
    ]
    shades = [int(np.asarray(Image.open(io.BytesIO(d.image)).convert("L"))[0, 0]) for d in found]
    assert shades == [60, 80, 100, 120, 180, 20]


def test_verdicts_on_older_images_are_left_out(monkeypatch):
    monkeypatch.setattr("bindbench.models.registry.describe", lambda role, judge: judge.model)
    judge = RoleSettings(model="knowing:second")
    settings = {
        "code": "1",
        "second_judge": judge.model,
        "inputs": {"validated": "v1", "images": "i1"},
    }

    def context(images="i1", second: RoleSettings | None = judge) -> Any:
        digests = {"validated": "v1", "images": images}
        return SimpleNamespace(
            suite=SimpleNamespace(profile=SimpleNamespace(second_judge=second)),
            store=SimpleNamespace(current=lambda *_: SimpleNamespace(settings=settings)),
            current=lambda name, key: SimpleNamespace(digest=digests[name]),
        )

    assert opinion(context(), "color-n2") is not None
    assert opinion(context(images="i2"), "color-n2") is None
    assert opinion(context(second=RoleSettings(model="knowing:third")), "color-n2") is None
    assert opinion(context(second=None), "color-n2") is None


@pytest.mark.parametrize(
    ("model", "method", "columns", "kind"),
    [
        ("open_clip:ViT-B-32/x", "similarity", ["scores"], "contrastive"),
        ("nano:vlm", "shared prefix", ["scores", "tokens"], "generative"),
        ("api:http://127.0.0.1:8000/v1#m", "choice in up to 2 orders", ["scores"], "generative"),
        ("check:random", "check", ["scores"], "other"),
    ],
)
def test_the_kind_of_a_model_follows_how_it_scores(model, method, columns, kind):
    scores = artifact([{"method": method}] * 2, summary={"columns": columns})
    assert kind_of(model, scores) == kind


PARENTS = """
import sys
sys.path.insert(0, sys.argv[1])
import definitions
report = definitions.defs.resolve_asset_graph().get(definitions.evaluation.report.key)
print(*sorted(key.to_user_string() for key in report.parent_keys))
"""


def test_the_report_follows_the_second_judge(tmp_path, monkeypatch):
    suite = tmp_path / "twice.yaml"
    overrides = {"second_judge": {"model": "nano:vlm"}}
    suite.write_text(yaml.safe_dump({"name": "twice", "concepts": 4, "overrides": overrides}))
    monkeypatch.setenv("BINDBENCH_SUITE", str(suite))
    project = str(Path(__file__).parent.parent.parent)
    command = [sys.executable, "-c", PARENTS, project]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    parents = ["filter_shift", "leaderboard", "second_opinion", "tables", "validated"]
    assert done.stdout.split() == parents
