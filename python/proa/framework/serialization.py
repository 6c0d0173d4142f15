"""`proa.save` and `proa.load`: tensors in dicts, lists and tuples, with plain values beside them.

Nothing is pickled: a file holds tensors and JSON (framework/container.py), and
loading it runs no code. Pickles of the reference are read as data
(framework/pickle_reader.py).
"""

import base64
import errno
import io
import math
import os
import sys
import warnings

import numpy as np

from proa import _C
from proa.framework import container
from proa.framework.container import FileError

# Names of the file format by dtype name.
_FORMAT_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
    "complex64": "C64",
    "complex128": "C128",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
}
_DTYPE_NAMES = {code: name for name, code in _FORMAT_NAMES.items()}


class _Encoder:
    """Takes a value apart into a tree for JSON and the arrays that it refers to.

    A node is a plain str, int, bool, None or finite float, or a list whose first item
    says what it is: ["list", ...], ["tuple", ...], ["dict", [key, value], ...],
    ["tensor", name, flags], ["array", name], ["float", text], ["complex", re, im], ["bytes", base64],
    ["sparse", "coo" or "csr", shape, coalesced, its tensors]; ["none"] for None that is the whole value.
    """

    def __init__(self):
        self.arrays = {}
        self._names = {}

    def encode(self, value, path):
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, _C.Tensor):
            return self._tensor(value, path)
        if isinstance(value, np.ndarray):
            return ["array", self._put(value, path, _array_format(value, path))]
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else ["float", repr(value)]
        if isinstance(value, complex):
            return ["complex", repr(value.real), repr(value.imag)]
        if isinstance(value, (bytes, bytearray)):
            return ["bytes", base64.b64encode(value).decode()]
        if isinstance(value, dict):
            return ["dict", *([self._key(k, path), self.encode(v, (*path, str(k)))] for k, v in value.items())]
        if isinstance(value, (list, tuple)):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return [kind, *(self.encode(v, (*path, str(i))) for i, v in enumerate(value))]
        if type(value) is _C.DType:
            return ["dtype", value.name]
        if isinstance(value, _class_of("proa.sparse.tensor", "SparseTensor")):
            return self._sparse(value, path)
        if isinstance(value, _class_of("proa.static.scope", "ScopeTensor")):
            return self._tensor(value.tensor(), path)
        raise _C.located(
            TypeError(
                f"save: {_where(path)} is a {type(value).__name__}; only tensors, arrays, numbers, str, bytes, None, "
                "and dicts, lists and tuples of them can be saved (of a layer or optimizer, save its state_dict())"
            )
        )

    def _key(self, key, path):
        if key is None or isinstance(key, (bool, int, str)):
            return key
        if isinstance(key, np.integer):
            return int(key)
        raise _C.located(
            TypeError(f"save: a key of {_where(path)} is a {type(key).__name__}; keys must be str, int, bool or None")
        )

    def _tensor(self, tensor, path):
        if id(tensor) not in self._names:
            array, code = tensor_bytes(tensor)
            self._names[id(tensor)] = self._put(array, path, code)
        return ["tensor", self._names[id(tensor)], tensor.name, not tensor.stop_gradient]

    def _sparse(self, value, path):
        layout = "coo" if value.is_sparse_coo() else "csr"
        parts = {name: self._tensor(part, (*path, name)) for name, part in value._parts().items()}
        return ["sparse", layout, value.shape, value._coalesced, *parts.values()]

    def _put(self, array, path, code):
        """The name under which the array is stored: its path, made unique."""
        name = wanted = ".".join(path) or "value"
        count = 0
        while name in self.arrays or name == "__metadata__":
            count += 1
            name = f"{wanted}#{count}"
        self.arrays[name] = code, array
        return name


def _class_of(module, name):
    """A class; nothing has it before its module is there."""
    return getattr(sys.modules.get(module), name, ())


