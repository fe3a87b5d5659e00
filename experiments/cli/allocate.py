"""`elkhound allocate`: the allocation problem on its own."""

from __future__ import annotations

from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.comparing import configuration_of, run_comparison
from elkhound.model.errors import BadInputError


@click.command(
    "allocate",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound allocate step.json",
        "  elkhound allocate step.json --methods delta,knapsack-dp --json",
    ),
)
@click.argument("problem")
@click.option(
    "--methods",
    metavar="A,B,…",
    help="Methods, with variants (see `elkhound methods`).  "
    "[default: delta,delta-hull-fill,knapsack-dp,cp-sat,milp]",
)
@options.limit_flags
@options.run_flags
@options.json_flag
@click.pass_context
def command(context: click.Context, /, problem: str, **values: Any) -> None:
    """Share out SRAM among live operators with several methods.

    PROBLEM is an allocation problem file.
    """
    from elkhound.experiments.source import ModelFlags, is_problem_file, read_source
    from elkhound.model.allocation import AllocationProblem

    if not is_problem_file(problem):
        raise BadInputError(
            "is no problem file",
            code="not-a-problem",
            where=problem,
            hint=".json, .yaml",
        )
    flags = ModelFlags()
    source = read_source(problem, flags)
    if not isinstance(source.problem, AllocationProblem):
        raise BadInputError(
            "holds another kind of problem, allocate takes an allocation problem",
            code="wrong-kind",
            where=problem,
            hint=f"elkhound compare {problem}",
        )
    run_comparison(
        context,
        source,
        values["methods"],
        options.limits_of(values),
        configuration_of(problem, flags),
        run_dir=values["run_dir"],
        plots=not values["no_plots"],
        as_json=values["as_json"],
    )
