"""Files of ONNX as they are: models, graphs, nodes, tensors. What they mean is elsewhere (importing.py)."""

import math
import os

import numpy as np

from proa import _C
from proa.onnx import wire

# Fields by number, as https://onnx.ai/onnx/api/classes.html describes them: (name, kind, whether repeated).
_FORMS = {
    "Model": {
        1: ("ir_version", "int", False),
        7: ("graph", "Graph", False),
        8: ("opset_import", "OperatorSet", True),
        25: ("functions", "Function", True),
    },
    "OperatorSet": {1: ("domain", "text", False), 2: ("version", "int", False)},
    "Graph": {
        1: ("node", "Node", True),
        2: ("name", "text", False),
        5: ("initializer", "Tensor", True),
        11: ("input", "ValueInfo", True),
        12: ("output", "ValueInfo", True),
        15: ("sparse_initializer", "SparseTensor", True),
    },
    "Node": {
        1: ("input", "text", True),
        2: ("output", "text", True),
        3: ("name", "text", False),
        4: ("op_type", "text", False),
        5: ("attribute", "Attribute", True),
        7: ("domain", "text", False),
        8: ("overload", "text", False),
    },
    "Attribute": {
        1: ("name", "text", False),
        2: ("f", "float", False),
        3: ("i", "int", False),
        4: ("s", "bytes", False),
        5: ("t", "Tensor", False),
        6: ("g", "Graph", False),
        7: ("floats", "float", True),
        8: ("ints", "int", True),
        9: ("strings", "bytes", True),
        10: ("tensors", "Tensor", True),
        11: ("graphs", "Graph", True),
        14: ("tp", "Type", False),
        20: ("type", "int", False),
        21: ("ref_attr_name", "text", False),
        22: ("sparse_tensor", "SparseTensor", False),
    },
    "Tensor": {
        1: ("dims", "int", True),
        2: ("data_type", "int", False),
        4: ("float_data", "float", True),
        5: ("int32_data", "int", True),
        6: ("string_data", "bytes", True),
        7: ("int64_data", "int", True),
        8: ("name", "text", False),
        9: ("raw_data", "bytes", False),
        10: ("double_data", "double", True),
        11: ("uint64_data", "int", True),
        13: ("external_data", "Entry", True),
        14: ("data_location", "int", False),
    },
    "SparseTensor": {1: ("values", "Tensor", False), 2: ("indices", "Tensor", False), 3: ("dims", "int", True)},
    "Entry": {1: ("key", "text", False), 2: ("value", "text", False)},
    "ValueInfo": {1: ("name", "text", False), 2: ("type", "Type", False)},
    "Type": {
        1: ("tensor_type", "TensorType", False),
        4: ("sequence_type", "ElementType", False),
        9: ("optional_type", "ElementType", False),
    },
    "ElementType": {1: ("elem_type", "Type", False)},
    "TensorType": {1: ("elem_type", "int", False), 2: ("shape", "Shape", False)},
    "Shape": {1: ("dim", "Dim", True)},
    "Dim": {1: ("dim_value", "int", False), 2: ("dim_param", "text", False)},
    "Function": {
        1: ("name", "text", False),
        4: ("input", "text", True),
        5: ("output", "text", True),
        6: ("attribute", "text", True),
        7: ("node", "Node", True),
        9: ("opset_import", "OperatorSet", True),
        10: ("domain", "text", False),
        11: ("attribute_proto", "Attribute", True),
        13: ("overload", "text", False),
    },
    "Sequence": {
        1: ("name", "text", False),
        2: ("elem_type", "int", False),
        3: ("tensor_values", "Tensor", True),
        5: ("sequence_values", "Sequence", True),
    },
    "Optional": {
        1: ("name", "text", False),
        2: ("elem_type", "int", False),
        3: ("tensor_value", "Tensor", False),
        5: ("sequence_value", "Sequence", False),
    },
}
_READ = {name: wire.Form(name, fields) for name, fields in _FORMS.items()}

# Of element types by number: (name in ONNX, dtype as stored, field, dtype here). What has no dtype here is None.
# Unsigned integers beyond 8 bits are held in the next wider signed ones.
ELEMENTS = {
    1: ("float", "<f4", "float_data", "float32"),
    2: ("uint8", "u1", "int32_data", "uint8"),
    3: ("int8", "i1", "int32_data", "int8"),
    4: ("uint16", "<u2", "int32_data", "int32"),
    5: ("int16", "<i2", "int32_data", "int16"),
    6: ("int32", "<i4", "int32_data", "int32"),
    7: ("int64", "<i8", "int64_data", "int64"),
    8: ("string", None, "string_data", "string"),
    9: ("bool", "?", "int32_data", "bool"),
    10: ("float16", "<f2", "int32_data", "float16"),
    11: ("double", "<f8", "double_data", "float64"),
    12: ("uint32", "<u4", "uint64_data", "int64"),
    13: ("uint64", "<u8", "uint64_data", "int64"),
    14: ("complex64", "<c8", "float_data", "complex64"),
    15: ("complex128", "<c16", "double_data", "complex128"),
    16: ("bfloat16", "<u2", "int32_data", "bfloat16"),
    17: ("float8e4m3fn", None, None, None),
    18: ("float8e4m3fnuz", None, None, None),
    19: ("float8e5m2", None, None, None),
    20: ("float8e5m2fnuz", None, None, None),
    21: ("uint4", "u1", "int32_data", "uint8"),
    22: ("int4", "i1", "int32_data", "int8"),
    23: ("float4e2m1", None, None, None),
}


