import numpy as np
import pytest

from bindbench.concepts import Concept
from bindbench.training.nano_clip_data import NanoPlan, drawable_nouns, held_out_pairs
from bindbench.training.nano_vlm_questions import Asker, Sight, Text, content_words
from bindbench.training.nano_vlm_text import (
    ORDER,
    PROMPTS,
    UNKNOWN,
    new_tokenizer,
    vocabulary_of,
)
from bindbench.training.validator_data import TRAINING, embedded_lexicon
from bindbench.validation.labels import label_questions


@pytest.fixture(scope="module")
def lexicon():
    return embedded_lexicon()


@pytest.fixture(scope="module")
def asker(lexicon) -> Asker:
    return Asker(lexicon, drawable_nouns(lexicon))


def sight(*objects: tuple[str, str, float, float, float]) -> Sight:
    """Objects as (noun, color, x, y, side): square boxes."""
    nouns, colors, x, y, side = zip(*objects, strict=True)
    centers, sides = np.array([x, y]).T, np.array(side)
    return Sight(nouns, colors, centers, sides, sides**2)


# The cake is left of the bus and on one level with it; the key is above both and much smaller.
THREE = sight(
    ("cake", "red", 0.2, 0.3, 0.3),
    ("bus", "blue", 0.75, 0.32, 0.31),
    ("key", "green", 0.5, 0.8, 0.15),
)
STACK = sight(("cake", "red", 0.5, 0.2, 0.3), ("bus", "blue", 0.55, 0.7, 0.3))
ROW = sight(*[("key", color, 0.1 + 0.2 * k, 0.4, 0.15) for k, color in
              enumerate(("red", "blue", "green", "pink", "black"))])  # fmt: skip
SHUFFLED = sight(
    ("key", "red", 0.9, 0.4, 0.2), ("key", "blue", 0.1, 0.4, 0.2), ("key", "teal", 0.5, 0.4, 0.2)
)


def answers(texts: list[Text]) -> dict[str, str]:
    return {text.prompt: text.answer for text in texts}


def many(ask, what: Sight, rounds: int = 60) -> dict[str, str]:
    """All questions of a kind that some seeds give; a question never has two answers."""
    found: dict[str, str] = {}
    for seed in range(rounds):
        for prompt, answer in answers(ask(what, np.random.default_rng(seed))).items():
            assert found.setdefault(prompt, answer) == answer, prompt
    return found


# Sights


def test_places_of_a_scene_worked_out_by_hand():
    assert THREE.row == (0, 2, 1)
    assert THREE.sides == ("left", "right", "middle")
    assert THREE.levels == ("bottom", "bottom", "top")
    assert (STACK.sides, STACK.levels) == (("", ""), ("bottom", "top"))
    assert THREE.orders == ("", "", "")
    assert ROW.orders == ORDER[5]
    assert ROW.sides == ROW.levels == ("",) * 5
    assert SHUFFLED.orders == ("rightmost", "leftmost", "middle")


def test_offsets_and_sizes_are_clear_unclear_or_doubtful():
    assert [THREE.offset(0, 1, axis) for axis in (0, 1)] == [-1, 0]
    assert THREE.offset(2, 0, 1) == 1
    doubtful = sight(("cake", "red", 0.3, 0.3, 0.3), ("bus", "blue", 0.44, 0.3, 0.3))
    assert doubtful.offset(0, 1, 0) is None
    assert (THREE.size(0, 2), THREE.size(2, 0), THREE.size(0, 1)) == (1, -1, 0)
    nearly = sight(("cake", "red", 0.3, 0.3, 0.3), ("bus", "blue", 0.7, 0.3, 0.25))
    assert nearly.size(0, 1) is None  # 1.44 times the area


def test_objects_side_by_side_have_no_sides_if_they_overlap_much():
    near = sight(("cake", "red", 0.3, 0.3, 0.3), ("bus", "blue", 0.4, 0.3, 0.3))
    assert near.sides == ("", "")


# Questions


def test_every_object_is_asked_for_its_color(asker):
    found = many(asker.color, THREE)
    assert found["What color is the bus?"] == "blue"
    assert found["What is the color of the key?"] == "green"
    assert len(found) == 6


def test_claims_are_yes_for_the_own_color_alone(asker):
    found = many(asker.claims, THREE)
    assert found["Is the cake red?"] == found["Is the bus blue?"] == "yes"
    assert found["Is the cake blue?"] == found["Is the bus green?"] == "no"
    assert {q for q, a in found.items() if a == "yes"} == {
        "Is the cake red?",
        "Is the bus blue?",
        "Is the key green?",
    }


