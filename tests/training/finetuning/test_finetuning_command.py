"""``bindbench finetune`` on tiny checkpoints: what it trains, writes, prints and refuses."""

import json
from dataclasses import replace

import hf_contrastive_checkpoints
import numpy as np
import pytest
import torch
from command_line import call
from finetuning_samples import fill
from hf_checkpoints import save_checkpoint
from nano_folders import tiny_folder
from safetensors.torch import load_file

from bindbench.models import registry
from bindbench.pipeline import finetuned
from bindbench.releases.record import joined, read_record
from bindbench.suite import RoleSettings
from bindbench.training.finetuning.batches import Dealer, TokenMemory
from bindbench.training.finetuning.loop import Training, rate_at, train
from bindbench.training.finetuning.parts import split
from bindbench.training.finetuning.preparing import prepare
from bindbench.training.finetuning.recipe import Recipe
from bindbench.training.finetuning.towers import load_towers

COUNTS = {"color-n1": 4, "color-n2": 40, "position-n2": 6}
SHORT = {"steps": 4, "check_every": 2, "batch": 8, "rate": 1e-3, "warm_up": 1}


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("tuned"), COUNTS)


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, str]:
    siglip, clip = (tmp_path_factory.mktemp(name) for name in ("siglip", "clip"))
    hf_contrastive_checkpoints.save("siglip", siglip)
    return {"siglip": f"hf:{siglip}", "clip": f"open_clip:{tiny_folder(clip, 'custom')}"}


def recipe(model: str, **fields) -> Recipe:
    return Recipe(**{"model": model, "benchmarks": ["color-n2"], **SHORT, **fields})


@pytest.fixture
def finetune(context, monkeypatch):
    monkeypatch.setenv("BINDBENCH_WORKERS", "1")
    monkeypatch.setenv("COLUMNS", "200")
    store = context.store.root
    where = ("--suite", f"{store.parent}/tuned.yaml", "--store", str(store))

    def run(*arguments: str) -> int:
        return call(monkeypatch, "finetune", "--benchmark", "color-n2", *where, *arguments)

    return run


@pytest.mark.parametrize("kind", ["siglip", "clip"])
def test_a_tiny_checkpoint_trains_and_is_a_model_like_any_other(
    kind, models, context, finetune, tmp_path, capsys
):
    short = ("--seeds", "2", "--steps", "2", "--check-every", "1", "--rate", "1e-3")
    assert finetune("--model", models[kind], "--out", str(tmp_path), *short) == 0
    out = capsys.readouterr().out
    assert "Extra" in out and "swap" in out and "Other object" in out
    result = json.loads((tmp_path / "finetuning.json").read_text())
    trainings = result["trainings"]
    assert [(t["negatives"], t["seed"]) for t in trainings] == [
        *(("swap", 0), ("confusion", 0)),
        *(("swap", 1), ("confusion", 1)),
    ]
    samples = result["split"]["training"]["color-n2"]
    assert {t["batch"] for t in trainings} == {samples}
    assert {t["batch_asked"] for t in trainings} == {4096 if kind == "siglip" else 2048}
    assert f"Batches of {samples} positives instead of" in out
    assert trainings[0]["samples_that_repeat_negatives"] == samples  # one swap, asked for three
    assert trainings[1]["samples_that_repeat_negatives"] == 0
    assert f"Swap: {samples} of {samples} samples have fewer than 3 negatives" in out
    # What is measured of the trained benchmark is what was held out; of others everything.
    rows = [r for r in result["rows"] if r["semantics"] == "strict" and r["family"] == "swap"]
    held_out = result["split"]["held_out"]["color-n2"]
    assert {(r["benchmark"], r["n_items"]) for r in rows} == {
        ("color-n2", held_out),
        ("position-n2", 6),
    }
    for row in rows:
        extra = row["gains"]["confusion"]["value"] - row["gains"]["swap"]["value"]
        assert row["extra"]["value"] == pytest.approx(extra)
    tuned = RoleSettings(model=trainings[0]["model"])
    scorer = registry.load("scorer", tuned, context.suite.profile.vocabularies)
    assert scorer.method == "similarity"
    # All is there: nothing is trained again.
    assert finetune("--model", models[kind], "--out", str(tmp_path), *short) == 0
    assert json.loads((tmp_path / "finetuning.json").read_text()) == result
    # Another setting in the same folder is refused.
    assert finetune("--model", models[kind], "--out", str(tmp_path), *short, "--hard", "2") == 2
    assert "other settings or data" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("kind", ["siglip", "clip"])
