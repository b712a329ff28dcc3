import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instabind_samples import asked, dataset, group, image

from bindbench.analysis.resampling import bootstrap_ratio
from bindbench.instabind.answer_bias import letters, yes_no
from bindbench.instabind.gaps import gaps
from bindbench.instabind.metrics import by, confusion, metrics
from bindbench.instabind.outcomes import Outcomes, classify

COLORS = ["red", "blue", "green", "black", "white", "pink"]
QUESTIONS = asked(
    dataset(
        image("a", group("g", COLORS[:3])),
        image("b", group("h", COLORS[:4]), group("i", COLORS[:3], "cup")),
        image("c", group("j", COLORS[:6])),
    )
)


def table(answer, questions=QUESTIONS):
    return Outcomes.of(classify(question, answer(question)) for question in questions.values())


def members(question):
    return question.binding_context.instances


def neighbor(question):
    """The value of the target's left neighbor, or else of its right one."""
    at = question.target.order_index - 1
    other = members(question)[at - 1 if at else 1]
    if question.level == "L4":
        return "yes"
    return other.order_label if question.level == "L2" else other.attribute_value


def test_right_answers():
    found = metrics(table(lambda q: q.canonical_answer))
    assert (found.accuracy, found.mbr, found.err_mbr, found.a_mbr) == (1.0, 0.0, None, None)
    assert found.a_mbr_null is None
    assert found.distance_counts == {"1": 0, "2": 0, "3": 0, "4": 0, "5": 0}
    assert "a_mbr" not in found.intervals


def test_always_yes():
    found = by(table(lambda q: "yes"), "level")
    l4 = found["L4"]
    assert (l4.accuracy, l4.mbr, l4.err_mbr, l4.a_mbr, l4.a_mbr_null) == (0.5, 0.5, 1.0, 1.0, 1.0)
    assert found["L1"].out_of_set_rate == 1.0  # "yes" is no color
    bias = yes_no(table(lambda q: "yes"))
    assert bias is not None
    assert bias.d_prime == pytest.approx(0)
    assert bias.bias < -1
    assert (bias.yes_to_true, bias.yes_to_false) == (1.0, 1.0)


def test_always_leftmost():
    only = {key: q for key, q in QUESTIONS.items() if q.level == "L2"}
    result = table(lambda q: "A", only)
    found = metrics(result)
    # 16 instances in 4 groups; the leftmost of each is right, its neighbor is adjacent.
    assert (found.total, found.wrong) == (16, 12)
    assert (found.accuracy, found.mbr, found.err_mbr) == (4 / 16, 12 / 16, 1.0)
    assert found.a_mbr == 4 / 12
    assert found.distance_counts == {"1": 4, "2": 4, "3": 2, "4": 1, "5": 1}
    # By group: targets 2..n, each with neighbors / (n - 1).
    null = 2 * (2 / 2 + 1 / 2) + (2 / 3 + 2 / 3 + 1 / 3) + (4 * 2 / 5 + 1 / 5)
    assert found.a_mbr_null == pytest.approx(null / 12)
    preference = letters(result)
    assert preference is not None
    assert preference.chosen == {"A": 16, "B": 0, "C": 0, "D": 0, "E": 0, "F": 0}
    assert preference.right == {"A": 4, "B": 4, "C": 4, "D": 2, "E": 1, "F": 1}
    assert preference.distance == 12 / 16


def test_always_a_neighbor():
    found = by(table(neighbor), "level")
    for level in ("L1", "L2", "L3"):
        assert (found[level].accuracy, found[level].mbr, found[level].a_mbr) == (0.0, 1.0, 1.0)
    # Each target has one L1 and one L2 question, and an L3 question from each neighbor.
    assert confusion(table(neighbor))["4"] == [
        [0, 3, 0, 0],
        [4, 0, 0, 0],
        [0, 4, 0, 0],
        [0, 0, 3, 0],
    ]


def test_d_prime_by_hand():
    only = {key: q for key, q in QUESTIONS.items() if q.level == "L4"}  # 16 true, 16 false claims
    false = [key for key, q in only.items() if q.canonical_answer == "no"][:4]
    bias = yes_no(table(lambda q: "yes" if q.question_id in false else q.canonical_answer, only))
    assert bias is not None
    # Hits 16.5/17, false alarms 4.5/17: z = 1.8895, -0.6289 (tables of the normal distribution).
    assert bias.d_prime == pytest.approx(1.8895 + 0.6289, abs=2e-3)
    assert bias.bias == pytest.approx(-(1.8895 - 0.6289) / 2, abs=2e-3)
    assert (bias.yes_to_true, bias.yes_to_false) == (1.0, 0.25)
    assert yes_no(table(lambda q: "maybe", only)) is None
    assert letters(table(lambda q: "none", only)) is None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_rates_are_counts(seed):
    rng = np.random.default_rng(seed)
    said = ["red", "blue", "A", "B. middle", "yes", "no", "purple", "unknown", "rightmost"]
    result = table(lambda q: said[rng.integers(len(said))])
    found = metrics(result, resamples=2)
    share = (
        found.accuracy
        + found.mbr
        + found.out_of_set_rate
        + found.recognition_rate
        + found.invalid_rate
    )
    assert share == pytest.approx(1)
    assert found.total - found.wrong == (result.error == "correct").sum()
    assert sum(found.distance_counts.values()) == round(found.mbr * found.total)
    assert sum(one.total for one in by(result, "class_name").values()) == found.total
    if found.a_mbr is not None:
        assert found.a_mbr * sum(found.distance_counts.values()) == pytest.approx(
            found.distance_counts["1"]
        )


def test_intervals_resample_images():
    rng = np.random.default_rng(3)
    result = table(lambda q: q.canonical_answer if rng.random() < 0.6 else neighbor(q))
    found = metrics(result)
    # An independent bootstrap, image by image.
    parts = list(result.by("image_id").values())
    draws = []
    for _ in range(1000):
        drawn = [parts[i] for i in rng.integers(len(parts), size=len(parts))]
        wins = sum(int((part.error == "correct").sum()) for part in drawn)
        draws.append(wins / sum(len(part) for part in drawn))
    low, high = found.intervals["accuracy"]
    assert np.quantile(draws, [0.025, 0.975]) == pytest.approx([low, high], abs=0.02)
    assert metrics(result) == found
    right = result.error == "correct"
    same = bootstrap_ratio(right, np.ones(len(right)), result.image_id, 0, 1000)
    assert same is not None
    assert (same.low, same.high) == (low, high)


def test_gaps_are_paired():
    def full(q):
        return neighbor(q)

    def crop(q):
        return q.canonical_answer if q.target.order_index == 1 else neighbor(q)

    local = {key: q for key, q in QUESTIONS.items() if q.level in ("L1", "L3")}
    found = gaps(table(full), table(crop, local))
    assert set(found) == {"overall", "L1", "L3"}
    l1 = found["L1"]
    assert (l1.total, l1.accuracy_gap.value, l1.mbr_reduction.value) == (16, 4 / 16, 4 / 16)
    low, high = l1.accuracy_gap.interval
    assert low < 4 / 16 < high
    # Three images, and every one improves: one of the 8 arrangements of signs, on either side.
    assert found["overall"].accuracy_gap.p == pytest.approx(0.25, abs=0.02)


def test_compat_hides_invalid_answers_in_gaps():
    silent = table(lambda q: "unknown")
    assert gaps(silent, silent)["L1"].invalid_rates == (1.0, 1.0)
    assert gaps(silent, silent, compat=True)["L1"].invalid_rates == (0.0, 0.0)
