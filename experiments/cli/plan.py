"""`elkhound plan`: one method, one plan file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.writable import require_writable
from elkhound.model.errors import BadInputError


@click.command(
    "plan",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound plan problem.json --method cp-sat --output plan.json",
        "  elkhound plan llama-2-13b --bind batch=32,seq=2048,layers=1 \\",
        "    --chip ipu-pod4-hbm --method static --output plan.json",
        "  elkhound plan problem.json --method cp-sat --pin pins.yaml --output p.json",
    ),
)
@click.argument("model")
@click.option("--method", required=True, metavar="NAME", help="Method, with variant.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="Where the plan goes.",
)
@options.problem_flags
@options.thin_flag
@options.pin_flag
@options.limit_flags
@options.json_flag
@click.pass_context
def command(
    context: click.Context,
    /,
    model: str,
    method: str,
    output: Path,
    as_json: bool,
    **values: Any,
) -> None:
    """Plan MODEL with one method; verify and simulate the plan, and write it.

    The plan file holds its problem, so that `simulate` and `evaluate` need no other.
    """
    from elkhound.experiments.cli.comparing import print_result, read_pins
    from elkhound.experiments.cli.progress import ProgressLine
    from elkhound.experiments.comparison import compare
    from elkhound.experiments.kinds import kind_of
    from elkhound.experiments.methods import Role, variant
    from elkhound.experiments.source import read_source

    require_writable(output)
    source = read_source(model, options.model_flags(values))
    kind = kind_of(source.problem)
    if variant(method, kind.registry).entry.role is Role.BOUND:
        raise BadInputError(
            f"{method} gives a bound and no plan", code="no-plan", where="--method"
        )
    with ProgressLine() as progress:
        progress.warn(source.warnings)
        for line in (*source.spilled, *source.fused):
            progress.say(line)
        table = compare(
            source.problem,
            [method],
            chip=source.chip,
            graph=source.graph,
            held=source.held,
            limits=options.limits_of(values),
            observer=progress,
            thin_permille=options.permille(values["thin"]),
            pins=read_pins(values["pin"], source),
            tile_cost=source.tile_cost,
            fused=source.groups,
        )
    outcome = table.outcomes[0]
    if outcome.plan is not None:
        kind.write_plan(
            output, source.problem, outcome.plan, source.chip, outcome.addresses
        )
        progress.say(f"wrote {output}")
    print_result(table, None, as_json)
    context.exit(table.exit_status)
