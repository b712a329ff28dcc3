import itertools

import numpy as np
import pytest
import torch
from in_this_process import InThisProcess
from PIL import Image
from torch.nn import functional
from transformers import AutoModelForImageTextToText, AutoProcessor

from bindbench.concepts import Concept, sample_concepts
from bindbench.models.base import ScoreRequest
from bindbench.models.hf_generative import load_generative
from bindbench.models.hf_names import find_source
from bindbench.models.hf_options import HfOptions
from bindbench.models.weights import WEIGHTS
from bindbench.tasks import BENCHMARKS
from bindbench.training import nano_vlm, nano_vlm_figures, validator_data
from bindbench.training.nano_clip_data import NanoPlan, evaluation_scenes, held_out_pairs
from bindbench.training.nano_clip_images import UNNAMED, Camera, Scenes
from bindbench.training.nano_vlm import SHAPES, Recipe, train_nano_vlm
from bindbench.training.nano_vlm_figures import Answered, answers, d_prime, load_model, rows_of
from bindbench.training.nano_vlm_images import Boxes, cell_targets, plain_views, sights_of
from bindbench.training.nano_vlm_model import (
    CELLS,
    IMAGE_TOKENS,
    SIZE,
    Shape,
    features_of,
    image_tokens,
    new_model,
    packed_logits,
    save_weights,
    write_folder,
)
from bindbench.training.nano_vlm_packing import IGNORED, Packed, Packer
from bindbench.training.nano_vlm_questions import Asker, Sight, Text, content_words
from bindbench.training.nano_vlm_rows import RowPlan
from bindbench.training.nano_vlm_text import BOS, EOS, IMAGE, new_tokenizer, nouns_of
from bindbench.training.steps import Phase
from bindbench.training.trained_scenes import trained_scenes
from bindbench.training.validator_data import TRAINING, Drawn, Plan, SceneSpec, embedded_lexicon

SHIPPED = sorted(path.name for path in WEIGHTS.glob("nano-vlm*"))
TINY = Shape(width=32, layers=2, heads=2, trunk=(1, 1, 1, 1))


@pytest.fixture(scope="module")
def plan() -> NanoPlan:
    return NanoPlan(embedded_lexicon(), 0)


def flat_scene(spec: SceneSpec, plan: Plan) -> Drawn:
    """Colored squares in a row: what the concept says, without a ray tracer."""
    image = np.full((SIZE, SIZE, 3), 235, np.uint8)
    instances = np.zeros((SIZE, SIZE), np.int8)
    nouns = np.full(6, UNNAMED, np.int16)
    colors = NanoPlan(plan.lexicon, 0).colors_of(spec)
    for k, (noun, color) in enumerate(zip(spec.concept.objects, colors, strict=True)):
        place = slice(48, 64), slice(4 + 20 * k, 20 + 20 * k)
        image[place] = plan.lexicon.colors[color].srgb
        instances[place], nouns[k] = k + 1, plan.nouns.index(noun)
    return Drawn(image, instances, instances * 0, nouns)


def flat_scenes(plan: NanoPlan, concepts: list[Concept]) -> Scenes:
    specs = [SceneSpec(concept, "minimal", None, seed) for seed, concept in enumerate(concepts)]
    return Scenes.of(plan, [flat_scene(spec, plan) for spec in specs], specs)


COLOR = Concept("color", ("cake", "bus"), ("red", "blue"))
KEYS = Concept("color", ("key",) * 4, ("red", "blue", "teal", "pink"))


# Scenes


def test_training_rows_show_no_held_out_pair_and_the_others_all(plan):
    held, rows = held_out_pairs(plan.lexicon), RowPlan(plan.lexicon, 0)
    for index in range(40):
        concept = rows.spec(TRAINING, index).concept
        assert 3 <= concept.n <= 6
        assert len(set(concept.objects)) == 1
        assert len(set(concept.labels)) == concept.n
        assert held.isdisjoint(zip(concept.objects, concept.labels, strict=True))
        assert concept.scene_id(plan.lexicon) not in evaluation_scenes(plan.lexicon)
        other = rows.spec(2, index).concept
        pairs = set(zip(other.objects, other.labels, strict=True))
        assert len(pairs & held) == 3


