import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from bindbench.captions.contextual import attempt_seed, write_contextual
from bindbench.captions.frames import MOMENTS, PLACES, SAYINGS, shapes
from bindbench.captions.mentions import mention_index, tokenize
from bindbench.captions.preservation import check
from bindbench.captions.slots import render
from bindbench.concepts import Concept, sample_concepts
from bindbench.models.base import Written
from bindbench.models.grammar_writer import GrammarWriter
from bindbench.tasks import BENCHMARKS
from bindbench.vocabulary import Lexicon, Noun, Vocabulary

CUP = Concept("color", ("cup",), ("red",))
BOWL = Concept("color", ("bowl",), ("blue",))


class Scripted:
    """Gives prepared texts, and remembers what it was asked."""

    def __init__(self, texts: Mapping[str, list[str | Written]]) -> None:
        self.texts = texts
        self.calls: list[tuple[list[str], list[int]]] = []

    def write(self, concepts: Sequence[Concept], seeds: Sequence[int]) -> list[Written]:
        self.calls.append(([c.objects[0] for c in concepts], list(seeds)))
        texts = [self.texts[c.objects[0]].pop(0) for c in concepts]
        return [text if isinstance(text, Written) else Written(text) for text in texts]


def test_failures_are_written_again_with_new_seeds(lexicon):
    writer = Scripted({"cup": ["A red cup."], "bowl": ["A bowl.", "A red bowl.", "A blue bowl."]})
    cup, bowl = write_contextual(writer, [CUP, BOWL], lexicon, seed=7, attempts=3)
    assert (cup.text, cup.attempts, cup.reason) == ("A red cup.", 1, "")
    assert (bowl.text, bowl.attempts, bowl.reason) == ("A blue bowl.", 3, "")
    assert cup.template and bowl.template
    assert [asked for asked, _ in writer.calls] == [["cup", "bowl"], ["bowl"], ["bowl"]]
    seeds = [seed for _, call in writer.calls for seed in call]
    assert len(set(seeds)) == 4
    assert seeds[1] == attempt_seed(7, BOWL, 1)


def test_the_last_failure_keeps_its_text_and_reason(lexicon):
    writer = Scripted({"bowl": ["A bowl.", "A blue bowl and a cup."]})
    (bowl,) = write_contextual(writer, [BOWL], lexicon, seed=0, attempts=2)
    assert bowl.template is None
    assert (bowl.text, bowl.attempts, bowl.reason) == ("A blue bowl and a cup.", 2, "other_object")
    assert len(writer.calls) == 2


def test_answers_are_cleaned_and_every_try_is_kept(lexicon):
    answers = [
        "I'm sorry, I can't do that.",
        'Sure! Here is a caption: "A bowl."',
        "**A blue bowl.** It is noon.",
    ]
    writer = Scripted({"bowl": [*answers]})
    (bowl,) = write_contextual(writer, [BOWL], lexicon, seed=0, attempts=5)
    assert (bowl.text, bowl.attempts, bowl.reason) == ("A blue bowl.", 3, "")
    assert [found.written.text for found in bowl.tries] == answers
    assert [(found.cut, found.reason) for found in bowl.tries] == [
        ((), "refusal"),
        (("preamble", "quotes"), "missing_label"),
        (("markup", "sentences"), ""),
    ]


@pytest.mark.parametrize(
    ("text", "fault", "reason"),
    [
        ("A red cup stands in the", "unfinished", "unfinished"),
        ("A red cup stands in the", "", ""),
        ("A red cup stands in the park. The", "unfinished", ""),
        ("A red cup.", "refusal", "refusal"),
    ],
)
def test_a_caption_that_was_cut_off_fails_unless_a_sentence_is_whole(lexicon, text, fault, reason):
    writer = Scripted({"cup": [Written(text, fault)]})
    (cup,) = write_contextual(writer, [CUP], lexicon, seed=0, attempts=1)
    assert cup.reason == reason


def test_nothing_to_write(lexicon):
    assert write_contextual(Scripted({}), [], lexicon, seed=0, attempts=2) == []


def test_a_caption_depends_on_its_own_concept_and_seed(lexicon):
    concepts = [s.concept for s in sample_concepts(BENCHMARKS["color-n2"], lexicon, 20, seed=0)]
    writer = GrammarWriter(lexicon)
    together = write_contextual(writer, concepts, lexicon, 0, 1)
    alone = [write_contextual(writer, [c], lexicon, 0, 1)[0] for c in concepts]
    assert together == alone
    assert write_contextual(writer, concepts, lexicon, 1, 1) != together


