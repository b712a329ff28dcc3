"""A script that computes on a running cluster: ``python ray_address_driver.py ENGINE FILE``."""

import sys
from pathlib import Path

import engine_samples as samples

from bindbench.engine.choice import open_engine

if __name__ == "__main__":
    name, file = sys.argv[1], Path(sys.argv[2])
    engine = open_engine(2, name)
    results: dict[int, object] = {}
    engine.map(samples.square, range(6), results.__setitem__)
    engine.map(samples.killed_the_first_time, [file], lambda index, name: results.update({9: name}))
    engine.close()
    print(sorted(results.items()))
