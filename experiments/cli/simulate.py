"""`elkhound simulate`: what a plan costs on the simulated chip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.mapping import (
    FLAGS,
    NEEDED,
    mapping_flags,
    read_mapping,
    require_needed,
)
from elkhound.experiments.cli.writable import require_writable
from elkhound.model.errors import BadInputError


@click.command(
    "simulate",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound simulate plan.json",
        "  elkhound simulate plan.json --fidelity core --json",
        "  elkhound simulate plan.json --trace trace.json",
        "  elkhound simulate bare.json --problem problem.json --json",
        "  elkhound simulate m.txt --workload matmuls --accelerator simple",
    ),
)
@click.argument("plan")
@click.option(
    "--problem",
    metavar="FILE",
    help="Problem file of a bare plan {gates, options}.",
)
@click.option(
    "--fidelity",
    type=click.Choice(("core", "class")),
    help="Simulate every core, or each class of cores with equal tiles (default).",
)
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a Chrome trace here; ui.perfetto.dev opens it.",
)
@mapping_flags("double-buffer", "Of the mapping: tiles on their way take room too.")
@options.json_flag
@click.pass_context
def command(
    context: click.Context,
    /,
    plan: str,
    problem: str | None,
    fidelity: str | None,
    **values: Any,
) -> None:
    """Run PLAN on the simulated chip and show where the time goes.

    The plan is verified first; one that breaks a rule is not simulated (exit 5). With
    --workload and --accelerator, PLAN is a fusion mapping, text or YAML.
    """
    from elkhound.model.io import is_mapping_file

    if values["trace"] is not None:
        require_writable(values["trace"], "trace")
    named = any(values[flag] is not None for flag in NEEDED)
    if not named and not is_mapping_file(plan):
        options.refuse_given(context, FLAGS, "on a plan")
        _simulate_plan(plan, problem, fidelity, values["trace"], values["as_json"])
        return
    require_needed(plan, values)
    options.refuse_given(context, ("problem", "fidelity"), "on a mapping")
    _simulate_mapping(plan, values)


def _simulate_mapping(mapping: str, values: dict[str, Any]) -> None:
    from elkhound.experiments.fusion_simulation import (
        print_simulation,
        simulation_document,
    )
    from elkhound.model.fusion import cost_of
    from elkhound.model.io.text import write_text
    from elkhound.simpy_chip.fused import fused_trace, simulate_mapping

    accelerator, workload, tree, physics = read_mapping(mapping, values)
    score = simulate_mapping(accelerator, workload, tree, physics)
    cost = cost_of(accelerator, workload, tree)
    if values["trace"] is not None:
        write_text(values["trace"], json.dumps(fused_trace(accelerator, score)) + "\n")
    if values["as_json"]:
        click.echo(json.dumps(simulation_document(accelerator, cost, score), indent=2))
    else:
        print_simulation(accelerator, cost, score)


def _simulate_plan(
    plan: str,
    problem: str | None,
    fidelity: str | None,
    trace: Path | None,
    as_json: bool,
) -> None:
    from elkhound.experiments.addresses import plan_violations, shortened
    from elkhound.experiments.kinds import kind_of
    from elkhound.experiments.planfile import read_any_plan
    from elkhound.model.errors import ContradictionError
    from elkhound.model.io.text import write_text
    from elkhound.simpy_chip import (
        Fidelity,
        score_document,
        simulate,
        trace_document,
    )

    read = read_any_plan(plan, problem)
    if fidelity is not None and read.chip is None:
        raise BadInputError(
            "--fidelity has no effect: the plan names no chip, so there is one core",
            code="no-effect",
            where=plan,
        )
    kind = kind_of(read.problem)
    judgement = kind.judge(read.problem, read.plan)
    violations = plan_violations(judgement, read.problem, read.plan, read.addresses)
    if violations:
        raise ContradictionError(
            f"fails verification: {shortened(violations)}",
            code="bad-plan",
            where=plan,
        )
    program = kind.program(read.problem, read.plan, read.chip)
    if program is None:
        raise BadInputError(
            "holds addresses alone, which take no time", code="no-program", where=plan
        )
    score = simulate(program, fidelity=Fidelity(fidelity or "class"))
    if trace is not None:
        write_text(trace, json.dumps(trace_document(program, score)) + "\n")
    if as_json:
        click.echo(json.dumps(score_document(score), indent=2))
        return
    _print(score, judgement.objective, read.chip)


def _print(score: Any, planned: int | float | None, chip: Any) -> None:
    from elkhound.experiments.output import cycles
    from elkhound.experiments.rows import model_error

    clock_hz = None if chip is None else chip.clock_hz
    error = model_error(score.makespan_cycles, planned)
    split = score.split
    shown = {
        "simulated": cycles(score.makespan_cycles, clock_hz),
        "planned": cycles(planned, clock_hz),
        "model error": "–" if error is None else f"{100 * error:+.2f} %",
        "preload only": cycles(split.preload_only, clock_hz),
        "execute only": cycles(split.execute_only, clock_hz),
        "overlapped": cycles(split.overlapped, clock_hz),
        "contention": cycles(split.contention, clock_hz),
        "idle": cycles(split.idle, clock_hz),
        "HBM use": _percent(score.hbm_utilisation),
        "link use": _percent(score.link_utilisation),
        "compute use": _percent(score.compute_utilisation),
        "busiest link": _busiest(score),
        "peak SRAM": f"{score.peak_bytes} B of {score.sram_bytes} B per core",
    }
    for name, value in shown.items():
        click.echo(f"{name:<13} {value}")


def _busiest(score: Any) -> str:
    link = max(score.links, key=lambda link: link.work_cycles)
    part = link.work_cycles / max(1, score.makespan_cycles)
    carried = "" if link.carried_bytes is None else f", {link.carried_bytes} B"
    return f"{link.name}: {_percent(float(part))}{carried}"


def _percent(part: float | None) -> str:
    return "–" if part is None else f"{100 * part:.1f} %"
