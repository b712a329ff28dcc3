"""A user's mistake is one sentence that names it, and exit code 2, before anything is built."""

import sys
from pathlib import Path

import pytest
import yaml

from bindbench.cli.main import main

PROJECT = Path(__file__).parent.parent.parent
VOCABULARY = {"kind": "objects", "name": "mine", "entries": [{"name": "cup"}, {"name": "chair"}]}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder that looks like a checkout, so that suite files are written there."""
    for name in ("workspace.yaml", "definitions.py", "dagster_home"):
        (tmp_path / name).symlink_to(PROJECT / name)
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites/embedded.yaml").write_text("name: embedded\nprofile: embedded\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    monkeypatch.setenv("BINDBENCH_SUITE", "embedded")
    monkeypatch.setenv("BINDBENCH_STORE", str(tmp_path / "store"))
    return tmp_path


def call(monkeypatch, capsys, *arguments: str) -> str:
    """Run the command, check its exit code, and return its one sentence."""
    monkeypatch.setattr(sys, "argv", ["bindbench", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--suite", "embeded"], "Unknown suite 'embeded': did you mean embedded?"),
        (["--suite", "/tmp/none"], "Suite /tmp/none is no YAML file"),
        (["--benchmark", "colour-n2"], "Unknown benchmark 'colour-n2': did you mean color-n2"),
        (["--benchmark", "color-n0"], "asks for N=0: task color is defined for N=1, 2, 3"),
        (["--benchmark", "color-n5"], "asks for N=5: task color is defined for N=1, 2, 3"),
        (["--concepts", "0"], "concepts of color-n1 is 0: it must be at least 1"),
        (["--concepts", "2000"], "concepts of color-n1 is 2000, but its vocabularies make 1180"),
        (["--workers", "0"], "is '0': give a number from 1 up"),
        (["--benchmark", "color-n2", "--name", "embedded"], "was written by hand"),
        (["--store", "/dev/null/store", "--benchmark", "color-n2"], "The store /dev/null/store/"),
    ],
)
def test_run(project, monkeypatch, capsys, arguments, words):
    assert words in call(monkeypatch, capsys, "run", *arguments)
    assert [file.name for file in (project / "suites").iterdir()] == ["embedded.yaml"]


def test_a_dagster_home_of_ones_own_gets_the_projects_settings(project, monkeypatch, capsys):
    call(monkeypatch, capsys, "run", "--suite", "embeded")
    settings = yaml.safe_load((project / "dagster.yaml").read_text())
    assert settings["telemetry"] == {"enabled": False}
    (project / "dagster.yaml").write_text("telemetry: {enabled: true}\n")
    call(monkeypatch, capsys, "run", "--suite", "embeded")
    assert (project / "dagster.yaml").read_text() == "telemetry: {enabled: true}\n"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"profile": "embeded"}, "Unknown profile 'embeded': did you mean embedded?"),
        ({"models": "none.yaml"}, "Suite mine: models names"),
        ({"overrides": {"judge": {"model": "pixel:validator"}}}, "did you mean pixels"),
        ({"overrides": {"generator": {"model": "mitsuba:icon"}}}, "did you mean mitsuba:icons?"),
        ({"overrides": {"writer": {"model": "gemma"}}}, "write family:name@revision"),
        ({"overrides": {"scorers": [{"model": "check:orcale"}]}}, "did you mean check:oracle"),
        (
            {"overrides": {"generator": {"options": {"sample": 4}}}},
            "Unknown field 'sample' in options of generator mitsuba:icons: did you mean samples",
        ),
        (
            {"overrides": {"generator": {"options": {"faults": {"dropped": 0.9}}}}},
            "the rates sum to 1.44",
        ),
        ({"overrides": {"generator": {"options": {"faults": {"droped": 0.1}}}}}, "dropped"),
        (
            {"overrides": {"scorers": [{"model": "check:random"}, {"model": "check:random"}]}},
            "would share the partition check-random",
        ),
        ({"overrides": {"vocabularies": {"objects": "objects365"}}}, "can't draw"),
        ({"overrides": {"vocabularies": {"objects": "object365"}}}, "did you mean objects365"),
        ({"overrides": {"vocabularies": {"objects": "none.yaml"}}}, "none.yaml does not exist"),
    ],
)
def test_suite_file(project, monkeypatch, capsys, fields, words):
    (project / "suites/mine.yaml").write_text(yaml.safe_dump({"name": "mine"} | fields))
    assert words in call(monkeypatch, capsys, "run", "--suite", "mine")


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("objects", "entries: [", "is not YAML"),
        ("objects", "kind: objects\nkind: colors", "the key 'kind' is given twice"),
        ("objects", VOCABULARY | {"entries": [{"name": "cup"}, {"name": "cup"}]}, "both called"),
        ("objects", VOCABULARY | {"entries": [{"name": ""}]}, "field name is empty"),
        (
            "colors",
            {"kind": "colors", "name": "mine", "entries": [{"name": "red", "rgb": "crimson"}]},
            "'crimson' is not a color value",
        ),
        (
            "positions",
            {
                "kind": "positions",
                "name": "mine",
                "entries": [{"name": "above", "axis": "vertical", "direction": 1}],
            },
            "field inverse is missing",
        ),
    ],
)
def test_vocabulary_file(project, monkeypatch, capsys, kind, content, words):
    text = content if isinstance(content, str) else yaml.safe_dump(content)
    (project / "mine.yaml").write_text(text)
    said = call(
        *(monkeypatch, capsys, "candidates", "--task", "color", "--objects", "cup", "chair"),
        *("--labels", "red", "blue", "--vocabulary", f"{kind}=mine.yaml"),
    )
    assert words in said
    assert "mine.yaml" in said


@pytest.mark.parametrize(
    ("task", "objects", "labels", "words"),
    [
        ("colour", ["cup", "chair"], ["red", "blue"], "did you mean color"),
        ("color", ["cup", "chiar"], ["red", "blue"], "did you mean chair"),
        ("color", ["cup", "chair"], ["red", "bleu"], "did you mean blue"),
        ("color", ["cup", "chair"], ["red"], "2 objects need 2"),
        ("color", ["cup", "cup"], ["red", "blue"], "cup"),
        ("color", ["cup"] * 5, ["red"] * 5, "is 5: give one of 1, 2, 3"),
    ],
)
def test_candidates(project, monkeypatch, capsys, task, objects, labels, words):
    arguments = ["--task", task, "--objects", *objects, "--labels", *labels]
    assert words in call(monkeypatch, capsys, "candidates", *arguments)


def test_outside_a_checkout(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert "No workspace.yaml" in call(monkeypatch, capsys, "run")
