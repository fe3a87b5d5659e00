"""All drawing; the only place that imports matplotlib."""

from elkhound.experiments.plots.comparison import plot_comparison
from elkhound.experiments.plots.fronts import plot_fronts
from elkhound.experiments.plots.fused import plot_fused
from elkhound.experiments.plots.fusion_energy import plot_fusion_energy
from elkhound.experiments.plots.fusion_fronts import plot_fusion_fronts
from elkhound.experiments.plots.gantt import plot_gantt
from elkhound.experiments.plots.gap_runtime import plot_gap_runtime
from elkhound.experiments.plots.looptree import plot_looptree
from elkhound.experiments.plots.occupancy import plot_occupancy
from elkhound.experiments.plots.tile_accuracy import plot_tile_accuracy
from elkhound.experiments.plots.utilisation import plot_utilisation

__all__ = [
    "plot_comparison",
    "plot_fronts",
    "plot_fused",
    "plot_fusion_energy",
    "plot_fusion_fronts",
    "plot_gantt",
    "plot_gap_runtime",
    "plot_looptree",
    "plot_occupancy",
    "plot_tile_accuracy",
    "plot_utilisation",
]
