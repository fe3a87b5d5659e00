"""`elkhound evaluate`: what the referee says of a plan, or what a mapping costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.mapping import (
    FLAGS,
    mapping_flags,
    read_mapping,
    refuse_mapping,
    require_needed,
)

if TYPE_CHECKING:
    from elkhound.experiments.fusion_evaluation import FusionEvaluation

_MOST_LINES = 20  # of violations


@click.command(
    "evaluate",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound evaluate --plan plan.json",
        "  elkhound evaluate problem.json --plan edited.json --json",
        "  elkhound evaluate --mapping m.txt --workload matmuls --accelerator simple",
    ),
)
@click.argument("problem", required=False)
@click.option("--plan", metavar="FILE", help="The plan file.")
@click.option("--mapping", metavar="FILE", help="A fusion mapping: text or YAML.")
@mapping_flags(
    "A,B", "On top of the reference rules: merge-reads, double-buffer, overlap."
)
@click.option("--picture", is_flag=True, help="Draw the mapping, and only that.")
@click.option(
    "--plot", metavar="STEM", help="Draw the mapping into STEM.svg and STEM.png."
)
@options.json_flag
@click.pass_context
def command(
    context: click.Context, /, problem: str | None, as_json: bool, **values: Any
) -> None:
    """Recompute a plan or a fusion mapping from the definition, hand-edited ones too.

    PROBLEM is needed for a bare plan {gates, options}. What breaks a rule is listed
    with every rule it breaks (exit 5).
    """
    _require_one_kind(context, problem, values)
    if values["mapping"] is None:
        status = _evaluate_plan(problem, values["plan"], as_json)
    else:
        status = _evaluate_mapping(values, as_json)
    context.exit(status)


def _require_one_kind(
    context: click.Context, problem: str | None, values: dict[str, Any]
) -> None:
    """Refuse flags that say nothing of what is evaluated."""
    if (values["plan"] is None) == (values["mapping"] is None):
        raise click.UsageError("give one of --plan and --mapping")
    if values["plan"] is not None:
        refuse_mapping(values["plan"], "--mapping")
        options.refuse_given(context, (*FLAGS, "picture", "plot"), "on a plan")
        return
    if problem is not None:
        raise click.UsageError("PROBLEM has no effect on a mapping")
    require_needed(values["mapping"], values)


def _evaluate_mapping(values: dict[str, Any], as_json: bool) -> int:
    from rich.console import Console

    from elkhound.experiments.fusion_evaluation import (
        evaluate_mapping,
        evaluation_document,
        print_evaluation,
    )

    if values["picture"] and as_json:
        raise click.UsageError("--picture has no effect on --json")
    accelerator, workload, tree, physics = read_mapping(values["mapping"], values)
    evaluation = evaluate_mapping(accelerator, workload, tree, physics)
    if values["plot"] is not None:
        _plot(evaluation, values["plot"])
    if as_json:
        click.echo(json.dumps(evaluation_document(evaluation), indent=2))
    elif values["picture"]:
        from elkhound.experiments.looptree_picture import looptree_picture

        drawn = (evaluation.workload, evaluation.tree, evaluation.physics)
        click.echo(looptree_picture(*drawn), nl=False)
    else:
        print_evaluation(Console(highlight=False), evaluation)
    if not as_json:
        for violation in evaluation.violations:
            click.echo(f"{evaluation.tree.name}: {violation}", err=True)
    return 5 if evaluation.violations else 0


def _plot(evaluation: FusionEvaluation, stem: str) -> None:
    from elkhound.experiments.cli.writable import require_writable
    from elkhound.experiments.plots import plot_looptree

    for suffix in (".svg", ".png"):
        require_writable(Path(stem + suffix))
    drawn = (evaluation.workload, evaluation.tree, evaluation.physics)
    for path in plot_looptree(Path(stem), *drawn):
        click.echo(f"wrote {path}", err=True)


def _evaluate_plan(problem: str | None, plan: str, as_json: bool) -> int:
    from elkhound.experiments.addresses import plan_violations
    from elkhound.experiments.kinds import kind_of
    from elkhound.experiments.planfile import read_any_plan

    read = read_any_plan(plan, problem)
    kind = kind_of(read.problem)
    judgement = kind.judge(read.problem, read.plan)
    violations = plan_violations(judgement, read.problem, read.plan, read.addresses)
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
        for violation in violations[:_MOST_LINES]:
            click.echo(f"{plan}: {violation}", err=True)
        if len(violations) > _MOST_LINES:
            left = len(violations) - _MOST_LINES
            click.echo(f"{plan}: and {left} more; --json lists them", err=True)
    return 5 if violations else 0
