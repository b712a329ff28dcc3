import numpy as np
import open_clip
import pytest
import torch
from in_this_process import InThisProcess

from bindbench.concepts import Concept, sample_concepts
from bindbench.models.open_clip_names import find_source
from bindbench.models.open_clip_scorer import load_open_clip
from bindbench.models.weights import WEIGHTS
from bindbench.semantics import FALSE, TRUE
from bindbench.tasks import BENCHMARKS, TRACKS
from bindbench.training import nano_clip, validator_data
from bindbench.training.nano_clip import Recipe, train_nano_clip
from bindbench.training.nano_clip_captions import Narrator
from bindbench.training.nano_clip_codes import Codes
from bindbench.training.nano_clip_data import (
    NanoPlan,
    drawable_nouns,
    evaluation_scenes,
    held_out_pairs,
)
from bindbench.training.nano_clip_images import Camera, Scenes, targets_of
from bindbench.training.nano_clip_model import CELLS, SIZE, new_model
from bindbench.training.nano_clip_text import Teller, save_tokenizer, words_of
from bindbench.training.nano_clip_words import Words, text_and_words
from bindbench.training.steps import Phase
from bindbench.training.trained_scenes import trained_scenes
from bindbench.training.validator_data import (
    TRAINING,
    Drawn,
    SceneSpec,
    embedded_lexicon,
)


@pytest.fixture(scope="module")
def plan() -> NanoPlan:
    return NanoPlan(embedded_lexicon(), 0)


def flat_scene(spec: SceneSpec, plan: NanoPlan) -> Drawn:
    """Colored squares in a row: what the concept says, without a ray tracer."""
    image = np.full((128, 128, 3), 235, dtype=np.uint8)
    instances = np.zeros((128, 128), dtype=np.int8)
    nouns = np.full(6, -1, dtype=np.int16)
    for k, (noun, color) in enumerate(zip(spec.concept.objects, plan.colors_of(spec), strict=True)):
        place = slice(40, 70), slice(5 + 40 * k, 35 + 40 * k)
        image[place] = plan.lexicon.colors[color].srgb
        instances[place], nouns[k] = k + 1, plan.nouns.index(noun)
    return Drawn(image, instances, instances * 0, nouns)


def flat_scenes(plan: NanoPlan, concepts: list[Concept]) -> Scenes:
    specs = [SceneSpec(concept, "minimal", None, seed) for seed, concept in enumerate(concepts)]
    return Scenes.of(plan, [flat_scene(spec, plan) for spec in specs], specs)


COLOR = Concept("color", ("cake", "bus"), ("red", "blue"))
POSITION = Concept("position", ("cake", "bus", "key"), ("to the left of", "above"))


# Data


def test_fifteen_percent_of_each_nouns_colors_are_held_out(plan):
    held = held_out_pairs(plan.lexicon)
    assert len(held) == 3 * len(drawable_nouns(plan.lexicon)) == 207
    for noun in drawable_nouns(plan.lexicon):
        assert len([pair for pair in held if pair[0] == noun]) == 3


def test_training_scenes_show_no_held_out_pair_and_no_evaluation_scene(plan):
    lexicon, left_alone = plan.lexicon, evaluation_scenes(plan.lexicon)
    for index in range(120):
        spec = plan.spec(TRAINING, index)
        colors = plan.colors_of(spec)
        assert held_out_pairs(lexicon).isdisjoint(zip(spec.concept.objects, colors, strict=True))
        assert spec.concept.scene_id(lexicon) not in left_alone
        assert spec.fault is None


def test_development_scenes_show_held_out_pairs_alone(plan):
    for index in range(30):
        concept = plan.spec(1, index).concept
        pairs = set(zip(concept.objects, concept.labels, strict=True))
        assert pairs <= held_out_pairs(plan.lexicon)