def test_no_false_claim_is_of_a_held_out_pair_nor_of_a_broader_color(asker, lexicon):
    held = held_out_pairs(lexicon)
    navy = sight(("cake", "navy", 0.2, 0.3, 0.3), ("bus", "blue", 0.7, 0.3, 0.3))
    found = many(asker.claims, navy, 300)
    assert "Is the cake blue?" not in found
    assert "Is the bus navy?" not in found
    for prompt, answer in found.items():
        _, _, noun, color = prompt.rstrip("?").split()
        assert answer == "yes" or (noun, color) not in held


def test_places_and_what_is_there(asker):
    found = many(asker.places, THREE)
    assert found["Where is the key?"] == "middle"
    assert found["Where is the cake?"] == "left"
    assert found["Is the cake at the top or at the bottom?"] == "bottom"
    assert found["What is on the right?"] == "bus"
    assert found["What is in the middle?"] == "key"
    assert found["What is at the top?"] == "key"
    assert "What is at the bottom?" not in found
    assert many(asker.places, STACK)["Where is the bus?"] == "top"


def test_judges_questions_are_the_suites_own(asker, lexicon):
    position = Concept("position", ("cake", "bus", "key"), ("to the left of", "under"))
    for question, label in zip(label_questions(position, lexicon), position.labels, strict=True):
        i, j = question.subject, question.other or 0
        axis = lexicon.positions[label].axis
        (asked,) = asker.judged(THREE, i, j, axis)
        assert (asked.prompt, asked.answer) == (question.text, label)
        assert set(question.options) == {label, lexicon.positions[label].inverse, "unclear"}
    size = Concept("relative_size", ("cake", "key"), ("larger than",))
    (question,) = label_questions(size, lexicon)
    (asked,) = asker.judged(THREE, 0, 2, "size")
    assert (asked.prompt, asked.answer) == (question.text, "larger than")
    color = Concept("color", ("cake",), ("red",))
    assert label_questions(color, lexicon)[0].text in many(asker.color, THREE)
    assert asker.judged(THREE, 0, 1, "vertical")[0].answer == "unclear"


def test_relations_and_their_claims(asker):
    found = many(asker.relations, THREE, 400)
    assert found["Is the cake to the left of the bus?"] == "yes"
    assert found["Is the bus to the left of the cake?"] == "no"
    assert found["Is the key smaller than the bus?"] == "yes"
    assert "Is the cake above the bus?" not in found  # nothing is clear there to deny it
    found = many(asker.related, THREE, 400)
    assert found["What is above the cake?"] == "key"
    assert found["What is to the left of the key?"] == "cake"
    assert "What is to the left of the bus?" not in found  # two things are


def test_sizes(asker):
    assert many(asker.sizes, THREE) == {"Which object is smallest?": "key"}
    two = sight(("cake", "red", 0.2, 0.3, 0.3), ("bus", "blue", 0.75, 0.32, 0.15))
    assert many(asker.sizes, two) == {
        "Which object is larger?": "cake",
        "Which object is smaller?": "bus",
    }


def test_presence_counts_and_lists(asker):
    found = many(asker.presence, THREE, 200)
    assert found["Is there a cake?"] == "yes"
    assert found["Is there a red cake?"] == "yes"
    assert found["Is there a blue cake?"] == "no"
    nouns = ("cake", "bus", "key")
    for prompt, answer in found.items():
        if answer == "no" and "cake" not in prompt:
            plain = [noun for noun in nouns if f" {noun}" in prompt]
            assert not plain or prompt.split()[3] in ("red", "blue", "green")
    found = many(asker.counts, THREE, 200)
    assert found["How many objects are there?"] == "three"
    assert found["How many cakes are there?"] == "one"
    assert "zero" in found.values()
    assert many(asker.counts, ROW)["How many keys are there?"] == "five"
    assert many(asker.listed, THREE) == {"List the colors from left to right.": "red, green, blue"}


