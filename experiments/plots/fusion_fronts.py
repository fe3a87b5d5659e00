"""Energy against latency of the mappings that methods found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from elkhound.experiments.plots.style import house_style, mark_of, new_figure, save

Points = Mapping[str, Sequence[tuple[float, float]]]


def plot_fusion_fronts(
    path_stem: Path, fronts: Points, *, energy_unit: str, latency_unit: str
) -> tuple[Path, Path]:
    """Write the fronts as SVG and PNG; return the two paths.

    Parameters
    ----------
    fronts : mapping
        Per method, latency and energy of every mapping, by rising latency.
    energy_unit, latency_unit : str
        On the axes; energies may have no unit.
    """
    figure = fusion_fronts_figure(
        fronts, energy_unit=energy_unit, latency_unit=latency_unit
    )
    return save(figure, path_stem)


def fusion_fronts_figure(
    fronts: Points, *, energy_unit: str, latency_unit: str
) -> Figure:
    """Return the figure: a staircase per method; axes are logarithmic above 0."""
    with house_style():
        figure = new_figure(3.0)
        axes = figure.subplots()
        for number, (method, points) in enumerate(fronts.items()):
            mark = mark_of(method)
            latencies, energies = zip(*points, strict=True)
            axes.step(
                latencies,
                energies,
                where="post",
                color=mark.color,
                marker=mark.marker,
                markersize=max(7 - 2 * number, 3),  # equal fronts stay visible
                linewidth=max(2.4 - 0.8 * number, 0.8),
                label=f"{method} ({len(points)} mappings)",
            )
        latencies, energies = zip(
            *(p for own in fronts.values() for p in own), strict=True
        )
        axes.set_xscale("log" if min(latencies) > 0 else "linear")
        axes.set_yscale("log" if min(energies) > 0 else "linear")
        axes.set_xlabel(f"latency ({latency_unit})")
        axes.set_ylabel(f"energy ({energy_unit})" if energy_unit else "energy")
        axes.grid(which="both")
        axes.legend()
    return figure
