"""What is shown: crops, drawn boxes and dimmed images, with boxes at the borders worked by hand."""

import numpy as np
import pytest

from bindbench.errors import UserError
from bindbench.instabind.conditions import condition, is_localized
from bindbench.instabind.views import reduced, view

WIDTH, HEIGHT = 100, 60


@pytest.fixture
def image():
    """Each pixel tells its column and row."""
    out = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    out[..., 0], out[..., 1] = np.arange(WIDTH)[None], np.arange(HEIGHT)[:, None]
    out[..., 2] = 200
    return out


def corners(shown):
    """Columns and rows of a crop: left, top, right, bottom, the last two exclusive."""
    left, top, _ = shown[0, 0]
    right, bottom, _ = shown[-1, -1]
    return int(left), int(top), int(right) + 1, int(bottom) + 1


@pytest.mark.parametrize(
    ("box", "setting", "wanted"),
    [
        # 15% of 20 x 10 is 3 x 1.5: whole pixels outwards.
        ((40, 20, 60, 30), "crop_oracle", (37, 18, 63, 32)),
        ((40, 20, 60, 30), "context_crop", (30, 15, 70, 35)),
        # At the borders the padding is clipped, on each side alone.
        ((0, 0, 20, 10), "crop_oracle", (0, 0, 23, 12)),
        ((80, 50, 100, 60), "crop_oracle", (77, 48, 100, 60)),
        ((2, 50, 22, 60), "context_crop", (0, 45, 32, 60)),
        # Fractions, and a box that leaves the image.
        ((10.4, 20.6, 20.4, 30.6), "crop_oracle", (8, 19, 22, 33)),
        ((-30, 20, 10, 40), "crop_oracle", (0, 17, 16, 43)),
        ((0, 0, 100, 60), "context_crop", (0, 0, 100, 60)),
    ],
)
def test_crops(image, box, setting, wanted):
    shown = view(image, box, setting)
    assert corners(shown) == wanted
    assert shown.shape == (wanted[3] - wanted[1], wanted[2] - wanted[0], 3)


@pytest.mark.parametrize("setting", ["full_image", "instance_first"])
def test_the_full_image_is_the_image(image, setting):
    assert (view(image, (40, 20, 60, 30), setting) == image).all()


def test_dimming_leaves_the_target_alone(image):
    shown = view(image, (40, 20, 60, 30), "dim_non_target")
    assert (shown[20:30, 40:60] == image[20:30, 40:60]).all()
    assert shown[19, 40].tolist() == [12, 6, 60]  # 30% of 40, 19 (5.7) and 200
    outside = np.ones((HEIGHT, WIDTH), bool)
    outside[20:30, 40:60] = False
    assert (shown[outside][:, 2] == 60).all()


def test_a_drawn_box_frames_the_target(image):
    shown = view(image, (40, 20, 60, 30), "box_guided")
    # Lines of one pixel at this size: black at the target, white around it.
    assert (shown[20:30, 40:60] == image[20:30, 40:60]).all()
    assert (shown[19, 39:61] == 0).all() and (shown[19:31, 60] == 0).all()
    assert (shown[18, 38:62] == 255).all() and (shown[18:32, 61] == 255).all()
    changed = (shown != image).any(-1)
    assert changed.sum() == 24 * 14 - 20 * 10


def test_a_drawn_box_at_the_border_is_clipped(image):
    shown = view(image, (0, 0, 20, 10), "box_guided")
    assert (shown[:10, :20] == image[:10, :20]).all()
    assert (shown[:11, 20] == 0).all() and (shown[:12, 21] == 255).all()
    assert (shown != image).any(-1).sum() == 22 * 12 - 20 * 10


def test_large_images_are_reduced_with_their_boxes():
    image = np.zeros((1000, 3600, 3), np.uint8)
    image[200:400, 1000:1400] = 255
    small, box = reduced(image, (1000, 200, 1400, 400))
    assert small.shape == (500, 1800, 3)
    assert box == (500, 100, 700, 200)
    assert (small[105:195, 505:695] == 255).all()
    crop = view(image, (1000, 200, 1400, 400), "crop_oracle")
    assert crop.shape == (130, 260, 3)  # 15% of 200 x 100 on each side
    tall = np.zeros((1801, 900, 3), np.uint8)
    assert reduced(tall, (0, 0, 900, 1801))[0].shape == (1800, 900, 3)  # 899.5 to the even number
    exact = np.zeros((1800, 10, 3), np.uint8)
    assert reduced(exact, (0, 0, 1, 1))[0] is exact


@pytest.mark.parametrize("box", [(100, 20, 120, 30), (-20, 0, 0, 10), (0, 60, 5, 70)])
def test_a_box_outside_the_image_can_not_be_shown(image, box):
    with pytest.raises(UserError, match=r"lies outside its image of 100 x 60"):
        view(image, box, "crop_oracle")
    assert view(image, box, "full_image").shape == image.shape


def test_settings_are_known_by_their_names():
    assert condition("crop_oracle_choice").localized
    assert condition("crop_oracle_choice").reference == "full_image_choice"
    assert condition("instance_first").reference == "full_image"
    assert is_localized("context_crop_choice") and not is_localized("full_image_choice")
    with pytest.raises(UserError, match="did you mean crop_oracle"):
        condition("crop_oracel")
    with pytest.raises(UserError, match="Unknown setting 'instance_first_choice'"):
        condition("instance_first_choice")
