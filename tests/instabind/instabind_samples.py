"""Tiny annotations, and answers to their questions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bindbench.instabind.annotations import Annotations
from bindbench.instabind.audit import order_labels
from bindbench.instabind.questions import Question, questions


def group(
    name: str, values: list[str], class_name: str = "car", focus: str = "color"
) -> dict[str, Any]:
    """A group whose boxes stand 100 pixels apart."""
    ids = [f"{class_name}_{i + 1}" for i in range(len(values))]
    ends = [None, *ids, None]
    return {
        "group_id": name,
        "class_name": class_name,
        "attribute_focus": focus,
        "spatial_axis": "left_to_right",
        "instances": [
            {
                "instance_id": ids[i],
                "order_index": i + 1,
                "order_label": order_labels(len(values))[i],
                "bbox_xywh": [100.0 * i + 10, 20.0, 80.0, 60.0],
                "center_xy": [100.0 * i + 50, 50.0],
                "attributes": {focus: value},
                "neighbors": {"left": ends[i], "right": ends[i + 2]},
                "ambiguity_flag": False,
            }
            for i, value in enumerate(values)
        ],
    }


def image(name: str, *groups: dict[str, Any]) -> dict[str, Any]:
    return {
        "image_id": name,
        "image_path": f"images/{name}.jpg",
        "width": 640,
        "height": 480,
        "same_class_groups": list(groups),
    }


def dataset(*images: dict[str, Any]) -> dict[str, Any]:
    return {"dataset_name": "tiny", "dataset_version": "1", "images": list(images)}


def cars(*values: str) -> dict[str, Any]:
    """One image with one group of cars."""
    return dataset(image("im", group("g", list(values))))


def asked(raw: dict[str, Any]) -> dict[str, Question]:
    """The questions on annotations, by id."""
    found = questions(Annotations.model_validate(raw))
    return {question.question_id: question for question in found}


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_asked(path: Path, found: dict[str, Question]) -> Path:
    return write_lines(path, [question.record() for question in found.values()])


def write_answers(
    path: Path,
    found: dict[str, Question],
    answer: Callable[[Question], str],
    setting: str = "full_image",
) -> Path:
    rows = [
        {"question_id": key, "prediction": answer(question), "model": "m", "setting": setting}
        for key, question in found.items()
    ]
    return write_lines(path, rows)
