"""Plain values as bytes and back: how the results of a student's function reach the process that grades them.

Reading them runs nothing and makes no objects but numbers, texts, lists, tuples, dictionaries and NumPy arrays,
whatever the bytes are; that is the difference to pickle. Anything else arrives as a `Foreign`, which only has a text.
"""

import base64
import json
import math
import re
from dataclasses import dataclass

import numpy as np

NUMERIC_KINDS = "biuf"
DEEPEST = 30  # lists within lists
TEXT_CHARACTERS = 300  # of a foreign object


@dataclass(frozen=True)
class Foreign:
    """Stands for an object that is not plain."""

    text: str

    def __repr__(self) -> str:
        return self.text


def to_bytes(value) -> bytes:
    """A value as bytes; what is not plain in it is replaced by its text."""
    return json.dumps(_packed(value)).encode()


def from_bytes(data: bytes):
    """The value of `to_bytes`; a `ValueError` where the bytes are not of it."""
    try:
        return _unpacked(json.loads(data))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"These bytes hold no plain value: {error}") from error


def _packed(value, depth: int = 0):
    """Made of what JSON has; everything but numbers, texts, None and lists is a dictionary with one key."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float) and not isinstance(value, np.generic):
        return value
    if depth > DEEPEST:
        return _foreign(value)
    if isinstance(value, list):
        return [_packed(one, depth + 1) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [_packed(one, depth + 1) for one in value]}
    if isinstance(value, dict):
        return {"dict": [[_packed(key, depth + 1), _packed(one, depth + 1)] for key, one in value.items()]}
    return _packed_array(value) if hasattr(value, "__array__") else _foreign(value)


def _packed_array(value):
    """An array of numbers, or what can be made one, such as a tensor; other arrays as lists."""
    try:
        array = np.asarray(value)
    except Exception:  # the object's own code
        return _foreign(value)
    if array.dtype.kind == "U":
        return _packed(array.tolist())
    if array.dtype.kind not in NUMERIC_KINDS:
        return _foreign(value)
    array = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).reshape(array.shape)
    data = base64.b64encode(array.tobytes()).decode()
    return {"array": [array.dtype.str, list(array.shape), data]}


def _foreign(value):
    try:
        text = repr(value)
    except Exception:  # the object's own code
        text = f"an object of type {type(value).__name__}"
    return {"foreign": text[:TEXT_CHARACTERS]}


def _unpacked(packed, depth: int = 0):
    if depth > DEEPEST + 1:
        raise ValueError("lists within lists, too deep")
    if isinstance(packed, list):
        return [_unpacked(one, depth + 1) for one in packed]
    if isinstance(packed, str):
        return _text(packed)
    if not isinstance(packed, dict):
        return packed
    [(kind, content)] = packed.items()
    if kind == "tuple":
        return tuple(_unpacked(one, depth + 1) for one in content)
    if kind == "dict":
        return {_unpacked(key, depth + 1): _unpacked(one, depth + 1) for key, one in content}
    if kind == "foreign":
        return Foreign(_text(str(content)[:TEXT_CHARACTERS]))
    if kind == "array":
        return _unpacked_array(*content)
    raise ValueError(f"an unknown kind {kind!r}")


def _text(text: str) -> str:
    """Without halves of characters, which no file can hold."""
    return text.encode(errors="replace").decode()


def _unpacked_array(name: str, shape: list[int], text: str):
    # NumPy reads much more than names of types from a text, and fails in many ways.
    if not re.fullmatch(rf"[<|][{NUMERIC_KINDS}]\d+", name) or any(length < 0 for length in shape):
        raise ValueError(f"an array of {name} with shape {shape}")
    dtype = np.dtype(name)
    data = base64.b64decode(text, validate=True)
    if math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"{len(data)} bytes for an array of {name} with shape {shape}")
    # A copy, since the bytes are read-only; a scalar, where there are no axes.
    return np.frombuffer(data, dtype).reshape(shape).copy()[()]
