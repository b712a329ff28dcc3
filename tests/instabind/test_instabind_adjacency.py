from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bindbench.instabind.adjacency import adjacency, adjacent_chance
from bindbench.instabind.outcomes import Outcome, Outcomes


def errors(*rows: tuple[str, int, int, int], level: str = "L1") -> Outcomes:
    """Misbindings: group, group size, target, source."""
    return Outcomes.of(
        Outcome(
            question_id=str(i),
            image_id="im",
            group_id=group,
            class_name="car",
            level=level,
            group_size=size,
            target=target,
            gold="red",
            said="blue",
            error="misbinding",
            source=source,
            distance=abs(target - source),
            missing=False,
        )
        for i, (group, size, target, source) in enumerate(rows)
    )


def slow_p(rows: list[tuple[str, int, int, int]]) -> float:
    """Enumerate every assignment of what each target was mistaken for."""
    units = sorted({row[:3] for row in rows})
    options = []
    for _, size, target in units:
        others = [i for i in range(1, size + 1) if i != target]
        options.append([dict(zip(others, new, strict=True)) for new in permutations(others)])
    counts = []
    for maps in product(*options):
        chosen = dict(zip(units, maps, strict=True))
        counts.append(sum(abs(row[2] - chosen[row[:3]][row[3]]) == 1 for row in rows))
    observed = sum(abs(row[2] - row[3]) == 1 for row in rows)
    upper = Fraction(sum(count >= observed for count in counts), len(counts))
    lower = Fraction(sum(count <= observed for count in counts), len(counts))
    return float(min(Fraction(1), 2 * min(upper, lower)))


def test_chance():
    sizes, targets = np.array([3, 3, 4, 4, 6]), np.array([1, 2, 2, 4, 6])
    assert adjacent_chance(sizes, targets) == pytest.approx([1 / 2, 1, 2 / 3, 1 / 3, 1 / 5])


def test_one_target():
    found = adjacency(errors(("g", 4, 1, 2)))
    assert (found.misbindings, found.observed) == (1, 1.0)
    assert found.null == pytest.approx(1 / 3)
    assert found.p == pytest.approx(2 / 3)
    # The same error in three questions is one event, in three groups it is three.
    assert adjacency(errors(*[("g", 4, 1, 2)] * 3)).p == pytest.approx(2 / 3)
    three = adjacency(errors(*[(name, 4, 1, 2) for name in "abc"]))
    assert three.p == pytest.approx(2 / 27)


def test_a_middle_of_three_says_nothing():
    found = adjacency(errors(("g", 3, 2, 1), ("g", 3, 2, 3)))
    assert (found.observed, found.null, found.p) == (1.0, 1.0, 1.0)


def test_verification_is_left_out():
    found = adjacency(errors(("g", 4, 1, 2), level="L4"))
    assert (found.misbindings, found.observed, found.null, found.p) == (0, None, None, 1.0)


@st.composite
def rows(draw):
    found = []
    for _ in range(draw(st.integers(1, 5))):
        group, size = draw(st.sampled_from([("a", 3), ("b", 4)]))
        target = draw(st.integers(1, size))
        source = draw(st.sampled_from([i for i in range(1, size + 1) if i != target]))
        found.append((group, size, target, source))
    return found


@settings(max_examples=30, deadline=None)
@given(rows())
def test_p_is_that_of_all_permutations(found):
    assert adjacency(errors(*found)).p == pytest.approx(slow_p(found))
