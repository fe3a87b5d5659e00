"""What planning rules say of plans, and what the simulator says (docs/model-error.md).

Every method plans every problem under each rule; every plan is simulated. Then all
plans are valued by every rule, and by candidates for a better one.

    python benchmarks/model_error.py [--problems 200] [--first-seed 0] [--no-real]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil
from pathlib import Path
from statistics import mean, median
from time import process_time

from elkhound.experiments.methods import SCHEDULE, variant
from elkhound.experiments.source import ModelFlags, read_source
from elkhound.model.chip import Chip
from elkhound.model.instances.schedule import FAMILIES, random_schedule
from elkhound.model.limits import Limits
from elkhound.model.program import program_of
from elkhound.model.referee import judge
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.simpy_chip import simulate

EXAMPLE = Path(__file__).parents[1] / "examples" / "decoder_block.onnx"
RANDOM_METHODS = ("basic", "static", "elk-dyn", "elk-full", "dp", "cp-sat", "milp")
MOST_BY_FORCE = 5  # operators of random problems that brute force plans
REAL_METHODS = ("basic", "static", "elk-dyn", "elk-full", "dp")
SOLVERS = ("cp-sat", "milp")  # on real problems of few operators
FEW = 60
SOLVER_SECONDS = 8
REAL = (
    (str(EXAMPLE), "toy-64", {"batch": 4, "context": 512}),
    ("llama-2-13b", "ipu-pod4-hbm", {"batch": 32, "seq": 2048, "layers": 1}),
    ("llama-2-13b", "ipu-pod4-hbm", {"batch": 32, "seq": 2048, "layers": 4}),
    ("llama-2-13b", "ipu-pod4-hbm", {"batch": 8, "seq": 512, "layers": 1}),
    ("llama-3-8b", "ipu-pod4-hbm", {"batch": 32, "seq": 2048, "layers": 1}),
    ("opt-30b", "ipu-pod4-hbm", {"batch": 16, "seq": 1024, "layers": 1}),
    ("gemma-2-27b", "ipu-pod4-hbm", {"batch": 16, "seq": 2048, "layers": 1}),
    ("llama-2-7b", "ipu-mk2-hbm", {"batch": 4, "seq": 1024, "layers": 1}),
    ("llama-2-13b", "ipu-pod4-hbm", {"batch": 32, "seq": 2048}),
    ("llama-2-13b", "ipu-pod4-hbm-mesh", {"batch": 32, "seq": 2048, "layers": 1}),
    ("llama-2-70b", "ipu-pod4-hbm", {"batch": 32, "seq": 2048, "layers": 2}),
    ("gpt-3-6.7b", "ipu-pod4-hbm", {"batch": 32, "seq": 2048, "layers": 1}),
    ("gpt-3-175b", "ipu-pod4-hbm", {"batch": 16, "seq": 2048, "layers": 1}),
    ("deepseek-v3", "ipu-pod4-hbm", {"batch": 16, "seq": 1024, "layers": 4}),
    ("dit-xl-2", "ipu-mk2-hbm", {"batch": 4, "seq": 256, "layers": 2}),
)


@dataclass(frozen=True)
class Planned:
    """One method's plan under one rule."""

    method: str
    rule: Contention
    plan: Schedule
    planned: int
    simulated: int
    without_latency: int


@dataclass(frozen=True)
class Case:
    """A problem and all plans for it."""

    problem: ScheduleProblem
    plans: tuple[Planned, ...]


# What an execute takes beyond t: its option, its start, the preloads outstanding while
# it runs as (option, start, end), and σ.
Preload = tuple[ScheduleOption, int, int]
Extra = Callable[[ScheduleOption, int, Sequence[Preload], float], float]


def none(option: ScheduleOption, start: int, out: Sequence[Preload], s: float) -> float:
    """Return 0."""
    return 0


def stretch(
    option: ScheduleOption, start: int, out: Sequence[Preload], s: float
) -> float:
    """Return σX if anything outstanding uses the links."""
    return s * option.execute_link_cycles if out else 0


def half_stretch(
    option: ScheduleOption, start: int, out: Sequence[Preload], s: float
) -> float:
    """Return half of it."""
    return stretch(option, start, out, s) / 2


def own_stretch(
    option: ScheduleOption, start: int, out: Sequence[Preload], s: float
) -> float:
    """Return max_j σ_j X, with σ_j of each preload in place of the chip's."""
    return option.execute_link_cycles * max((sigma(p) for p, _, _ in out), default=0)


def capped(
    option: ScheduleOption, start: int, out: Sequence[Preload], s: float
) -> float:
    """Return σX, but no more than the link work of what is outstanding."""
    work = sum(p.preload_link_cycles for p, _, _ in out)
    return min(stretch(option, start, out, s), work)


def own_capped(
    option: ScheduleOption, start: int, out: Sequence[Preload], s: float
) -> float:
    """Return max_j σ_j X, but no more than the link work of what is outstanding."""
    work = sum(p.preload_link_cycles for p, _, _ in out)
    return min(own_stretch(option, start, out, s), work)


