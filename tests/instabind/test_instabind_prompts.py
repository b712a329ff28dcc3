"""What is asked in each setting, in both wordings."""

import pytest
from instabind_samples import asked, cars, dataset, group, image

from bindbench.instabind.conditions import condition
from bindbench.instabind.prompts import prompt
from bindbench.training.nano_vlm_text import new_tokenizer
from bindbench.training.validator_data import embedded_lexicon


def first(raw, level):
    return next(question for question in asked(raw).values() if question.level == level)


CARS = cars("grey", "red", "blue")


@pytest.mark.parametrize(
    ("level", "setting", "wanted"),
    [
        ("L1", "full_image", "What color is the leftmost car? Answer with the color only."),
        (
            "L2",
            "full_image",
            "Where is the grey car?\nA. leftmost\nB. middle\nC. rightmost\n"
            "Answer with the letter of the right option only.",
        ),
        ("L4", "full_image", "Is the leftmost car grey? Answer with yes or no only."),
        (
            "L1",
            "crop_oracle",
            "What color is the car shown in this image? Answer with the color only.",
        ),
        (
            "L3",
            "context_crop",
            "What color is the car closest to the center of this image? "
            "Answer with the color only.",
        ),
        (
            "L1",
            "instance_first",
            "First list every car in this image from left to right, each with its color. Then "
            "answer this question: What color is the leftmost car?\n"
            "End with a line of the form: Final answer: <short answer>",
        ),
    ],
)
def test_plain_words(level, setting, wanted):
    assert prompt(first(CARS, level), condition(setting), "plain").text == wanted


@pytest.mark.parametrize(
    ("level", "wanted"),
    [
        ("L1", ("gray", "red", "blue")),
        ("L2", ("leftmost", "middle", "rightmost")),
        ("L4", ("yes", "no")),
    ],
)
def test_a_choice_is_among_the_group_and_says_no_word_of_letters(level, wanted):
    found = prompt(first(CARS, level), condition("full_image_choice"), "plain")
    assert found.options == wanted
    assert "\n" not in found.text
    assert prompt(first(CARS, level), condition("full_image"), "plain").options == ()


def test_values_that_are_read_alike_are_one_option():
    found = prompt(
        first(cars("grey", "gray", "blue"), "L1"), condition("full_image_choice"), "nano"
    )
    assert found.options == ("gray", "blue")


def test_clothes_are_asked_for_by_the_person_who_wears_them():
    people = dataset(
        image("im", group("g", ["red", "blue", "white"], "person", "upper_clothing_color"))
    )
    question = first(people, "L1")
    assert prompt(question, condition("crop_oracle"), "plain").text == (
        "What color is the upper clothing of the person shown in this image? "
        "Answer with the upper clothing color only."
    )


def test_attributes_beyond_color():
    shapes = dataset(image("im", group("g", ["cube", "ball", "cone"], "object", "shape")))
    assert prompt(first(shapes, "L1"), condition("full_image"), "plain").text == (
        "What shape is the leftmost object? Answer with the shape only."
    )


def test_the_nano_wording_has_only_words_that_the_model_knows():
    tokenizer = new_tokenizer(embedded_lexicon())
    cakes = dataset(image("im", group("g", ["red", "blue", "green", "black"], "cake")))
    settings = ("full_image", "full_image_choice", "crop_oracle", "context_crop", "instance_first")
    for question in asked(cakes).values():
        for setting in settings:
            text = prompt(question, condition(setting), "nano").text
            assert tokenizer.unk_token_id not in tokenizer(text)["input_ids"], text
    question = first(cakes, "L3")
    assert prompt(question, condition("full_image"), "nano").text == (
        "What color is the cake immediately to the right of the red cake?"
    )
    assert prompt(question, condition("crop_oracle"), "nano").text == "What color is the cake?"
    assert prompt(first(cakes, "L2"), condition("full_image"), "nano").text == (
        "Where is the red cake?"
    )
