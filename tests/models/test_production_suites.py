"""The suites paper, turbo and api as they are, with tiny models: to the leaderboard and report."""

import hashlib
import importlib
import json
import re
import sys
from collections import Counter
from contextlib import contextmanager

import click
import pytest
import typer
import yaml
from api_server import DROPPED, MALFORMED, ApiServer, Asked, Reply, answer, error
from dagster import DagsterInstance, MultiPartitionKey
from suite_stand_ins import (
    FEW,
    SUITES,
    Checkpoints,
    Truth,
    digest,
    outputs_by_hand,
    stand_in_suite,
    words_of,
)

from bindbench.cli.main import app
from bindbench.cli.places import suite_of
from bindbench.concepts import sample_concepts
from bindbench.engine.base import ShardError
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.diffusers_options import KNOWN
from bindbench.models.family import ModelName
from bindbench.pipeline import spine
from bindbench.pipeline.base import Context
from bindbench.pipeline.images import decode_png
from bindbench.pipeline.preflight import check_suite
from bindbench.storage.store import Store
from bindbench.suite import Suite, load_suite, resolve_suite
from bindbench.tasks import BENCHMARKS

KEYS = FEW["benchmarks"]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory, lexicon):
    with words_of(lexicon):
        yield Checkpoints(tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture(scope="module")
def truth(lexicon):
    truth = Truth(lexicon)
    with outputs_by_hand(truth):
        yield truth


def built(context: Context) -> dict:
    """Build every asset of a suite; return them by asset/partition."""
    done = spine.build_vocabulary(context)
    for key in context.suite.benchmarks:
        done += spine.build_benchmark(context, key)
        for settings in context.suite.profile.scorers:
            done += spine.score_model(context, key, ModelName.parse(settings.model).slug)
    done += spine.summarize(context)
    return {f"{a.asset}/{a.partition}": a for a in done}


def rows_of(done: dict, asset: str, partition: str) -> list[dict]:
    return done[f"{asset}/{partition}"].read().to_pylist()


def fingerprints(done: dict) -> dict[str, str]:
    return {name: artifact.fingerprint for name, artifact in done.items()}


def check_leaderboard(suite: Suite, rows: list[dict]) -> None:
    """Every model is on it for every benchmark; what is known beforehand is right."""
    wanted = {(s.model, key) for s in suite.profile.scorers for key in suite.benchmarks}
    assert {(r["model"], r["benchmark"]) for r in rows if r["n_items"]} == wanted
    strict = [
        r
        for r in rows
        if (r["semantics"], r["set"], r["readout"]) == ("strict", "all", "score")
        and r["track"] != "difference"
        and r["n_items"]
    ]
    assert {r["accuracy"] for r in strict if r["model"] == "check:oracle"} == {1.0}
    assert {r["accuracy"] for r in strict if r["model"] == "check:constant"} == {0.0}


def check_survival(rows: list[dict], *failed: str) -> None:
    """Some images pass, and each of these checks has failed some."""
    why = {"presence": "missing", "background": "background", "label": "label"}
    for check in failed:
        assert {row[check] for row in rows} >= {"pass", why[check]}
    assert any(row["accepted"] for row in rows)
    for row in rows:
        assert row["accepted"] == (row["label"] == "pass")


@pytest.mark.parametrize("name", ["paper", "turbo", "api", "flux-dev"])
def test_a_suite_is_what_its_file_and_profile_say(name):
    suite = load_suite(name, SUITES)
    assert suite.name == name
    for role, settings in [
        ("writer", suite.profile.writer),
        ("generator", suite.profile.generator),
        ("detector", suite.profile.detector),
        ("judge", suite.profile.judge),
        *(("scorer", scorer) for scorer in suite.profile.scorers),
    ]:
        registry.named(role, settings)  # the family and its options exist
    assert all(count > 0 for count in suite.concepts.values())


def test_the_paper_suite_has_the_published_settings():
    profile = load_suite("paper", SUITES).profile
    drawn = KNOWN[ModelName.parse(profile.generator.model).name]
    assert (drawn.steps, drawn.guidance, drawn.side) == (28, 4.5, 1024)  # A.6
    assert profile.generator.options == {"device": "cuda"}  # and nothing else is set
    _, _, detector = registry.named("detector", profile.detector)
    assert (detector.box_threshold, detector.text_threshold) == (0.4, 0.3)
    assert detector.segmenter == "facebook/sam2.1-hiera-large"
    _, _, writer = registry.named("writer", profile.writer)
    assert (writer.temperature, writer.top_p, writer.max_new_tokens) == (0.7, 0.9, 150)
    assert (profile.validation.background_gray, profile.validation.background_share) == (190, 0.7)


def test_open_clip_knows_the_models_of_the_suites():
    import open_clip

    known = {f"{architecture}/{tag}" for architecture, tag in open_clip.list_pretrained()}
    for name in ("paper", "turbo"):
        models = [s.model for s in load_suite(name, SUITES).profile.scorers]
        own = [m.removeprefix("open_clip:") for m in models if m.startswith("open_clip:")]
        assert own and known >= set(own)


@pytest.mark.slow
@pytest.mark.timeout(1800)  # it has 29 models
def test_paper_goes_to_the_leaderboard(checkpoints, truth, tmp_path):
    key = KEYS[0]
    few = {"benchmarks": [key], "concepts": 8}
    suite = resolve_suite(stand_in_suite(SUITES / "paper.yaml", checkpoints, few=few), "paper")
    check_suite(suite)
    done = built(Context(suite, Store(tmp_path, suite.name), LocalEngine(1)))
    check_survival(rows_of(done, "validated", key), "presence", "label")
    tries = [len(row["tries"]) for row in rows_of(done, "captions", key)]
    assert max(tries) > 1  # some captions had to be written again
    check_leaderboard(suite, rows_of(done, "leaderboard", "all"))
    # The second judge saw what the first one saw.
    seen = [row for row in rows_of(done, "validated", key) if row["label"] != "not_run"]
    assert len(rows_of(done, "second_opinion", key)) == len(seen)
    assert {"filter_shift", "negatives", "paired_set", "report"} <= {n.split("/")[0] for n in done}


@pytest.mark.slow
def test_turbo_goes_to_the_leaderboard_through_dagster(checkpoints, truth, tmp_path, monkeypatch):
    fields = stand_in_suite(SUITES / "turbo.yaml", checkpoints)
    file = tmp_path / "turbo.yaml"
    file.write_text(yaml.safe_dump(fields))
    monkeypatch.setenv("BINDBENCH_SUITE", str(file))
    monkeypatch.setenv("BINDBENCH_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("BINDBENCH_WORKERS", "1")
    suite = load_suite(str(file))
    slugs = [ModelName.parse(scorer.model).slug for scorer in suite.profile.scorers]
    with definitions(monkeypatch) as defs, DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("model", slugs)
        cells = [
            ("score_model", MultiPartitionKey({"benchmark": key, "model": slug}))
            for key in KEYS
            for slug in slugs
        ]
        jobs = [("list_words", None), *(("build_benchmark", key) for key in KEYS), *cells]
        for name, partition in [*jobs, ("summarize", None)]:
            result = defs.resolve_job_def(name).execute_in_process(
                instance=instance, partition_key=partition, raise_on_error=False
            )
            assert result.success, (name, partition)
    store = Store(tmp_path / "store", suite.name)
    rows = [r for key in KEYS for r in store.current("validated", key).read().to_pylist()]
    check_survival(rows, "presence", "background", "label")
    check_leaderboard(suite, store.current("leaderboard", "all").read().to_pylist())
    assert store.current("report", "all") is not None


@contextmanager
def definitions(monkeypatch):
    """Load the definitions for the suite of the environment, and forget them afterwards."""

    def forget() -> None:
        for name in list(sys.modules):
            if name.split(".")[0] in ("definitions", "assets", "resources", "sensors"):
                del sys.modules[name]

    monkeypatch.syspath_prepend(str(SUITES.parent))
    forget()
    yield importlib.import_module("definitions").defs
    forget()


class Behind:
    """What the models behind the server say, and what goes wrong."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.broken = ""  # the role that has items without an answer
        self.answered: Counter[str] = Counter()

    def __call__(self, asked: Asked) -> Reply:
        role, what, said = self.says(asked)
        number = int(hashlib.sha256(what.encode()).hexdigest(), 16)
        if role == self.broken and number % 4 == 0:
            return error(500, "out of order")
        if asked.times == 1:  # every question stumbles at first
            return [error(429, "slow down", "0"), error(500), DROPPED, MALFORMED][number % 4]
        self.answered[json.dumps(asked.body, sort_keys=True)] += 1
        return answer(said)

    def says(self, asked: Asked) -> tuple[str, str, str]:
        """Return who is asked, about what, and the answer."""
        text = asked.body["messages"][-1]["content"]
        if isinstance(text, str) and "Shows: " in text:
            return "writer", text, caption(text)
        if "right option" in asked.prompt:
            image = decode_png(asked.image)
            label = self.truth.label(image, asked.prompt.splitlines()[0])
            wanted = Truth.wrong(image, 4)
            fits = (k for k, option in asked.options.items() if (option != label) == wanted)
            return "judge", digest(image), next(fits)
        return "scorer", asked.prompt, "yes" if "Does " in asked.prompt else "A"


def caption(prompt: str) -> str:
    """Write what the last line of a writer's prompt shows, as models do: with a preamble."""
    scene = prompt.rpartition("Shows: ")[2].strip()
    says = f"In a quiet room, {scene}."
    if " is " not in scene and " are " not in scene:
        says = f"In a quiet room there is {scene.replace(', ', ' and ')}."
    return f'Sure, here is a caption: "{says}" I hope this helps!'


@pytest.mark.slow
def test_api_finishes_after_trouble_and_asks_only_for_what_is_missing(
    checkpoints, truth, tmp_path, monkeypatch
):
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path / "answers"))
    behind = Behind(truth)
    fast = {"backoff": 0.001, "retries": 2, "timeout": 60.0, "max_wait": 1.0}
    with ApiServer(behind) as server:
        place = server.name.removeprefix("api:")
        fields = stand_in_suite(SUITES / "api.yaml", checkpoints, place, fast)
        suite = resolve_suite(fields, "api")
        check_suite(suite)
        context = Context(suite, Store(tmp_path / "store", suite.name), LocalEngine(1))
        for role in ("writer", "judge", "scorer"):
            behind.broken = role
            with pytest.raises((UserError, ShardError)) as stopped:
                built(context)
            said = str(stopped.value)
            assert "500" in said and "out of order" in said, said  # why
            ids = context.current("concept_set", KEYS[0]).read(["concept_id"])["concept_id"]
            assert any(concept in said for concept in ids.to_pylist()), said  # which
        behind.broken = ""
        done = built(context)
        # Through four runs no question that had its answer was asked again.
        assert set(behind.answered.values()) == {1}
        count = server.count
        assert fingerprints(built(context)) == fingerprints(done)
        assert server.count == count
    rows = [row for key in KEYS for row in rows_of(done, "validated", key)]
    check_survival(rows, "presence", "background", "label")
    cut = done["captions/color-n2"].summary["cut"]
    assert cut["preamble"] and cut["quotes"] and cut["remark"]
    check_leaderboard(suite, rows_of(done, "leaderboard", "all"))


