"""Brings the record of releases up to date with the models file and the hub."""

from collections.abc import Collection
from dataclasses import dataclass

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.family import ModelName
from bindbench.releases import hub
from bindbench.releases.models_file import Entry, Watch, read_models_file
from bindbench.releases.record import Record, Release
from bindbench.releases.revisions import is_missing, moves, on_hub, pinned
from bindbench.suite import Suite

Releases = dict[str, Release]  # by model


@dataclass(frozen=True)
class Refreshed:
    """A new record, and what stood in the way of some models: one sentence each."""

    record: Record
    problems: tuple[str, ...] = ()


def refresh(suite: Suite, old: Record, look: bool) -> Refreshed:
    """Return the record as the models file and the hub want it now.

    A new revision of a model retires those before it. A model that has a problem does not stop the
    others, and what is known of it stays.

    Args:
        suite: without the models of the record; names the models file.
        old: the record so far.
        look: whether to ask the hub for new commits, and for what the watches find. A model that
            has no commit yet is asked for anyway.

    Raises:
        UserError: the models file can't be read.
    """
    file = read_models_file(suite.models)
    names = [ModelName.parse(entry.model) for entry in file.models]
    own = {ModelName.parse(settings.model).slug for settings in suite.profile.scorers}
    releases = {
        release.model: release
        for release in old.releases  # a watch that ended keeps what it found
        if release.found or any(_covers(name, release) for name in names)
    }
    marks, problems = dict(old.marks), []
    for watch in file.watches if look else ():
        try:
            found, mark = hub.look(watch, marks.get(watch.label, ""))
            marks[watch.label] = mark
            _add(releases, watch, found)
        except UserError as error:
            problems.append(str(error))
    for entry in file.models:
        try:
            _enter(releases, entry, own, look)
        except UserError as error:
            problems.append(f"{suite.models}: {error}")
    return Refreshed(Record(releases=tuple(releases.values()), marks=marks), tuple(problems))


def _covers(name: ModelName, release: Release) -> bool:
    """Whether an entry of this name speaks of a release."""
    its = ModelName.parse(release.model)
    whole = not name.revision and (its.family, its.name) == (name.family, name.name)
    return whole or str(name) in (release.model, release.origin)


def _add(releases: Releases, watch: Watch, found: Collection[hub.Found]) -> None:
    """Add what a watch found."""
    for model in found:
        name = ModelName("hf", model.repository)
        _retire(releases, [r for r in releases.values() if _covers(name, r)])
        release = Release(
            model=f"{name}@{model.commit}",
            options=watch.options,
            batch_size=watch.batch_size,
            origin=watch.label,
            found=True,
        )
        releases[release.model] = release


def _enter(releases: Releases, entry: Entry, own: Collection[str], look: bool) -> None:
    """Bring the releases up to date with an entry of the models file."""
    registry.named("scorer", entry.settings)
    name = ModelName.parse(entry.model)
    known = [release for release in releases.values() if _covers(name, release)]
    if entry.status == "retired":
        _retire(releases, known or [Release(**entry.fields, origin=entry.model)])
        return
    if name.slug in own:
        raise UserError(f"{name} is a scorer of the suite already: leave it out of models.")
    if is_missing(name):
        _retire(releases, known)
        raise UserError(f"{name}: there is no such file or folder: give one, or retire the model.")
    current = _revision(name, known, look)
    _retire(releases, known)
    release = Release(**entry.fields, origin=entry.model, found=any(r.found for r in known))
    releases[str(current)] = release.model_copy(update={"model": str(current)})


def _revision(name: ModelName, known: Collection[Release], look: bool) -> ModelName:
    """Return a model's name with the revision that is to be evaluated."""
    active = [ModelName.parse(release.model) for release in known if not release.retired]
    if on_hub(name) and active and not look:
        return active[-1]
    return pinned(name) if moves(name) else name


def _retire(releases: Releases, which: Collection[Release]) -> None:
    for release in which:
        releases[release.model] = release.model_copy(update={"retired": True})
