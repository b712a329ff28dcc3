"""Benchmarks and their keys."""

import pytest

from bindbench.errors import UserError
from bindbench.tasks import BENCHMARKS, get_benchmark, get_task


def test_the_nine_benchmarks():
    assert list(BENCHMARKS) == [
        "color-n1",
        "color-n2",
        "color-n3",
        "shape_color-n2",
        "shape_color-n3",
        "position-n2",
        "position-n3",
        "relative_size-n2",
        "relative_size-n3",
    ]


@pytest.mark.parametrize(
    ("key", "labels"), [("color-n3", 3), ("position-n3", 2), ("relative_size-n2", 1)]
)
def test_relations_have_one_label_less_than_objects(key, labels):
    assert get_benchmark(key).n_labels == labels


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("color-n0", "N=0: task color is defined for N=1, 2, 3"),
        ("color-n5", "N=5: task color is defined for N=1, 2, 3"),
        ("position-n1", "N=1: task position is defined for N=2, 3"),
        ("colour-n2", "did you mean color-n2"),
    ],
)
def test_a_wrong_benchmark_is_explained(key, words):
    with pytest.raises(UserError, match=words):
        get_benchmark(key)


def test_a_wrong_task_is_explained():
    with pytest.raises(UserError, match=r"Unknown task 'positions': did you mean position"):
        get_task("positions")
