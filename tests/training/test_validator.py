import json

import numpy as np
import pytest
import torch
from in_this_process import InThisProcess

from bindbench.models.pixel_network import load
from bindbench.training import validator_data
from bindbench.training.validator import palette_of, train_validator
from bindbench.training.validator_data import Drawn, Plan, SceneSpec, embedded_lexicon


def flat_scene(spec: SceneSpec, plan: Plan) -> Drawn:
    """Colored squares in a row: what the concept says, without a ray tracer."""
    image = np.full((128, 128, 3), 235, dtype=np.uint8)
    instances = np.zeros((128, 128), dtype=np.int8)
    colors = np.full((128, 128), -1, dtype=np.int8)
    nouns = np.full(6, -1, dtype=np.int16)
    for k, noun in enumerate(spec.concept.objects):
        color = (spec.seed // 20**k) % 20
        place = slice(40, 70), slice(5 + 40 * k, 35 + 40 * k)
        image[place] = plan.lexicon.colors.entries[color].srgb
        instances[place], colors[place], nouns[k] = k + 1, color, plan.nouns.index(noun)
    return Drawn(image, instances, colors, nouns)


@pytest.fixture
def flat(monkeypatch):
    monkeypatch.setattr(validator_data, "draw", flat_scene)
    monkeypatch.setattr(validator_data, "ProcessPoolExecutor", InThisProcess)


def test_training_writes_weights_that_follow_from_the_seed(flat, tmp_path):
    lines: list[str] = []
    for run, workers in (("a", 1), ("b", 2)):
        train_validator(
            tmp_path / run,
            cache=tmp_path / f"cache {run}",
            seed=3,
            scenes=50,
            validation_scenes=10,
            steps=3,
            workers=workers,
            report=lines.append,
        )
    weights = [(tmp_path / run / "model.safetensors").read_bytes() for run in "ab"]
    assert weights[0] == weights[1]
    trained = load(tmp_path / "a")
    plan = Plan(embedded_lexicon(), 3)
    assert trained.nouns == plan.nouns
    assert trained.colors == plan.colors
    config = json.loads((tmp_path / "a" / "config.json").read_text())
    assert (config["step"], config["seed"], config["scenes"]) == (3, 3, 50)
    assert any("3/3" in line and "min left" in line for line in lines)
    assert any(line.startswith("thresholds:") for line in lines)
    assert all(torch.isfinite(p).all() for p in trained.network.parameters())


def test_metals_are_no_paint():
    palette = palette_of(embedded_lexicon())
    assert palette.size == 20
    names = embedded_lexicon().colors.names
    assert {names[i] for i in range(20)} - {names[i] for i in palette.paint} == {"gold", "silver"}
