"""Real files that are not part of the repository: set ELKHOUND_CASES to their folder.

Multiply-accumulates are those published for each network.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Home
from elkhound.model.onnx_import import import_onnx

CASES = Path(os.environ.get("ELKHOUND_CASES", "")) / "onnx"

pytestmark = pytest.mark.skipif(
    "ELKHOUND_CASES" not in os.environ,
    reason="ELKHOUND_CASES does not name the folder with the real ONNX files",
)


@pytest.mark.parametrize(
    ("file", "macs"),
    [
        ("resnet18_extdata_missing", 1_814_073_344),
        ("light_resnet50", 4_089_184_256),
        ("mobilenetv2_extdata_missing", 300_774_272),
        ("alexnet_extdata_missing", 654_560_384),
        ("light_densenet121", 2_834_161_664),
        ("fsrcnn_int8_conv", 8_290_252_800),
        ("swiglu_function_nodata", 360_777_252_864),
        ("attention_head_bf16", 14_680_064),
        ("gemm_opset26_nodata", 256 * 8192 * 2048),
    ],
)
def test_macs_are_the_published_ones(file: str, macs: int) -> None:
    assert import_onnx(CASES / f"{file}.onnx").graph.macs == macs


def test_the_swiglu_file_is_four_operators() -> None:
    report = import_onnx(CASES / "swiglu_function_nodata.onnx")
    graph = report.graph
    # gate, up, swiglu, down
    assert [o.kind.value for o in graph.operators] == [
        "matmul",
        "matmul",
        "activation",
        "matmul",
    ]
    assert report.pattern_counts == {"swiglu": 1}
    # three bf16 weights of 4096 × 14336
    streamed = sum(graph.streamed_bytes(o) for o in graph.operators)
    assert streamed == 3 * 2 * 4096 * 14336


def test_the_attention_head_streams_its_projections_and_keeps_the_rest() -> None:
    report = import_onnx(CASES / "attention_head_bf16.onnx")
    homes = {choice.input: choice.home for choice in report.homes}
    assert homes == {
        "I": Home.CHIP,
        "wQ": Home.HBM,
        "wK": Home.HBM,
        "wV": Home.HBM,
    }
    scores = next(o for o in report.graph.operators if o.name == "scores")
    assert [a.tensor for a in scores.einsum.inputs] == ["Q", "K"]
    assert report.graph.streamed_bytes(scores) == 0


def test_weights_in_constant_nodes_are_weights() -> None:
    # The file has no initializer: 53 kernels and a matrix come from Constant nodes.
    # It leaves its image's height and width open under one name, and writes −1 for
    # the batch.
    bind = {"x[0]": 1, "?": 48}
    graph = import_onnx(CASES / "ppocr_cls_v2.onnx", bind=bind).graph
    weighted = [o for o in graph.operators if o.einsum.macs and graph.streamed_bytes(o)]
    assert len(weighted) == 54


def test_resnet18_streams_its_weights_once() -> None:
    graph = import_onnx(CASES / "resnet18_extdata_missing.onnx").graph
    # 11,684,712 parameters of fp32, batch norms folded into the convolutions
    streamed = sum(graph.streamed_bytes(o) for o in graph.operators)
    assert streamed == 4 * 11_684_712


@pytest.mark.parametrize("path", sorted(CASES.glob("*.onnx")), ids=lambda p: p.stem)
def test_every_file_is_read_or_refused_in_one_line(path: Path) -> None:
    refusal = None
    try:
        import_onnx(path)
    except BadInputError as error:
        refusal = error
    if refusal is not None:
        assert refusal.code != "error"
        assert "\n" not in str(refusal)