def test_like_objects_by_their_order(asker):
    found = many(asker.in_row, ROW)
    assert found["What color is the leftmost key?"] == "red"
    assert found["What color is the second from left key?"] == "blue"
    assert found["What color is the middle key?"] == "green"
    assert found["What color is the second key from the left?"] == "blue"
    assert found["What color is the second key from the right?"] == "pink"
    assert found["What color is the fifth key from the right?"] == "red"
    found = many(asker.row_claims, ROW)
    assert found["Is the leftmost key red?"] == "yes"
    assert found["Is the leftmost key blue?"] == "no"
    found = many(asker.beside, ROW)
    assert found["What color is the key immediately to the right of the blue key?"] == "green"
    assert found["What color is the key immediately to the left of the blue key?"] == "red"
    assert many(asker.inverse, ROW)["Where is the pink key?"] == "second from right"
    assert many(asker.inverse, THREE)["What object is red?"] == "cake"


def test_letters_name_the_right_option(asker):
    for seed in range(40):
        for what in (THREE, ROW):
            for text in asker.letters(what, np.random.default_rng(seed)):
                lines = dict(line.split(". ") for line in text.prompt.splitlines()[1:])
                chosen = lines[text.answer]
                if what is ROW:
                    color = text.prompt.splitlines()[0].split()[3]
                    assert ROW.colors[ROW.orders.index(chosen)] == color
                else:
                    noun = text.prompt.splitlines()[0].rstrip("?").split()[-1]
                    assert THREE.colors[THREE.nouns.index(noun)] == chosen


def test_captions_are_true_of_the_scene_and_sometimes_blind(asker, lexicon):
    seen, blind = set(), []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        concept = asker.color_concept(THREE, rng)
        pairs = dict(zip(THREE.nouns, THREE.colors, strict=True))
        assert all(pairs[n] == c for n, c in zip(concept.objects, concept.labels, strict=True))
        chain = asker.relation_concept(THREE, rng)
        if chain:
            seen.add(chain.task_name)
            relations = lexicon.labels(chain.task)
            for k, label in enumerate(chain.labels):
                i, j = (THREE.nouns.index(noun) for noun in chain.objects[k : k + 2])
                assert THREE.holds(relations[label], i, j)
        blind += [text.blind for text in asker.ask(THREE, rng) if text.caption]
    assert seen == {"position", "relative_size"}
    assert 0 < np.mean(blind) < 0.3


def test_texts_are_the_same_for_the_same_seed(asker):
    first, second = (asker.ask(THREE, np.random.default_rng(3)) for _ in range(2))
    assert first == second
    assert len({(t.prompt, t.answer) for t in first}) == len(first) > 8


# Words


def test_every_word_of_every_text_is_known(asker, lexicon):
    tokenizer, rng = new_tokenizer(lexicon), np.random.default_rng(0)
    assert len(tokenizer) == len(vocabulary_of(lexicon))
    plan, texts = NanoPlan(lexicon, 0), [*PROMPTS]
    for index in range(120):
        concept = plan.spec(TRAINING, index).concept
        n = concept.n
        colors = [str(c) for c in rng.choice(plan.colors, n, replace=False)]
        what = Sight(
            concept.objects, tuple(colors), rng.random((n, 2)), rng.random(n), rng.random(n)
        )
        texts += [t for text in asker.ask(what, rng) for t in (text.prompt, text.answer)]
        texts += [question.text for question in label_questions(concept, lexicon)]
    tokens = tokenizer(texts)["input_ids"]
    assert not [t for t, ids in zip(texts, tokens, strict=True) if UNKNOWN in ids]


def test_names_and_places_are_one_token_and_letters_are_no_determiners(lexicon):
    tokenizer = new_tokenizer(lexicon)

    def words(text: str) -> list[str]:
        return list(tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"]))

    assert words("A red hot dog is to the left of a pair of scissors.") == (
        ["red", "hot_dog", "is", "to", "left", "of", "scissors"]
    )
    assert words("second from the left\nA. cake\nB. bus") == (
        ["second_from_left", "optiona", "cake", "optionb", "bus"]
    )
    assert tokenizer.decode(tokenizer("A")["input_ids"]) == "A"
    assert tokenizer.decode(tokenizer("a red hot dog")["input_ids"]) == "red hot dog"
    content = content_words(lexicon)
    assert {"hot_dog", "red", "left", "larger"} <= content
    assert content.isdisjoint({"of", "than", "kitchen", "and"})


def test_the_chat_template_puts_the_image_first_and_ends_answers(lexicon):
    tokenizer = new_tokenizer(lexicon)
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Is it red?"}, {"type": "image"}]},
        {"role": "assistant", "content": "no"},
        {"role": "user", "content": "Is it blue?"},
    ]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert text == "<bos><image>Is it red? \nno<eos>Is it blue?\n"
