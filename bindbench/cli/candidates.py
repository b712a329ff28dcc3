"""The command ``bindbench candidates``: one concept's captions and candidates."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bindbench.candidates import candidate_families, candidate_texts
from bindbench.captions.contextual import write_contextual
from bindbench.captions.minimal import write_minimal
from bindbench.concepts import Concept
from bindbench.errors import UserError, unknown_name
from bindbench.models.grammar_writer import GrammarWriter
from bindbench.semantics import REASONS, SEMANTICS, text_semantics
from bindbench.suite import VocabularySources
from bindbench.tasks import Task, get_task
from bindbench.vocabulary import Lexicon

_ATTEMPTS = 3


def candidates_table(
    task: str, objects: Sequence[str], labels: Sequence[str], lexicon: Lexicon
) -> dict[str, Any]:
    """Return a concept's captions and the candidates of its minimal caption, ready for JSON.

    Raises:
        UserError: an unknown task or word, a word given twice, nested nouns, or a number of
            objects or labels that the task does not have.
    """
    concept = _concept(get_task(task), objects, labels, lexicon)
    minimal = write_minimal(concept, lexicon)
    (contextual,) = write_contextual(GrammarWriter(lexicon), [concept], lexicon, 0, _ATTEMPTS)
    semantics, reasons = text_semantics(concept, lexicon)
    texts = candidate_texts(minimal, concept, lexicon)
    families = candidate_families(concept, lexicon)
    return {
        "concept": {
            "id": concept.id,
            "scene_id": concept.scene_id(lexicon),
            "task": concept.task_name,
            "objects": list(concept.objects),
            "labels": list(concept.labels),
            "captions": {
                "minimal": minimal.text,
                "contextual": contextual.text if contextual.template else None,
            },
        },
        "candidates": [
            {
                "index": i,
                "caption": text,
                "family": families[i] or "positive",
                "semantics": SEMANTICS[semantics[i]],
                "reason": REASONS[reasons[i]],
            }
            for i, text in enumerate(texts)
        ],
    }


def _concept(
    task: Task, objects: Sequence[str], labels: Sequence[str], lexicon: Lexicon
) -> Concept:
    """Build a concept from words, or say what is wrong with them."""
    _check_counts(task, objects, labels)
    _check_words("object", task.name, objects, lexicon.nouns(task).names)
    _check_words("label", task.name, labels, lexicon.labels(task).names)
    for pair in lexicon.nouns(task).nested:
        if pair <= set(objects):
            a, b = sorted(pair, key=len)
            raise UserError(
                f"Objects {a!r} and {b!r} of task {task.name} are nested nouns, which one concept "
                "cannot hold: replace one of them."
            )
    return Concept(task.name, tuple(objects), tuple(labels))


def _check_counts(task: Task, objects: Sequence[str], labels: Sequence[str]) -> None:
    if len(objects) not in task.complexities:
        allowed = ", ".join(map(str, task.complexities))
        raise UserError(
            f"The number of objects for task {task.name} is {len(objects)}: give one of {allowed}."
        )
    needed = len(objects) if task.axis == "attribute" else len(objects) - 1
    if len(labels) != needed:
        raise UserError(
            f"The number of labels for task {task.name} is {len(labels)}: "
            f"{len(objects)} objects need {needed}."
        )


def _check_words(kind: str, task: str, words: Sequence[str], known: Sequence[str]) -> None:
    for i, word in enumerate(words):
        if word not in known:
            raise unknown_name(kind, word, known, f"the vocabulary of task {task}")
        if word in words[:i]:
            raise UserError(f"The {kind} {word!r} of task {task} is given twice: each must differ.")


def sources_from(options: Sequence[str]) -> dict[str, str]:
    """Return the source of each kind of vocabulary, from options such as ``objects=mine.yaml``.

    Kinds that no option names are the built-in ones.

    Raises:
        UserError: an option is not of the form kind=source, or its kind is unknown.
    """
    sources: dict[str, str] = VocabularySources().model_dump()
    for option in options:
        kind, equals, source = option.partition("=")
        if not equals or not source:
            raise UserError(f"Vocabulary {option!r} is not of the form kind=name or kind=file.")
        if kind not in sources:
            raise unknown_name("kind of vocabulary", kind, sources, f"option {option!r}")
        sources[kind] = source
    return sources


def print_candidates(found: dict[str, Any], console: Console) -> None:
    """Print what ``candidates_table`` returns: the captions, then a table."""
    for track, caption in found["concept"]["captions"].items():
        console.print(f"{track}: {caption or 'none (no attempt passed)'}", markup=False)
    table = Table("#", "caption", "family", "semantics", "reason")
    for row in found["candidates"]:
        cells = (row[key] for key in ("index", "caption", "family", "semantics", "reason"))
        table.add_row(*map(str, cells))
    console.print(table)
