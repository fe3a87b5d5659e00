"""Built-in workloads: public transformers as graphs, at any batch and length."""

from elkhound.model.workloads.workload import (
    build_workload,
    workload_names,
    workload_phases,
)

__all__ = ["build_workload", "workload_names", "workload_phases"]