def read(data, form="Model"):
    """The message in bytes.

    Raises:
        wire.Damaged: they are none.
    """
    return wire.read(memoryview(data), _READ, form)


def dtype_of(number):
    """The dtype here of an element type.

    Raises:
        ValueError: there is none.
    """
    if number not in ELEMENTS:
        raise _C.located(ValueError(f"there is no element type {number}"))
    name, _, _, dtype = ELEMENTS[number]
    if dtype is None:
        raise _C.located(ValueError(f"elements of {name} have no dtype here; convert the model to float32, or to int8"))
    return dtype


def array_of(tensor, folder=None):
    """(dtype here, array of the elements; bfloat16 as bits). No memory beyond the bytes that the file has.

    Args:
        tensor: a Tensor message.
        folder (str, optional): where files of external data may lie.

    Raises:
        ValueError: elements are missing or too many, or lie where they must not.
    """
    dtype = dtype_of(tensor.data_type)
    shape = list(tensor.dims)
    if any(d < 0 for d in shape):
        raise _C.located(ValueError(f"sizes {shape} are negative"))
    count = math.prod(shape)
    name, stored, field, _ = ELEMENTS[tensor.data_type]
    if dtype == "string":
        if len(tensor.string_data) != count:
            raise _C.located(ValueError(f"{len(tensor.string_data)} texts for sizes {shape}"))
        return dtype, np.array([_text(s) for s in tensor.string_data], object).reshape(shape)
    if tensor.data_location == 1:
        raw = _external(tensor, folder)
    elif len(tensor.raw_data):
        raw = tensor.raw_data
    else:
        raw = None
    if raw is not None:
        array = _from_bytes(raw, name, stored, count)
    else:
        array = _from_field(getattr(tensor, field), name, stored, field)
    if array.size != count:
        raise _C.located(ValueError(f"{array.size} elements of {name} for sizes {shape}"))
    if name == "uint64" and (array >> np.uint64(63)).any():
        raise _C.located(ValueError("numbers of uint64 beyond int64 have no dtype here"))
    if name in ("uint16", "uint32", "uint64"):
        array = array.astype(dtype)
    return dtype, array.reshape(shape)


def _text(raw):
    return bytes(raw).decode("utf-8", "replace")


def _from_bytes(raw, name, stored, count):
    if name in ("uint4", "int4"):
        pairs = np.frombuffer(raw, np.uint8)
        both = np.stack([pairs & 15, pairs >> 4], -1).reshape(-1)
        if len(both) - count not in (0, 1):
            raise _C.located(ValueError(f"{len(pairs)} bytes for {count} elements of {name}"))
        both = both[:count]
        return both if name == "uint4" else ((both.astype(np.int8) ^ 8) - 8).astype(np.int8)
    width = np.dtype(stored).itemsize
    if len(raw) != count * width:
        raise _C.located(ValueError(f"{len(raw)} bytes for {count} elements of {name}"))
    array = np.frombuffer(raw, np.uint8 if name == "bool" else stored)
    return array != 0 if name == "bool" else array


def _from_field(values, name, stored, field):
    if name in ("uint4", "int4"):
        raise _C.located(ValueError(f"elements of {name} must be given as bytes"))
    code = {"f": "f4", "d": "f8"}.get(field[0], "i8")
    numbers = np.frombuffer(values, code) if len(values) else np.zeros([0], code)
    if name.startswith("complex"):
        if len(numbers) % 2:
            raise _C.located(ValueError("a complex number lacks its imaginary part"))
        return numbers.view(np.dtype(stored))
    if field != "int32_data":
        return numbers.view(np.uint64).astype(stored) if field == "uint64_data" else numbers.astype(stored)
    if name in ("float16", "bfloat16"):
        return (numbers & 0xFFFF).astype(np.uint16).view(stored)
    return numbers != 0 if name == "bool" else numbers.astype(stored)


def _external(tensor, folder):
    """Elements in a file beside the model's."""
    said = {entry.key: entry.value for entry in tensor.external_data}
    location = said.get("location", "")
    if folder is None:
        raise _C.located(
            ValueError(f"its elements lie in the file {location!r}, and the model was given as bytes; give its path")
        )
    parts = location.replace("\\", "/").split("/")
    if not location or "\0" in location or os.path.isabs(location) or ".." in parts or ":" in parts[0]:
        raise _C.located(ValueError(f"its elements lie at {location!r}, which is not in the folder of the model"))
    path = os.path.join(folder, location)
    real, top = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath([real, top]) != top:
        raise _C.located(ValueError(f"its elements lie at {location!r}, a link out of the folder of the model"))
    offset, length = _number(said, "offset", 0), _number(said, "length", None)
    try:
        from proa.framework import container

        with container.open_regular(real) as file:
            size = os.fstat(file.fileno()).st_size
            length = size - offset if length is None else length
            if offset + length > size or length < 0:
                raise _C.located(ValueError(f"bytes {offset} to {offset + length} of {location!r}, which has {size}"))
            file.seek(offset)
            data = file.read(length)
    except OSError as error:
        raise _C.located(ValueError(f"the file of its elements, {location!r}: {error.strerror or error}")) from None
    if len(data) != length:
        raise _C.located(ValueError(f"{location!r} ended early"))
    return data


def _number(said, key, otherwise):
    text = said.get(key)
    if text is None:
        return otherwise
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise _C.located(ValueError(f"its elements have the {key} {text[:40]!r}"))
    return int(text)
