"""The blind audit of our own benchmarks, and of the same with a planted leak."""

import pytest
from stand_ins import cheap_context

from bindbench.pipeline import report_blind, spine
from bindbench.tasks import BENCHMARKS, TRACKS

CONCEPTS = 40


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("store")
    with cheap_context(root, benchmarks=list(BENCHMARKS), concepts=CONCEPTS) as context:
        artifacts = {
            f"{artifact.asset}/{key}": artifact
            for key in BENCHMARKS
            for artifact in spine.build_benchmark(context, key)
        }
        yield context, artifacts


def audit(built, keys=tuple(BENCHMARKS)):
    context, artifacts = built
    return report_blind.audit_rows(keys, artifacts, context.lexicon, 0)


@pytest.fixture(scope="module")
def rows(built):
    return audit(built)


def test_no_cue_gives_our_captions_away(rows):
    assert [row for row in rows if row["leak"]] == []
    assert {row["benchmark"] for row in rows} == set(BENCHMARKS)
    assert {row["n_items"] for row in rows if row["benchmark"] == "color-n2"} == {CONCEPTS}


def test_form_is_the_same_in_all_captions_of_an_item(rows):
    """Right and wrong captions are rendered from one template."""
    form = ("edge_space", "odd_space", "final_punctuation", "first_capital", "article_errors")
    for row in rows:
        if row["cue"] in form:
            assert row["differs"] == 0, row


def test_swaps_hold_the_same_words(rows):
    """In relational captions the verbs change with the nouns, and may be equal."""
    attribute = [row for row in rows if "color" in row["benchmark"]]
    for row in attribute:
        if row["family"] == "swap" and row["cue"] in ("repeated_words", "punctuation"):
            assert row["differs"] == 0, row


def test_repeated_words_are_by_design_and_known(rows):
    repeated = [
        row for row in rows
        if row["cue"] == "repeated_words" and row["family"] == "confusion"
        and row["direction"] == "least"
    ]  # fmt: skip
    assert len(repeated) == 8 * 2 * 2  # every benchmark but color-n1, tracks and modes
    for row in repeated:
        assert row["by_design"] and not row["leak"]
        assert row["credit"] > row["chance"] and row["p_value"] < 1e-3


@pytest.mark.parametrize("track", TRACKS)
def test_a_space_in_right_captions_only_is_found(built, monkeypatch, track):
    render = report_blind.candidate_texts

    def leaky(template, concept, lexicon):
        first, *others = render(template, concept, lexicon)
        return [first + " ", *others]

    monkeypatch.setattr(report_blind, "candidate_texts", leaky)
    found = audit(built, ["color-n2", "position-n2"])
    leaks = [row for row in found if row["leak"] and row["track"] == track]
    assert {(row["cue"], row["direction"]) for row in leaks} == {("edge_space", "most")}
    for key in ("color-n2", "position-n2"):
        for family in ("swap", "confusion", "confusion_no_count"):
            (strict, paper) = [
                row for row in leaks if (row["benchmark"], row["family"]) == (key, family)
            ]
            assert strict["accuracy"] == paper["accuracy"] == 1
            assert strict["chance"] < strict["low"]


def test_the_first_items_are_read_up_to_a_number_of_captions(built, monkeypatch):
    monkeypatch.setattr(report_blind, "MOST_CAPTIONS", 100)
    found = audit(built, ["color-n2", "color-n3"])
    assert {row["n_items"] for row in found if row["benchmark"] == "color-n2"} == {6}
    assert {row["n_items"] for row in found if row["benchmark"] == "color-n3"} == {1}
