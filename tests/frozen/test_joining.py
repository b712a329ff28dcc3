"""One leaderboard of several copies of a release, and the protocols that it does not mix."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from frozen_samples import KEY, build, cell, swap_wins
from typer.testing import CliRunner

from bindbench.cli.main import app
from bindbench.concepts import content_id
from bindbench.errors import UserError
from bindbench.frozen import errata
from bindbench.frozen.checksums import verify
from bindbench.frozen.joining import joined_rows
from bindbench.frozen.release import Release, make
from bindbench.pipeline import model_scores
from bindbench.semantics import FALSE
from bindbench.storage.datasets import Shard
from bindbench.storage.datasets import build as build_artifact

METHOD = "log-likelihood by token tree; self-test passed"


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "cheap"
    make(build(tmp_path_factory.mktemp("store")), "1.0.0", folder, "As you like.\n")
    return folder


@pytest.fixture
def copies(frozen, tmp_path):
    """Two copies of the release."""
    return [Release.open(shutil.copytree(frozen, tmp_path / name)) for name in ("one", "two")]


def score(release, model, method=METHOD, code=model_scores.CODE_VERSION, **options):
    """Give a release the scores of another model: those of check:random, turned round."""
    source = release.context.current("model_scores", f"{KEY}--check-random")
    scorer = {"model": model, "batch_size": 1, "options": {"prompt": "Describe it."} | options}
    settings = source.settings | {"scorer": scorer, "code": code}

    def turned(table):
        values = [[-v for v in row] for row in table["scores"].to_pylist()]
        at = table.schema.names.index
        table = table.set_column(at("scores"), table.schema.field("scores"), pa.array(values))
        methods = pa.array([method] * len(table))
        return table.set_column(at("method"), table.schema.field("method"), methods)

    build_artifact(
        release.context.store,
        "model_scores",
        f"{KEY}--{model.replace(':', '-')}",
        schema=source.read_shard(0).schema,
        settings=settings,
        shards=[Shard(content_id([settings, i]), i) for i in range(len(source.shards))],
        function=lambda i: turned(source.read_shard(i)),
        engine=release.context.engine,
        summarize=lambda artifact: source.summary | {"items": artifact.rows},
    )


def test_scores_of_all_copies_stand_on_one_leaderboard(copies):
    score(copies[0], "hf:a")
    score(copies[1], "hf:b", method="log-likelihood by copied prefix")
    rows = joined_rows(copies)
    models = list(dict.fromkeys(row["model"] for row in rows if row["n_items"]))
    assert models == ["check:constant", "check:random", "check:oracle", "hf:a", "hf:b"]
    where = {"benchmark": KEY, "track": "minimal", "set": "all", "readout": "score"}
    where |= {"family": "confusion", "semantics": "strict"}
    for model, copy in (("hf:a", copies[0]), ("hf:b", copies[1])):
        wins = swap_wins(copy.context, KEY, model.replace(":", "-"), "minimal")
        found = cell(rows, model=model, **where)
        assert (found["n_items"], found["accuracy"]) == (len(wins), np.mean(wins))


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({}, {"prompt": "Is it?"}, ("prompt", "'Describe it.'", "'Is it?'")),
        ({}, {"method": "choice in up to 3 orders"}, ("method", "'log-likelihood'", "'choice")),
        ({"mode": "choice"}, {"mode": "yes"}, ("mode", "'choice'", "'yes'")),
        ({}, {"code": "0"}, ("code version", "'0'", f"'{model_scores.CODE_VERSION}'")),
    ],
)
def test_protocols_are_not_mixed(copies, first, second, said):
    score(copies[0], "hf:a", **first)
    score(copies[1], "hf:b", **second)
    with pytest.raises(UserError) as caught:
        joined_rows(copies)
    assert all(word in str(caught.value) for word in said), caught.value
    assert "hf:a" in str(caught.value) or "code" in str(caught.value)


def test_two_scores_of_one_model_must_be_the_same(copies):
    score(copies[0], "hf:a")
    score(copies[1], "hf:a")
    assert joined_rows(copies)
    score(copies[1], "hf:a", method="log-likelihood by copied prefix", device="cuda")  # new bytes
    with pytest.raises(UserError, match="scores of hf:a"):
        joined_rows(copies)


def test_another_version_is_refused_by_name(copies):
    ids = copies[1].context.current("negatives", KEY).read()["concept_id"].to_pylist()
    corrected = errata.add(copies[1], KEY, ids[:1], "wrong")
    with pytest.raises(UserError, match=r"release of .*'cheap 1.0.0\+e1'.*'cheap 1.0.0'"):
        joined_rows([copies[0], corrected])


def test_an_erratum_reaches_scores_that_were_added(copies):
    score(copies[0], "hf:a")
    rows = copies[0].context.current("negatives", KEY).read().to_pylist()
    known = next(r for r in rows if FALSE in np.frombuffer(r["semantics"], np.int8))
    corrected = errata.add(copies[0], KEY, [known["concept_id"]], "wrong")
    wins = swap_wins(corrected.context, KEY, "hf-a", "minimal")
    assert len(wins) < sum(row["track"] == "minimal" for row in rows)
    where = {"benchmark": KEY, "track": "minimal", "set": "all", "readout": "score"}
    where |= {"family": "confusion", "semantics": "strict", "model": "hf:a"}
    found = cell(joined_rows([corrected]), **where)
    assert (found["n_items"], found["accuracy"]) == (len(wins), np.mean(wins))


def test_a_model_of_the_release_is_not_scored_again(copies):
    ids = copies[0].context.current("negatives", KEY).read()["concept_id"].to_pylist()
    corrected = errata.add(copies[0], KEY, ids[:1], "wrong")
    context = corrected.context
    stored = context.store.current("model_scores", f"{KEY}--check-random")
    assert model_scores.build_named(context, KEY, "check-random").fingerprint == stored.fingerprint
    assert verify(corrected.folder)


def test_the_commands(copies, tmp_path):
    folder, run = str(copies[0].folder), CliRunner()

    def call(*words):
        return run.invoke(app, ["release", *words], catch_exceptions=False)

    assert "is intact" in call("verify", folder).output
    concept = copies[0].context.current("negatives", KEY).read()["concept_id"][0].as_py()
    given = ("--benchmark", KEY, "--concept", concept, "--reason", "It is blue.")
    assert "1.0.0+e1" in call("erratum", "add", folder, *given).output
    assert "It is blue." in call("verify", folder).output
    rows = json.loads(call("leaderboard", folder, "--json").stdout)
    assert {row["model"] for row in rows} == {"check:constant", "check:random", "check:oracle"}
    out = tmp_path / "tables.json"
    call("tables", folder, "--format", "json", "--out", str(out))
    assert json.loads(out.read_text())