@pytest.mark.parametrize("key", list(BENCHMARKS))
def test_the_grammar_is_no_template_in_disguise(lexicon, key):
    concepts = [s.concept for s in sample_concepts(BENCHMARKS[key], lexicon, 600, seed=0)]
    written = write_contextual(GrammarWriter(lexicon), concepts, lexicon, 0, 1)
    assert {caption.reason for caption in written} == {""}
    frames = {caption.template.frame for caption in written if caption.template}
    assert len(frames) >= 200
    # Without places and moments, too, there are many ways to say it.
    assert len({bare(frame) for frame in frames}) >= 16


def bare(frame: str) -> str:
    for phrase in (*PLACES, *MOMENTS):
        frame = re.sub(re.escape(phrase), "...", frame, flags=re.IGNORECASE)
    return frame


def literal(texts: Sequence[str]) -> list[str]:
    """The texts without what is filled in."""
    return [re.sub(r"<[^>]*>|\{[^}]*\}", " ; ", text) for text in texts]


def sayings(role: str) -> list[str]:
    return [saying for pool in SAYINGS[role].values() for saying in pool]


def test_frames_name_no_word_of_the_vocabularies(lexicon):
    index = mention_index(lexicon)
    relational = [*PLACES, *MOMENTS, *shapes("relation", 3)]
    texts = [*relational, *sayings("positions"), *sayings("sizes")]
    texts += [shape for n in (1, 2, 3) for shape in shapes("attribute", n)]
    for text in literal(texts):
        for phrases in (index.objects, index.shapes, index.colors):
            assert phrases.find(tokenize(text)) == [], text
    for role in ("positions", "sizes"):
        for text in literal([*relational, *sayings(role)]):
            assert getattr(index, role).find(tokenize(text)) == [], text


class OneShape(GrammarWriter):
    """Always takes the sentence shape with this number."""

    def __init__(self, lexicon: Lexicon, number: int) -> None:
        super().__init__(lexicon)
        self.number = number

    def _shapes(self, concept: Concept) -> Sequence[str]:
        return shapes(concept.task.axis, concept.n)[self.number :][:1]


@pytest.mark.parametrize("key", list(BENCHMARKS))
def test_every_shape_passes_for_every_kind_of_noun(lexicon, key):
    """Count, pair, mass and plural nouns, in every place of every sentence shape."""
    benchmark = BENCHMARKS[key]
    mixed = benchmark.task.object_role == "objects"
    words = _of_each_number(lexicon) if mixed else lexicon
    concepts = [s.concept for s in sample_concepts(benchmark, words, 60, seed=1)]
    for number in range(len(shapes(benchmark.task.axis, benchmark.n))):
        texts = OneShape(words, number).write(concepts, range(len(concepts)))
        for concept, written in zip(concepts, texts, strict=True):
            assert check(written.text, concept, lexicon).reason == "", written.text


def _of_each_number(lexicon: Lexicon) -> Lexicon:
    """The lexicon cut to a few nouns of each grammatical number."""
    chosen: list[Noun] = []
    for number in ("count", "pair", "mass", "plural"):
        chosen += [noun for noun in lexicon.objects.entries if noun.number == number][:4]
    return replace(lexicon, objects=Vocabulary("objects", "mixed", tuple(chosen)))


def test_every_object_and_color_passes(lexicon):
    colors = lexicon.colors.names
    concepts = [
        Concept("color", (name,), (colors[i % len(colors)],))
        for i, name in enumerate(lexicon.objects.names)
    ]
    written = write_contextual(GrammarWriter(lexicon), concepts, lexicon, 3, 1)
    assert {caption.reason for caption in written} == {""}


@pytest.mark.parametrize("key", list(BENCHMARKS))
def test_other_words_fill_a_caption_grammatically(lexicon, key):
    """A caption filled with another concept's words passes for it, and can be filled back."""
    concepts = [s.concept for s in sample_concepts(BENCHMARKS[key], lexicon, 150, seed=7)]
    written = write_contextual(GrammarWriter(lexicon), concepts, lexicon, 0, 1)
    for concept, other, caption in zip(concepts, concepts[1:], written, strict=False):
        assert caption.template
        text = render(caption.template, concept, other.objects, other.labels, lexicon)
        verdict = check(text, other, lexicon)
        assert verdict.template, f"{text} {verdict.reason}"
        back = render(verdict.template, other, concept.objects, concept.labels, lexicon)
        assert back == caption.text