def _where(path):
    return f"the value at {'.'.join(path)}" if path else "the value"


def _array_format(array, path):
    if array.dtype.name not in _FORMAT_NAMES:
        raise _C.located(
            TypeError(f"save: {_where(path)} is an array of {array.dtype}, which the file format does not have")
        )
    return _FORMAT_NAMES[array.dtype.name]


def tensor_bytes(tensor):
    """(array over its elements, dtype name of the file format); bfloat16 as its bit patterns."""
    tensor = tensor.detach().cpu()
    code = _FORMAT_NAMES[tensor.dtype.name]
    if code == "BF16":
        # The upper halves of float32: exact.
        wide = np.ascontiguousarray(tensor.astype(_C.float32).numpy())
        return (wide.view("uint32") >> 16).astype("uint16").reshape(tensor.shape), code
    return np.ascontiguousarray(tensor.numpy()).reshape(tensor.shape), code


def tensor_of(array, code):
    """The tensor whose elements `tensor_bytes` gave."""
    if code == "BF16":
        wide = (array.reshape(-1).astype("uint32") << 16).view("float32").reshape(array.shape)
        return _C.to_tensor(wide, dtype=_C.bfloat16)
    if code in ("U16", "U32", "U64"):
        raise _C.located(FileError(f"there are no tensors of {_DTYPE_NAMES[code]}; load with return_numpy=True"))
    return _C.to_tensor(array)


class _Decoder:
    """Puts a tree together again; refuses nodes that it does not know."""

    def __init__(self, path, arrays, return_numpy):
        self._path, self._arrays, self._return_numpy = path, arrays, return_numpy
        self._made = {}

    def decode(self, node):
        if not isinstance(node, list):
            if isinstance(node, dict):
                self._fail("a JSON object")
            return node
        if not node or not isinstance(node[0], str):
            self._fail("a node without a kind")
        method = self._KINDS.get(node[0])
        if method is None:
            self._fail(f"a node of the unknown kind {node[0]!r}")
        try:
            return method(self, node[1:])
        except FileError:
            raise
        except (ValueError, TypeError, KeyError) as error:
            self._fail(f"a bad {node[0]} node ({error})")

    def _fail(self, what):
        raise _C.located(FileError(f"{self._path}: proa.tree holds {what}"))

    def _list(self, items):
        return [self.decode(item) for item in items]

    def _tuple(self, items):
        return tuple(self.decode(item) for item in items)

    def _dict(self, items):
        out = {}
        for key, value in items:
            if not (key is None or isinstance(key, (bool, int, str))):
                raise _C.located(ValueError(f"the key {key!r}"))
            out[key] = self.decode(value)
        return out

    def _array(self, items):
        (name,) = items
        return self._arrays[name][1]

    def _tensor(self, items):
        name, tensor_name, requires_grad = items
        code, array = self._arrays[name]
        if self._return_numpy:
            return array
        if name not in self._made:
            tensor = tensor_of(array, code)
            if tensor_name is not None:
                tensor.name = str(tensor_name)
            tensor.stop_gradient = not requires_grad
            self._made[name] = tensor
        return self._made[name]

    def _sparse(self, items):
        from proa.sparse.creation import of_file

        layout, shape, coalesced, *parts = items
        parts = [self.decode(part) for part in parts]
        return parts if self._return_numpy else of_file(layout, shape, coalesced, parts)

    def _float(self, items):
        (text,) = items
        return float(text)

    def _complex(self, items):
        real, imaginary = items
        return complex(float(real), float(imaginary))

    def _bytes(self, items):
        (text,) = items
        return base64.b64decode(text, validate=True)

    def _none(self, items):
        () = items

    def _dtype(self, items):
        (name,) = items
        if name not in _FORMAT_NAMES or not hasattr(_C, name):
            raise _C.located(ValueError(f"the dtype {name!r}"))
        return getattr(_C, name)

    _KINDS = {
        "list": _list,
        "tuple": _tuple,
        "dict": _dict,
        "array": _array,
        "tensor": _tensor,
        "sparse": _sparse,
        "float": _float,
        "complex": _complex,
        "bytes": _bytes,
        "dtype": _dtype,
        "none": _none,
    }


