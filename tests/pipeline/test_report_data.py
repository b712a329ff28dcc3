"""What the report shows of a model, against a slow recomputation from the stored rows."""

import hashlib
import io
import re
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from spine_driver import build_all, small_suite

from bindbench.candidates import candidate_texts, candidate_words
from bindbench.engine.local import LocalEngine
from bindbench.models import registry
from bindbench.models.base import Scores
from bindbench.models.family import Family, NoOptions
from bindbench.pipeline import negatives, report, validated
from bindbench.pipeline.base import Context, ShardInputs
from bindbench.pipeline.report_data import collect
from bindbench.reporting.marks import plain
from bindbench.reporting.numbers import raw_score
from bindbench.reporting.thumbnails import LIMIT
from bindbench.semantics import FALSE, TRUE
from bindbench.storage.store import Store
from bindbench.tasks import TRACKS

MODEL = "stub:coarse"
ATTRIBUTE, RELATION = "color-n2", "position-n3"


class Coarse:
    """Scores at random, on a scale so coarse that captions tie; true captions get a bonus."""

    dtype = "float64"
    method = "stub"

    def score(self, requests):
        return [Scores(np.array([self.one(r, i) for i in range(len(r.texts))])) for r in requests]

    def one(self, request, i):
        digest = hashlib.sha256(f"{request.key} {request.texts[i]}".encode()).digest()
        return digest[0] // 16 / 16 + (0.5 if request.truth[i] == TRUE else 0)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    family = Family("scorer", "stub", ("coarse",), NoOptions, lambda *_: Coarse(), summary="stub")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.FAMILIES, ("scorer", "stub"), family)
        suite = small_suite(concepts=12)
        scorers = (*suite.profile.scorers, registry.RoleSettings(model=MODEL))
        profile = suite.profile.model_copy(update={"scorers": scorers})
        suite = suite.model_copy(update={"profile": profile})
        store = Store(tmp_path_factory.mktemp("store"), suite.name)
        context = Context(suite, store, LocalEngine(1))
        artifacts = build_all(context)
        yield SimpleNamespace(
            context=context,
            artifacts=artifacts,
            data=collect(suite, report.inputs(context)),
            page=pages_of(artifacts["report/all"].read().to_pylist()),
        )


def pages_of(rows):
    """Return the pages among the files of a report."""
    return {row["path"]: row["data"].decode() for row in rows if row["path"].endswith(".html")}


def items(built, key, track):
    """Yield each item as plain Python values."""
    lexicon = built.context.lexicon
    scored = {
        row["index"]: row["scores"]
        for row in built.artifacts[f"model_scores/{key}--stub-coarse"].read().to_pylist()
        if row["track"] == track
    }
    boxes = {
        row["index"]: [row["boxes"][j] for j in row["matched"]]
        for row in built.artifacts[f"validated/{key}"].read().to_pylist()
        if row["track"] == track and row["accepted"]
    }
    for row in built.artifacts[f"negatives/{key}"].read().to_pylist():
        if row["track"] != track:
            continue
        concept = validated.concept_of(key, row)
        in_order = [boxes[row["index"]][i] for i in row["order"]]
        yield SimpleNamespace(
            index=row["index"],
            caption=row["caption"],
            labels=row["labels"],
            scores=scored[row["index"]],
            false=[i for i, s in enumerate(np.frombuffer(row["semantics"], np.int8)) if s == FALSE],
            texts=candidate_texts(negatives.template_of(row), concept, lexicon),
            words=candidate_words(concept, lexicon),
            x=[(left + right) / 2 for left, _, right, _ in in_order],
            y=[-(top + bottom) / 2 for _, top, _, bottom in in_order],
        )


def family(item, i):
    """Return a wrong caption's kind of error in an attribute task, by its pairs."""
    objects, labels = item.words[i]
    every_object, every_label = len(set(objects)) == 2, len(set(labels)) == 2
    if every_object and every_label:
        return "swap"
    if every_object:
        return "object_kept"
    return "label_kept" if every_label else "repeated_pair"


def swaps(item, key):
    """Return the false captions of the swap set."""
    right = item.words[0]
    kept, moved = (0, 1) if key == ATTRIBUTE else (1, 0)
    return [
        i
        for i in item.false
        if item.words[i][kept] == right[kept]
        and sorted(item.words[i][moved]) == sorted(right[moved])
    ]


def wins(item, rivals):
    return all(item.scores[i] < item.scores[0] for i in rivals)


def accuracy(found, key):
    """Return the number of items with a swap to beat, and the share of those won."""
    met = [wins(item, swaps(item, key)) for item in found if swaps(item, key)]
    return len(met), (sum(met) / len(met) if met else None)


