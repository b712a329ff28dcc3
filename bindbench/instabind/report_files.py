"""InstaBind's report from files: what ``bindbench instabind report`` reads and writes."""

from collections.abc import Mapping
from pathlib import Path

from bindbench.errors import UserError
from bindbench.instabind.annotations import Annotations, read_annotations
from bindbench.instabind.evaluation import check_same
from bindbench.instabind.outputs import Outputs, read_outputs
from bindbench.instabind.questions import Question, read_questions
from bindbench.instabind.report import render_report
from bindbench.instabind.report_gallery import PictureOf
from bindbench.text_files import write_text


def write_report(
    annotations_path: Path,
    questions_path: Path,
    outputs_folder: Path,
    out: Path,
    images: Path | None = None,
) -> Path:
    """Write the pages of a report into a folder, and return the first one.

    Args:
        annotations_path: in the authors' schema.
        questions_path: one JSON object a line.
        outputs_folder: holds ``*.jsonl``, each the answers of one model in one setting. The files
            of a subfolder are of one model, which is called as the subfolder is.
        out: the folder; it is made if it isn't there.
        images: folder that the annotations' ``image_path`` start from; None: no pictures.

    Raises:
        UserError: a file cannot be read, or what it says is wrong; there are no answers, or two
            files of one model and setting; a question's group is not in the annotations.
    """
    annotations = read_annotations(annotations_path).annotations
    questions = read_questions(questions_path)
    check_same(annotations, questions, annotations_path)
    outputs = read_folder(outputs_folder, questions)
    pages = render_report(
        annotations.dataset_name, annotations, questions, outputs, _pictures(annotations, images)
    )
    out.mkdir(parents=True, exist_ok=True)
    for name, html in pages.items():
        write_text(out / name, html)
    return out / next(iter(pages))


def read_folder(folder: Path, questions: Mapping[str, Question]) -> dict[tuple[str, str], Outputs]:
    """Return the answers below a folder, by model and setting."""
    paths = sorted(folder.glob("*.jsonl")) + sorted(folder.glob("*/*.jsonl"))
    if not paths:
        raise UserError(
            f"{folder} holds no answers: give a folder of .jsonl files, or of one folder of them "
            "for each model."
        )
    found: dict[tuple[str, str], Outputs] = {}
    for path in paths:
        answers = read_outputs(path, questions)
        model = answers.model if path.parent == folder else path.parent.name
        key = model, answers.setting
        if key in found:
            raise UserError(
                f"{path} holds answers of {model} in the setting {answers.setting}, as does "
                f"{found[key].path}: keep one of them."
            )
        found[key] = answers
    return found


def _pictures(annotations: Annotations, folder: Path | None) -> PictureOf | None:
    if folder is None:
        return None
    paths = {picture.image_id: folder / picture.image_path for picture in annotations.images}

    def read(image_id: str) -> bytes | None:
        path = paths[image_id]
        return path.read_bytes() if path.is_file() else None

    return read
