"""The record of releases, from a models file and a hub that change."""

from pathlib import Path

import pytest
import yaml
from hub_server import HubModel, HubServer

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.file_digest import content_revision
from bindbench.releases.models_file import read_models_file
from bindbench.releases.record import Record, joined, read_record, write_record
from bindbench.releases.refresh import refresh
from bindbench.storage.store import Store
from bindbench.suite import RoleSettings, Suite, load_suite

A, B = "a" * 40, "b" * 40
SOON, LATER = "2126-01-01T00:00:00.000Z", "2126-01-02T00:00:00.000Z"


class Bench:
    """A suite of two scorers with its models file; the record is kept from one look to the next."""

    def __init__(self, folder: Path):
        self.folder, self.record, self.problems = folder, Record(), ()
        fields = {
            "name": "small",
            "benchmarks": ["color-n2"],
            "models": "models.yaml",
            "overrides": {"scorers": [{"model": "check:random"}, {"model": "nano:clip"}]},
        }
        (folder / "small.yaml").write_text(yaml.safe_dump(fields))
        self.suite: Suite = load_suite(str(folder / "small.yaml"))

    def says(self, *models: dict, watches=()) -> "Bench":
        fields = {"models": list(models), "watches": list(watches)}
        (self.folder / "models.yaml").write_text(yaml.safe_dump(fields))
        return self

    def look(self, hub: bool = False) -> list[str]:
        """Return the models that are evaluated beside the suite's own."""
        found = refresh(self.suite, self.record, look=hub)
        self.record, self.problems = found.record, found.problems
        return [s.model for s in self.profile.scorers][2:]

    @property
    def profile(self):
        return joined(self.suite, self.record).profile

    @property
    def retired(self) -> list[str]:
        return [s.model for s in self.profile.retired]


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.fixture
def hub(monkeypatch):
    with HubServer() as server:
        monkeypatch.setattr("huggingface_hub.hf_api.constants.ENDPOINT", server.url)
        yield server


def checkpoint(folder: Path, text: str) -> dict:
    folder.mkdir(exist_ok=True)
    (folder / "model.safetensors").write_text(text)
    return {"model": f"hf:{folder}"}


def test_without_a_file_there_is_nothing(bench):
    assert bench.look() == []
    assert bench.record == Record()


def test_the_file_is_the_suites(bench):
    assert bench.suite.models == str(bench.folder / "models.yaml")
    assert "models" not in bench.suite.model_dump()  # no path of this machine in artifacts


def test_models_with_their_settings(bench):
    bench.says({"model": "nano:vlm", "options": {"image_free": False}, "batch_size": 3})
    assert bench.look() == ["nano:vlm"]
    settings = bench.profile.scorers[-1]
    assert settings == RoleSettings(model="nano:vlm", options={"image_free": False}, batch_size=3)


def test_a_model_that_leaves_the_file_is_gone(bench):
    bench.says({"model": "nano:vlm"}).look()
    assert bench.says().look() == []
    assert bench.retired == []


def test_retiring_a_model_of_the_file_and_one_of_the_suite(bench):
    retired = [{"model": m, "status": "retired"} for m in ("nano:vlm", "check:random")]
    bench.says({"model": "nano:vlm"}).look()
    bench.says(*retired).look()
    assert [s.model for s in bench.profile.scorers] == ["nano:clip"]
    assert bench.retired == ["check:random", "nano:vlm"]


def test_a_local_checkpoint_is_known_by_its_content(bench, tmp_path):
    entry = checkpoint(tmp_path / "run", "one")
    first = f"{entry['model']}@{content_revision(tmp_path / 'run')}"
    bench.says(entry)
    assert bench.look() == [first]
    assert bench.look() == [first]
    checkpoint(tmp_path / "run", "other")
    second = f"{entry['model']}@{content_revision(tmp_path / 'run')}"
    assert second != first
    assert bench.look() == [second]
    assert bench.retired == [first]
    checkpoint(tmp_path / "run", "one")
    assert bench.look() == [first]
    assert bench.retired == [second]


def test_a_local_checkpoint_that_is_gone_is_retired(bench, tmp_path):
    entry = checkpoint(tmp_path / "run", "one")
    (first,) = bench.says(entry).look()
    (tmp_path / "run" / "model.safetensors").unlink()
    (tmp_path / "run").rmdir()
    assert bench.look() == []
    assert bench.retired == [first]
    assert "there is no such file or folder" in bench.problems[0]


