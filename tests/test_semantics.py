import itertools

import numpy as np
import pytest

from bindbench.candidates import candidate_families, candidate_space, candidate_words
from bindbench.concepts import Concept, sample_concepts
from bindbench.semantics import (
    BROADER,
    CONTRADICTION,
    COUNT,
    FALSE,
    IMAGE,
    NONE,
    PAIRING,
    REASONS,
    TRUE,
    UNDECIDED,
    UNSTATED,
    settle,
    text_semantics,
)
from bindbench.tasks import BENCHMARKS
from bindbench.vocabulary import Lexicon

THREE = ("cup", "chair", "lamp")


def counts(concept: Concept, lexicon: Lexicon) -> dict[str, tuple[int, int, int]]:
    """True, false and undecided candidates of both families, without the positive."""
    semantics, _ = text_semantics(concept, lexicon)
    space = candidate_space(concept.task.axis, concept.n)
    found = {}
    for family, rows in (("confusion", semantics[1:]), ("swap", semantics[space.swap])):
        found[family] = tuple(np.bincount(rows, minlength=3).tolist())
    return found


def label_of(concept: Concept, objects, labels, lexicon: Lexicon) -> tuple[int, str]:
    """The semantics and reason of the candidate with these words."""
    place = candidate_words(concept, lexicon).index((tuple(objects), tuple(labels)))
    semantics, reasons = text_semantics(concept, lexicon)
    return int(semantics[place]), REASONS[reasons[place]]


@pytest.mark.parametrize("pair", list(itertools.permutations(range(4), 2)))
def test_counts_of_every_pair_of_positions(lexicon, pair):
    labels = tuple(lexicon.positions.names[i] for i in pair)
    one_axis = len({lexicon.positions[label].axis for label in labels}) == 1
    expected = {"confusion": (1, 98, 8), "swap": (1, 4, 0)}
    if not one_axis:
        expected = {"confusion": (0, 91, 16), "swap": (0, 2, 3)}
    assert counts(Concept("position", THREE, labels), lexicon) == expected


@pytest.mark.parametrize("labels", list(itertools.permutations(range(3), 2)))
def test_counts_of_every_pair_of_sizes(lexicon, labels):
    words = tuple(lexicon.sizes.names[i] for i in labels)
    expected = {"confusion": (1, 98, 8), "swap": (1, 4, 0)}
    if "smaller than" not in words:
        expected = {"confusion": (3, 104, 0), "swap": (0, 5, 0)}
    assert counts(Concept("relative_size", THREE, words), lexicon) == expected


def test_counts_of_two_objects_and_of_colors(lexicon):
    position = Concept("position", THREE[:2], ("above",))
    assert counts(position, lexicon) == {"confusion": (0, 3, 0), "swap": (0, 1, 0)}
    two = Concept("color", THREE[:2], ("red", "yellow"))
    assert counts(two, lexicon) == {"confusion": (1, 14, 0), "swap": (0, 1, 0)}
    three = Concept("color", THREE, ("red", "yellow", "pink"))
    assert counts(three, lexicon) == {"confusion": (5, 723, 0), "swap": (0, 5, 0)}


def test_reasons_of_two_colors(lexicon):
    concept = Concept("color", ("cup", "bowl"), ("red", "blue"))
    assert label_of(concept, ("cup", "bowl"), ("red", "blue"), lexicon) == (TRUE, "none")
    assert label_of(concept, ("bowl", "cup"), ("blue", "red"), lexicon) == (TRUE, "none")
    assert label_of(concept, ("cup", "bowl"), ("blue", "red"), lexicon) == (FALSE, "pairing")
    assert label_of(concept, ("cup", "bowl"), ("red", "red"), lexicon) == (FALSE, "pairing")
    assert label_of(concept, ("cup", "cup"), ("red", "blue"), lexicon) == (FALSE, "count")
    assert label_of(concept, ("cup", "cup"), ("red", "red"), lexicon) == (FALSE, "count")