def test_training_moves_both_towers_temperature_and_bias(kind, models, context, tmp_path):
    asked = recipe(models[kind])
    prepared = prepare(context, asked, split(context, asked))
    training = Training("confusion", 0, tmp_path, "f", ["a"])
    record = train(prepared, asked, training, lambda line: None)
    assert record["steps"] == 4 and [c["step"] for c in record["checks"]] == [2, 4]
    (file,) = (tmp_path / "model").glob("*.safetensors")
    after = load_file(file)
    moved = {
        name for name, value in after.items() if not torch.equal(value, prepared.pretrained[name])
    }
    scales = {"logit_scale", "logit_bias"} if kind == "siglip" else {"logit_scale"}
    assert scales <= moved
    for tower in ("vision_model", "text_model") if kind == "siglip" else ("visual", "text"):
        assert any(name.startswith(tower) for name in moved)
    assert (tmp_path / "model" / "finetuning_scenes.json").read_text() == '[\n"a"\n]\n'
    assert not list(tmp_path.glob("*.pt*"))


class Killed(Exception):
    """Stands for a process that ends between two validations."""


@pytest.mark.parametrize("after", [1, 2])  # steps of the killed run behind its last state
def test_a_killed_run_goes_on_to_the_same_bytes(after, models, context, tmp_path, monkeypatch):
    asked = recipe(models["clip"], steps=6)
    prepared = prepare(context, asked, split(context, asked))
    whole, killed = (Training("swap", 3, tmp_path / n, "f", []) for n in ("whole", "killed"))
    expected = train(prepared, asked, whole, lambda line: None)
    own, steps = Dealer.deal, []

    def deal(self, step):
        steps.append(step)
        if len(steps) == 2 + after:
            raise Killed
        return own(self, step)

    monkeypatch.setattr(Dealer, "deal", deal)
    with pytest.raises(Killed):
        train(prepared, asked, killed, lambda line: None)
    monkeypatch.setattr(Dealer, "deal", own)
    assert train(prepared, asked, killed, lambda line: None) == expected
    files = {p.relative_to(whole.folder) for p in whole.folder.rglob("*") if p.is_file()}
    assert {p.relative_to(killed.folder) for p in killed.folder.rglob("*") if p.is_file()} == files
    for file in files:
        assert (whole.folder / file).read_bytes() == (killed.folder / file).read_bytes(), file


def test_it_stops_when_validation_has_long_not_become_better(
    models, context, tmp_path, monkeypatch
):
    from bindbench.training.finetuning import loop
    from bindbench.training.finetuning.checking import Checked

    given = iter([Checked(0.5, 1), Checked(0.5, 0.5), Checked(0.4, 0), Checked(0.5, 0.6)])
    monkeypatch.setattr(loop, "check", lambda *_: next(given))
    asked = recipe(models["clip"], steps=9, check_every=1, patience=2)
    prepared = prepare(context, asked, split(context, asked))
    record = train(prepared, asked, Training("swap", 0, tmp_path, "f", []), lambda line: None)
    assert (record["steps"], record["best_step"]) == (4, 2)


@pytest.mark.parametrize("kind", ["siglip", "clip"])
def test_chunks_have_the_gradients_of_the_whole_batch(kind, models, context):
    asked = recipe(models[kind])
    parts = split(context, asked)
    prepared = prepare(context, asked, parts)
    batch = Dealer(prepared.samples, asked, "confusion", 7, 0).deal(0)
    pixels = {name: rows[torch.from_numpy(batch.rows)] for name, rows in prepared.pixels.items()}
    found = []
    for chunk in (1000, 3):
        towers = load_towers(RoleSettings(model=models[kind]), context.lexicon, chunk, "float32")
        tokens = TokenMemory(towers.tokens).get(batch.texts)
        loss = towers.backward(pixels, tokens, batch.order, batch.excluded)
        found.append((loss, {n: p.grad for n, p in towers.model.named_parameters()}))
    (whole, gradients), (chunked, others) = found
    assert chunked == pytest.approx(whole, rel=1e-5)
    assert sum(g is not None for g in gradients.values()) > 20
    for name, gradient in gradients.items():
        if gradient is not None:
            torch.testing.assert_close(others[name], gradient, rtol=1e-3, atol=1e-5)


