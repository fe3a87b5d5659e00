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
    "aten_fallback": [Refused("unsupported-operator", "ATen")],
    "attention_gqa_past_opset23": [Imported(7, 20_736)],
    "attention_head_bf16": [Imported(6, 14_680_064)],
    "attention_wrong_domain": [Refused("bad-node", "com.microsoft::Attention")],
    "basic_pitch_nmp": [
        Refused("unbound-symbol", "unk__749"),
        Imported(139, 524_079_648, {"unk__749": 1}),
    ],
    "byte_bilstm": [
        Refused("unbound-symbol", "batch"),
        Imported(779, 20_987_904, {"batch": 1, "length": 64}),
    ],
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
        Refused("unbound-symbol", "batch_size"),
        Imported(
            100,
            96_320,
            {"batch_size": 1, "seq_len": 1, "total_seq_len": 9, "past_seq_len": 8},
        ),
    ],
    "gqa_decode_noimport": [Imported(12, 640)],
    "if_runtime_cond": [Imported(1, 0)],
    "int4_qdq_blocked": [Imported(1, 32)],
    "light_densenet121": [Imported(726, 2_834_161_664)],
    "light_resnet50": [Imported(175, 4_089_184_256)],
    "loop_dynamic_trip": [
        Imported(9, 0, options={"trips": {"b_loop": 3}}),
        Refused("unbounded-loop", "Loop"),
    ],
    "magika_v3_3": [
        Refused("unbound-symbol", "unk__214"),
        Imported(55, 366_717_952, {"unk__214": 1}),
    ],
    "matmulnbits_int4": [Imported(1, 128)],
    "mobilenetv2_adamw_optimizer": [
        Refused("unsupported-operator", "com.microsoft::AdamWOptimizer")
    ],
    "mobilenetv2_extdata_missing": [Imported(99, 300_774_272)],
    "name_romanizer_decoder": [
        Refused("unbound-symbol", "batch"),
        Imported(56, 1_032_192, {"batch": 1, "tgt_len": 4, "src_len": 16}),
    ],
    "opset1_globalavgpool": [Imported(1, 0)],
    "paged_kv_decoder": [
        Refused("unbound-symbol", "num_tokens"),
        Imported(
            39, 0, {"num_tokens": 4, "batch_plus_1": 3, "batch": 1, "max_blocks": 4}
        ),
    ],
    "ppocr_cls_v2": [
        Refused("unbound-symbol", "x[0]"),
        Imported(213, 6_259_952, {"x[0]": 1, "?": 64}),
    ],
    "ppocr_det_v4": [
        Refused("unbound-symbol", "p2o.DynamicDimension.0"),
        Imported(
            257,
            23_129_984,
            {
                "p2o.DynamicDimension.0": 1,
                "p2o.DynamicDimension.1": 64,
                "p2o.DynamicDimension.2": 64,
            },
        ),
    ],
    "qwen35_tiny_gqa_fp16": [
        Refused("unbound-symbol", "batch_size"),
        Imported(
            42,
            123_648,
            {"batch_size": 1, "seq_len": 1, "total_seq_len": 9, "past_seq_len": 8},
        ),
    ],
    "resnet18_extdata_missing": [Imported(48, 1_814_073_344)],
    "sdp_attention_opset17": [Imported(3, 1_048_576)],
    "sequence_map_expanded": [Refused("unsupported-operator", "SequenceLength")],
    "silero_vad_16k_lstm": [
        Refused("unbound-symbol", "sequence_length"),
        Imported(27, 745_600, {"sequence_length": 1}),
    ],
    "silero_vad_nested_if": [
        Refused("unbound-symbol", "input[0]"),
        Imported(33, 563_968, {"input[0]": 1, "input[1]": 512, "state[1]": 1}),
        Imported(
            33,
            342_016,
            {"input[0]": 1, "input[1]": 256, "state[1]": 1},
            {"branches": {"If_0": "else"}},
        ),
    ],
    "silero_vad_static_dupnames": [Imported(33, 679_552)],
    "softmax_xent_loss_opset13": [Imported(3, 0)],
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
