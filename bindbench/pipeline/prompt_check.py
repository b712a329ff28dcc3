"""Sensitivity of a generative model to the prompt before the caption."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bindbench.analysis.prompt_agreement import Agreement, agreement
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.pipeline import negatives
from bindbench.pipeline.base import Context
from bindbench.pipeline.scored import scored_set
from bindbench.scoring.prompts import PROMPTS
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings
from bindbench.tasks import TRACKS

OPTION = "prompt"
Rows = Sequence[Mapping[str, Any]]


def variants(settings: RoleSettings) -> dict[str, RoleSettings]:
    """Return a model's settings under each prompt of the check.

    Raises:
        UserError: the model has no prompt.
    """
    name, family, _ = registry.named("scorer", settings)
    if OPTION not in family.options.model_fields:
        raise UserError(
            f"Model {name} has no prompt to vary: the check of prompts is for generative models."
        )
    found = {
        label: settings.model_copy(update={"options": {**settings.options, OPTION: text}})
        for label, text in PROMPTS.items()
    }
    for variant in found.values():
        registry.resolve("scorer", variant)
    return found


def prompt_rows(
    context: Context,
    scores: Mapping[str, Mapping[str, Artifact]],
    accuracies: Mapping[str, Rows],
) -> Iterator[dict[str, Any]]:
    """Yield each family's accuracy (strict) under each prompt, and how far the choices agree.

    Args:
        context: of the suite.
        scores: prompt -> benchmark -> scores.
        accuracies: prompt -> rows of the leaderboard.
    """
    for key in next(iter(scores.values())):
        candidates = context.current(negatives.NAME, key)
        for track in TRACKS:
            sets = {
                prompt: scored_set(key, track, candidates, cells[key], context.lexicon)
                for prompt, cells in scores.items()
            }
            for family, subset in next(iter(sets.values())).subsets.items():
                found = agreement({p: s.of(family) for p, s in sets.items()}, "strict", subset)
                if found is None:
                    continue
                where = {"benchmark": key, "track": track, "family": family}
                yield where | {
                    "n_items": found.n_items,
                    "accuracy": {p: _accuracy(accuracies[p], where) for p in scores},
                    **_agreement(found),
                }


def _accuracy(rows: Rows, where: Mapping[str, str]) -> dict[str, float]:
    wanted = {**where, "set": "all", "semantics": "strict", "readout": "score"}
    (row,) = (row for row in rows if row.items() >= wanted.items())
    return {name: row[name] for name in ("accuracy", "low", "high", "chance")}


def _agreement(found: Agreement) -> dict[str, Any]:
    return {
        "agreement": {"share": found.all.value, "low": found.all.low, "high": found.all.high},
        "pairs": [
            {"prompts": list(names), "share": e.value, "low": e.low, "high": e.high}
            for names, e in found.pairs.items()
        ],
    }