def test_training_sees_the_inputs_that_evaluation_sees(models, context):
    words = context.suite.profile.vocabularies
    for model in models.values():
        towers = load_towers(RoleSettings(model=model), context.lexicon, 4, "float32")
        scorer = registry.load("scorer", RoleSettings(model=model), words)
        texts = ["a red cup", "A blue chair, and a red cup on a white background."]
        rows = towers.embeddings(towers.text_rows, TokenMemory(towers.tokens).get(texts))
        np.testing.assert_allclose(rows.numpy(), scorer.encoders.encode_texts(texts), atol=1e-6)
        image = np.random.default_rng(0).integers(0, 256, (40, 30, 3), dtype=np.uint8)
        rows = towers.embeddings(towers.image_rows, towers.pixels(iter([image])))
        np.testing.assert_allclose(rows.numpy(), scorer.encoders.encode_images([image]), atol=1e-6)


def test_mixed_precision_keeps_float32_weights(models, context, tmp_path):
    asked = recipe(models["clip"], precision="bfloat16", steps=2)
    prepared = prepare(context, asked, split(context, asked))
    train(prepared, asked, Training("swap", 0, tmp_path, "f", []), lambda line: None)
    (file,) = (tmp_path / "model").glob("*.safetensors")
    assert {v.dtype for v in load_file(file).values() if v.is_floating_point()} == {torch.float32}


def test_the_rate_warms_up_and_falls_as_half_a_cosine():
    asked = recipe("nano:clip", steps=10, warm_up=2, rate=1.0)
    rates = [rate_at(step, asked) for step in range(10)]
    assert rates[:3] == [0.5, 1.0, 1.0]
    assert rates[6] == pytest.approx(0.5)
    assert rates[2:] == sorted(rates[2:], reverse=True)


def test_the_asset_makes_models_that_are_evaluated_like_any_other(models, context):
    section = {"model": models["clip"], "benchmarks": ["color-n2"], **SHORT, "seeds": 1}
    tuned = replace(context, suite=context.suite.model_copy(update={"finetuning": section}))
    artifact = finetuned.build(tuned)
    rows = artifact.read().to_pylist()
    assert {row["change"] for row in rows} == {"swap", "confusion", "extra"}
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    names = [s.model for s in joined(tuned.suite, read_record(tuned.store)).profile.scorers]
    assert names[:1] == ["check:random"]
    assert [name.rsplit("/", 2)[-2] for name in names[1:]] == ["swap-seed0", "confusion-seed0"]
    assert finetuned.build(tuned).digest == artifact.digest
    assert [s.model for s in joined(tuned.suite, read_record(tuned.store)).profile.scorers] == names


@pytest.mark.parametrize("model", ["nano:vlm", "check:random", "llava"])
def test_a_model_without_a_text_tower(model, finetune, tmp_path, capsys):
    if model == "llava":
        model = f"hf:{save_checkpoint('llava', tmp_path / 'llava')}"
    assert finetune("--model", model, "--out", str(tmp_path / "out")) == 2
    assert "has no text tower to fine-tune" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--negatives", "swop"], "negatives"),
        (["--benchmark", "relative_size-n2"], "relative_size-n2 of suite tuned is not built"),
        (["--benchmark", "color-n1"], "color-n1 has no negatives"),
        (["--option", "dtype=bfloat16"], "weights are trained in float32"),
        (["--steps", "0"], "steps"),
        (["--rate", "1e30", "--steps", "3", "--warm-up", "0"], "set a lower rate than"),
    ],
)
def test_mistakes_are_one_sentence(arguments, words, models, finetune, tmp_path, capsys):
    out = ("--out", str(tmp_path))
    assert finetune("--model", models["clip"], *out, *arguments) == 2
    said = capsys.readouterr().err
    assert words in " ".join(said.split())
    assert "Traceback" not in said


def test_a_folder_that_no_model_can_be_named_by(finetune, models, tmp_path, capsys):
    assert finetune("--model", models["clip"], "--out", str(tmp_path / "a b")) == 2
    assert "a model's name can't" in " ".join(capsys.readouterr().err.split())
    assert finetuned.RESULT == "finetuning.json"
