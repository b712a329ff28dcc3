"""``bindbench external``: from a published file to a line of the leaderboard."""

import json
import sys
from pathlib import Path

import pytest
from PIL import Image as PILImage

from bindbench.cli.main import main
from bindbench.errors import UserError
from bindbench.external.results import ExternalResult, leaderboard, read_result

ROWS = [
    {"image": f"{i}.png", "captions": ["a red cup", "a blue cup"], "index": i % 2} for i in range(4)
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for i in range(4):
        PILImage.new("RGB", (4, 4), (i, 0, 0)).save(tmp_path / f"{i}.png")
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    return path


def call(monkeypatch, capsys, *arguments: object) -> str:
    monkeypatch.setattr(sys, "argv", ["bindbench", "external", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main()
    said = capsys.readouterr()
    assert not caught.value.code, said.err
    return said.out


def evaluated(monkeypatch, capsys, data: Path, model: str) -> Path:
    out = data.with_name(f"{model.replace(':', '-')}.json")
    source = ("--format", "plain", "--data", data, "--images", data.parent)
    call(monkeypatch, capsys, "evaluate", *source, "--model", model, "--out", out)
    return out


def test_evaluate_writes_what_the_leaderboard_shows(monkeypatch, capsys, data):
    files = [evaluated(monkeypatch, capsys, data, f"check:{m}") for m in ("oracle", "constant")]
    oracle, constant = map(read_result, files)
    assert [item.scores[0] > item.scores[1] for item in oracle.items] == [True] * 4
    assert [(row.accuracy, row.tie_rate) for row in oracle.rows] == [(1, 0)]
    assert [(row.accuracy, row.tie_rate, row.credit) for row in constant.rows] == [(0, 1, 0.5)]
    lines = json.loads(call(monkeypatch, capsys, "leaderboard", *files, "--json"))
    shown = {line["Model"]: line["plain: set"].split()[0] for line in lines}
    assert shown == {"check:oracle": "100", "check:constant": "0"}


def test_the_same_evaluation_gives_the_same_bytes(monkeypatch, capsys, data):
    first = evaluated(monkeypatch, capsys, data, "check:random").read_bytes()
    assert evaluated(monkeypatch, capsys, data, "check:random").read_bytes() == first


def test_a_suites_own_benchmarks_stand_beside_the_sets(monkeypatch, capsys, data):
    result = read_result(evaluated(monkeypatch, capsys, data, "check:oracle"))
    common = {"track": "minimal", "set": "all", "readout": "score", "family": "swap"}
    numbers = {"n_items": 9, "accuracy": 0.5, "low": 0.25, "high": 0.75}
    own = [
        {"model": "nano:clip", "benchmark": "color-n2", "semantics": mode} | common | numbers
        for mode in ("strict", "paper")
    ]
    grid = leaderboard([result], "mine", own)
    assert grid.headers == ("Model", "plain: set", "mine: color-n2")
    assert grid.rows[1] == ("nano:clip", "—", "50.0 (25.0–75.0)")


def test_results_that_can_not_stand_side_by_side_are_refused(monkeypatch, capsys, data):
    result = read_result(evaluated(monkeypatch, capsys, data, "check:oracle"))
    with pytest.raises(UserError, match="Two results are of check:oracle on plain: set"):
        leaderboard([result, result])
    fields = result.model_dump() | {"digest": "another"}
    with pytest.raises(UserError, match="their files differ"):
        leaderboard([result, ExternalResult.model_validate(fields)])


def test_a_file_that_is_no_result_is_refused(tmp_path):
    path = tmp_path / "r.json"
    path.write_text('{"format": "plain"}')
    with pytest.raises(UserError, match=r"r\.json, line 1: data: field required"):
        read_result(path)


def test_audit_names_a_planted_leak(monkeypatch, capsys, tmp_path):
    path = tmp_path / "set.json"
    rows = [
        {"image": f"{i}.png", "captions": [f"a {i} cup .", f"a {i} mug"], "index": 0}
        for i in range(30)
    ]
    path.write_text(json.dumps(rows))
    source = ("--format", "plain", "--data", path, "--json")
    found = json.loads(call(monkeypatch, capsys, "audit", *source))
    leaks = {(cue["direction"], cue["cue"]) for cue in found["cues"] if cue["leak"]}
    assert ("most", "punctuation") in leaks
    assert ("most", "article_errors") not in leaks
