"""Pipelines of diffusers through the asset images and alone, against their plain use."""

import logging
from typing import Any

import numpy as np
import pytest
import torch
from diffusers_use import (
    OPTIONS,
    TEXTS,
    PlainUse,
    distance,
    load,
    memory_for,
    options_of,
    pipeline_of,
    requests,
    watch,
)

from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import ImageRequest
from bindbench.pipeline import captions, concept_set, images, vocabularies
from bindbench.pipeline.base import Context
from bindbench.storage.store import Store
from bindbench.suite import RoleSettings, resolve_suite

KEY = "color-n2"
NAMES = ("sd3", "flux", "sdxl", "sdxl_turbo", "sd2", "pixart")
# An embedding or a step of a batch may differ in the last bits from that of one image, and floats
# become bytes by rounding.
BYTES = 1
NEGATIVES = {"sd3": "a cup", "flux": "", "sdxl": "a cup", "sd2": "a cup"}


@pytest.mark.parametrize("family", NAMES)
def test_images_of_the_asset_are_those_of_the_plain_use(family, pipeline_folder, tmp_path):
    folder = pipeline_folder(family)
    generator = {"model": f"diffusers:{folder}", "options": options_of(family), "batch_size": 3}
    fields = {
        "name": "small",
        "benchmarks": [KEY],
        "concepts": 2,
        "overrides": {
            "shard_size": 2,
            "survival": {"captions": {"low": 0.0}},
            "generator": generator,
        },
    }
    suite = resolve_suite(fields, "small.yaml")
    context = Context(suite, Store(tmp_path, suite.name), LocalEngine(1))
    vocabularies.build(context)
    for stage in (concept_set, captions):
        stage.build(context, KEY)
    rows = images.build(context, KEY).read().to_pylist()
    assert len(rows) == 4
    assert len({row["image"]["bytes"] for row in rows}) == 4
    plain = PlainUse(folder)
    for row in rows:
        drawn = images.decode_png(row["image"]["bytes"])
        right = plain.draw(row["caption"], row["seed"], **options_of(family)["arguments"])
        assert distance(drawn, right) <= BYTES
        assert row["truth"] == "null"
    assert images.build(context, KEY).read().to_pylist() == rows


@pytest.mark.parametrize("family", NAMES)
def test_an_image_does_not_depend_on_its_batch(family, pipeline_folder):
    generator = load(pipeline_folder(family), **options_of(family))
    asked = requests()
    together = [made.image for made in generator.fresh().generate(asked)]
    backwards = [made.image for made in generator.fresh().generate(asked[::-1])][::-1]
    alone = [generator.fresh().generate([request])[0].image for request in asked]
    for image, other, own in zip(together, backwards, alone, strict=True):
        assert image.dtype == np.uint8
        assert distance(image, other) <= BYTES
        assert distance(image, own) <= BYTES
    # The same text at two seeds, and the same seed for two texts.
    assert distance(together[1], together[3]) > 20
    other = ImageRequest(asked[0].concept, TEXTS[2], "minimal", asked[0].seed)
    assert distance(together[0], generator.generate([other])[0].image) > 20


@pytest.mark.parametrize("family", ["sd3", "sdxl", "sd2", "pixart"])
def test_a_negative_prompt_and_no_guidance_are_those_of_the_plain_use(family, pipeline_folder):
    folder, asked = pipeline_folder(family), requests()[:2]
    plain = PlainUse(folder)
    arguments = options_of(family)["arguments"]
    drawn = []
    for options, given in (
        ({"negative_prompt": "a blue cup"}, {"negative_prompt": "a blue cup"}),
        ({"guidance": 1.0}, {"guidance_scale": 1.0}),
    ):
        made = load(folder, **options_of(family, **options)).generate(asked)
        for request, image in zip(asked, made, strict=True):
            right = plain.draw(request.caption, request.seed, **given, **arguments)
            assert distance(image.image, right) <= BYTES
        drawn.append(made[0].image)
    assert distance(drawn[0], drawn[1]) > 5


def test_flux_with_true_guidance_is_that_of_the_plain_use(pipeline_folder):
    folder, asked = pipeline_folder("flux"), requests()[:3]
    given = {"true_cfg_scale": 3.0, "max_sequence_length": 32}
    options = options_of("flux", arguments=given, negative_prompt="a blue cup")
    made = load(folder, **options).generate(asked)
    plain = PlainUse(folder)
    for request, image in zip(asked, made, strict=True):
        right = plain.draw(request.caption, request.seed, negative_prompt="a blue cup", **given)
        assert distance(image.image, right) <= BYTES


