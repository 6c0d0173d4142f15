"""Rules of import: what an operator of ONNX is here. They stand beside the ops, in `ops/<family>/onnx_import.py`.

A rule is a function `from_<Operator>`. Its positional parameters are the operator's inputs, in order, None where one is
left out; those behind the star are attributes, with the defaults of ONNX. What is an attribute in one version and an
input in another has one name and is a positional parameter:

    def from_Unsqueeze(x, axes: numbers):
        return x.unsqueeze(...)

Inputs are tensors, or lists of tensors (sequences); of a parameter annotated `numbers`, a NumPy array, whose elements
may be open sizes where the model has such. A rule gives a value, or a tuple of as many as the operator has; a list is
a sequence. It works with tensors that hold numbers and with those of programs that are recorded. Where an op of
ours has an operator's meaning, its rule of export says so and there is none here (`rule.renaming`).
"""

import threading
from typing import Annotated, Any

import numpy as np

from proa import _C
from proa.onnx import model_file

__all__ = [
    "EMPTY", "Known", "branch", "check_turns", "dtype_named", "flat", "is_float", "is_recorded", "numbers", "opset", "output_count", "raw", "refuse", "running_state", "scalar",
    "tensor_of", "to",
]  # fmt: skip

numbers = Annotated[Any, "numbers"]  # of a parameter
running_state = Annotated[Any, "state"]  # of a parameter: a tensor that training does not touch
raw = Annotated[Any, "raw"]  # of a parameter: the value as it is, `Known` or a tensor, a list, `EMPTY`


class Refused(ValueError):
    """What a rule cannot do; the text says why."""


class _Empty:
    """An optional without a value."""


EMPTY = _Empty()


class Known:
    """Numbers that are known while the model is recorded, open sizes among them; a tensor where one is wanted.

    Args:
        array (np.ndarray): of numbers, texts, or objects (numbers and `Size`s).
        dtype (str): of the tensor.
    """

    __slots__ = ("_tensor", "array", "dtype")

    def __init__(self, array, dtype):
        self.array, self.dtype, self._tensor = array, dtype, None

    def tensor(self):
        if self.dtype == "string":
            raise Refused("tensors of texts go only through operators that hand them on")
        if self.array.dtype != object:
            if self._tensor is None:
                self._tensor = _constant(self.array, self.dtype)
            return self._tensor
        flat_ones = [_of_size(n, self.dtype) for n in self.array.reshape(-1)]
        return _C.ops.reshape(_C.ops.stack(flat_ones), list(self.array.shape))


def _constant(array, dtype):
    with _C.eager_mode():
        if dtype == "bfloat16" and array.dtype == np.uint16:
            wide = (array.astype(np.uint32) << 16).view(np.float32)
            return _C.ops.cast(_C.to_tensor(np.ascontiguousarray(wide).reshape(array.shape)), "bfloat16")
        return _C.to_tensor(np.array(array, dtype, order="C").reshape(array.shape))


def _of_size(n, dtype):
    made = n.tensor() if hasattr(n, "tensor") else _C.ops.full([], int(n), "int64")
    return _C.ops.cast(made, dtype)


def tensor_of(value):
    """The tensor of a value."""
    return value.tensor() if isinstance(value, Known) else value


def known(value, name):
    """The numbers of a value.

    Raises:
        Refused: they are those of a run.
    """
    if isinstance(value, Known):
        return value.array
    if isinstance(value, list):
        raise Refused(f"{name} must be a tensor, not a sequence")
    if _C.is_symbolic(value):
        raise Refused(
            f"{name} depends on what the model is given; a recorded program must know it: run the model as it is"
        )
    return value.detach().numpy()


class _Running(threading.local):
    node = None


_running = _Running()


def opset():
    """The version of the operator set that the node is of."""
    return _running.node.version


def output_count():
    """How many outputs the node names."""
    return len(_running.node.outputs)


def branch(graph):
    """A graph of an attribute as a function of values, that gives a list of values; it sees those around it."""
    return _running.node.function_of(graph)


def refuse(why):
    """Ends the rule: this cannot be done."""
    raise Refused(why)


def is_float(x):
    """Whether the elements of a tensor are real numbers."""
    return x.dtype.name.startswith(("float", "bfloat"))


def to(x, dtype):
    """`x` with elements of this dtype."""
    dtype = getattr(dtype, "name", dtype)
    return x if x.dtype.name == dtype else _C.ops.cast(x, dtype)


def is_recorded(value):
    """Whether a value is one of a program that is recorded, whose numbers are not known yet."""
    return isinstance(value, _C.Tensor) and _C.is_symbolic(value)


# Turns that a recorded program may have one behind the other, each with operations of its own.
_MOST_TURNS = 1 << 14


def check_turns(turns, *values):
    """Refuses so many turns where one of the values is recorded: a file may say any number."""
    if turns > _MOST_TURNS and any(map(is_recorded, values)):
        refuse(f"{turns} turns would each be recorded; {_MOST_TURNS} are, at most: run the model as it is")


def dtype_named(number):
    """The dtype that ONNX gives this number."""
    return model_file.dtype_of(int(number))


def flat(values):
    """Numbers as a list of ints; sizes stay."""
    return [n if hasattr(n, "tensor") else int(n) for n in np.asarray(values).reshape(-1)]


def scalar(values):
    """The one number of an array."""
    values = np.asarray(values)
    if values.size != 1:
        refuse(f"one number is wanted where there are {values.size}")
    (found,) = values.reshape(-1)
    return found if hasattr(found, "tensor") else found.item() if hasattr(found, "item") else found
