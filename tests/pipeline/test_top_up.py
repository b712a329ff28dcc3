"""Matching the prior: the checks hit one color and one object hard, and generation makes up."""

import json

import numpy as np
import pytest
import yaml
from stand_ins import Everything, White, cheap_context

from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import GeneratedImage
from bindbench.models.family import Family, NoOptions
from bindbench.pipeline import concept_set, filter_shift, spine, top_up
from bindbench.pipeline.base import Context
from bindbench.pipeline.spine import IdleEngine, Outdated
from bindbench.storage.store import Store
from bindbench.suite import MatchPrior

KEY = "color-n2"
HARD = {"red": 0.75, "couch": 0.75}  # share of their images that fail
WORDS = {
    "objects": ["stool", "couch", "broom", "key", "bottle"],
    "colors": ["red", "blue", "green", "yellow", "black"],
}
EXTENDS = {"objects": "objects_embedded", "colors": "colors20"}


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
    for kind, only in WORDS.items():
        sources[kind] = str(root / f"{kind}.yaml")
        content = {"kind": kind, "name": f"few-{kind}", "extends": EXTENDS[kind], "only": only}
        (root / f"{kind}.yaml").write_text(yaml.safe_dump(content))
    roles = {"generator": Hard, "detector": Seeing}
    overrides = {"vocabularies": sources, "shard_size": 50, "scorers": [{"model": "check:oracle"}]}
    fields = {"name": "prior", "benchmarks": [KEY], "concepts": 300, "replicates": True, "overrides": overrides}
    with cheap_context(root, **fields) as made, pytest.MonkeyPatch.context() as patch:
        for role, one in roles.items():
            family = Family(role, "stand", ("in",), NoOptions, lambda *_, one=one: one())
            patch.setitem(registry.FAMILIES, (role, "stand"), family)
        yield made


def changed(context: Context, **fields) -> Context:
    suite = context.suite.model_copy(update=fields)
    return Context(suite, context.store, context.engine)


def test_look(context):
    import time, cProfile, pstats
    t = time.time()
    matching = changed(context, match_prior=MatchPrior(), replicates=True)
    pr = cProfile.Profile(); pr.enable()
    spine.build_benchmark(matching, KEY)
    pr.disable(); pstats.Stats(pr).sort_stats("cumtime").print_stats(45)
    print(time.time() - t)
    s = matching.current("top_up", KEY).summary
    for r in s["rounds"]:
        print(r["concepts"], r["images"], {n: {k: [round(v[x], 3) for x in ("tv", "null_mean", "null_high", "quota", "missing", "mentions")] for k, v in kinds.items()} for n, kinds in r["sets"].items()})
    print(s["stopped"], s["given_up"])
    for row in matching.current("filter_shift", KEY).read().to_pylist():
        if row["measure"] in ("label_tv", "object_tv"): print(row)
