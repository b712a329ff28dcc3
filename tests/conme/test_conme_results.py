"""The tables of ConMe, with samples and answers whose numbers follow by hand."""

import numpy as np
import pytest

from bindbench.analysis.resampling import Estimate
from bindbench.conme.choices import Ballots
from bindbench.conme.results import STAGES, Votes, agreements, cells, difference, mean
from bindbench.conme.samples import Round, Sample


def made(round: Round, number: int) -> list[Sample]:
    return [Sample(f"i{i}", round, f"q{i}", "yes", "no") for i in range(number)]


# Two items of the source, four samples in each round, one for each image.
SAMPLES = [*made(0, 2), *made(1, 4), *made(2, 4)]
# Which samples each model has right; the two targets are a and b.
RIGHT = {
    #    source  round 1     round 2
    "a": "11     1100        1010",
    "b": "11     1010        1001",
    "s": "10     1111        1100",
}
KEPT = "11 0111 0111"  # what a and b are not both right on


def bits(text: str) -> np.ndarray:
    return np.array([digit == "1" for digit in text.replace(" ", "")])


def ballots(right: str) -> Ballots:
    places = [
        [s.right_place(o) if ok else 1 - s.right_place(o) for o in (0, 1)]
        for s, ok in zip(SAMPLES, bits(right), strict=True)
    ]
    return Ballots.of(SAMPLES, places)


SAID = {name: ballots(RIGHT[name]) for name in "ab"}


def votes(**more: str) -> dict[str, Votes]:
    return {
        name: Votes(
            "target" if name in "ab" else "strong",
            SAMPLES,
            bits(KEPT),
            {"generate": ballots(right)} | {k: ballots(v) for k, v in more.items()},
        )
        for name, right in RIGHT.items()
    }


def test_accuracy_at_each_stage() -> None:
    found = {(c.model, c.stage): c for c in cells(votes(), SAID)}
    table = {
        name: [found[name, stage].choice.accuracy.value for stage in STAGES]  # type: ignore[union-attr]
        for name in RIGHT
    }
    assert table["a"] == pytest.approx([1, 2 / 4, 1 / 3, 2 / 4, 1 / 3])
    assert table["b"] == pytest.approx([1, 2 / 4, 1 / 3, 2 / 4, 1 / 3])
    assert table["s"] == pytest.approx([1 / 2, 4 / 4, 3 / 3, 2 / 4, 1 / 3])
    assert found["s", "round_2_kept"].part == "strong"


def test_a_target_is_measured_on_what_the_others_leave_as_well() -> None:
    found = {(c.model, c.stage): c for c in cells(votes(), SAID)}
    # Round 2: b alone leaves samples 1 and 2; a has the second of them right.
    fair = found["a", "round_2_kept"].without
    assert fair is not None and (fair.n, fair.accuracy.value) == (2, 0.5)
    # Round 1: b alone leaves samples 1 and 3; a has the first right.
    fair = found["a", "round_1_kept"].without
    assert fair is not None and (fair.n, fair.accuracy.value) == (2, 0.5)
    assert found["a", "round_2"].without is None
    assert found["s", "round_2_kept"].without is None  # had no say


def test_the_drop_is_from_the_source_to_the_final_set() -> None:
    found = {(c.model, c.stage): c for c in cells(votes(), SAID)}
    drop = found["a", "round_2_kept"].drop
    assert drop is not None
    assert drop.value == pytest.approx(1 / 3 - 1)
    assert -1 <= drop.low < drop.value < drop.high <= 1
    assert found["a", "round_2"].drop is None


def test_the_change_between_the_rounds() -> None:
    found = {(c.model, c.stage): c.between for c in cells(votes(), SAID)}
    # s: 4 of 4 and 2 of 4; of what is kept 3 of 3 and 1 of 3. a: 1 of 3 in both.
    values = {key: one.value for key, one in found.items() if one}
    assert values["s", "round_2"] == pytest.approx(-0.5)
    assert values["s", "round_2_kept"] == pytest.approx(-2 / 3)
    assert values["a", "round_2_kept"] == 0
    assert {stage for _, stage in values} == {"round_2", "round_2_kept"}


def test_without_samples_there_is_no_number() -> None:
    none = Votes("unseen", [], np.empty(0, bool), {"generate": Ballots.of([], [])})
    assert [c.choice for c in cells({"x": none}, {})] == [None] * len(STAGES)
    assert agreements(none) == {}


def test_difference_and_mean_of_shares() -> None:
    one, other = Estimate(0.6, 0.5, 0.7, 100, 90), Estimate(0.8, 0.76, 0.83, 200, 150)
    found = difference(one, other)
    # Lower: 0.6 - 0.5 and 0.83 - 0.8; upper: 0.7 - 0.6 and 0.8 - 0.76.
    assert found.value == pytest.approx(-0.2)
    assert found.low == pytest.approx(-0.2 - (0.1**2 + 0.03**2) ** 0.5)
    assert found.high == pytest.approx(-0.2 + (0.1**2 + 0.04**2) ** 0.5)
    both = mean([one, other])
    assert both is not None and both.value == pytest.approx(0.7)
    assert both.high == pytest.approx(0.7 + (0.1**2 + 0.03**2) ** 0.5 / 2)
    assert mean([]) is None


def test_table_2s_mean_row_follows_from_its_columns() -> None:
    # ConMe, Table 2: accuracy on ConMe and its mean, 65.3.
    values = [57.7, 57.5, 58.5, 53.6, 79.7, 70.1, 80.1]
    found = mean([Estimate(v / 100, v / 100, v / 100, 1, 1) for v in values])
    assert found is not None and round(100 * found.value, 1) == 65.3


def test_readings_agree_on_the_final_set() -> None:
    # Final samples of a in generate: 0 1 0; in letter: 0 1 1: two of three alike.
    found = agreements(votes(letter="11 1100 1011", blind="00 0000 0000")["a"])
    assert list(found) == ["generate and letter"]  # blind is no way of asking
    assert found["generate and letter"]["same"] == pytest.approx(2 / 3)
