"""Arrays in files of others: NumPy's .npy and .npz, and the zip archives of PyTorch's `torch.save`.

An archive of PyTorch holds a pickle and the bytes of each storage in a member of its own; the pickle names them, and makes
tensors of them by `_rebuild_tensor_v2`. It is read by the machine that executes nothing (pickle_reader.py), with these names
besides.
"""

import io
import math
import os
import zipfile

import numpy as np

from proa import _C
from proa.framework import pickle_reader
from proa.framework.container import FileError
from proa.framework.damage import damage_named, most_unpacked
from proa.framework.pickle_machine import Machine
from proa.framework.pickle_names import GLOBALS
from proa.framework.pickle_values import Global, Ready, kind_of

__all__ = ["load"]


def load(stream, path, return_numpy):
    """A dict of the tensors of an .npz, the tensor of an .npy, or the value that `torch.save` was given.

    Raises:
        FileError: the file is cut off or altered, or holds other things.
    """
    start = stream.tell()
    if stream.read(6) == b"\x93NUMPY":
        stream.seek(start)
        size = stream.seek(0, os.SEEK_END) - start
        stream.seek(start)
        return _tensor(_read_npy(stream, size, path), path, return_numpy)
    stream.seek(start)
    with damage_named("not a whole zip archive of arrays", path):
        with zipfile.ZipFile(stream) as archive:
            return _load_zip(archive, stream, path, return_numpy)


def _load_zip(archive, stream, path, return_numpy):
    members = {info.filename: info for info in archive.infolist()}
    size = stream.seek(0, os.SEEK_END)
    unpacked, most = sum(info.file_size for info in members.values()), most_unpacked(size)
    if unpacked > most:
        raise _C.located(FileError(f"{path}: its members are {unpacked // max(size, 1)} times as large as the file"))
    pickles = [name for name in members if name.split("/")[-1] == "data.pkl" and name.count("/") <= 1]
    if len(pickles) == 1:
        return _TorchMachine(archive, members, pickles[0], path, size, return_numpy).value()
    others = [name for name in members if not name.endswith(".npy")]
    if others or not members:
        what = f"it holds {others[0]!r}" if others else "it is empty"
        raise _C.located(FileError(f"{path}: an archive neither of NumPy nor of PyTorch; {what}"))
    found = {}
    for name, info in members.items():
        with archive.open(info) as member:
            array = _read_npy(member, info.file_size, f"{path}: {name}")
        found[name[: -len(".npy")]] = _tensor(array, path, return_numpy)
    return found


def _read_npy(stream, size, path):
    """The array of an .npy; its header is checked against the size before memory is taken."""
    form = np.lib.format
    with damage_named("not a whole array of numbers", path):
        version = form.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise _C.located(ValueError(f"version {version} of the format"))
        read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        shape, fortran, dtype = read(stream)
        if dtype.hasobject or dtype.names is not None:
            raise _C.located(ValueError("Python objects or records, not numbers"))
        needed = math.prod(shape) * dtype.itemsize
        if needed > size:
            raise _C.located(ValueError(f"{needed} bytes of {list(shape)} {dtype}, but only {size} are there"))
        data = stream.read(needed)
        if len(data) != needed:
            raise _C.located(ValueError("the file is cut off"))
    flat = np.frombuffer(bytearray(data), dtype).astype(dtype.newbyteorder("="), copy=False)
    return flat.reshape(shape, order="F" if fortran else "C")


def _tensor(array, path, return_numpy):
    if return_numpy:
        return array
    try:
        with _C.eager_mode():
            return _C.to_tensor(np.ascontiguousarray(array).reshape(array.shape))
    except TypeError:
        raise _C.located(
            FileError(f"{path}: there are no tensors of {array.dtype}; load with return_numpy=True")
        ) from None


# PyTorch ------------------------------------------------------------------------------------

# dtypes by the names of storages; bfloat16 is read as uint16.
_STORAGES = {
    "BFloat16Storage": "u2", "BoolStorage": "?", "ByteStorage": "u1", "CharStorage": "i1", "ComplexDoubleStorage": "c16",
    "ComplexFloatStorage": "c8", "DoubleStorage": "f8", "FloatStorage": "f4", "HalfStorage": "f2", "IntStorage": "i4",
    "LongStorage": "i8", "ShortStorage": "i2",
}  # fmt: skip


class _Storage:
    """The elements of a member, and whether they are halves of float32 (bfloat16)."""

    def __init__(self, elements, is_bfloat16):
        self.elements, self.is_bfloat16 = elements, is_bfloat16


