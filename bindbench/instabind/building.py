"""Annotations made from boxes and values, in the authors' schema."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bindbench.instabind.annotations import Annotations, Group, Picture
from bindbench.instabind.audit import order_labels
from bindbench.instabind.limits import left_to_right
from bindbench.models.base import Box
from bindbench.text_files import write_text

VERSION = "1"


def build_group(
    group_id: str,
    class_name: str,
    attribute: str,
    boxes: Sequence[Box],
    values: Sequence[str],
    facts: Sequence[Mapping[str, Any]] = (),
) -> Group:
    """Return a group, its instances in their order from left to right.

    Args:
        group_id: of the group.
        class_name: of all its instances.
        attribute: what is asked about.
        boxes: of 3 to 6 instances, in pixels, in any order.
        values: of the attribute, in the order of the boxes.
        facts: more fields of each instance, in the order of the boxes.
    """
    order, stem = left_to_right(boxes), class_name.replace(" ", "_")
    ids = [f"{stem}_{place}" for place in range(1, len(order) + 1)]
    instances = []
    for place, (k, label) in enumerate(zip(order, order_labels(len(order)), strict=True)):
        left, top, right, bottom = (round(float(v), 2) for v in boxes[k])
        size = [round(right - left, 2), round(bottom - top, 2)]
        instances.append(
            {
                "instance_id": ids[place],
                "order_index": place + 1,
                "order_label": label,
                "bbox_xywh": [left, top, *size],
                "center_xy": [round(left + size[0] / 2, 3), round(top + size[1] / 2, 3)],
                "attributes": {attribute: values[k]},
                "neighbors": {
                    "left": ids[place - 1] if place else None,
                    "right": ids[place + 1] if place + 1 < len(order) else None,
                },
                "ambiguity_flag": False,
                **(facts[k] if facts else {}),
            }
        )
    return Group.model_validate(
        {
            "group_id": group_id,
            "class_name": class_name,
            "attribute_focus": attribute,
            "spatial_axis": "left_to_right",
            "instances": instances,
        }
    )


def build_picture(
    image_id: str,
    path: str,
    size: tuple[int, int],
    source: Mapping[str, str],
    groups: Sequence[Group],
) -> Picture:
    """Return an image with its groups.

    Args:
        image_id: of the image.
        path: of its file.
        size: width and height, in pixels.
        source: dataset, source_image_id, license and url.
        groups: at least one.
    """
    return Picture.model_validate(
        {
            "image_id": image_id,
            "source": dict(source),
            "image_path": path,
            "width": size[0],
            "height": size[1],
            "same_class_groups": groups,
        }
    )


def build_annotations(name: str, pictures: Sequence[Picture]) -> Annotations:
    """Return the annotations of a data set called ``name``."""
    return Annotations(dataset_name=name, dataset_version=VERSION, images=list(pictures))


def write_annotations(path: Path, annotations: Annotations) -> None:
    """Write annotations.

    Raises:
        UserError: the file cannot be written.
    """
    text = json.dumps(annotations.model_dump(mode="json"), indent=1, ensure_ascii=False)
    write_text(path, text + "\n")