_OLD_TORCH = b"\x80\x02\x8a\nl\xfc\x9cF\xf9"  # the beginning of its magic number, pickled
_SAVE_OPTIONS = {"use_binary_format", "pickle_protocol", "safetensors"}
# The version of a tensor that PaddlePaddle wrote into a file of its own; where others have a length, it is none.
_REFERENCE_TENSOR = bytes(4)
_LOAD_OPTIONS = {"return_numpy", "model_filename", "params_filename", "keep_name_table", "safetensors"}


def _check_options(function, given, known):
    unknown = set(given) - known
    if unknown:
        raise _C.located(TypeError(f"{function}: there is no option {', '.join(sorted(unknown))}"))


def _path_of(function, path):
    if not isinstance(path, (str, os.PathLike)):
        raise _C.located(TypeError(f"{function}: path must be a str or a binary file, not {type(path).__name__}"))
    path = os.fspath(path)
    if "\0" in path:
        raise _C.located(ValueError(f"{function}: the path {path!r} holds a null character"))
    return path


def encode(obj):
    """(arrays, tree) of a value, as the container takes them."""
    encoder = _Encoder()
    try:
        with _C.eager_mode():
            if obj is None:
                tree = ["none"]  # no tree at all is that of other writers' files
            else:
                tree = encoder.encode(obj, ())
            if isinstance(obj, np.ndarray) and (obj.dtype.kind != "u" or obj.itemsize == 1):
                tree = ["tensor", tree[1], None, False]  # alone it is read as a tensor, as in PaddlePaddle
    except RecursionError:
        raise _C.located(ValueError("save: the value is nested too deeply, or contains itself")) from None
    return encoder.arrays, tree


def decode(path, arrays, tree, return_numpy=False):
    """The value of which `encode` gave arrays and tree."""
    decoder = _Decoder(path, arrays, return_numpy)
    if tree is None:
        tree = ["dict", *([name, ["tensor", name, None, False]] for name in arrays)]
    try:
        with _C.eager_mode():  # What a file holds are values, where a program is recorded, too.
            return decoder.decode(tree)
    except RecursionError:
        raise _C.located(FileError(f"{path}: proa.tree is nested too deeply")) from None


def save(obj, path, protocol=4, **configs) -> None:
    """Writes a value to a file.

    The file changes as a whole: who reads it, and whatever happens to this process, finds the old
    contents or the new. It keeps its mode and, where this process may give them, its owner and group.
    A symbolic link is followed: what it names changes, and the link stays. A folder, device or pipe
    is refused. Of several who save to one path at a time, the last to be complete stays.

    Args:
        obj: a tensor, or dicts, lists and tuples of tensors, arrays, numbers, str, bytes and None,
            such as `layer.state_dict()` and `optimizer.state_dict()`.
        path (str|file): where; missing folders are made. Or a binary file or `io.BytesIO` to write to.
        protocol (int): of the reference's pickles, 2 to 5; checked, and of no effect: nothing is pickled.
        use_binary_format, pickle_protocol, safetensors: the reference's options; of no effect.

    Raises:
        TypeError: part of `obj` cannot be saved; the message says which.
        OSError: the file cannot be written, with errno and the path; what was there is unchanged.

    Examples:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "linear.pdparams")
        >>> layer = proa.nn.Linear(2, 3)
        >>> proa.save(layer.state_dict(), path)
        >>> layer.set_state_dict(proa.load(path))
        ([], [])
    """
    _check_options("save", configs, _SAVE_OPTIONS)
    protocol = configs.get("pickle_protocol", protocol)
    if not isinstance(protocol, int) or isinstance(protocol, bool) or not 2 <= protocol <= 5:
        raise _C.located(ValueError(f"save: protocol must be 2, 3, 4 or 5, not {protocol!r}"))
    if not hasattr(path, "write"):
        path = _path_of("save", path)
        if not os.path.basename(path):
            raise _C.located(ValueError(f"save: {path!r} is a folder; give the name of a file"))
    arrays, tree = encode(obj)
    container.write(path, arrays, tree)


