import numpy as np
import pytest

from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.rendering.faults import FAULTS, check_hard, draw_fault, raised
from bindbench.tasks import BENCHMARKS

COLOR = Concept("color", ("stool", "couch"), ("red", "blue"))
POSITION = Concept("position", ("stool", "couch"), ("above",))


def test_each_kind_comes_at_its_rate():
    rates = {"dropped": 0.1, "leaked": 0.25, "background": 0.05}
    n = 20_000
    drawn = [draw_fault(rates, COLOR, "minimal", seed) for seed in range(n)]
    for kind, rate in rates.items():
        spread = np.sqrt(n * rate * (1 - rate))
        assert abs(drawn.count(kind) - n * rate) < 4 * spread
    assert set(drawn) == {None, *rates}


def test_kinds_that_cannot_happen_are_left_out_and_their_rate_is_no_other_kinds():
    rates = {"leaked": 0.5, "background": 0.2, "relation": 0.3}
    position = [draw_fault(rates, POSITION, "contextual", seed) for seed in range(4000)]
    assert set(position) == {None, "relation"}
    assert abs(position.count("relation") - 1200) < 4 * np.sqrt(4000 * 0.3 * 0.7)
    one = Concept("color", ("stool",), ("red",))
    assert {draw_fault({"leaked": 1.0}, one, "minimal", s) for s in range(50)} == {None}


def test_the_draw_depends_on_seed_and_track_and_not_on_the_order_of_the_rates():
    rates = {"dropped": 0.3, "doubled": 0.3}
    backwards = {"doubled": 0.3, "dropped": 0.3}
    seeds = range(300)
    minimal = [draw_fault(rates, COLOR, "minimal", s) for s in seeds]
    assert minimal == [draw_fault(backwards, COLOR, "minimal", s) for s in seeds]
    assert minimal != [draw_fault(rates, COLOR, "contextual", s) for s in seeds]


def test_every_benchmark_can_have_faults_of_its_own():
    own = {"position": "relation", "relative_size": "size", "shape_color": "wrong_shape"}
    for benchmark in BENCHMARKS.values():
        n, task = benchmark.n, benchmark.task.name
        concept = Concept(task, ("x",) * n, ("y",) * benchmark.n_labels)
        kinds = {kind for kind, fault in FAULTS.items() if fault.applies(concept, "minimal")}
        assert {"dropped", "doubled", "doubled_clutter", "lookalike", "background"} <= kinds
        assert own.get(task, "replaced") in kinds
        assert ("exchanged" in kinds) == (benchmark.task.axis == "attribute" and n > 1)
        assert ("borderline" in kinds) == (benchmark.task.axis == "relation")


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ({"droped": 0.1}, "'droped'.*dropped"),
        ({"dropped": 1.5}, "'dropped' is 1.5"),
        ({"dropped": -0.1}, "between 0 and 1"),
        ({"dropped": float("nan")}, "between 0 and 1"),
        ({"dropped": 0.6, "doubled": 0.6}, "sum to 1.2"),
    ],
)
def test_wrong_rates_are_said(rates, message):
    with pytest.raises(UserError, match=message):
        draw_fault(rates, COLOR, "minimal", 0)


def test_a_hard_word_raises_the_rates_of_its_images_alone():
    rates = {"dropped": 0.1, "leaked": 0.05, "relation": 0.4}  # of a color: 0.15 in all
    hard = {"red": 0.6, "couch": 0.9}
    assert raised(rates, hard, COLOR, "minimal") == pytest.approx({"dropped": 0.6, "leaked": 0.3})
    stool = Concept("color", ("stool", "key"), ("red", "blue"))
    assert sum(raised(rates, hard, stool, "contextual").values()) == pytest.approx(0.6)
    assert raised(rates, {"red": 0.1}, COLOR, "minimal") == rates  # never lowered
    assert raised(rates, {"green": 0.9}, COLOR, "minimal") == rates


def test_hard_words_need_faults_and_shares():
    with pytest.raises(UserError, match=r"'red' is 1\.5"):
        check_hard({"red": 1.5}, {"dropped": 0.1})
    with pytest.raises(UserError, match="has none"):
        check_hard({"red": 0.5}, {})
