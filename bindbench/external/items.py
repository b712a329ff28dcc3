"""What every published set is read as: a picture, captions, and which of them is right."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bindbench.models.base import Box


@dataclass(frozen=True)
class ExternalItem:
    """A picture and the captions to choose from.

    ``where`` says for messages which file and line the item is from.
    """

    id: str
    image: str  # path in the folder of pictures
    captions: tuple[str, ...]  # as published, in the order of the file
    right: int  # which of them is true of the picture
    subset: str = ""  # a part that is reported apart; "": none
    group: str = ""  # items that count only together; "": none
    crop: Box | None = None  # the part of the picture that is shown, in pixels
    where: str = field(default="", compare=False)

    @property
    def right_first(self) -> tuple[str, ...]:
        """The captions, the right one before the others."""
        others = (text for i, text in enumerate(self.captions) if i != self.right)
        return self.captions[self.right], *others

    @property
    def cluster(self) -> str:
        """What items share whose outcomes depend on each other."""
        return self.group or self.image


def subsets_of(items: Sequence[ExternalItem]) -> list[str]:
    """Return the names of the subsets, in the order of the file."""
    return [name for name in dict.fromkeys(item.subset for item in items) if name]