def load(path, **configs):
    """Reads what `save` wrote, and the files of others, told apart by their contents.

    Those are safetensors (a dict of tensors; of several files, name the `...safetensors.index.json` that lists them), what
    the reference's `paddle.save` and PyTorch's `torch.save` wrote, and NumPy's .npy and .npz. Pickles in them (protocols 0
    to 5) are read as data: numbers, text, containers and arrays. Nothing in a file is executed or imported, and one that
    asks for more is refused.

    Args:
        path (str|file): the file, or a binary file or `io.BytesIO` at its beginning; of several values saved to it one after
            another, each call gives the next. Or the prefix of a model
            that `jit.save` wrote, for its parameters; or a folder that `fluid.io.save_params`, `save_persistables` or
            `save_inference_model` wrote, here or in PaddlePaddle 1.x. Files of it that hold no tensor are named by a warning.
        model_filename, params_filename (str): of an inference model in a folder, if they are others than __model__ and a
            file for each parameter.
        return_numpy (bool): arrays instead of tensors.
        keep_name_table (bool): keep the table of parameters' names that the reference writes into a state_dict.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is cut off, altered, of another kind, or no regular file (a pipe is not waited for);
            the message says what and where.

    Examples:
        >>> proa.save({"x": proa.ones([2])}, "/tmp/load_example.pdparams")
        >>> proa.load("/tmp/load_example.pdparams")["x"].tolist()
        [1.0, 1.0]
    """
    _check_options("load", configs, _LOAD_OPTIONS)
    return_numpy = bool(configs.get("return_numpy", False))
    keep_name_table = bool(configs.get("keep_name_table", False))
    if hasattr(path, "read"):
        stream = path if path.seekable() else io.BytesIO(path.read())
        return _load(stream, getattr(path, "name", None) or "the stream", return_numpy, keep_name_table, alone=False)
    path = _path_of("load", path)
    if not os.path.exists(path):
        return _load_prefix(path, return_numpy)
    if os.path.isdir(path):
        return _load_folder(path, return_numpy, configs)
    with container.open_regular(path) as stream:
        return _load(stream, path, return_numpy, keep_name_table)


def _load_prefix(path, return_numpy):
    """The parameters of a model that `jit.save` wrote, by its prefix."""
    if not os.path.exists(f"{path}.pdmodel"):
        near = [path + ending for ending in (".pdparams", ".pdopt") if os.path.exists(path + ending)]
        hint = f"; give the whole name, {near[0]}" if near else ""
        raise _C.located(_C.NotFoundError(errno.ENOENT, f"there is no such file{hint}", path))
    captured = _C.load_program(os.fsencode(path)).captured
    return {name: tensor.numpy() if return_numpy else tensor for name, tensor in captured if name}


