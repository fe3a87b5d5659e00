"""Families of operators that share a shape rule and a lowering."""

from __future__ import annotations

ARITHMETIC_UNARY = frozenset(
    {"Abs", "Cast", "Ceil", "Cos", "Exp", "Floor", "Log", "Neg", "Not", "Reciprocal"}
    | {"Round", "Sign", "Sin", "Sqrt", "IsNaN", "IsInf", "Erf", "Clip", "Tan"}
    | {"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh"}
    | {"BitwiseNot", "Shrink", "BitCast"}
    | {"Bernoulli", "EyeLike", "RandomNormalLike", "RandomUniformLike"}
)
ACTIVATIONS = frozenset(
    {"Celu", "Elu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish", "Relu", "Selu"}
    | {"Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu", "Gelu", "Swish"}
)
UNARY = ARITHMETIC_UNARY | ACTIVATIONS

ELEMENTWISE = frozenset(
    {"Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}
    | {"Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow", "PRelu", "Sub", "Sum"}
    | {"Where", "Xor", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"}
)

REDUCTIONS = frozenset(
    {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax"}
    | {"ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"}
)

VIEWS = frozenset(
    {"Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}
)

SHAPE_ONLY = frozenset(  # of constants: only their shape is needed
    {"ConstantOfShape", "Range", "Shape", "Size"}
    | {"BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"}
)
