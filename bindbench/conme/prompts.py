"""Every prompt of the conversation, in the order of its stages (ConMe, section 3, appendix A)."""

from collections.abc import Mapping, Sequence

from bindbench.conme.samples import QuestionSet
from bindbench.conme.taxonomy import Taxonomy

# Stages 1 and 2: the same for the strong model and the targets. (Stage 5 asks the bare question.)
DESCRIBE = (
    "Describe this image in detail: its objects and how many there are, their colors, shapes and "
    "other properties, where they are in relation to each other, what happens, and the background. "
    "Say only what you are sure of."
)

_RULES = (
    "Rules:\n"
    "- Ask only what the image answers beyond doubt; leave out whatever you are not sure of.\n"
    "- The answer is short and right.\n"
    "- Give {negatives} wrong answers to each question. Each is of the same form and length as the "
    "answer, is plausible in this scene, differs from the answer in a subtle way, and is certainly "
    "wrong.\n"
    "- Neither the question nor an answer may give away which one is right.\n"
    "- No two questions ask for the same thing.\n"
    'Reply with JSON alone: {{"questions": [{{"question": "...", "answer": "...", "negatives": '
    '["...", "..."]}}]}}.'
)

_FIRST = (
    "You examine how well other vision-language models see. Your own description of this image:\n"
    "{description}\n\n"
    "Their descriptions of the same image:\n{others}\n\n"
    "Compare them with the image. Write {count} questions about objects, attributes, relations and "
    "counts that these models left out or got wrong, so that a model that sees like them would "
    "choose wrongly.\n"
)

_HARDER = (
    "You examine how well other vision-language models see. You asked these questions about this "
    "image:\n{questions}\n\n"
    "They answered:\n{answers}\n\n"
    "Their answers show what they see and where they go wrong. Write {count} new questions that "
    "are harder for them: about finer details, or about several details that have to be put "
    "together.\n"
)

CHOOSE = "Answer with the option's letter from the given choices directly."

CHECK = {
    "answer": 'Question: {question}\nIs "{answer}" a right answer to it for this image?',
    "negative": 'Question: {question}\nIs "{negative}" a wrong answer to it for this image?',
    "clear": (
        "Question: {question}\nIs this question clear, with exactly one right answer among "
        '"{answer}" and "{negative}" for this image?'
    ),
}


def first_questions(description: str, others: Mapping[str, str], count: int, negatives: int) -> str:
    """Return the prompt of stage 3.

    Args:
        description: the strong model's.
        others: the targets', by name.
        count: of questions.
        negatives: wrong answers for each.
    """
    shown = "\n".join(f"Model {i}: {text.strip()}" for i, text in enumerate(others.values(), 1))
    lead = _FIRST.format(description=description.strip(), others=shown, count=count)
    return lead + _RULES.format(negatives=negatives)


def harder_questions(
    sets: Sequence[QuestionSet], answers: Mapping[str, Sequence[str]], count: int, negatives: int
) -> str:
    """Return the prompt of stage 6.

    Args:
        sets: the questions of the first round.
        answers: each target's open-ended answers, by name, one for each question.
        count: of new questions.
        negatives: wrong answers for each.
    """
    asked = "\n".join(f"{i}. {s.question} ({s.answer})" for i, s in enumerate(sets, 1))
    heard = "\n".join(
        f"Model {m}, question {i}: {text.strip()}"
        for m, given in enumerate(answers.values(), 1)
        for i, text in enumerate(given, 1)
    )
    lead = _HARDER.format(questions=asked, answers=heard, count=count)
    return lead + _RULES.format(negatives=negatives)


def mended(prompt: str, faults: Mapping[str, int]) -> str:
    """Return a prompt that asks again after a reply that could not be read."""
    return (
        f"{prompt}\nYour last reply could not be used ({', '.join(faults)}). Reply with JSON alone."
    )


def choice(question: str, options: tuple[str, str]) -> str:
    """Return a question with two lettered options (ConMe, stages 4 and 7)."""
    return f"{question}\nA. {options[0]}\nB. {options[1]}\n{CHOOSE}"


def vqa_score(question: str, option: str) -> str:
    """Return what VQAScore asks: the probability of "yes" is the option's score."""
    return (
        f'Question: {question} Does this image show that the answer is "{option}"? '
        "Answer yes or no."
    )


def categorise(taxonomy: Taxonomy, question: str, answer: str) -> str:
    """Return the prompt that assigns a category of a taxonomy."""
    listed = "\n".join(f"- {name}: {meaning}" for name, meaning in taxonomy.categories.items())
    return (
        f"{taxonomy.question} The categories:\n{listed}\n"
        f"Question: {question}\nAnswer: {answer}\nReply with the name of one category only."
    )