def overlap(
    option: ScheduleOption, start: int, out: Sequence[Preload], s: float
) -> float:
    """Return Σ_j σ_j X · (part of t in which P_j is delivered)."""
    if not option.execute_cycles:
        return 0
    end = start + option.execute_cycles
    shared = sum(
        sigma(p) * max(0, min(end, last) - max(start, first)) for p, first, last in out
    )
    return option.execute_link_cycles * shared / option.execute_cycles


def backlog(
    option: ScheduleOption, start: int, out: Sequence[Preload], s: float
) -> float:
    """Return σX · (part of t in which HBM has something to deliver), σ the chip's."""
    if not option.execute_cycles or not out:
        return 0
    left = max(last for _, _, last in out) - start
    part = min(option.execute_cycles, max(0, left)) / option.execute_cycles
    return s * option.execute_link_cycles * part


def still_capped(
    option: ScheduleOption, start: int, out: Sequence[Preload], s: float
) -> float:
    """Return `own_capped` by those of the outstanding that are not delivered yet."""
    return own_capped(option, start, [o for o in out if o[2] > start], s)


RULES: dict[str, Extra] = {
    "none": none,
    "stretch": stretch,
    "half-stretch": half_stretch,
    "own-stretch": own_stretch,
    "capped": capped,
    "own-capped": own_capped,
    "backlog": backlog,
    "overlap": overlap,
    "still-capped": still_capped,
}
WITH_DELAY = "both"


def sigma(option: ScheduleOption) -> float:
    """Return how much slower an exchange is beside this preload."""
    part = min(0.5, option.preload_link_cycles / max(1, option.preload_cycles))
    return part / (1 - part)


def preload_delay(lost: float, start: int, out: Sequence[Preload]) -> float:
    """Return how much later preloads end where an exchange loses `lost` cycles.

    A preload that asks for u > ½ of a port has ½ of it beside an exchange: in the 2 ·
    lost cycles that both last it delivers what it alone would in lost / u.
    """
    waiting = [(last, option) for option, _, last in out if last > start]
    if not waiting or not lost:
        return 0
    option = min(waiting, key=lambda w: w[0])[1]
    part = option.preload_link_cycles / max(1, option.preload_cycles)
    return lost * max(0.0, 2 - 1 / part)


def value(
    problem: ScheduleProblem, plan: Schedule, extra: Extra, *, delay: bool = False
) -> int:
    """Return the makespan of a plan with the durations of a rule.

    `delay`: executes make preloads later, too.
    """
    options = [
        o.options[k] for o, k in zip(problem.operators, plan.options, strict=True)
    ]
    batches: list[list[int]] = [[] for _ in options]
    for j, gate in enumerate(plan.gates):
        if gate is not None:
            batches[gate].append(j)
    s = problem.link_stretch_permille / 1000
    spans: dict[int, tuple[int, int]] = {}
    hbm_free = done = 0
    for i, option in enumerate(options):
        for j in batches[i]:
            first = max(hbm_free, done)
            hbm_free = first + options[j].preload_cycles
            spans[j] = first, hbm_free
        start = max(done, spans[i][1] if i in spans else 0)
        out = [
            (options[j], *span)
            for j, span in spans.items()
            if j > i and options[j].preload_link_cycles
        ]
        lost = extra(option, start, out, s)
        done = start + option.execute_cycles + ceil(lost - 1e-9)
        if delay:
            later = ceil(preload_delay(lost, start, out) - 1e-9)
            for j, (first, last) in spans.items():
                if last > start:
                    spans[j] = first + (later if first >= start else 0), last + later
            hbm_free += later if hbm_free > start else 0
    return done


def plan_all(
    problem: ScheduleProblem, chip: Chip | None, methods: Iterable[str], seconds: float
) -> Case:
    """Plan with every method under every rule, verify and simulate."""
    plans = []
    for rule in Contention:
        ruled = replace(problem, contention=rule)
        for name in methods:
            solver = variant(name, SCHEDULE).build()
            result = solver.solve(ruled, Limits(seconds=seconds, workers=1))
            if result.plan is None:
                continue
            verdict = judge(ruled, result.plan)
            assert verdict.objective is not None, (problem.name, name)
            program = program_of(ruled, result.plan, chip)
            score = simulate(program)
            bare = simulate(program, latency=False, efficiency=False)
            plans.append(
                Planned(
                    name,
                    rule,
                    result.plan,
                    verdict.objective,
                    score.makespan_cycles,
                    bare.makespan_cycles,
                )
            )
    return Case(problem, tuple(plans))


