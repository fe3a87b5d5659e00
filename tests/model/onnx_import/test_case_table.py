"""What becomes of every real file: a graph, or one line that refuses it by name."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph, Pass
from elkhound.model.onnx_import import import_onnx

CASES = Path(os.environ.get("ELKHOUND_CASES", "")) / "onnx"

pytestmark = pytest.mark.skipif(
    "ELKHOUND_CASES" not in os.environ,
    reason="ELKHOUND_CASES does not name the folder with the real ONNX files",
)


@dataclass(frozen=True)
class Imported:
    """Operators and multiply-accumulates of a file under some bindings."""

    operators: int
    macs: int
    bind: dict[str, int] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Refused:
    """Code of a refusal and the words it has to hold."""

    code: str
    names: str


TABLE: dict[str, list[Imported | Refused]] = {
    "adam_preview_training": [
        Refused("unsupported-operator", "ai.onnx.preview.training::Adam")
    ],
    "alexnet_extdata_missing": [Imported(21, 654_560_384)],
    "aten_fallback": [Refused("missing-value", "graph output 3")],
    "attention_gqa_past_opset23": [Refused("unsupported-operator", "Attention")],
    "attention_head_bf16": [Imported(6, 14_680_064)],
    "attention_wrong_domain": [Refused("unsupported-operator", "Attention")],
    "basic_pitch_nmp": [Refused("unsupported-operator", "Pad")],
    "byte_bilstm": [Refused("unsupported-operator", "LSTM")],
    "custom_domain_no_import": [
        Refused("unsupported-operator", "qonnx.custom_op.general::Quant")
    ],
    "dyn_weights_conv": [
        Refused("unbound-symbol", "0[2]"),
        Imported(1, 12_288, {"0[2]": 64, "0[3]": 64, "1[2]": 64, "1[3]": 64}),
    ],
    "external_data_conv": [Imported(1, 55_413_160)],
    "fsrcnn_int8_conv": [Imported(8, 8_290_252_800)],
    "gemm_fp8": [Imported(1, 336)],
    "gemm_opset26_nodata": [Imported(1, 4_294_967_296)],
    "gpt2_tiny_past_contrib": [
        Refused("unsupported-operator", "com.microsoft::EmbedLayerNormalization")
    ],
    "gqa_decode_noimport": [
        Refused("unsupported-operator", "com.microsoft::GroupQueryAttention")
    ],
    "if_runtime_cond": [Refused("unsupported-operator", "If")],
    "int4_qdq_blocked": [Refused("unsupported-operator", "QuantizeLinear")],
    "light_densenet121": [Imported(726, 2_834_161_664)],
    "light_resnet50": [Imported(175, 4_089_184_256)],
    "loop_dynamic_trip": [Refused("unsupported-operator", "Loop")],
    "magika_v3_3": [
        Refused("unbound-symbol", "unk__214"),
        Imported(55, 366_717_952, {"unk__214": 1}),
    ],
    "matmulnbits_int4": [Refused("unsupported-operator", "com.microsoft::MatMulNBits")],
    "mobilenetv2_adamw_optimizer": [
        Refused("unsupported-operator", "com.microsoft::AdamWOptimizer")
    ],
    "mobilenetv2_extdata_missing": [Imported(99, 300_774_272)],
    "name_romanizer_decoder": [
        Refused("unbound-symbol", "batch"),
        Imported(56, 1_032_192, {"batch": 1, "tgt_len": 4, "src_len": 16}),
    ],
    "opset1_globalavgpool": [Imported(1, 0)],
    "paged_kv_decoder": [Refused("unsupported-operator", "GatherND")],
    "ppocr_cls_v2": [
        Refused("unbound-symbol", "x[0]"),
        Imported(213, 6_259_952, {"x[0]": 1, "?": 64}),
    ],
    "ppocr_det_v4": [Refused("unsupported-operator", "Resize")],
    "qwen35_tiny_gqa_fp16": [
        Refused("unsupported-operator", "com.microsoft::GroupQueryAttention")
    ],
    "resnet18_extdata_missing": [Imported(48, 1_814_073_344)],
    "sdp_attention_opset17": [Imported(3, 1_048_576)],
    "sequence_map_expanded": [Refused("unsupported-operator", "SequenceLength")],
    "silero_vad_16k_lstm": [Refused("unsupported-operator", "Pad")],
    "silero_vad_nested_if": [Refused("unsupported-operator", "If")],
    "silero_vad_static_dupnames": [Refused("unsupported-operator", "Pad")],
    "softmax_xent_loss_opset13": [
        Refused("unsupported-operator", "NegativeLogLikelihoodLoss")
    ],
    "swiglu_function_nodata": [Imported(4, 360_777_252_864)],
    "trees_only_ml": [
        Refused("unsupported-operator", "ai.onnx.ml::TreeEnsembleClassifier")
    ],
    "zero_node_passthrough": [
        Refused("nothing-to-plan", "graph zero_node_passthrough")
    ],
}


@pytest.mark.parametrize(
    ("file", "outcome"),
    [
        pytest.param(file, outcome, id=f"{file}-{type(outcome).__name__.lower()}-{i}")
        for file, outcomes in TABLE.items()
        for i, outcome in enumerate(outcomes)
    ],
)
def test_the_outcome_is_the_one_in_the_table(
    file: str, outcome: Imported | Refused
) -> None:
    path = CASES / f"{file}.onnx"
    if isinstance(outcome, Refused):
        with pytest.raises(BadInputError) as error:
            import_onnx(path)
        assert error.value.code == outcome.code
        assert outcome.names in str(error.value)
        assert "\n" not in str(error.value)
        return
    graph = import_onnx(path, bind=outcome.bind, **outcome.options).graph
    assert (len(graph.operators), graph.macs) == (outcome.operators, outcome.macs)
    assert_plausible(graph)


def test_every_file_is_in_the_table() -> None:
    assert {path.stem for path in CASES.glob("*.onnx")} == set(TABLE)


def assert_plausible(graph: Graph) -> None:
    """Every operator moves bytes and costs a pass; what it reads was written."""
    written = {o.einsum.output.tensor for o in graph.operators}
    for operator in graph.operators:
        einsum = operator.einsum
        assert einsum.passes
        assert einsum.inputs
        assert (einsum.macs > 0) == (Pass.MATMUL in einsum.passes)
        assert graph.tensor[einsum.output.tensor].size_bytes > 0
    assert written.issuperset(graph.outputs)