def test_rows_are_composed_from_left_to_right_and_apart(plan):
    from bindbench.rendering.meshes import mesh_of
    from bindbench.rendering.scenes import box_of

    rows = RowPlan(plan.lexicon, 0)
    for index in range(6):
        spec = rows.spec(TRAINING, index)
        scene = rows.compose(spec)
        assert scene == rows.compose(spec)
        assert tuple(item.color for item in scene.items) == spec.concept.labels
        mesh = mesh_of(plan.lexicon.nouns(spec.concept.task)[spec.concept.objects[0]])
        boxes = [box_of(item, mesh, scene.camera) for item in scene.items]
        assert all(a[2] < b[0] for a, b in itertools.pairwise(boxes))
        assert all(min(*b[:2], 1 - b[2], 1 - b[3]) > 0 for b in boxes)


# Images


def test_sights_follow_boxes_mirrors_and_zoom(plan):
    scenes = flat_scenes(plan, [COLOR, KEYS])
    boxes = Boxes.of(scenes)
    assert boxes.edges[0, 1].tolist() == [24 / 128, 48 / 128, 40 / 128, 64 / 128]
    plain = sights_of(scenes, boxes, plain_views(scenes), plan)
    assert plain[0] is not None
    assert plain[0].nouns == COLOR.objects
    assert plain[0].colors == COLOR.labels
    assert np.allclose(plain[0].centers, [[12 / 128, 1 - 56 / 128], [32 / 128, 1 - 56 / 128]])
    assert np.allclose(plain[0].extents, 16 / 128)
    assert np.allclose(plain[0].areas, 1 / 64)
    camera, rng, mirrored = Camera(scenes, plan, 0.0, 20), np.random.default_rng(0), set()
    for _ in range(20):
        seen = camera.views(np.array([0, 1]), rng)
        for b, sight in enumerate(sights_of(scenes, boxes, seen, plan)):
            if sight is None:  # the first square stands near the edge
                continue
            mirrored.add(bool(seen.shown.mirrored[b]))
            n = sight.n
            order = tuple(range(n))[:: -1 if seen.shown.mirrored[b] else 1]
            assert sight.row == order
            # A pixel at each object's centre has its color, where the sight says it is.
            for k, (x, y) in enumerate(sight.centers):
                pixel = seen.images[b, :, int((1 - y) * SIZE), int(x * SIZE)] * 0.25 + 0.5
                srgb = torch.tensor(plan.lexicon.colors[sight.colors[k]].srgb) / 255
                assert (pixel / pixel.max() - srgb / srgb.max()).abs().max() < 0.15
    assert mirrored == {True, False}


def test_cells_name_objects_colors_and_places(plan):
    scenes = flat_scenes(plan, [COLOR, KEYS])
    seen = plain_views(scenes)
    sights = sights_of(scenes, Boxes.of(scenes), seen, plan)
    targets = cell_targets(scenes, seen, sights, plan)
    nouns, colors = (t.view(2, CELLS, CELLS) for t in (targets.nouns, targets.colors))
    cake, key = plan.nouns.index("cake"), plan.nouns.index("key")
    assert nouns[0, 3, 0] == cake
    assert nouns[0, 0, 0] == len(plan.nouns)
    assert colors[0, 3, 2] == plan.colors.index("blue")
    left = targets.ranks[0].view(2, CELLS, CELLS)[1, 3]
    right = targets.ranks[1].view(2, CELLS, CELLS)[1, 3]
    orders = targets.places["orders"].view(2, CELLS, CELLS)[1, 3]
    assert nouns[1, 3, 0] == key
    assert (left[0], right[0]) == (0, 3)
    assert (left[4], right[4]) == (3, 0)
    assert orders[0] == 0
    assert (targets.places["sides"].view(2, CELLS, CELLS)[1] == UNNAMED).all()


