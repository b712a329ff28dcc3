"""All tables of a suite, as its report shows them."""

from collections.abc import Mapping

from bindbench.pipeline import tables
from bindbench.reporting.data import Row, Table
from bindbench.storage.store import Artifact
from bindbench.tables.catalogue import TABLES


def stored_tables(artifacts: Mapping[str, Artifact]) -> list[Table]:
    """Return the tables of the catalogue that were computed, with their numbers."""
    if tables.NAME not in artifacts:
        return []
    found: dict[str, list[Row]] = {}
    for row in artifacts[tables.NAME].read().to_pylist():
        found.setdefault(row["table"], []).append(row)
    return [
        Table(one.number, one.title, one.about, found[one.number])
        for one in TABLES
        if one.number in found
    ]
