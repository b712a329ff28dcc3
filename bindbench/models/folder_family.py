"""The family ``folder``: a folder of pictures as a generator."""

from typing import Annotated, Any

from pydantic import Field

from bindbench.models.family import Family, ModelName
from bindbench.suite import Strict
from bindbench.vocabulary import Lexicon


class FolderOptions(Strict):
    """Options of a folder of pictures."""

    longest_side: Annotated[
        int, Field(ge=64, description="larger pictures are reduced to it, in pixels")
    ] = 1024


def _folder(name: ModelName, options: FolderOptions, lexicon: Lexicon) -> Any:
    from bindbench.models.folder_generator import FolderGenerator

    return FolderGenerator(_open_folder(name, options), options.longest_side)


def _open_folder(name: ModelName, options: FolderOptions) -> Any:
    from bindbench.models.folder_generator import open_folder

    return open_folder(name.name)


def _folder_identity(name: ModelName, options: FolderOptions) -> dict[str, str]:
    from bindbench.models.folder_generator import identity_of

    return identity_of(_open_folder(name, options))


FOLDER = Family(
    "generator",
    "folder",
    (),
    FolderOptions,
    _folder,
    _folder_identity,
    _open_folder,
    summary="your own pictures, with a table that says what each shows",
    needs="a picture for each caption",
    named="a folder with metadata.jsonl or metadata.csv",
)
