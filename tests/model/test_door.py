from __future__ import annotations

import subprocess
import sys

import elkhound.model
from elkhound.model import load_chip, load_graph, schedule_problem


def test_every_exported_name_exists() -> None:
    for name in elkhound.model.__all__:
        assert getattr(elkhound.model, name) is not None


def test_the_api_goes_from_names_to_a_problem() -> None:
    graph = load_graph("llama-2-7b", {"batch": 1, "seq": 64, "layers": 1})
    problem = schedule_problem(graph, load_chip("ipu-mk2-hbm"))
    assert [o.name for o in problem.operators] == [o.name for o in graph.operators]
    assert problem.sram_bytes == 616 * 1024


def test_the_nouns_load_no_library() -> None:
    code = (
        "import sys, elkhound.model\n"
        "heavy = {'onnx', 'numpy', 'pydantic', 'yaml', 'simpy', 'ortools', 'pulp'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
