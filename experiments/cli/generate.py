"""`elkhound generate`: small problem files to study methods on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.model.errors import BadInputError

KINDS = ("schedule", "allocation", "placement", "fusion")
MOST_OPERATORS = 10_000
MOST_OPTIONS = 10_000


@click.command(
    "generate",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound generate --kind schedule --size 6 --seed 1 --output problem.json",
        "  elkhound generate --kind allocation --size 4 --seed 7",
        "  elkhound generate --kind placement --size 12 --output buffers.csv",
        "  elkhound generate --kind fusion --family tree --size 3 --output tree.yaml",
    ),
)
@click.option(
    "--kind",
    type=options.OneOf(*KINDS),
    default="schedule",
    show_default=True,
    help="Kind of problem.",
)
@click.option(
    "--size",
    type=click.IntRange(min=1, max=MOST_OPERATORS),
    help="Operators, items, buffers of several steps, or einsums.  [default: 6, of "
    "fusion 3; hand-made families have their own]",
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
    help="Where the problem goes; a placement problem also as .csv.  [default: "
    "standard output]",
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
    if kind == "fusion":
        _refuse_without_effect(
            {
                "--options": option_count is not None,
                "--contention": contention is not None,
                "--max-outstanding": max_outstanding is not None,
            },
            "kind fusion",
        )
        _generate_fusion(size or 3, seed or 0, family, output, as_json)
        return
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
            "--options": (fixed or kind == "placement") and option_count is not None,
            "--contention": (fixed or kind != "schedule") and contention is not None,
            "--max-outstanding": (fixed or kind != "schedule")
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
    about: dict[str, Any] = {
        "path": str(output),
        "kind": kind,
        "hash": problem_hash(problem),
    }
    said = f"wrote {output}"
    if output.suffix.lower() == ".csv":
        capacity_bytes = _write_csv(output, problem)
        about["capacity_bytes"] = capacity_bytes
        said += f", for --capacity {capacity_bytes}"
    else:
        write_problem(output, problem)
    click.echo(json.dumps(about) if as_json else said)


def _generate_fusion(
    size: int, seed: int, family: str | None, output: Path | None, as_json: bool
) -> None:
    """Write or print a workload, which `fuse` reads."""
    from elkhound.model.instances import FUSION_FAMILIES, random_workload
    from elkhound.model.io import fusion_workload_document
    from elkhound.model.io.text import as_text, write_text

    workload = random_workload(seed, size, family or next(iter(FUSION_FAMILIES)))
    text = as_text(fusion_workload_document(workload))
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)
    about = {"path": str(output), "kind": "fusion"}
    click.echo(json.dumps(about) if as_json else f"wrote {output}")


def _write_csv(output: Path, problem: Any) -> int:
    """Write buffers as CSV; return the capacity, which that file does not hold."""
    from elkhound.model.io import write_placement_csv
    from elkhound.model.placement import PlacementProblem

    if not isinstance(problem, PlacementProblem):
        raise BadInputError(
            "only placement problems are written as CSV",
            code="wrong-kind",
            where=str(output),
            hint=".json, .yaml",
        )
    write_placement_csv(output, problem)
    return problem.capacity_bytes


def _refuse_without_effect(given: dict[str, bool], what: str) -> None:
    for flag, is_given in given.items():
        if is_given:
            raise BadInputError(
                f"has no effect on {what}", code="no-effect", where=flag
            )
