"""The command ``bindbench instabind answer``: a model's answers, as a file."""

from collections.abc import Sequence
from pathlib import Path

import typer

from bindbench.cli.evaluate import options_from
from bindbench.instabind.annotations import read_annotations
from bindbench.instabind.answer_file import Answered, AnswerFile
from bindbench.instabind.answer_file import answer as ask
from bindbench.instabind.asking import Desk, check_images, folder_reader, pictures_of
from bindbench.instabind.conditions import condition
from bindbench.instabind.questions import questions
from bindbench.models import registry
from bindbench.pipeline.progress import log_progress
from bindbench.suite import RoleSettings, VocabularySources

NAMED = 10  # unknown words in a message


def run_answers(
    annotations: Path,
    images: Path,
    model: str,
    out: Path,
    setting: str,
    options: Sequence[str],
    batch_size: int,
) -> None:
    """Ask what is not answered yet, and say what was done.

    Raises:
        UserError: the model, the setting, an option or a file is not what it should be.
    """
    where = condition(setting)
    settings = RoleSettings(model=model, options=options_from(options), batch_size=batch_size)
    name, family, parsed = registry.resolve("answerer", settings)
    family.ready(name, parsed)
    found = read_annotations(annotations).annotations
    check_images(images, found.images)
    asked = {one.question_id: one for one in questions(found)}
    desk = Desk(pictures_of(found), folder_reader(images), where, parsed)
    file = AnswerFile(out, model, setting)
    file.answered(asked)  # before a model is loaded
    answerer = registry.load("answerer", settings, VocabularySources())
    say(ask(answerer, asked, desk, file, batch_size, log_progress("answers", setting, "questions")))
    typer.echo(f"Answers: {out}")


def say(done: Answered) -> None:
    """Print what was done."""
    kept = f", {done.kept:,} of them answered before" if done.kept else ""
    typer.echo(f"{done.asked:,} questions{kept}")
    if done.cut_off:
        typer.echo(
            f"Answers cut off: {done.cut_off:,}; raise the option max_tokens (list_tokens for "
            "instance_first) if they matter.",
            err=True,
        )
    if done.unknown:
        words = ", ".join(f"{word} ({count})" for word, count in list(done.unknown.items())[:NAMED])
        more = f" and {len(done.unknown) - NAMED} more" if len(done.unknown) > NAMED else ""
        typer.echo(f"Words of the questions that the model does not know: {words}{more}", err=True)
