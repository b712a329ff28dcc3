"""One thread for each worker.

Sums of floats depend on how many threads share them, so that shards are byte-identical for any
number of workers only if every worker computes with the same number of threads: one. Parallelism
comes from the workers.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


@contextmanager
def one_thread_environment() -> Iterator[None]:
    """Set the variables that libraries read when they are imported, and restore them after."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread in this process, also in a torch that is imported already."""
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else None
    if torch:
        torch.set_num_threads(1)
    try:
        with one_thread_environment():
            yield
    finally:
        if torch:
            torch.set_num_threads(threads)
