"""The exports in their consumers, each in an environment of its own, against our own scoring.

Needs the package registry. An environment is made once in the folder for temporary files: what is
pinned here, beside the packages of this one.
"""

import functools
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

import numpy as np
import pytest
from small_store import small_store

from bindbench.analysis.accuracy import outcomes_of
from bindbench.evaluation import BuiltBenchmark, score_items
from bindbench.exporting import clip_benchmark, huggingface, inspect_task, lmms_eval
from bindbench.exporting.items import Exported, families_of, open_suite, shards
from bindbench.models import registry
from bindbench.pipeline.scored import assemble
from bindbench.storage.store import Store
from bindbench.suite import RoleSettings, VocabularySources
from bindbench.tasks import TRACKS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]  # of which pip may take most

HERE = Path(__file__).parent
# Without what they list beside this and the tests don't reach (other models, metrics, downloads).
PACKAGES = {
    "clip_benchmark": ("clip-benchmark==1.6.2", "webdataset==1.0.2", "braceexpand==0.1.7"),
    "lmms_eval": (
        *("lmms-eval==0.7.3", "loguru==0.7.3", "tenacity==9.2.1", "evaluate==0.4.6"),
        *("sacrebleu==2.6.0", "colorama==0.4.6", "lxml==6.1.3"),
    ),
    "croissant": ("mlcroissant==1.1.1",),
    "inspect": ("inspect-ai==0.3.285",),
}
WHOLE = ("croissant", "inspect")  # with all that they list


@functools.cache
def interpreter(consumer: str) -> Path:
    """Return the Python of a consumer's environment, which sees this one's packages too."""
    cache = os.environ.get(
        "BINDBENCH_CONSUMERS", Path(tempfile.gettempdir(), "bindbench-consumers")
    )
    home = Path(cache, consumer)
    python, done = home / "bin" / "python", home / "installed.txt"
    wanted = "\n".join((sys.prefix, *PACKAGES[consumer]))
    if done.is_file() and done.read_text() == wanted:
        return python
    venv.create(home, with_pip=True, clear=True)
    (site,) = home.glob("lib/python*/site-packages")
    ours = sysconfig.get_path("purelib")
    (site / "zz_bindbench.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    alone = () if consumer in WHOLE else ("--no-deps",)
    command = [python, "-m", "pip", "install", "--quiet", *alone, *PACKAGES[consumer]]
    subprocess.run(command, check=True)
    done.write_text(wanted)
    return python


def consumed(consumer: str, folder: Path, *names: str):
    """Return what a consumer says of an export."""
    command = [interpreter(consumer), HERE / f"{consumer}_consumer.py", folder, *names]
    found = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"HF_HOME": f"{folder}.cache"}
    )
    assert found.returncode == 0, found.stderr[-3000:]
    return json.loads(found.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Exported:
    store = small_store(tmp_path_factory.mktemp("consumers"))
    return open_suite(store.suite, Store(store.root, "small"), [])


@functools.cache
def scorer(model: str):
    return registry.load("scorer", RoleSettings(model=model), VocabularySources())


def ours(benchmark: BuiltBenchmark, track: str, family: str, model: str, readout="score"):
    """Return our own verdict of each item by its id: whether it is won, and whether it ties."""
    rows, found = score_items(scorer(model), benchmark.key, benchmark.every(track), 1)
    scored = assemble(benchmark.key, rows, found, benchmark.lexicon, readout)
    outcomes = outcomes_of(scored.of(family), "strict", scored.subsets[family])
    verdicts = zip(rows, outcomes.win, outcomes.at_top_tied, outcomes.included, strict=True)
    return {
        f"{row['concept_id']}/{track}": (bool(win), bool(tied))
        for row, win, tied, included in verdicts
        if included
    }


def cells(suite: Exported):
    for benchmark in suite.benchmarks:
        for track in TRACKS:
            for family in families_of(benchmark.key):
                yield benchmark, track, family


def test_clip_benchmark_finds_the_same_items_right(tmp_path, suite):
    clip_benchmark.export(suite, tmp_path / "out")
    names = [f"{b.key}/{track}/{family}" for b, track, family in cells(suite)]
    found = consumed("clip_benchmark", tmp_path / "out", *names)
    for name, (benchmark, track, family) in zip(names, cells(suite), strict=True):
        known = ours(benchmark, track, family, "nano:clip").values()
        # Of equal scores it takes the first, which is the right caption's: a tie is a win there.
        assert found[name] == [float(win or tied) for win, tied in known]
        assert not any(tied for _, tied in known)


def test_lmms_eval_gives_the_same_accuracy(tmp_path, suite):
    names = lmms_eval.export(suite, tmp_path / "out")
    found = consumed("lmms_eval", tmp_path / "out", *names)
    for name, (benchmark, track, family) in zip(names, cells(suite), strict=True):
        known = ours(benchmark, track, family, "nano:vlm", "mean")
        theirs = {
            key: (bool(item["accuracy"]), bool(item["tie_rate"]))
            for key, item in found[name]["items"].items()
        }
        assert theirs == known
        accuracy = np.mean([win for win, _ in known.values()])
        assert found[name]["totals"]["accuracy"] == pytest.approx(accuracy)


def test_inspect_gives_the_same_accuracy(tmp_path, suite):
    names = list(inspect_task.export(suite, tmp_path / "out"))
    found = consumed("inspect", tmp_path / "out", *names)
    for benchmark, track, family in cells(suite):
        known = ours(benchmark, track, family, "nano:clip")
        theirs = found[f"{benchmark.key}-{track}-{family}"]
        assert theirs == {key: "C" if win else "I" for key, (win, _) in known.items()}


def test_croissant_metadata_is_valid_and_leads_to_the_rows(tmp_path, suite):
    files = huggingface.export(suite, tmp_path / "out")
    found = consumed("croissant", tmp_path / "out")
    assert found["errors"] == []
    assert len(found["records"]) == len(files)
    (benchmark,) = suite.benchmarks
    for track in TRACKS:
        first = next(item for part in shards(benchmark) for item in part[track])
        records = found["records"].values()
        (record,) = [record for record in records if record["id"] == first.key]
        assert record["image"] == [128, 128]
        assert record["caption"] == first.row["caption"]
        assert record["candidates"] == list(first.texts)
