"""`elkhound generate`: small problem files to study methods on."""

from __future__ import annotations

import json
from pathlib import Path

import click

from elkhound.experiments.cli import options
from elkhound.model.errors import BadInputError

KINDS = ("schedule", "allocation")
MOST_OPERATORS = 10_000
MOST_OPTIONS = 10_000


@click.command(
    "generate",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound generate --kind schedule --size 6 --seed 1 --output problem.json",
        "  elkhound generate --kind allocation --size 4 --seed 7",
    ),
)
@click.option(
    "--kind", type=options.OneOf(*KINDS), default="schedule", show_default=True
)
@click.option(
    "--size",
    type=click.IntRange(min=1, max=MOST_OPERATORS),
    help="Operators or items.  [default: 6; hand-made families have their own]",
)
@click.option("--seed", type=int, help="Seed of a random family.  [default: 0]")
@click.option(
    "--family", metavar="NAME", help="Family of problems.  [default: the first]"
)
@click.option(
    "--options",
    "option_count",
    type=click.IntRange(min=1, max=MOST_OPTIONS),
    help="Execute plans per operator, or options per item.",
)
@click.option(
    "--contention",
    type=options.OneOf(*options.CONTENTION_RULES),
    help="Rule of a random schedule problem.  [default: stretch]",
)
@click.option(
    "--max-outstanding",
    type=click.IntRange(min=0),
    help="K of a random schedule problem.  [default: no limit]",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where the problem goes.  [default: standard output]",
)
@options.json_flag
def command(
    kind: str,
    size: int | None,
    seed: int | None,
    family: str | None,
    option_count: int | None,
    contention: str | None,
    max_outstanding: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Write a seeded random problem, or a hand-made adversarial one.

    The same flags always give the same problem.
    """
    from elkhound.model.instances import ADVERSARIAL, families, generate_problem
    from elkhound.model.io import problem_document, problem_hash, write_problem
    from elkhound.model.schedule import Contention

    chosen = family if family is not None else families(kind)[0]
    fixed = chosen in ADVERSARIAL if kind == "schedule" else chosen == "overshoot"
    sized_only = kind == "allocation" and chosen == "overshoot"
    _refuse_without_effect(
        {
            "--size": fixed and not sized_only and size is not None,
            "--seed": fixed and seed is not None,
            "--options": fixed and option_count is not None,
            "--contention": (fixed or kind == "allocation") and contention is not None,
            "--max-outstanding": (fixed or kind == "allocation")
            and max_outstanding is not None,
        },
        f"the {chosen} family of kind {kind}",
    )
    problem = generate_problem(
        kind,
        6 if size is None else size,
        seed or 0,
        family=family,
        options=option_count,
        contention=Contention(contention or Contention.STRETCH),
        max_outstanding=max_outstanding,
    )
    if output is None:
        click.echo(json.dumps(problem_document(problem), indent=1))
        return
    write_problem(output, problem)
    about = {"path": str(output), "kind": kind, "hash": problem_hash(problem)}
    click.echo(json.dumps(about) if as_json else f"wrote {output}")


def _refuse_without_effect(given: dict[str, bool], what: str) -> None:
    for flag, is_given in given.items():
        if is_given:
            raise BadInputError(
                f"has no effect on {what}", code="no-effect", where=flag
            )