def test_a_broader_color_is_undecided_and_a_narrower_one_false(lexicon):
    concept = Concept("color", ("cup", "bowl"), ("navy", "blue"))
    assert label_of(concept, ("cup", "bowl"), ("blue", "blue"), lexicon) == (UNDECIDED, "broader")
    assert label_of(concept, ("bowl", "cup"), ("blue", "blue"), lexicon) == (UNDECIDED, "broader")
    assert label_of(concept, ("cup", "bowl"), ("navy", "navy"), lexicon) == (FALSE, "pairing")
    assert label_of(concept, ("cup", "bowl"), ("blue", "navy"), lexicon) == (FALSE, "pairing")
    assert label_of(concept, ("cup", "cup"), ("blue", "blue"), lexicon) == (FALSE, "count")


def test_a_broader_shape_may_be_said_of_both(lexicon):
    # Every cube is a cuboid, so the scene holds two cuboids, but only one cube.
    concept = Concept("shape_color", ("cube", "cuboid"), ("red", "green"))
    assert label_of(concept, ("cuboid", "cuboid"), ("red", "green"), lexicon) == (
        UNDECIDED,
        "broader",
    )
    assert label_of(concept, ("cuboid", "cuboid"), ("red", "red"), lexicon) == (FALSE, "pairing")
    assert label_of(concept, ("cube", "cube"), ("red", "green"), lexicon) == (FALSE, "count")
    assert label_of(concept, ("cuboid", "cube"), ("red", "green"), lexicon) == (FALSE, "pairing")


def test_a_broader_object_in_a_relation(lexicon):
    concept = Concept("position", ("suv", "car"), ("above",))
    assert label_of(concept, ("car", "car"), ("above",), lexicon) == (UNDECIDED, "broader")
    assert label_of(concept, ("suv", "suv"), ("above",), lexicon) == (FALSE, "count")
    assert label_of(concept, ("car", "suv"), ("above",), lexicon) == (FALSE, "contradiction")


def test_reasons_of_relations(lexicon):
    concept = Concept("position", THREE, ("above", "under"))
    cup, chair, lamp = THREE
    words = {
        ((lamp, chair, cup), ("above", "under")): (TRUE, "none"),
        ((chair, cup, lamp), ("under", "above")): (UNDECIDED, "unstated"),
        ((chair, cup, lamp), ("above", "under")): (FALSE, "contradiction"),
        ((cup, chair, cup), ("above", "under")): (FALSE, "count"),
    }
    for (objects, labels), expected in words.items():
        assert label_of(concept, objects, labels, lexicon) == expected


def test_synonyms_and_transitivity(lexicon):
    cup, chair, lamp = THREE
    descending = Concept("relative_size", THREE, ("larger than", "bigger than"))
    for labels in itertools.product(descending.labels, repeat=2):
        assert label_of(descending, THREE, labels, lexicon) == (TRUE, "none")
    # Only by transitivity is the lamp smaller than the cup; the second link is true.
    candidate = (lamp, cup, chair), descending.labels
    assert label_of(descending, *candidate, lexicon) == (FALSE, "contradiction")


def models(concept: Concept, lexicon: Lexicon):
    """Every way, up to order and ties, to place the objects so that the scene holds."""
    known = lexicon.labels(concept.task)
    axes = sorted({known[label].axis for label in concept.labels})
    ranks = list(itertools.product(range(concept.n), repeat=concept.n))
    for placing in itertools.product(ranks, repeat=len(axes)):
        model = dict(zip(axes, placing, strict=True))
        links = zip(concept.labels, range(concept.n - 1), range(1, concept.n), strict=True)
        if all(holds(model, known[label], a, b) for label, a, b in links):
            yield model


def holds(model, relation, a: int, b: int) -> bool:
    place = model[relation.axis]
    return (place[a] - place[b]) * relation.direction > 0


RELATIONAL = [
    Concept("position", THREE[: len(labels) + 1], labels)
    for k in (1, 2)
    for labels in itertools.permutations(("above", "under", "to the left of", "to the right of"), k)
] + [
    Concept("relative_size", THREE[: len(labels) + 1], labels)
    for k in (1, 2)
    for labels in itertools.permutations(("larger than", "smaller than", "bigger than"), k)
]


