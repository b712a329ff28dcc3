"""What is new on the Hugging Face hub. Only the hub's listing is asked; no weights are fetched."""

from collections.abc import Iterator
from datetime import UTC, datetime, time
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any, NamedTuple

from bindbench.errors import UserError
from bindbench.models.hf_names import first_line, hub_error
from bindbench.releases.models_file import Watch

MOST = 1000  # models that one look at a watch goes through, the newest first


class Found(NamedTuple):
    """A revision of a model of the hub."""

    repository: str
    commit: str
    changed: str  # when, as ISO 8601 in UTC, so that texts sort like times


def commit_of(repository: str, revision: str = "") -> str:
    """Return the commit that a revision stands for at the moment.

    Args:
        repository: such as google/gemma-3-12b-it.
        revision: a branch, tag or commit; empty for main.

    Raises:
        UserError: there is no such model or revision, or the hub can't be reached.
    """
    from huggingface_hub import HfApi

    spelled = f"hf:{repository}" + (f"@{revision}" if revision else "")
    try:
        info = HfApi().model_info(repository, revision=revision or None, timeout=20)
    except Exception as error:  # the hub's client raises errors of many libraries
        raise _explained(spelled, error) from error
    assert info.sha is not None
    return info.sha


def look(watch: Watch, mark: str) -> tuple[list[Found], str]:
    """Return the models of a watch that changed after a mark, the oldest first, and the next mark.

    Args:
        watch: on an organisation, a collection or names.
        mark: of the last look; empty for the first one, which finds what is as new as ``since``
            says, or, of a collection, all of it.

    Raises:
        UserError: there is no such organisation or collection, or the hub can't be reached.
    """
    if not mark and not watch.collection:
        first = watch.since
        start = datetime.combine(first, time(), UTC) if first else datetime.now(UTC)
        mark = _text(start)
    try:
        found = sorted(_changed(watch, mark), key=lambda model: model.changed)
    except Exception as error:
        raise _explained(watch.label, error) from error
    return found, max([mark, *(model.changed for model in found)])


def _changed(watch: Watch, mark: str) -> Iterator[Found]:
    models = _collected(watch) if watch.collection else _listed(watch, mark)
    for model in models:
        found = Found(model.id, model.sha, _text(model.last_modified))
        if found.changed > mark and fnmatchcase(found.repository, watch.names):
            yield found


def _listed(watch: Watch, mark: str) -> Iterator[Any]:
    """Yield the models of an organisation or of a search that may be newer than the mark."""
    from huggingface_hub import HfApi

    for task in watch.tasks:
        models = HfApi().list_models(
            author=watch.organisation or None,
            search=watch.search or None,
            pipeline_tag=task,
            filter="transformers",
            sort="last_modified",
            limit=MOST,
            expand=["sha", "lastModified"],
        )
        yield from takewhile(lambda model: _text(model.last_modified) > mark, models)


def _collected(watch: Watch) -> Iterator[Any]:
    """Yield the models of a collection."""
    from huggingface_hub import HfApi

    api = HfApi()
    for item in api.get_collection(watch.collection).items:
        if item.item_type == "model":
            yield api.model_info(item.item_id, timeout=20)


def _text(when: datetime | None) -> str:
    assert when is not None, "the hub tells no time of a change"
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _explained(spelled: str, error: Exception) -> UserError:
    reason = hub_error(spelled, error)
    return reason or UserError(f"{spelled}: the hub gave no answer ({first_line(error)}).")
