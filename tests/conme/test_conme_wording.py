"""The labeller that reads the forms of the agent's questions."""

import pytest

from bindbench.conme.samples import Sample
from bindbench.conme.sight import Facts, Sight
from bindbench.conme.taxonomy import Taxonomy, load_taxonomy
from bindbench.conme.wording import label_by_wording, topic_of

SIGHT = Sight(
    ("chair", "scissors"),
    ("red", "blue"),
    {(0, 1, "horizontal"): -1, (0, 1, "vertical"): 1, (0, 1, "size"): 1},
)
# What a question of each kind is about (ConMe, Table 6).
ABOUT = {
    "color": "color",
    "pair": "color",
    "count": "count",
    "place": "proximity",
    "relation": "proximity",
    "related": "proximity",
    "thing": "attribute",
}


def sample(question: str) -> Sample:
    return Sample("i", 1, question, "red", "blue")


def test_every_question_of_the_agent_has_the_topic_of_its_kind(lexicon):
    facts = Facts(lexicon).of(SIGHT)
    assert {fact.kind for fact in facts} == ABOUT.keys()
    for fact in facts:
        assert topic_of(fact.question) == ABOUT[fact.kind], fact.question


@pytest.mark.parametrize(
    "question", ["What makes this room cozy?", "Is there a cat?", "How many cats are there?", ""]
)
def test_other_questions_have_no_category(question):
    for name in ("topics", "formats"):
        assert label_by_wording(load_taxonomy(name), [sample(question)])[0].label == ""


def test_labels_are_categories_of_the_two_taxonomies_alone(lexicon):
    samples = [sample(fact.question) for fact in Facts(lexicon).of(SIGHT)]
    for name in ("topics", "formats"):
        taxonomy = load_taxonomy(name)
        labels = {one.label for one in label_by_wording(taxonomy, samples)}
        assert labels <= taxonomy.categories.keys()
    own = Taxonomy(name="rooms", question="Which?", categories={"a": "A.", "b": "B."})
    assert {one.label for one in label_by_wording(own, samples)} == {""}
