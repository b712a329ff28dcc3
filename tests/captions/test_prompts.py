import itertools

import pytest

from bindbench.captions.cleaning import clean
from bindbench.captions.preservation import check
from bindbench.captions.prompts import (
    EXAMPLES,
    chat_messages,
    completion_prompt,
    prompts_digest,
    scene,
    shown_examples,
)
from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.tasks import BENCHMARKS

ALL = [(key, example) for key, examples in EXAMPLES.items() for example in examples]


@pytest.mark.parametrize(("key", "example"), ALL)
def test_an_example_is_what_is_asked_for(key, example, lexicon):
    assert key == (example.concept.task_name, example.concept.n)
    assert check(example.caption, example.concept, lexicon).reason == ""
    assert clean(example.caption) == (example.caption, (), False)
    assert len(example.caption.split()) <= 30
    for words in (example.concept.objects, example.concept.labels):
        assert len({*words}) == len(words)


def test_every_benchmark_has_four_examples():
    assert {key: len(examples) for key, examples in EXAMPLES.items()} == {
        (benchmark.task.name, benchmark.n): 4 for benchmark in BENCHMARKS.values()
    }
    captions = [example.caption for _, example in ALL]
    assert len({*captions}) == len(captions)


@pytest.mark.parametrize(
    ("concept", "expected"),
    [
        (Concept("color", ("apple",), ("orange",)), "an orange apple"),
        (
            Concept("color", ("gloves", "grapes"), ("red", "green")),
            "a pair of red gloves, some green grapes",
        ),
        (Concept("position", ("umbrella", "apple"), ("above",)), "an umbrella is above an apple"),
        (
            Concept("position", ("gloves", "grapes", "rice"), ("under", "to the left of")),
            "a pair of gloves is under some grapes, the grapes are to the left of some rice",
        ),
        (
            Concept("relative_size", ("cup", "scissors", "key"), ("larger than", "bigger than")),
            "a cup is larger than a pair of scissors, the scissors are bigger than a key",
        ),
    ],
)
def test_a_scene_in_words(concept, expected, lexicon):
    assert scene(concept, lexicon) == expected
    assert completion_prompt(concept, lexicon).endswith(f"\n\nShows: {expected}\nCaption:")
    assert chat_messages(concept, lexicon)[-1]["content"].endswith(f"\nShows: {expected}")


def test_without_a_system_message_nothing_is_lost(lexicon):
    concept = Concept("color", ("cup",), ("red",))
    system, user = chat_messages(concept, lexicon)
    (joined,) = chat_messages(concept, lexicon, system_role=False)
    assert joined == {"role": "user", "content": f"{system['content']}\n\n{user['content']}"}


def test_prompts_of_different_benchmarks_differ_in_their_examples():
    shown = [shown_examples(*key) for key in EXAMPLES]
    for first, second in itertools.combinations(shown, 2):
        assert not {*first} & {*second}


def test_a_task_without_examples_is_one_sentence():
    with pytest.raises(UserError, match="no examples of captions for color with N=4: add some"):
        shown_examples("color", 4)


def test_another_word_is_another_digest(monkeypatch):
    before = prompts_digest()
    monkeypatch.setattr("bindbench.captions.prompts.RULES", {"attribute": (), "relation": ()})
    assert prompts_digest() != before
