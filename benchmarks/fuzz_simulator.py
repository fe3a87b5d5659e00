"""Fuzz the simulator with random programs: legal ones must run, broken ones be refused.

    python benchmarks/fuzz_simulator.py [COUNT=10000] [FIRST_SEED=0]

What is checked is in tests/oracles/simulator_fuzz.py; a failure names its seed.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from oracles.simulator_fuzz import fuzz


def main(count: int = 10_000, first: int = 0) -> None:
    """Check `count` programs and print what became of them."""
    start = process_time()
    became: Counter[str] = Counter()
    for seed in range(first, first + count):
        try:
            became[fuzz(seed)] += 1
        except Exception:
            print(f"seed {seed} fails")
            raise
    print(f"{count} programs from seed {first}: {process_time() - start:.0f} CPU s")
    for outcome, times in became.most_common():
        print(f"{times:>7}  {outcome}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
