"""`elkhound workloads`: the built-in models."""

from __future__ import annotations

import json
from pathlib import Path

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.writable import require_writable


@click.group(
    "workloads",
    invoke_without_command=True,
    epilog=options.verbatim(
        "Examples:",
        "  elkhound workloads",
        "  elkhound workloads export llama-2-13b --bind batch=32,seq=2048,layers=2 \\",
        "    --output llama.onnx",
    ),
)
@options.json_flag
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the built-in workloads that can stand for MODEL, and their phases.

    The first phase is the default of --phase.
    """
    from elkhound.model.workloads import workload_names, workload_phases

    if context.invoked_subcommand is not None:
        return
    phases = {name: list(workload_phases(name)) for name in workload_names()}
    if as_json:
        click.echo(json.dumps({"workloads": list(phases), "phases": phases}, indent=2))
        return
    width = max(map(len, phases))
    for name, of_it in phases.items():
        click.echo(f"{name:{width}}  {', '.join(of_it)}")


@command.command(
    "export",
    epilog=options.verbatim(
        "Example:",
        "  elkhound workloads export llama-2-13b --bind batch=32,seq=2048,layers=2 \\",
        "    --phase prefill --output llama.onnx",
    ),
)
@click.argument("name")
@options.bind_flag
@options.phase_flag
@click.option(
    "--form",
    type=click.Choice(("plain", "contrib")),
    default="plain",
    show_default=True,
    help="Operators of the ONNX standard, or fused ones and those of com.microsoft.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="Where the ONNX file goes.",
)
def export(
    name: str, bind: dict[str, int], phase: str | None, form: str, output: Path
) -> None:
    """Write a workload as an ONNX file, without weight data.

    Importing the file gives an equal graph under other names.
    """
    from elkhound.model.workloads.export import export_workload

    require_writable(output)
    graph = export_workload(name, bind, phase, output, form)
    click.echo(f"wrote {output}: {len(graph.operators)} operators")
