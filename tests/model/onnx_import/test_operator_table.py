"""Every operator of ONNX has been decided about, and the table of the docs says so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import onnx.defs
import pytest
from onnx import helper

from elkhound.model.errors import BadInputError
from elkhound.model.onnx_import.supported import SUPPORTED

PAGE = (Path(__file__).parents[3] / "docs" / "models.md").read_text()
READ_AS_CONSTANTS = {"Constant"}

REFUSED = {  # by decision: why, and what
    "no tensor": {
        "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement",
        "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase",
        "SequenceInsert", "SequenceLength", "SequenceMap", "SplitToSequence",
    },
    "texts and files": {
        "ImageDecoder", "RegexFullMatch", "StringConcat", "StringNormalizer",
        "StringSplit", "TfIdfVectorizer",
    },
    "rare in exports": {
        "AffineGrid", "CenterCropPad", "Col2Im", "DeformConv", "Det", "MaxRoiPool",
        "MaxUnpool", "Multinomial", "RandomNormal", "RandomUniform",
    },
    "newer than opset 23": {
        "CausalConvWithState", "CumProd", "LinearAttention", "SwiGLU", "TensorScatter",
    },
}  # fmt: skip
ALL_REFUSED = set().union(*REFUSED.values())
REFUSED_CONTRIB = {  # what else ONNX Runtime documents of com.microsoft
    "attention": {
        "AttnLSTM", "DecoderAttention", "DecoderMaskedMultiHeadAttention",
        "DecoderMaskedSelfAttention", "GatedDeltaNet", "GatedRelativePositionBias",
        "LinearAttention", "LinearAttentionGate", "LongformerAttention",
        "PackedAttention", "PackedMultiHeadAttention", "PagedAttention",
        "QOrderedAttention", "QOrderedLongformerAttention", "RemovePadding",
        "RestorePadding", "SparseAttention",
    },
    "products": {
        "FusedMatMulActivation", "GemmFastGelu", "GemmFloat8",
        "MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp8Weight", "MatMulBnb4",
        "MatMulFpQ4", "MatMulInteger16", "MatMulNBitsMlp", "MatMulNBitsQkv",
        "QOrderedMatMul", "SparseToDenseMatMul", "TransposeMatMul",
    },
    "norms and activations": {
        "BiasDropout", "BiasSoftmax", "BitmaskBiasDropout", "BitmaskDropout",
        "EngramGate", "GatedAdd", "GatedRMSNorm", "GemmaRotaryEmbedding",
        "MRotaryEmbedding", "QEmbedLayerNormalization", "QOrderedGelu",
        "QOrderedLayerNormalization",
    },
    "convolutions, images and spectra": {
        "CausalConvWithState", "ConvTransposeWithDynamicPads", "CropAndResize",
        "GridSample", "Irfft", "MaxpoolWithMask", "NhwcMaxPool", "Rfft",
        "VarlenCausalConvWithState", "WordConvEmbedding",
    },
    "numbers of few bits": {
        "DequantizeBFP", "DequantizeWithOrder", "DynamicQuantizeLSTM", "MulInteger",
        "QLinearReduceMean", "QLinearWhere", "QuantizeBFP", "QuantizeWithOrder",
        "ReduceSumInteger",
    },
    "moves and others": {
        "CDist", "ComplexMul", "ComplexMulConj", "DynamicTimeWarping", "ExpandDims",
        "GatherND", "Inverse", "IsAllFinite", "Pad", "Range", "SampleOp",
        "TorchEmbedding", "Trilu", "UnfoldTensor", "Unique",
    },
    "searches, texts and what runs elsewhere": {
        "BeamSearch", "BifurcationDetector", "EPContext", "GreedySearch",
        "MurmurHash3", "NGramHashMapping", "NGramRepeatBlock", "Sampling", "Snpe",
        "Tokenizer", "VarlenNGramHashMapping", "WhisperBeamSearch",
    },
}  # fmt: skip
CONTRIB_REFUSED = sorted(set().union(*REFUSED_CONTRIB.values()))


def standard() -> set[str]:
    schemas = onnx.defs.get_all_schemas()
    return {s.name for s in schemas if s.domain in ("", "ai.onnx")}


def test_every_standard_operator_is_planned_or_refused_by_decision() -> None:
    undecided = standard() - SUPPORTED - ALL_REFUSED - READ_AS_CONSTANTS
    assert not undecided
    assert not ALL_REFUSED & SUPPORTED


def documented(title: str) -> set[str]:
    """The operators that the docs name between a heading and the next one."""
    _, _, rest = PAGE.partition(f"## {title}\n")
    section, _, _ = rest.partition("\n##")
    return set(re.findall(r"\b[A-Z]\w+", section))


def test_the_docs_name_every_operator_that_is_planned() -> None:
    named = documented("Operators")
    public = {op for op in SUPPORTED if not op.startswith("elkhound::")}
    missing = {op for op in public if op.rpartition("::")[2] not in named}
    assert not missing


@pytest.mark.parametrize("op", sorted(ALL_REFUSED))
def test_the_docs_name_every_operator_that_is_refused(op: str) -> None:
    assert re.search(rf"\b{op}\b", PAGE)


@pytest.mark.parametrize("op", CONTRIB_REFUSED)
def test_the_docs_name_every_operator_of_com_microsoft_that_is_refused(
    files: Any, op: str
) -> None:
    _, _, rest = PAGE.partition("### Of com.microsoft, refused\n")
    assert re.search(rf"\b{op}\b", rest.partition("\n#")[0])
    node = helper.make_node(op, ["x"], ["y"], name="n", domain="com.microsoft")
    message = rf"cannot plan operator com.microsoft::{op} \(node n, output y\)"
    with pytest.raises(BadInputError, match=message) as error:
        files.read([node], {"x": (3, 4)}, "y")
    assert error.value.code == "unsupported-operator"
    assert "--unknown" in str(error.value)


def test_the_docs_refuse_no_operator_of_com_microsoft_that_is_planned() -> None:
    planned = {op.rpartition("::")[2] for op in SUPPORTED if "com.microsoft" in op}
    assert not planned & set(CONTRIB_REFUSED)
