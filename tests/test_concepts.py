import itertools
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from bindbench.candidates import candidate_space, candidate_words
from bindbench.captions.minimal import write_minimal
from bindbench.concepts import Concept, Sampled, further_concepts, sample_concepts, space_size
from bindbench.errors import UserError
from bindbench.semantics import FALSE, text_semantics
from bindbench.tasks import BENCHMARKS, get_benchmark
from bindbench.vocabulary import Lexicon, Noun, Vocabulary


def small(lexicon: Lexicon, nouns: int, colors: int = 20) -> Lexicon:
    """The lexicon cut to a few entries, of which two are nested."""
    objects = [*lexicon.objects.entries[: nouns - 2], Noun(name="pie"), Noun(name="apple pie")]
    return replace(
        lexicon,
        objects=Vocabulary("objects", "small", tuple(objects)),
        shapes=Vocabulary("shapes", "small", lexicon.shapes.entries[:nouns]),
        colors=Vocabulary("colors", "small", lexicon.colors.entries[:colors]),
    )


def every_concept(key: str, lexicon: Lexicon):
    benchmark = get_benchmark(key)
    nouns, labels = lexicon.nouns(benchmark.task), lexicon.labels(benchmark.task)
    for objects in itertools.permutations(nouns.names, benchmark.n):
        if not any(pair <= set(objects) for pair in nouns.nested):
            for words in itertools.permutations(labels.names, benchmark.n_labels):
                yield Concept(benchmark.task.name, objects, words)


def scenes(key: str, lexicon: Lexicon) -> set[str]:
    """Every scene of a space, by listing all concepts."""
    return {concept.scene_id(lexicon) for concept in every_concept(key, lexicon)}


SAME_SCENES = [
    ("color", ("cup", "bowl"), ("red", "blue"), ("bowl", "cup"), ("blue", "red")),
    ("position", ("cup", "bowl"), ("above",), ("bowl", "cup"), ("under",)),
    ("relative_size", ("cup", "bowl"), ("larger than",), ("cup", "bowl"), ("bigger than",)),
    ("relative_size", ("cup", "bowl"), ("larger than",), ("bowl", "cup"), ("smaller than",)),
    (
        "position",
        ("cup", "bowl", "lamp"),
        ("above", "to the left of"),
        ("lamp", "bowl", "cup"),
        ("to the right of", "under"),
    ),
    (
        "position",  # A above B, B under C = C above B, B under A
        ("cup", "bowl", "lamp"),
        ("above", "under"),
        ("lamp", "bowl", "cup"),
        ("above", "under"),
    ),
    (
        "relative_size",
        ("cup", "bowl", "lamp"),
        ("larger than", "bigger than"),
        ("cup", "bowl", "lamp"),
        ("bigger than", "larger than"),
    ),
]


@pytest.mark.parametrize(("task", "objects", "labels", "objects2", "labels2"), SAME_SCENES)
def test_a_scene_has_one_id(lexicon, task, objects, labels, objects2, labels2):
    one, two = Concept(task, objects, labels), Concept(task, objects2, labels2)
    assert one.id != two.id
    assert one.scene_id(lexicon) == two.scene_id(lexicon)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("color", ("cup", "bowl"), ("red", "blue")), ("color", ("cup", "bowl"), ("blue", "red"))),
        (("position", ("cup", "bowl"), ("above",)), ("position", ("cup", "bowl"), ("under",))),
        (
            ("position", ("cup", "bowl", "lamp"), ("above", "to the left of")),
            ("position", ("lamp", "bowl", "cup"), ("above", "to the left of")),
        ),
    ],
)
def test_different_scenes_have_different_ids(lexicon, one, two):
    assert Concept(*one).scene_id(lexicon) != Concept(*two).scene_id(lexicon)


def test_scene_id_does_not_depend_on_the_order_of_a_vocabulary(lexicon):
    positions = Vocabulary("positions", "reverse", lexicon.positions.entries[::-1])
    reverse = replace(lexicon, positions=positions)
    concept = Concept("position", ("cup", "bowl", "lamp"), ("under", "to the left of"))
    assert concept.scene_id(lexicon) == concept.scene_id(reverse)


