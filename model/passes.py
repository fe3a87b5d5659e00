"""Device passes of the standard operators, shared by all that build graphs.

A recognised pattern of an ONNX file and the same operator of a built-in workload must
cost the same, so both take their passes from here. Scaling by a constant is folded
into a neighbouring pass.
"""

from __future__ import annotations

from elkhound.model.graph import Pass

MATMUL_PASSES = (Pass.MATMUL,)
MATMUL_BIAS_PASSES = (Pass.MATMUL, Pass.ELEMENTWISE)
DECODED_MATMUL_PASSES = (Pass.MATMUL, Pass.DECODE)  # weights of few bits
ADD_PASSES = (Pass.ELEMENTWISE,)
COPY_PASSES = (Pass.SLICE,)
GATHER_PASSES = (Pass.GATHER,)

# Row maximum, x − max, exp, row sum, division.
SOFTMAX_PASSES = (
    Pass.REDUCE,
    Pass.ELEMENTWISE,
    Pass.UNARY,
    Pass.REDUCE,
    Pass.ELEMENTWISE,
)
SOFTMAX_ROUNDS = 2

# x², row mean, rsqrt, x · rsqrt, · weight.
RMS_NORM_PASSES = (
    Pass.ELEMENTWISE,
    Pass.REDUCE,
    Pass.ROW_UNARY,
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
)
RMS_NORM_ROUNDS = 1

# Row mean, x − mean, square, row mean, rsqrt, · rsqrt, · weight, + bias.
LAYER_NORM_PASSES = (
    Pass.REDUCE,
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
    Pass.REDUCE,
    Pass.ROW_UNARY,
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
)
LAYER_NORM_ROUNDS = 2

RELU_PASSES = (Pass.UNARY,)
TANH_PASSES = (Pass.UNARY,)
SILU_PASSES = (Pass.UNARY, Pass.ELEMENTWISE)  # sigmoid, · x
SWIGLU_PASSES = (*SILU_PASSES, Pass.ELEMENTWISE)  # · up
GELU_PASSES = (Pass.UNARY, Pass.ELEMENTWISE)  # erf or tanh of a polynomial, · x
GEGLU_PASSES = (*GELU_PASSES, Pass.ELEMENTWISE)  # · up

# x · cos, rotated x · sin, their sum.
ROPE_PASSES = (Pass.ELEMENTWISE, Pass.ELEMENTWISE, Pass.ELEMENTWISE)