@pytest.mark.parametrize("family", ["sd3", "flux", "sdxl", "sd2"])
def test_each_text_is_encoded_once_in_a_shard(family, pipeline_folder):
    # The negative prompt stands beside an empty text; SDXL's is zeros that need no encoding.
    beside = {"sd3": [1, 1], "sdxl": [1], "sd2": [1, 1], "flux": []}[family]
    generator = load(pipeline_folder(family), **options_of(family)).fresh()
    with watch(pipeline_of(generator).text_encoder) as rows:
        generator.generate(requests())
        assert rows == [4, *beside]  # four distinct texts, in one batch
        generator.generate(requests()[1:])
        assert rows == [4, *beside]
        generator.fresh().generate(requests()[:2])
        assert rows == [4, *beside, 2]
    # The shards of a process share the negative prompt, but no text.
    root = load(pipeline_folder(family), **options_of(family, negative_prompt=NEGATIVES[family]))
    root.fresh().generate(requests()[:1])
    with watch(pipeline_of(root).text_encoder) as rows:
        root.fresh().generate(requests()[:1])
        assert rows == [1]
    generator = load(pipeline_folder(family), **options_of(family, guidance=1.0)).fresh()
    with watch(pipeline_of(generator).text_encoder) as rows:
        generator.generate(requests())
        assert rows == [4]


@pytest.mark.parametrize(("most", "parts"), [(3, [3, 2]), (2, [2, 1, 2]), (1, [1] * 5)])
def test_the_batch_halves_when_memory_runs_out(most, parts, pipeline_folder, caplog):
    generator = load(pipeline_folder("sd3"), **options_of("sd3"), vae_slicing=False)
    whole = generator.fresh().generate(requests())
    pipeline, shard = pipeline_of(generator), generator.fresh()
    with (
        memory_for(pipeline.transformer, 2 * most) as tried,  # guidance doubles the rows
        watch(pipeline.vae.decoder) as decoded,
        watch(pipeline.text_encoder) as encoded,
        caplog.at_level(logging.WARNING),
    ):
        halved = shard.generate(requests())
        assert decoded == parts
        assert encoded[0] == 4 and sum(encoded) <= 6  # what failed is not encoded again
        first = len(tried)
        again = shard.generate(requests())
    for one, other, third in zip(whole, halved, again, strict=True):
        assert distance(one.image, other.image) <= BYTES
        np.testing.assert_array_equal(other.image, third.image)
    assert all(size <= 2 * most for size in tried[first:])  # and what can't fit is not tried again
    assert "out of memory for 5 images at once on cpu, going on with 3" in caplog.text
    generator._drawers[0].limit.too_many = None


def test_memory_for_not_even_one_image_is_one_sentence(pipeline_folder):
    generator = load(pipeline_folder("sd3"), **options_of("sd3"))
    with (
        memory_for(pipeline_of(generator).transformer, 0),
        pytest.raises(UserError, match=r"memory runs out for a single image: use a smaller width"),
    ):
        generator.generate(requests())
    generator._drawers[0].limit.too_many = None


def test_several_devices_share_the_requests_by_position(pipeline_folder):
    folder = pipeline_folder("sdxl")
    asked = requests()
    alone = load(folder, **options_of("sdxl")).generate(asked)
    both = load(folder, **options_of("sdxl"), devices=["cpu", "cpu"])
    assert pipeline_of(both, 0) is not pipeline_of(both, 1)
    with (
        watch(pipeline_of(both, 0).vae.decoder) as first,
        watch(pipeline_of(both, 1).vae.decoder) as second,
    ):
        made = both.generate(asked)
        both.generate(asked[:1])
    assert (first, second) == ([1, 1, 1, 1], [1, 1])  # slicing: one image at a time
    for image, right in zip(made, alone, strict=True):
        assert distance(image.image, right.image) <= BYTES


def test_settings_of_a_known_model_and_what_overrides_them(pipeline_folder):
    def call_of(**options: Any) -> str:
        settings = RoleSettings(model=f"diffusers:{pipeline_folder('sd3')}", options=options)
        return registry.describe("generator", settings)["call"]

    assert call_of(preset="stabilityai/stable-diffusion-3.5-large") == (
        '{"guidance_scale": 4.5, "height": 1024, "num_inference_steps": 28, "width": 1024}'
    )
    assert call_of(preset="stabilityai/stable-diffusion-3.5-large-turbo", width=512) == (
        '{"guidance_scale": 0.0, "height": 1024, "num_inference_steps": 4, "width": 512}'
    )
    assert call_of() == '{"guidance_scale": 7.0, "num_inference_steps": 28}'  # the pipeline's own