def test_published_sizes_of_the_spaces(lexicon):
    assert space_size(BENCHMARKS["color-n1"], lexicon) == 250 * 20
    assert space_size(BENCHMARKS["shape_color-n2"], lexicon) == 17_100
    nested = len(lexicon.objects.nested)
    assert space_size(BENCHMARKS["relative_size-n2"], lexicon) == 62_250 - 2 * nested
    assert space_size(BENCHMARKS["color-n2"], lexicon) == (31_125 - nested) * 20 * 19


@pytest.mark.parametrize("key", list(BENCHMARKS))
def test_size_and_sample_agree_with_a_full_listing(lexicon, key):
    tiny = small(lexicon, 5, colors=4)
    expected = scenes(key, tiny)
    size = space_size(BENCHMARKS[key], tiny)
    assert size == len(expected)
    sampled = sample_concepts(BENCHMARKS[key], tiny, size, seed=0)
    assert {s.scene_id for s in sampled} == expected
    assert [s.index for s in sampled] == list(range(size))
    assert {(s.replicate, s.counterpart) for s in sampled} == {(0, None)}


@pytest.mark.parametrize("key", list(BENCHMARKS))
def test_a_longer_sequence_begins_with_the_shorter_one(lexicon, key):
    benchmark = BENCHMARKS[key]
    longer = sample_concepts(benchmark, lexicon, 3000, seed=1)
    assert sample_concepts(benchmark, lexicon, 7, seed=1) == longer[:7]
    assert sample_concepts(benchmark, lexicon, 900, seed=1, start=600) == longer[600:1500]
    assert sample_concepts(benchmark, lexicon, 7, seed=2) != longer[:7]
    assert len({s.scene_id for s in longer}) == 3000


def test_more_concepts_than_scenes_names_both_numbers(lexicon):
    with pytest.raises(UserError, match=r"17101 .* 17100"):
        sample_concepts(BENCHMARKS["shape_color-n2"], lexicon, 17_101, seed=0)


def test_replicates_begin_the_sequence_again(lexicon):
    tiny = small(lexicon, 4, colors=2)
    benchmark = BENCHMARKS["shape_color-n2"]
    size = space_size(benchmark, tiny)
    sampled = sample_concepts(benchmark, tiny, 2 * size + 3, seed=0, replicates=True)
    assert [s.replicate for s in sampled] == [0] * size + [1] * size + [2] * 3
    assert [s.concept for s in sampled[size : 2 * size]] == [s.concept for s in sampled[:size]]
    assert sample_concepts(benchmark, tiny, 5, 0, start=size, replicates=True) == sampled[size:][:5]
    assert sample_concepts(benchmark, tiny, 5, 0) == sampled[:5]


def test_no_scene_at_all_is_an_error_even_with_replicates(lexicon):
    with pytest.raises(UserError, match="make 0 scenes"):
        sample_concepts(BENCHMARKS["shape_color-n3"], small(lexicon, 2), 1, seed=0, replicates=True)


def test_objects_and_labels_are_uniform(lexicon):
    sampled = sample_concepts(BENCHMARKS["color-n3"], lexicon, 20_000, seed=0)
    colors = Counter(label for s in sampled for label in s.concept.labels)
    objects = Counter(obj for s in sampled for obj in s.concept.objects)
    first = Counter(s.concept.objects[0] for s in sampled)
    # Chi-square bounds for p = 0.001 with 19 and 249 degrees of freedom; nesting is negligible.
    assert _chi_square(colors, 20) < 43.8
    assert _chi_square(objects, 250) < 325
    assert _chi_square(first, 250) < 325


def _chi_square(counts: Counter, kinds: int) -> float:
    expected = counts.total() / kinds
    values = np.array([*counts.values(), *[0] * (kinds - len(counts))])
    return float(((values - expected) ** 2 / expected).sum())


