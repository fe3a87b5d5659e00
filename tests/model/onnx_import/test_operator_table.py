"""Every operator of ONNX has been decided about, and the table of the docs says so."""

from __future__ import annotations

import re
from pathlib import Path

import onnx.defs
import pytest

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
    section, _, _ = rest.partition("\n## ")
    return set(re.findall(r"\b[A-Z]\w+", section))


def test_the_docs_name_every_operator_that_is_planned() -> None:
    named = documented("Operators")
    public = {op for op in SUPPORTED if not op.startswith("elkhound::")}
    missing = {op for op in public if op.rpartition("::")[2] not in named}
    assert not missing


@pytest.mark.parametrize("op", sorted(ALL_REFUSED))
def test_the_docs_name_every_operator_that_is_refused(op: str) -> None:
    assert re.search(rf"\b{op}\b", PAGE)
