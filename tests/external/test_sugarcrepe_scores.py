"""SugarCrepe scored by models, and the artifacts that a blind audit finds in it."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as PILImage

from bindbench.conme.quality import leaks
from bindbench.errors import UserError
from bindbench.external.sugarcrepe import PARTITIONS, CaptionPair, read_partition
from bindbench.external.sugarcrepe_scores import pair_accuracy, score_pairs
from bindbench.models import registry
from bindbench.models.base import Scores
from bindbench.suite import RoleSettings, VocabularySources

REFERENCE = os.environ.get("BINDBENCH_REFERENCE", "")
COLORS = {"red": (220, 30, 30), "blue": (30, 30, 220), "green": (20, 160, 40)}


@pytest.fixture
def pairs(tmp_path: Path) -> list[CaptionPair]:
    """Pictures of one color, with a caption that names it and one that names another."""
    found = []
    for i, (right, wrong) in enumerate([("red", "blue"), ("blue", "green"), ("green", "red")]):
        pixels = np.full((8, 8, 3), COLORS[right], np.uint8)
        PILImage.fromarray(pixels).save(tmp_path / f"{i}.png")
        texts = f"A {right} wall. ", f"A {wrong} wall"
        found.append(CaptionPair(f"swap_att/{i}", "swap_att", f"{i}.png", *texts))
    return found


class Looks:
    """Scores a caption by how near its color is to the image's."""

    dtype, method = "float64", "color"

    def score(self, requests) -> list[Scores]:
        return [Scores(np.array([self._near(r.image, t) for t in r.texts])) for r in requests]

    def _near(self, image: np.ndarray, text: str) -> float:
        color = next(rgb for name, rgb in COLORS.items() if name in text)
        return -float(np.abs(image.mean(axis=(0, 1)) - color).sum())


class Same(Looks):
    def _near(self, image: np.ndarray, text: str) -> float:
        return 1.0


def test_a_model_that_looks_is_right_and_one_that_does_not_ties(pairs, tmp_path) -> None:
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int, reused: int, rate: float, seconds_left: float | None) -> None:
        told.append((done, total))

    scores = score_pairs(Looks(), pairs, tmp_path, 2, tell)
    assert told == [(2, 3), (3, 3)]
    assert pair_accuracy(pairs, scores, "float64").accuracy == 1
    ties = pair_accuracy(pairs, score_pairs(Same(), pairs, tmp_path, 2), "float64")
    assert (ties.accuracy, ties.tie_rate, ties.credit) == (0, 1, 0.5)
    wrong = pair_accuracy(pairs, scores[:, ::-1], "float64")
    assert wrong.accuracy == 0


def test_a_model_of_the_registry_scores_them(pairs, tmp_path) -> None:
    scorer = registry.load("scorer", RoleSettings(model="check:oracle"), VocabularySources())
    scores = score_pairs(scorer, pairs, tmp_path, 2)
    assert pair_accuracy(pairs, scores, scorer.dtype).accuracy == 1


def test_missing_images_are_listed_before_anything_is_scored(pairs, tmp_path) -> None:
    (tmp_path / "1.png").unlink()
    with pytest.raises(UserError, match=r"1 of 3 images .*\(1.png\)"):
        score_pairs(Looks(), pairs, tmp_path, 2)
    (tmp_path / "1.png").write_bytes(b"no picture")
    with pytest.raises(UserError, match=r"1\.png can't be read"):
        score_pairs(Looks(), pairs, tmp_path, 2)


# Share of right captions with white space at an end (no wrong one has any), and of items in which
# the wrong caption alone ends with a mark.
SPACE = (0.1532, 0.1489, 0.1282, 0.1416, 0.1394, 0.1456, 0.1347)
PERIOD = (0.1387, 0.1988, 0.1675, 0.2234, 0.1892, 0.1201, 0.1265)


@pytest.mark.reference
@pytest.mark.skipif(not REFERENCE, reason="BINDBENCH_REFERENCE is not set")
@pytest.mark.parametrize(
    ("partition", "space", "period"), list(zip(PARTITIONS, SPACE, PERIOD, strict=True))
)
def test_the_blind_audit_finds_white_space_and_final_periods(partition, space, period) -> None:
    found = read_partition(Path(REFERENCE) / "sugarcrepe", partition)
    right, wrong = [one.caption for one in found], [one.negative for one in found]
    cues = {cue.cue: cue for cue in leaks(right, wrong, [one.file for one in found])}
    # Counted by other means than the audit's.
    spaced = [r[:1].isspace() or r[-1:].isspace() for r in right]
    assert not any(w[:1].isspace() or w[-1:].isspace() for w in wrong)
    ended = [w[-1] in ".!?" and r.rstrip()[-1] not in ".!?" for r, w in zip(right, wrong)]  # noqa: B905
    assert np.mean(spaced) == pytest.approx(space, abs=5e-5)
    assert np.mean(ended) == pytest.approx(period, abs=5e-5)
    edge, final = cues["edge_space"], cues["final_punctuation"]
    assert (edge.direction, edge.accuracy) == ("most", pytest.approx(np.mean(spaced)))
    assert (final.direction, final.accuracy) == ("least", pytest.approx(np.mean(ended)))
    assert edge.leak and final.leak
    # A tie is half right: half of the items without the cue, and all with it.
    assert edge.credit == pytest.approx((1 + np.mean(spaced)) / 2)
