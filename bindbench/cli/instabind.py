"""``bindbench instabind``: annotations, questions and answers of InstaBind-Lite."""

import json
import logging
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bindbench.cli.instabind_groups import mine, review
from bindbench.errors import UserError

instabind = typer.Typer(
    no_args_is_help=True, help="InstaBind-Lite: whose attribute did a model answer with?"
)
instabind.command()(mine)
instabind.add_typer(review, name="review")
log = logging.getLogger(__name__)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Questions = Annotated[Path, typer.Option(help="Questions, one JSON object a line.")]
Answers = Annotated[Path, typer.Option(help="Answers of one model in one setting.")]
Annotations = Annotated[Path, typer.Argument(help="Annotations in the authors' JSON schema.")]


@instabind.command()
def validate(annotations: Annotations, as_json: Json = False) -> None:
    """Check annotations, and list what makes their questions ambiguous."""
    from dataclasses import asdict

    from bindbench.instabind.annotations import read_annotations
    from bindbench.instabind.audit import audit

    file = read_annotations(annotations)
    found = audit(file)
    images = file.annotations.images
    groups = [group for image in images for group in image.same_class_groups]
    counts = {
        "images": len(images),
        "groups": len(groups),
        "instances": sum(len(group.instances) for group in groups),
    }
    if as_json:
        typer.echo(json.dumps({**counts, "findings": [asdict(one) for one in found]}, indent=2))
        return
    typer.echo(", ".join(f"{count:,} {name}" for name, count in counts.items()))
    for one in found:
        typer.echo(f"line {one.line}, {one.group_id}: {one.kind}: {one.message}")
    typer.echo(f"Findings: {len(found)}" if found else "Nothing to report.")


@instabind.command()
def questions(
    annotations: Annotations,
    out: Annotated[Path, typer.Option(help="File for the questions, one JSON object a line.")],
) -> None:
    """Generate the questions of all levels."""
    from bindbench.instabind.annotations import read_annotations
    from bindbench.instabind.questions import LEVELS, write_questions
    from bindbench.instabind.questions import questions as generate

    rows = list(generate(read_annotations(annotations).annotations))
    write_questions(out, rows)
    levels = [row.level for row in rows]
    counts = ", ".join(f"{level} {levels.count(level):,}" for level in LEVELS)
    typer.echo(f"{len(rows):,} questions ({counts}) in {out}")


@instabind.command()
def answer(
    annotations: Annotated[Path, typer.Option(help="What the questions are made from.")],
    images: Annotated[Path, typer.Option(help="The folder that the annotated images are in.")],
    model: Annotated[str, typer.Option(help="The model, as family:name@revision.")],
    out: Annotated[Path, typer.Option(help="File for the answers; those in it are kept.")],
    setting: Annotated[
        str, typer.Option(help="What is shown and asked; with _choice at its end: a choice.")
    ] = "full_image",
    option: Annotated[
        list[str] | None, typer.Option(help="Option of the model's family, as name=value.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Questions in one call.")] = 16,
) -> None:
    """Ask a model the questions in one setting; run again, it goes on where it was."""
    from bindbench.cli.instabind_answer import run_answers

    run_answers(annotations, images, model, out, setting, option or [], batch_size)