@pytest.mark.parametrize("concept", RELATIONAL, ids=lambda c: " ".join(c.labels))
def test_relations_agree_with_model_checking(lexicon, concept):
    """True: holds in every model. False: some link fails in every model, or a thing is repeated."""
    known = lexicon.labels(concept.task)
    worlds = list(models(concept, lexicon))
    semantics, reasons = text_semantics(concept, lexicon)
    space = candidate_space("relation", concept.n)
    for k, (objects, labels) in enumerate(
        zip(space.objects.tolist(), space.labels.tolist(), strict=True)
    ):
        if len(set(objects)) < concept.n:
            assert (semantics[k], reasons[k]) == (FALSE, COUNT)
            continue
        links = [
            [holds(world, known[concept.labels[a]], x, y) for world in worlds]
            for a, (x, y) in zip(labels, itertools.pairwise(objects), strict=True)
        ]
        if all(map(all, links)):
            expected = (TRUE, NONE)
        elif not all(map(any, links)):
            expected = (FALSE, CONTRADICTION)
        else:
            expected = (UNDECIDED, UNSTATED)
        assert (semantics[k], reasons[k]) == expected


def test_attributes_agree_with_multisets(lexicon):
    concept = Concept("color", THREE, ("red", "yellow", "pink"))
    scene = sorted(zip(concept.objects, concept.labels, strict=True))
    semantics, reasons = text_semantics(concept, lexicon)
    for k, (objects, labels) in enumerate(candidate_words(concept, lexicon)):
        true = sorted(zip(objects, labels, strict=True)) == scene
        assert (semantics[k] == TRUE) == true
        if not true:
            assert reasons[k] == (COUNT if len(set(objects)) < 3 else PAIRING)


def test_one_object(lexicon):
    concept = Concept("color", ("cup",), ("navy",))
    semantics, reasons = text_semantics(concept, lexicon)
    words, families = candidate_words(concept, lexicon), candidate_families(concept, lexicon)
    assert len(semantics) == len(words) == len(families)
    assert (semantics[0], reasons[0]) == (TRUE, NONE)
    undecided = [words[i] for i in np.flatnonzero(semantics == UNDECIDED)]
    assert undecided == [(("cup",), ("blue",))]
    assert reasons[semantics == UNDECIDED].tolist() == [BROADER]
    assert (reasons[semantics == FALSE] == PAIRING).all()
    blue = Concept("color", ("cup",), ("blue",))
    assert (text_semantics(blue, lexicon)[0][1:] == FALSE).all()


def settled(concept, centers, areas, lexicon):
    by_text = text_semantics(concept, lexicon)
    return settle(concept, *by_text, np.array(centers), np.array(areas), lexicon)


def settled_label(concept, objects, labels, centers, areas, lexicon):
    place = candidate_words(concept, lexicon).index((objects, labels))
    semantics, reasons = settled(concept, centers, areas, lexicon)
    return int(semantics[place]), int(reasons[place])


@pytest.mark.parametrize(
    ("lamp", "expected"),
    [
        ((0.5, 0.10), (TRUE, IMAGE)),  # above the cup by 0.2
        ((0.5, 0.20), (UNDECIDED, UNSTATED)),  # by 0.1: not clear
        ((0.5, 0.46), (FALSE, IMAGE)),  # under it
    ],
)
def test_the_image_settles_positions(lexicon, lamp, expected):
    # The text: cup above chair, lamp above chair. y grows downwards.
    concept = Concept("position", THREE, ("above", "under"))
    centers = [(0.2, 0.3), (0.2, 0.8), lamp]
    candidate = ("lamp", "cup", "chair"), ("above", "above")
    assert settled_label(concept, *candidate, centers, [1, 1, 1], lexicon) == expected


