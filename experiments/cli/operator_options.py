"""`elkhound options`: the ways to run an operator on a chip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.model.errors import BadInputError

USE = options.Number(
    "share", "number", lambda use: 0 < use <= 1, "in (0, 1]: 0.9 is 90 % of the cores"
)
PADDING = options.Number(
    "ratio", "number", lambda ratio: 1 <= ratio <= 1000, "in [1, 1000]: 1.1 is 10 %"
)


@click.command(
    "options",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound options llama-2-13b --bind batch=32,seq=2048,layers=1",
        "  elkhound options llama-2-13b --bind batch=32,seq=2048,layers=1 \\",
        "    --op layer0.gate --thin 0.05",
        "  elkhound options block.onnx --bind batch=4 --chip toy-64 --op scores --json",
    ),
)
@click.argument("model")
@click.option(
    "--op",
    "operator",
    metavar="NAME",
    help="Show the fronts of this operator.  [default: a row per distinct operator]",
)
@click.option(
    "--plan",
    type=click.IntRange(min=0),
    metavar="N",
    help="Plan of the execute front whose preload states are listed and marked.",
)
@click.option(
    "--use",
    type=USE,
    default=0.9,
    show_default=True,
    help="Least share of the cores that a split uses, where the shape allows it.",
)
@click.option(
    "--padding",
    type=PADDING,
    default=1.1,
    show_default=True,
    help="Largest work of a split with padding, over the true work.",
)
@options.thin_flag
@options.graph_flags
@options.chip_flag
@options.tile_cost_flag
@options.run_flags
@options.json_flag
@click.pass_context
def command(
    context: click.Context,
    /,
    model: str,
    operator: str | None,
    plan: int | None,
    as_json: bool,
    **values: Any,
) -> None:
    """List the ways to run the operators of MODEL on a chip, as Pareto fronts.

    MODEL is an ONNX file or a built-in workload. Of one operator, the execute front
    (space against time) and the preload states of each plan (space against time to
    distribute) are printed, drawn, and kept in a run directory.
    """
    from elkhound.experiments.cli.comparing import configuration_of
    from elkhound.experiments.fronts import (
        Thresholds,
        all_fronts,
        fronts_of,
        operator_document,
        summary_document,
    )
    from elkhound.experiments.run_dir import FrontsDir, default_path
    from elkhound.experiments.source import (
        DEFAULT_CHIP,
        DEFAULT_TILE_COST,
        is_problem_file,
        read_graph,
        spill,
    )
    from elkhound.experiments.tile_costs import tile_cost_document, tile_cost_of
    from elkhound.model.io import load_chip

    if is_problem_file(model):
        raise BadInputError(
            "is a problem file; options takes an ONNX file or a workload",
            code="not-a-model",
            where=model,
        )
    if operator is None:
        options.refuse_given(context, ("plan", "run_dir", "no_plots"), "without --op")
    flags = options.model_flags(values)
    chip = load_chip(DEFAULT_CHIP if flags.chip is None else flags.chip)
    read = spill(read_graph(model, flags), flags, chip)
    for warning in read.warnings:
        click.echo(f"warning: {warning}", err=True)
    named = DEFAULT_TILE_COST if flags.tile_cost is None else flags.tile_cost
    tile_cost = tile_cost_of(named, chip)
    thresholds = Thresholds(
        values["use"],
        values["padding"],
        options.permille(values["thin"]),
        tile_cost,
        tile_cost_document(named, tile_cost),
    )
    if operator is None:
        found = all_fronts(read.graph, chip, thresholds)
        document = summary_document(read.graph, chip, found, thresholds)
        _print(document, None, as_json)
        return
    fronts = fronts_of(read.graph, operator, chip, thresholds)
    if plan is not None and plan >= fronts.plans:
        raise BadInputError(
            f"is {plan}, must be below {fronts.plans}: so many plans are on the "
            "execute front",
            code="no-such-plan",
            where="--plan",
        )
    document = operator_document(read.graph, chip, fronts, thresholds)
    keep = FrontsDir(values["run_dir"] or default_path(f"{model}-{operator}"))
    keep.keep(document, configuration_of(model, flags) | {"operator": operator})
    if not values["no_plots"]:
        keep.draw_fronts(document, () if plan is None else (plan,))
    _print(document, keep.path, as_json, plan)


def _print(
    document: dict[str, Any],
    run_dir: Path | None,
    as_json: bool,
    plan: int | None = None,
) -> None:
    if as_json:
        shown = None if run_dir is None else str(run_dir)
        click.echo(json.dumps(document | {"run_dir": shown}, indent=2))
        return
    from rich.console import Console

    from elkhound.experiments.fronts_table import print_operator, print_summary

    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    if run_dir is None:
        print_summary(console, document)
        return
    print_operator(console, document, plan)
    click.echo(f"run directory: {run_dir}")
