import pytest
import torch

from bindbench.errors import UserError
from bindbench.models.halving import Halving


class Memory:
    """A function that fits a few items at once."""

    def __init__(self, fits: int) -> None:
        self.fits, self.sizes = fits, []

    def __call__(self, items):
        self.sizes.append(len(items))
        if len(items) > self.fits:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")
        return [10 * item for item in items]


def test_what_fits_is_done_in_parts_of_the_size():
    memory = Memory(8)
    assert Halving("tiny", "").map(memory, range(7), 3) == [0, 10, 20, 30, 40, 50, 60]
    assert memory.sizes == [3, 3, 1]


def test_a_part_that_does_not_fit_is_halved_from_there_on(caplog):
    halving, memory = Halving("tiny", ""), Memory(2)
    assert halving.map(memory, range(6), 6) == [0, 10, 20, 30, 40, 50]
    assert memory.sizes == [6, 3, 1, 1, 1, 1, 1, 1]
    memory.sizes.clear()
    assert halving.map(memory, range(2), 6) == [0, 10]
    assert memory.sizes == [1, 1]
    assert "tiny: out of memory, going on with 1 at a time." in caplog.text


def test_memory_that_runs_out_for_one_item_is_one_sentence():
    with pytest.raises(UserError, match=r"tiny: memory runs out for a single item: use less\.$"):
        Halving("tiny", "use less").map(Memory(0), range(3), 4)


def test_another_error_is_not_taken_for_memory():
    def broken(items):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        Halving("tiny", "").map(broken, range(3), 4)
