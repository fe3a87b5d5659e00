"""Flags of verbs that read a fusion mapping, and what they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from elkhound.experiments.cli import options

if TYPE_CHECKING:
    from elkhound.model.fusion import Accelerator, FusionWorkload, LoopTree
    from elkhound.model.fusion.physics import Physics

FLAGS = ("workload", "accelerator", "bind", "physics")
NEEDED = ("workload", "accelerator")


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
            click.option("--physics", metavar=rules, help=physics),
        )

    return add


def read_mapping(
    path: str, values: dict[str, Any]
) -> tuple[Accelerator, FusionWorkload, LoopTree, Physics]:
    """Return a mapping with what its flags name; say what an import warns of."""
    from elkhound.experiments.fusion_source import read_fusion_workload
    from elkhound.model.fusion.physics import Physics
    from elkhound.model.io import load_accelerator, load_mapping

    accelerator = load_accelerator(values["accelerator"])
    workload, warnings = read_fusion_workload(values["workload"], values["bind"])
    for line in warnings:
        click.echo(f"warning: {line}", err=True)
    given = values["physics"]
    names = () if given is None else tuple(n.strip() for n in given.split(","))
    physics = Physics.of(names)
    return accelerator, workload, load_mapping(path), physics
