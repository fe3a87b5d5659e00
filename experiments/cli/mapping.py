"""Flags of verbs that read a fusion mapping, and what they name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from elkhound.experiments.cli import options
from elkhound.model.errors import BadInputError

if TYPE_CHECKING:
    from elkhound.model.fusion import Accelerator, FusionWorkload, LoopTree
    from elkhound.model.fusion.physics import Physics

FLAGS = ("workload", "accelerator", "bind", "physics", *options.ONNX_FLAGS)
NEEDED = {
    "workload": "the einsums it maps: built in, YAML, or ONNX",
    "accelerator": "what it maps them onto: preset, chip, or YAML",
}


def mapping_flags(
    rules: str, physics: str
) -> Callable[[options.Function], options.Function]:
    """Return what adds the flags that a mapping needs.

    Parameters
    ----------
    rules, physics : str
        How help shows the value of ``--physics``, and what it says of it.
    """

    def add(function: options.Function) -> options.Function:
        return options.together(
            function,
            click.option(
                "--workload",
                metavar="NAME|FILE",
                help="Of the mapping: built in, YAML, or ONNX.",
            ),
            click.option(
                "--accelerator",
                metavar="NAME|FILE",
                help="Of the mapping: preset, or YAML.",
            ),
            options.bind_flag,
            options.onnx_flags,
            click.option("--physics", metavar=rules, help=physics),
        )

    return add


def require_needed(path: str, values: Mapping[str, Any]) -> tuple[str, str]:
    """Return the workload and the accelerator of a mapping.

    Raises
    ------
    BadInputError
        Names every flag that is missing, and what it takes.
    """
    missing = [
        f"--{flag} ({what})" for flag, what in NEEDED.items() if values[flag] is None
    ]
    if missing:
        raise BadInputError(
            f"a mapping needs {' and '.join(missing)}", code="usage", where=path
        )
    return values["workload"], values["accelerator"]


def refuse_mapping(path: str, flag: str) -> None:
    """Refuse a plan that is a mapping; `flag` and those it needs take one."""
    from elkhound.model.io import is_mapping_file

    if is_mapping_file(path):
        raise BadInputError(
            f"is a fusion mapping, not a plan; {flag} takes it, "
            "with --workload and --accelerator",
            code="wrong-kind",
            where=path,
        )


def read_mapping(
    path: str, values: dict[str, Any]
) -> tuple[Accelerator, FusionWorkload, LoopTree, Physics]:
    """Return a mapping with what its flags name; say what an import warns of."""
    from elkhound.experiments.fusion_source import read_fusion_workload
    from elkhound.model.fusion.physics import Physics
    from elkhound.model.io import load_accelerator, load_mapping

    accelerator = load_accelerator(values["accelerator"])
    flags = options.model_flags(values)
    workload, warnings = read_fusion_workload(values["workload"], flags)
    for line in warnings:
        click.echo(f"warning: {line}", err=True)
    given = values["physics"]
    names = () if given is None else tuple(n.strip() for n in given.split(","))
    physics = Physics.of(names)
    return accelerator, workload, load_mapping(path), physics