# Packing


@pytest.fixture(scope="module")
def tiny(plan):
    """A model with large weights, so that mistakes show, and its packer."""
    torch.manual_seed(0)
    tokenizer = new_tokenizer(plan.lexicon)
    model = new_model(TINY, len(tokenizer)).eval()
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1 and "vision_tower" not in name:
            parameter.data.mul_(6)
    return model, tokenizer, Packer(tokenizer, content_words(plan.lexicon), IMAGE_TOKENS)


COLOR_QUESTION = Text("What color is the cake?", "red", "color")
CAPTION = "A red cake, and a blue bus on a white background."
TEXTS = [
    [
        COLOR_QUESTION,
        Text("", CAPTION, "caption color"),
        Text("Describe the image.", CAPTION, "caption color", blind=True),
        *[Text("Is the bus red?", "no", "claim", hint=("bus", "blue"))] * 12,
    ],
    [Text("Is the bus red?", "no", "claim", hint=("bus", "blue"))],
]


def rows(packed: Packed, b: int, number: int) -> torch.Tensor:
    return packed.texts[b] == number


def test_packed_texts_give_the_logits_of_one_plain_pass_each(tiny):
    model, tokenizer, packer = tiny
    packed, images = packer.pack(TEXTS), torch.randn(2, 3, SIZE, SIZE)
    assert packed.ids.shape[1] > 1  # more than one chunk
    with torch.no_grad():
        logits = packed_logits(model, image_tokens(model, features_of(model, images)), packed)
        for b, texts in enumerate(TEXTS):
            for number, text in enumerate(texts, 1):
                own = [*tokenizer(text.prompt)["input_ids"], *tokenizer(text.answer)["input_ids"]]
                own.append(EOS)
                before = [BOS] if text.blind else [BOS, *[IMAGE] * IMAGE_TOKENS]
                plain = model(
                    input_ids=torch.tensor([[*before, *own]]),
                    pixel_values=None if text.blind else images[b : b + 1],
                ).logits[0, -len(own) :]
                assert plain.std() > 0.1
                found = logits[b][rows(packed, b, number)]
                assert torch.allclose(found, plain, atol=1e-4), (b, number)


def test_labels_are_the_next_tokens_of_answers_and_hints(tiny):
    _, tokenizer, packer = tiny
    packed = packer.pack(TEXTS)

    def words(b: int, number: int) -> list[str]:
        labels = packed.labels[b][rows(packed, b, number)].tolist()
        return ["" if i == IGNORED else tokenizer.convert_ids_to_tokens(i) for i in labels]

    assert words(0, 1) == ["", "", "", "red", "<eos>", ""]
    assert words(0, 2)[:3] == ["cake", "and", "blue"]
    assert words(0, 4) == ["", "blue", "no", "<eos>", ""]
    weights = packed.weights[0][rows(packed, 0, 2)]
    assert weights.sum().item() == pytest.approx(4)
    assert weights[0] > 5 * weights[1]  # "cake" and "and"
    assert (packed.weights[packed.labels == IGNORED] == 0).all()


def test_a_blind_text_does_not_see_the_image(tiny):
    model, _, packer = tiny
    packed = packer.pack(TEXTS[:1])
    with torch.no_grad():
        seen = [
            packed_logits(model, image_tokens(model, features_of(model, images)), packed)[0]
            for images in (torch.randn(1, 3, SIZE, SIZE), torch.randn(1, 3, SIZE, SIZE))
        ]
    changes = [(seen[0] - seen[1])[rows(packed, 0, n)].abs().max() for n in (1, 2, 3)]
    assert changes[2] == 0
    assert min(changes[:2]) > 0.01


# The model in its folder


