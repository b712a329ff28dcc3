"""What is known of a data file that was written."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DataFile:
    """A written Parquet file."""

    benchmark: str
    split: str
    path: str  # in the folder
    rows: int
    bytes: int
    sha256: str
    families: tuple[str, ...]  # those that an item has a false caption of
