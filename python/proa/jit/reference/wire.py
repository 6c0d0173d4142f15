"""The bytes of a program and its parameters in PaddlePaddle's format; what reads them is `jit/reference` in C++.

A program is a message of protocol buffers, `ProgramDesc`; parameters are a stream of tensors, each with a `TensorDesc`.
"""

import struct

import numpy as np

from proa import _C

# How the format numbers element types; bfloat16 stands in arrays as uint16.
CODES = {
    "bool": 0, "int16": 1, "int32": 2, "int64": 3, "float16": 4, "float32": 5, "float64": 6, "uint8": 20, "int8": 21,
    "bfloat16": 22, "complex64": 23, "complex128": 24,
}  # fmt: skip

# Kinds of variables.
TENSOR, FEED, FETCH, STEP_SCOPES, RANK_TABLE, TENSOR_ARRAY = 7, 9, 10, 11, 12, 13


class Block(int):
    """The number of a block, as an attribute."""


class Long(int):
    """An attribute of 64 bits, whatever its value."""


class Longs(list):
    """A list of such."""


class Floats(list):
    """A list of numbers, of which there may be none."""


class Float64(float):
    """An attribute of 64 bits; others are float32."""


def _varint(n):
    n &= 2**64 - 1  # negative numbers as two's complement
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def _integer(field, n):
    return _varint(field << 3) + _varint(int(n))


def _bytes(field, data):
    data = data.encode() if isinstance(data, str) else data
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _float(field, x):
    # A number beyond float32 is infinite, as in the reference.
    with np.errstate(over="ignore"):
        return _varint(field << 3 | 5) + np.float32(x).tobytes()


def _double(field, x):
    return _varint(field << 3 | 1) + struct.pack("<d", x)


# (kind, field, writer) by what an attribute holds; the first that fits.
def _form(value):
    if isinstance(value, Block):
        return 8, 12, _integer
    if isinstance(value, bool):
        return 6, 10, _integer
    if isinstance(value, Long) or (isinstance(value, int) and not -(2**31) <= value < 2**31):
        return 9, 13, _integer
    if isinstance(value, int):
        return 0, 3, _integer
    if isinstance(value, Float64):
        return 15, 19, _double
    if isinstance(value, float):
        return 1, 4, _float
    if isinstance(value, str):
        return 2, 5, _bytes
    raise _C.located(TypeError(f"no attribute: {value!r}"))


def _list_form(values):
    if isinstance(values, Floats):
        return 4, 7, _float
    kinds = [_form(v)[0] for v in values]
    if isinstance(values, Longs) or 9 in kinds:
        return 11, 15, _integer
    if 6 in kinds:
        return 7, 11, _integer
    if 1 in kinds:
        return 4, 7, _float
    if 2 in kinds:
        return 5, 8, _bytes
    return 3, 6, _integer


def _attribute(name, value):
    many = isinstance(value, (list, tuple))
    kind, field, write = _list_form(value) if many else _form(value)
    body = b"".join(write(field, v) for v in value) if many else write(field, value)
    return _bytes(1, name) + _integer(2, kind) + body


def _tensor_desc(dtype, dims):
    return _integer(1, CODES[dtype]) + b"".join(_integer(2, d) for d in dims)


def _variable(v):
    kind = v.get("kind", TENSOR)
    described = _integer(1, kind)
    if kind in (TENSOR, TENSOR_ARRAY):
        described += _bytes(
            3 if kind == TENSOR else 4,
            _bytes(1, _tensor_desc(v["dtype"], v["dims"])) + _integer(2, v.get("lod_level", 0)),
        )
    out = _bytes(1, v["name"]) + _bytes(2, described) + _integer(3, v.get("persistable", False))
    out += _integer(4, v.get("need_check_feed", False)) + _integer(5, v.get("parameter", False))
    return out + _integer(6, v.get("stop_gradient", True))


def _slots(field, slots):
    parts = [_bytes(1, slot) + b"".join(_bytes(2, n) for n in names) for slot, names in slots.items()]
    return b"".join(_bytes(field, part) for part in parts)


def _operation(op):
    out = _slots(1, op["inputs"]) + _slots(2, op["outputs"]) + _bytes(3, op["type"])
    return out + b"".join(_bytes(4, _attribute(k, v)) for k, v in sorted(op["attributes"].items()))


def program(blocks, version, op_versions=None):
    """The bytes of a program.

    Args:
        blocks (list): of {parent, vars, ops}, and forward if it is the gradients of another block. A variable is {name, kind, dtype, dims, persistable, ...}, an operation
            {type, inputs, outputs, attributes} with the names of variables by slot.
        version (int): of the release, 1000000 * major + 1000 * minor + patch.
        op_versions (dict, optional): version by type of op; those that the rules know if None.
    """
    out = b""
    for i, block in enumerate(blocks):
        parts = [_integer(1, i), _integer(2, block["parent"])]
        parts += [_bytes(3, _variable(v)) for v in block["vars"]] + [_bytes(4, _operation(o)) for o in block["ops"]]
        if block.get("forward", -1) >= 0:
            parts.append(_integer(5, block["forward"]))
        out += _bytes(1, b"".join(parts))
    return out + _bytes(4, _integer(1, version)) + _bytes(5, _versions_of_ops(blocks, op_versions))


def _versions_of_ops(blocks, known):
    """The versions of the ops of a program, where they are not 0."""
    known = _C.reference_op_versions() if known is None else known
    types = sorted({op["type"] for block in blocks for op in block["ops"]} & known.keys())
    return b"".join(_bytes(1, _bytes(1, t) + _bytes(2, _integer(1, known[t]))) for t in types)


def tensor_head(dtype, dims):
    """What stands before the elements of a tensor in the stream of parameters."""
    described = _tensor_desc(dtype, dims)
    return struct.pack("<IQIi", 0, 0, 0, len(described)) + described
