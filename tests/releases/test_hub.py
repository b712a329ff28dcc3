"""Watches and commits, by the real client of the hub against a stand-in of its server."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hub_server import HubModel, HubServer

from bindbench.errors import UserError
from bindbench.releases import hub
from bindbench.releases.models_file import Watch

A, B, C = ("a" * 40, "b" * 40, "c" * 40)


def day(number: int) -> str:
    return f"2026-03-{number:02}T10:00:00.000Z"


@pytest.fixture
def server(monkeypatch):
    with HubServer() as server:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", server.url)
        monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", server.url)
        yield server


def names(found) -> list[str]:
    return [model.repository for model in found]


def test_an_organisations_new_models_once(server):
    server.models = [HubModel(f"org/m{i}", A, day(i)) for i in range(1, 8)]
    server.models += [HubModel("other/m", A, day(9))]
    watch = Watch(organisation="org", since=date(2026, 3, 4))
    found, mark = hub.look(watch, "")
    assert names(found) == ["org/m4", "org/m5", "org/m6", "org/m7"]  # over two pages
    assert found[0].commit == A
    assert hub.look(watch, mark) == ([], mark)
    server.models.append(HubModel("org/new", B, day(10)))
    found, later = hub.look(watch, mark)
    assert names(found) == ["org/new"]
    assert later > mark


def test_a_new_commit_is_a_new_revision(server):
    server.models = [HubModel("org/m", A, day(1))]
    watch = Watch(organisation="org", since=date(2026, 3, 1))
    _, mark = hub.look(watch, "")
    server.models = [HubModel("org/m", B, day(2))]
    found, _ = hub.look(watch, mark)
    assert [(m.repository, m.commit) for m in found] == [("org/m", B)]


def test_without_since_only_what_comes_after_the_first_look(server):
    server.models = [HubModel("org/m", A, day(1))]
    watch = Watch(organisation="org")
    found, mark = hub.look(watch, "")
    assert found == []
    soon = (datetime.now(UTC) + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    server.models.append(HubModel("org/new", A, soon))
    assert names(hub.look(watch, mark)[0]) == ["org/new"]


def test_only_models_that_can_be_scored_and_match_the_pattern(server):
    server.models = [
        HubModel("google/siglip2-base", A, day(1), "zero-shot-image-classification"),
        HubModel("google/paligemma-3b", A, day(2)),
        HubModel("google/siglip2-text", A, day(3), "text-generation"),
        HubModel("google/siglip2-gguf", A, day(4), library="gguf"),
        HubModel("me/siglip2-copy", A, day(5)),
    ]
    since = date(2026, 1, 1)
    assert names(hub.look(Watch(names="google/siglip2-*", since=since), "")[0]) == [
        "google/siglip2-base"
    ]
    assert names(hub.look(Watch(names="*/siglip2-*", since=since), "")[0]) == [
        "google/siglip2-base",
        "me/siglip2-copy",
    ]
    one = Watch(organisation="google", tasks=("image-text-to-text",), since=since)
    assert names(hub.look(one, "")[0]) == ["google/paligemma-3b"]


def test_a_collections_models_however_old_they_are(server):
    server.models = [HubModel("org/a", A, day(2)), HubModel("org/b", B, day(1))]
    server.collections = {"org/set-1234": ["org/a"]}
    watch = Watch(collection="org/set-1234")
    found, mark = hub.look(watch, "")
    assert names(found) == ["org/a"]
    assert hub.look(watch, mark) == ([], mark)
    server.collections["org/set-1234"].append("org/b")
    found, mark = hub.look(watch, mark)
    assert names(found) == ["org/b"]
    server.models[0].commit = C
    assert hub.look(watch, mark)[0] == [hub.Found("org/a", C, "2026-03-02T10:00:00.000000Z")]


def test_commits(server):
    server.models = [HubModel("org/m", A, day(1))]
    assert hub.commit_of("org/m") == A
    with pytest.raises(UserError, match="hf:org/none: the hub has no such model"):
        hub.commit_of("org/none")
    with pytest.raises(UserError, match="hf:org/m@v9: there is no such revision"):
        hub.commit_of("org/m", "v9")


def test_what_the_hub_does_not_have_is_one_sentence(server):
    with pytest.raises(UserError, match="collection org/none-1"):
        hub.look(Watch(collection="org/none-1"), "")


def test_a_hub_that_is_down_is_one_sentence(server):
    server.down = True
    with pytest.raises(UserError, match=r"watch on org.*: the hub gave no answer"):
        hub.look(Watch(organisation="org"), "")
