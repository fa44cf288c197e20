"""A network as text: each sub-model block by block, with shapes and parameter counts. `mzu network` prints it."""

import math
import re

from mzu.networks.network import Network
from mzu.silent_tensorflow import keras


def count_parameters(model: keras.Model | Network) -> int:
    """Trainable numbers of a sub-model or of the whole network."""
    return sum(math.prod(variable.shape) for variable in model.trainable_variables)


def network_summary(network: Network) -> str:
    """One table per sub-model, a line for each part: its layers in order, the shape it gives, its parameters."""
    tables = [_model_table(model) for model in network.models]
    total = count_parameters(network)
    return "\n\n".join([*tables, f"parameters in all: {total:,} ({total * 4 / 1e6:,.1f} MB as float32)"])


def _model_table(model: keras.Model) -> str:
    parts = {}
    for layer in model.layers:
        if not isinstance(layer, keras.layers.InputLayer):
            parts.setdefault(_part_of(layer.name), []).append(layer)
    rows = []
    for part, layers in parts.items():
        shape = " x ".join(map(str, layers[-1].output.shape[1:]))
        parameters = sum(math.prod(variable.shape) for layer in layers for variable in layer.trainable_variables)
        rows.append((part, ", ".join(map(_kind_of, layers)), shape, f"{parameters:,}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"{model.name}: {_inputs_of(model)}, {count_parameters(model):,} parameters"]
    for row in rows:
        left = "  ".join(cell.ljust(width) for cell, width in zip(row[:3], widths[:3], strict=True))
        lines.append(f"  {left}  {row[3].rjust(widths[3])}")
    return "\n".join(lines)


def _inputs_of(model: keras.Model) -> str:
    shapes = [(tensor.name, " x ".join(map(str, tensor.shape[1:])) or "one number") for tensor in model.inputs]
    return " and ".join(f"{name} ({shape})" for name, shape in shapes)


def _part_of(name: str) -> str:
    """`block_3_layer_1` belongs to block_3, `policy_planes` and `policy_relu` to policy, anything else to itself."""
    found = re.match(r"((?:stage_\d+_)?block_\d+|reward|policy|value|action_value|last)(_|$)", name)
    return found.group(1) if found else name


def _kind_of(layer: keras.Layer) -> str:
    if isinstance(layer, keras.layers.Conv2D):
        size = "x".join(map(str, layer.kernel_size))
        return f"conv {size}" + (f" stride {layer.strides[0]}" if layer.strides != (1, 1) else "")
    names = {"LayerNormalization": "norm", "GroupNormalization": "norm", "AveragePooling2D": "average"}
    kind = type(layer).__name__
    return names.get(kind, kind.lower())
