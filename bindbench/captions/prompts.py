"""What a language model is asked for a contextual caption: all of its words are in this file.

The intent is that of Auto-Comp, A.2: a role, rules, worked examples and the scene. A chat model
gets the role as its system message; a model that only continues text gets the examples and an
unfinished last one. The rules are those of the preservation check, which every example passes.
"""

import functools
from dataclasses import dataclass

from bindbench.captions import grammar
from bindbench.concepts import Concept, content_id
from bindbench.errors import UserError
from bindbench.suite import VocabularySources
from bindbench.tasks import Axis
from bindbench.vocabulary import Lexicon
from bindbench.vocabulary_files import load_lexicon

ROLE = (
    "You write captions for pictures. You are given what a picture shows and answer with one "
    "natural English sentence about it. Your answer is that sentence and nothing else: no "
    "introduction, no remarks, no quotation marks, no formatting."
)

RULES: dict[Axis, tuple[str, ...]] = {
    "attribute": (
        "Name everything that is listed, each thing once and by exactly the words given, with its "
        "color right before it.",
        "Give nothing else a color, and bring in no other objects.",
        "Make it a real scene: add a place, a moment or what somebody does there.",
        "Write one sentence of at most 30 words.",
    ),
    "relation": (
        "Name everything that is listed, each thing once and by exactly the words given, and keep "
        "the order.",
        "Put each relation, in exactly the words given, between its two things. With three things, "
        'carry on from the second one by "which is".',
        "Use no other words for where things are, how large they are or what color they have, and "
        "bring in no other objects.",
        "Make it a real scene: add a place, a moment or what somebody does there.",
        "Write one sentence of at most 30 words.",
    ),
}


@dataclass(frozen=True)
class Example:
    """A scene and a good caption of it."""

    concept: Concept
    caption: str


def _examples(
    task: str, *rows: tuple[tuple[str, ...], tuple[str, ...], str]
) -> tuple[Example, ...]:
    return tuple(Example(Concept(task, objects, labels), text) for objects, labels, text in rows)