def test_the_text_is_not_overruled_by_the_image(lexicon):
    # Drawn the wrong way round: what the text says and denies stays.
    concept = Concept("position", ("cup", "chair"), ("to the left of",))
    semantics, reasons = settled(concept, [(0.9, 0.5), (0.1, 0.5)], [1, 1], lexicon)
    by_text = text_semantics(concept, lexicon)
    assert (semantics == by_text[0]).all() and (reasons == by_text[1]).all()
    three = Concept("position", THREE, ("to the left of", "above"))
    centers = [(0.9, 0.1), (0.1, 0.1), (0.5, 0.9)]
    # chair left of lamp by the image, lamp "left of" nothing; cup left of chair by the text.
    candidate = ("cup", "chair", "lamp"), ("to the left of", "to the left of")
    assert settled_label(three, *candidate, centers, [1, 1, 1], lexicon) == (TRUE, IMAGE)


@pytest.mark.parametrize(
    ("lamp", "expected"),
    [(310, (FALSE, IMAGE)), (240, (UNDECIDED, UNSTATED)), (120, (TRUE, IMAGE))],
)
def test_the_image_settles_sizes(lexicon, lamp, expected):
    # The text: cup larger than chair, chair smaller than lamp.
    concept = Concept("relative_size", THREE, ("larger than", "smaller than"))
    candidate = ("cup", "lamp", "chair"), ("larger than", "larger than")
    areas = [200, 50, lamp]
    centers = [(0.5, 0.5)] * 3
    assert settled_label(concept, *candidate, centers, areas, lexicon) == expected


def test_settling_leaves_attributes_alone(lexicon):
    concept = Concept("color", ("cup", "bowl"), ("navy", "blue"))
    semantics, reasons = settled(concept, [(0.1, 0.1), (0.9, 0.9)], [1, 9], lexicon)
    assert (semantics == text_semantics(concept, lexicon)[0]).all()
    assert IMAGE not in reasons


def test_settled_results_agree_with_measuring_one_by_one(lexicon):
    rng = np.random.default_rng([0])
    concepts = [s.concept for s in sample_concepts(BENCHMARKS["position-n3"], lexicon, 40, seed=0)]
    for concept in concepts:
        centers = rng.random((3, 2))
        by_text, why = text_semantics(concept, lexicon)
        semantics, reasons = settle(concept, by_text, why, centers, np.ones(3), lexicon)
        place = dict(zip(concept.objects, centers, strict=True))
        for k, (objects, labels) in enumerate(candidate_words(concept, lexicon)):
            if why[k] != UNSTATED:
                assert (semantics[k], reasons[k]) == (by_text[k], why[k])
                continue
            found = [
                judge_link(concept, label, a, b, place, lexicon)
                for label, (a, b) in zip(labels, itertools.pairwise(objects), strict=True)
            ]
            expected = FALSE if -1 in found else TRUE if 0 not in found else UNDECIDED
            assert semantics[k] == expected
            assert reasons[k] == (UNSTATED if expected == UNDECIDED else IMAGE)


def judge_link(concept, label, a, b, place, lexicon) -> int:
    """1, 0 or -1 for one link: by the scene's own links, their closure, or the measured offset."""
    entry = lexicon.positions[label]
    i, j = concept.objects.index(a), concept.objects.index(b)
    worlds = list(models(concept, lexicon))
    if entry.axis in worlds[0]:
        votes = {holds(world, entry, i, j) for world in worlds}
        inverse = {holds(world, lexicon.positions[entry.inverse], i, j) for world in worlds}
        if votes == {True}:
            return 1
        if inverse == {True}:
            return -1
    dx, dy = place[a] - place[b]
    offset = (dx if entry.axis == "horizontal" else -dy) * entry.direction
    return int(offset > 0.15) - int(offset < -0.15)


def test_arrays_are_shared_by_structure_and_read_only(lexicon):
    one = text_semantics(Concept("color", THREE, ("red", "yellow", "pink")), lexicon)
    two = text_semantics(
        Concept("color", ("bowl", "fork", "bus"), ("gray", "pink", "red")), lexicon
    )
    assert one[0] is two[0]
    with pytest.raises(ValueError, match="read-only"):
        one[0][0] = FALSE
