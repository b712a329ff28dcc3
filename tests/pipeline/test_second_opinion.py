"""Two judges on the same images, and a judge behind a server, through their assets."""

import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from api_server import ApiServer, Asked, Reply, answer, error
from PIL import Image
from spine_driver import small_suite
from stand_ins import Everything

from bindbench.concepts import Concept
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import Answer, GeneratedImage
from bindbench.models.family import Family, NoOptions
from bindbench.pipeline import captions, concept_set, images, second_opinion, validated
from bindbench.pipeline.base import Context
from bindbench.pipeline.costs import suite_costs
from bindbench.pipeline.preflight import check_suite, models_of
from bindbench.pipeline.spine import benchmark_stages
from bindbench.storage.store import Store
from bindbench.suite import RoleSettings

PROJECT = Path(__file__).parent.parent.parent
KEYS = ("color-n2", "position-n3")
FIRST, SECOND = RoleSettings(model="knowing:first"), RoleSettings(model="knowing:second")
drawn: list[tuple[Concept, str]] = []  # what the image with this number shows, and its track
wrong: dict[str, set[int]] = {}  # of each judge: the images that it is wrong about
shown: list = []  # the detections that judges got


class Numbered:
    """Generates white images with a number in their corner."""

    def generate(self, requests):
        return [GeneratedImage(self.one(request)) for request in requests]

    def one(self, request):
        image = np.full((64, 64, 3), 255, np.uint8)
        image[0, 0] = len(drawn)
        drawn.append((request.concept, request.track))
        return image


class Knowing:
    """Answers rightly, by however little, but for the images that it is to be wrong about."""

    def __init__(self, name: str) -> None:
        self.name = name

    def answer(self, images, detections, questions):
        shown.extend(detections)
        return [
            [self.one(int(image[0, 0, 0]), i, question) for i, question in enumerate(asked)]
            for image, asked in zip(images, questions, strict=True)
        ]

    def one(self, number, i, question):
        right = drawn[number][0].labels[i]
        other = next(option for option in question.options if option != right)
        said = other if number in wrong.get(self.name, ()) else right
        return Answer(said, tuple(0.6 * (option == said) for option in question.options))


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Iterator[Context]:
    """Everything up to the first judge, who is wrong about two images of each benchmark."""
    made = {
        ("generator", "numbered"): lambda name: Numbered(),
        ("detector", "everything"): lambda name: Everything(),
        ("judge", "knowing"): lambda name: Knowing(name.name),
    }
    suite = small_suite()
    roles = {
        "generator": RoleSettings(model="numbered:all"),
        "detector": RoleSettings(model="everything:all"),
        "judge": FIRST,
        "second_judge": SECOND,
        "validation": suite.profile.validation.model_copy(update={"label_score": 0.5}),
    }
    suite = suite.model_copy(update={"profile": suite.profile.model_copy(update=roles)})
    wrong.update(first={0, 1, 16, 17}, second={1, 2, 3, 18})
    with pytest.MonkeyPatch.context() as patch:
        for (role, name), make in made.items():
            family = Family(role, name, (), NoOptions, lambda name, *_, make=make: make(name))
            patch.setitem(registry.FAMILIES, (role, name), family)
        store = Store(tmp_path_factory.mktemp("store"), suite.name)
        context = Context(suite, store, LocalEngine(1))
        for stage in (concept_set, captions, images, validated):
            for key in KEYS:
                stage.build(context, key)
        yield context


@pytest.fixture
def context(built, tmp_path, monkeypatch) -> Context:
    """A copy, which a test may change."""
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path / "cache"))
    shutil.copytree(str(built.store.root), tmp_path / "store")
    return replace(built, store=Store(tmp_path / "store", built.suite.name))


def with_roles(context: Context, **roles) -> Context:
    profile = context.suite.profile.model_copy(update=roles)
    return replace(context, suite=context.suite.model_copy(update={"profile": profile}))


def test_agreement_is_that_of_table_21(context):
    built = {key: second_opinion.build(context, key) for key in KEYS}
    assert [artifact.rows for artifact in built.values()] == [16, 16]
    color, position, both = second_opinion.agreement_rows(built)
    assert color["benchmark"] == "color-n2"
    # Of 16 images the first judge fails two, the second three; one of these both do.
    assert (color["agreement"], color["disagree"]) == (13 / 16, 3 / 16)
    assert (color["only_first"], color["only_second"]) == (2 / 16, 1 / 16)
    assert color["kappa"] == pytest.approx(5 / 17)  # (13/16 - 188/256) / (1 - 188/256)
    assert color["p"] == 1.0
    assert color["low"] < 13 / 16 < color["high"]
    assert (position["only_first"], position["only_second"]) == (1 / 16, 2 / 16)
    assert (both["benchmark"], both["images"]) == ("all", 32)
    assert both["agreement"] == 26 / 32
    assert built["color-n2"].summary == {"images": 16, "agreement": color}