@instabind.command()
def evaluate(
    questions: Questions,
    outputs: Answers,
    full: Annotated[
        Path | None, typer.Option(help="The model's answers on the full image: adds the gaps.")
    ] = None,
    annotations: Annotated[
        Path | None,
        typer.Option(help="What the questions were made from: adds boxes and sources to details."),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Add classes, positions, tests and biases.")
    ] = False,
    compat: Annotated[
        bool, typer.Option("--compat", help="Reproduce the bugs of the authors' evaluation.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Evaluate one model's answers in one setting."""
    from bindbench.instabind.evaluation import evaluate as run

    if details and not as_json:
        raise UserError("--details is for --json: give both, or leave it out.")
    if annotations and not details:
        raise UserError("--annotations is for --details: give both, or leave it out.")
    found, missing = run(questions, outputs, full, annotations, details=details, compat=compat)
    if missing:
        log.warning("Questions without an answer in %s: %d, counted as invalid.", outputs, missing)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        _print(found, Console())


@instabind.command()
def report(
    annotations: Annotated[Path, typer.Option(help="Annotations in the authors' JSON schema.")],
    questions: Questions,
    outputs: Annotated[
        Path, typer.Option(help="Folder of answers, or of one folder of them for each model.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the pages.")],
    images: Annotated[
        Path | None, typer.Option(help="Folder that the annotations' image_path start from.")
    ] = None,
) -> None:
    """Write the report: the paper's tables and figures, and misbindings to look at."""
    from bindbench.instabind.report_files import write_report

    typer.echo(write_report(annotations, questions, outputs, out, images))


@instabind.command("parser-audit")
def parser_audit(
    questions: Annotated[Path | None, typer.Option(help="Questions, to draw a sample.")] = None,
    outputs: Annotated[Path | None, typer.Option(help="Answers, to draw a sample.")] = None,
    out: Annotated[Path | None, typer.Option(help="CSV file for the sample.")] = None,
    size: Annotated[int, typer.Option(min=1, help="Answers in the sample.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 0,
    judged: Annotated[Path | None, typer.Option(help="A sample with its verdicts.")] = None,
    as_json: Json = False,
) -> None:
    """Draw answers for a person to check the parser, or read the verdicts."""
    from dataclasses import asdict

    from bindbench.instabind import parser_audit as audits
    from bindbench.instabind.outputs import read_outputs
    from bindbench.instabind.questions import read_questions

    if judged and not (questions or outputs or out):
        found = audits.read_agreement(judged)
        if as_json:
            typer.echo(json.dumps(asdict(found), indent=2))
        else:
            typer.echo(
                f"{found.agreed} of {found.judged} read as a person reads them "
                f"({found.agreed / found.judged:.1%}, {found.low:.1%} to {found.high:.1%})"
            )
    elif questions and outputs and out and not judged:
        asked = read_questions(questions)
        rows = audits.sample(asked, read_outputs(outputs, asked), size, seed)
        audits.write_sample(out, rows)
        typer.echo(f"{len(rows)} answers in {out}: write yes or no in the column agree.")
    else:
        raise UserError(
            "parser-audit needs --questions, --outputs and --out to draw a sample, or --judged "
            "alone to read its verdicts."
        )


def _print(found: dict[str, Any], console: Console) -> None:
    table = Table(
        title=f"{found['model']}, {found['setting']} (%)",
        box=SIMPLE_HEAD,
        padding=(0, 0, 0, 1),
        show_edge=False,
    )
    with_interval = {"accuracy": "acc.", "mbr": "MBR", "a_mbr": "A-MBR"}
    plain = {
        "a_mbr_null": "null",
        "err_mbr": "Err-MBR",
        "out_of_set_rate": "out",
        "recognition_rate": "rec.",
        "invalid_rate": "inv.",
    }
    table.add_column("", no_wrap=True)
    for name in ("n", *with_interval.values(), *plain.values()):
        table.add_column(name, justify="right", no_wrap=True)
    for name, row in {"all": found["overall"], **found["levels"]}.items():
        cells = [_percent(row[key], row["intervals"].get(key)) for key in with_interval]
        cells += [_percent(row[key]) for key in plain]
        table.add_row(name, f"{row['total']:,}", *cells)
    console.print(table)
    for name, gap in found.get("gaps", {}).items():
        accuracy, reduction = gap["accuracy_gap"], gap["mbr_reduction"]
        console.print(
            f"{name}: accuracy {_points(accuracy)}, MBR reduced by {_points(reduction)}, "
            f"on {gap['total']:,} questions"
        )


def _percent(value: float | None, interval: tuple[float, float] | None = None) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f}" + (
        f"\n{100 * interval[0]:.1f}-{100 * interval[1]:.1f}" if interval else ""
    )


def _points(gap: dict[str, Any]) -> str:
    low, high = gap["interval"]
    return f"{100 * gap['value']:+.2f} points ({100 * low:+.2f} to {100 * high:+.2f})"
