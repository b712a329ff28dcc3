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
    """Return the models of a watch that are new or changed, the oldest change first.

    Args:
        watch: on an organisation, a collection or names.
        mark: that the last look returned; empty for the first one, which finds what is as new as
            ``since`` says, or all of a collection.

    Returns:
        the models, and the mark for the next look.

    Raises:
        UserError: there is no such organisation or collection, or the hub can't be reached.
    """
    try:
        found, mark = _in_collection(watch, mark) if watch.collection else _since(watch, mark)
    except Exception as error:  # the hub's client raises errors of many libraries
        raise _explained(watch.label, error) from error
    return sorted(found, key=lambda model: (model.changed, model.repository)), mark


def _since(watch: Watch, mark: str) -> tuple[list[Found], str]:
    """Look at an organisation or a search; the mark is the time of the last change seen."""
    if not mark:
        first = watch.since
        mark = _text(datetime.combine(first, time(), UTC) if first else datetime.now(UTC))
    found = [model for model in _listed(watch, mark) if fnmatchcase(model.repository, watch.names)]
    return found, max([mark, *(model.changed for model in found)])


def _listed(watch: Watch, mark: str) -> Iterator[Found]:
    from huggingface_hub import HfApi

    for task in watch.tasks:
        models = HfApi().list_models(
            author=watch.organisation or None,
            search=watch.search or None,
            pipeline_tag=task,
            filter="transformers",
            sort="last_modified",  # the newest first
            limit=MOST,
            expand=["sha", "lastModified"],
        )
        yield from takewhile(lambda model: model.changed > mark, map(_found, models))


def _in_collection(watch: Watch, mark: str) -> tuple[list[Found], str]:
    """Look at a collection, which may take in old models: the mark is what was in it."""
    from huggingface_hub import HfApi

    api = HfApi()
    items = api.get_collection(watch.collection).items
    ids = [item.item_id for item in items if item.item_type == "model"]
    models = [
        _found(api.model_info(name, timeout=20)) for name in ids if fnmatchcase(name, watch.names)
    ]
    known = set(mark.split())
    new = [model for model in models if f"{model.repository}@{model.commit}" not in known]
    return new, " ".join(f"{model.repository}@{model.commit}" for model in models)


def _found(model: Any) -> Found:
    return Found(model.id, model.sha, _text(model.last_modified))


def _text(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _explained(spelled: str, error: Exception) -> UserError:
    reason = hub_error(spelled, error)
    return reason or UserError(f"{spelled}: the hub gave no answer ({first_line(error)}).")
