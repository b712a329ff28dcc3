import pytest

from bindbench.captions.cleaning import KINDS, clean
from bindbench.captions.contextual import attempt_seed
from bindbench.concepts import sample_concepts
from bindbench.models.grammar_writer import GrammarWriter
from bindbench.tasks import BENCHMARKS

PLAIN = "In a quiet cafe, a red cup stands next to a blue chair."

ANSWERS = {
    # An answer, and what is to be cut to get PLAIN.
    PLAIN: (),
    f"  {PLAIN}\n": (),
    f"Sure! {PLAIN}": ("preamble",),
    f"Sure, here is a caption: {PLAIN}": ("preamble",),
    f"Certainly. Here's a natural sentence for your picture:\n\n{PLAIN}": ("preamble",),
    f"Here is one: {PLAIN}": ("preamble",),
    f"Caption: {PLAIN}": ("preamble",),
    f"**Caption:** {PLAIN}": ("markup", "preamble"),
    f"Caption\n{PLAIN}": ("preamble",),
    f"The final caption is: {PLAIN}": ("preamble",),
    f"The picture could be put like this:\n{PLAIN}": ("preamble",),
    f'"{PLAIN}"': ("quotes",),
    f"“{PLAIN}”": ("quotes",),
    f"'{PLAIN}'": ("quotes",),
    f'"{PLAIN}': ("quotes",),
    f'Here is a caption: "{PLAIN}" I hope you like it!': ("preamble", "remark", "quotes"),
    f"**{PLAIN}**": ("markup",),
    f"*{PLAIN}*": ("markup",),
    f"`{PLAIN}`": ("markup",),
    f"```text\n{PLAIN}\n```": ("markup",),
    f"# A cafe\n\n{PLAIN}": ("markup",),
    f"> {PLAIN}": ("markup",),
    "In a quiet cafe, a **red cup** stands next to a **blue chair**.": ("markup",),
    f"- {PLAIN}": ("list",),
    f"1. {PLAIN}\n2. A red cup and a blue chair wait at the window.": ("list",),
    f"Here are two captions:\n\n1. {PLAIN}\n2. A red cup.": ("preamble", "list"),
    f"* {PLAIN}\n* A red cup.": ("list",),
    f"{PLAIN} Behind them hangs a mirror.": ("sentences",),
    f"{PLAIN} (Note: the colors are kept.)": ("remark",),
    f"{PLAIN}\n\nThis caption names both things with their colors.": ("remark",),
    f"{PLAIN} I have used both colors.": ("remark",),
    f"<think>\nA cup, a chair.\n</think>\n\n{PLAIN}": ("thoughts",),
    "In a quiet  cafe, a red cup\tstands next to a blue chair.": ("blanks",),
    f'<think>Hm.</think>Sure!\n\n**Caption:** "{PLAIN} It is noon."\n\nWould you like another?': (
        *("thoughts", "markup", "preamble", "remark", "quotes", "sentences"),
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_only_the_caption_is_left(answer):
    assert clean(answer) == (PLAIN, ANSWERS[answer], False)


def test_every_kind_is_tested():
    assert {kind for cut in ANSWERS.values() for kind in cut} == {*KINDS}


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I cannot write this.",
        "Sorry, this is not possible.",
        "I cannot fulfil this request.",
        "Unfortunately, I am unable to write a caption.",
        "As an AI language model, I can't see pictures.",
        "Could you tell me more about the picture?",
        "Please provide the picture.",
    ],
)
def test_refusals_are_no_captions(answer):
    assert clean(answer).refusal


@pytest.mark.parametrize(
    "caption",
    [
        "Here is a red cup beside a blue chair.",
        "Two things can be seen in a cafe at dusk: a red cup and a blue chair.",
        "This is the view in an old library: a red cup is above a chair.",
        "At 5 p.m. A. Smith leaves a red cup on St. Mary's steps.",
        '"Open" says the sign over a red cup.',
        "A sign says 'open' above a red cup.",
        "A ready-to-use red cup stands at the harbor café…",
        "Sure-footed hikers carry a red cup.",
        "It's 3.5 kilometers to the red cup",
        "The child's red cup isn't far from a blue chair.",
    ],
)
def test_a_caption_stays_as_it_is(caption):
    assert clean(caption) == (caption, (), False)


@pytest.mark.parametrize("answer", ["", " \n", "```\n```", "Caption:", "<think>A red cup", "**"])
def test_nothing_may_be_left(answer):
    assert clean(answer).text == ""


@pytest.mark.parametrize("key", list(BENCHMARKS))
def test_the_grammar_writes_nothing_to_cut(lexicon, key):
    concepts = [s.concept for s in sample_concepts(BENCHMARKS[key], lexicon, 300, seed=5)]
    seeds = [attempt_seed(0, concept, 1) for concept in concepts]
    for written in GrammarWriter(lexicon).write(concepts, seeds):
        assert clean(written.text) == (written.text, (), False)
