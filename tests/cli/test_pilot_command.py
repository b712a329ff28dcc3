"""``bindbench run --pilot``: what it prints, and what it builds."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import call
from rich.console import Console

from bindbench.analysis.resampling import proportion
from bindbench.cli import pilot
from bindbench.cli.pipeline import Overrides
from bindbench.pipeline.costs import Cost
from bindbench.pipeline.pilot import PAIRED, Harvest, Projection

WINS = np.arange(50) < 20


def projection(**fields) -> Projection:
    share = proportion(WINS)
    costs = (
        Cost("images", "", 720_000.0, 250_000_000_000, 50, 1, (), (), ("cuda:0",)),
        Cost("validated", "", 72_000.0, 1_000_000, 50, 1, (), (), ("cuda:0",)),
    )
    harvest = tuple(Harvest("color-n2", t, share, 100_000) for t in ("minimal", PAIRED))
    found = Projection("paper", harvest, costs, 792_000.0, None, ())
    return Projection(**{**vars(found), **fields})


def printed(capsys, found: Projection, price: float | None = None) -> str:
    pilot.print_projection(found, 1, price, Console(width=110))
    return capsys.readouterr().out


def test_the_projection_is_printed_with_its_intervals(capsys):
    low, high = (getattr(proportion(WINS), name) for name in ("low", "high"))
    grid = pilot.harvest_grid(projection().harvest)
    interval = f"{100 * low:.1f}–{100 * high:.1f}"
    # To three digits: 26,565 and 54,067.
    assert [round(100_000 * x) for x in (low, high)] == [26_565, 54_067]
    counts = "26\u2009600–54\u2009100"
    row = ("40.0%", interval, "50", "100\u2009000", "40\u2009000", counts)
    assert grid.rows == (("color-n2", "Minimal", *row), ("color-n2", "Both", *row))
    out = printed(capsys, projection(), 2.5)
    assert "The whole suite paper, by its pilot" in out
    assert "8.3 d" in out  # 720,000 s
    assert "250 GB" in out
    assert "GPU-hours: 220\n" in out
    assert "Cost: 550, at 2.5 for a GPU-hour" in out


def test_without_accelerators_and_prices_there_is_no_cost(capsys):
    out = printed(capsys, projection(gpu_seconds=0.0))
    assert "GPU-hours: none" in out
    assert "Cost:" not in out


def test_what_servers_cost_is_part_of_the_cost(capsys):
    out = printed(capsys, projection(servers=12.3456), 2.0)
    assert "Answers of servers: 12.3, in the currency of their prices" in out
    assert "Cost: 452, at 2 for a GPU-hour" in out


def test_what_was_not_measured_is_said(capsys):
    unknown = Cost("model_scores", "hf:a/b", None, None, 0, 1, ("color-n2--hf-a-b",), ())
    found = projection(costs=(*projection().costs, unknown), failed=("position-n2",))
    out = printed(capsys, found, 1.0)
    assert "GPU-hours: over 220" in out
    assert "Cost: over 220" in out
    assert "position-n2: the pilot did not finish, so that nothing is known of it." in out


def test_a_price_without_a_pilot_is_one_sentence(monkeypatch, capsys):
    assert call(monkeypatch, "run", "--gpu-price", "2") == 2
    assert "--gpu-price is for --pilot: give both" in capsys.readouterr().err


def test_a_pilot_builds_fifty_concepts_under_its_own_name(monkeypatch, tmp_path, capsys):
    ran = []
    monkeypatch.setattr(pilot, "run_suite", lambda *arguments: ran.append(arguments) or False)
    monkeypatch.setattr(pilot, "project", lambda *arguments: projection())
    overrides = Overrides(("color-n2", "position-n2"), 3000, None, "large")
    store = str(tmp_path / "store")
    assert not pilot.run_pilot("embedded", overrides, store, 1, False, None, Console())
    ((source, few, *rest),) = ran
    assert (source, rest[:3]) == ("embedded", [store, 1, False])
    assert few.name == "large-pilot"
    assert few.concepts == {"color-n2": 50, "position-n2": 50}
    assert few.benchmarks == ("color-n2", "position-n2")


@pytest.mark.slow
def test_a_pilot_from_the_command_to_the_projection(tmp_path, monkeypatch):
    project = Path(__file__).parent.parent.parent
    for name in ("workspace.yaml", "definitions.py", "models.yaml"):
        (tmp_path / name).symlink_to(project / name)
    (tmp_path / "suites").mkdir()
    (tmp_path / "dagster_home").mkdir()
    shutil.copy(project / "suites/embedded.yaml", tmp_path / "suites")
    shutil.copy(project / "dagster_home/dagster.yaml", tmp_path / "dagster_home")

    command = [str(Path(sys.executable).parent / "bindbench"), "run", "--pilot", "--workers", "1"]
    done = subprocess.run(
        [*command, "--benchmark", "color-n2", "--concepts", "500"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The whole suite embedded-custom, by its pilot" in done.stdout
    assert "500" in done.stdout.partition("Images of the whole suite")[2]
    assert "GPU-hours: none" in done.stdout
    assert (tmp_path / "suites/embedded-custom-pilot.yaml").is_file()
    assert not (tmp_path / "suites/embedded-custom.yaml").exists()
