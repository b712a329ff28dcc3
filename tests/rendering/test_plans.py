import pytest

from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.rendering.meshes import mesh_of, similarity
from bindbench.rendering.plans import Demand, make_plan

SEEDS = range(30)
COLOR = Concept("color", ("stool", "couch", "corn"), ("red", "blue", "green"))


def plans(concept, lexicon, fault, seeds=SEEDS):
    return [make_plan(concept, "minimal", seed, lexicon, fault) for seed in seeds]


def sizes(lexicon, *labels):
    concept = Concept("relative_size", ("stool", "couch", "corn"), labels)
    return set(make_plan(concept, "minimal", 0, lexicon, None).demands)


def test_without_a_fault_the_plan_is_the_concept(lexicon):
    for plan in plans(COLOR, lexicon, None):
        assert (plan.nouns, plan.colors) == (COLOR.objects, COLOR.labels)
        assert plan.leaks == (None,) * 3
        assert plan.backdrop == "plain"


def test_transitivity_is_drawn_too(lexicon):
    assert sizes(lexicon, "larger than", "bigger than") == {
        Demand(0, 1, "size", 1),
        Demand(1, 2, "size", 1),
        Demand(0, 2, "size", 1),
    }
    assert sizes(lexicon, "smaller than", "larger than") == {
        Demand(0, 1, "size", -1),
        Demand(1, 2, "size", 1),
    }


def test_relational_tasks_draw_distinct_colors(lexicon):
    concept = Concept("position", ("stool", "couch", "corn"), ("above", "to the left of"))
    drawn = [plan.colors for plan in plans(concept, lexicon, None)]
    assert all(len(set(colors)) == 3 for colors in drawn)
    assert len(set(drawn)) > 20


def test_dropped_and_doubled(lexicon):
    for plan in plans(COLOR, lexicon, "dropped"):
        pairs = list(zip(plan.nouns, plan.colors, strict=True))
        assert len(pairs) == 2
        assert set(pairs) < set(zip(COLOR.objects, COLOR.labels, strict=True))
    for plan in plans(COLOR, lexicon, "doubled"):
        assert plan.nouns[:3] == COLOR.objects
        assert plan.nouns.count(plan.nouns[3]) == 2
        assert plan.colors[3] == COLOR.labels[COLOR.objects.index(plan.nouns[3])]
    assert all(p.in_clutter == 3 for p in plans(COLOR, lexicon, "doubled_clutter"))


def test_dropping_the_middle_of_a_chain_keeps_what_it_implied(lexicon):
    concept = Concept("relative_size", ("stool", "couch", "corn"), ("larger than", "bigger than"))
    for plan in plans(concept, lexicon, "dropped"):
        assert plan.demands == (Demand(0, 1, "size", 1),)


@pytest.mark.parametrize("fault", ["replaced", "lookalike"])
def test_a_replacement_is_a_noun_that_the_caption_does_not_allow(lexicon, fault):
    for plan in plans(COLOR, lexicon, fault):
        changed = [k for k in range(3) if plan.nouns[k] != COLOR.objects[k]]
        assert len(changed) == 1
        new, old = plan.nouns[changed[0]], COLOR.objects[changed[0]]
        assert new not in COLOR.objects
        assert not lexicon.objects.overlaps(new, old)
        assert plan.colors == COLOR.labels


def test_a_lookalike_is_listed_as_close_or_among_the_most_similar(lexicon):
    for plan in plans(COLOR, lexicon, "lookalike"):
        k = next(k for k in range(3) if plan.nouns[k] != COLOR.objects[k])
        old, new = lexicon.objects[COLOR.objects[k]], lexicon.objects[plan.nouns[k]]
        likeness = similarity(mesh_of(old), mesh_of(new))
        better = [
            noun
            for noun in lexicon.objects.entries
            if noun.name not in COLOR.objects and similarity(mesh_of(old), mesh_of(noun)) > likeness
        ]
        assert new.name in old.close or len(better) < 3


def test_a_cuboid_is_never_replaced_by_a_cube_which_is_one(lexicon):
    cuboid = Concept("shape_color", ("cuboid", "sphere"), ("red", "blue"))
    cube = Concept("shape_color", ("cube", "sphere"), ("red", "blue"))
    for fault in ("wrong_shape", "lookalike"):
        assert all(p.nouns[0] != "cube" for p in plans(cuboid, lexicon, fault, range(150)))
    assert any(p.nouns[0] == "cuboid" for p in plans(cube, lexicon, "lookalike", range(150)))


def test_leaks_and_exchanges(lexicon):
    for plan in plans(COLOR, lexicon, "leaked"):
        assert plan.nouns == COLOR.objects
        assert len(set(plan.colors)) == 2
        assert sum(a != b for a, b in zip(plan.colors, COLOR.labels, strict=True)) == 1
    for plan in plans(COLOR, lexicon, "half_leaked"):
        assert plan.colors == COLOR.labels
        (k,) = [k for k in range(3) if plan.leaks[k]]
        assert plan.leaks[k].color in set(COLOR.labels) - {COLOR.labels[k]}
    for plan in plans(COLOR, lexicon, "exchanged"):
        assert sorted(plan.colors) == sorted(COLOR.labels)
        assert sum(a != b for a, b in zip(plan.colors, COLOR.labels, strict=True)) == 2


def test_a_leak_makes_the_caption_wrong(lexicon):
    """Navy on the blue object would still be blue; blue on the navy one is wrong."""
    concept = Concept("color", ("stool", "couch"), ("blue", "navy"))
    assert {plan.colors for plan in plans(concept, lexicon, "leaked")} == {("blue", "blue")}


def opposite(a, b):
    return {a, b} in ({"above", "under"}, {"to the left of", "to the right of"})


@pytest.mark.parametrize(
    "labels",
    [("above", "under"), ("above", "to the left of"), ("to the right of", "to the left of")],
)
def test_a_wrong_relation_is_wrong_and_fits_on_two_levels(lexicon, labels):
    concept = Concept("position", ("stool", "couch", "corn"), labels)
    ways = set()
    for plan in plans(concept, lexicon, "relation", range(80)):
        wrong = [k for k in range(2) if plan.relations[k] != labels[k]]
        assert wrong
        for k in wrong:
            if not opposite(plan.relations[k], labels[k]):
                axis = lexicon.positions[labels[k]].axis
                assert any(
                    d.how == "level" and (d.first, d.axis) == (k, axis) for d in plan.demands
                )
                ways.add("sideways")
            else:
                ways.add("opposite")
    assert ways == {"sideways", "opposite"}


def test_wrong_size_turns_one_order_round(lexicon):
    concept = Concept("relative_size", ("stool", "couch"), ("bigger than",))
    for plan in plans(concept, lexicon, "size"):
        assert plan.relations == ("smaller than",)
        assert plan.demands == (Demand(0, 1, "size", -1),)


def test_borderline_leaves_one_link_near_the_threshold(lexicon):
    concept = Concept("position", ("stool", "couch", "corn"), ("above", "to the left of"))
    for plan in plans(concept, lexicon, "borderline"):
        assert sorted(d.how for d in plan.demands) == ["clear", "near"]


def test_a_fault_that_is_unknown_or_cannot_happen_is_said(lexicon):
    with pytest.raises(UserError, match=r"'droped'.*dropped"):
        make_plan(COLOR, "minimal", 0, lexicon, "droped")
    with pytest.raises(UserError, match="'background' can't happen to color with N=3"):
        make_plan(COLOR, "contextual", 0, lexicon, "background")
