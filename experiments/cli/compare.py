"""`elkhound compare`: the main job."""

from __future__ import annotations

from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.comparing import configuration_of, run_comparison


@click.command(
    "compare",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound compare problem.json --methods brute-force,cp-sat --time-limit 30",
        "  elkhound compare block.onnx --bind batch=4 --chip toy-64 --run-dir runs/a",
        "  elkhound compare llama-2-13b --bind batch=32,seq=2048,layers=1 --gap 0.01",
        "  elkhound compare problem.json \\",
        "    --methods elk-dyn:allocator=knapsack-dp,cp-sat:order=identity --json",
        "",
        "Exit status: 0 done, 2 bad input, 3 proved infeasible, 4 no plan in time,",
        "5 contradiction or failed verification, 130 after Ctrl-C.",
    ),
)
@click.argument("model")
@click.option(
    "--methods",
    metavar="A,B,…",
    help="Methods, with variants (see `elkhound methods`).  "
    "[default: basic,static,elk-dyn,elk-full,ideal,cp-sat,milp]",
)
@options.problem_flags
@options.limit_flags
@click.option(
    "--prove",
    is_flag=True,
    help="Try every proof again by another formulation, from nothing, and compare.",
)
@options.run_flags
@options.json_flag
@click.pass_context
def command(context: click.Context, /, model: str, **values: Any) -> None:
    """Plan MODEL with several methods, verify, simulate, and say how far from optimal.

    MODEL is an ONNX file, a built-in workload or a problem file (.json, .yaml).
    Plans, scores, rows and plots are kept in a run directory.
    """
    from elkhound.experiments.methods import SCHEDULE, split_names, variants
    from elkhound.experiments.source import is_problem_file, read_source

    flags = options.model_flags(values)
    if values["methods"] is not None and not is_problem_file(model):
        variants(split_names(values["methods"]), SCHEDULE)  # before a long import
    run_comparison(
        context,
        read_source(model, flags),
        values["methods"],
        options.limits_of(values),
        configuration_of(model, flags),
        run_dir=values["run_dir"],
        plots=not values["no_plots"],
        as_json=values["as_json"],
        prove=values["prove"],
    )
