"""`tf.train.Example`, the message in which RL Unplugged stores an episode: named lists of floats, integers or bytes.

The message is declared here for the protobuf library (which TensorFlow brings), so that reading needs no TensorFlow.
Notebook 09_real_data.
"""

import functools
from pathlib import Path

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from mzu.episodes.readers.faults import Fault

Fields = dict[str, np.ndarray | list[bytes]]
_NAMES = {"float_list": "float numbers", "int64_list": "whole numbers", "bytes_list": "byte strings"}


def decode(data: bytes, path: str | Path = "", record: int | None = None) -> Fields:
    """Every field: float32 [n], int64 [n], or a list of n byte strings. A field without values is an empty float32."""
    try:
        example = _message_class().FromString(data)
    except DecodeError:
        raise Fault("the record is not a tf.train.Example; is this a dataset of another kind?", path, record) from None
    fields: Fields = {}
    for name, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind")
        if kind == "bytes_list":
            fields[name] = list(feature.bytes_list.value)
        elif kind == "int64_list":
            fields[name] = np.array(feature.int64_list.value, np.int64)
        else:
            fields[name] = np.array(feature.float_list.value, np.float32)
    return fields


def encode(fields: Fields) -> bytes:
    """The opposite of `decode`; the same fields always give the same bytes."""
    example = _message_class()()
    for name, values in fields.items():
        feature = example.features.feature[name]
        if isinstance(values, list):
            feature.bytes_list.value.extend(values)
        elif np.issubdtype(values.dtype, np.integer):
            feature.int64_list.value.extend(values.ravel().tolist())
        else:
            feature.float_list.value.extend(values.ravel().tolist())
    return example.SerializeToString(deterministic=True)


def floats(fields: Fields, name: str, path: str | Path, record: int) -> np.ndarray:
    """Field `name`, which must hold float numbers."""
    return _field(fields, name, "float_list", path, record)


def integers(fields: Fields, name: str, path: str | Path, record: int) -> np.ndarray:
    """Field `name`, which must hold whole numbers."""
    return _field(fields, name, "int64_list", path, record)


def byte_strings(fields: Fields, name: str, path: str | Path, record: int) -> list[bytes]:
    """Field `name`, which must hold byte strings."""
    return _field(fields, name, "bytes_list", path, record)


def _field(fields: Fields, name: str, kind: str, path, record):
    if name not in fields:
        present = ", ".join(sorted(fields)) or "none at all"
        raise Fault(f"the field is missing; the record has {present}", path, record, name)
    values = fields[name]
    if isinstance(values, list):
        found = "bytes_list"
    else:
        found = "int64_list" if values.dtype == np.int64 else "float_list"
    if found != kind:
        raise Fault(f"the field holds {_NAMES[found]}, but must hold {_NAMES[kind]}", path, record, name)
    return values


@functools.cache
def _message_class():
    """The class of the message, in a pool of its own: TensorFlow declares the same names in the common one."""
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="mzu", syntax="proto3")
    field = descriptor_pb2.FieldDescriptorProto

    def message(parent, name, *parts):
        new = parent.message_type.add(name=name) if parent is file else parent.nested_type.add(name=name)
        for number, (part, kind, label, type_name) in enumerate(parts, start=1):
            new.field.add(name=part, number=number, type=kind, label=label, type_name=type_name)
        return new

    one, many = field.LABEL_OPTIONAL, field.LABEL_REPEATED
    lists = {"BytesList": field.TYPE_BYTES, "FloatList": field.TYPE_FLOAT, "Int64List": field.TYPE_INT64}
    for name, kind in lists.items():
        message(file, name, ("value", kind, many, None))
    names = [("bytes_list", "BytesList"), ("float_list", "FloatList"), ("int64_list", "Int64List")]
    feature = message(file, "Feature", *((name, field.TYPE_MESSAGE, one, f".mzu.{kind}") for name, kind in names))
    feature.oneof_decl.add(name="kind")
    for part in feature.field:
        part.oneof_index = 0
    features = message(file, "Features", ("feature", field.TYPE_MESSAGE, many, ".mzu.Features.FeatureEntry"))
    entry = message(
        features,
        "FeatureEntry",
        ("key", field.TYPE_STRING, one, None),
        ("value", field.TYPE_MESSAGE, one, ".mzu.Feature"),
    )
    entry.options.map_entry = True
    message(file, "Example", ("features", field.TYPE_MESSAGE, one, ".mzu.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("mzu.Example"))
