"""`elkhound export`: a plan as its device program."""

from __future__ import annotations

import json
from pathlib import Path

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.writable import require_writable
from elkhound.model.errors import BadInputError, ContradictionError

FORMATS = ("program", "program-json")


@click.command(
    "export",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound export plan.json --format program",
        "  elkhound export plan.json --format program-json --output program.json",
    ),
)
@click.argument("plan")
@click.option("--problem", metavar="FILE", help="The problem, for a bare plan.")
@click.option(
    "--format",
    "form",
    type=options.OneOf(*FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="Text with a line per instruction, or JSON.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where the program goes.  [default: standard output]",
)
@options.json_flag
def command(
    plan: str, problem: str | None, form: str, output: Path | None, as_json: bool
) -> None:
    """Write PLAN as a device program: preloads and executes, buffers and addresses.

    Addresses are those of the plan file, or are found now. The plan is verified first.
    """
    from elkhound.experiments.addresses import address_violations, place
    from elkhound.experiments.kinds import kind_of
    from elkhound.experiments.planfile import read_any_plan
    from elkhound.model.io import program_document, program_text
    from elkhound.model.io.text import as_text, write_text
    from elkhound.model.limits import Limits
    from elkhound.model.program import program_of
    from elkhound.model.schedule import ScheduleProblem

    if output is not None:
        require_writable(output)
    read = read_any_plan(plan, problem)
    if not isinstance(read.problem, ScheduleProblem):
        raise BadInputError(
            "only a schedule is a device program", code="no-program", where=plan
        )
    violations = kind_of(read.problem).judge(read.problem, read.plan).violations
    addresses = read.addresses
    if addresses is not None and not violations:
        violations = address_violations(read.problem, read.plan, addresses)
    if violations:
        raise ContradictionError(
            "fails verification: " + "; ".join(violations), code="bad-plan", where=plan
        )
    why = ""
    if addresses is None:
        addresses, why = place(read.problem, read.plan, None, Limits())
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
