"""`elkhound evaluate`: what the referee says of a plan."""

from __future__ import annotations

import json
from typing import Any

import click

from elkhound.experiments.cli import options


@click.command(
    "evaluate",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound evaluate --plan plan.json",
        "  elkhound evaluate problem.json --plan edited.json --json",
    ),
)
@click.argument("problem", required=False)
@click.option("--plan", "plan", required=True, metavar="FILE", help="The plan file.")
@options.json_flag
@click.pass_context
def command(
    context: click.Context, problem: str | None, plan: str, as_json: bool
) -> None:
    """Recompute a plan from the definition, hand-edited ones too.

    PROBLEM is needed for a bare plan {gates, options}. A plan that breaks a rule is
    listed with every rule it breaks (exit 5).
    """
    from elkhound.experiments.addresses import address_violations
    from elkhound.experiments.kinds import kind_of
    from elkhound.experiments.planfile import read_any_plan

    read = read_any_plan(plan, problem)
    kind = kind_of(read.problem)
    judgement = kind.judge(read.problem, read.plan)
    violations = judgement.violations
    if read.addresses is not None and judgement.feasible:
        violations = address_violations(read.problem, read.plan, read.addresses)
    document: dict[str, Any] = {
        "kind": kind.name,
        "problem": read.problem.name,
        "contention": kind.contention(read.problem),
        "objective": judgement.objective,
        "order": None if judgement.order is None else str(judgement.order),
        "verified": not violations,
        "violations": list(violations),
    }
    if judgement.bytes_used is not None:
        document["bytes_used"] = judgement.bytes_used
    if judgement.height_bytes is not None:
        document["height_bytes"] = judgement.height_bytes
    if as_json:
        click.echo(json.dumps(document, indent=2))
    elif not violations:
        rule = f" under the {document['contention']} rule" if document["order"] else ""
        order = f", order {document['order']}" if document["order"] else ""
        unit = "cycles" if judgement.height_bytes is None else "bytes high"
        click.echo(f"{plan}: {judgement.objective} {unit}{rule}{order}")
    else:
        for violation in violations:
            click.echo(f"{plan}: {violation}", err=True)
    context.exit(5 if violations else 0)
