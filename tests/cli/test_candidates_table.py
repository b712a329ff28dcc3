import io
import json

import pytest
from rich.console import Console

from bindbench.cli.candidates import candidates_table, print_candidates, sources_from
from bindbench.errors import UserError


def test_two_colors(lexicon):
    found = candidates_table("color", ["cup", "chair"], ["red", "blue"], lexicon)
    assert json.loads(json.dumps(found)) == found
    assert set(found) == {"concept", "candidates"}
    concept, rows = found["concept"], found["candidates"]
    assert (concept["task"], concept["objects"]) == ("color", ["cup", "chair"])
    assert concept["captions"]["minimal"] == rows[0]["caption"]
    assert "red cup" in concept["captions"]["contextual"]
    assert [row["index"] for row in rows] == list(range(16))
    assert rows[0] == {
        "index": 0,
        "caption": "a red cup, and a blue chair on a white background.",
        "family": "positive",
        "semantics": "true",
        "reason": "none",
    }
    families = [row["family"] for row in rows]
    assert (families.count("swap"), families.count("confusion")) == (1, 14)
    true = [row["caption"] for row in rows[1:] if row["semantics"] == "true"]
    assert true == ["a blue chair, and a red cup on a white background."]


def test_one_color(lexicon):
    rows = candidates_table("color", ["cup"], ["navy"], lexicon)["candidates"]
    undecided = [
        (r["caption"], r["family"], r["reason"]) for r in rows if r["semantics"] != "false"
    ]
    assert undecided == [
        ("a navy cup on a white background.", "positive", "none"),
        ("a blue cup on a white background.", "vary_color", "broader"),
    ]


def test_printed_as_a_table(lexicon):
    out = io.StringIO()
    found = candidates_table("position", ["cup", "chair"], ["above"], lexicon)
    print_candidates(found, Console(file=out, width=120))
    assert "minimal: A cup is above a chair on a white background." in out.getvalue()
    assert "swap" in out.getvalue() and "contradiction" in out.getvalue()


@pytest.mark.parametrize(
    ("task", "objects", "labels", "message"),
    [
        ("colour", ["cup"], ["red"], "Unknown task 'colour': did you mean color"),
        ("color", ["cupp"], ["red"], "Unknown object 'cupp' .*did you mean cup"),
        ("color", ["cup"], ["redd"], "Unknown label 'redd' .*did you mean red"),
        ("color", ["cup"] * 4, ["red"] * 4, "objects for task color is 4: give one of 1, 2, 3"),
        ("color", [], [], "objects for task color is 0"),
        ("position", ["cup"], [], "objects for task position is 1: give one of 2, 3"),
        ("color", ["cup", "chair"], ["red"], "labels for task color is 1: 2 objects need 2"),
        (
            "position",
            ["cup", "chair"],
            ["above", "under"],
            "labels for task position is 2: 2 objects need 1",
        ),
        ("color", ["cup", "cup"], ["red", "blue"], "object 'cup' .* given twice"),
        ("color", ["cup", "chair"], ["red", "red"], "label 'red' .* given twice"),
        ("color", ["bow tie", "tie"], ["red", "blue"], "'tie' and 'bow tie' .* nested"),
    ],
)
def test_mistakes_are_one_sentence(lexicon, task, objects, labels, message):
    with pytest.raises(UserError, match=message) as caught:
        candidates_table(task, objects, labels, lexicon)
    assert "\n" not in str(caught.value)


def test_sources():
    assert sources_from([])["objects"] == "objects365"
    assert sources_from(["objects=mine.yaml"])["objects"] == "mine.yaml"
    with pytest.raises(UserError, match="did you mean objects"):
        sources_from(["object=mine.yaml"])
    with pytest.raises(UserError, match="kind=name or kind=file"):
        sources_from(["objects"])
