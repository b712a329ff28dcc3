"""Tables 17 and 18 of images and captions whose truth is known, through their stages."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from table_suites import Painter, Witness, measured, role, with_models

from bindbench.analysis.diversity import distinct
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import ScoreRequest
from bindbench.pipeline import alignment, captions, concept_set, faithfulness, images
from bindbench.pipeline.base import Context
from bindbench.pipeline.preflight import check_suite
from bindbench.pipeline.spine import benchmark_stages
from bindbench.tables.diversity import table_17
from bindbench.tables.faithfulness import table_18
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Source

KEYS = ("color-n2", "color-n3")
CLIP = role("nano:clip")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Iterator[Context]:
    """The images of two benchmarks, measured by nano:clip and by a witness of the painting."""
    painter = Painter()
    models = {
        ("generator", "painter"): lambda: painter,
        ("judge", "witness"): lambda: Witness(painter),
    }
    fields = {"benchmarks": [*KEYS], "concepts": 8}
    with with_models(tmp_path_factory.mktemp("store"), models, **fields) as context:
        profile = context.suite.profile.model_copy(update={"generator": role("painter:all")})
        context = replace(context, suite=context.suite.model_copy(update={"profile": profile}))
        context = measured(
            context, encoder=CLIP, answerer=role("witness:all"), benchmarks=["color-n2"]
        )
        for key in KEYS:
            for stage in (concept_set, captions, images, alignment, faithfulness):
                stage.build(context, key)
        yield context


def inputs_of(context: Context) -> Inputs:
    stages = (concept_set, captions, images, alignment, faithfulness)
    found = {
        f"{stage.NAME}/{key}": context.store.current(stage.NAME, key)
        for stage in stages
        for key in KEYS
    }
    return Inputs(context.suite, {name: part for name, part in found.items() if part})


def numbers(table, inputs):
    return {(n.block, n.row, n.column): n for n in table(inputs)}


def test_the_share_of_right_answers_is_that_of_the_painting(built, lexicon):
    rows = built.current(captions.NAME, "color-n2").read().to_pylist()
    wrong = {"presence": 0, "count": 0, "attribute": 0}
    asked = {"presence": 2 * len(rows), "count": 0, "attribute": 2 * len(rows)}
    for number, row in enumerate(rows):
        counted = [lexicon.objects[name].number == "count" for name in row["objects"]]
        asked["count"] += sum(counted)
        if number % 4 == 1:
            wrong["presence"] += 1
            wrong["count"] += counted[1]
            wrong["attribute"] += 1
        wrong["attribute"] += number % 4 == 2
    found = numbers(table_18, inputs_of(built))
    for kind in asked:
        number = found["color-n2", "painter:all", kind]
        assert (number.value, number.n_items) == (1 - wrong[kind] / asked[kind], asked[kind])
        assert number.low < number.value < number.high
        assert number.source == Source("faithfulness", "color-n2", {"kinds": kind})
    both = found["", "painter:all", "question answering"]
    assert both.value == pytest.approx(1 - sum(wrong.values()) / sum(asked.values()))
    assert (both.note, both.source) == ("of color-n2", Source("faithfulness", "*"))
    assert ("color-n3", "painter:all", "question answering") not in found
    assert found["", "", ""].note.startswith("Questions are asked about color-n2 alone")
    summary = built.current(faithfulness.NAME, "color-n2").summary
    assert (summary["images"], summary["right"]) == (16, both.value)
    assert built.current(faithfulness.NAME, "color-n3").rows == 0


def test_clip_score_is_that_of_the_scorer(built):
    """By the model's own score, which is its scale times the cosine."""
    scorer = registry.load("scorer", CLIP, built.suite.profile.vocabularies)
    rows = built.current(images.NAME, "color-n3").read().to_pylist()
    requests = [
        ScoreRequest("", images.decode_png(r["image"]["bytes"]), [r["caption"]], np.zeros(1))
        for r in rows
    ]
    cosines = np.array([s.values[0] for s in scorer.score(requests)]) / scorer.scale
    found = numbers(table_18, inputs_of(built))
    hundred = found["color-n3", "painter:all", "CLIPScore"]
    assert hundred.value == pytest.approx(100 * np.maximum(cosines, 0).mean(), abs=1e-4)
    assert found["color-n3", "painter:all", "CLIPScore (2.5)"].value == pytest.approx(
        hundred.value / 40
    )
    assert found["", "painter:all", "CLIPScore"].n_items == 32


def test_diversity_is_of_the_captions_that_passed(built):
    found = numbers(table_17, inputs_of(built))
    rows = built.current(captions.NAME, "color-n2").read().to_pylist()
    texts = [row["text"] for row in rows if row["track"] == "contextual"]
    writer = built.suite.profile.writer.model
    assert found["color-n2", writer, "distinct-3"].value == pytest.approx(distinct(texts, 3))
    encoder = registry.load("scorer", CLIP, built.suite.profile.vocabularies).encoders
    vectors = encoder.encode_texts(texts).astype(float)
    pairs = vectors @ vectors.T
    mean = (pairs.sum() - np.trace(pairs)) / (len(texts) * (len(texts) - 1))
    semantic = found["color-n2", writer, "semantic diversity"]
    assert semantic.value == pytest.approx(1 - mean, abs=1e-5)
    assert semantic.low < semantic.value < semantic.high
    template = found["color-n2", "minimal captions", "semantic diversity"]
    assert template.source == Source("alignment", "color-n2", {"track": "minimal"})


def test_what_nothing_measured_is_said(built):
    bare = measured(built)
    assert {alignment, faithfulness}.isdisjoint(benchmark_stages(bare.suite))
    inputs = Inputs(bare.suite, {})
    notes = [number.note for number in table_18(inputs)]
    assert [note.split(":")[0] for note in notes] == [
        "Suite small names no encoder",
        "Suite small names no answerer",
    ]
    assert "faithfulness.answerer" in notes[1] and "bindbench run --suite small" in notes[1]
    notes = [number.note for number in table_17(inputs)]
    assert [note.split(":")[0] for note in notes] == [f"{key} has no captions" for key in KEYS]


def test_a_build_is_stale_when_its_model_or_its_images_change(built):
    assert {alignment, faithfulness} < {*benchmark_stages(built.suite)}
    assert alignment.current(built, "color-n2") == built.current(alignment.NAME, "color-n2")
    assert faithfulness.current(built, "color-n2") is not None
    settings = built.suite.profile.faithfulness
    other = measured(built, encoder=role("nano:negclip"), answerer=settings.answerer)
    assert alignment.current(other, "color-n2") is None
    assert faithfulness.current(other, "color-n3") is None  # now it would be asked about


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"encoder": {"model": "nano:vlm"}}, "faithfulness.encoder nano:vlm embeds no texts"),
        (
            {"answerer": {"model": "pixels:validator"}},
            "faithfulness.answerer pixels:validator measures the masks",
        ),
        ({"encoder": {"model": "nano:clap"}}, "nano:clap"),
    ],
)
def test_models_that_cannot_measure_are_refused_before_anything_is_built(built, fields, sentence):
    with pytest.raises(UserError, match=sentence):
        check_suite(measured(built, **fields).suite)
