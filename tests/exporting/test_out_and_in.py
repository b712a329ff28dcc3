"""What is exported, read back as a foreign set, gives a model the accuracy that it has here."""

import json
from pathlib import Path

from small_store import KEY, small_store

from bindbench.evaluation import evaluate
from bindbench.exporting import inspect_task
from bindbench.exporting.items import open_suite
from bindbench.external.evaluation import evaluate_set
from bindbench.models import registry
from bindbench.storage.store import Store
from bindbench.suite import RoleSettings, VocabularySources

MODEL = RoleSettings(model="nano:clip")


def as_plain(samples: Path, out: Path) -> Path:
    """Write samples of Inspect as a plain set."""
    with out.open("w") as file:
        for record in map(json.loads, samples.read_text().splitlines()):
            row = {"id": record["id"], "image": record["image"], "captions": record["choices"]}
            file.write(json.dumps(row | {"index": ord(record["target"]) - ord("A")}) + "\n")
    return out


def test_a_set_that_went_out_comes_in_with_the_same_accuracy(tmp_path):
    store = small_store(tmp_path / "small")
    suite = open_suite(store.suite, Store(store.root, "small"), [KEY])
    inspect_task.export(suite, tmp_path / "out")
    scorer = registry.load("scorer", MODEL, VocabularySources())
    known = evaluate(scorer, suite.benchmarks[0])
    for track in ("minimal", "contextual"):
        for family in ("swap", "confusion"):
            samples = tmp_path / "out" / "samples" / f"{KEY}-{track}-{family}.jsonl"
            data = as_plain(samples, tmp_path / f"{track}-{family}.jsonl")
            (row,) = evaluate_set("plain", data, tmp_path / "out", MODEL).rows
            wanted = known.accuracy(track, family, "strict")
            for name in ("n_items", "accuracy", "low", "high", "credit", "tie_rate", "chance"):
                assert getattr(row, name) == getattr(wanted, name)
