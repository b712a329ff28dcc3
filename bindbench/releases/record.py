"""The record of releases: which revisions of which models are evaluated, kept in the store.

The sensor writes it; whoever evaluates or shows models reads it when it does so. Thus a model that
is added to the models file needs no restart, and machines that share the store agree.
"""

from typing import Annotated

from pydantic import Field

from bindbench.errors import UserError
from bindbench.models.family import ModelName
from bindbench.storage.files import read_bytes, write_atomically
from bindbench.storage.paths import SCRATCH
from bindbench.storage.store import Store
from bindbench.suite import RoleSettings, Strict, Suite

FILE = "releases.json"


class Release(RoleSettings):
    """One revision of a model."""

    origin: Annotated[str, Field(description="the entry or the watch that it comes from")]
    found: Annotated[bool, Field(description="by a watch: it stays without an entry")] = False
    retired: bool = False

    @property
    def settings(self) -> RoleSettings:
        """How it is evaluated."""
        return RoleSettings(model=self.model, options=self.options, batch_size=self.batch_size)

    @property
    def slug(self) -> str:
        """The key of its partitions."""
        return ModelName.parse(self.model).slug


class Record(Strict):
    """All releases of a suite, and where the watches stand."""

    releases: tuple[Release, ...] = ()
    marks: Annotated[
        dict[str, str],
        Field(description="by watch: what it has seen of the hub, see bindbench.releases.hub.look"),
    ] = Field(default_factory=dict)

    def text(self) -> str:
        """Return the record as it is written."""
        return self.model_dump_json(indent=1) + "\n"


def read_record(store: Store) -> Record:
    """Return the record of a store; an empty one if it has none.

    Raises:
        UserError: it was altered and can't be read.
    """
    path = store.path / FILE
    try:
        data = read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return Record()
    try:
        return Record.model_validate_json(data)
    except ValueError as error:
        raise UserError(
            f"{path} is not as it was written: remove it, and the next look makes it again."
        ) from error


def write_record(store: Store, record: Record) -> None:
    """Replace the record, unless it says the same."""
    if record != read_record(store):
        write_atomically(store.path / FILE, record.text().encode(), store.path / SCRATCH)


def joined(suite: Suite, record: Record) -> Suite:
    """Return the suite with the models of its profile and those of the record.

    A model of both has the profile's settings, and the record may retire it.
    """
    own = {ModelName.parse(settings.model).slug: settings for settings in suite.profile.scorers}
    gone = {release.slug for release in record.releases if release.retired}
    added = [r for r in record.releases if r.slug not in own]
    scorers = [
        *(settings for slug, settings in own.items() if slug not in gone),
        *(release.settings for release in added if not release.retired),
    ]
    retired = [
        *suite.profile.retired,
        *(settings for slug, settings in own.items() if slug in gone),
        *(release.settings for release in added if release.retired),
    ]
    changes = {"scorers": tuple(scorers), "retired": tuple(retired)}
    return suite.model_copy(update={"profile": suite.profile.model_copy(update=changes)})