def test_what_is_not_given_is_the_pipelines_own(pipeline_folder):
    folder, asked = pipeline_folder("sd2"), requests()[:1]
    made = load(folder).generate(asked)[0].image  # 50 steps, guidance 7.5, the UNet's own size
    pipeline = PlainUse(folder).pipeline
    generator = torch.Generator().manual_seed(asked[0].seed)
    right = np.asarray(pipeline(asked[0].caption, generator=generator).images[0])
    assert distance(made, right) <= BYTES


def test_other_options_and_weights_are_another_model(pipeline_folder):
    def describe(family: str, **options: Any) -> dict[str, Any]:
        settings = RoleSettings(model=f"diffusers:{pipeline_folder(family)}", options=options)
        return registry.describe("generator", settings)

    assert describe("sdxl") == describe("sdxl")
    assert describe("sdxl")["files"] != describe("sdxl_turbo")["files"]
    assert describe("sdxl")["dtype"] == "float32"
    turbo = describe("sdxl", preset="stabilityai/sdxl-turbo")
    assert turbo["dtype"] == "float16" and turbo["call"] != describe("sdxl")["call"]


def test_the_safety_checker_is_off(pipeline_folder):
    folder, asked = pipeline_folder("sd2_checked"), requests()[:1]
    assert PlainUse(folder).draw(asked[0].caption, asked[0].seed).max() == 0  # all is black
    made = load(folder, **OPTIONS).generate(asked)[0].image
    right = PlainUse(folder, safety_checker=None).draw(asked[0].caption, asked[0].seed)
    assert distance(made, right) <= BYTES
    assert made.max() > 100


def test_a_caption_that_is_too_long_is_named(pipeline_folder, caplog):
    long = ("a red cup and a blue chair and the white table is above the green lamp " * 2).strip()
    load(pipeline_folder("sd2"), **OPTIONS).generate(requests((long, "a cup")))
    assert [record.getMessage() for record in caplog.records] == [
        f"diffusers:{pipeline_folder('sd2')}: no text encoder reads this caption to its end: {long}"
    ]
    caplog.clear()
    # T5 reads what the CLIPs of Stable Diffusion 3 cut off.
    load(pipeline_folder("sd3"), **OPTIONS).generate(requests((long,)))
    assert not caplog.records


@pytest.mark.parametrize(
    ("value", "kind"), [(float("nan"), "not a number in places"), (-100.0, "black")]
)
def test_an_image_of_nothing_is_an_error(value, kind, pipeline_folder):
    generator = load(pipeline_folder("sd2"), **options_of("sd2"), vae_tiling=True)
    out = pipeline_of(generator).vae.decoder.conv_out
    kept = out.bias.detach().clone()
    out.bias.data[:] = value
    try:
        with pytest.raises(UserError, match=rf"of concept \w+ \(minimal, seed 10\) is {kind}: set"):
            generator.generate(requests())
    finally:
        out.bias.data[:] = kept


def test_options_reach_the_pipeline(pipeline_folder):
    vae = pipeline_of(load(pipeline_folder("sd3"), **OPTIONS)).vae
    assert (vae.use_slicing, vae.use_tiling, vae.dtype) == (True, False, torch.float32)
    options = {"vae_slicing": False, "vae_tiling": True, "dtype": "bfloat16"}
    vae = pipeline_of(load(pipeline_folder("sd3"), **OPTIONS, **options)).vae
    assert (vae.use_slicing, vae.use_tiling, vae.dtype) == (False, True, torch.bfloat16)


def test_bfloat16_draws_about_the_same(pipeline_folder):
    one = load(pipeline_folder("sdxl"), **OPTIONS).generate(requests())
    other = load(pipeline_folder("sdxl"), **OPTIONS, dtype="bfloat16").generate(requests())
    for image, near in zip(one, other, strict=True):
        assert np.abs(image.image.astype(float) - near.image).mean() < 12


@pytest.mark.slow
def test_a_compiled_pipeline_draws_the_same(pipeline_folder):
    plain = load(pipeline_folder("flux"), **options_of("flux")).generate(requests()[:2])
    made = load(pipeline_folder("flux"), **options_of("flux"), compile=True).generate(
        requests()[:2]
    )
    for image, right in zip(made, plain, strict=True):
        assert distance(image.image, right.image) <= 2


def test_the_generator_is_loaded_once_and_starts_each_shard_afresh(pipeline_folder):
    one, other = (load(pipeline_folder("sd3"), **OPTIONS) for _ in range(2))
    assert one is not other and pipeline_of(one) is pipeline_of(other)
