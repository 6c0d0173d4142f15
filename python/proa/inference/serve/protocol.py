"""Requests and answers of the KServe v2 protocol, as bytes and as arrays; nothing of HTTP.

https://github.com/kserve/open-inference-protocol and, for binary tensors, its extension of that name.
"""

import json
import math

import numpy as np

__all__ = ["DATATYPES", "Input", "Request", "RequestError", "answer", "read_request"]

# dtype of this package: (datatype of the protocol, dtype of the array that carries it).
DATATYPES = {
    "bool": ("BOOL", np.bool_),
    "uint8": ("UINT8", np.uint8),
    "int8": ("INT8", np.int8),
    "int16": ("INT16", np.int16),
    "int32": ("INT32", np.int32),
    "int64": ("INT64", np.int64),
    "float16": ("FP16", np.float16),
    "float32": ("FP32", np.float32),
    "float64": ("FP64", np.float64),
    "bfloat16": ("BF16", np.float32),
}
_MOST_DIMS = 64


class RequestError(ValueError):
    """What is wrong with a request; its text goes to the client."""


class Input:
    """What a model takes or gives: name, dtype and shape, with -1 for open sizes."""

    def __init__(self, name, dtype, shape):
        self.name, self.dtype, self.shape = name, dtype, [-1 if n < 0 else int(n) for n in shape]
        self.datatype, self.carrier = DATATYPES[dtype]

    def metadata(self):
        return {"name": self.name, "datatype": self.datatype, "shape": self.shape}


class Request:
    """Arrays in the order of the model's inputs, and which results are wanted how."""

    def __init__(self, arrays, outputs, identifier):
        self.arrays, self.outputs, self.id = arrays, outputs, identifier  # outputs: [(name, whether binary)]


def _no_constant(text):
    raise RequestError(f"the JSON holds {text}, which JSON has no number for; send such tensors as binary data")


def _require(condition, message):
    if not condition:
        raise RequestError(message)


def _json(data):
    try:
        parsed = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except RequestError:
        raise
    except RecursionError:
        raise RequestError("the JSON is nested too deeply") from None
    except ValueError as error:
        raise RequestError(f"the request is no JSON: {error}") from None
    _require(isinstance(parsed, dict), "the request must be a JSON object")
    return parsed


def _parameters(part, what):
    parameters = part.get("parameters", {})
    _require(isinstance(parameters, dict), f"{what}: parameters must be an object")
    return parameters


def _flag(parameters, key, default, what):
    value = parameters.get(key, default)
    _require(isinstance(value, bool), f"{what}: {key} must be true or false")
    return value


def _is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _shape(part, declared, what):
    shape = part.get("shape")
    _require(
        isinstance(shape, list) and len(shape) <= _MOST_DIMS and all(_is_int(n) and 0 <= n < 2**63 for n in shape),
        f"{what}: shape must be a list of sizes",
    )
    fits = len(shape) == len(declared.shape) and all(d in (-1, n) for d, n in zip(declared.shape, shape))
    _require(fits, f"{what}: the model takes the shape {declared.shape}, not {shape}")
    return shape


def _flat(data, depth=0):
    """The elements of nested lists, in order; how the lists are nested is the shape's word."""
    _require(depth <= _MOST_DIMS, "data is nested too deeply")
    if data and isinstance(data[0], list):
        out = []
        for part in data:
            _require(isinstance(part, list), "data mixes numbers and lists")
            out.extend(_flat(part, depth + 1))
        return out
    return data


_KINDS = {
    "b": (bool, "true or false"),
    "i": (int, "whole numbers"),
    "u": (int, "whole numbers"),
    "f": (float, "numbers"),
}


def _from_list(data, shape, declared, what):
    _require(isinstance(data, list), f"{what}: data must be a list")
    flat, count = _flat(data), math.prod(shape)
    _require(len(flat) == count, f"{what}: data has {len(flat)} elements, shape {shape} has {count}")
    dtype = np.dtype(declared.carrier)
    kind, name = _KINDS[dtype.kind]
    types = (int, float) if kind is float else (kind,)
    wrong = next((v for v in flat if type(v) not in types), None)
    _require(
        all(type(v) in types for v in flat), f"{what}: {declared.datatype} takes {name}, not {json.dumps(wrong)[:40]}"
    )
    try:
        with np.errstate(over="ignore"):
            array = np.array(flat, np.float64 if kind is float else None).reshape(shape)
    except (OverflowError, ValueError):
        raise RequestError(f"{what}: an element does not fit into {declared.datatype}") from None
    if kind is int and array.size:
        info = np.iinfo(dtype)
        fits = array.dtype.kind in "iu" and int(array.min()) >= info.min and int(array.max()) <= info.max
        _require(fits, f"{what}: an element does not fit into {declared.datatype}")
    with np.errstate(over="ignore"):
        array = array.astype(dtype)
    if kind is float:
        _require(bool(np.isfinite(array).all()), f"{what}: an element does not fit into {declared.datatype}")
    return array


