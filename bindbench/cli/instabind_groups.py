"""``bindbench instabind mine`` and ``review``: groups in photographs, and people who confirm."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bindbench.errors import UserError

if TYPE_CHECKING:
    from bindbench.instabind.annotations import Annotations
    from bindbench.people.tasks import Form, Judgement, Task

review = typer.Typer(no_args_is_help=True, help="Review tasks for people, in Label Studio's JSON.")
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Groups = Annotated[Path | None, typer.Option(help="Annotations whose groups are reviewed.")]
Sample = Annotated[Path | None, typer.Option(help="Sample of parser-audit (CSV) to review.")]


def mine(
    out: Annotated[Path, typer.Option(help="File for the annotations.")],
    instances: Annotated[
        Path | None, typer.Option(help="Instances in COCO's format; none: the attributes' boxes.")
    ] = None,
    attributes: Annotated[
        list[Path] | None,
        typer.Option(help="Visual Genome's attributes, GQA's scene graphs or a split of VAW."),
    ] = None,
    image_data: Annotated[
        Path | None, typer.Option(help="Visual Genome's image_data.json: sizes and ids in COCO.")
    ] = None,
    review_file: Annotated[
        Path | None,
        typer.Option("--review", help="For people to confirm: .csv, or .json for Label Studio."),
    ] = None,
    images: Annotated[
        Path | None, typer.Option(help="Folder of the images, to draw boxes into review tasks.")
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(help="YAML file of thresholds; see docs/instabind.md.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find candidate groups among photographs with boxes and attributes."""
    from bindbench.instabind.annotations import read_annotations
    from bindbench.instabind.audit import audit
    from bindbench.instabind.building import write_annotations
    from bindbench.instabind.mining import MiningSettings
    from bindbench.instabind.mining import mine as find
    from bindbench.instabind.photos import read_attributes, read_coco, read_genome_images
    from bindbench.pipeline.progress import log_progress
    from bindbench.suite import parse, read_yaml

    if not attributes:
        raise UserError("mine needs --attributes: a file that says what has which color.")
    where = str(settings or "settings")
    chosen = parse(MiningSettings, read_yaml(settings) if settings else {}, where)
    known = read_genome_images(image_data) if image_data else {}
    sources = [read_attributes(path, known) for path in attributes]
    progress = log_progress("mining", out.name, "images")
    if instances:
        found = find(read_coco(instances), sources, chosen, progress)
    elif len(sources) == 1:
        found = find(sources[0], [], chosen, progress)
    else:
        raise UserError("Several --attributes need --instances, whose boxes they describe.")
    write_annotations(out, found.annotations)
    if review_file:
        _write_review(review_file, found.annotations, images)
    pictures = found.annotations.images
    counts = {
        "images": len(pictures),
        "groups": sum(len(picture.same_class_groups) for picture in pictures),
        "refused": found.refused,
        "findings": len(audit(read_annotations(out))),
    }
    if as_json:
        typer.echo(json.dumps(counts, indent=2))
        return
    told = ", ".join(f"{reason} {count:,}" for reason, count in found.refused.items()) or "none"
    typer.echo(f"{counts['groups']:,} groups in {counts['images']:,} images: {out}")
    typer.echo(f"Refused: {told}. Findings of the validity audit: {counts['findings']}.")
    if review_file:
        typer.echo(f"To be confirmed: {review_file}")


def _write_review(path: Path, annotations: "Annotations", images: Path | None) -> None:
    from bindbench.instabind.review import FORM, group_tasks, review_list
    from bindbench.people.label_studio import config, export_tasks
    from bindbench.text_files import write_text

    if path.suffix == ".csv":
        write_text(path, review_list(annotations))
    elif path.suffix == ".json":
        export_tasks(path, group_tasks(annotations, images), FORM)
        write_text(path.with_suffix(".xml"), config(FORM))
    else:
        raise UserError(f"The review list {path} must end on .csv, or .json for Label Studio.")


