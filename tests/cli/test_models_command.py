"""``bindbench models`` and its JSON."""

import json

import huggingface_hub.constants
import pytest
from command_line import call

from bindbench.cli.models import models_table
from bindbench.errors import UserError
from bindbench.models.families import FAMILIES
from bindbench.models.weights import WEIGHTS


def test_every_family_is_listed_with_what_it_needs(monkeypatch, capsys):
    assert call(monkeypatch, "models") == 0
    out = capsys.readouterr().out
    for family in FAMILIES.values():
        assert f"{family.name}: {family.summary}" in out
        if family.role == "scorer":
            assert f"  scored by: {family.scored}\n" in out
    assert "names: check:constant, check:random, check:oracle" in out
    assert "the weights of validator (shipped, 3.4 MB)" in out
    assert "dtype=float32" in out


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda f: f"{f.role}-{f.name}")
def test_a_scorer_says_how_it_scores_and_an_open_family_what_a_name_is(family):
    assert family.summary
    assert bool(family.scored) == (family.role == "scorer")
    assert family.models or family.named


def test_json(monkeypatch, capsys):
    assert call(monkeypatch, "models", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    families = {(f["role"], f["family"]): f for f in found["families"]}
    assert set(families) == set(FAMILIES)
    mitsuba = families["generator", "mitsuba"]
    assert mitsuba["options"]["resolution"]["default"] == 128
    assert mitsuba["options"]["faults"]["default"] == {}
    validator = families["detector", "pixels"]["weights"]["validator"]
    assert validator["where"] == "shipped"
    assert validator["bytes"] == (WEIGHTS / "validator/model.safetensors").stat().st_size
    assert found == models_table()


def test_one_family_in_full(monkeypatch, capsys):
    assert call(monkeypatch, "models", "--family", "open_clip") == 0
    out = capsys.readouterr().out
    assert "\n    open_clip:ViT-B-32/laion2b_s34b_b79k\n" in out
    assert "\n    architecture  of a checkpoint file without a configuration\n" in out
    assert "\n  options:\n" in out
    assert "check:" not in out


def test_an_unknown_family():
    with pytest.raises(UserError, match="Unknown family 'openclip': did you mean open_clip"):
        models_table("openclip")


def test_the_models_in_the_cache(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    call(monkeypatch, "models")
    assert f"No model is in the Hugging Face cache {tmp_path}" in capsys.readouterr().out
    (tmp_path / "models--org--mine/snapshots/abc").mkdir(parents=True)
    call(monkeypatch, "models")
    assert f"In the Hugging Face cache {tmp_path}: org/mine" in capsys.readouterr().out
