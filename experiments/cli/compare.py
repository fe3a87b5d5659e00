"""`elkhound compare`: the main job."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.comparing import configuration_of, run_comparison
from elkhound.experiments.source import ModelFlags

_PLANNING = (
    "methods", "time_limit", "gap", "seed", "workers", "prove", "run_dir", "no_plots",
    "contention", "max_outstanding", "thin", "pin", "tile_cost", "fuse",
)  # fmt: skip


@click.command(
    "compare",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound compare problem.json --methods brute-force,cp-sat --time-limit 30",
        "  elkhound compare block.onnx --bind batch=4 --chip toy-64 --run-dir runs/a",
        "  elkhound compare llama-2-13b --bind batch=32,seq=2048,layers=1 --gap 0.01",
        "  elkhound compare problem.json \\",
        "    --methods elk-dyn:allocator=knapsack-dp,cp-sat:order=identity --json",
        "  elkhound compare llama-2-70b --bind batch=64,seq=4096 --min-capacity",
        "  elkhound compare llama-2-13b --bind batch=32,seq=2048,layers=1 --thin 0.05",
        "  elkhound compare problem.json --methods cp-sat,brute-force --pin pins.yaml",
        "  elkhound compare block.onnx --bind batch=4 --tile-cost measured.csv",
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
@options.thin_flag
@options.pin_flag
@options.limit_flags
@options.prove_flag
@click.option(
    "--min-capacity",
    is_flag=True,
    help="Print the smallest SRAM per core that works, and plan nothing.",
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
    if values["min_capacity"]:
        options.refuse_given(context, _PLANNING, "where nothing is planned")
        _print_min_capacity(model, flags, values["as_json"])
        return
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
        thin_permille=options.permille(values["thin"]),
        pin=values["pin"],
    )


def _print_min_capacity(model: str, flags: ModelFlags, as_json: bool) -> None:
    from elkhound.experiments.min_capacity import min_capacity
    from elkhound.model.units import in_kib

    found = min_capacity(model, flags)
    if as_json:
        click.echo(json.dumps(asdict(found)))
        return
    size, available = found.smallest_capacity_bytes, found.available_bytes
    click.echo(
        f"smallest capacity that works: {size} B{in_kib(size)}, needed by "
        f"{found.needed_by}; {available} B{in_kib(available)} are available"
    )