def random_cases(count: int, first: int) -> list[Case]:
    """Return cases of 4 to 8 operators, the families in turn."""
    families = [name for name in FAMILIES]
    cases = []
    for number in range(first, first + count):
        family = families[number % len(families)]
        problem = random_schedule(number, 4 + number // len(families) % 5, family)
        is_small = len(problem.operators) <= MOST_BY_FORCE
        methods = RANDOM_METHODS + (("brute-force",) if is_small else ())
        cases.append(plan_all(problem, None, methods, seconds=5))
    return cases


def real_cases() -> list[Case]:
    """Return cases of language models on chips."""
    cases = []
    for model, chip, bind in REAL:
        source = read_source(model, ModelFlags(bind=bind, chip=chip))
        problem, onto = source.problem, source.chip
        case = plan_all(problem, onto, REAL_METHODS, seconds=10)
        if len(problem.operators) <= FEW:
            more = plan_all(problem, onto, SOLVERS, seconds=SOLVER_SECONDS)
            case = Case(problem, case.plans + more.plans)
        cases.append(case)
    return cases


def only(case: Case, methods: Sequence[str]) -> Case:
    """Return a case with the plans of some methods."""
    return replace(case, plans=tuple(p for p in case.plans if p.method in methods))


def line(name: str, errors: Sequence[float]) -> str:
    """Return a table row of simulated / planned − 1."""
    ordered = sorted(errors)
    low, high = (ordered[round(q * (len(ordered) - 1))] for q in (0.05, 0.95))
    size = mean(abs(e) for e in ordered)
    cells = [mean(ordered), median(ordered), low, high, ordered[0], ordered[-1], size]
    return (
        f"| {name} | {len(ordered)} | " + " | ".join(f"{c:+.1%}" for c in cells) + " |"
    )


HEADER = (
    "plans | mean | median | 5 % | 95 % | least | most | mean size |\n"
    + "|---" * 9
    + "|"
)


def by_method(cases: Sequence[Case]) -> None:
    """Print the distribution for every rule and method that planned under it."""
    print(f"\n| rule, method | {HEADER}")
    for rule in Contention:
        chosen = [p for case in cases for p in case.plans if p.rule is rule]
        for method in dict.fromkeys(p.method for p in chosen):
            errors = [
                p.simulated / p.planned - 1
                for p in chosen
                if p.method == method and p.planned
            ]
            print(line(f"{rule}, {method}", errors))


def flips(cases: Sequence[Case]) -> None:
    """Print how often the simulator reverses a planned order of two methods."""
    print("\n| rule | pairs planned apart | reversed | mean loss of the planned best |")
    print("|---|---|---|---|")
    for rule in Contention:
        apart = turned = 0
        losses = []
        for case in cases:
            plans = [p for p in case.plans if p.rule is rule]
            for a, b in combinations(plans, 2):
                if a.planned != b.planned:
                    apart += 1
                    ranks = (a.planned - b.planned) * (a.simulated - b.simulated)
                    turned += ranks < 0
            if plans:
                taken = min(plans, key=lambda p: p.planned)
                best = min(p.simulated for p in case.plans)  # under any rule
                losses.append(taken.simulated / best - 1)
        print(f"| {rule} | {apart} | {turned / apart:.1%} | {mean(losses):.2%} |")


def candidates(cases: Sequence[Case], *, latency: bool) -> None:
    """Print how well each rule values all plans, whoever made them."""
    columns, rule = HEADER.split("\n")
    print(f"\n| rule | {columns} pairs of plans reversed |\n{rule}---|")
    for name in (*RULES, WITH_DELAY):
        delay = name == WITH_DELAY
        extra = still_capped if delay else RULES[name]
        errors, apart, turned = [], 0, 0
        for case in cases:
            plans = {
                p.plan: p.simulated if latency else p.without_latency
                for p in case.plans
            }
            valued = {
                plan: value(case.problem, plan, extra, delay=delay) for plan in plans
            }
            errors += [plans[plan] / v - 1 for plan, v in valued.items() if v]
            for a, b in combinations(plans, 2):
                if plans[a] != plans[b]:
                    apart += 1
                    turned += (valued[a] - valued[b]) * (plans[a] - plans[b]) < 0
        print(f"{line(name, errors)} {turned / max(1, apart):.1%} of {apart} |")


def main() -> None:
    """Print the tables of docs/model-error.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--no-real", action="store_true")
    arguments = parser.parse_args()
    kinds = {
        "random": lambda: random_cases(arguments.problems, arguments.first_seed),
        "real": real_cases,
    }
    if arguments.no_real:
        del kinds["real"]
    for kind, make in kinds.items():
        start = process_time()
        cases = make()
        plans = sum(len(case.plans) for case in cases)
        for case in cases:  # the rules here are the referee's
            for p in case.plans:
                if str(p.rule) in RULES:
                    assert value(case.problem, p.plan, RULES[p.rule]) == p.planned
        print(f"\n## {kind}: {len(cases)} problems, {plans} plans, "
              f"{process_time() - start:.0f} CPU s")  # fmt: skip
        by_method(cases)
        if kind == "real":  # pairs and rules over what plans every problem
            cases = [only(case, REAL_METHODS) for case in cases]
        flips(cases)
        candidates(cases, latency=True)
        if kind == "real":  # problem files have none
            print("\nSimulated without latency and HBM stripes:")
            candidates(cases, latency=False)


if __name__ == "__main__":
    main()
