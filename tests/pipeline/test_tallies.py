"""Scores that are tallied part by part give the numbers of all scores at once."""

import numpy as np
import pytest
import stand_ins
from spine_driver import build_all

from bindbench.analysis.accuracy import outcomes_of, summarise
from bindbench.analysis.paired import compare, compare_tracks
from bindbench.models.base import GeneratedImage
from bindbench.pipeline import scored, tallies
from bindbench.pipeline.base import suite_lexicon
from bindbench.pipeline.scored import scored_set
from bindbench.tasks import TRACKS

KEYS = ["color-n1", "color-n2", "position-n2"]
GRAY, WHITE = 100, 255


class Spotty:
    """Some images are gray, which is no background for the minimal track."""

    def generate(self, requests):
        return [
            GeneratedImage(np.full((64, 64, 3), WHITE if r.seed % 3 else GRAY, np.uint8))
            for r in requests
        ]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    overrides = {"shard_size": 3, "survival": {}, "scorers": [{"model": "check:random"}]}
    fields = {"benchmarks": KEYS, "concepts": 20, "overrides": overrides}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stand_ins, "White", Spotty)
        with stand_ins.cheap_context(tmp_path_factory.mktemp("store"), **fields) as context:
            yield suite_lexicon(context.suite), build_all(context)


def parts_of(built, key, size, monkeypatch):
    lexicon, artifacts = built
    negatives, scores = (
        artifacts[f"negatives/{key}"],
        artifacts[f"model_scores/{key}--check-random"],
    )
    paired = artifacts[f"paired_set/{key}"].read(["index"])["index"].to_numpy()
    monkeypatch.setattr(scored, "ITEMS_AT_ONCE", size)
    whole = {track: scored_set(key, track, negatives, scores, lexicon) for track in TRACKS}
    return tallies.measure(key, negatives, scores, paired, lexicon), whole, paired


@pytest.mark.parametrize("size", [1, 9, 10**6])
@pytest.mark.parametrize("key", KEYS)
def test_parts_are_the_whole(built, key, size, monkeypatch):
    found, whole, paired = parts_of(built, key, size, monkeypatch)
    minimal, contextual = whole["minimal"], whole["contextual"]
    assert 0 < len(paired) < len(contextual.items) == 20  # some were accepted in one track only
    for track, everything in whole.items():
        tally, design = found.tallies[track], found.designs[track]
        assert np.array_equal(tally.index, everything.index)
        keep = np.isin(tally.index, paired)
        part = everything.only(paired)
        for (family, mode), outcomes in tally.outcomes.items():
            right = outcomes_of(everything.of(family), mode, everything.subsets[family])
            assert summarise(outcomes, design) == summarise(right, everything.items.design)
            right = outcomes_of(part.of(family), mode, part.subsets[family])
            assert summarise(outcomes.take(keep), design.take(keep)) == summarise(
                right, part.items.design
            )
    design = found.designs["minimal"].take(np.isin(found.tallies["minimal"].index, paired))
    for (family, mode), wins in found.pairs.wins.items():
        tracks = [part.only(paired) for part in (minimal, contextual)]
        right = compare_tracks(
            *(part.in_concept_order(family) for part in tracks),
            mode,
            tracks[1].subsets[family],
            seed=3,
        )
        counted = wins.counted
        excluded = int((~counted).sum())
        assert compare(wins.first, wins.second, design.take(counted), 3, excluded) == right


def test_one_part_holds_few_shards(built, monkeypatch):
    lexicon, artifacts = built
    key = "color-n2"
    negatives = artifacts[f"negatives/{key}"]
    scores = artifacts[f"model_scores/{key}--check-random"]
    monkeypatch.setattr(scored, "ITEMS_AT_ONCE", 1)
    sizes = [
        len(part["contextual"].items)
        for part in scored.scored_parts(key, negatives, scores, lexicon)
    ]
    assert sizes == [3] * 6 + [2]
