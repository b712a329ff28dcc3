import dataclasses

from fake_report import fake_report

from bindbench.reporting import views
from bindbench.reporting.samples import GalleryItem


def row(check, reached):
    return {"benchmark": "color-n2", "track": "contextual", "check": check, "reached": reached}


def test_a_check_that_nothing_reached_did_not_run():
    steps = dict(views.funnel([row("captions", 4), row("background", 0)], "color-n2", "contextual"))
    assert list(steps) == ["captions", "presence", "background", "label", "accepted"]
    assert steps["captions"] is not None
    assert steps["background"] is None and steps["presence"] is None


def test_chance_that_differs_between_models_is_a_range():
    pairs = [
        views.Pair({"chance": 0.25}, None),
        views.Pair({"chance": 0.5}, None),
        views.Pair({"chance": None}, None),
    ]
    assert views.reference(pairs, "strict", "chance") == (0.25, 0.5)
    assert views.reference(pairs, "paper", "chance") is None


def item(index, track, accepted):
    verdicts = {"presence": "pass" if accepted else "count"}
    return GalleryItem("color-n2", index, track, "x", "c", accepted, verdicts=verdicts)


def test_a_sample_is_accepted_only_in_both_tracks():
    gallery = [
        item(index, track, index != 1 or track == "contextual")
        for index in range(5)
        for track in ("minimal", "contextual")
    ]
    samples = views.samples_of(gallery)
    assert [sample.accepted for sample in samples] == [True, False, True, True, True]
    assert not views.samples_of([])
    few = views.few_of_benchmark(gallery, "color-n2")
    assert [sample.tracks[0].index for sample in few] == [0, 2, 1]
    assert [one.verdict for one in few[-1].tracks] == ["presence: count", "accepted"]


def test_benchmarks_keep_the_order_of_the_suite_and_controls_come_last():
    data = fake_report(samples=1)
    assert views.benchmarks_of(data)[:3] == ["color-n1", "color-n2", "color-n3"]
    models = [
        "nano:clip",
        "nano:negclip",
        "hf:org/vlm",
        "check:constant",
        "check:random",
        "check:oracle",
    ]
    assert views.models_of(data.leaderboard) == models


def test_the_weakest_fault_leaves_borderline_geometry_out():
    rows = [
        {"benchmark": "b", "track": "t", "fault": fault, "share": share}
        for fault, share in (("borderline", 0.1), ("dropped", 0.9), ("leaked", 0.8), ("size", None))
    ]
    weakest = views.weakest(rows, "b", "t")
    assert weakest is not None and weakest["fault"] == "leaked"


def test_a_benchmark_shows_the_hardest_of_each_model_and_only_a_few():
    data = fake_report(samples=1)
    found = views.hardest_of_each(data, "color-n2", "minimal")
    assert [(n.model, n.chosen_score) for n in found] == [
        ("nano:clip", 0.33),
        ("nano:negclip", 0.33),
    ]
    assert not views.any_hardest(data, "color-n1")
    models = [f"m:{i:02}" for i in range(9)]
    many = dataclasses.replace(
        data,
        leaderboard=[dict(data.leaderboard[0], model=model) for model in models],
        hardest=[dataclasses.replace(found[0], model=model) for model in models],
    )
    assert len(views.hardest_of_each(many, "color-n2", "minimal")) == views.MOST_HARDEST


def test_gaps_are_of_real_models_and_of_benchmarks_with_swaps():
    scores = views.Scores(fake_report(samples=1).leaderboard)
    lines = scores.gaps("minimal")
    assert [key for key, _ in lines] == scores.benchmarks[1:]  # all but color-n1
    swap, confusion = lines[0][1][1]
    assert swap is not None and confusion is not None
    assert (swap["model"], swap["family"], swap["semantics"]) == ("nano:negclip", "swap", "strict")
    assert (confusion["model"], confusion["family"]) == ("nano:negclip", "confusion")