def _rebuild(machine, storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    if not isinstance(storage, _Storage):
        machine.fail(f"makes a tensor of a {kind_of(storage)}")
    ok = all(isinstance(v, tuple) and all(type(d) is int and 0 <= d < 1 << 60 for d in v) for v in (size, stride))
    if not ok or len(size) != len(stride) or len(size) > 32 or type(offset) is not int or offset < 0:
        machine.fail("makes a tensor of what are no sizes and strides")
    elements = storage.elements
    last = offset + sum((d - 1) * s for d, s in zip(size, stride))
    if math.prod(size) and last >= elements.size:
        machine.fail(f"makes a tensor of {last + 1} elements out of a storage of {elements.size}")
    machine.spend(math.prod(size) * elements.itemsize)
    bytes_ = tuple(s * elements.itemsize for s in stride)
    if math.prod(size) == 0:
        array = np.zeros(size, elements.dtype)
    else:
        array = np.lib.stride_tricks.as_strided(elements[offset:], size, bytes_, writeable=False).copy()
    return Ready(machine.finished(array, storage.is_bfloat16, requires_grad is True))


def _rebuild_parameter(machine, data, requires_grad=True, hooks=None):
    if not isinstance(data, Ready):
        machine.fail(f"makes a parameter of a {kind_of(data)}")
    if isinstance(data.value, _C.Tensor):
        data.value.stop_gradient = requires_grad is not True
    return data


def _size(machine, sizes=()):
    if not isinstance(sizes, (tuple, list)) or not all(type(d) is int for d in sizes):
        machine.fail("makes a size of what are no numbers")
    return tuple(sizes)


_NAMES = {
    **GLOBALS,
    ("torch", "Size"): _size,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild,
}


def _no_call(machine, *arguments):
    return machine.fail("makes a storage, which is not how tensors are written")


for _name in _STORAGES:
    _NAMES["torch", _name] = _no_call


class _TorchMachine(Machine):
    """Reads the pickle of an archive; what it names outside of itself are other members."""

    names = _NAMES

    def __init__(self, archive, members, name, path, size, return_numpy):
        self._archive, self._members, self._return_numpy = archive, members, return_numpy
        self._path, self._folder, self._storages = path, name[: -len("data.pkl")], {}
        super().__init__(io.BytesIO(self._contents(name)), f"{path}: {name}")
        self._budget = 4 * size + (1 << 16)

    def value(self):
        order = self._members.get(self._folder + "byteorder")
        if order is not None and self._contents(order.filename) != b"little":
            raise _C.located(FileError(f"{self._path}: its bytes are in an order that is not read"))
        return pickle_reader.run(self)

    def _contents(self, name):
        with self._archive.open(self._members[name]) as member:
            return member.read()

    def outside(self, key):
        ok = isinstance(key, tuple) and len(key) == 5 and key[0] == "storage" and isinstance(key[1], Global)
        kind = key[1].name.rpartition(".")[2] if ok else None
        if kind not in _STORAGES or not isinstance(key[2], str) or type(key[4]) is not int:
            self.fail("names something outside that is no storage")
        if (kind, key[2]) not in self._storages:
            member = f"{self._folder}data/{key[2]}"
            if member not in self._members:
                self.fail(f"names the storage {key[2][:40]!r}, which the archive does not hold")
            data = self._contents(member)
            dtype = np.dtype("<" + _STORAGES[kind])
            if len(data) != key[4] * dtype.itemsize:
                self.fail(f"says that storage {key[2]} has {key[4]} elements of {dtype}; it has {len(data)} bytes")
            if kind == "BoolStorage" and set(data) - {0, 1}:
                self.fail("makes bool from bytes that are neither 0 nor 1")
            self.spend(len(data))
            self._storages[kind, key[2]] = _Storage(np.frombuffer(data, dtype), kind == "BFloat16Storage")
        return self._storages[kind, key[2]]

    def build(self):
        """Attributes of a dict (the versions of modules) are left out; other values have none."""
        if len(self.stack) >= 2 and isinstance(self.stack[-2], dict) and isinstance(self.stack[-1], dict):
            self.pop()
        else:
            super().build()

    def finished(self, array, is_bfloat16, requires_grad):
        """What is given for a tensor."""
        if is_bfloat16:
            array = (array.astype("u4") << 16).view("f4")
        if self._return_numpy:
            return array
        with _C.eager_mode():
            tensor = _C.to_tensor(array, dtype=_C.bfloat16) if is_bfloat16 else _C.to_tensor(array)
        tensor.stop_gradient = not requires_grad
        return tensor
