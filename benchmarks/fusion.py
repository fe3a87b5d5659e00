"""CPU seconds of `pareto-join` on the goldens, beside those of AccelForge.

    python benchmarks/fusion.py [PART OF A CASE'S NAME …]

Each case runs in a process of its own; imports are not counted, generating partial
mappings is. Every optimum is proved, judged and compared with the golden value. Prints
one line per case: the table of docs/fusion.md.
"""

from __future__ import annotations

import json
import resource
import sys
from multiprocessing import get_context
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "heuristics" / "fusion")]
LAYER = {
    "case": "tpu.gpt3_6.7B.b64t4096.E",
    "params": {
        "arch": "tpu_v4i",
        "wl": "gpt3_6.7B",
        "jinja": {"BATCH_SIZE": 64, "N_NEW_TOKENS": 4096},
        "metrics": "ENERGY",
    },
    "cpu_seconds_of_peer": 612,  # measured; its optimum is not among the goldens
}


def measured(raw: dict[str, Any]) -> tuple[float, float, float, int]:
    """Return objective, energy, CPU seconds and peak MiB of one case."""
    from test_golden_optima import assert_verified, expected_of, problem_of, solved

    problem = problem_of(raw["params"])
    result = solved(problem)
    if result.plan is None or result.objective is None:
        raise SystemExit(f"{raw['case']}: no mapping")
    assert_verified(problem, result.plan)
    if "best" in raw:
        expected = expected_of(problem, raw["best"])
        if abs(result.objective / expected - 1) > 1e-6:
            raise SystemExit(f"{raw['case']}: {result.objective}, golden {expected}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return result.objective, result.plan.energy, result.cpu_seconds, peak


def main(*parts: str) -> None:
    golden = json.loads((TESTS / "golden" / "fusion_optima.json").read_text())
    print("| case | objective | energy | CPU s | peer's CPU s | × | MiB |")
    print("|---|---|---|---|---|---|---|")
    for raw in (*golden["optima"], LAYER):
        if parts and not any(part in raw["case"] for part in parts):
            continue
        with get_context("spawn").Pool(1) as pool:
            objective, energy, seconds, peak = pool.apply(measured, (raw,))
        peer = raw.get("cpu_seconds_of_peer")
        times = f"{peer:.1f} | {peer / seconds:.0f}" if peer else "– | –"
        print(
            f"| {raw['case']} | {objective:.9g} | {energy:.9g} | {seconds:.2f} | "
            f"{times} | {peak} |",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