def test_it_sees_what_the_first_judge_saw(context):
    del shown[32:]  # those of other tests
    first = len(shown)
    rows = second_opinion.build(context, "position-n3").read().to_pylist()
    assert [[d.name for d in found] for found in shown[first:]] == [
        [d.name for d in found] for found in shown[16:32]
    ]
    assert [[d.box for d in found] for found in shown[first:]] == [
        [d.box for d in found] for found in shown[16:32]
    ]
    checked = context.current(validated.NAME, "position-n3").read().to_pylist()
    assert [(r["index"], r["track"], r["first"]) for r in rows] == [
        (r["index"], r["track"], r["label"]) for r in checked
    ]
    number = next(i for i, row in enumerate(rows) if row["label"] == "label")
    assert rows[number]["first"] == "pass"
    assert rows[number]["answers"][0] != checked[number]["labels"][0]
    assert rows[number]["reason"]


def test_the_first_judges_threshold_is_not_the_seconds(context):
    sure = context.suite.profile.validation.model_copy(update={"label_score": 0.9})
    strict = with_roles(context, validation=sure)
    assert validated.build(strict, "color-n2").summary["minimal"]["label"] == {
        "label": 1,
        "unsure": 7,
    }
    rows = second_opinion.build(strict, "color-n2").read().to_pylist()
    assert {row["first"] for row in rows} == {"label", "unsure"}
    assert sum(row["label"] == "pass" for row in rows) == 13


def test_nothing_is_built_where_there_is_no_second_judge(context):
    assert second_opinion in benchmark_stages(context.suite)
    assert "second_opinion" in [cost.stage for cost in suite_costs(context.suite, [], 1)]
    assert models_of(context.suite.profile)[-1] == ("judge", SECOND)
    alone = with_roles(context, second_judge=None)
    assert second_opinion not in benchmark_stages(alone.suite)
    assert "second_opinion" not in [cost.stage for cost in suite_costs(alone.suite, [], 1)]
    with pytest.raises(UserError, match="Suite small has no second judge: name one"):
        second_opinion.build(alone, "color-n2")


def test_another_second_judge_leaves_the_first_ones_verdicts(context):
    before = context.current(validated.NAME, "color-n2").fingerprint
    other = with_roles(context, second_judge=RoleSettings(model="knowing:third"))
    assert validated.build(other, "color-n2").fingerprint == before
    assert second_opinion.build(other, "color-n2").summary["agreement"]["only_first"] == 0


def test_a_judge_that_measures_masks_is_refused_as_the_second():
    fields = {"second_judge": {"model": "pixels:validator"}}
    suite = small_suite(overrides=fields)
    with pytest.raises(UserError, match=r"second_judge pixels:validator measures the masks"):
        check_suite(suite)


# A judge behind a server


def number_of(asked: Asked) -> int:
    assert asked.image is not None
    return int(np.array(Image.open(io.BytesIO(asked.image)))[0, 0, 0])


def right_answer(asked: Asked) -> Reply:
    concept, _ = drawn[number_of(asked)]
    question = asked.prompt.splitlines()[0]
    names = [*concept.objects]
    place = next(
        i
        for i, name in enumerate(names)
        if f"the {name}?" in question or (i < len(names) - 1 and f"the {name} " in question)
    )
    letters = {text: letter for letter, text in asked.options.items()}
    return answer(letters[concept.labels[place]])


def test_a_judge_behind_a_server_decides_and_its_answers_are_kept(context):
    with ApiServer(right_answer) as server:
        options = {"backoff": 0.001, "retries": 0, "input_price": 1.0, "output_price": 1.0}
        judge = RoleSettings(model=server.name, options=options, batch_size=3)
        asking = with_roles(context, judge=judge)
        artifact = validated.build(asking, "color-n2")
        rows = artifact.read().to_pylist()
        assert all(row["accepted"] for row in rows)
        assert all(len(row["answer_raw"]) == 2 for row in rows)
        assert artifact.summary["usage"]["answers"] == server.count == 32
        assert artifact.summary["usage"]["cost"] == pytest.approx(32 * 12e-6)


def test_images_that_a_server_gives_no_answer_for_are_named_and_asked_again(context):
    with ApiServer(right_answer) as server:
        judge = RoleSettings(model=server.name, options={"retries": 0}, batch_size=3)
        asking = with_roles(context, judge=judge)
        bad = {1, 9}  # one in each shard
        server.script = lambda asked: (
            error(503, "down") if number_of(asked) in bad else right_answer(asked)
        )
        with pytest.raises(UserError) as caught:
            validated.build(asking, "color-n2")
        concept, track = drawn[1]
        assert f"({concept.id}/{track}): the server answered 503: down" in str(caught.value)
        answered = server.count - 4
        bad.clear()
        artifact = validated.build(asking, "color-n2")
        assert artifact.summary["minimal"]["accepted"] == 8
        assert server.count == 4 + 32
        assert answered == 28


# Dagster

LOADED = """
import sys
sys.path.insert(0, sys.argv[1])
import definitions
keys = {key.to_user_string() for key in definitions.defs.resolve_all_asset_keys()}
job = definitions.defs.resolve_job_def("build_benchmark")
print("second_opinion" in keys, "second_opinion" in {node.name for node in job.nodes})
"""


def test_the_asset_is_there_where_the_profile_names_a_judge(tmp_path, monkeypatch):
    suite = tmp_path / "twice.yaml"
    overrides = {"second_judge": {"model": "nano:vlm"}}
    suite.write_text(yaml.safe_dump({"name": "twice", "concepts": 4, "overrides": overrides}))
    monkeypatch.setenv("BINDBENCH_SUITE", str(suite))
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(PROJECT)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True"]
