"""`elkhound import`: what a model file or workload holds."""

from __future__ import annotations

import json
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.model.errors import BadInputError


@click.command(
    "import",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound import block.onnx --bind batch=4 --json",
        "  elkhound import llama-2-13b --bind batch=32,seq=2048,layers=1",
        "  elkhound import llama-2-13b --phase prefill --bind batch=1,seq=1024 \\",
        "    --spill auto --chip ipu-mk2-hbm",
    ),
)
@click.argument("model")
@options.graph_flags
@options.chip_flag
@options.json_flag
def command(model: str, as_json: bool, **values: Any) -> None:
    """Read MODEL and list its operators, multiply-accumulates, bytes and homes.

    MODEL is an ONNX file or a built-in workload. Weights are never read.
    """
    from elkhound.experiments.importing import import_document, print_import
    from elkhound.experiments.source import (
        DEFAULT_CHIP,
        is_problem_file,
        read_graph,
        require_fit,
        spill,
    )
    from elkhound.model.io import load_chip

    if is_problem_file(model):
        raise BadInputError(
            "is a problem file; import takes an ONNX file or a workload",
            code="not-a-model",
            where=model,
        )
    flags = options.model_flags(values)
    if flags.spill != "auto" and flags.chip is not None:
        raise BadInputError(
            "has no effect without --spill auto", code="no-effect", where="--chip"
        )
    read = read_graph(model, flags)
    chip = None
    if flags.spill == "auto":
        chip = load_chip(DEFAULT_CHIP if flags.chip is None else flags.chip)
        read = spill(read, flags, chip)
    if as_json:
        click.echo(json.dumps(import_document(read), indent=2))
    else:
        print_import(read)
    if chip is not None:
        require_fit(read, flags, chip)