def test_no_concept_holds_nested_nouns(lexicon):
    tiny = small(lexicon, 5)
    assert frozenset(("pie", "apple pie")) in tiny.objects.nested
    sampled = sample_concepts(BENCHMARKS["color-n2"], tiny, 500, seed=0)
    assert not any({"pie", "apple pie"} <= set(s.concept.objects) for s in sampled)


def swap_of(first: Sampled, second: Sampled, lexicon: Lexicon) -> int:
    """The semantics, in the first scene, of the second concept taken as a candidate."""
    one, two = first.concept, second.concept
    place = candidate_words(one, lexicon).index((two.objects, two.labels))
    assert candidate_space(one.task.axis, one.n).swap[place]
    return text_semantics(one, lexicon)[0][place]


@pytest.mark.parametrize("key", [key for key, b in BENCHMARKS.items() if b.n > 1])
def test_counterparts_are_false_swaps_linked_by_id(lexicon, key):
    sampled = sample_concepts(BENCHMARKS[key], lexicon, 400, seed=0, counterparts=True)
    assert len({s.scene_id for s in sampled}) == 400
    for first, second in zip(sampled[::2], sampled[1::2], strict=True):
        assert (first.counterpart, second.counterpart) == (second.concept.id, first.concept.id)
        assert swap_of(first, second, lexicon) == FALSE
    shorter = sample_concepts(BENCHMARKS[key], lexicon, 11, seed=0, counterparts=True)
    assert shorter == sampled[:11]


def test_counterparts_at_n2_fill_the_space(lexicon):
    size = space_size(BENCHMARKS["shape_color-n2"], lexicon)
    sampled = sample_concepts(
        BENCHMARKS["shape_color-n2"], lexicon, size, seed=0, counterparts=True
    )
    assert len({s.scene_id for s in sampled}) == size


def test_counterparts_at_n3_leave_scenes_over(lexicon):
    # Three labels on three shapes: 6 scenes in two cycles of three, of which a pair each is used.
    tiny = small(lexicon, 3, colors=3)
    with pytest.raises(UserError, match=r"5 concepts.* 4 scenes"):
        sample_concepts(BENCHMARKS["shape_color-n3"], tiny, 5, seed=0, counterparts=True)


def test_counterparts_need_two_objects(lexicon):
    with pytest.raises(UserError, match="color-n1 has nothing to swap"):
        sample_concepts(BENCHMARKS["color-n1"], lexicon, 4, seed=0, counterparts=True)


def test_100_000_concepts_with_minimal_captions_take_seconds(lexicon):
    start = time.process_time()
    sampled = sample_concepts(BENCHMARKS["color-n3"], lexicon, 100_000, seed=0)
    texts = {write_minimal(s.concept, lexicon).text for s in sampled}
    assert len(texts) == 100_000
    assert time.process_time() - start < 20


@pytest.mark.parametrize("counterparts", [False, True])
def test_further_concepts_are_those_that_a_longer_sequence_has(lexicon, counterparts):
    benchmark = BENCHMARKS["color-n2"]
    longer = sample_concepts(benchmark, lexicon, 60, 3, counterparts=counterparts)
    found = further_concepts(benchmark, lexicon, 20, 40, 3, counterparts=counterparts)
    assert found.count == 40
    nouns, colors = lexicon.objects.names, lexicon.colors.names
    for place, expected in enumerate(longer[20:]):
        assert found.sampled(place, expected.index) == expected
        assert tuple(nouns[i] for i in found.objects[place]) == expected.concept.objects
        assert tuple(colors[i] for i in found.labels[place]) == expected.concept.labels


def test_further_concepts_end_with_the_space_or_come_again(lexicon):
    benchmark = BENCHMARKS["color-n1"]
    size = space_size(benchmark, lexicon)
    assert further_concepts(benchmark, lexicon, size - 5, 20, 0).count == 5
    again = further_concepts(benchmark, lexicon, size - 5, 20, 0, replicates=True)
    assert again.count == 20
    longer = sample_concepts(benchmark, lexicon, 15, 0, start=size, replicates=True)
    assert [again.sampled(5 + i, size + i) for i in range(15)] == longer
