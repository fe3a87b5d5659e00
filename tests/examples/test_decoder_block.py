from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from elkhound.model.graph import Home
from elkhound.model.onnx_import import ImportReport, import_onnx

FOLDER = Path(__file__).parents[2] / "examples"
FILE = FOLDER / "decoder_block.onnx"
BATCH, CONTEXT = 4, 512
HIDDEN, FFN = 512, 1408


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script that writes the file."""
    path = FOLDER / "make_decoder_block.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def report() -> ImportReport:
    """The file, imported for a batch of 4 and 512 cached tokens."""
    return import_onnx(FILE, bind={"batch": BATCH, "context": CONTEXT})


def test_the_file_is_what_the_script_writes(script: ModuleType, tmp_path: Path) -> None:
    script.main(tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == FILE.read_bytes()


def test_the_file_holds_no_weights() -> None:
    assert FILE.stat().st_size < 10_000


def test_each_layer_has_the_canonical_operators(report: ImportReport) -> None:
    names = [
        o.name.removeprefix("layer1.") for o in report.graph.operators if o.layer == 1
    ]
    assert names == [
        "attention_norm",
        "q",
        "k",
        "v",
        "q.rope",
        "key_new",
        "scores",
        "softmax",
        "mixed",
        "o",
        "middle",
        "ffn_norm",
        "gate",
        "up",
        "gated",
        "down",
        "out",
    ]
    assert len(report.graph.operators) == 2 * len(names)
    assert report.pattern_counts == {"rms-norm": 4, "scale": 2, "swiglu": 2}


def test_weights_and_caches_stream_and_activations_stay(report: ImportReport) -> None:
    homes = {choice.input: choice.home for choice in report.homes}
    assert {name for name, home in homes.items() if home is Home.CHIP} == {
        "hidden",
        "cos",
        "sin",
    }
    graph = report.graph
    streaming = [o for o in graph.operators if graph.streamed_bytes(o)]
    assert len(streaming) == 2 * 11
    # fp16: four square projections, three of the feed-forward, two norms, two caches
    layer_elements = (
        4 * HIDDEN * HIDDEN
        + 3 * HIDDEN * FFN
        + 2 * HIDDEN
        + 2 * BATCH * CONTEXT * HIDDEN
    )
    streamed = sum(graph.streamed_bytes(o) for o in graph.operators)
    assert streamed == 2 * 2 * layer_elements


def test_macs_are_weights_times_batch_plus_attention(report: ImportReport) -> None:
    weights = 4 * HIDDEN * HIDDEN + 3 * HIDDEN * FFN
    attention = 2 * CONTEXT * HIDDEN
    assert report.graph.macs == 2 * BATCH * (weights + attention)
