"""ConMe's images from every source, and its stages with models that don't look."""

import json
from pathlib import Path

import numpy as np
import pytest
from conme_driver import build, context_of, fields_of
from PIL import Image as PILImage
from spine_driver import small_suite
from stand_ins import cheap_context

from bindbench.conme.settings import AGENT, WORDING
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import Reply
from bindbench.pipeline import conme_images, spine
from bindbench.pipeline.conme_cells import models_of
from bindbench.pipeline.conme_conversations import conversation_rows
from bindbench.pipeline.conme_preflight import check_conme
from bindbench.pipeline.conme_rounds import ballots_in, kept_in, samples_in
from bindbench.pipeline.conme_targets import seconds_of
from bindbench.pipeline.readiness import settings_of
from bindbench.reporting.conme_stages import conversation_grid

SETS = {"questions": [{"question": "What is it?", "answer": "a square", "negatives": ["a disc"]}]}
PANEL = {
    "strong": {"model": "stand:strong"},
    "targets": [{"model": "stand:first"}, {"model": "stand:right"}],
}


class Stand:
    """Replies by its name, without looking."""

    def __init__(self, name: str):
        self.name = name

    def reply(self, requests):
        return [Reply(self._text(request.prompt)) for request in requests]

    def _text(self, prompt: str) -> str:
        if prompt.startswith("You examine"):
            return json.dumps(SETS)
        if "\nA. " in prompt and self.name == "right":
            return "A" if "\nA. a square" in prompt else "B"
        return "A" if "\nA. " in prompt else "a square"


@pytest.fixture(autouse=True)
def stands(monkeypatch):
    family = registry.Family(
        "answerer",
        "stand",
        ("strong", "first", "right"),
        registry.FAMILIES["answerer", "check"].options,
        lambda name, *_: Stand(name.name),
    )
    monkeypatch.setitem(registry.FAMILIES, ("answerer", "stand"), family)
    registry._load.cache_clear()


@pytest.fixture
def folder(tmp_path) -> Path:
    made = tmp_path / "images"
    (made / "inner").mkdir(parents=True)
    for name in ("b.png", "a.jpg", "inner/c.png"):
        PILImage.fromarray(np.full((6, 8, 3), 90, np.uint8)).save(made / name)
    (made / "notes.txt").write_text("no image")
    return made


def images(chosen, tmp_path, **more):
    context = context_of(fields_of(chosen, PANEL, **more), tmp_path / "store")
    return conme_images.build(context, "photos")


def test_a_folder_s_images(folder, tmp_path):
    chosen = {"source": "folder", "images": str(folder)}
    found = images(chosen, tmp_path)
    rows = found.read().to_pylist()
    assert [row["image_id"] for row in rows] == ["a.jpg", "b.png", "inner/c.png"]
    assert rows[1]["image"]["bytes"] == (folder / "b.png").read_bytes()
    assert (len(found.shards), found.summary["source_items"]) == (2, 0)
    assert images(chosen | {"count": 2}, tmp_path).rows == 2
    (folder / "b.png").write_bytes(b"broken")
    with pytest.raises(UserError, match=r"b\.png can't be read as an image"):
        images(chosen, tmp_path)


def test_a_turned_photograph_is_put_upright(folder, tmp_path):
    image = PILImage.fromarray(np.zeros((6, 8, 3), np.uint8))
    exif = image.getexif()
    exif[0x0112] = 6  # turned by a quarter
    image.save(folder / "a.jpg", exif=exif)
    chosen = {"source": "folder", "images": str(folder), "count": 1}
    (row,) = images(chosen, tmp_path).read(["image"]).to_pylist()
    from bindbench.pipeline.images import decode_png

    assert decode_png(row["image"]["bytes"]).shape == (8, 6, 3)


def sugarcrepe(tmp_path: Path) -> dict:
    items = {
        str(i): {"filename": f"{i // 2}.jpg", "caption": f"right {i}", "negative_caption": "wrong"}
        for i in range(4)
    }
    (tmp_path / "swap_att.json").write_text(json.dumps(items))
    return {
        "source": "sugarcrepe",
        "annotations": str(tmp_path),
        "partition": "swap_att",
        "images": str(tmp_path),
    }


def test_missing_images_are_listed(tmp_path):
    chosen = sugarcrepe(tmp_path)
    with pytest.raises(UserError, match=r"2 of 2 images are not in .* \(0\.jpg, 1\.jpg\)"):
        images(chosen, tmp_path)


