"""The losses: worked by hand on 2 x 2, gradients against finite differences."""

import math

import pytest
import torch

from bindbench.training.finetuning.losses import infonce, sigmoid

# Two images; their captions, then one hard negative of each.
LOGITS = [[2.0, 0.0, 1.0, -1.0], [1.0, 3.0, 0.0, 2.0]]
NONE = torch.zeros(2, 4, dtype=torch.bool)


def logits() -> torch.Tensor:
    return torch.tensor(LOGITS, dtype=torch.float64, requires_grad=True)


def test_infonce_with_hard_negatives_by_hand():
    # Images choose among four captions, captions among two images.
    first = -2 + math.log(math.exp(2) + 1 + math.exp(1) + math.exp(-1))
    second = -3 + math.log(math.exp(1) + math.exp(3) + 1 + math.exp(2))
    by_image = (first + second) / 2
    by_text = (-2 + math.log(math.exp(2) + math.exp(1)) - 3 + math.log(1 + math.exp(3))) / 2
    assert infonce(logits(), NONE).item() == pytest.approx((by_image + by_text) / 2, abs=1e-12)


def test_a_caption_that_may_be_true_does_not_count():
    excluded = NONE.clone()
    excluded[0, 1] = excluded[1, 2] = True
    first = -2 + math.log(math.exp(2) + math.exp(1) + math.exp(-1))
    second = -3 + math.log(math.exp(1) + math.exp(3) + math.exp(2))
    # Of the texts' side, caption 1 has image 1 alone left.
    by_text = (-2 + math.log(math.exp(2) + math.exp(1)) + 0) / 2
    wanted = ((first + second) / 2 + by_text) / 2
    assert infonce(logits(), excluded).item() == pytest.approx(wanted, abs=1e-12)


def test_sigmoid_with_bias_by_hand():
    bias, scale = -1.0, 2.0
    cosines = torch.tensor([[0.5, -0.5], [0.25, 1.0]], dtype=torch.float64)
    hard = torch.tensor([[0.75], [-1.0]], dtype=torch.float64)
    found = sigmoid(scale * torch.cat([cosines, hard], 1) + bias, NONE[:, :3])

    def cost(z: int, cosine: float) -> float:
        return math.log(1 + math.exp(-z * (scale * cosine + bias)))

    wanted = cost(1, 0.5) + cost(-1, -0.5) + cost(-1, 0.75)
    wanted += cost(-1, 0.25) + cost(1, 1.0) + cost(-1, -1.0)
    assert found.item() == pytest.approx(wanted / 2, abs=1e-12)
    excluded = NONE[:, :3].clone()
    excluded[0, 2] = True
    fewer = sigmoid(scale * torch.cat([cosines, hard], 1) + bias, excluded)
    assert fewer.item() == pytest.approx((wanted - cost(-1, 0.75)) / 2, abs=1e-12)


@pytest.mark.parametrize("loss", [infonce, sigmoid])
def test_gradients_are_those_of_finite_differences(loss):
    excluded = NONE.clone()
    excluded[1, 3] = True
    values, step = logits(), 1e-6
    loss(values, excluded).backward()
    assert values.grad is not None
    for place in ((i, j) for i in range(2) for j in range(4)):
        ahead, behind = values.detach().clone(), values.detach().clone()
        ahead[place] += step
        behind[place] -= step
        slope = (loss(ahead, excluded) - loss(behind, excluded)) / (2 * step)
        assert values.grad[place].item() == pytest.approx(slope.item(), abs=1e-8)
    assert values.grad[1, 3] == 0


@pytest.mark.parametrize("loss", [infonce, sigmoid])
def test_scale_and_bias_have_the_gradients_of_finite_differences(loss):
    cosines = torch.tensor(LOGITS, dtype=torch.float64) / 4

    def value(scale: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return loss(scale.exp() * cosines + (bias if loss is sigmoid else 0), NONE)

    inputs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (0.7, -1.5)]
    assert torch.autograd.gradcheck(value, inputs)
