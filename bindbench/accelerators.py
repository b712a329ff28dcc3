"""The accelerators that torch finds. Importing this takes seconds."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Accelerator:
    """A device that models can run on."""

    device: str  # as an option names it: cuda:0
    name: str
    memory: int | None  # bytes; None: it shares the machine's
    free: int | None


def accelerators() -> list[Accelerator]:
    """Return the CUDA devices, and Apple's where there is one."""
    found = [_cuda(i) for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        found.append(Accelerator("mps", "Apple", None, None))
    return found


def _cuda(index: int) -> Accelerator:
    free, total = torch.cuda.mem_get_info(index)
    return Accelerator(f"cuda:{index}", torch.cuda.get_device_name(index), total, free)


def in_use() -> list[str]:
    """Return the names of the CUDA devices, if this process has computed on any."""
    if not torch.cuda.is_initialized():
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def is_here(device: str) -> bool:
    """Whether torch can put a tensor on a device such as cpu, cuda or cuda:1."""
    try:
        torch.empty(0, device=torch.device(device))
    except (RuntimeError, AssertionError):
        return False
    return True
