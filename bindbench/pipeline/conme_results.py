"""The asset ``conme_results``: every model at every stage, on every set and with every panel."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.analysis.resampling import Estimate, proportion
from bindbench.conme.choices import UNREADABLE, Ballots, measure
from bindbench.conme.quality import CRITERIA, leaks, repeats, self_check
from bindbench.conme.results import FINAL, Part, Votes, agreements, cells
from bindbench.conme.samples import ORDERS, Sample
from bindbench.conme.taxonomy import error_rates, load_taxonomy, shares
from bindbench.models import registry
from bindbench.pipeline import (
    conme_calibration,
    conme_evaluation,
    conme_first_round,
    conme_labels,
    conme_second_round,
    conme_self_check,
)
from bindbench.pipeline.base import UNPARTITIONED, Context, ShardInputs, table, whole
from bindbench.pipeline.conme_cells import (
    cells_of,
    models_of,
    panel_of,
    settings_of,
    slug,
    split,
    targets_of,
)
from bindbench.pipeline.conme_evaluation import Evaluated, evaluated_in
from bindbench.pipeline.conme_rounds import ballots_in, samples_in
from bindbench.storage.store import Artifact
from bindbench.suite import Suite

NAME = "conme_results"
CODE_VERSION = "2"
RATES = ("accuracy", "both", "order_effect", "drop", "between", "without")
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("set", "panel", "model", "part", "reading", "stage")),
        ("n", pa.int64()),  # samples; the rates are null where there are none
        *((name + end, pa.float64()) for name in RATES for end in ("", "_low", "_high")),
        ("without_n", pa.int64()),  # samples that the other targets alone leave
        ("unreadable", pa.float64()),
        ("first", pa.float64()),
        ("details", pa.string()),  # JSON: of the final set, in the first reading; see docs/conme.md
    ]
)
ONCE = (  # what a set and a panel have once
    *(conme_first_round.NAME, conme_second_round.NAME, conme_self_check.NAME),
    *(conme_labels.NAME, conme_calibration.NAME),
)


@dataclass(frozen=True)
class Summarize:
    """Evaluates all choices of a suite."""

    suite: Suite

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each set, panel, model, reading and stage."""
        rows = (row for where in cells_of(self.suite) for row in self._rows(task, where))
        return table(list(rows), SCHEMA)

    def _rows(self, task: ShardInputs, where: str) -> Iterator[dict[str, Any]]:
        found = votes_of(self.suite, where, task.artifacts)
        if not found:
            return
        own = {name: task.artifacts.get(f"{name}/{where}") for name in ONCE}
        once = set_details(self.suite, found, own)
        said = _said(next(iter(found.values())).samples, own)
        name, panel = split(where)
        for cell in cells(found, said):
            row = {"set": name, "panel": panel, "n": cell.choice.n if cell.choice else 0}
            row |= {k: getattr(cell, k) for k in ("model", "part", "reading", "stage")}
            if cell.choice:
                for rate in ("accuracy", "both", "order_effect"):
                    row |= _interval(rate, getattr(cell.choice, rate))
                row |= {"unreadable": cell.choice.unreadable, "first": cell.choice.first}
            if cell.without:
                row |= _interval("without", cell.without.accuracy) | {"without_n": cell.without.n}
            for kind in ("drop", "between"):
                if change := getattr(cell, kind):
                    row |= _interval(kind, change)
            if cell.stage == FINAL and cell.reading == next(iter(found[cell.model].ballots)):
                row["details"] = json.dumps(
                    {**once, "agreement": agreements(found[cell.model])}
                    | {"categories": self._categories(found[cell.model], own)},
                    sort_keys=True,
                )
            yield row

    def _categories(self, votes: Votes, own: Mapping[str, Artifact | None]) -> dict[str, Any]:
        """Return a model's error rate in each category, by taxonomy (figures 3 and 4)."""
        labels = own[conme_labels.NAME]
        known = conme_labels.labels_in(labels) if labels else {}
        final, ballots = votes.of(FINAL), next(iter(votes.ballots.values()))
        ids = [s.id for s, keep in zip(votes.samples, final, strict=True) if keep]
        out = {}
        for source in settings_of(self.suite).taxonomies:
            taxonomy = load_taxonomy(source)
            if taxonomy.name not in known:
                continue
            given = [known[taxonomy.name].get(key, "") for key in ids]
            rates = error_rates(taxonomy, given, ballots.where(final))
            out[taxonomy.name] = {
                "shares": shares(taxonomy, given),
                "errors": {
                    row.category: {"n": row.n} | _interval("rate", row.rate)
                    for row in rates
                    if row.n
                },
            }
        return out


def _interval(name: str, found: Estimate) -> dict[str, float]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def votes_of(suite: Suite, where: str, artifacts: Mapping[str, Artifact]) -> dict[str, Votes]:
    """Return what each model that was evaluated chose, on the same samples.

    The reading that the rounds were filtered by comes first, if there is one of it: where one
    number of a model is shown, it is of that.
    """
    by = settings_of(suite).filter
    found: dict[str, Votes] = {}
    for name in models_of(suite, where):
        key = f"{conme_evaluation.NAME}/{conme_evaluation.partition(where, name)}"
        if key in artifacts:
            own: Evaluated = evaluated_in(artifacts[key])
            part = _part(suite, where, name)
            ballots = dict(sorted(own.ballots.items(), key=lambda pair: pair[0] != by))
            found[name] = Votes(part, own.samples, np.array(own.kept, bool), ballots)
    return {name: votes for name, votes in found.items() if votes.samples}