def test_sugarcrepe_s_items_stand_with_their_image(tmp_path):
    for name in "01":
        PILImage.new("RGB", (4, 4)).save(tmp_path / f"{name}.jpg")
    rows = images(sugarcrepe(tmp_path), tmp_path).read(["image_id", "items"]).to_pylist()
    assert [row["image_id"] for row in rows] == ["0", "1"]
    assert [item["caption"] for item in rows[1]["items"]] == ["right 2", "right 3"]
    assert rows[1]["items"][0]["id"] == "swap_att/2"


def test_a_dataset_s_images(tmp_path):
    datasets = pytest.importorskip("datasets")
    pictures = [PILImage.new("RGB", (4, 4), shade) for shade in ("red", "blue", "green")]
    features = datasets.Features({"photo": datasets.Image(), "text": datasets.Value("string")})
    made = datasets.Dataset.from_dict(
        {"photo": pictures, "text": ["a", "b", "c"]}, features=features
    )
    made.save_to_disk(str(tmp_path / "saved"))
    chosen = {"source": "dataset", "path": str(tmp_path / "saved"), "column": "photo"}
    found = images(chosen, tmp_path)
    assert (found.rows, len(found.shards)) == (3, 2)
    assert found.read(["image_id"])["image_id"].to_pylist() == ["000000", "000001", "000002"]
    with pytest.raises(UserError, match="no images in a column 'image': name one of photo"):
        images(chosen | {"column": "image"}, tmp_path)


def test_what_one_target_misses_is_kept(folder, tmp_path):
    context = context_of(
        fields_of({"source": "folder", "images": str(folder)}, PANEL), tmp_path / "store"
    )
    built = build(context)
    first = built["conme_first_round"]
    assert len(samples_in(first)) == 3
    ballots = ballots_in(first)
    assert ballots["stand-right"].both.all()
    assert ballots["stand-first"].correct.mean() == 0.5  # always the first option
    assert kept_in(first).all()
    rows = conversation_rows(context)
    assert [(r["round"], r["samples"], r["kept"], r["accuracy"]) for r in rows] == [
        (1, 3, 3, 0.75),
        (2, 3, 3, 0.75),
    ]
    assert built["conme_calibration"].rows == 0  # of photographs nothing is known
    assert len(conversation_grid(rows).rows) == 2
    assert set(models_of(context.suite, "photos--panel")) == {
        "stand-first",
        "stand-right",
        "stand-strong",
    }


def test_what_all_targets_get_right_is_dropped(folder, tmp_path):
    panel = PANEL | {"targets": [{"model": "stand:right"}, {"model": "stand:right@2"}]}
    fields = fields_of({"source": "folder", "images": str(folder)}, panel)
    built = build(context_of(fields, tmp_path / "store"))
    assert not kept_in(built["conme_second_round"]).any()


def test_another_prompt_of_one_stage_leaves_the_stages_before_it(folder, tmp_path):
    chosen = {"source": "folder", "images": str(folder)}
    before = build(context_of(fields_of(chosen, PANEL), tmp_path / "store"))
    more = {"tokens": {"choice": 3}}
    after = build(context_of(fields_of(chosen, PANEL, **more), tmp_path / "store"))
    changed = {k for k in before if before[k].fingerprint != after[k].fingerprint}
    assert changed == {"conme_first_round", "conme_second_round"}  # their content is the same


def test_the_seconds_of_a_stage_are_those_of_its_targets_too(folder, tmp_path):
    fields = fields_of({"source": "folder", "images": str(folder)}, PANEL)
    context = context_of(fields, tmp_path / "store")
    built = build(context)["conme_first_round"]
    parts = ("photos--panel", "photos--panel--stand-first", "photos--panel--stand-right")
    runs = [context.current("conme_first_round", name).run_path for name in parts]
    times = [json.loads(run.read_text())["wall_seconds"] for run in runs]
    assert seconds_of(context, built) == pytest.approx(sum(times))


def test_of_a_generator_that_knows_no_truth_nothing_is_calibrated(tmp_path):
    chosen = {"source": "validated", "benchmark": "color-n2", "count": 2}
    with cheap_context(tmp_path, **fields_of(chosen, PANEL)) as context:
        spine.build_vocabulary(context)
        spine.build_benchmark(context, "color-n2")
        built = build(context)
    assert built["conme_images"].summary["with_truth"] == 0
    assert built["conme_images"].rows == 2
    assert built["conme_calibration"].rows == 0


