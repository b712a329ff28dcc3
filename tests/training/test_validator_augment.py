import numpy as np
import pytest

from bindbench.training.validator_augment import (
    MAX_OBJECTS,
    NO_COLOR,
    Augmenter,
    Palette,
    Sample,
    to_linear,
    to_srgb,
)

SRGB = np.array([[224, 18, 26], [31, 79, 230], [26, 143, 46], [195, 199, 204]])
PALETTE = Palette(to_linear(SRGB), np.array([0, 1, 2]))  # the last is a metal


def scene(*objects: tuple[int, int, int, int]) -> Sample:
    """Squares of 40 pixels; each object: left, top, noun, color."""
    image = np.full((128, 128, 3), 235, dtype=np.uint8)
    instances = np.zeros((128, 128), dtype=np.int8)
    colors = np.full((128, 128), NO_COLOR, dtype=np.int8)
    nouns = np.full(MAX_OBJECTS, -1, dtype=np.int16)
    for k, (left, top, noun, color) in enumerate(objects):
        place = slice(top, top + 40), slice(left, left + 40)
        image[place], instances[place], colors[place], nouns[k] = SRGB[color], k + 1, color, noun
    return Sample(image, instances, colors, nouns)


def test_srgb_round_trip():
    values = np.arange(256)
    assert (to_srgb(to_linear(values)) == values).all()


def test_without_augmentation_labels_are_those_of_the_maps():
    plain = Augmenter(
        [scene((8, 60, 5, 0), (70, 20, 9, 1))], PALETTE, 0.0, 0.0, (0.0, 0.0), unscaled=1.0
    )
    batch = plain.batch(16, np.random.default_rng(0))
    assert batch.nouns[:, :3].tolist() == [[5, 9, -1]] * 16
    sizes = batch.boxes[:, :2, 2:] - batch.boxes[:, :2, :2]
    assert (sizes == 40).all()
    # Shifts and mirroring leave the places of the two relative to each other up to the sign.
    offset = batch.boxes[:, 1, 0] - batch.boxes[:, 0, 0]
    assert set(offset.abs().tolist()) == {62.0}
    assert len(set(offset.tolist())) == 2
    assert batch.shares[:, 0, 0].tolist() == [1.0] * 16
    assert batch.shares[:, 1, 1].tolist() == [1.0] * 16
    assert batch.foreground.sum((1, 2)).tolist() == [200.0] * 16  # 2 x 1600 pixels in cells of 16


def test_every_object_stays_in_the_image():
    augmenter = Augmenter([scene((2, 2, 0, 0), (86, 86, 1, 1))], PALETTE, unscaled=0.0)
    batch = augmenter.batch(32, np.random.default_rng(1))
    first = batch.boxes[:, 0]
    assert ((first[:, 2:] - first[:, :2]) >= 31).all()  # at the smallest scale, 0.8


def test_images_and_labels_agree_after_recoloring():
    augmenter = Augmenter([scene((40, 40, 3, 0))], PALETTE, 1.0, 0.0, (0.0, 0.0), unscaled=1.0)
    batch = augmenter.batch(24, np.random.default_rng(2))
    seen = set()
    for image, box, share in zip(batch.images, batch.boxes[:, 0], batch.shares[:, 0], strict=True):
        color = int(share.argmax())
        assert share[color] == 1
        x, y = ((box[:2] + box[2:]) / 2).long().tolist()
        pixel = (image[:, y, x] * 0.25 + 0.5).clamp(0, 1).numpy() * 255
        # Gain and tint vary by 12% and 3%, so compare the hues.
        distances = [np.abs(pixel / pixel.max() - c / c.max()).max() for c in SRGB[:3]]
        assert int(np.argmin(distances)) == color
        seen.add(color)
    assert seen == {0, 1, 2}


def test_metals_are_not_repainted():
    augmenter = Augmenter([scene((40, 40, 3, 3))], PALETTE, 1.0, 1.0, (0.0, 0.0))
    batch = augmenter.batch(8, np.random.default_rng(3))
    assert batch.shares[:, 0, 3].tolist() == [1.0] * 8


def test_a_second_color_covers_about_half():
    augmenter = Augmenter([scene((40, 40, 3, 0))], PALETTE, 0.0, 1.0, (0.0, 0.0), unscaled=1.0)
    batch = augmenter.batch(64, np.random.default_rng(4))
    share = batch.shares[:, 0, 0].numpy()
    assert ((share == 1) | ((share > 0.3) & (share < 0.7))).all()
    assert (share < 1).mean() > 0.5
    fine = (batch.fine_shares * batch.foreground[..., None]).sum((1, 2)) / 100
    assert fine[:, 0].numpy() == pytest.approx(share, abs=1e-5)


def test_pasted_objects_are_labelled():
    augmenter = Augmenter([scene((5, 5, 7, 1))], PALETTE, 0.0, 0.0, (1.0, 0.0), unscaled=1.0)
    batch = augmenter.batch(16, np.random.default_rng(5))
    pasted = batch.nouns[:, 1] == 7
    assert pasted.float().mean() > 0.8
    assert (batch.shares[:, 1][pasted, 1] == 1).all()


def test_the_seed_decides_the_batch():
    augmenter = Augmenter([scene((8, 60, 5, 0), (70, 20, 9, 1))], PALETTE)
    first, second = (augmenter.batch(4, np.random.default_rng(6)) for _ in range(2))
    assert (first.images == second.images).all()
    assert (first.boxes == second.boxes).all()
