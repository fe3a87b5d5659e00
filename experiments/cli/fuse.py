"""`elkhound fuse`: fused mappings of a workload on an accelerator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.comparing import run_comparison
from elkhound.model.errors import BadInputError

OBJECTIVES = ("energy", "latency", "edp", "front")
TILES = ("divisors", "even", "any")
_OF_PROBLEMS = (
    "accelerator",
    "bind",
    "no_fuse",
    "max_fused_loops",
    "max_fused_loops_per_rank",
    "ordered_loops",
    "tiles",
    *options.ONNX_FLAGS,
)


@click.command(
    "fuse",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound fuse chain.yaml --accelerator tpu-v4i --objective energy \\",
        "    --methods pareto-join,cp-sat --json",
        "  elkhound fuse matmuls --bind einsums=3,m=64,width=64 --accelerator simple",
        "  elkhound fuse runs/chain/problem.json --objective front",
        "  elkhound fuse block.onnx --bind batch=1 --accelerator edge --objective edp",
        "",
        "Exit status: 0 done, 2 bad input, 3 proved infeasible, 4 nothing found in",
        "time, 5 contradiction or failed verification, 130 after Ctrl-C.",
    ),
)
@click.argument("workload")
@click.option(
    "--accelerator",
    metavar="NAME|FILE",
    help="Preset, YAML file, or a chip; a problem file has its own.",
)
@click.option(
    "--objective",
    type=options.OneOf(*OBJECTIVES),
    help="What is least; front: every trade of energy against latency.  [default: "
    "energy, or the problem file's]",
)
@click.option(
    "--methods",
    metavar="A,B,…",
    help="Methods, with variants (see `elkhound methods`).  [default: pareto-join]",
)
@options.bind_flag
@options.onnx_flags
@click.option(
    "--no-fuse", is_flag=True, help="Send every intermediate through main memory."
)
@click.option(
    "--max-fused-loops",
    type=click.IntRange(min=0),
    help="Most loops above what one einsum shares with others.  [default: no limit]",
)
@click.option(
    "--max-fused-loops-per-rank",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Most of them over one rank.",
)
@click.option(
    "--ordered-loops",
    is_flag=True,
    help="Also fused loops in orders that the paper's space leaves out.",
)
@click.option(
    "--tiles",
    type=options.OneOf(*TILES),
    default="divisors",
    show_default=True,
    help="Tiles that divide what they cut, also the smallest of every number of "
    "steps, or of any size.",
)
@options.limit_flags
@options.prove_flag
@click.option(
    "--run-dir",
    "--output",
    type=click.Path(path_type=Path),
    help="Where everything is kept.  [default: runs/<time>-<name>]",
)
@click.option("--no-plots", is_flag=True, help="Draw no plots.")
@options.json_flag
@click.pass_context
def command(context: click.Context, /, workload: str, **values: Any) -> None:
    """Map WORKLOAD onto an accelerator, einsums fused, with several methods.

    WORKLOAD is built in, a YAML file of einsums, an ONNX file, or the problem.json of
    another run, which has accelerator, objective and limits too. The referee judges
    every mapping. Mappings (text, YAML, NumPy loop nest), rows and plots are kept in a
    run directory.
    """
    from elkhound.experiments.fusion_source import (
        is_fusion_problem,
        read_fusion_source,
    )

    if is_fusion_problem(workload):
        options.refuse_given(context, _OF_PROBLEMS, "on a problem file")
    elif values["accelerator"] is None:
        raise BadInputError(
            "is missing; only problem files have one of their own",
            code="usage",
            where="--accelerator",
            hint="elkhound schema accelerator, or a preset: simple, tpu-v4i, edge",
        )
    if values["no_fuse"]:
        options.refuse_given(
            context,
            ("max_fused_loops", "max_fused_loops_per_rank", "ordered_loops"),
            "where nothing is fused",
        )
    source = read_fusion_source(
        workload,
        options.model_flags(values),
        values["accelerator"],
        values["objective"],
        fuse=not values["no_fuse"],
        max_fused_loops=values["max_fused_loops"],
        max_fused_loops_per_rank=values["max_fused_loops_per_rank"],
        ordered_loops=values["ordered_loops"],
        tiles=values["tiles"],
    )
    named = ("bind", *options.ONNX_FLAGS, "accelerator", "objective", "no_fuse")
    run_comparison(
        context,
        source,
        values["methods"],
        options.limits_of(values),
        {"workload": workload, **{name: values[name] for name in named}},
        run_dir=values["run_dir"],
        plots=not values["no_plots"],
        as_json=values["as_json"],
        prove=values["prove"],
    )
