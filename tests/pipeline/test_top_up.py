"""Matching the prior: the checks hit one color and one object hard, and generation makes up."""

from dataclasses import replace

import numpy as np
import pytest
import yaml
from stand_ins import Everything, White, cheap_context

from bindbench.cli.pipeline import Overrides
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import GeneratedImage
from bindbench.models.family import Family, NoOptions
from bindbench.pipeline import concept_set, filter_shift, spine, top_up, validated
from bindbench.pipeline.base import Context
from bindbench.pipeline.spine import IdleEngine, Outdated
from bindbench.pipeline.top_up_ledger import KINDS
from bindbench.storage.store import Store
from bindbench.suite import MatchPrior, resolve_suite
from bindbench.tasks import TRACKS

KEY, CONCEPTS = "color-n2", 300
MEASURES = ("label_tv", "object_tv")
HARD = {"red": 0.8, "couch": 0.8}  # share of their images that fail
NOUNS = ("stool", "couch", "broom", "key", "bottle")
VOCABULARIES = {
    "objects": {"entries": [{"name": noun} for noun in NOUNS]},
    "colors": {"extends": "colors20", "only": ["red", "blue", "green", "yellow", "black"]},
}


class Hard(White):
    """Blackens the images of hard words, by their seeds."""

    def generate(self, requests):
        return [GeneratedImage(self.image(request)) for request in requests]

    def image(self, request):
        share = max(HARD.get(w, 0) for w in (*request.concept.objects, *request.concept.labels))
        failed = np.random.default_rng(request.seed).random() < share
        return np.full((64, 64, 3), 0 if failed else 255, np.uint8)


class Seeing(Everything):
    """Finds nothing in a black image."""

    def detect(self, images, nouns):
        found = super().detect(images, nouns)
        return [own if image.any() else [] for image, own in zip(images, found, strict=True)]


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    root = tmp_path_factory.mktemp("prior")
    sources = {}
    for kind, content in VOCABULARIES.items():
        sources[kind] = str(root / f"{kind}.yaml")
        text = yaml.safe_dump({"kind": kind, "name": f"few-{kind}", **content})
        (root / f"{kind}.yaml").write_text(text)
    roles = {"generator": Hard, "detector": Seeing}
    overrides = {"vocabularies": sources, "shard_size": 50, "scorers": [{"model": "check:oracle"}]}
    fields = {
        "name": "prior",
        "benchmarks": [KEY],
        "concepts": CONCEPTS,
        "replicates": True,
        "overrides": overrides,
    }
    with cheap_context(root, **fields) as made, pytest.MonkeyPatch.context() as patch:
        for role, one in roles.items():
            family = Family(role, "stand", ("in",), NoOptions, lambda *_, one=one: one())
            patch.setitem(registry.FAMILIES, (role, "stand"), family)
        yield made


def changed(context: Context, **fields) -> Context:
    suite = context.suite.model_copy(update=fields)
    return Context(suite, context.store, context.engine)


def distances(context: Context) -> dict[tuple[str, str], dict]:
    rows = context.current(filter_shift.NAME, KEY).read().to_pylist()
    return {(row["track"], row["measure"]): row for row in rows if row["measure"] in MEASURES}


@pytest.fixture(scope="module")
def built(context):
    """The plain benchmark's distances, and the matched one."""
    spine.build_benchmark(context, KEY)
    plain = distances(context)
    matched = changed(context, match_prior=MatchPrior())
    spine.build_benchmark(matched, KEY)
    return plain, matched


def test_the_distances_come_inside_the_band_where_a_plain_run_s_lie_outside(built):
    plain, matched = built
    after = distances(matched)
    for track in TRACKS:
        for measure in MEASURES:
            assert plain[track, measure]["value"] > plain[track, measure]["null_high"]
            assert after[track, measure]["value"] <= after[track, measure]["null_high"]


def test_before_and_after_and_the_cost_are_recorded(built):
    plain, matched = built
    summary = matched.current(top_up.NAME, KEY).summary
    first, last = summary["rounds"][0], summary["rounds"][-1]
    after = distances(matched)
    for track in TRACKS:
        for kind, measure in zip(KINDS, MEASURES, strict=True):
            assert first["sets"][track][kind]["tv"] == plain[track, measure]["value"]
            assert last["sets"][track][kind]["tv"] == after[track, measure]["value"]
            assert last["sets"][track][kind]["null_high"] == after[track, measure]["null_high"]
    assert summary["stopped"] == "met"
    assert first["concepts"] == summary["plain"] == CONCEPTS
    assert last["concepts"] == matched.current(concept_set.NAME, KEY).rows
    assert last["images"] == matched.current(validated.NAME, KEY).rows
    assert CONCEPTS < last["concepts"] < 3 * CONCEPTS