def _part(suite: Suite, where: str, name: str) -> Part:
    if name in targets_of(suite, where):
        return "target"
    strong = panel_of(suite, split(where)[1]).strong
    return "strong" if slug(strong) == name else "unseen"


def _said(samples: list[Sample] | Any, own: Mapping[str, Artifact | None]) -> dict[str, Ballots]:
    """Return the choices by which the targets filtered, on all of the samples."""
    places: dict[str, dict[str, list[int | None]]] = {}
    for name in (conme_first_round.NAME, conme_second_round.NAME):
        artifact = own[name]
        if artifact is None:
            return {}
        ids = [sample.id for sample in samples_in(artifact)]
        for target, ballots in ballots_in(artifact).items():
            chosen = [[None if p == UNREADABLE else int(p) for p in row] for row in ballots.place]
            places.setdefault(target, {}).update(zip(ids, chosen, strict=True))
    return {
        target: Ballots.of(samples, [given.get(s.id, [None] * ORDERS) for s in samples])
        for target, given in places.items()
    }


def set_details(
    suite: Suite, votes: Mapping[str, Votes], own: Mapping[str, Artifact | None]
) -> dict[str, Any]:
    """Return what is known of the final set itself: repeats, leaks, self-check, true errors."""
    first = next(iter(votes.values()))
    final = [s for s, keep in zip(first.samples, first.of(FINAL), strict=True) if keep]
    images = [sample.image_id for sample in final]
    cues = leaks([s.answer for s in final], [s.negative for s in final], images)
    out: dict[str, Any] = {
        "images": len(set(images)),
        "repeats": asdict(repeats(final)),
        "leaks": [asdict(cue) | {"leak": cue.leak} for cue in cues if cue.differs],
    }
    if checked := own[conme_self_check.NAME]:
        rows = checked.read(["image_id", *CRITERIA]).to_pylist()
        found = self_check(rows, [row["image_id"] for row in rows])
        out["self_check"] = asdict(found) if found else None
    if labels := own[conme_labels.NAME]:
        out["labeller"] = (labels.settings["labeller"] or {}).get("model", "")
    if calibration := own[conme_calibration.NAME]:
        out["true_errors"] = _true_errors(calibration)
    return out


def _true_errors(calibration: Artifact) -> dict[str, Any]:
    """Return the share of wrong samples where the truth is known, by stage."""
    rows = calibration.read(["image_id", "round", "kept", "verdict"]).to_pylist()
    out = {}
    for number in (1, 2):
        for stage, only in ((f"round_{number}", False), (f"round_{number}_kept", True)):
            mine = [r for r in rows if r["round"] == number and (r["kept"] or not only)]
            known = [row for row in mine if row["verdict"] in ("right", "wrong")]
            wrong = np.array([row["verdict"] == "wrong" for row in known], bool)
            clusters = np.array([row["image_id"] for row in known], object)
            rate = proportion(wrong, clusters)
            out[stage] = {"n": len(known), "undecided": len(mine) - len(known)}
            out[stage] |= _interval("rate", rate)
    return out


def choice_rows(where: str, model: str, choices: Artifact) -> list[dict[str, Any]]:
    """Return a model's accuracy on the final set in each reading, whether it is listed or not."""
    found = evaluated_in(choices)
    votes = Votes("unseen", found.samples, np.array(found.kept, bool), found.ballots)
    rows = []
    for reading, ballots in found.ballots.items():
        choice = measure(ballots.where(votes.of(FINAL)))
        row = {"cell": where, "model": model, "reading": reading, "n": choice.n if choice else 0}
        for rate in RATES[:3] if choice else ():
            row |= _interval(rate, getattr(choice, rate))
        rows.append(row)
    return rows


def build(context: Context) -> Artifact:
    """Build the tables from what has been evaluated."""
    section = settings_of(context.suite)
    settings = {
        "code": CODE_VERSION,
        "cells": cells_of(context.suite),
        "filter": section.filter,
        "panels": {name: one.model_dump(mode="json") for name, one in section.panels.items()},
        "models": [one.model for one in section.models],
        "taxonomies": [load_taxonomy(name).model_dump() for name in section.taxonomies],
    }
    shards = whole(settings, inputs(context))
    return context.build(NAME, UNPARTITIONED, SCHEMA, settings, shards, Summarize(context.suite))


def inputs(context: Context) -> dict[str, Artifact]:
    """Return the choices that are of the samples and models as they are now, by asset and cell."""
    found: dict[str, Artifact] = {}
    for where in cells_of(context.suite):
        rounds = {n: context.store.current(n, where) for n in conme_evaluation.ROUNDS.values()}
        if not all(rounds.values()):
            continue
        digests = {name: one.digest for name, one in rounds.items() if one}
        for name in ONCE:
            artifact = context.store.current(name, where)
            if artifact and (name in digests or _is_of(artifact, digests)):
                found[f"{name}/{where}"] = artifact
        for name, settings in models_of(context.suite, where).items():
            key = conme_evaluation.partition(where, name)
            choices = context.store.current(conme_evaluation.NAME, key)
            if (
                choices
                and _is_of(choices, digests)
                and choices.settings["code"] == conme_evaluation.CODE_VERSION
                and choices.settings["answerer"] == registry.describe("answerer", settings)
            ):
                found[f"{conme_evaluation.NAME}/{key}"] = choices
    return found


def _is_of(artifact: Artifact, digests: Mapping[str, str]) -> bool:
    """Whether an artifact was made from the rounds as they are now."""
    read = artifact.settings["inputs"]
    return all(read[name] == digest for name, digest in digests.items() if name in read)
