"""A model whose log-probabilities are set by hand, through scores, leaderboard and report."""

import hashlib
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest
from spine_driver import build_all
from stand_ins import cheap_context

from bindbench.analysis.choice import choice_subset
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import Scores
from bindbench.models.family import Family, NoOptions
from bindbench.pipeline import leaderboard, model_scores, spine
from bindbench.pipeline.scored import scored_set
from bindbench.semantics import FALSE, TRUE
from bindbench.tasks import TRACKS

SMALL, LARGE = "color-n2", "position-n3"
MODES = ("strict", "paper")
ANSWER = '{"answers": [], "item": "x", "unreadable": 0}'


def draw(*parts) -> float:
    """Return a number in [0, 1) that depends on the parts alone."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


class HandSet:
    """Log-probabilities by hand: of each token -1 to -3 without the image, a bonus with it.

    ``blank`` sees nothing: its sums with the image differ from those without by the rounding.
    """

    method = "hand"

    def __init__(self, dtype="float32", blank=False, most=None, broken=""):
        self.dtype, self.blank, self.most, self.broken = dtype, blank, most, broken

    def score(self, requests):
        return [self.one(request) for request in requests]

    def one(self, request):
        tokens = np.array([len(text.split()) for text in request.texts], np.int32)
        blind = -np.array([sum(1 + 2 * draw(w, j) for j, w in enumerate(text.split()))
                           for text in request.texts])  # fmt: skip
        seen = np.array([2 * draw(request.key, text) for text in request.texts])
        seen += np.where(request.truth == TRUE, 1.0, 0.0)
        if self.blank:
            seen = 1e-6 * seen
        values = blind + seen
        if self.broken and self.broken in request.key:
            values[1] = np.nan
        asked = None
        if self.most:
            asked = choice_subset(request.key, len(tokens), self.most)
        return Scores(values, tokens, blind, ANSWER if self.most else None, asked)


MODELS = {
    "float32": HandSet(),
    "bfloat16": HandSet("bfloat16"),
    "blank": HandSet(blank=True),
    "choice": HandSet(most=20),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    family = Family("scorer", "hand", (), NoOptions, lambda name, *_: MODELS[name.name])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.FAMILIES, ("scorer", "hand"), family)
        root = tmp_path_factory.mktemp("store")
        scorers = [{"model": f"hand:{name}"} for name in MODELS] + [{"model": "check:random"}]
        fields = {"shard_size": 16, "survival": {}, "scorers": scorers}
        with cheap_context(
            root, benchmarks=[SMALL, LARGE], concepts=30, overrides=fields
        ) as context:
            artifacts = build_all(context)
            yield SimpleNamespace(
                context=context,
                artifacts=artifacts,
                board=artifacts["leaderboard/all"].read().to_pylist(),
                pages={
                    row["path"]: row["data"].decode()
                    for row in artifacts["report/all"].read().to_pylist()
                    if row["path"].endswith(".html")
                },
            )


def cells(built, key, track, name):
    """Yield (candidates, scores) of each item."""
    rows = built.artifacts[f"model_scores/{key}--hand-{name}"].read().to_pylist()
    scores = {row["index"]: row for row in rows if row["track"] == track}
    for row in built.artifacts[f"negatives/{key}"].read().to_pylist():
        if row["track"] == track:
            yield row, scores[row["index"]]


def of(rows, **wanted):
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def test_the_columns_are_what_their_names_say(built):
    for key in (SMALL, LARGE):
        for track in TRACKS:
            for _, row in cells(built, key, track, "float32"):
                scores, tokens, free = (
                    np.array(row[name]) for name in ("scores", "tokens", "image_free")
                )
                assert row["mean"] == (scores / tokens).tolist()
                assert row["subtracted"] == (scores - free).tolist()
                assert (row["raw"], row["asked"], row["dtype"]) == (None, None, "float32")
    summary = built.artifacts[f"model_scores/{SMALL}--hand-float32"].summary
    assert summary["columns"] == ["scores", "tokens", "image_free", "mean", "subtracted"]
    assert built.artifacts[f"model_scores/{SMALL}--check-random"].summary["columns"] == ["scores"]


def test_a_model_has_the_readouts_that_its_numbers_allow(built):
    found = defaultdict(set)
    for row in built.board:
        found[row["model"], row["benchmark"]].add(row["readout"])
    likelihood = {"score", "mean", "subtracted", "blind"}
    assert found["hand:float32", SMALL] == likelihood
    assert found["hand:float32", LARGE] == likelihood | {"blind_choice"}
    assert found["check:random", LARGE] == {"score"}


def readout_values(row, readout):
    column = {"score": "scores", "blind": "image_free", "blind_choice": "image_free"}
    return row[column.get(readout, readout)]


def rivals(candidates, mode, offered):
    semantics = np.frombuffer(candidates["semantics"], np.int8)
    return [
        i
        for i in range(1, len(semantics))
        if offered[i] and (mode == "paper" or semantics[i] == FALSE)
    ]


@pytest.mark.parametrize("readout", ["score", "mean", "subtracted", "blind", "blind_choice"])
@pytest.mark.parametrize("mode", MODES)
def test_each_readout_decides_by_its_own_number(built, readout, mode):
    for key in (SMALL, LARGE):
        for track in TRACKS:
            rows = of(
                built.board, model="hand:float32", benchmark=key, track=track, set="all",
                family="confusion", semantics=mode, readout=readout,
            )  # fmt: skip
            if readout == "blind_choice" and key == SMALL:
                assert rows == []
                continue
            wins, chances = [], []
            for candidates, row in cells(built, key, track, "float32"):
                values = readout_values(row, readout)
                offered = np.ones(len(values), bool)
                if readout == "blind_choice":
                    item = f"{candidates['concept_id']}/{track}"
                    offered = choice_subset(item, len(values))
                    assert offered.sum() == 50
                met = rivals(candidates, mode, offered)
                wins.append(all(values[0] - values[i] > 1e-4 for i in met))
                chances.append(1 / (1 + len(met)))
            assert rows[0]["n_items"] == len(wins) == 30
            assert rows[0]["accuracy"] == np.mean(wins)
            assert rows[0]["chance"] == pytest.approx(np.mean(chances))


def test_readouts_differ(built):
    same = {"model": "hand:float32", "benchmark": SMALL, "track": "minimal", "set": "all"}
    rows = of(built.board, **same, family="swap", semantics="strict")
    accuracies = {row["readout"]: row["accuracy"] for row in rows}
    assert accuracies["subtracted"] > accuracies["score"] >= accuracies["blind"]


def test_a_model_that_sees_nothing_ties_in_what_the_image_adds(built):
    for row in of(built.board, model="hand:blank", readout="subtracted", set="all"):
        if not row["family"].startswith("winoground") and row["n_items"]:
            assert (row["accuracy"], row["tie_rate"]) == (0, 1)
            assert row["credit"] == pytest.approx(row["chance"])


def test_undecided_items_of_coarse_arithmetic_are_counted(built):
    for key in (SMALL, LARGE):
        for track in TRACKS:
            for mode in MODES:
                where = {"benchmark": key, "track": track, "set": "all", "semantics": mode}
                (row,) = of(
                    built.board, model="hand:bfloat16", family="confusion", readout="score", **where
                )
                close = []
                for candidates, scores in cells(built, key, track, "bfloat16"):
                    met = rivals(candidates, mode, np.ones(len(scores["scores"]), bool))
                    top = sorted(scores["scores"][i] for i in [0, *met])[-2:]
                    close.append(top[1] - top[0] < 0.5)
                assert row["undecided"] == np.mean(close) > 0
    for row in built.board:
        known = row["model"] == "hand:bfloat16" and row["readout"] != "mean"
        known &= row["track"] != "difference" and not row["family"].startswith("winoground")
        assert (row["undecided"] is not None) == (known and row["n_items"] > 0)


def test_what_was_not_asked_has_no_number_and_no_part_in_chance(built):
    for key in (SMALL, LARGE):
        for track in TRACKS:
            (board,) = of(
                built.board, model="hand:choice", benchmark=key, track=track, set="all",
                family="confusion", semantics="strict", readout="score",
            )  # fmt: skip
            chances, wins = [], []
            for candidates, row in cells(built, key, track, "choice"):
                asked = np.array(row["asked"])
                assert row["raw"] == ANSWER
                assert asked.sum() == min(21, len(asked))
                for name in ("scores", "tokens", "image_free", "mean", "subtracted"):
                    assert [value is not None for value in row[name]] == asked.tolist()
                met = rivals(candidates, "strict", asked)
                chances.append(1 / (1 + len(met)))
                wins.append(all(row["scores"][0] - row["scores"][i] > 1e-4 for i in met))
            assert board["accuracy"] == np.mean(wins)
            assert board["chance"] == pytest.approx(np.mean(chances))


def test_p_values_are_corrected_within_a_readout(built, monkeypatch):
    tables = []
    monkeypatch.setattr(leaderboard, "holm", lambda p: tables.append(list(p)) or list(p))
    task = leaderboard.ShardInputs(0, leaderboard.inputs(built.context))
    rows = leaderboard.MeasureModels(built.context.suite)(task).to_pylist()
    for mode in MODES:
        for readout in ("score", "mean", "subtracted", "blind", "blind_choice"):
            same = of(rows, semantics=mode, readout=readout, track="difference")
            assert [row["p_value"] for row in same] in tables


def test_the_report_shows_readouts_where_there_are_any(built):
    page = built.pages["model-hand-float32.html"]
    assert '<h2 id="readouts">' in page
    for words in ("Image&#39;s part", "Blind, of 50"):
        assert words in page
    assert '<h2 id="readouts">' not in built.pages["model-check-random.html"]
    benchmark = built.pages["benchmark-color-n2.html"]
    assert "Language models without the picture" in benchmark
    assert "No cue picks the right caption" in benchmark


def test_a_broken_score_fails_its_shard_only(built, monkeypatch):
    key, context = SMALL, built.context
    ids = built.artifacts[f"negatives/{key}"].read_shard(1)["concept_id"].to_pylist()
    monkeypatch.setitem(MODELS, "broken", HandSet(broken=f"{ids[0]}/minimal"))
    settings = registry.RoleSettings(model="hand:broken")
    registry._load.cache_clear()
    with pytest.raises(UserError, match=rf"hand:broken gave the score nan .*{ids[0]}/minimal"):
        model_scores.build(context, key, settings)
    folder = context.store.partition_path("model_scores", f"{key}--hand-broken")
    kept = [path.name for path in folder.glob("*/part-*.parquet")]
    assert kept == ["part-00000.parquet"]
    monkeypatch.setitem(MODELS, "broken", HandSet())
    registry._load.cache_clear()
    artifact = model_scores.build(context, key, settings)
    whole = built.artifacts[f"model_scores/{key}--hand-float32"]
    assert artifact.digest == whole.digest
    registry._load.cache_clear()


class Sometimes(HandSet):
    """Gives token counts for some items only."""

    def one(self, request):
        scores = super().one(request)
        return scores if request.key[0] in "0123456789" else Scores(scores.values)


def test_a_number_for_some_items_only_is_refused(built, monkeypatch):
    monkeypatch.setitem(MODELS, "sometimes", Sometimes())
    with pytest.raises(UserError, match=r"color-n2--hand-sometimes has no tokens for \d+ of 60"):
        model_scores.build(built.context, SMALL, registry.RoleSettings(model="hand:sometimes"))


def test_scores_of_an_older_version_do_not_count(built, monkeypatch):
    monkeypatch.setattr(model_scores, "CODE_VERSION", "later")
    assert not [name for name in leaderboard.inputs(built.context) if "model_scores" in name]


def test_a_readout_can_be_taken_from_the_store(built):
    scores = built.artifacts[f"model_scores/{SMALL}--hand-float32"]
    candidates = built.artifacts[f"negatives/{SMALL}"]
    found = scored_set(
        SMALL, "minimal", candidates, scores, built.context.lexicon, readout="subtracted"
    )
    rows = list(cells(built, SMALL, "minimal", "float32"))
    assert found.items.scores.tolist() == [row["subtracted"] for _, row in rows]
    assert found.items.sizes is not None
    for sizes, (_, row) in zip(found.items.sizes.tolist(), rows, strict=True):
        pairs = zip(row["scores"], row["image_free"], strict=True)
        assert sizes == [max(abs(a), abs(b)) for a, b in pairs]
    assert spine.score_model(built.context, SMALL, "hand-float32") == [scores]