def test_test_scenes_are_the_suites_own(plan):
    keys = set()
    for index in range(72):
        spec = plan.spec(2, index)
        key = f"{spec.concept.task_name}-n{spec.concept.n}"
        keys.add((key, spec.track))
        if index % 36 >= 18:
            first = sample_concepts(BENCHMARKS[key], plan.lexicon, 2, seed=0)
            assert spec.concept == first[index // 36].concept
    assert keys == {(key, track) for key in BENCHMARKS for track in TRACKS}


@pytest.mark.parametrize("name", sorted(path.name for path in WEIGHTS.glob("nano-*clip")))
def test_the_shipped_models_saw_no_scene_of_the_embedded_suite(plan, name):
    seen = trained_scenes(WEIGHTS / name)
    assert len(seen) > 3000
    for benchmark in BENCHMARKS.values():
        most = 786 if benchmark.key == "color-n1" else 2000
        for sampled in sample_concepts(benchmark, plan.lexicon, most, seed=0):
            assert sampled.scene_id not in seen


# Text


def test_the_tokenizer_knows_every_word_of_every_caption(plan, tmp_path):
    names = ["<pad>", "<unk>", "<eos>", *words_of(plan.lexicon)]
    assert save_tokenizer(plan.lexicon, tmp_path) == len(names)
    nano_clip.write_folder(tmp_path, plan.lexicon)
    tokenizer = open_clip.get_tokenizer(f"local-dir:{tmp_path}")
    teller, rng = Teller(plan.lexicon), np.random.default_rng(0)
    texts = []
    for index in range(300):
        concept = teller.retold(plan.spec(TRAINING, index).concept, rng)
        texts += [teller.caption(concept, style, index) for style in TRACKS]
        texts.append(teller.objects_only(concept))
    tokens = tokenizer(texts)
    assert not (tokens == 1).any()
    assert ((tokens == 2).sum(1) == 1).all()
    short = tokenizer(["An orange bus, and a pair of red gloves."])[0].tolist()
    words = [names[i] for i in short if i]
    assert words == ["orange", "bus", "and", "red", "<unk>", "<eos>"]


def test_a_scene_retold_is_the_same_scene(plan):
    teller, rng = Teller(plan.lexicon), np.random.default_rng(1)
    orders = set()
    for concept in (COLOR, POSITION, Concept("relative_size", ("cake", "bus"), ("larger than",))):
        for _ in range(20):
            retold = teller.retold(concept, rng)
            assert retold.scene_id(plan.lexicon) == concept.scene_id(plan.lexicon)
            orders.add((retold.objects, retold.labels))
    assert (("bus", "cake"), ("smaller than",)) in orders
    assert (("cake", "bus"), ("bigger than",)) in orders
    assert (("key", "bus", "cake"), ("under", "to the right of")) in orders


def test_a_mirror_exchanges_left_and_right_alone(plan):
    teller = Teller(plan.lexicon)
    assert teller.mirrored(POSITION).labels == ("to the right of", "above")
    assert teller.mirrored(COLOR) is COLOR


def test_swapped_captions_are_false_and_in_the_same_frame(plan):
    from bindbench.semantics import text_semantics

    teller, rng = Teller(plan.lexicon), np.random.default_rng(2)
    for concept in (COLOR, POSITION):
        semantics, _ = text_semantics(concept, plan.lexicon)
        assert semantics[0] == TRUE
        for _ in range(10):
            other = teller.swapped(concept, rng)
            assert other is not None
            assert sorted(other.objects) == sorted(concept.objects)
            assert sorted(other.labels) == sorted(concept.labels)
            assert other.scene_id(plan.lexicon) != concept.scene_id(plan.lexicon)
    assert teller.swapped(Concept("color", ("cake",), ("red",)), rng) is None
    size = Concept("relative_size", ("cake", "bus", "key"), ("larger than", "bigger than"))
    assert FALSE in text_semantics(size, plan.lexicon)[0]


def test_one_caption_for_each_image_and_swaps_only_when_asked(plan):
    scenes = flat_scenes(plan, [COLOR, POSITION] * 20)
    seen = Camera(scenes, plan, 0.4, 20).views(np.arange(40), np.random.default_rng(0)).shown
    narrator = Narrator(scenes, plan, Teller(plan.lexicon))
    plain = narrator.tell(seen, False, np.random.default_rng(0))
    assert (len(plain.positives), plain.swapped) == (40, [])
    hard = narrator.tell(seen, True, np.random.default_rng(0))
    assert 10 < len(hard.swapped) < 40
    assert len(set(hard.positives)) > 20


def test_a_caption_is_known_to_be_true_of_other_scenes(plan):
    cake = Concept("color", ("cake",), ("red",))
    other = Concept("color", ("cake", "bus"), ("blue", "red"))
    scenes = flat_scenes(plan, [COLOR, cake, other])
    seen = Camera(scenes, plan, 0.0, 20).views(np.arange(3), np.random.default_rng(0)).shown
    narrator = Narrator(scenes, plan, Teller(plan.lexicon))
    truths = {}
    for seed in range(40):
        told = narrator.tell(seen, False, np.random.default_rng(seed))
        truths |= dict(zip(told.positives, told.true.tolist(), strict=True))
    assert truths["a red cake on a white background."] == [True, True, False]
    assert truths["a red bus on a white background."] == [False, False, True]
    assert truths["a red cake, and a blue bus on a white background."] == [True, False, False]
    assert truths["a cake on a white background."] == [True, True, True]


@pytest.fixture(scope="module")
def untrained(plan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("untrained")
    nano_clip.write_folder(folder, plan.lexicon)
    torch.manual_seed(0)
    return new_model(folder).eval(), open_clip.get_tokenizer(f"local-dir:{folder}")


def test_a_noun_is_found_where_it_stands_after_its_color(plan, untrained):
    tokenizer = untrained[1]
    tokens = tokenizer(
        [
            "a red washing machine, and a blue bus on a white background.",
            "Look: a bus is to the left of a cake.",
            "There is a bus in the rain, and a pair of navy headphones.",
        ]
    )
    claims = torch.zeros(3, len(plan.nouns) * (len(plan.colors) + 1))

    def number(noun: str, color: str | None) -> int:
        k = plan.colors.index(color) + 1 if color else 0
        return plan.nouns.index(noun) * (len(plan.colors) + 1) + k

    told = [
        [("bus", "blue"), ("washing machine", "red")],
        [("bus", None), ("cake", None)],
        [("headphones", "navy")],
    ]
    for row, pairs in enumerate(told):
        for pair in pairs:
            claims[row, number(*pair)] = 1
    rows, positions, names = Words(tokenizer, plan).find(tokens, claims)
    found = set(zip(rows.tolist(), positions.tolist(), names.tolist(), strict=True))
    assert found == {
        (0, 2, number("washing machine", "red")),  # red washing machine and blue bus ...
        (0, 5, number("bus", "blue")),
        (2, 7, number("headphones", "navy")),  # there is bus in rain and navy headphones
    }


def test_each_token_has_the_embedding_of_the_text_that_ends_there(untrained):
    model, tokenizer = untrained
    tokens = tokenizer(["a red cake, and a blue bus", "a bus"])
    with torch.no_grad():
        texts, states = text_and_words(model, tokens)
        plain = model.encode_text(tokens, normalize=True)
    torch.testing.assert_close(texts, plain)
    ends = states[[0, 1], [5, 1]]  # red cake and blue bus <eos>; bus <eos>
    torch.testing.assert_close(torch.nn.functional.normalize(ends, dim=-1), plain)


def test_the_sum_of_two_codes_tells_what_is_bound_to_what(plan):
    table, colors = Codes(plan)._table, len(plan.colors) + 1
    torch.testing.assert_close(table.norm(dim=-1), torch.ones(len(table)))
    rng = np.random.default_rng(0)
    for _ in range(50):
        (a, b), (x, y) = rng.choice(68, 2, replace=False), rng.choice(20, 2, replace=False) + 1
        right = table[a * colors + x] + table[b * colors + y]
        swapped = table[a * colors + y] + table[b * colors + x]
        assert right @ right > right @ swapped
        assert right @ table[a * colors] > 0.3


# Images


def test_views_are_normalised_and_mirrored_with_their_maps(plan):
    scenes = flat_scenes(plan, [COLOR])
    found = Camera(scenes, plan, 0.4, 20).views(np.zeros(8, np.int64), np.random.default_rng(0))
    assert found.images.shape == (8, 3, SIZE, SIZE)
    assert found.images.min() >= -2
    assert found.images.max() <= 2
    assert 0 < found.shown.mirrored.sum() < 8
    nouns, colors = targets_of(scenes, found, 99, 98).cells
    cake, bus = (plan.nouns.index(name) for name in COLOR.objects)
    for k in range(8):
        cells = nouns[k].view(CELLS, CELLS)
        columns = {n: np.nonzero((cells == n).any(0).numpy())[0].mean() for n in (cake, bus)}
        assert (columns[cake] > columns[bus]) == found.shown.mirrored[k]
        assert torch.equal(nouns[k] == cake, colors[k] == found.shown.colors[k, 0])
        assert torch.equal(nouns[k] == bus, colors[k] == found.shown.colors[k, 1])
        assert torch.equal(nouns[k] == 99, colors[k] == 98)


def test_recolored_objects_look_it_and_never_make_a_held_out_pair(plan):
    scenes = flat_scenes(plan, [COLOR] * 200)
    found = Camera(scenes, plan, 0.4, 20).views(np.arange(200), np.random.default_rng(0))
    original = [plan.colors.index(name) for name in COLOR.labels]
    changed = found.shown.colors[:, :2] != original
    assert 0.2 < changed.mean() < 0.45
    held = held_out_pairs(plan.lexicon)
    for row in range(200):
        said = scenes.said(row, found.shown.colors[row], plan)
        assert held.isdisjoint(zip(said.objects, said.labels, strict=True))
        assert len(set(said.labels)) == 2
        if changed[row].any():
            assert said.scene_id(plan.lexicon) not in evaluation_scenes(plan.lexicon)
    cells = targets_of(scenes, found, 99, 98)
    for row in np.flatnonzero(changed[:, 0])[:20]:
        place = (
            found.images[row]
            .flatten(1)
            .T[
                (cells.cover[row, :, 0].view(CELLS, CELLS) > 0.9)
                .repeat_interleave(32, 0)
                .repeat_interleave(32, 1)
                .flatten()
            ]
        )
        if not len(place):
            continue
        color = plan.lexicon.colors.entries[found.shown.colors[row, 0]].srgb
        shown = (place.median(0).values * 0.25 + 0.5).numpy() * 255
        assert np.abs(shown / shown.max() - np.array(color) / max(color)).max() < 0.2


# Training


def test_training_writes_two_models_that_follow_from_the_seed(monkeypatch, tmp_path):
    monkeypatch.setattr(validator_data, "draw", flat_scene)
    monkeypatch.setattr(validator_data, "ProcessPoolExecutor", InThisProcess)
    lines: list[str] = []
    for run, workers in (("a", 1), ("b", 2)):
        train_nano_clip(
            tmp_path / run,
            cache=tmp_path / f"cache {run}",
            seed=3,
            scenes=50,
            development=12 if run == "a" else 0,
            recipe=Recipe(Phase(2, 8), Phase(2, 8), Phase(2, 8), Phase(2, 8)),
            workers=workers,
            report=lines.append,
        )
    for name in ("nano-clip", "nano-negclip"):
        files = {f.name: f.read_bytes() for f in sorted((tmp_path / "a" / name).iterdir())}
        others = {f.name: f.read_bytes() for f in sorted((tmp_path / "b" / name).iterdir())}
        assert files == others
        assert sum(map(len, files.values())) < 6_000_000
        scorer = load_open_clip(name, find_source(str(tmp_path / "a" / name)), "float32", "cpu")
        assert scorer.scale > 1
    assert any("2/2" in line and "min left" in line for line in lines)
    assert any(line.startswith("negclip: color-n2/minimal/unseen swap strict") for line in lines)
