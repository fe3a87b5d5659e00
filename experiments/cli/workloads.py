"""`elkhound workloads`: the built-in models."""

from __future__ import annotations

import json
from pathlib import Path

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.writable import require_writable
from elkhound.model.errors import BadInputError


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
    help="Where the ONNX file goes; its name ends in .onnx.",
)
@options.json_flag
def export(
    name: str,
    bind: dict[str, int],
    phase: str | None,
    form: str,
    output: Path,
    as_json: bool,
) -> None:
    """Write a workload as an ONNX file, without weight data.

    Importing the file gives an equal graph under other names.
    """
    from elkhound.model.workloads.export import export_workload

    if output.suffix.lower() != ".onnx":
        raise BadInputError(
            "a name that does not end in .onnx is not read as a model",
            code="unknown-file-type",
            where=str(output),
            hint=str(output / "model.onnx" if output.is_dir() else f"{output}.onnx"),
        )
    require_writable(output)
    operators = len(export_workload(name, bind, phase, output, form).operators)
    if as_json:
        click.echo(json.dumps({"path": str(output), "operators": operators}))
    else:
        click.echo(f"wrote {output}: {operators} operators")