# By task and number of objects.
EXAMPLES: dict[tuple[str, int], tuple[Example, ...]] = {
    ("color", 1): _examples(
        "color",
        (("umbrella",), ("red",), "Somebody has left a red umbrella on the steps of a theater."),
        (
            ("guitar",),
            ("blue",),
            "Late in the afternoon, a street musician tunes a blue guitar in the park.",
        ),
        (
            ("boots",),
            ("brown",),
            "A pair of brown boots waits by the entrance of a mountain cabin after a long hike.",
        ),
        (("apple",), ("green",), "A child reaches for a green apple in a sunny kitchen."),
    ),
    ("color", 2): _examples(
        "color",
        (
            ("cup", "notebook"),
            ("white", "red"),
            "On a rainy morning, a white cup steams next to a red notebook in a quiet cafe.",
        ),
        (
            ("bicycle", "bench"),
            ("yellow", "gray"),
            "A cyclist has leaned a yellow bicycle against a gray bench in the city park.",
        ),
        (
            ("gloves", "helmet"),
            ("black", "orange"),
            "A pair of black gloves and an orange helmet lie ready for the next shift at a "
            "building site.",
        ),
        (
            ("vase", "clock"),
            ("teal", "gold"),
            "Visitors of an old hotel admire a teal vase and a gold clock in the lobby.",
        ),
    ),
    ("color", 3): _examples(
        "color",
        (
            ("suitcase", "hat", "umbrella"),
            ("brown", "white", "blue"),
            "A traveler at the station waits with a brown suitcase, a white hat, and a blue "
            "umbrella.",
        ),
        (
            ("lemon", "knife", "plate"),
            ("yellow", "silver", "green"),
            "In a sunny kitchen, a yellow lemon and a silver knife rest beside a green plate.",
        ),
        (
            ("car", "bus", "scooter"),
            ("red", "purple", "black"),
            "During the evening rush, a red car follows a purple bus while a black scooter waits "
            "at the corner.",
        ),
        (
            ("guitar", "headphones", "microphone"),
            ("orange", "gray", "pink"),
            "An orange guitar, a pair of gray headphones, and a pink microphone are ready for the "
            "show on a small stage.",
        ),
    ),
    ("shape_color", 2): _examples(
        "shape_color",
        (
            ("cube", "sphere"),
            ("red", "blue"),
            "In a bright classroom, a red cube stands next to a blue sphere.",
        ),
        (
            ("cone", "pyramid"),
            ("orange", "green"),
            "An artist has set an orange cone close to a green pyramid in the studio.",
        ),
        (
            ("cylinder", "torus"),
            ("white", "purple"),
            "Visitors of a small gallery walk around a white cylinder and a purple torus.",
        ),
        (
            ("hemisphere", "prism"),
            ("yellow", "black"),
            "After the lesson, a yellow hemisphere and a black prism remain in the empty hall.",
        ),
    ),
    ("shape_color", 3): _examples(
        "shape_color",
        (
            ("sphere", "cone", "cube"),
            ("green", "pink", "gray"),
            "On a sandy beach, a child has lined up a green sphere, a pink cone, and a gray cube.",
        ),
        (
            ("pyramid", "cylinder", "torus"),
            ("gold", "red", "navy"),
            "Soft daylight falls on a gold pyramid, a red cylinder, and a navy torus in a museum.",
        ),
        (
            ("prism", "sphere", "cuboid"),
            ("blue", "orange", "white"),
            "A teacher holds up a blue prism beside an orange sphere and a white cuboid in the "
            "workshop.",
        ),
        (
            ("cone", "hemisphere", "cylinder"),
            ("yellow", "brown", "purple"),
            "In the quiet studio, a yellow cone leans against a brown hemisphere near a purple "
            "cylinder.",
        ),
    ),
    ("position", 2): _examples(
        "position",
        (
            ("clock", "piano"),
            ("above",),
            "In the school hall, a clock hangs above a piano that nobody plays.",
        ),
        (
            ("basketball", "bench"),
            ("under",),
            "After practice, a basketball has rolled under a bench in the gym.",
        ),
        (
            ("lamp", "bed"),
            ("to the left of",),
            "Late in the evening, a lamp glows to the left of a bed in a small hotel room.",
        ),
        (
            ("scissors", "notebook"),
            ("to the right of",),
            "A pair of scissors lies to the right of a notebook in a busy classroom.",
        ),
    ),
    ("position", 3): _examples(
        "position",
        (
            ("kite", "sailboat", "bench"),
            ("above", "to the right of"),
            "On a windy day at the lake, a kite flies above a sailboat, which is to the right of "
            "a bench.",
        ),
        (
            ("suitcase", "bed", "lamp"),
            ("under", "to the left of"),
            "In a quiet hotel room, a suitcase lies under a bed, which is to the left of a lamp.",
        ),
        (
            ("cup", "laptop", "clock"),
            ("to the left of", "under"),
            "Early in the morning, a cup stands to the left of a laptop, which is under a clock "
            "in the office.",
        ),
        (
            ("bicycle", "stool", "basket"),
            ("to the right of", "above"),
            "In a cluttered garage, a bicycle leans to the right of a stool, which is above a "
            "basket.",
        ),
    ),
    ("relative_size", 2): _examples(
        "relative_size",
        (
            ("pumpkin", "basket"),
            ("larger than",),
            "At the harvest fair, a pumpkin that is larger than a basket draws a crowd.",
        ),
        (
            ("violin", "suitcase"),
            ("smaller than",),
            "In the waiting room of a small airport, a violin is smaller than a suitcase.",
        ),
        (
            ("trophy", "helmet"),
            ("bigger than",),
            "A trophy on show at the sports club looks bigger than a helmet.",
        ),
        (
            ("gloves", "hat"),
            ("smaller than",),
            "A pair of gloves that seems smaller than a hat was forgotten in the hallway.",
        ),
    ),
    ("relative_size", 3): _examples(
        "relative_size",
        (
            ("watermelon", "kettle", "cup"),
            ("larger than", "bigger than"),
            "In a country kitchen, a watermelon is larger than a kettle, which is bigger than a "
            "cup.",
        ),
        (
            ("wallet", "key", "backpack"),
            ("bigger than", "smaller than"),
            "Ready for the trip, a wallet is bigger than a key, which is smaller than a backpack.",
        ),
        (
            ("drum", "trumpet", "guitar"),
            ("bigger than", "smaller than"),
            "On an open stage, a drum is bigger than a trumpet, which is smaller than a guitar.",
        ),
        (
            ("cupcake", "candle", "pineapple"),
            ("larger than", "smaller than"),
            "At a birthday party, a cupcake looks larger than a candle, which is smaller than a "
            "pineapple.",
        ),
    ),
}


