"""The asset ``instabind_annotations`` of a set that is the authors' file and a folder of images."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from PIL import Image as PILImage

from bindbench.concepts import content_id
from bindbench.errors import UserError
from bindbench.instabind.annotations import AnnotationFile, Picture, read_annotations
from bindbench.instabind.asking import check_images, image_file, pixels_of
from bindbench.instabind.audit import audit
from bindbench.pipeline.base import Context, batches, table
from bindbench.pipeline.instabind_annotations import NAME, SCHEMA
from bindbench.pipeline.instabind_groups import settings_of
from bindbench.storage.datasets import Shard
from bindbench.storage.store import Artifact

CODE_VERSION = "1"


@dataclass(frozen=True)
class FileTask:
    """Some images of a file."""

    folder: str
    pictures: tuple[str, ...]  # JSON


def read_images(task: FileTask) -> pa.Table:
    """Return one row for each image, its file as it is."""
    return table([_row(Path(task.folder), text) for text in task.pictures], SCHEMA)


def _row(folder: Path, text: str) -> dict[str, Any]:
    picture = Picture.model_validate_json(text)
    path = image_file(folder, picture)
    try:
        with PILImage.open(path) as image:
            pixels_of(image, picture, str(path))  # so that what can't be shown is found here
    except (OSError, SyntaxError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(f"{path} can't be read as an image ({reason}).") from None
    image = {"bytes": path.read_bytes(), "path": path.name}
    return {"image_id": picture.image_id, "picture": text, "image": image}


def build(context: Context, name: str) -> Artifact:
    """Bring a set of the suite into the store.

    Raises:
        UserError: the annotations are unusable, or images are missing.
    """
    section = settings_of(context.suite)
    source = section.sets[name]
    if not source.annotations or not source.images:
        raise UserError(
            f"Suite {context.suite.name}: instabind.sets.{name} is of source file and needs both "
            "annotations (a file) and images (a folder)."
        )
    file, folder = read_annotations(Path(source.annotations)), Path(source.images)
    pictures = file.annotations.images
    check_images(folder, pictures)
    settings = {"code": CODE_VERSION, "annotations": _digest(Path(source.annotations))}
    shards = [_shard(settings, folder, part) for part in batches(pictures, section.shard_size)]
    return context.build(
        NAME, name, SCHEMA, settings, shards, read_images, lambda artifact: _summary(file, artifact)
    )


def _shard(settings: dict[str, Any], folder: Path, pictures: Any) -> Shard:
    texts = tuple(picture.model_dump_json(exclude_unset=True) for picture in pictures)
    digests = [_digest(image_file(folder, picture)) for picture in pictures]
    return Shard(content_id([settings["code"], texts, digests]), FileTask(str(folder), texts))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _summary(file: AnnotationFile, artifact: Artifact) -> dict[str, Any]:
    """Count what the validity audit finds: nothing is dropped."""
    return {"images": artifact.rows, "findings": Counter(one.kind for one in audit(file))}
