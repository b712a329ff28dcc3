"""What nano:vlm reads and writes: its words, its tokenizer and its chat template."""

import re
from collections.abc import Iterable
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from bindbench.captions import grammar
from bindbench.training.nano_clip_text import DETERMINERS, words_of
from bindbench.vocabulary import Lexicon

SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>", "<image>")
PAD, BOS, EOS, UNKNOWN, IMAGE = range(len(SPECIAL))
LETTERS = "ABCDEF"  # of lettered options; "A" is no determiner before a full stop or at the end
ORDER = {
    3: ("leftmost", "middle", "rightmost"),
    4: ("leftmost", "second from left", "third from left", "rightmost"),
    5: ("leftmost", "second from left", "middle", "second from right", "rightmost"),
    6: (
        "leftmost",
        "second from left",
        "third from left",
        "fourth from left",
        "second from right",
        "rightmost",
    ),
}
ORDERS = tuple(dict.fromkeys(label for labels in ORDER.values() for label in labels))
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six")
PROMPTS = (
    "",
    "Describe the image.",
    "Describe this image in one sentence.",
    "Describe the picture briefly.",
    "Write a short caption for this image.",
    "A caption of this photo:",
    "What does this image show?",
    "What is in the picture?",
    "Caption:",
)
_OTHER_WORDS = """
what which where how many who does do is are there at on in or and of to from no yes not none
color colors shape object objects thing things top bottom left right middle larger smaller largest
smallest bigger biggest list immediately unclear answer with letter given choices directly option
single word please question correct briefly short one sentence image picture photo caption describe
this show shown scene it its than true false final only more other
"""

TEMPLATE = (
    "<bos>{% for message in messages %}"
    "{% if message['content'] is string %}{{ message['content'] | trim }}{% else %}"
    "{% for part in message['content'] if part['type'] == 'image' %}<image>{% endfor %}"
    "{% for part in message['content'] if part['type'] == 'text' %}"
    "{{ part['text'] | trim }} {% endfor %}{% endif %}"
    "{{ '<eos>' if message['role'] == 'assistant' else '\n' }}{% endfor %}"
)


def nouns_of(lexicon: Lexicon) -> list[str]:
    """Return the names of all objects and shapes."""
    entries = (*lexicon.objects.entries, *lexicon.shapes.entries)
    return list(dict.fromkeys(entry.name for entry in entries))


def joined(words: str) -> str:
    """Return the one token that a name of one or more words is: "hot dog" is "hot_dog"."""
    return words.lower().replace(" ", "_")


def _nouns_and_plurals(lexicon: Lexicon) -> list[str]:
    entries = (*lexicon.objects.entries, *lexicon.shapes.entries)
    names = [name for e in entries for name in (e.name, grammar.plural(e))]
    return [name.lower() for name in dict.fromkeys(names)]


def _letter(letter: str) -> str:
    return f"option{letter.lower()}"


def vocabulary_of(lexicon: Lexicon) -> list[str]:
    """Return the tokens of a lexicon's captions and of questions about its scenes, in order."""
    compounds = [joined(name) for name in (*_nouns_and_plurals(lexicon), *ORDERS)]
    plain = f"{_OTHER_WORDS} {' '.join((*PROMPTS, *ORDINALS, *NUMBERS))}".lower()
    words = re.findall(r"[a-z'-]+", plain)
    known = {*words_of(lexicon), *compounds, *words, *map(_letter, LETTERS)}
    return [*SPECIAL, *sorted(known - {"a", "an", "the", "some"})]


def _normalizer(compounds: Iterable[str]) -> normalizers.Normalizer:
    steps: list[normalizers.Normalizer] = [
        normalizers.Replace(Regex(rf"\b{x}(?=\s*(?:[.):]|$))"), _letter(x)) for x in LETTERS
    ]
    steps += [
        normalizers.Lowercase(),
        normalizers.Replace(Regex(DETERMINERS), " "),
        normalizers.Replace(Regex(r"[^a-z0-9'\-]+"), " "),
    ]
    # The longest first, so that no name takes away a part of another.
    for name in sorted(compounds, key=lambda name: (-len(name), name)):
        steps.append(normalizers.Replace(Regex(rf"\b{re.escape(name)}\b"), joined(name)))
    return normalizers.Sequence(steps)


def new_tokenizer(lexicon: Lexicon) -> PreTrainedTokenizerFast:
    """Return a tokenizer of whole words, names of several words included; determiners are left out.

    It adds no special tokens: the chat template writes them.
    """
    words = vocabulary_of(lexicon)
    tokenizer = Tokenizer(
        models.WordLevel({w: i for i, w in enumerate(words)}, unk_token=SPECIAL[UNKNOWN])
    )
    compounds = {n for n in (*_nouns_and_plurals(lexicon), *ORDERS) if " " in n}
    tokenizer.normalizer = _normalizer(compounds)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    letters = [decoders.Replace(_letter(letter), letter) for letter in LETTERS]
    spaces = [decoders.Replace("_", " "), decoders.WordPiece("##", cleanup=False)]
    tokenizer.decoder = decoders.Sequence([*letters, *spaces])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=SPECIAL[PAD],
        bos_token=SPECIAL[BOS],
        eos_token=SPECIAL[EOS],
        unk_token=SPECIAL[UNKNOWN],
        extra_special_tokens={"image_token": SPECIAL[IMAGE]},
        model_input_names=["input_ids", "attention_mask"],
        padding_side="left",
        chat_template=TEMPLATE,
    )


def save_tokenizer(lexicon: Lexicon, folder: Path) -> None:
    """Write the tokenizer's files."""
    new_tokenizer(lexicon).save_pretrained(str(folder))
