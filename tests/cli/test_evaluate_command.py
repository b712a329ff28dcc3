"""``bindbench evaluate``: what it prints, and what it leaves in the store."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from api_server import ApiServer, always, answer
from command_line import call
from small_store import KEY, UNBUILT, SmallStore, small_store
from upath import UPath

from bindbench.cli.evaluate import options_from
from bindbench.errors import UserError
from bindbench.models.checks import RandomScorer
from bindbench.pipeline import leaderboard, model_scores
from bindbench.pipeline.spine import IdleEngine
from bindbench.reporting.numbers import percent
from bindbench.scoring.prompts import PROMPTS
from bindbench.storage.store import load


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> SmallStore:
    return small_store(tmp_path_factory.mktemp("evaluate"))


@pytest.fixture
def evaluate(store, monkeypatch):
    """Run the command on the small store."""
    monkeypatch.setenv("BINDBENCH_WORKERS", "1")
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str) -> int:
        where = ("--suite", store.file, "--store", store.root)
        return call(monkeypatch, "evaluate", *where, *arguments)

    return run


def test_the_table_holds_the_leaderboards_numbers(store, evaluate, capsys, caplog):
    caplog.set_level("INFO", "bindbench")
    assert evaluate("--model", "check:random") == 0
    out = capsys.readouterr().out
    context = store.context()
    artifact = model_scores.build_named(replace(context, engine=IdleEngine()), KEY, "check-random")
    assert f"Scores: {artifact.path}" in out
    assert f"Not built yet, left out: {UNBUILT}" in out
    assert f"{KEY}: {artifact.rows} images" in out
    assert f"model_scores {KEY}--check-random: 2/2 shards" in caplog.text
    board = leaderboard.build(context).read().to_pylist()
    board = [row for row in board if row["model"] == "check:random"]  # the other one is missing
    shown = [r for r in board if r["set"] == "all" and r["family"] in ("swap", "confusion")]
    assert len(shown) == 8
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for row in shown:
        family = {"swap": "Swap", "confusion": "Confusion"}[row["family"]]
        low, high = percent(row["low"]).rstrip("%"), percent(row["high"]).rstrip("%")
        accuracy, chance = percent(row["accuracy"]).rstrip("%"), percent(row["chance"]).rstrip("%")
        numbers = f"{family} {row['semantics']} {accuracy} {low}–{high} {chance}"
        assert any(numbers in line for line in lines), numbers
    assert out.count("50.0 ") >= 2  # the ceiling of paper mode


def test_nothing_finished_is_scored_again(evaluate, capsys, monkeypatch):
    assert evaluate("--model", "check:random") == 0
    first = capsys.readouterr().out
    monkeypatch.setattr(RandomScorer, "score", lambda *_: pytest.fail("scored again"))
    assert evaluate("--model", "check:random", "--benchmark", KEY) == 0
    assert capsys.readouterr().out.split("check:random")[1] == first.split("check:random")[1]


def test_json_has_every_row_and_place(store, evaluate, capsys):
    assert evaluate("--model", "check:oracle", "--json") == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    (run,) = found["runs"]
    assert (run["model"], run["batch_size"], run["prompt"]) == ("check:oracle", 5, None)
    place = run["scores"][KEY]
    artifact = store.context().store.current("model_scores", place["partition"])
    assert (str(artifact.path), artifact.fingerprint) == (place["path"], place["fingerprint"])
    strict = [r for r in run["rows"] if r["set"] == "all" and r["semantics"] == "strict"]
    assert {row["accuracy"] for row in strict} == {1.0}
    assert found["failures"] == {}
    assert KEY in captured.err  # how far it is


def test_a_damaged_shard_is_named_and_scored_again_only_when_asked(store, evaluate, capsys):
    assert evaluate("--model", "check:constant") == 0
    (shard, _) = sorted(Path(store.root).glob(f"small/model_scores/{KEY}--check-constant/*/*.pa*"))
    whole = shard.read_bytes()
    shard.write_bytes(whole[:100])
    assert evaluate("--model", "check:constant") == 1
    assert f"{shard} has 100 bytes" in "".join(capsys.readouterr().out.splitlines())
    assert evaluate("--model", "check:constant", "--repair") == 0
    assert shard.read_bytes() == whole


def test_a_benchmark_that_fails_is_named(evaluate, capsys, monkeypatch):
    def broken(self, requests):
        raise UserError("The weights are gone.")

    monkeypatch.setattr(RandomScorer, "score", broken)
    assert evaluate("--model", "check:random", "--batch-size", "2") == 1
    assert "The weights are gone." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "check:rondom"], "did you mean check:random"),
        (["--model", "random"], "write family:name@revision"),
        (["--model", "check:random", "--benchmark", UNBUILT], "is not built in the store"),
        (["--model", "check:random", "--benchmark", "color-n3"], "did you mean color-n2"),
        (["--model", "check:random", "--benchmark", "colour-n2"], "did you mean color-n2"),
        (["--model", "check:random", "--option", "dtype"], "not of the form name=value"),
        (["--model", "check:random", "--option", "dtype=x"], "Unknown field 'dtype'"),
        (["--model", "check:random", "--batch-size", "0"], "batch_size is 0"),
        (["--model", "check:random", "--workers", "0"], "give a number from 1 up"),
        (["--model", "check:random", "--prompts"], "has no prompt to vary"),
        (["--model", "check:random", "--suite", "nowhere.yaml"], "nowhere.yaml does not exist"),
    ],
)
def test_mistakes_are_one_sentence(evaluate, capsys, arguments, words):
    assert evaluate(*arguments) == 2
    said = capsys.readouterr().err
    assert words in " ".join(said.split())
    assert "Traceback" not in said


def test_a_store_with_nothing_built(store, evaluate, capsys, tmp_path):
    assert evaluate("--model", "check:random", "--store", str(tmp_path)) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"color-n2, position-n2 of suite small is not built in the store {tmp_path}" in said
    assert "run 'bindbench run --suite small' first" in said


@pytest.fixture(scope="module")
def llava(tmp_path_factory):
    """A tiny checkpoint of a generative model."""
    sys.path.append(str(Path(__file__).parent.parent / "models"))
    from hf_checkpoints import save_checkpoint

    return save_checkpoint("llava", tmp_path_factory.mktemp("llava"))


def test_three_prompts_of_a_generative_model(store, llava, evaluate, capsys):
    model = f"hf:{llava}"
    asked = ("--model", model, "--option", "image_free=false", "--prompts")
    assert evaluate(*asked, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    runs = {run["prompt"]: run for run in found["runs"]}
    assert {name: run["options"]["prompt"] for name, run in runs.items()} == PROMPTS
    paths = {run["scores"][KEY]["path"] for run in runs.values()}
    assert len(paths) == 3
    # Each prompt gives other likelihoods, and the numbers are those of the rows.
    sums = {name: scores_at(run["scores"][KEY]["path"]) for name, run in runs.items()}
    assert len({values[0] for values in sums.values()}) == 3
    for row in found["prompts"]:
        for name, run in runs.items():
            where = {k: row[k] for k in ("benchmark", "track", "family")}
            wanted = where | {"set": "all", "semantics": "strict", "readout": "score"}
            (same,) = [r for r in run["rows"] if r.items() >= wanted.items()]
            assert row["accuracy"][name]["accuracy"] == same["accuracy"]
            assert row["n_items"] == same["n_items"]
        shares = [pair["share"] for pair in row["pairs"]]
        assert len(shares) == 3
        assert row["agreement"]["share"] <= min(shares)
    # The prompt of the settings is the current one.
    partition = runs["describe"]["scores"][KEY]["partition"]
    current = store.context().store.current("model_scores", partition)
    assert str(current.path) == runs["describe"]["scores"][KEY]["path"]
    # In words: nothing is scored again.
    assert evaluate(*asked) == 0
    out = capsys.readouterr().out
    assert "All" in out and "Worst" in out
    assert all(f"Scores under the prompt {name!r}: " in out for name in PROMPTS)


def test_the_readouts_of_a_generative_model(llava, evaluate, capsys):
    assert evaluate("--model", f"hf:{llava}", "--option", "prompt=Describe the image.") == 0
    out = capsys.readouterr().out
    assert "Readouts" in out and "Blind" in out


def test_a_model_behind_a_server(evaluate, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path))
    with ApiServer(always(answer("A"))) as server:
        asked = ("--model", server.name, "--option", "rotations=2")
        prices = ("--option", "input_price=1", "--option", "output_price=10")
        assert evaluate(*asked, *prices) == 0
        out = capsys.readouterr().out
        count = server.count
        assert evaluate(*asked, *prices) == 0
        assert server.count == count > 0
    # Ten tokens are read and two written for each answer.
    cost = f"{count * (10 * 1 + 2 * 10) / 1e6:,.4g}"
    assert f"{count} answers, {10 * count} tokens read, {2 * count} written, cost {cost}" in out
    assert "; 0 questions without a readable answer" in out


def test_a_contrastive_model_has_no_prompt(evaluate, capsys, tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "clip"}')
    assert evaluate("--model", f"hf:{tmp_path}", "--prompts") == 2
    assert "prompt is for generative models" in " ".join(capsys.readouterr().err.split())


def scores_at(folder: str) -> list[float]:
    return load(UPath(folder)).read(["scores"]).to_pylist()[0]["scores"]


def test_options_are_json_where_they_are_json():
    texts = ["a=true", "b=0.5", 'c=["x"]', "d=bfloat16", "e=Say: what=this?", 'f="1"', "g="]
    assert options_from(texts) == {
        **{"a": True, "b": 0.5, "c": ["x"], "d": "bfloat16", "e": "Say: what=this?"},
        **{"f": "1", "g": ""},
    }
    with pytest.raises(UserError, match="'=x' is not of the form name=value"):
        options_from(["=x"])