def agreement(item, axis):
    """Return pairs in the order of mention minus pairs against it."""
    places = item.x if axis == "horizontal" else item.y
    n = len(places)
    return sum(int(np.sign(places[b] - places[a])) for a in range(n) for b in range(a + 1, n))


def asks(item, key, axis):
    """Say whether an item asks about an axis."""
    horizontal = [label in ("to the left of", "to the right of") for label in item.labels]
    return key == RELATION and (axis == "horizontal") in horizontal


def of(rows, **wanted):
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def section(built, name):
    """Return a section of the model's page."""
    page = built.page["model-stub-coarse.html"]
    return next(part for part in page.split("<section>\n<h2 ") if part.startswith(f'id="{name}"'))


def values(html):
    """Return the numbers of the table cells as the page has them, None where one is missing."""
    found = re.findall(r'<td[^>]* data-value="([^"]*)"', html)
    return [float(value) if value else None for value in found]


@pytest.mark.parametrize("key", [ATTRIBUTE, RELATION])
@pytest.mark.parametrize("track", TRACKS)
def test_hardest_negatives_are_those_that_lead_by_most(built, key, track):
    leads = []
    for item in items(built, key, track):
        best = max(item.false, key=lambda i: item.scores[i])
        if item.scores[best] > item.scores[0]:
            leads.append((item.scores[0] - item.scores[best], item.index, best, item))
    wanted = sorted(leads)[:4]
    shown = [n for n in built.data.hardest if (n.benchmark, n.track) == (key, track)]
    assert len(shown) == len(wanted) > 0
    for negative, (lead, _, best, item) in zip(shown, wanted, strict=True):
        assert plain(negative.right) == item.caption
        assert plain(negative.chosen) == item.texts[best]
        assert (negative.right_score, negative.chosen_score) == (item.scores[0], item.scores[best])
        assert negative.right_score - negative.chosen_score == lead
        if key == ATTRIBUTE:
            assert negative.family == family(item, best)
        own, other = item.words[0], item.words[best]
        differ = [b for a, b in zip(sum(own, ()), sum(other, ()), strict=True) if a != b]
        assert sorted(text for text, marked in negative.chosen if marked) == sorted(differ)
    html = section(built, "hardest")
    for negative in shown:
        assert raw_score(negative.chosen_score) in html


def counts_right(item, i):
    """Say whether a caption mentions no object more often than the right one does."""
    said, holds = item.words[i][0], item.words[0][0]
    return all(said.count(name) <= holds.count(name) for name in said)


@pytest.mark.parametrize("key", [ATTRIBUTE, RELATION])
def test_what_is_lost_to_counting_equals_a_slow_count(built, key):
    shares = []
    for track in TRACKS:
        lost = [
            wins(item, same) and not wins(item, item.false)
            for item in items(built, key, track)
            if (same := [i for i in item.false if counts_right(item, i)])
        ]
        (row,) = of(built.data.counting, model=MODEL, benchmark=key, track=track)
        assert (row["n_items"], row["share"]) == (len(lost), sum(lost) / len(lost))
        assert row["low"] <= row["share"] <= row["high"]
        shares.append(row["share"])
    assert max(shares) > 0


def test_pictures_of_hardest_negatives_are_small(built):
    for negative in built.data.hardest:
        assert len(negative.image) <= LIMIT
        assert Image.open(io.BytesIO(negative.image)).size == (128, 128)


def test_controls_have_no_hardest_negatives(built):
    assert {negative.model for negative in built.data.hardest} == {MODEL}
    assert "<img" not in built.page["model-check-random.html"]
    assert "A control chooses nothing" in built.page["model-check-random.html"]


def test_error_families_equal_a_slow_count(built):
    names = ("swap", "object_kept", "label_kept", "repeated_pair")
    cells = {}
    for track in TRACKS:
        found = list(items(built, ATTRIBUTE, track))
        lost = [item for item in found if not wins(item, item.false)]
        errors, parts = defaultdict(float), defaultdict(float)
        for item in lost:
            top = max(item.scores[i] for i in item.false)
            highest = [i for i in item.false if item.scores[i] == top]
            for i in highest:
                errors[family(item, i)] += 1 / len(highest)
            for i in item.false:
                parts[family(item, i)] += 1 / len(item.false)
        for name in names:
            (row,) = of(
                built.data.error_families,
                model=MODEL,
                benchmark=ATTRIBUTE,
                track=track,
                family=name,
            )
            rivals = [[i for i in item.false if family(item, i) == name] for item in found]
            won = [wins(item, some) for item, some in zip(found, rivals, strict=True) if some]
            assert row["errors"] == pytest.approx(errors[name])
            assert row["share"] == pytest.approx(errors[name] / len(lost))
            assert row["chance_share"] == pytest.approx(parts[name] / len(lost))
            assert (row["n_items"], row["accuracy"]) == (len(won), sum(won) / len(won))
            chances = [1 / (1 + len(some)) for some in rivals if some]
            assert row["chance"] == pytest.approx(np.mean(chances))
            cells[name, track] = [row["share"], row["accuracy"]]
    wanted = [value for name in names for track in TRACKS for value in cells[name, track]]
    assert values(section(built, "errors")) == wanted
    assert not of(built.data.error_families, benchmark=RELATION)


