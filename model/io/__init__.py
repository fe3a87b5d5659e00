"""The edge to files: chips, graphs, problems and plans; errors with file and line."""

from elkhound.model.io.accelerator_file import (
    accelerator_document,
    accelerator_names,
    load_accelerator,
)
from elkhound.model.io.chip_file import (
    chip_document,
    chip_names,
    installed_chips,
    load_chip,
)
from elkhound.model.io.document import Document, read_document
from elkhound.model.io.fusion_workload_file import (
    fusion_workload_document,
    load_fusion_workload,
)
from elkhound.model.io.graph_source import load_graph
from elkhound.model.io.grid_file import GridFile, load_grid
from elkhound.model.io.mapping_file import (
    is_mapping_file,
    load_mapping,
    mapping_document,
)
from elkhound.model.io.pin_file import PinFile, load_pins
from elkhound.model.io.placement_csv import (
    PlacementCsv,
    read_placement_csv,
    write_placement_csv,
)
from elkhound.model.io.plan_file import (
    AllocationPlanFile,
    PlanFile,
    read_allocation_plan,
    read_plan,
    write_allocation_plan,
    write_plan,
)
from elkhound.model.io.problem_file import (
    Problem,
    problem_document,
    read_problem,
    write_problem,
)
from elkhound.model.io.problem_hash import problem_hash
from elkhound.model.io.program_file import (
    program_document,
    program_text,
    read_program,
    write_program,
)
from elkhound.model.io.schemas import json_schemas, noun_schema

__all__ = [
    "AllocationPlanFile",
    "Document",
    "GridFile",
    "PinFile",
    "PlacementCsv",
    "PlanFile",
    "Problem",
    "accelerator_document",
    "accelerator_names",
    "chip_document",
    "chip_names",
    "fusion_workload_document",
    "installed_chips",
    "is_mapping_file",
    "json_schemas",
    "load_accelerator",
    "load_chip",
    "load_fusion_workload",
    "load_graph",
    "load_grid",
    "load_mapping",
    "load_pins",
    "mapping_document",
    "noun_schema",
    "problem_document",
    "problem_hash",
    "program_document",
    "program_text",
    "read_allocation_plan",
    "read_document",
    "read_placement_csv",
    "read_plan",
    "read_problem",
    "read_program",
    "write_allocation_plan",
    "write_placement_csv",
    "write_plan",
    "write_problem",
    "write_program",
]