@pytest.fixture(scope="module")
def folder(tiny, plan, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tiny"
    write_folder(path, plan.lexicon, TINY)
    save_weights(tiny[0], path)
    return path


def test_the_folder_loads_as_any_model_and_its_processor_agrees(tiny, folder, plan):
    model, _, packer = tiny
    scenes = flat_scenes(plan, [COLOR])
    loaded = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(folder)
    messages = [
        {
            "role": "user",
            "content": [{"type": "image"}, {"type": "text", "text": COLOR_QUESTION.prompt}],
        }
    ]
    text = processor.apply_chat_template(messages, add_generation_prompt=True)
    inputs = processor(
        images=Image.fromarray(scenes.images[0]),
        text=text,
        return_tensors="pt",
        add_special_tokens=False,
    )
    seen = plain_views(scenes).images
    assert torch.allclose(inputs["pixel_values"], seen, atol=1e-5)
    with torch.no_grad():
        found = loaded(**inputs).logits[0, -1]
        packed = packer.pack([[COLOR_QUESTION]])
        logits = packed_logits(model, image_tokens(model, features_of(model, seen)), packed)
    mine = logits[0][packed.labels[0] != IGNORED][0]
    assert torch.allclose(found, mine, atol=0.05)  # half precision on disk
    assert found.argmax() == mine.argmax()


def test_scores_are_those_of_the_scorers_that_any_such_model_gets(folder, plan):
    options = HfOptions()
    scorer = load_generative(find_source(str(folder), "", options), options)
    scenes = flat_scenes(plan, [COLOR, KEYS])
    texts = [CAPTION, "A blue cake, and a red bus on a white background.", "a red cake."]
    requests = [
        ScoreRequest(str(k), image, texts, np.empty(0, np.int8))
        for k, image in enumerate(scenes.images)
    ]
    together = scorer.score(requests)
    alone = [scorer.score([request])[0] for request in requests]
    loaded = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoProcessor.from_pretrained(folder).tokenizer
    for k, (one, both) in enumerate(zip(alone, together, strict=True)):
        assert np.allclose(one.values, both.values, atol=1e-4)
        for value, text in zip(both.values, texts, strict=True):
            caption = tokenizer(text)["input_ids"]
            prompt = [BOS, *[IMAGE] * IMAGE_TOKENS, *tokenizer("Describe the image.")["input_ids"]]
            with torch.no_grad():
                out = loaded(
                    input_ids=torch.tensor([prompt + caption]),
                    pixel_values=plain_views(scenes).images[k : k + 1],
                ).logits[0]
            table = out[len(prompt) - 1 : -1].log_softmax(-1)
            plain = table[range(len(caption)), caption].sum().item()
            assert value == pytest.approx(plain, abs=1e-3)


# Figures


def test_d_prime_is_that_of_the_textbook():
    value, error = d_prime(69, 99, 31, 99)  # (69 + 1/2) / 100 and (31 + 1/2) / 100
    assert value == pytest.approx(0.5101 + 0.4817, abs=1e-3)
    assert 0.15 < error < 0.22
    assert d_prime(200, 200, 0, 200)[0] == pytest.approx(5.6, abs=0.1)


def test_rows_count_kinds_numbers_and_unseen_pairs(plan):
    two = Sight(("cake", "bus"), ("red", "blue"), np.zeros((2, 2)), np.ones(2), np.ones(2))
    found = [
        Answered(Text("What color is the bus?", "blue", "color", unseen=True), two, 0, True),
        Answered(Text("What color is the cake?", "red", "color"), two, 0, False),
        Answered(Text("Is the bus blue?", "yes", "claim yes"), two, 1, True),
        Answered(Text("Is the bus red?", "no", "claim swapped"), two, 1, True),
    ]
    table = {row.name: row for row in rows_of(found, plan)}
    assert table["color"].value.startswith("50.0")
    assert table["unseen: color, N=2"].value.startswith("100.0")
    assert table["color, N=2"].n == 2
    assert "d' of claims, wrong ones with another object's color" in table


def test_an_answer_is_right_if_every_word_is_the_likeliest(tiny, plan, monkeypatch):
    model, tokenizer, packer = tiny
    scenes = flat_scenes(plan, [COLOR, KEYS])
    asker = Asker(plan.lexicon, nouns_of(plan.lexicon), held_out=True)
    yes, no, red = tokenizer.convert_tokens_to_ids(["yes", "no", "red"])

    def found(change) -> list[Answered]:
        def logits(_model, _tokens, packed: Packed) -> torch.Tensor:
            labels = packed.labels.clamp(min=0)
            out = functional.one_hot(labels, len(tokenizer)).float()
            return change(out)

        monkeypatch.setattr(nano_vlm_figures, "packed_logits", logits)
        return answers(model, packer, asker, scenes, plan, 1, seed=0)

    def turned(out: torch.Tensor) -> torch.Tensor:
        out[..., [yes, no]] = out[..., [no, yes]]
        return out

    def redder(out: torch.Tensor) -> torch.Tensor:
        out[..., red] += 2  # of no yes or no
        return out

    perfect = found(lambda out: out)
    assert {one.scene for one in perfect} == {0, 1}
    assert not any(one.text.caption for one in perfect)
    assert all(one.right for one in perfect)
    # The end is no yes or no, so that it stays right.
    for one in found(turned):
        assert one.right == (one.text.answer not in ("yes", "no", "red, yes", "blue, no"))
    assert not any(one.right for one in found(redder) if one.text.kind == "count")


# Training


def test_training_writes_two_models_that_follow_from_the_seed(monkeypatch, tmp_path):
    monkeypatch.setattr(validator_data, "draw", flat_scene)
    monkeypatch.setattr(validator_data, "ProcessPoolExecutor", InThisProcess)
    monkeypatch.setattr(nano_vlm, "SHAPES", {"vlm": TINY, "vlm-small": TINY})
    lines: list[str] = []
    for run, workers in (("a", 1), ("b", 2)):
        train_nano_vlm(
            tmp_path / run,
            cache=tmp_path / f"cache {run}",
            seed=3,
            scenes=50,
            rows=50,
            development=(10, 10) if run == "a" else (0, 0),
            recipe=Recipe(Phase(2, 8), Phase(2, 8), Phase(2, 8)),
            workers=workers,
            report=lines.append,
        )
    weights = []
    for name in ("nano-vlm", "nano-vlm-small"):
        files = {f.name: f.read_bytes() for f in sorted((tmp_path / "a" / name).iterdir())}
        others = {f.name: f.read_bytes() for f in sorted((tmp_path / "b" / name).iterdir())}
        assert files == others
        weights.append(files["model.safetensors"])
        model, _ = load_model(tmp_path / "a" / name)
        assert all(p.isfinite().all() for p in model.parameters())
        assert len(trained_scenes(tmp_path / "a" / name)) > 90
    assert weights[0] != weights[1]
    assert any(line.startswith("images: ") and "2/2" in line for line in lines)
    assert any(line.startswith("vlm-small: answers right: ") for line in lines)


def test_a_shortened_recipe_keeps_its_proportions():
    whole = Recipe()
    half = whole.shortened(whole.texts.steps // 2)
    assert half.texts.steps == whole.texts.steps // 2
    assert half.images.steps == round(whole.images.steps / 2)
    assert whole.shortened(1).small.steps == 1


# The shipped models


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_models_are_small_and_saw_no_scene_of_the_embedded_suite(plan, name):
    size = sum(f.stat().st_size for f in (WEIGHTS / name).iterdir() if f.suffix == ".safetensors")
    assert size < 12_000_000
    seen = trained_scenes(WEIGHTS / name)
    assert len(seen) > 5000
    for benchmark in BENCHMARKS.values():
        most = 786 if benchmark.key == "color-n1" else 2000
        for sampled in sample_concepts(benchmark, plan.lexicon, most, seed=0):
            assert sampled.scene_id not in seen


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_folders_are_what_the_code_writes(plan, name, tmp_path):
    write_folder(tmp_path, plan.lexicon, SHAPES[name.removeprefix("nano-")])
    for path in tmp_path.iterdir():
        assert (WEIGHTS / name / path.name).read_bytes() == path.read_bytes(), path.name
