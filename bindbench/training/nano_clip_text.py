"""What the contrastive encoders read: their tokenizer, and captions of scenes told in many ways."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from bindbench.candidates import candidate_space, candidate_words
from bindbench.captions import frames, grammar
from bindbench.captions.minimal import BACKGROUND, write_minimal
from bindbench.captions.slots import Draft
from bindbench.concepts import Concept
from bindbench.models.grammar_writer import GrammarWriter
from bindbench.semantics import FALSE, text_semantics
from bindbench.tasks import Track
from bindbench.vocabulary import Lexicon, Relation

PAD, UNKNOWN, END = "<pad>", "<unk>", "<eos>"
# Determiners tell nothing of a picture, and without them a caption is a third shorter.
DETERMINERS = r"\b(?:a|an|the|some|pair of)\b"
ONE_OBJECT = 0.6  # share of partial captions that surely name one object
_WORD = re.compile(r"[a-z0-9'-]+")


def words_of(lexicon: Lexicon) -> list[str]:
    """Return the words of all captions that the embedded writers make of a lexicon, sorted."""
    texts = [BACKGROUND, "and which"]
    texts += [e.name for vocabulary in vars(lexicon).values() for e in vocabulary.entries]
    texts += [*frames.PLACES, *frames.MOMENTS, *frames.RELATION_SHAPES]
    texts += [shape for shapes in frames.ATTRIBUTE_SHAPES.values() for shape in shapes]
    texts += [s for sayings in frames.SAYINGS.values() for kind in sayings.values() for s in kind]
    texts += [*grammar.VERBS, *grammar.VERBS.values()]
    plain = re.sub(r"\{\w+\}|<[vr]?\d*:?(\w*)>", r" \1 ", " ".join(texts)).lower()
    return sorted(set(_WORD.findall(re.sub(DETERMINERS, " ", plain))))


def save_tokenizer(lexicon: Lexicon, folder: Path) -> int:
    """Write the tokenizer as transformers loads it: one token a word, no determiners.

    Returns:
        The number of tokens; padding is 0, an unknown word 1, the end 2.
    """
    names = [PAD, UNKNOWN, END, *words_of(lexicon)]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(names)}, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Lowercase(),
            normalizers.Replace(Regex(DETERMINERS), " "),
            normalizers.Replace(Regex(r"[^a-z0-9'\-]+"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", special_tokens=[(END, names.index(END))]
    )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "unk_token": UNKNOWN,
        "eos_token": END,
        "model_input_names": ["input_ids"],
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1) + "\n")
    return len(names)


class Teller:
    """Tells what a scene shows in random words: clause order, inverses, synonyms, frames."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self._writer = GrammarWriter(lexicon)

    def caption(self, concept: Concept, style: Track, seed: int) -> str:
        """Return the caption of a concept as it stands; a contextual frame follows the seed."""
        if style == "minimal":
            return write_minimal(concept, self.lexicon).text
        return self._writer.write([concept], [seed])[0].text

    def objects_only(self, concept: Concept) -> str:
        """Return a minimal caption that names the objects alone."""
        draft = Draft()
        for k, name in enumerate(concept.objects):
            if k:
                draft.write(", and " if k == concept.n - 1 else ", ")
            draft.phrase(k, self.lexicon.nouns(concept.task)[name])
        draft.write(BACKGROUND)
        return draft.template(capital=False).text

    def retold(self, concept: Concept, rng: np.random.Generator) -> Concept:
        """Return a concept of the same scene, mentioned in a random order."""
        if concept.task.axis == "attribute":
            order = rng.permutation(concept.n)
            return Concept(
                concept.task_name,
                tuple(concept.objects[k] for k in order),
                tuple(concept.labels[k] for k in order),
            )
        objects, labels = concept.objects, concept.labels
        relations = self.lexicon.labels(concept.task)
        if rng.random() < 0.5:
            objects, labels = objects[::-1], [relations[x].inverse for x in labels[::-1]]
        labels = [_synonym(relations[x], relations.names, rng) for x in labels]
        return Concept(concept.task_name, tuple(objects), tuple(labels))

    def part(self, concept: Concept, rng: np.random.Generator) -> Concept:
        """Return an attribute concept with some of its pairs, more often few of them."""
        count = 1 if rng.random() < ONE_OBJECT else int(rng.integers(1, concept.n + 1))
        kept = rng.permutation(concept.n)[:count]
        return Concept(
            concept.task_name,
            tuple(concept.objects[k] for k in kept),
            tuple(concept.labels[k] for k in kept),
        )

    def mirrored(self, concept: Concept) -> Concept:
        """Return what the mirror image of a concept's scene shows."""
        if concept.task.label_role != "positions":
            return concept
        relations = self.lexicon.positions
        labels = tuple(
            relations[x].inverse if relations[x].axis == "horizontal" else x for x in concept.labels
        )
        return Concept(concept.task_name, concept.objects, labels)

    def swapped(self, concept: Concept, rng: np.random.Generator) -> Concept | None:
        """Return a random false member of the swap set, None where there is none."""
        if concept.n == 1:
            return None
        semantics, _ = text_semantics(concept, self.lexicon)
        swaps = np.flatnonzero(candidate_space(concept.task.axis, concept.n).swap)
        false = swaps[semantics[swaps] == FALSE]
        if not len(false):
            return None
        words = candidate_words(concept, self.lexicon)[int(rng.choice(false))]
        return Concept(concept.task_name, *words)


def _synonym(relation: Relation, names: Sequence[str], rng: np.random.Generator) -> str:
    options = [relation.name, *(name for name in relation.synonyms if name in names)]
    return options[int(rng.integers(len(options)))]