@review.command("export")
def export(
    out: Annotated[Path, typer.Option(help="Tasks to import into Label Studio (.json).")],
    annotations: Groups = None,
    images: Annotated[
        Path | None, typer.Option(help="Folder of the images; none: their addresses are shown.")
    ] = None,
    sample: Sample = None,
) -> None:
    """Write review tasks and, beside them, the labeling config (.xml)."""
    from bindbench.people.label_studio import config, export_tasks
    from bindbench.text_files import write_text

    tasks, form = _tasks(annotations, images, sample)
    export_tasks(out, tasks, form)
    write_text(out.with_suffix(".xml"), config(form))
    typer.echo(f"{len(tasks)} tasks: {out}; labeling config: {out.with_suffix('.xml')}")


@review.command("import")
def import_(
    labels: Annotated[
        Path, typer.Option(help="Label Studio's export (JSON), or a filled-in review list (.csv).")
    ],
    out: Annotated[Path, typer.Option(help="Confirmed annotations, or the judged sample.")],
    annotations: Groups = None,
    sample: Sample = None,
    judgements: Annotated[
        Path | None, typer.Option(help="Every annotator's answers, one JSON object a line.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Read what people said: keep the groups that they confirmed, or fill in the sample."""
    from dataclasses import asdict

    from bindbench.people.agreement import pair_agreement
    from bindbench.text_files import write_text

    said, counts = _confirmed(labels, out, annotations, sample)
    if judgements:
        write_text(judgements, "".join(json.dumps(asdict(one)) + "\n" for one in said))
    choices = list(said[0].answers)
    pairs = {choice: asdict(pair_agreement(said, choice)) for choice in choices}
    found = {"judgements": len(said), **counts, "pairs": pairs}
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo(", ".join(f"{name} {value}" for name, value in found.items() if name != "pairs"))
    for choice, pair in pairs.items():
        if pair["pairs"]:
            typer.echo(f"{choice}: {pair['agreed']} of {pair['pairs']} pairs of annotators agree")


def _either(annotations: Path | None, sample: Path | None) -> None:
    if (annotations is None) == (sample is None):
        raise UserError("review needs --annotations (groups) or --sample (parser-audit), not both.")


def _tasks(
    annotations: Path | None, images: Path | None, sample: Path | None
) -> "tuple[list[Task], Form]":
    from bindbench.instabind import parser_review
    from bindbench.instabind import review as group_review
    from bindbench.instabind.annotations import read_annotations
    from bindbench.instabind.parser_audit import read_sample

    _either(annotations, sample)
    if annotations:
        file = read_annotations(annotations)
        return group_review.group_tasks(file.annotations, images), group_review.FORM
    assert sample
    return parser_review.parser_tasks(read_sample(sample)), parser_review.FORM


def _confirmed(
    labels: Path, out: Path, annotations: Path | None, sample: Path | None
) -> "tuple[list[Judgement], dict[str, Any]]":
    """Write the result; return what was said, with counts."""
    from bindbench.instabind import parser_review
    from bindbench.instabind import review as group_review
    from bindbench.instabind.annotations import read_annotations
    from bindbench.instabind.building import write_annotations
    from bindbench.instabind.located_json import read_text
    from bindbench.instabind.parser_audit import read_sample, write_sample
    from bindbench.people.label_studio import read_judgements

    _either(annotations, sample)
    if annotations:
        groups = read_annotations(annotations).annotations
        if labels.suffix == ".csv":
            said = group_review.read_review_list(labels, read_text(labels), groups)
        else:
            said = read_judgements(labels, group_review.group_ids(groups), group_review.FORM)
        found = group_review.confirm(groups, said)
        write_annotations(out, found.annotations)
        counts = {"confirmed": found.confirmed, "refused": found.refused, "open": found.open}
        return said, counts
    assert sample
    rows = read_sample(sample)
    said = read_judgements(labels, [row["question_id"] for row in rows], parser_review.FORM)
    if not said:
        raise UserError(f"{labels} holds no judgements.")
    filled = parser_review.judged(rows, said)
    write_sample(out, filled)
    return said, {"judged": sum(bool(row["agree"]) for row in filled)}