def test_an_accelerator_loads_each_target_once_a_stage(folder, tmp_path, monkeypatch):
    loaded: list[str] = []

    class Options(registry.FAMILIES["answerer", "check"].options):
        device: str = "cpu"

    def load(name, *_):
        loaded.append(name.name)
        return Stand(name.name)

    names = ("strong", "first", "right")
    family = registry.Family("answerer", "stand", names, Options, load)
    monkeypatch.setitem(registry.FAMILIES, ("answerer", "stand"), family)
    on_gpu = [one | {"options": {"device": "cuda"}} for one in PANEL["targets"]]
    panel = {"strong": PANEL["strong"], "targets": on_gpu}
    fields = fields_of({"source": "folder", "images": str(folder)}, panel)
    context = context_of(fields, tmp_path / "store")
    build(context)
    assert len(context.current("conme_images", "photos").shards) == 2
    # Stages 2, 4, 5 and 7.
    assert [name for name in loaded if name != "strong"] == ["first", "right"] * 4
    before = len(loaded)
    fields["conme"]["panels"]["panel"]["targets"] = [*on_gpu, {"model": "stand:right@2"}]
    build(context_of(fields, tmp_path / "store"))
    assert loaded[before:] == ["right", "strong"]  # what the other targets gave is there


def test_the_labeller_by_wording_knows_no_other_taxonomies(folder, tmp_path):
    fields = fields_of({"source": "folder", "images": str(folder)}, PANEL)
    fields["conme"] |= {"labeller": {"model": WORDING}}
    check_conme(small_suite(**fields))
    own = tmp_path / "rooms.yaml"
    own.write_text("{name: rooms, question: 'Which?', categories: {a: A., b: B.}}")
    fields["conme"] |= {"taxonomies": ["topics", str(own)]}
    with pytest.raises(UserError, match="knows formats and topics alone, and not the taxonomy roo"):
        check_conme(small_suite(**fields))
    fields["conme"] |= {"labeller": None, "taxonomies": ["topics", "topics"]}
    with pytest.raises(UserError, match="two are named topics"):
        check_conme(small_suite(**fields))


def test_the_doctor_looks_at_every_model_of_the_section(folder):
    fields = fields_of({"source": "folder", "images": str(folder)}, PANEL)
    models = [{"model": "stand:right", "batch_size": 3}, {"model": "stand:right@2"}]
    fields["conme"] |= {"models": models, "labeller": {"model": WORDING}}
    found = [one.model for role, one in settings_of(small_suite(**fields)) if role == "answerer"]
    assert found == ["stand:strong", "stand:first", "stand:right", "stand:right@2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sets": {"a": {"source": "folder"}}}, "source folder and needs images"),
        ({"sets": {"a": {"source": "folder", "images": "no"}}}, "needs the folder .*no"),
        ({"sets": {"a": {"source": "validated", "benchmark": "color-n9"}}}, "none of the suite's"),
        ({"panels": {"p": PANEL | {"strong": {"model": AGENT}}}}, "sees our own renders alone"),
        ({"panels": {"p": PANEL | {"strong": {"model": "check:yes"}}}}, "InstaBind's questions"),
        ({"panels": {"p": PANEL | {"strong": {"model": "nano:clip"}}}}, "can't answer in words"),
        ({"models": [{"model": "stand:right"}] * 2}, "would share the partition"),
        ({"taxonomies": ["colors"]}, "Unknown taxonomy 'colors'"),
    ],
)
def test_a_section_is_checked_before_anything_starts(change, message, folder):
    fields = fields_of({"source": "folder", "images": str(folder)}, PANEL)
    fields["conme"] |= change
    with pytest.raises(UserError, match=message):
        check_conme(small_suite(**fields))


@pytest.mark.slow
def test_our_own_renders_with_the_agent_and_any_number_of_workers(tmp_path):
    nano = [{"model": "nano:vlm"}, {"model": "nano:vlm-small"}]
    fields = fields_of(
        {"source": "validated", "benchmark": "color-n2"},
        {"strong": {"model": AGENT}, "targets": nano},
        questions=3,
        negatives=1,
        filter="text",
    )
    digests = []
    for workers in (1, 2):
        engine = LocalEngine(workers)
        context = context_of(fields, tmp_path / str(workers), engine)
        spine.build_vocabulary(context)
        spine.build_benchmark(context, "color-n2")
        built = build(context)
        engine.close()
        digests.append({name: artifact.digest for name, artifact in built.items()})
        assert built["conme_images"].summary["with_truth"] == built["conme_images"].rows > 2
        rows = built["conme_images"].read(["caption", "items"]).to_pylist()
        assert all(row["items"][0]["caption"] == row["caption"] for row in rows)
        verdicts = built["conme_calibration"].summary["round_1"]["all"]["verdicts"]
        assert verdicts["right"] > 0
        assert sum(verdicts.values()) == built["conme_first_round"].rows
    assert digests[0] == digests[1]
