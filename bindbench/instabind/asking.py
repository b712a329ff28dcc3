"""From questions and images to what a model is asked in a setting, and to its answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image as PILImage
from PIL import ImageOps

from bindbench.errors import UserError
from bindbench.instabind.annotations import Annotations, Instance, Picture
from bindbench.instabind.conditions import INSTANCE_FIRST, Condition
from bindbench.instabind.outputs import levels_of
from bindbench.instabind.prompts import Prompt, prompt
from bindbench.instabind.questions import Question
from bindbench.instabind.views import view
from bindbench.models.answer_options import AnsweringOptions
from bindbench.models.base import AskedGroup, Box, Image, ReplyRequest

# Returns the pixels of an image.
Read = Callable[[Picture], Image]


@dataclass
class Desk:
    """Makes the requests of questions about some images, in one setting.

    Args:
        pictures: the annotated images.
        read: reads one; the last one is kept, as questions come image by image.
        where: the setting.
        options: of the model.
    """

    pictures: Mapping[str, Picture]  # by image_id
    read: Read
    where: Condition
    options: AnsweringOptions
    _last: tuple[str, Image] | None = field(default=None, init=False)

    def prompt(self, question: Question) -> Prompt:
        """Return what is asked."""
        return prompt(question, self.where, self.options.wording)

    def request(self, question: Question) -> ReplyRequest:
        """Return the request of a question.

        Raises:
            UserError: its image or target is not there or can't be shown.
        """
        picture = self.pictures.get(question.image_id)
        if picture is None:
            raise UserError(
                f"{question.question_id}: the annotations have no image {question.image_id!r}: "
                "give those that the questions were made from."
            )
        asked, listing = self.prompt(question), self.where.base == INSTANCE_FIRST
        try:
            box = box_of(target_of(picture, question))
            shown = view(self._pixels(picture), box, self.where.base)
        except UserError as error:
            raise UserError(f"{question.question_id}: {error}") from None
        return ReplyRequest(
            shown,
            asked.text,
            asked.options,
            self.options.list_tokens if listing else self.options.max_tokens,
            question.question_id,
            truth_of(question),
        )

    def _pixels(self, picture: Picture) -> Image:
        if self._last is None or self._last[0] != picture.image_id:
            self._last = picture.image_id, self.read(picture)
        return self._last[1]


def asked_in(questions: Iterable[Question], setting: str) -> list[Question]:
    """Return the questions that are asked in a setting."""
    levels = levels_of(setting)
    return [question for question in questions if question.level in levels]


def pictures_of(annotations: Annotations) -> dict[str, Picture]:
    """Return the annotated images by id."""
    return {picture.image_id: picture for picture in annotations.images}


def target_of(picture: Picture, question: Question) -> Instance:
    """Return the instance that is asked about.

    Raises:
        UserError: the image has no such group or instance.
    """
    for group in picture.same_class_groups:
        if group.group_id == question.group_id:
            for one in group.instances:
                if one.instance_id == question.target_instance_id:
                    return one
    raise UserError(
        f"the image {picture.image_id} has no instance {question.target_instance_id!r} in a group "
        f"{question.group_id!r}: give the annotations that the questions were made from."
    )


def box_of(one: Instance) -> Box:
    """Return an instance's box: left, top, right, bottom in pixels."""
    x, y, width, height = one.bbox_xywh
    return x, y, x + width, y + height


def truth_of(question: Question) -> AskedGroup:
    """Return what ``check:`` models are told."""
    members = sorted(question.binding_context.instances, key=lambda one: one.order_index)
    return AskedGroup(
        question.level,
        tuple(one.attribute_value for one in members),
        tuple(one.order_label for one in members),
        [one.instance_id for one in members].index(question.target_instance_id),
        question.proposed_attribute_value,
    )


def pixels_of(image: PILImage.Image, picture: Picture, where: str) -> Image:
    """Return an image's pixels, RGB, of the size that its boxes are given in.

    An image that a camera marked as turned is turned if only then it has that size.

    Raises:
        UserError: it has another size.
    """
    wanted = picture.width, picture.height
    if image.size != wanted:
        image = ImageOps.exif_transpose(image)
    if image.size != wanted:
        raise UserError(
            f"{where} has {image.size[0]} x {image.size[1]} pixels, but {picture.image_id} is "
            f"annotated as {wanted[0]} x {wanted[1]}: give the image that was annotated."
        )
    return np.asarray(image.convert("RGB"))


def folder_reader(folder: Path) -> Read:
    """Return what reads images from a folder: by their path in it, or by their name alone."""

    def read(picture: Picture) -> Image:
        path = image_file(folder, picture)
        try:
            with PILImage.open(path) as image:
                return pixels_of(image, picture, str(path))
        except (OSError, SyntaxError, ValueError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise UserError(f"{path} can't be read as an image ({reason}).") from None

    return read


def image_file(folder: Path, picture: Picture) -> Path:
    """Return an image's file in a folder.

    Raises:
        UserError: it is not there.
    """
    whole = Path(picture.image_path)
    for path in (folder / whole, folder / whole.name):
        if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            return path
    names = dict.fromkeys((str(whole), whole.name))
    raise UserError(
        f"{folder} has no {' and no '.join(names)}, the image {picture.image_id}: put it there, or "
        "name the folder that holds the images."
    )


def check_images(folder: Path, pictures: Sequence[Picture]) -> None:
    """Raise a UserError if images are missing, before any question is asked."""
    missing = []
    for picture in pictures:
        try:
            image_file(folder, picture)
        except UserError as error:
            missing.append(str(error))
    if len(missing) > 1:
        raise UserError(
            f"{len(missing)} of {len(pictures)} images are missing; first: {missing[0]}"
        )
    if missing:
        raise UserError(missing[0])
