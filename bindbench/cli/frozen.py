"""What commands that read a store work on: a release's folder, or a suite and a store."""

from pathlib import Path

from bindbench.cli.places import store_of, suite_of
from bindbench.engine.local import LocalEngine
from bindbench.frozen.release import FILE, Release
from bindbench.pipeline.base import Context
from bindbench.releases.record import joined, read_record
from bindbench.storage.store import Store


def context_of(source: str, store: str | None) -> Context:
    """Return the context of a release's folder, or of a suite's name or file.

    The models of a suite are those of its profile and those of its record.
    """
    if (Path(source) / FILE).is_file():
        return Release.open(Path(source)).context
    suite = suite_of(source)
    place = Store(store_of(store), suite.name)
    return Context(joined(suite, read_record(place)), place, LocalEngine(1))