def _load_folder(path, return_numpy, configs):
    """The tensors of a folder: of an inference model, or of a file for each."""
    given = configs.get("model_filename"), configs.get("params_filename")
    names = os.listdir(path)
    if given[1] and not given[0] and not {"__model__", *(n for n in names if n.endswith(".pdmodel"))} & set(names):
        # One file of parameters without a program, which save_params writes: ours names them, PaddlePaddle's does not.
        value = load(os.path.join(path, given[1]), return_numpy=return_numpy)
        return value if isinstance(value, dict) else {given[1]: value}
    if any(given) or any(name == "__model__" or name.endswith(".pdmodel") for name in names):
        files = [path]
        if any(given):
            files = [os.path.join(path, given[0] or "__model__"), os.path.join(path, given[1]) if given[1] else ""]
        captured = _C.load_program(*map(os.fsencode, files)).captured
        return {name: tensor.numpy() if return_numpy else tensor for name, tensor in captured if name}
    found = {}
    for folder, _, files in os.walk(path):
        for file in sorted(files):
            name = os.path.relpath(os.path.join(folder, file), path).replace(os.sep, "/")
            try:
                value = load(os.path.join(path, name), return_numpy=return_numpy)
            except (ValueError, OSError) as error:
                warnings.warn(f"load: {name} in {path} is left out: {error}", stacklevel=3)
                continue
            found.update(value if isinstance(value, dict) else {name: value})
    if not found:
        raise _C.located(IsADirectoryError(errno.EISDIR, "it is a folder without tensors", path))
    return found


def _load(stream, path, return_numpy, keep_name_table, alone=True):
    base = stream.tell()
    size = stream.seek(0, os.SEEK_END) - base
    stream.seek(base)
    start = stream.read(9)
    stream.seek(base)
    # Imported when needed: most programs load no pickles, and none of others.
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06") or start[:6] == b"\x93NUMPY":
        from proa.framework import archives

        return archives.load(stream, path, return_numpy)
    if start[:4] == _REFERENCE_TENSOR:
        tensor = _C.parse_reference_tensor(stream.read(), os.fspath(path))
        return tensor.numpy() if return_numpy else tensor
    if isinstance(path, (str, os.PathLike)) and os.fspath(path).endswith(".index.json"):
        return _load_sharded(stream, os.fspath(path), return_numpy)
    from proa.framework import reference_pickles

    if start == _OLD_TORCH:
        raise _C.located(
            FileError(f"{path}: a file of PyTorch before 1.6; load it there, and save it again with a newer PyTorch")
        )
    if reference_pickles.is_pickle(start, size):
        return reference_pickles.load(stream, path, return_numpy, keep_name_table)
    contents = container.read_stream(stream, path, alone)
    return decode(path, contents.arrays, contents.tree, return_numpy)


def _load_sharded(stream, path, return_numpy):
    """The tensors of several safetensors files beside each other, by the JSON file that says which holds which."""
    table = container.parse_json(path, "it", stream.read())
    names = table.get("weight_map") if isinstance(table, dict) else None
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise _C.located(FileError(f"{path}: it has no weight_map from names to files"))
    found = {}
    for name in dict.fromkeys(names.values()):
        if os.path.basename(name) != name or name in ("", ".", ".."):
            raise _C.located(FileError(f"{path}: {name!r} is no file beside it"))
        part = load(os.path.join(os.path.dirname(path), name), return_numpy=return_numpy)
        missing = [key for key, where in names.items() if where == name and key not in part]
        if missing:
            raise _C.located(FileError(f"{path}: {name} does not hold {missing[0]!r}"))
        found.update((key, part[key]) for key, where in names.items() if where == name)
    return {key: found[key] for key in names}


def save_together(values):
    """Writes {path: value} so that `load_together` finds all of the old or all of the new ones."""
    container.write_together([(_path_of("save", path), *encode(value)) for path, value in values.items()])


def load_together(paths, return_numpy=False):
    """What `save_together` wrote; None for a file that is not there. Others' files, too, one by one."""
    with container.open_regular(paths[0]) as stream:
        start, size = stream.read(9), os.fstat(stream.fileno()).st_size
    from proa.framework import reference_pickles

    is_pickle = reference_pickles.is_pickle(start, size)
    found = [] if is_pickle else container.read_together(paths)
    values = [None if c is None else decode(path, c.arrays, c.tree, return_numpy) for path, c in zip(paths, found)]
    for path in paths[len(found) :]:
        values.append(load(path, return_numpy=return_numpy) if path == paths[0] or os.path.exists(path) else None)
    return values
