"""Sliding windows: the output extents and steps of convolutions and poolings."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.onnx_import.source import Node
from elkhound.model.units import ceil_div


@dataclass(frozen=True, slots=True)
class Window:
    """A kernel sliding over an image; one entry per spatial axis.

    Parameters
    ----------
    outputs, kernel, strides, dilations : tuple of int
        Output positions, kernel positions, steps between outputs and between kernel
        elements, in elements of the image.
    """

    outputs: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]


def of(node: Node, image: tuple[int, ...], kernel: tuple[int, ...]) -> Window:
    """Return the window of a Conv or pooling node.

    Parameters
    ----------
    node : Node
        Gives strides, dilations, pads or auto_pad, and ceil_mode.
    image, kernel : tuple of int
        Spatial extents.
    """
    ones = (1,) * len(kernel)
    strides = node.integers("strides") or ones
    dilations = node.integers("dilations") or ones
    pads = node.integers("pads") or (0,) * (2 * len(kernel))
    for name, given, count in (
        ("strides", strides, len(ones)),
        ("dilations", dilations, len(ones)),
        ("pads", pads, 2 * len(ones)),
    ):
        if len(given) != count:
            raise ValueError(f"{name} {list(given)} of {len(ones)} axes")
    automatic = node.text("auto_pad", "NOTSET")
    outputs = []
    for axis, extent in enumerate(image):
        span = 1 + dilations[axis] * (kernel[axis] - 1)
        if automatic in ("SAME_UPPER", "SAME_LOWER"):
            outputs.append(ceil_div(extent, strides[axis]))
            continue
        both = pads[axis] + pads[axis + len(kernel)] if automatic == "NOTSET" else 0
        steps = extent + both - span
        rounded = steps // strides[axis]
        if node.integer("ceil_mode", 0):
            rounded = ceil_div(steps, strides[axis])
            if rounded * strides[axis] >= extent + pads[axis]:
                rounded -= 1  # a window may not start in the padding behind
        outputs.append(rounded + 1)
    return Window(tuple(outputs), kernel, strides, dilations)
