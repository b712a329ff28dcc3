"""Groups for a generator to draw."""

from itertools import combinations

import numpy as np
import pytest

from bindbench.errors import UserError
from bindbench.instabind.parsing import canonical
from bindbench.instabind.rows import KINDS, MATERIALS, SIZES, apart, prompt, rows
from bindbench.models.weights import WEIGHTS
from bindbench.training.trained_scenes import trained_scenes
from bindbench.training.validator_data import embedded_lexicon
from bindbench.vocabulary import Lexicon


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return embedded_lexicon()


@pytest.mark.parametrize("kind", list(KINDS))
def test_rows_have_three_to_six_things_that_are_told_apart(kind: str, lexicon: Lexicon) -> None:
    found = rows(kind, lexicon, 48, 0)
    assert len({row.id for row, _ in found}) == 48
    for row, _ in found:
        assert 3 <= len(row.values) <= 6
        assert len(set(row.values)) == len(row.values)
        assert len({*map(len, (row.values, row.objects, row.labels, row.sizes))}) == 1
        assert all(canonical(value) == value for value in row.values)
    sizes = [len(row.values) for row, _ in found]
    assert sizes[: len(KINDS[kind].counts)] == list(KINDS[kind].counts)
    assert {track for _, track in found} == {"minimal", "contextual"}


def test_a_longer_sequence_begins_with_the_shorter_one(lexicon: Lexicon) -> None:
    long = rows("color", lexicon, 20, 3)
    assert long[:7] == rows("color", lexicon, 7, 3)
    assert long[:7] != rows("color", lexicon, 7, 4)


def test_no_colors_of_a_row_are_look_alikes_or_read_as_others(lexicon: Lexicon) -> None:
    colors = lexicon.colors
    for row, _ in rows("color", lexicon, 60, 0):
        assert {"navy", "maroon"}.isdisjoint(row.values)  # read as blue and red
        for a, b in combinations(row.values, 2):
            assert b not in colors[a].close
            assert a not in colors[b].close
            assert not colors.overlaps(a, b)
        assert row.values == row.labels
        assert lexicon.objects[row.class_name].number == "count"


def test_rows_of_shapes_have_one_color_and_rows_of_sizes_one_thing(lexicon: Lexicon) -> None:
    for row, _ in rows("shape", lexicon, 12, 0):
        assert row.values == row.objects
        assert len(set(row.labels)) == 1
        assert row.class_name == "object"
        assert not {"pyramid", "cone"} <= set(row.values)
    for row, _ in rows("size", lexicon, 12, 0):
        assert sorted(row.values) == ["large", "medium", "small"]
        assert row.sizes == tuple(SIZES[value] for value in row.values)
        assert len(set(row.labels)) == len(set(row.objects)) == 1


def test_captions_tell_the_row_from_left_to_right(lexicon: Lexicon) -> None:
    (row, track), *_ = rows("color", lexicon, 1, 0)
    a, b, c = row.values
    assert prompt(row, track) == (
        f"three {row.class_name}s in a row, from left to right: a {a} {row.class_name}, "
        f"a {b} {row.class_name} and a {c} {row.class_name}, on a white background"
    ).replace("a o", "an o")
    sized = rows("size", lexicon, 1, 0)[0][0]
    assert f"a {sized.values[0]} {sized.labels[0]} {sized.class_name}, " in sized.caption
    made, _ = rows("material", lexicon, 1, 0)[0]
    assert f"a {made.class_name} made of {made.values[0]}, " in made.caption
    assert set(made.values) <= set(MATERIALS)


def test_more_rows_than_the_words_make_are_refused(lexicon: Lexicon) -> None:
    few = lexicon.objects
    one = type(few)(few.kind, "one", tuple(e for e in few.entries if e.name == "key"))
    small = Lexicon(one, lexicon.shapes, lexicon.colors, lexicon.positions, lexicon.sizes)
    with pytest.raises(UserError, match="no more than about"):
        rows("size", small, 6 * 18 + 1, 0)
    with pytest.raises(UserError, match="no 7 words"):
        apart(lexicon.shapes, 7, np.random.default_rng(0))


def test_no_row_of_the_embedded_suite_was_trained_on(lexicon: Lexicon) -> None:
    # About one in 200 rows of longer sequences was; the suite has fewer than 60 of a kind.
    trained = trained_scenes(WEIGHTS / "nano-vlm")
    for kind in ("color", "shape", "size"):
        scenes = {row.concept.scene_id(lexicon) for row, _ in rows(kind, lexicon, 60, 0)}
        assert trained.isdisjoint(scenes)
