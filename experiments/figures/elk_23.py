"""Elk figure 23: latency against the number of cores, HBM in proportion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import (
    ALL_TO_ALL,
    DESIGNS,
    LLMS,
    MESH,
    cells,
    design_courses,
    design_lines,
    fair_ratios,
    layers_of,
    topology,
)
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Swept
from elkhound.experiments.figures.sweeps import HBM
from elkhound.experiments.plots.design_lines import design_lines_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

DIT = "dit-xl-2"
CHIPS = 4
PER_CHIP = "set.cores_per_chip"
# cores of a step, HBM bytes per second and core, columns of the mesh
LLM_STEP = (736, 2_717_000_000, 92)
DIT_STEP = (184, 679_000_000, 46)


def configure(quick: bool) -> list[dict[str, Any]]:
    """Return a grid per chip; quick: two layers, fewer sizes, two LLMs and DiT-XL."""
    bind: dict[str, Any] = {"batch": 32, "seq": 2048}
    other: dict[str, Any] = {"batch": 32, "seq": 256}
    models, sizes, dit_sizes = list(LLMS), [3, 4, 5, 6, 7], [3, 4, 5, 6, 7, 8]
    if quick:
        bind["layers"] = other["layers"] = 2
        models, sizes, dit_sizes = ["llama-2-13b", "opt-30b"], [3, 5, 7], [3, 8]
    chips = [(models, bind, LLM_STEP, n) for n in sizes]
    chips += [([DIT], other, DIT_STEP, n) for n in dit_sizes]
    return [
        {
            "model": names,
            "bind": symbols,
            "chip": chip,
            "set": _scaled(chip, step, n),
            "methods": list(DESIGNS),
        }
        for chip in (ALL_TO_ALL, MESH)
        for names, symbols, step, n in chips
    ]


def _scaled(chip: str, step: tuple[int, int, int], n: int) -> dict[str, int]:
    """Return the fields of four chips with n steps of cores in all."""
    step_cores, bytes_per_core, columns = step
    cores = n * step_cores
    changed = {
        "cores_per_chip": cores // CHIPS,
        "hbm.bytes_per_second": cores * bytes_per_core,
    }
    if chip == MESH:
        changed |= {"links.rows": cores // columns, "links.columns": columns}
    return changed


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a panel per model and topology."""
    panels = design_courses(
        lines,
        row=topology,
        column=lambda line: str(line["model"]),
        x=lambda line: float(CHIPS * line[PER_CHIP]),
    )
    return design_lines_figure(
        panels,
        x_label="cores; HBM grows with them",
        y_label=f"latency of a step (ms){layers_of(lines)}",
        kinds=("planned", "simulated"),
    )


def found(lines: Sequence[Line]) -> str:
    """Return how Elk-Full scales from the fewest to the most cores with a plan."""
    parts = []
    own = [x for x in lines if x["method"] == "elk-full" and x["simulated_ms"]]
    for (model, chip), known in cells(own, "model", "chip").items():
        few, many = known[0], known[-1]
        speed = few["simulated_ms"] / many["simulated_ms"]
        name = topology({"chip": chip})
        cores = many[PER_CHIP] / few[PER_CHIP]
        parts.append(f"{model} {name} {speed:.2f}× with {cores:.2f}× the cores")
    for kind, models in (("LLMs", LLMS), ("DiT-XL", (DIT,))):
        chosen = [line for line in lines if line["model"] in models]
        ratio = fair_ratios(chosen, ("model", "chip", PER_CHIP, HBM))
        parts.append(f"{kind}: {ratio.removesuffix('.')}")
        parts += [f"{kind}, {said}" for said in _errors(chosen)]
    return f"Elk-Full, simulated: {'; '.join(parts)}."


def _errors(lines: Sequence[Line]) -> Iterator[str]:
    """Say by topology how far simulated times are from planned ones."""
    for (chip,), own in cells(lines, "chip").items():
        ranges = []
        for method in ("static", "elk-full"):
            errors = [
                100 * line["model_error"]
                for line in own
                if line["method"] == method and line["model_error"] is not None
            ]
            if errors:
                ranges.append(f"{method} {min(errors):+.1f} to {max(errors):+.1f} %")
        if ranges:
            name = topology({"chip": chip})
            yield f"{name}, simulated against planned: {', '.join(ranges)}"


FIGURE = Figure(
    name="elk-23",
    title="Elk figure 23: latency against cores, LLMs and DiT-XL",
    said=(
        "Elk scales with cores. For DiT-XL, which is bound by compute, Elk-Full gains "
        "less, but it is still ahead of the others and close to Ideal."
    ),
    measure=Swept(configure, design_lines),
    draw=draw,
    found=found,
    why=(
        "SRAM grows with the cores: with its total kept, OPT-30B's speed-up is below "
        "that of the cores (docs/elk-re-examined.md). Designs that find no room for an "
        "operator have no plan and no point. DiT-XL's steps are denoising steps on 256 "
        "tokens an image."
    ),
    quick_cpu_seconds=182,
)
