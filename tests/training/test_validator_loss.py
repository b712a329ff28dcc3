import pytest
import torch

from bindbench.models.pixel_network import Outputs
from bindbench.training.validator_augment import MAX_OBJECTS, Batch
from bindbench.training.validator_loss import IGNORED, assign_cells, validator_loss

NOUNS, COLORS = 5, 4


def boxes_of(*boxes: tuple[float, float, float, float]) -> tuple[torch.Tensor, torch.Tensor]:
    filled = [*boxes, *[(0.0, 0.0, 0.0, 0.0)] * (MAX_OBJECTS - len(boxes))]
    return torch.tensor([filled]), torch.arange(MAX_OBJECTS)[None] < len(boxes)


def test_the_middle_of_a_box_is_positive_and_a_ring_is_ignored():
    # A box of 80 pixels around (64, 64): the middle reaches 13.6 pixels, the ring 25.6.
    target, owner = assign_cells(*boxes_of((24.0, 24.0, 104.0, 104.0)))
    # Centres of cells lie at 4, 12, ..., so 52, 60, 68 and 76 are within 13.6 of 64 (12 at most).
    assert (target[0, 6:10, 6:10] == 1).all()
    assert (target == 1).sum() == 16
    # 44 and 84 are within 25.6 (20): one ring of cells around the 4 x 4.
    assert (target == IGNORED).sum() == 6 * 6 - 16
    assert (owner[0, 6:10, 6:10] == 0).all()


def test_the_smallest_object_has_a_cell():
    target, _ = assign_cells(*boxes_of((61.0, 61.0, 66.0, 66.0)))
    assert (target == 1).sum() >= 1


def test_a_cell_of_two_objects_belongs_to_the_nearer():
    target, owner = assign_cells(*boxes_of((0.0, 40.0, 80.0, 80.0), (40.0, 40.0, 128.0, 80.0)))
    row = target[0, 7]
    assert row.tolist().count(1.0) >= 4
    assert owner[0, 7, 4] == 0  # x = 36, centres at 40 and 84
    assert owner[0, 7, 10] == 1


def perfect() -> tuple[Outputs, Batch]:
    boxes, valid = boxes_of((24.0, 24.0, 104.0, 104.0))
    nouns = torch.where(valid, 2, -1)
    shares = torch.zeros(1, MAX_OBJECTS, COLORS)
    shares[0, 0, 1] = 1
    foreground = torch.zeros(1, 32, 32)
    foreground[0, 6:26, 6:26] = 1
    fine = torch.zeros(1, 32, 32, COLORS)
    fine[..., 1] = foreground
    target, _ = assign_cells(boxes, valid)
    centre = torch.arange(16) * 8 + 4.0
    sides = torch.stack(
        [
            (centre - 24)[None].expand(16, 16),
            (centre - 24)[:, None].expand(16, 16),
            (104 - centre)[None].expand(16, 16),
            (104 - centre)[:, None].expand(16, 16),
        ]
    )
    noun_logits = torch.full((1, NOUNS, 16, 16), -20.0)
    noun_logits[:, 2] = 20
    color_logits = torch.full((1, COLORS, 16, 16), -20.0)
    color_logits[:, 1] = 20
    outputs = Outputs(
        objectness=torch.where(target > 0, 20.0, -20.0),
        sides=(sides / 16)[None],
        nouns=noun_logits,
        colors=color_logits,
        foreground=torch.where(foreground > 0, 20.0, -20.0),
        fine_colors=torch.where(torch.arange(COLORS)[None, :, None, None] == 1, 20.0, -20.0).expand(
            1, COLORS, 32, 32
        ),
    )
    batch = Batch(torch.zeros(1, 3, 128, 128), nouns, boxes, shares, foreground, fine)
    return outputs, batch


def test_perfect_outputs_cost_what_label_smoothing_costs():
    outputs, batch = perfect()
    _, parts = validator_loss(outputs, batch)
    assert parts["object"] == pytest.approx(0, abs=1e-6)
    assert parts["box"] == pytest.approx(0, abs=1e-6)
    assert parts["mask"] == pytest.approx(0, abs=1e-6)
    # Smoothing .03: each wrong class has the share .03 / n at a log-probability of -40.
    assert parts["noun"] == pytest.approx(40 * 0.03 * (NOUNS - 1) / NOUNS, rel=1e-4)
    assert parts["color"] == pytest.approx(40 * 0.03 * (COLORS - 1) / COLORS, rel=1e-4)
    assert parts["parts"] == pytest.approx(parts["color"], rel=1e-4)


def test_a_wrong_noun_costs_more():
    outputs, batch = perfect()
    right, _ = validator_loss(outputs, batch)
    wrong = Batch(**{**vars(batch), "nouns": torch.where(batch.nouns == 2, 3, batch.nouns)})
    assert validator_loss(outputs, wrong)[0] > right + 10


def test_a_batch_without_objects_has_a_finite_loss():
    outputs, batch = perfect()
    empty = Batch(
        batch.images,
        torch.full_like(batch.nouns, -1),
        torch.zeros_like(batch.boxes),
        torch.zeros_like(batch.shares),
        torch.zeros_like(batch.foreground),
        torch.zeros_like(batch.fine_shares),
    )
    total, _ = validator_loss(outputs, empty)
    assert torch.isfinite(total)
