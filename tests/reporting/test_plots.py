import pytest
from fake_report import fake_report

from bindbench.reporting import plots

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def data():
    return fake_report(samples=1)


def draw(data, format):
    shares, target = {"red": 0.7, "blue": 0.3}, {"red": 0.5, "blue": 0.5, "teal": 0.0}
    return [
        plots.survival_funnel(data.survival, "color-n2", format),
        plots.leaderboard_bars(data.leaderboard, "color-n2", format=format),
        plots.label_distribution(shares, target, format=format),
        plots.label_distribution(shares, target, {"red": 0.4}, {"red": 0.6}, format=format),
    ]


@pytest.mark.parametrize("format", ["png", "svg"])
def test_equal_rows_give_equal_bytes(data, format):
    drawn = draw(data, format)
    assert drawn == draw(data, format)
    assert len(set(drawn)) == len(drawn)
    for picture in drawn:
        assert picture.startswith(PNG if format == "png" else b"<?xml")
        assert b"<dc:date>" not in picture


def test_missing_rows_do_not_stop_a_plot(data):
    some = [row for row in data.leaderboard if row["semantics"] == "strict"]
    none = [row | {"accuracy": None} for row in some]
    for rows in (some, none, []):
        assert plots.leaderboard_bars(rows, "color-n2").startswith(PNG)
    assert plots.survival_funnel([], "color-n2").startswith(PNG)
