"""The messages of MLCommons Chakra execution traces, for reading and writing them.

A trace is a file a rank: a `GlobalMetadata` message, then `Node` messages, each behind its length as a varint. Field
numbers are those of the schema of May 2026 (mlcommons/chakra, schema/protobuf/et_def.proto). Not here: what the nodes
mean (`workload.formats.chakra`).
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from eastwest.workload.trace import TraceCollectiveKind

METADATA, MEMORY_LOAD, MEMORY_STORE, COMPUTE, SEND, RECEIVE, COLLECTIVE = range(1, 8)
"""Types of nodes; 0 is invalid."""
COLLECTIVES: tuple[TraceCollectiveKind, ...] = (
    "all-reduce",
    "reduce",
    "all-gather",
    "gather",
    "scatter",
    "broadcast",
    "all-to-all",
    "reduce-scatter",
    "reduce-scatter",  # of blocks
    "barrier",
)
"""Collectives by their number in `comm_type`."""

EXACT_SECONDS = "eastwest_duration_s"
"""An attribute of our own: a compute's time, of which `duration_micros` has whole microseconds alone."""
QUEUE = "eastwest_queue"
"""An attribute of our own: the queue of a message."""
WITHOUT_NCCL = "eastwest_without_nccl"
"""An attribute of our own: a message without NCCL's costs, in a step whose collectives have them."""

_PACKAGE = "eastwest.chakra"
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = (
    ("double", _Field.TYPE_DOUBLE),
    ("float", _Field.TYPE_FLOAT),
    ("int32", _Field.TYPE_INT32),
    ("int64", _Field.TYPE_INT64),
    ("uint32", _Field.TYPE_UINT32),
    ("uint64", _Field.TYPE_UINT64),
    ("sint32", _Field.TYPE_SINT32),
    ("sint64", _Field.TYPE_SINT64),
    ("fixed32", _Field.TYPE_FIXED32),
    ("fixed64", _Field.TYPE_FIXED64),
    ("sfixed32", _Field.TYPE_SFIXED32),
    ("sfixed64", _Field.TYPE_SFIXED64),
    ("bool", _Field.TYPE_BOOL),
    ("string", _Field.TYPE_STRING),
    ("bytes", _Field.TYPE_BYTES),
)
"""Types of attributes, in the order of their numbers: 3 and 4 (its list), 5 and 6, and so on."""


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="eastwest/chakra.proto", package=_PACKAGE, syntax="proto3")

    def message(name: str) -> Any:
        return file.message_type.add(name=name)

    def field(owner: Any, name: str, number: int, kind: Any, *, of: str = "", is_list: bool = False) -> Any:
        label = _Field.LABEL_REPEATED if is_list else _Field.LABEL_OPTIONAL
        return owner.field.add(
            name=name, number=number, type=kind, label=label, type_name=f".{_PACKAGE}.{of}" if of else None
        )

    attribute = message("AttributeProto")
    field(attribute, "name", 1, _Field.TYPE_STRING)
    field(attribute, "doc_string", 2, _Field.TYPE_STRING)
    attribute.oneof_decl.add(name="value")
    for place, (name, kind) in enumerate(_SCALARS):
        listed = f"{name.capitalize()}List"
        field(message(listed), "values", 1, kind, is_list=True)
        one = field(attribute, f"{name}_val", 3 + 2 * place, kind)
        several = field(attribute, f"{name}_list", 4 + 2 * place, _Field.TYPE_MESSAGE, of=listed)
        one.oneof_index = several.oneof_index = 0

    metadata = message("GlobalMetadata")
    field(metadata, "version", 1, _Field.TYPE_STRING)
    field(metadata, "attr", 2, _Field.TYPE_MESSAGE, of="AttributeProto", is_list=True)

    tensors = message("IOInfo")
    for number, name in enumerate(("values", "shapes", "types"), start=1):
        field(tensors, name, number, _Field.TYPE_STRING)

    node = message("Node")
    field(node, "id", 1, _Field.TYPE_UINT64)
    field(node, "name", 2, _Field.TYPE_STRING)
    field(node, "type", 3, _Field.TYPE_INT32)  # an enumeration there, of which later schemas may know more
    field(node, "ctrl_deps", 4, _Field.TYPE_UINT64, is_list=True)
    field(node, "data_deps", 5, _Field.TYPE_UINT64, is_list=True)
    field(node, "start_time_micros", 6, _Field.TYPE_UINT64)
    field(node, "duration_micros", 7, _Field.TYPE_UINT64)
    field(node, "inputs", 8, _Field.TYPE_MESSAGE, of="IOInfo")
    field(node, "outputs", 9, _Field.TYPE_MESSAGE, of="IOInfo")
    field(node, "attr", 10, _Field.TYPE_MESSAGE, of="AttributeProto", is_list=True)
    return file


def _messages() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    found: dict[str, Any] = message_factory.GetMessageClassesForFiles(["eastwest/chakra.proto"], pool)
    return found


_classes = _messages()
Node: Any = _classes[f"{_PACKAGE}.Node"]
GlobalMetadata: Any = _classes[f"{_PACKAGE}.GlobalMetadata"]


def value_of(attribute: Any) -> Any:
    """The value of an attribute, whatever its type: lists as tuples, None where it has none."""
    which = attribute.WhichOneof("value")
    if which is None:
        return None
    found = getattr(attribute, which)
    return tuple(found.values) if which.endswith("_list") else found


def framed(message: Any) -> bytes:
    """A message behind its length, as traces have them."""
    body: bytes = message.SerializeToString(deterministic=True)
    return varint(len(body)) + body


def varint(number: int) -> bytes:
    """A whole number as protobuf writes it: seven bits a byte, the lowest first."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
