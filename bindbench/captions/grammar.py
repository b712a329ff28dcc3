"""English that captions need: articles, determiners, plurals and the agreement of verbs."""

import re

from bindbench.vocabulary import Noun

# Spelled with a vowel but spoken with a consonant, and the reverse.
_CONSONANT_SOUND = re.compile(r"(?:uni|use|usu|uti|eu|ewe|one\b|once\b)", re.IGNORECASE)
_VOWEL_SOUND = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)

DEFINITE = frozenset({"the", "his", "her", "its", "their", "our", "my", "your"})
INDEFINITE = {"count": ("a", "an"), "pair": ("a pair of",), "mass": ("some",), "plural": ("some",)}

# Third person singular to plural: the verbs that link or place a thing in a caption.
VERBS = {
    "is": "are",
    "was": "were",
    "has": "have",
    "stands": "stand",
    "sits": "sit",
    "lies": "lie",
    "rests": "rest",
    "hangs": "hang",
    "waits": "wait",
    "appears": "appear",
    "seems": "seem",
    "looks": "look",
    "remains": "remain",
    "stays": "stay",
    "floats": "float",
    "catches": "catch",
    "shares": "share",
}
SINGULAR = {plural: singular for singular, plural in VERBS.items()}


def article(word: str) -> str:
    """Return the indefinite article of a word by its first sound."""
    if _VOWEL_SOUND.match(word):
        return "an"
    return "an" if word[0].lower() in "aeiou" and not _CONSONANT_SOUND.match(word) else "a"


def noun_article(noun: Noun) -> str:
    """Return the indefinite article that stands directly before a noun."""
    return noun.article or article(noun.name)


def indefinite(noun: Noun, following: str | None = None) -> str:
    """Return the indefinite determiner of a noun phrase: "a", "an", "a pair of" or "some".

    Args:
        noun: the head of the phrase.
        following: the word after the determiner when it is not the noun itself.
    """
    if noun.number == "count":
        return noun_article(noun) if following is None else article(following)
    return INDEFINITE[noun.number][0]


def is_plural(noun: Noun, determiner: str) -> bool:
    """Return whether a verb after the phrase is plural; "a pair of gloves is", "the gloves are"."""
    if noun.number == "pair":
        return not determiner.lower().endswith("pair of")
    return noun.number == "plural"


def verb(form: str, plural: bool) -> str:
    """Return a verb of ``VERBS``, given in either form, in the form that agrees."""
    singular = SINGULAR.get(form, form)
    return VERBS[singular] if plural else singular


def plural(noun: Noun) -> str:
    """Return the plural of a noun; one that is plural or a mass already stays as it is."""
    if noun.plural:
        return noun.plural
    if noun.number != "count":
        return noun.name
    return regular_plural(noun.name)


def regular_plural(name: str) -> str:
    """Return the plural of a count noun by rule."""
    if re.search(r"(?:s|x|z|ch|sh)$", name):
        return name + "es"
    if re.search(r"[^aeiou]y$", name):
        return name[:-1] + "ies"
    return name + "s"


def capitalize(text: str) -> str:
    """Return the text with its first letter in upper case and the rest unchanged."""
    return text[:1].upper() + text[1:]