def test_other_content_is_refused_under_the_old_name(tmp_path):
    file = tmp_path / "model.pt"
    file.write_bytes(b"one")
    name = f"open_clip:{file}@{content_revision(file)}"
    settings = RoleSettings(model=name, options={"architecture": "ViT-B-32"})
    described = registry.describe("scorer", settings)
    assert described["model"] == f"open_clip:{file}"  # the scores are those of the plain name
    file.write_bytes(b"two")
    with pytest.raises(UserError, match="the files have changed since"):
        registry.describe("scorer", settings)


def test_a_model_of_the_hub_is_its_commit(bench, hub):
    hub.models = [HubModel("org/m", A, SOON)]
    bench.says({"model": "hf:org/m", "batch_size": 2})
    assert bench.look() == [f"hf:org/m@{A}"]
    hub.models = [HubModel("org/m", B, LATER)]
    asked = len(hub.asked)
    assert bench.look() == [f"hf:org/m@{A}"]
    assert len(hub.asked) == asked  # the hub is not asked between two looks at it
    assert bench.look(hub=True) == [f"hf:org/m@{B}"]
    assert bench.retired == [f"hf:org/m@{A}"]
    assert bench.profile.scorers[-1].batch_size == 2


def test_a_commit_that_is_given_is_never_asked_for(bench, hub):
    bench.says({"model": f"hf:org/m@{A}"})
    assert bench.look(hub=True) == [f"hf:org/m@{A}"]
    assert hub.asked == []


def test_a_hub_that_is_down_stops_nothing_else(bench, hub):
    hub.models = [HubModel("org/m", A, SOON)]
    bench.says({"model": "hf:org/m"}).look()
    hub.down = True
    watch = {"organisation": "org"}
    bench.says({"model": "hf:org/m"}, {"model": "hf:org/n"}, {"model": "nano:vlm"}, watches=[watch])
    assert bench.look(hub=True) == [f"hf:org/m@{A}", "nano:vlm"]
    assert len(bench.problems) == 3


def test_what_a_watch_finds_stays_until_it_is_retired(bench, hub):
    watch = {"organisation": "org", "since": "2026-01-01", "batch_size": 7}
    hub.models = [HubModel("org/m", A, SOON)]
    bench.says(watches=[watch])
    assert bench.look() == []  # no look at the hub
    assert bench.look(hub=True) == [f"hf:org/m@{A}"]
    assert bench.profile.scorers[-1].batch_size == 7
    assert bench.look(hub=True) == [f"hf:org/m@{A}"]
    hub.models = [HubModel("org/m", B, LATER)]
    assert bench.look(hub=True) == [f"hf:org/m@{B}"]
    assert bench.retired == [f"hf:org/m@{A}"]
    assert bench.says().look(hub=True) == [f"hf:org/m@{B}"]
    assert bench.says({"model": "hf:org/m", "status": "retired"}).look() == []
    assert len(bench.retired) == 2


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"model": "nano:clp"}, "did you mean nano:clip"),
        ({"model": "nano:vlm", "options": {"devise": "cpu"}}, "did you mean device"),
        ({"model": "check:random"}, "is a scorer of the suite already"),
        ({"model": "hf:/none"}, "there is no such file or folder"),
    ],
)
def test_a_mistake_in_one_entry(bench, entry, why):
    bench.says(entry, {"model": "nano:negclip"})
    assert bench.look() == ["nano:negclip"]
    (problem,) = bench.problems
    assert why in problem
    assert str(bench.folder / "models.yaml") in problem


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("models: [{model: a:b, status: old}]", r"status is 'old'"),
        ("models: [{model: a:b}, {model: a:b}]", "lists a:b twice"),
        ("watches: [{}]", "it would find all models"),
        ("watches: [{names: '*-i'}]", "it would find all models"),
        ("watches: [{organisation: a, collection: b/c}]", "write two watches"),
        ("watch: []", "did you mean watches"),
        ("models: {", "is not YAML"),
    ],
)
def test_a_file_that_is_wrong(tmp_path, text, why):
    (tmp_path / "models.yaml").write_text(text)
    with pytest.raises(UserError, match=why):
        read_models_file(str(tmp_path / "models.yaml"))


def test_an_empty_section_is_no_mistake(tmp_path):
    (tmp_path / "models.yaml").write_text("models:\nwatches:\n")
    assert read_models_file(str(tmp_path / "models.yaml")).models == ()


def test_the_record_is_kept_in_the_store(bench, tmp_path):
    store = Store(tmp_path / "store", "small")
    bench.says({"model": "nano:vlm"}).look()
    write_record(store, bench.record)
    assert read_record(store) == bench.record
    (store.path / "releases.json").write_text("{")
    with pytest.raises(UserError, match=r"releases\.json is not as it was written"):
        read_record(store)