def test_the_plain_concepts_come_first_and_the_added_ones_are_new(built, context):
    _, matched = built
    whole = concept_set.build(matched, KEY)
    plain = concept_set.build_plain(replace(context, make_current=False), KEY)
    shards = len(plain.shards)
    assert [s.sha256 for s in whole.shards[:shards]] == [s.sha256 for s in plain.shards]
    rows = whole.read().to_pylist()
    assert [row["index"] for row in rows] == list(range(len(rows)))
    made = {(row["concept_id"], row["replicate"]) for row in rows}
    assert len(made) == len(rows)
    hard = [{*row["objects"], *row["labels"]} & {*HARD} for row in rows[CONCEPTS:]]
    assert all(hard)


def test_a_second_build_computes_nothing(built):
    _, matched = built
    digests = [artifact.digest for artifact in spine.build_benchmark(matched, KEY)]
    idle = Context(matched.suite, matched.store, IdleEngine())
    assert [artifact.digest for artifact in spine.build_benchmark(idle, KEY)] == digests
    other = Context(
        matched.suite.model_copy(update={"match_prior": MatchPrior(most=1.5)}),
        matched.store,
        IdleEngine(),
    )
    with pytest.raises(Outdated):
        spine.build_benchmark(other, KEY)


def test_a_store_of_its_own_gets_the_same_bytes(built, tmp_path):
    """Nothing hangs on what was built before, here the plain benchmark."""
    _, matched = built
    anew = Context(matched.suite, Store(tmp_path, "prior"), LocalEngine(1))
    assert top_up.build(anew, KEY).digest == matched.current(top_up.NAME, KEY).digest


def test_it_stops_where_it_becomes_too_dear(built):
    _, matched = built
    bounded = changed(matched, match_prior=MatchPrior(most=1.2))
    summary = top_up.build(bounded, KEY).summary
    assert summary["stopped"] == "most"
    assert summary["rounds"][-1]["concepts"] == 1.2 * CONCEPTS
    once = top_up.build(changed(matched, match_prior=MatchPrior(most=1.2, rounds=1)), KEY)
    assert once.summary["stopped"] == "rounds"


def test_a_word_that_never_survives_is_given_up(context, tmp_path, monkeypatch):
    monkeypatch.setitem(HARD, "red", 1.0)
    monkeypatch.delitem(HARD, "couch")
    suite = context.suite.model_copy(update={"match_prior": MatchPrior()})
    summary = top_up.build(Context(suite, Store(tmp_path, "prior"), LocalEngine(1)), KEY).summary
    assert list(summary["given_up"]["labels"]) == ["red"]
    assert summary["given_up"]["labels"]["red"].startswith("0 of ")
    assert summary["stopped"] == "given_up"
    assert summary["added"] == 0


def test_where_only_pairs_are_wanted_the_pairs_match(context, tmp_path, monkeypatch):
    for word in HARD:  # a pair survives with the square
        monkeypatch.setitem(HARD, word, 0.55)
    plain = changed(context, pairs_only=True)
    pairs = changed(plain, match_prior=MatchPrior())
    found = []
    for one in (plain, pairs):
        own = replace(one, store=Store(tmp_path, "prior"))
        spine.build_benchmark(own, KEY)
        found.append(distances(own))
    for measure in MEASURES:
        before, after = (rows["paired", measure] for rows in found)
        assert before["value"] > before["null_high"]
        assert after["value"] <= after["null_high"]


def test_counterparts_stay_together(built):
    _, matched = built
    both = changed(matched, counterparts=True, match_prior=MatchPrior(most=1.1))
    rows = top_up.build(both, KEY).read().to_pylist()
    assert rows
    assert len(rows) % 2 == 0
    for first, second in zip(rows[::2], rows[1::2], strict=True):
        assert first["index"] % 2 == 0
        assert first["counterpart"] == second["concept_id"]
        assert second["counterpart"] == first["concept_id"]


def test_the_flag_is_written_into_the_suite_file():
    fields = {"name": "mine"}
    changed_fields = Overrides(match_prior=True).apply(fields)
    assert changed_fields["name"] == "mine-custom"
    assert resolve_suite(changed_fields, "mine").match_prior == MatchPrior()
    own = fields | {"match_prior": {"most": 2.0}}
    assert Overrides(match_prior=True).apply(own) == own
    assert Overrides(match_prior=False).apply(fields) == fields
    assert Overrides(match_prior=False).apply(own)["match_prior"] is None  # a pilot
    with pytest.raises(UserError, match=r"match_prior\.most"):
        resolve_suite(fields | {"match_prior": {"most": 0.5}}, "mine")
