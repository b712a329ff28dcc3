import os

import pytest

from bindbench.cli.places import project_folder, store_of, suite_of, workers_of
from bindbench.errors import UserError


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    (tmp_path / "workspace.yaml").write_text("")
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites/mine.yaml").write_text("name: mine\n")
    (tmp_path / "deep/er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep/er")
    monkeypatch.delenv("BINDBENCH_STORE", raising=False)
    return tmp_path


def test_a_checkout_is_found_from_below(checkout):
    assert project_folder() == checkout
    assert suite_of("mine").name == "mine"
    assert store_of(None) == str(checkout / "store")


def test_outside_a_checkout_a_file_and_a_store_are_enough(checkout, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert suite_of(str(checkout / "suites/mine.yaml")).name == "mine"
    assert store_of("s3://bucket") == "s3://bucket"
    monkeypatch.setenv("BINDBENCH_STORE", "/data")
    assert store_of(None) == "/data"
    for name in (lambda: suite_of("mine"), project_folder):
        with pytest.raises(UserError, match=r"No workspace\.yaml in "):
            name()


def test_workers(monkeypatch):
    monkeypatch.setenv("BINDBENCH_WORKERS", "")
    assert workers_of(None) == os.cpu_count()
    monkeypatch.setenv("BINDBENCH_WORKERS", "3")
    assert (workers_of(None), workers_of(2)) == (3, 2)
    monkeypatch.setenv("BINDBENCH_WORKERS", "many")
    with pytest.raises(UserError, match="'many': give a number from 1 up"):
        workers_of(None)
