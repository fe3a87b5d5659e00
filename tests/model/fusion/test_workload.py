from __future__ import annotations

import pytest

from elkhound.model.errors import BadInputError
from elkhound.model.fusion import FusionWorkload
from elkhound.model.fusion.catalogue import SYMBOLS, fusion_workload
from elkhound.model.fusion.equation import equation_text, parse_equation
from elkhound.model.fusion.workload import WorkloadError


@pytest.mark.parametrize(
    "line",
    [
        "T1[m,n] = T0[m,k] * W0[k,n]",
        "Matmul0: T1[m,n] = T0[m,k] * W0[k,n]",
        "O[p,k] = I[2*p+r,c] * W[r,c,k]",
        "I[b,m,d] = copy I_in[b,m,d]",
        "Y[m] = X[m]",
        "S[] = X[m]",
    ],
)
def test_an_equation_is_read_back(line: str) -> None:
    assert equation_text(parse_equation(line)) == line


def test_a_halo_spans_strides_and_taps() -> None:
    einsum = parse_equation("O[p,k] = I[2p + r, c] * W[r,c,k]")
    # 1 + 2·(4 − 1) + 1·(3 − 1) = 9 positions
    assert einsum.inputs[0].axes[0].extent({"p": 4, "r": 3, "c": 1}) == 9
    assert einsum.ranks == ("p", "k", "r", "c")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("T1[m,n]", "has no =", id="no-equals"),
        pytest.param("T1 = T0[m]", "'T1' is no tensor with ranks", id="no-ranks"),
        pytest.param("T1[m = T0[m]", r"'T1\[m' is no tensor", id="open-bracket"),
        pytest.param("T1[m] = T0[m-1]", "'m-1' is no rank", id="minus"),
        pytest.param("T1[m] = T0[0*m]", r"'0\*m' is no rank", id="zero"),
        pytest.param("T1[m] = T0[m] *", "'' is no tensor", id="nothing-after-star"),
    ],
)
def test_an_equation_of_another_form_is_refused(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_equation(line)


def build(*lines: str, **sizes: int) -> FusionWorkload:
    einsums = tuple(parse_equation(line) for line in lines)
    tensors = dict.fromkeys(tensor for e in einsums for tensor in e.tensors)
    bits = tuple((tensor, 8) for tensor in tensors)
    return FusionWorkload("w", tuple(sizes.items()), einsums, bits)


@pytest.mark.parametrize(
    ("lines", "message", "place"),
    [
        pytest.param(
            ("A: Y[m] = X[m]", "A: V[m] = Z[m]"),
            "two einsums are called A",
            1,
            id="name",
        ),
        pytest.param(
            ("Y[m] = X[m]", "Y[m] = Z[m]"),
            r"tensor Y is produced twice, by Y and Y \(einsum 2\)",
            1,
            id="unnamed-twice",
        ),
        pytest.param(
            ("A: Y[m] = X[m]", "B: Y[m] = Z[m]"),
            r"tensor Y is produced twice, by A and B \(einsum 2\)",
            1,
            id="produced-twice",
        ),
        pytest.param(
            ("Y[m] = Z[m]", "Z[m] = Y[m]"),
            "einsum Y: reads Z before Z has produced it: a cycle, or einsums out of "
            "order",
            0,
            id="cycle",
        ),
        pytest.param(("Y[m] = Y[m]",), "einsum Y: reads Y before Y", 0, id="itself"),
        pytest.param(
            ("Y[m] = X[m,q]",), "einsum Y: rank variable q has no size", 0, id="size"
        ),
        pytest.param(
            ("Y[m] = X[k] * X[m]",), "einsum Y: uses a tensor twice", 0, id="twice"
        ),
        pytest.param(
            ("Y[m] = X[m,m,k]",), "a rank variable indexes X twice", 0, id="diagonal"
        ),
        pytest.param(
            ("Y[m,k] = X[m]",), "einsum Y: no input is indexed by k", 0, id="broadcast"
        ),
        pytest.param(
            ("Y[m] = X[m,k]", "Z[k] = Y[k]"),
            r"tensor Y: \[4\] in Y, \[2\] in Z",
            1,
            id="shape",
        ),
    ],
)
def test_a_workload_that_cannot_be_is_refused(
    lines: tuple[str, ...], message: str, place: int
) -> None:
    used = {rank for line in lines for rank in parse_equation(line).ranks}
    with pytest.raises(WorkloadError, match=message) as refused:
        build(*lines, **{rank: n for rank, n in (("m", 4), ("k", 2)) if rank in used})
    assert refused.value.place == ("einsums", place)


def test_a_size_without_use_is_refused() -> None:
    with pytest.raises(WorkloadError, match="no einsum uses z"):
        build("Y[m] = X[m]", m=4, z=2)


@pytest.mark.parametrize("name", list(SYMBOLS))
def test_every_built_in_workload_is_built(name: str) -> None:
    assert fusion_workload(name).name == name


def test_a_gpt_3_layer_has_ten_einsums_in_prefill() -> None:
    layer = fusion_workload("gpt-3-6.7b", {"batch": 2, "new_tokens": 8})
    names = "I V K Q QK QK_softmax AV Z FFA FFB"
    assert [einsum.name for einsum in layer.einsums] == names.split()
    assert layer.elements("QK") == 2 * 8 * 8 * 32
    assert layer.elements("WFFA") == 4096 * 16384
    assert layer.persistent == ("WV", "WK", "WQ", "WZ", "WFFA", "WFFB")
    # K's tokens are m for its producer and p for its consumer
    assert layer.users("K") == ("K", "QK")
    assert layer.einsum("QK").access("K").dimensions == {"b", "p", "h", "e"}


def test_a_decode_step_reads_cached_keys_and_values() -> None:
    bind = {"batch": 2, "new_tokens": 1, "cached_tokens": 100}
    layer = fusion_workload("gpt-3-175b", bind)
    assert [e.name for e in layer.einsums][:3] == ["I", "Q", "QK"]
    assert layer.elements("K") == 2 * 100 * 96 * 128
    assert not {"K", "V"} & layer.intermediates


def test_a_llama_3_layer_shares_keys_among_query_heads() -> None:
    layer = fusion_workload("llama-3-8b", {"batch": 2, "new_tokens": 8})
    assert layer.elements("K") == 2 * 8 * 8 * 128
    assert layer.elements("Q") == 4 * layer.elements("K")
    # 218.1 million weights: 2 · 4096·1024 + 2 · 4096² + 3 · 4096·14336
    weights = sum(layer.elements(tensor) for tensor in layer.persistent)
    assert weights == 2 * 4096 * 1024 + 2 * 4096**2 + 3 * 4096 * 14336


def test_a_mobilenet_block_hands_its_halo_over() -> None:
    block = fusion_workload("mobilenet-block")
    # 58 × 58 positions for 56 × 56 outputs of 3 × 3 taps, 144 channels
    assert block.elements("Expanded") == 58 * 58 * 144
    filtered = block.einsum("Filtered").access("Expanded")
    # a tile of 14 × 56 outputs needs 16 × 58 positions
    tile = {**block.size, "p": 14}
    assert filtered.elements(tile) == 16 * 58 * 144


@pytest.mark.parametrize(
    ("name", "bind", "message"),
    [
        ("matmul", {}, r"no fusion workload is called 'matmul' \(did you mean matmuls"),
        ("matmuls", {"n": 3}, r"workload matmuls has no symbol n"),
        ("matmuls", {"m": 0}, "m is 0, must be at least 1"),
    ],
)
def test_an_unknown_workload_is_refused(
    name: str, bind: dict[str, int], message: str
) -> None:
    with pytest.raises(BadInputError, match=message):
        fusion_workload(name, bind)
