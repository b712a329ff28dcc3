"""Tables 11 and 20 from people's answers; alpha is tested with its own examples."""

import pytest
from table_suites import cheap_context

from bindbench.people.answers import Answered
from bindbench.pipeline import audit
from bindbench.tables.inputs import Inputs
from bindbench.tables.people import concordance, raw_scores, table_11, table_20
from bindbench.tables.published import published_value
from bindbench.tables.sources import rows_of


def answers(kind, rights, validator="ann", key="color-n2", track="minimal"):
    """Return answers to items 0, 1, ... that are right or not."""
    offered = ("pass", "fail") if kind == "concordance" else ("a", "b", "c")
    return [
        Answered(
            validator=validator,
            item=f"{i}/{track}",
            scene=str(i),
            benchmark=key,
            track=track,
            kind=kind,
            offered=offered,
            chosen=offered[0] if right else offered[1],
            right=offered[0],
        )
        for i, right in enumerate(rights)
    ]


def by_cell(numbers):
    return {(n.block, n.row, n.column): n for n in numbers}


def test_concordance_by_hand():
    # Two people, four images: 3 and 2 of their answers are the pipeline's.
    given = [*answers("concordance", [1, 1, 1, 0]), *answers("concordance", [1, 1, 0, 0], "bob")]
    given += answers("swap", [1] * 9 + [0], key="position-n3", track="contextual")
    found = by_cell(concordance(given))
    share = found["minimal", "color-n2", "concordance"]
    assert (share.value, share.n_items) == (5 / 8, 8)
    assert share.low < 5 / 8 < share.high
    # Values: pass 5, fail 3; agreed on 3 of 4 images: 1 - 7 * 2 / (64 - 25 - 9).
    alpha = found["minimal", "color-n2", "concordance alpha"]
    assert (alpha.value, alpha.unit) == (pytest.approx(1 - 14 / 30), "number")
    assert found["contextual", "position-n3", "swap"].value == 0.9
    lonely = found["contextual", "position-n3", "swap alpha"]
    assert lonely.value is None and lonely.note
    assert len(found) == 4


def test_several_people_on_one_image_are_no_independent_items():
    once = by_cell(concordance(answers("swap", [1, 0, 1, 1, 0, 1])))
    four = [one for name in "abcd" for one in answers("swap", [1, 0, 1, 1, 0, 1], name)]
    found = by_cell(concordance(four))["minimal", "color-n2", "swap"]
    alone = once["minimal", "color-n2", "swap"]
    assert (found.value, found.n_items) == (alone.value, 24)
    assert found.high - found.low > 0.8 * (alone.high - alone.low)


def test_raw_scores_are_the_papers():
    people = {"ann": (50, 49), "bob": (49, 49), "cy": (48, 49), "di": (48, 48)}
    given = [
        one
        for name, scores in people.items()
        for kind, right in zip(("swap", "confusion"), scores, strict=True)
        for one in answers(kind, [1] * right + [0] * (50 - right), name)
    ]
    found = by_cell(raw_scores(given))
    assert len(found) == 8
    for (block, row, column), number in found.items():
        assert number.n_items == 50
        assert number.value == pytest.approx(published_value("20", block, row, column))


def test_the_tables_are_of_the_stored_answers_and_lead_back_to_them(tmp_path):
    given = [*answers("swap", [1, 1, 0, 1]), *answers("swap", [1, 0, 0, 1], "bob")]
    with cheap_context(tmp_path) as context:
        assert "bindbench audit export" in next(table_20(Inputs(context.suite, {}))).note
        inputs = Inputs(context.suite, {audit.NAME: audit.build(context, given)})
        assert list(table_11(inputs)) == list(concordance(given))
        found = by_cell(table_20(inputs))
        rows = rows_of(found["minimal", "color-n2", "swap V2"].source, inputs)
    assert [row["chosen"] == row["right"] for row in rows] == [True, False, False, True]
    assert {row["validator"] for row in rows} == {"bob"}