def commands_for_gpus() -> list[str]:
    """Return the commands of the page on GPUs, which no test can run."""
    page = (SUITES.parent / "docs" / "gpus.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```text\n(.*?)```", page, re.S)
    lines = [line.partition("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("bindbench ")]


@pytest.mark.parametrize("command", commands_for_gpus())
def test_a_command_for_gpus_is_one_and_names_suites_that_are_there(command, monkeypatch):
    monkeypatch.chdir(SUITES.parent)
    _, name, *words = command.split()
    group = typer.main.get_command(app)
    given = group.get_command(click.Context(group), name).make_context(name, words).params
    suites = given.get("suites") or [given["suite"]]
    assert all(suite_of(suite).name == suite for suite in suites)
    assert set(given.get("benchmark") or []) <= set(BENCHMARKS)


def test_the_suite_of_another_generator_is_right():
    page = (SUITES.parent / "docs" / "gpus.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(name: .*?)```", page, re.S)
    suite, turbo = resolve_suite(yaml.safe_load(text), "sdxl"), load_suite("turbo", SUITES)
    assert suite.profile.generator.model.removeprefix("diffusers:") in KNOWN
    same = suite.profile.model_copy(update={"generator": turbo.profile.generator})
    assert (suite.seed, same) == (turbo.seed, turbo.profile)


def test_the_suites_share_their_concepts(lexicon):
    benchmark = BENCHMARKS["color-n3"]
    paper, turbo = load_suite("paper", SUITES), load_suite("turbo", SUITES)
    drawn = [
        sample_concepts(benchmark, lexicon, 40, suite.seed, replicates=suite.replicates)
        for suite in (paper, turbo)
    ]
    assert [s.concept.id for s in drawn[0]] == [s.concept.id for s in drawn[1]]
