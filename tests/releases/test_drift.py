"""The weekly check of models behind servers, against a server on this machine that changes."""

import pytest
from api_server import ApiServer, Asked, Reply, answer
from small_store import KEY, small_store

from bindbench.errors import UserError
from bindbench.pipeline import model_scores
from bindbench.releases import drift
from bindbench.semantics import FALSE
from bindbench.suite import RoleSettings

OPTIONS = {"backoff": 0.001, "retries": 1, "rotations": 1}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def server():
    with ApiServer(first_option) as server:
        yield server


@pytest.fixture
def context(tmp_path, server):
    """A built benchmark, on which a model behind the server and a local one are scored."""
    store = small_store(tmp_path / "suite")
    api = RoleSettings(model=server.name, options=OPTIONS, batch_size=2)
    scorers = (*store.suite.profile.scorers, api)
    profile = store.suite.profile.model_copy(update={"scorers": scorers})
    made = store.context(store.suite.model_copy(update={"profile": profile}))
    for settings in scorers:
        model_scores.build(made, KEY, settings)
    return made


def first_option(asked: Asked) -> Reply:
    return answer(next(iter(asked.options)))


def last_option(asked: Asked) -> Reply:
    return answer(list(asked.options)[-1])


def test_a_model_that_answers_as_before_has_no_drift(context, server):
    before = server.count
    artifact = drift.build(context, "2026-03-02")
    assert server.count > before  # the cache of answers was not asked
    rows = artifact.read().to_pylist()
    assert {row["track"] for row in rows} == {"minimal", "contextual"}
    for row in rows:
        assert (row["model"], row["benchmark"]) == (server.name, KEY)
        assert 1 <= row["items"] <= drift.SAMPLE
        assert row["changed"] == 0
        assert row["now"] == row["before"]


def test_a_model_that_changed(context, server):
    server.script = last_option
    artifact = drift.build(context, "2026-03-02")
    for row in artifact.read().to_pylist():
        assert row["changed"] == 1
    assert artifact.summary[server.name]["changed"] == 1
    assert drift.worst(artifact)["changed"] == 1


def test_the_same_label_asks_nothing_twice_and_another_asks_again(context, server):
    first = drift.build(context, "2026-03-02")
    asked = server.count
    assert drift.build(context, "2026-03-02").fingerprint == first.fingerprint
    assert server.count == asked
    drift.build(context, "2026-03-09")
    assert server.count > asked


def test_a_check_that_broke_off_pays_for_nothing_twice(context, server):
    good, calls = server.script, []

    def breaks(asked: Asked) -> Reply:
        calls.append(asked)
        return good(asked) if len(calls) <= 3 else Reply(status=500)

    server.script = breaks
    with pytest.raises(Exception, match="gave no answer"):
        drift.build(context, "2026-03-02")
    server.script, before = good, server.count
    drift.build(context, "2026-03-02")
    bodies = [str(asked.body) for asked in server.asked[before:]]
    kept = [str(asked.body) for asked in calls[:3]]
    assert bodies
    assert not set(bodies) & set(kept)


def test_accuracy_before_and_now(context, server):
    """Computed anew here: right is an item whose positive beats every false candidate."""
    artifact = drift.build(context, "x")
    rows = {row["track"]: row for row in artifact.read().to_pylist()}
    scores = context.store.current(model_scores.NAME, model_scores.partition(KEY, slug(server)))
    candidates = context.current("negatives", KEY).read().to_pylist()
    for track, row in rows.items():
        stored = {r["index"]: r["scores"] for r in scores.read().to_pylist() if r["track"] == track}
        right = []
        for item in (r for r in candidates if r["track"] == track):
            values = [-1e9 if v is None else v for v in stored[item["index"]]]
            false = [i for i, code in enumerate(item["semantics"]) if i and code == FALSE]
            right.append(all(values[0] > values[i] for i in false))
        assert row["before"] == pytest.approx(sum(right) / len(right))


def slug(server) -> str:
    from bindbench.models.family import ModelName

    return ModelName.parse(server.name).slug


def test_without_such_a_model_there_is_nothing_to_do(tmp_path):
    store = small_store(tmp_path / "suite")
    assert drift.api_models(store.suite) == []
    with pytest.raises(UserError, match="No model behind a server has scores"):
        drift.build(store.context(), "x")
