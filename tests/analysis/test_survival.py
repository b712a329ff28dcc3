import numpy as np
import pytest

from bindbench.analysis.resampling import blaker
from bindbench.analysis.survival import accepted, survival, survival_records

MINIMAL = {
    "presence": ["pass", "pass", "pass", "missing", "count", "missing"],
    "background": ["pass", "pass", "background", "not_run", "not_run", "not_run"],
    "label": ["pass", "label", "not_run", "not_run", "not_run", "not_run"],
}
CONTEXTUAL = {
    "presence": ["pass", "pass", "missing"],
    "background": ["not_run", "not_run", "not_run"],
    "label": ["pass", "label", "not_run"],
}


def test_by_hand():
    result = survival(MINIMAL)
    presence, background, label = result.checks
    assert (presence.reached, presence.passed, presence.of_reached.value) == (6, 3, 0.5)
    assert (background.reached, background.passed) == (3, 2)
    assert background.of_all.value == pytest.approx(2 / 6)
    assert (label.of_reached.value, label.of_all.value) == (1 / 2, pytest.approx(1 / 6))
    assert presence.reasons == {"missing": 2, "count": 1}
    assert result.overall.value == pytest.approx(1 / 6)
    assert (result.overall.low, result.overall.high) == blaker(1, 6)
    assert accepted(MINIMAL).tolist() == [True, False, False, False, False, False]


def test_a_check_of_the_other_track_does_not_count():
    result = survival(CONTEXTUAL)
    assert result.overall.value == pytest.approx(1 / 3)
    assert (result.checks[1].reached, result.checks[1].of_reached.n) == (0, 0)


def test_a_row_on_which_nothing_ran_is_not_accepted():
    assert accepted({"presence": ["not_run"], "label": ["not_run"]}).tolist() == [False]


def test_overall_is_the_product_of_the_conditional_rates():
    result = survival(MINIMAL)
    product = np.prod([check.of_reached.value for check in result.checks])
    assert result.overall.value == pytest.approx(product)


def test_replicates_of_a_scene_widen_the_interval():
    verdicts = {"presence": ["pass", "pass", "missing", "missing"] * 10}
    plain, clustered = survival(verdicts), survival(verdicts, np.repeat(np.arange(20), 2))
    assert clustered.overall.low < plain.overall.low


def test_records_have_the_form_of_table_3():
    records = survival_records(
        {
            ("color-n2", "minimal"): survival(MINIMAL),
            ("color-n2", "contextual"): survival(CONTEXTUAL),
        }
    )
    assert [record["track"] for record in records] == ["minimal", "contextual"]
    assert records[0]["presence"] == 0.5
    assert records[1]["background"] is None
    assert records[1]["overall"] == pytest.approx(1 / 3)
    assert list(records[0])[:4] == ["benchmark", "track", "n", "presence"]


def test_columns_of_different_lengths_are_an_error():
    with pytest.raises(ValueError, match="one verdict for each row"):
        survival({"presence": ["pass"], "label": []})