def _from_bytes(data, shape, declared, what):
    carried = np.uint16 if declared.dtype == "bfloat16" else declared.carrier
    need = math.prod(shape) * np.dtype(carried).itemsize
    _require(len(data) == need, f"{what}: {len(data)} bytes; {declared.datatype} of shape {shape} has {need}")
    if declared.dtype == "bool":
        bits = np.frombuffer(data, np.uint8)
        _require(bool((bits <= 1).all()), f"{what}: a BOOL is a byte of 0 or 1")
    array = np.frombuffer(data, np.dtype(carried).newbyteorder("<")).astype(carried).reshape(shape)
    if declared.dtype == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def _inputs(parts, declared, rest):
    """The arrays, in the order of `declared`; `rest` holds the binary data, one behind the other."""
    _require(isinstance(parts, list), "inputs must be a list")
    by_name, at, found = {d.name: d for d in declared}, 0, {}
    for i, part in enumerate(parts):
        _require(isinstance(part, dict), f"input {i} must be an object")
        name = part.get("name")
        _require(isinstance(name, str), f"input {i} has no name")
        _require(name in by_name, f"the model has no input {name[:80]!r}; it has {', '.join(by_name)}")
        what = f"input {name!r}"
        _require(name not in found, f"{what} is given twice")
        own = by_name[name]
        datatype = part.get("datatype")
        _require(datatype == own.datatype, f"{what} is {own.datatype}, not {str(datatype)[:40]}")
        shape = _shape(part, own, what)
        size = _parameters(part, what).get("binary_data_size")
        if size is None:
            _require("data" in part, f"{what} has no data")
            found[name] = _from_list(part["data"], shape, own, what)
        else:
            _require("data" not in part, f"{what} has both data and binary_data_size")
            _require(
                _is_int(size) and 0 <= size <= len(rest) - at, f"{what}: the request does not hold its binary data"
            )
            found[name] = _from_bytes(rest[at : at + size], shape, own, what)
            at += size
    _require(at == len(rest), f"{len(rest) - at} bytes behind the binary data belong to no input")
    missing = [name for name in by_name if name not in found]
    _require(not missing, f"input {missing[0] if missing else ''!r} is missing")
    return [found[d.name] for d in declared]


def _outputs(document, declared):
    binary = _flag(_parameters(document, "the request"), "binary_data_output", False, "the request")
    wanted = document.get("outputs")
    if wanted is None:
        return [(d.name, binary) for d in declared]
    _require(isinstance(wanted, list), "outputs must be a list")
    out, names = [], [d.name for d in declared]
    for i, part in enumerate(wanted):
        _require(isinstance(part, dict) and isinstance(part.get("name"), str), f"output {i} has no name")
        name = part["name"]
        _require(name in names, f"the model has no output {name[:80]!r}; it has {', '.join(names)}")
        _require(all(name != seen for seen, _ in out), f"output {name!r} is wanted twice")
        out.append((name, _flag(_parameters(part, f"output {name!r}"), "binary_data", binary, f"output {name!r}")))
    return out or [(d.name, binary) for d in declared]


def read_request(body, json_size, inputs, outputs):
    """A Request.

    Args:
        body (bytes): of the HTTP request.
        json_size (int|None): the header Inference-Header-Content-Length: how many bytes of JSON precede binary data.
        inputs, outputs (list[Input]): of the model.

    Raises:
        RequestError: for whatever is wrong with it.
    """
    if json_size is None:
        json_size = len(body)
    _require(
        0 <= json_size <= len(body), f"Inference-Header-Content-Length is {json_size}, the body has {len(body)} bytes"
    )
    document = _json(body[:json_size])
    identifier = document.get("id")
    _require(identifier is None or isinstance(identifier, str), "id must be a text")
    arrays = _inputs(document.get("inputs"), inputs, memoryview(body)[json_size:])
    return Request(arrays, _outputs(document, outputs), identifier)


def _packed(array, declared):
    if declared.dtype == "bfloat16":
        return (np.ascontiguousarray(array, "<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return np.ascontiguousarray(array, np.dtype(declared.carrier).newbyteorder("<")).tobytes()


def answer(head, request, outputs, results):
    """(body, size of the JSON or None without binary data).

    Args:
        head (dict): model_name and model_version.
        request (Request): what is answered.
        outputs (list[Input]): of the model.
        results (list[ndarray]): of all outputs.

    Raises:
        RequestError: a result that JSON has no numbers for.
    """
    by_name = {d.name: (d, array) for d, array in zip(outputs, results)}
    parts, binary = [], []
    for name, as_bytes in request.outputs:
        declared, array = by_name[name]
        part = {"name": name, "datatype": declared.datatype, "shape": list(array.shape)}
        if as_bytes:
            binary.append(_packed(array, declared))
            part["parameters"] = {"binary_data_size": len(binary[-1])}
        else:
            finite = array.dtype.kind != "f" or bool(np.isfinite(array).all())
            _require(finite, f"output {name!r} holds NaN or Inf, which JSON has no number for; ask for binary_data")
            part["data"] = array.reshape(-1).tolist()
        parts.append(part)
    document = {**head, **({"id": request.id} if request.id is not None else {}), "outputs": parts}
    text = json.dumps(document, allow_nan=False).encode()
    return b"".join([text, *binary]), len(text) if binary else None