def scene(concept: Concept, lexicon: Lexicon) -> str:
    """Return what a caption is wanted for: "a red cup, a blue chair", or a chain of relations."""
    nouns = [lexicon.nouns(concept.task)[name] for name in concept.objects]
    if concept.task.axis == "attribute":
        pairs = zip(nouns, concept.labels, strict=True)
        return ", ".join(f"{grammar.indefinite(n, a)} {a} {n.name}" for n, a in pairs)
    links = []
    for i, relation in enumerate(concept.labels):
        first, second = nouns[i], nouns[i + 1]
        determiner = "the" if i else grammar.indefinite(first)
        verb = grammar.verb("is", grammar.is_plural(first, determiner))
        other = f"{grammar.indefinite(second)} {second.name}"
        links.append(f"{determiner} {first.name} {verb} {relation} {other}")
    return ", ".join(links)


def chat_messages(
    concept: Concept, lexicon: Lexicon, system_role: bool = True
) -> list[dict[str, str]]:
    """Return the messages that ask a chat model for a caption.

    Args:
        concept: what the caption must say.
        lexicon: knows the concept's words.
        system_role: whether the role is a message of its own; else it begins the user's.
    """
    rules = "\n".join(f"- {rule}" for rule in RULES[concept.task.axis])
    user = "\n\n".join(
        [
            f"Rules:\n{rules}",
            *shown_examples(concept.task_name, concept.n),
            f"Now write the caption of this picture.\nShows: {scene(concept, lexicon)}",
        ]
    )
    if not system_role:
        return [{"role": "user", "content": f"{ROLE}\n\n{user}"}]
    return [{"role": "system", "content": ROLE}, {"role": "user", "content": user}]


def completion_prompt(concept: Concept, lexicon: Lexicon) -> str:
    """Return a text whose last line a model ends with a caption, if it only continues texts."""
    open_end = f"Shows: {scene(concept, lexicon)}\nCaption:"
    return "\n\n".join([*shown_examples(concept.task_name, concept.n), open_end])


@functools.cache
def shown_examples(task: str, n: int) -> tuple[str, ...]:
    """Return the worked examples of a task with ``n`` objects.

    Raises:
        UserError: there are none.
    """
    if (task, n) not in EXAMPLES:
        raise UserError(
            f"There are no examples of captions for {task} with N={n}: add some to EXAMPLES in "
            "bindbench/captions/prompts.py, or choose the writer grammar:scenes."
        )
    # Their words need not be in the suite's vocabularies.
    words = load_lexicon(VocabularySources().model_dump())
    return tuple(
        f"Shows: {scene(example.concept, words)}\nCaption: {example.caption}"
        for example in EXAMPLES[task, n]
    )


def prompts_digest() -> str:
    """Return a hash of all words of this file, for fingerprints."""
    shown = {f"{task}-n{n}": shown_examples(task, n) for task, n in EXAMPLES}
    return content_id([ROLE, RULES, shown])
