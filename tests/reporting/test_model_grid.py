"""The tables of ``bindbench evaluate``, from rows by hand."""

from bindbench.reporting.evaluation import model_grid, prompt_grid, readout_grid


def row(**fields):
    defaults = {
        **{"model": "hf:a/b", "benchmark": "color-n2", "track": "minimal", "set": "all"},
        **{"readout": "score", "family": "confusion", "semantics": "strict"},
        **{"n_items": 60, "n_excluded": 0, "accuracy": 0.5, "low": 0.4, "high": 0.6},
        **{"chance": 0.0625, "ceiling": None, "undecided": None},
    }
    return defaults | fields


def test_a_line_for_each_benchmark_family_and_mode():
    rows = [
        row(),
        row(semantics="paper", accuracy=0.0, low=0.0, high=0.06, ceiling=0.5),
        row(family="confusion_no_count"),  # as on the printed leaderboard, not shown
        row(family="swap", accuracy=None, low=None, high=None, chance=None, n_items=0),
        row(track="contextual", accuracy=0.9),
        row(set="paired", accuracy=0.8),
        row(readout="mean", accuracy=0.7),
        row(benchmark="color-n1", family="vary_color", accuracy=1.0, high=1.0),
    ]
    grid = model_grid(rows, "minimal")
    assert grid.headers[3:] == ("Accuracy", "95%", "Chance", "Ceiling", "Items")
    assert grid.rows == (
        ("color-n2", "Confusion", "strict", "50.0", "40.0–60.0", "6.2", "—", "60"),
        ("color-n2", "Confusion", "paper", "0", "0–6.0", "6.2", "50.0", "60"),
        ("color-n2", "Swap", "strict", "—", "", "—", "—", "0"),
        ("color-n1", "Other color", "strict", "100", "40.0–100", "6.2", "—", "60"),
    )
    assert "undecided" not in grid.note


def test_undecided_items_are_said():
    grid = model_grid([row(undecided=0.1), row(semantics="paper", undecided=0.25)], "minimal")
    assert "The arithmetic leaves 10.0–25.0% of the items undecided" in grid.note


def test_readouts_stand_side_by_side():
    assert readout_grid([row()]) is None
    rows = [
        row(),
        row(readout="blind", accuracy=0.1),
        row(readout="mean", accuracy=0.7),
        row(readout="mean", accuracy=0.2, track="contextual"),
        row(readout="mean", accuracy=0.3, semantics="paper"),
        row(readout="mean", accuracy=0.3, set="paired"),
        row(readout="mean", accuracy=-0.3, set="paired", track="difference"),
    ]
    grid = readout_grid(rows)
    assert grid is not None
    assert grid.headers == ("Benchmark", "Wrong captions", "Track", "Score", "Mean", "Blind")
    assert grid.rows == (
        ("color-n2", "Confusion", "Minimal", "50.0", "70.0", "10.0"),
        ("color-n2", "Confusion", "Contextual", "—", "20.0", "—"),
    )


def test_prompts():
    rows = [
        {
            **{"benchmark": "color-n2", "track": "contextual", "family": "swap", "n_items": 40},
            "accuracy": {
                name: {"accuracy": share, "chance": 1 / 3}
                for name, share in {"a": 0.5, "b": 0.6, "c": 1.0}.items()
            },
            "agreement": {"share": 0.25},
            "pairs": [{"share": 0.5}, {"share": 0.375}, {"share": 0.625}],
        }
    ]
    grid = prompt_grid(rows)
    assert grid.headers[3:] == ("a", "b", "c", "Chance", "All agree", "Worst pair", "Items")
    assert grid.rows == (
        ("color-n2", "Swap", "Contextual", "50.0", "60.0", "100", "33.3", "25.0", "37.5", "40"),
    )
    assert prompt_grid([]).rows == ()
