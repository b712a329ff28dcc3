"""Table 10 against a slow count, candidate by candidate."""

import hashlib
from collections import Counter

import numpy as np
from table_suites import role, with_models

from bindbench.candidates import ERROR_FAMILIES, candidate_space
from bindbench.models.base import Scores
from bindbench.pipeline import model_scores, negatives, spine, tables
from bindbench.semantics import FALSE
from bindbench.tables.errors import table_10


class Guesser:
    """Scores captions by a hash, in tenths, so that some share the first place."""

    dtype, method = "float64", "guess"

    def score(self, requests):
        return [Scores(np.array([self._one(r.key + t) for t in r.texts])) for r in requests]

    def _one(self, text):
        return hashlib.sha256(text.encode()).digest()[0] % 10 / 10


def slow_shares(candidates, scores, track):
    """Return the share of the errors of each family, ties shared equally, and their number."""
    codes = candidate_space("attribute", 2).errors
    given = {row["index"]: row["scores"] for row in scores if row["track"] == track}
    parts, errors = Counter(), 0
    for row in candidates:
        if row["track"] != track:
            continue
        values = given[row["index"]]
        semantics = np.frombuffer(row["semantics"], np.int8)
        wrong = [i for i in range(len(values)) if semantics[i] == FALSE]
        best = max(values[i] for i in wrong)
        if values[0] > best:
            continue
        errors += 1
        first = [i for i in wrong if values[i] == best]
        for i in first:
            parts[ERROR_FAMILIES[codes[i]]] += 1 / len(first)
    return {family: part / errors for family, part in parts.items()}, errors


def test_shares_are_those_of_a_slow_count(tmp_path):
    models = {("scorer", "guess"): Guesser}
    fields = {"benchmarks": ["color-n2", "position-n2"], "concepts": 12}
    with with_models(tmp_path, models, **fields) as context:
        profile = context.suite.profile.model_copy(update={"scorers": (role("guess:it"),)})
        suite = context.suite.model_copy(update={"profile": profile})
        context = type(context)(suite, context.store, context.engine)
        spine.build_benchmark(context, "color-n2")
        spine.score_model(context, "color-n2", "guess-it")
        candidates = context.current(negatives.NAME, "color-n2").read().to_pylist()
        cell = model_scores.partition("color-n2", "guess-it")
        scores = context.current(model_scores.NAME, cell).read().to_pylist()
        found = [n for n in table_10(tables.inputs(context)) if n.semantics == "strict"]
    for track in ("minimal", "contextual"):
        shares, errors = slow_shares(candidates, scores, track)
        assert errors >= 8
        own = {n.column: n for n in found if n.block == f"color-n2, {track}"}
        families = ("swap", "object kept", "label kept", "repeated pair")
        assert {*own} == {name for f in families for name in (f, f"{f} by chance")}
        for family, part in shares.items():
            number = own[family.replace("_", " ")]
            assert abs(number.value - part) < 1e-9
            assert number.low <= number.value <= number.high
            assert number.n_items == errors
            assert number.source.where["won"] is False
        assert abs(sum(own[family].value for family in families) - 1) < 1e-9
        chances = {family: own[f"{family} by chance"].value for family in families}
        total = sum(chances.values())
        assert abs(total - 1) < 1e-9
        assert chances["swap"] < chances["repeated pair"]
