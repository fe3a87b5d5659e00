"""`elkhound export`: plans as programs, problems as models, mappings as nests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.mapping import refuse_mapping, require_needed
from elkhound.experiments.cli.writable import require_writable
from elkhound.experiments.source import ModelFlags
from elkhound.model.errors import BadInputError, ContradictionError

PROGRAMS = ("program", "program-json")
MODELS = ("lp", "mps", "cp-sat")
FUSION = ("numpy", "fusion-workload")
ORDERS = ("free", "identity")


@click.command(
    "export",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound export plan.json --format program",
        "  elkhound export plan.json --format program-json --output program.json",
        "  elkhound export problem.json --format mps --order identity --output p.mps",
        "  elkhound export llama-2-13b --bind batch=32,seq=2048,layers=1 \\",
        "    --format cp-sat --output layer.pbtxt",
        "  elkhound export mapping.txt --format numpy --workload matmuls \\",
        "    --accelerator simple --output nest.py",
        "  elkhound export model.onnx --bind batch=1 --format fusion-workload",
    ),
)
@click.argument("source", metavar="PLAN|MODEL|MAPPING")
@click.option("--problem", metavar="FILE", help="The problem, for a bare plan.")
@click.option(
    "--format",
    "form",
    type=options.OneOf(*PROGRAMS, *MODELS, *FUSION),
    default=PROGRAMS[0],
    show_default=True,
    help="Of a plan: text with a line per instruction, or JSON. Of a problem: the MILP "
    "as LP or MPS, or the CP-SAT model (.pb, or .pbtxt for text). Of a fusion mapping: "
    "a loop nest with NumPy arrays. Of a model: its einsums.",
)
@click.option("--workload", metavar="NAME|FILE", help="Of a fusion mapping.")
@click.option("--accelerator", metavar="NAME|FILE", help="Of a fusion mapping.")
@click.option(
    "--order",
    type=options.OneOf(*ORDERS),
    help="Preload orders that a model holds.  [default: free]",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where it goes; needed for a model.  [default: standard output]",
)
@options.problem_flags
@options.json_flag
@click.pass_context
def command(
    context: click.Context,
    /,
    source: str,
    problem: str | None,
    form: str,
    order: str | None,
    workload: str | None,
    accelerator: str | None,
    output: Path | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Write a plan as a device program, a problem as a model, a mapping as a nest.

    A program has preloads and executes, buffers and addresses; addresses are those of
    the plan file, or are found now, and the plan is verified first. A model is the one
    that milp or cp-sat solves, of an ONNX file, a built-in workload or a problem file.
    A nest is a Python module that executes a fusion mapping; fusion-workload is the
    file form of a workload, ready to be edited.
    """
    if output is not None:
        require_writable(output)
    if form in FUSION:
        read = ("bind", *options.ONNX_FLAGS)
        others = [name for name in values if name not in read]
        options.refuse_given(
            context, ("problem", "order", *others), f"on format {form}"
        )
        names = {"workload": workload, "accelerator": accelerator}
        flags = options.model_flags(values)
        _export_fusion(context, source, form, names, flags, output, as_json)
        return
    options.refuse_given(context, ("workload", "accelerator"), f"on format {form}")
    if form in MODELS:
        options.refuse_given(context, ("problem",), f"on format {form}")
        _export_model(source, form, order or ORDERS[0], output, as_json, values)
    else:
        options.refuse_given(context, ("order", *values), f"on format {form}")
        _export_program(source, problem, form, output, as_json)


def _export_model(
    model: str,
    form: str,
    order: str,
    output: Path | None,
    as_json: bool,
    values: dict[str, Any],
) -> None:
    from dataclasses import asdict

    from elkhound.experiments.fused_groups import fused_document
    from elkhound.experiments.model_export import export_model
    from elkhound.experiments.source import read_source
    from elkhound.model.result import OrderClass

    if output is None:
        raise BadInputError(
            f"format {form} needs a file", code="no-output", where="--output"
        )
    source = read_source(model, options.model_flags(values))
    for line in (*source.warnings, *source.spilled, *source.fused):
        click.echo(f"warning: {line}", err=True)
    written = export_model(source, form, OrderClass(order), output)
    if as_json:
        about = {
            "format": form,
            "output": str(output),
            **asdict(written),
            "fused": fused_document(source.groups),
        }
        click.echo(json.dumps(about))
    else:
        click.echo(
            f"wrote {output}: {written.method}, one unit of the objective is "
            f"{written.cycles_per_unit} cycles, rounding error "
            f"{written.rounding_error} cycles"
        )


def _export_fusion(
    context: click.Context,
    source: str,
    form: str,
    names: dict[str, str | None],
    flags: ModelFlags,
    output: Path | None,
    as_json: bool,
) -> None:
    from elkhound.experiments.fusion_export import nest_text, workload_text
    from elkhound.model.io.text import write_text

    if form == "fusion-workload":
        others = ("workload", "accelerator")
        options.refuse_given(context, others, f"on format {form}")
        text, warnings = workload_text(source, flags)
    else:
        workload, accelerator = require_needed(source, names)
        text, warnings = nest_text(source, workload, flags, accelerator)
    for line in warnings:
        click.echo(f"warning: {line}", err=True)
    if output is not None:
        write_text(output, text)
    if as_json:
        shown = None if output is None else str(output)
        click.echo(json.dumps({"format": form, "output": shown, "text": text}))
    elif output is None:
        click.echo(text, nl=False)
    else:
        click.echo(f"wrote {output}")


def _export_program(
    plan: str, problem: str | None, form: str, output: Path | None, as_json: bool
) -> None:
    from elkhound.experiments.addresses import place, plan_violations, shortened
    from elkhound.experiments.kinds import kind_of
    from elkhound.experiments.planfile import read_any_plan
    from elkhound.model.io import program_document, program_text
    from elkhound.model.io.text import as_text, write_text
    from elkhound.model.limits import Limits
    from elkhound.model.program import program_of
    from elkhound.model.schedule import ScheduleProblem

    refuse_mapping(plan, "--format numpy")
    read = read_any_plan(plan, problem)
    if not isinstance(read.problem, ScheduleProblem):
        raise BadInputError(
            "only a schedule is a device program", code="no-program", where=plan
        )
    judgement = kind_of(read.problem).judge(read.problem, read.plan)
    addresses = read.addresses
    violations = plan_violations(judgement, read.problem, read.plan, addresses)
    if violations:
        raise ContradictionError(
            f"fails verification: {shortened(violations)}", code="bad-plan", where=plan
        )
    why = ""
    if addresses is None:
        placed = place(read.problem, read.plan, None, Limits())
        addresses, why = placed.addresses, placed.why
    program = program_of(read.problem, read.plan, read.chip, addresses)
    text = (
        program_text(program)
        if form == "program"
        else as_text(program_document(program))
    )
    if why:
        click.echo(f"warning: no addresses: {why}", err=True)
    if output is not None:
        write_text(output, text)
    about = {"format": form, "addresses": addresses is not None, "reason": why}
    if as_json:
        shown = None if output is None else str(output)
        click.echo(json.dumps({**about, "output": shown, "program": text}))
    elif output is None:
        click.echo(text, nl=False)
    else:
        click.echo(f"wrote {output}")
