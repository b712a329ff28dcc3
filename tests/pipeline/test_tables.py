"""Every number of the tables, against a slow recomputation from the stored rows."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from spine_driver import small_suite
from stand_ins import First, Gray, Misses

from bindbench.candidates import candidate_families
from bindbench.engine.local import LocalEngine
from bindbench.models import registry
from bindbench.models.base import Scores
from bindbench.models.family import Family, ModelName, NoOptions
from bindbench.pipeline import leaderboard, spine, tables, validated
from bindbench.pipeline.base import Context
from bindbench.scoring.contrastive import ContrastiveScorer
from bindbench.semantics import FALSE
from bindbench.storage.store import Store
from bindbench.suite import load_suite
from bindbench.tables.catalogue import TABLES, numbers_of, table_of
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import from_rows
from bindbench.tables.sources import rows_of
from bindbench.tasks import TRACKS

KEYS = ("color-n1", "color-n2", "color-n3", "position-n2")
ONE, OTHER = "hash:one", "hash:two"
SURVIVAL = {name: {"low": 0.0} for name in ("captions", "presence", "background", "label")}


class Hash:
    """Scores at random, on a scale so coarse that captions tie; like an encoder, by its word."""

    dtype = "float64"
    method = ContrastiveScorer.method

    def __init__(self, name):
        self.name = name

    def score(self, requests):
        return [Scores(np.array([self.of(r, text) for text in r.texts])) for r in requests]

    def of(self, request, text):
        digest = hashlib.sha256(f"{self.name} {request.key} {text}".encode()).digest()
        return digest[0] // 8 / 32 + (0.3 if text == request.texts[0] else 0)


def families():
    yield Family("generator", "gray", ("in",), NoOptions, lambda *_: Gray())
    yield Family("judge", "first", ("in",), NoOptions, lambda *_: First())
    yield Family("detector", "misses", ("3", "4"), NoOptions, lambda n, *_: Misses(int(n.name)))
    yield Family("scorer", "hash", ("one", "two"), NoOptions, lambda n, *_: Hash(n.name))


@pytest.fixture(scope="module")
def patched():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bindbench.pipeline.judging.label_verdict", lambda *_: ("pass", ""))
        for family in families():
            patch.setitem(registry.FAMILIES, (family.role, family.name), family)
        yield


def context_of(root, benchmarks=KEYS, name="small", **more) -> Context:
    overrides = {
        "shard_size": 8,
        "survival": SURVIVAL,
        "generator": {"model": "gray:in"},
        "detector": {"model": "misses:4"},
        "judge": {"model": "first:in"},
        "scorers": [{"model": m} for m in (ONE, OTHER, "check:oracle")],
        "bases": {OTHER: ONE},
    }
    fields = {"benchmarks": list(benchmarks), "concepts": 24, "name": name} | more
    suite = small_suite(**fields | {"overrides": overrides})
    return Context(suite, Store(root, suite.name), LocalEngine(1))


def build(context: Context, keys=KEYS) -> None:
    spine.build_vocabulary(context)
    for key in keys:
        spine.build_benchmark(context, key)
        for settings in context.suite.profile.scorers:
            spine.score_model(context, key, ModelName.parse(settings.model).slug)
    leaderboard.build(context)


@pytest.fixture(scope="module")
def built(patched, tmp_path_factory):
    context = context_of(tmp_path_factory.mktemp("store"))
    build(context)
    artifact = tables.build(context)
    return SimpleNamespace(
        context=context,
        artifact=artifact,
        numbers=from_rows(artifact.read().to_pylist()),
        inputs=tables.inputs(context),
    )


def of(built, table, **wanted):
    """Return the numbers of a table with these fields that have a value."""
    found = [
        number
        for number in built.numbers
        if number.table == table
        and number.value is not None
        and all(getattr(number, name) == value for name, value in wanted.items())
    ]
    assert found, (table, wanted)
    return found


def one(built, table, **wanted):
    (found,) = of(built, table, **wanted)
    return found


def outcomes(context, key, track, model, family, mode) -> dict[int, bool]:
    """Return by index whether the positive beats every wrong candidate, one item at a time."""
    slug = ModelName.parse(model).slug
    scores = {
        (row["index"], row["track"]): row["scores"]
        for row in context.current("model_scores", f"{key}--{slug}").read().to_pylist()
    }
    won = {}
    for row in context.current("negatives", key).read().to_pylist():
        if row["track"] != track:
            continue
        concept = validated.concept_of(key, row)
        semantics = np.frombuffer(row["semantics"], np.int8)
        rivals = [
            value
            for i, value in enumerate(scores[row["index"], track])
            if i
            and (mode == "paper" or semantics[i] == FALSE)
            and counts(candidate_families(concept, context.lexicon)[i], family)
        ]
        if rivals:
            won[row["index"]] = scores[row["index"], track][0] > max(rivals)
    return won


def counts(own: str, family: str) -> bool:
    return own == family or (family == "confusion" and own in ("swap", "confusion"))


def rows(built, asset, key, **wanted):
    found = built.context.current(asset, key).read().to_pylist()
    return [row for row in found if all(row[name] == value for name, value in wanted.items())]


@pytest.mark.parametrize("key", KEYS)
def test_2_counts_accepted_images_and_pairs(built, key):
    accepted = {
        t: {r["index"] for r in rows(built, "validated", key, track=t) if r["accepted"]}
        for t in TRACKS
    }
    for track in TRACKS:
        assert one(built, "2", row=key, column=track).value == len(accepted[track])
    both = accepted["minimal"] & accepted["contextual"]
    assert one(built, "2", row=key, column="paired").value == len(both)
    assert 0 < len(accepted["minimal"]) < 24  # some are rejected


def test_3_is_passed_of_reached(built):
    for number in of(built, "3", column="presence"):
        verdicts = [r["presence"] for r in rows(built, "validated", number.row, track=number.block)]
        assert number.n_items == len(verdicts)
        assert number.value == verdicts.count("pass") / len(verdicts)
        assert number.low < number.value < number.high
    for number in of(built, "3", column="accepted"):
        found = rows(built, "validated", number.row, track=number.block, accepted=True)
        assert number.value == len(found) / 24


ACCURACIES = [("5", 3 * 3 * 2), ("12", 2 * 3 * 2), ("14", 3 * 2), ("7", 2 * 3 * 2)]


@pytest.mark.parametrize(("table", "count"), ACCURACIES)
def test_accuracies_are_those_of_the_items(built, table, count):
    """models x benchmarks x families numbers for each track and semantics."""
    for track in TRACKS:
        for mode in ("strict", "paper"):
            found = [n for n in of(built, table, block=track, semantics=mode) if n.source]
            assert len(found) == count
            for number in found:
                key, _, family = number.column.rpartition(" ")
                won = outcomes(built.context, key or "color-n1", track, number.row, family, mode)
                assert number.n_items == len(won)
                assert number.value == pytest.approx(sum(won.values()) / len(won))
                assert number.low <= number.value <= number.high


def test_the_numbers_are_not_all_alike(built):
    """So that a mistaken cell would show."""
    values = {n.value for n in of(built, "5") if n.row in (ONE, OTHER)}
    assert len(values) > 10


@pytest.mark.parametrize("table", ["5", "12", "14", "15", "6", "7"])
def test_every_accuracy_is_the_share_of_its_rows_that_were_won(built, table):
    found = [n for n in of(built, table) if n.source and n.source.asset == "model_scores"]
    assert found
    for number in found:
        items = [row for row in rows_of(number.source, built.inputs) if row["rivals"]]
        assert len(items) == number.n_items
        assert number.value == pytest.approx(sum(row["won"] for row in items) / len(items))


def test_counts_and_measures_are_those_of_their_rows(built):
    for number in of(built, "2"):
        assert len(rows_of(number.source, built.inputs)) == number.value
    for number in of(built, "16", column="label TV"):
        (row,) = rows_of(number.source, built.inputs)
        assert (row["measure"], row["value"]) == ("label_tv", number.value)


def test_4_is_the_mean_of_both_tracks_of_16_with_three_objects(built):
    assert {n.row for n in of(built, "4")} == {"color-n3"}
    for number in of(built, "4"):
        both = [one(built, "16", row="color-n3", column=number.column, block=t) for t in TRACKS]
        assert number.value == pytest.approx((both[0].value + both[1].value) / 2)


def test_chance_is_that_of_guessing(built):
    for mode, rivals in (("strict", 14), ("paper", 15)):  # of 16 captions two are right
        found = one(
            built, "5", block="minimal", semantics=mode, row="chance", column="color-n2 confusion"
        )
        assert found.value == pytest.approx(1 / (1 + rivals))
    ceiling = one(
        built, "5", block="minimal", semantics="paper", row="ceiling", column="color-n2 confusion"
    )
    assert ceiling.value == 0.5  # it can't tell the two right captions apart


def test_6_is_of_the_concepts_in_both_tracks(built):
    pairs = {row["index"] for row in rows(built, "paired_set", "color-n2")}
    by_track = {}
    for track in TRACKS:
        number = one(
            built, "6", block="color-n2", semantics="strict", row=ONE, column=f"{track} swap"
        )
        won = outcomes(built.context, "color-n2", track, ONE, "swap", "strict")
        own = [won[i] for i in sorted(pairs)]
        assert number.value == pytest.approx(np.mean(own))
        by_track[track] = np.array(own, float)
    difference = one(
        built, "6", block="color-n2", semantics="strict", row=ONE, column="difference swap"
    )
    changes = by_track["contextual"] - by_track["minimal"]
    assert difference.value == pytest.approx(changes.mean())
    assert difference.low <= difference.value <= difference.high and 0 <= difference.p_value <= 1


def test_7_is_what_the_training_changed_item_by_item(built):
    found = of(built, "7", block="minimal, change", semantics="strict")
    assert {n.row for n in found} == {OTHER}
    for number in found:
        key, family = number.column.split(" ")
        before, after = (
            outcomes(built.context, key, "minimal", model, family, "strict")
            for model in (ONE, OTHER)
        )
        assert number.value == pytest.approx(np.mean([after[i] - before[i] for i in before]))
        first, second = (
            next(
                row["accuracy"] for row in rows_of(number.source, built.inputs) if row["model"] == m
            )
            for m in (ONE, OTHER)
        )
        assert number.value == pytest.approx(second - first)


def test_7_names_a_base_that_is_no_scorer(built):
    profile = built.context.suite.profile.model_copy(update={"bases": {OTHER: "hash:gone"}})
    suite = built.context.suite.model_copy(update={"profile": profile})
    found = numbers_of(table_of("7"), Inputs(suite, built.inputs.artifacts))
    assert [n.note for n in found] == [
        "hash:two was hash:gone before, which is no scorer: add it to them."
    ]


def test_15_is_of_the_items_of_a_relation(built):
    labels = {row["index"]: row["labels"][0] for row in rows(built, "negatives", "position-n2")}
    found = [n for n in of(built, "15", block="contextual", semantics="strict") if n.source]
    for number in found:
        won = outcomes(built.context, "position-n2", "contextual", number.row, "swap", "strict")
        own = [value for i, value in won.items() if labels[i] == number.column]
        assert number.value == pytest.approx(np.mean(own))
    items = {n.column: n.n_items for n in found}
    assert sum(items.values()) == len(won)  # each item asks about one relation


def test_12_holds_contrastive_models_only(built):
    assert {n.row for n in of(built, "12") if n.source} == {ONE, OTHER}


def test_what_is_not_in_the_suite_is_said(built):
    notes = {n.table: n.note for n in built.numbers if not n.column}
    assert notes["13"] == "Suite small has no benchmark of shape_color or relative_size."
    assert "field beside of suite small" in notes["9"]


def test_the_same_inputs_give_the_same_numbers(built):
    again = built.context
    assert tables.build(again).digest == built.artifact.digest
    assert [
        n for t in TABLES if t.stored for n in numbers_of(t, tables.inputs(again))
    ] == built.numbers


def test_nothing_built_says_what_to_run(patched, tmp_path):
    context = context_of(tmp_path)
    found = from_rows(tables.build(context).read().to_pylist())
    assert all(number.value is None and number.note for number in found)
    made = {number.table for number in found}
    assert made == {table.number for table in TABLES if table.stored}
    own = [n for n in found if n.table in ("2", "3", "5", "6", "14", "15", "16")]
    assert all("bindbench run --suite small" in number.note for number in own)


def test_a_part_built_gives_its_numbers_and_names_the_rest(patched, tmp_path):
    context = context_of(tmp_path, ("color-n2", "position-n2"))
    build(context, ["color-n2"])
    found = numbers_of(table_of("5"), tables.inputs(context))
    assert {n.column.split(" ")[0] for n in found if n.value is not None} == {"color-n2"}
    assert [n.note for n in found if not n.column] == [
        "position-n2 is not built: run 'bindbench run --suite small'."
    ]


def test_a_model_without_scores_is_missing_and_named(patched, tmp_path):
    context = context_of(tmp_path, ("color-n2",))
    build(context, ["color-n2"])
    profile = context.suite.profile
    more = (*profile.scorers, registry.RoleSettings(model="check:random"))
    suite = context.suite.model_copy(
        update={"profile": profile.model_copy(update={"scorers": more})}
    )
    other = Context(suite, context.store, context.engine)
    leaderboard.build(other)
    found = numbers_of(table_of("5"), tables.inputs(other))
    own = [n for n in found if n.row == "check:random"]
    assert own and all(n.value is None for n in own)
    assert {n.note for n in own} == {
        "check:random is not scored on color-n2: run 'bindbench run --suite small'."
    }


@pytest.fixture(scope="module")
def beside(built, tmp_path_factory):
    """Two suites that draw the same concepts, in one store; the second misses other images."""
    first, root = built.context, built.context.store.root
    other = context_of(root, ["color-n2"], "other")
    profile = other.suite.profile.model_copy(
        update={"detector": registry.RoleSettings(model="misses:3")}
    )
    other = Context(
        other.suite.model_copy(update={"profile": profile}), other.store, LocalEngine(1)
    )
    build(other, ["color-n2"])
    one = Inputs(first.suite, built.inputs.artifacts)
    return one, Inputs(other.suite, tables.inputs(other).artifacts)


def test_9_is_of_the_images_that_all_suites_accepted(built, beside):
    first, other = beside
    found = numbers_of(table_of("9"), Inputs(first.suite, first.artifacts, (other,)))
    accepted = [
        {
            row["concept_id"]: row["index"]
            for row in one.artifacts["validated/color-n2"].read().to_pylist()
            if row["accepted"] and row["track"] == "minimal"
        }
        for one in beside
    ]
    shared = set(accepted[0]) & set(accepted[1])
    assert 0 < len(shared) < min(map(len, accepted))
    for model in (ONE, OTHER):
        (number,) = (
            n
            for n in found
            if (n.block, n.semantics, n.row, n.column)
            == ("color-n2, minimal", "strict", model, "small confusion")
        )
        won = outcomes(built.context, "color-n2", "minimal", model, "confusion", "strict")
        assert number.n_items == len(shared)
        assert number.value == pytest.approx(np.mean([won[accepted[0][c]] for c in shared]))
    assert {n.column for n in found if n.row == ONE} == {
        f"{suite} {family}" for suite in ("small", "other") for family in ("swap", "confusion")
    }
    assert any("color-n3: not built in other" in n.note for n in found if not n.column)


def test_suites_beside_are_files_seen_from_the_suites_own(built, beside, tmp_path):
    """Their artifacts are among the inputs, so that a change of them changes the tables."""
    fields = {"name": "main", "benchmarks": ["color-n2"], "beside": ["others/other.yaml"]}
    (tmp_path / "others").mkdir()
    (tmp_path / "main.yaml").write_text(yaml.safe_dump(fields))
    other = {
        "name": "other",
        "benchmarks": ["color-n2"],
        "overrides": {"scorers": [{"model": ONE}]},
    }
    (tmp_path / "others/other.yaml").write_text(yaml.safe_dump(other))
    suite = load_suite(str(tmp_path / "main.yaml"))
    root = built.context.store.root
    context = Context(suite, Store(root, "main"), LocalEngine(1))
    assert [one.suite.name for one in tables.contexts_beside(context)] == ["other"]
    names = tables.artifacts(context)
    assert names["other:negatives/color-n2"].digest == beside[1].get("negatives", "color-n2").digest
    (own,) = tables.inputs(context).beside
    assert own.scores(ONE, "color-n2") and own.suite.name == "other"


def test_9_takes_real_images_as_they_are(built, beside):
    """They are of other concepts: what counts is the suite's own leaderboard."""
    first, other = beside
    generator = registry.RoleSettings(model="folder:photos")
    profile = other.suite.profile.model_copy(update={"generator": generator})
    real = Inputs(other.suite.model_copy(update={"profile": profile}), other.artifacts)
    found = numbers_of(table_of("9"), Inputs(first.suite, first.artifacts, (real,)))
    assert {n.column for n in found if n.column} == {"other swap", "other confusion"}
    for number in found:
        key, track = number.block.split(", ")
        family = number.column.removeprefix("other ")
        row = real.board[number.row, key, track, "all", family, number.semantics]
        assert (number.value, number.n_items) == (row["accuracy"], row["n_items"])