def test_accuracy_by_mention_order_equals_a_slow_count(built):
    shown = []
    for key in (ATTRIBUTE, RELATION):
        for axis in ("horizontal", "vertical"):
            cells = []
            for track in TRACKS:
                found = [item for item in items(built, key, track) if not asks(item, key, axis)]
                agree = [agreement(item, axis) for item in found]
                for order, sign in (("concordant", 1), ("discordant", -1)):
                    some = [item for item, a in zip(found, agree, strict=True) if a * sign > 0]
                    n, share = accuracy(some, key)
                    rows = of(
                        built.data.concordance,
                        model=MODEL, benchmark=key, track=track, axis=axis, order=order,
                    )  # fmt: skip
                    counted = [(row["n_items"], row["accuracy"]) for row in rows]
                    assert counted == ([(n, share)] if found else [])
                    cells.append(share)
            shown += cells if of(built.data.concordance, benchmark=key, axis=axis) else []
    assert len(set(shown)) > 3
    assert values(section(built, "order")) == shown


def test_accuracy_by_label_equals_a_slow_count(built):
    for key in (ATTRIBUTE, RELATION):
        for track in TRACKS:
            found = list(items(built, key, track))
            rows = of(built.data.by_label, model=MODEL, benchmark=key, track=track, slice="label")
            assert {w for item in found for w in item.labels} <= {row["word"] for row in rows}
            for row in rows:
                some = [item for item in found if row["word"] in item.labels]
                assert (row["n_items"], row["accuracy"]) == accuracy(some, key)
                assert row["accuracy"] is None or row["low"] <= row["accuracy"] <= row["high"]
    rows = of(built.data.by_label, model=MODEL)
    cells = dict.fromkeys((row["benchmark"], row["slice"], row["word"]) for row in rows)
    wanted = [
        row["accuracy"]
        for key, part, word in cells
        for track in TRACKS
        for row in of(rows, benchmark=key, slice=part, word=word, track=track)
    ]
    assert values(section(built, "labels")) == wanted


def test_pairs_that_look_alike_are_a_slice(built):
    close = {
        frozenset((entry.name, other))
        for entry in built.context.lexicon.colors.entries
        for other in entry.close
    }
    for track in TRACKS:
        found = list(items(built, ATTRIBUTE, track))
        alike = [item for item in found if frozenset(item.labels) in close]
        rest = [item for item in found if frozenset(item.labels) not in close]
        for word, some in (("look_alikes", alike), ("others", rest)):
            (row,) = of(built.data.by_label, model=MODEL, track=track, slice="close", word=word)
            assert (row["n_items"], row["accuracy"]) == accuracy(some, ATTRIBUTE)


def test_the_leaderboard_sets_swap_against_confusion(built):
    index = built.page["leaderboard.html"]
    table = index[index.index('<h2 id="gap">') :].split("</section>\n</div>")[0]
    shown = [float(part) for part in re.findall(r"<b>([\d.]+)%</b>", table)]
    wanted = []
    for track in TRACKS:
        for key in (ATTRIBUTE, RELATION):
            found = list(items(built, key, track))
            wanted.append(100 * (accuracy(found, key)[1] or 0))
            wanted.append(100 * np.mean([wins(item, item.false) for item in found]))
    assert shown == pytest.approx(wanted, abs=0.051)


def test_the_report_reads_fresh_scores_only(built):
    context = built.context
    cells = {name for name in report.inputs(context) if name.startswith("model_scores/")}
    models = ("check-constant", "check-random", "check-oracle", "stub-coarse")
    assert cells == {f"model_scores/{key}--{m}" for key in (ATTRIBUTE, RELATION) for m in models}
    profile = context.suite.profile.model_copy(update={"shuffle_clauses": False})
    other = context.suite.model_copy(update={"profile": profile})
    try:
        negatives.build(Context(other, context.store, context.engine), ATTRIBUTE)
        left = {name for name in report.inputs(context) if name.startswith("model_scores/")}
        assert left == {cell for cell in cells if RELATION in cell}
    finally:
        negatives.build(context, ATTRIBUTE)


def test_equal_artifacts_give_equal_files(built):
    task = ShardInputs(0, report.inputs(built.context))
    again = report.RenderReport(built.context.suite)(task).to_pylist()
    assert again == built.artifacts["report/all"].read().to_pylist()
