"""A program of PaddlePaddle under construction: blocks of variables and operations."""

import contextlib
import threading

import numpy as np

from proa.jit.reference import wire


class NotInReference(Exception):
    """The format cannot say this."""


class Value:
    """A variable.

    Attributes:
        name (str): in the program.
        dtype (str): "float32".
        shape (tuple): sizes, negative numbers for open ones; None where it is not known.
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, name, dtype, shape=None):
        self.name, self.dtype, self.shape = name, dtype, shape

    @property
    def rank(self):
        return len(self.shape)


class _Building(threading.local):
    graph = None


_building = _Building()


def current():
    """The graph that a rule adds to."""
    return _building.graph


class Graph:
    """Blocks, and the tensors of persistable variables by name; for one thread."""

    trains = False  # whether operations of training may be in it

    def __init__(self):
        self.blocks = [{"parent": -1, "vars": [], "ops": []}]
        self.tensors = {}  # of parameters and constants, by name: (dtype, array)
        self.operation = None  # what the converter is at
        self._at = 0
        self._role = None
        self._names, self._variables, self._constants = set(), {}, {}

    @contextlib.contextmanager
    def building(self):
        """Rules add to this graph."""
        before, _building.graph = _building.graph, self
        try:
            yield self
        finally:
            _building.graph = before

    @contextlib.contextmanager
    def role(self, role):
        """Operations made meanwhile say that they are forward, backward, or steps of an optimizer (backward.py)."""
        before, self._role = self._role, role
        try:
            yield
        finally:
            self._role = before

    @contextlib.contextmanager
    def block(self, forward=-1):
        """Operations made meanwhile go to a block of their own, whose number it gives; `forward`: whose gradients they are."""
        before, self._at = self._at, len(self.blocks)
        self.blocks.append({"parent": before, "forward": forward, "vars": [], "ops": []})
        try:
            yield wire.Block(self._at)
        finally:
            self._at = before

    def free_name(self, wish):
        """`wish`, or with a number behind it if it is taken."""
        name, count = wish, 0
        while name in self._names:
            count += 1
            name = f"{wish}_{count}"
        self._names.add(name)
        return name

    def variable(self, wish, dtype, shape=None, outermost=False, **more):
        """Declares a variable in the block that is built, or the first one, and returns its Value."""
        value = Value(self.free_name(wish), dtype, shape)
        declared = {"name": value.name, "dtype": dtype, "dims": dims_of(shape), **more}
        self.blocks[0 if outermost else self._at]["vars"].append(declared)
        self._variables[value.name] = declared
        return value

    def local(self, name, dtype, dims):
        """Declares a variable of this very name in the block that is built, whatever others it hides; its name."""
        declared = {"name": name, "dtype": dtype, "dims": list(dims)}
        if all(v["name"] != name for v in self.blocks[self._at]["vars"]):
            self.blocks[self._at]["vars"].append(declared)
        self._variables.setdefault(name, declared)
        return name

    @property
    def operations(self):
        """Those of the block that is built."""
        return self.blocks[self._at]["ops"]

    def special(self, name, kind, persistable):
        """Declares a variable that is no tensor."""
        name = self.free_name(name)
        declared = {"name": name, "kind": kind, "persistable": persistable}
        self.blocks[0 if persistable else self._at]["vars"].append(declared)
        return name

    def declared(self, name):
        """What is said of a variable that is a tensor; nothing of others."""
        return self._variables.get(name, {})

    def value(self, name):
        """The variable of this name."""
        declared = self._variables[name]
        return Value(name, declared["dtype"], tuple(declared["dims"]))

    def is_made(self, name):
        """Whether it is a variable that an operation makes: no parameter, input or constant."""
        declared = self._variables[name]
        constant = any(value.name == name for value in self._constants.values())
        return not (declared.get("persistable") or declared.get("need_check_feed") or constant)

    def rename(self, name, wish):
        """Gives a variable of the first block another name; the one that it has now."""
        if wish in self._names:
            return name
        self._names.add(wish)
        for block in self.blocks:
            for made in block["ops"]:
                for slots in (made["inputs"], made["outputs"]):
                    for slot, names in slots.items():
                        slots[slot] = [wish if n == name else n for n in names]
        declared = self._variables[wish] = self._variables.pop(name)
        declared["name"] = wish
        return wish

    def describe(self, value, dtype, shape):
        """What the program knows of a value that a rule made."""
        declared = self._variables[value.name]
        if not declared.get("persistable") and not declared.get("need_check_feed"):
            declared.update(dtype=dtype, dims=dims_of(shape))
        return Value(value.name, dtype, tuple(shape))

    def parameter(self, name, dtype, array, trainable=False):
        """A persistable variable of these elements."""
        value = self.variable(
            name or "constant",
            dtype,
            array.shape,
            outermost=True,
            persistable=True,
            parameter=trainable,
            stop_gradient=not trainable,
        )
        self.tensors[value.name] = (dtype, array)
        return value

    def constant(self, values, dtype):
        """A value of these elements, as a NumPy array of this dtype (bfloat16: its bits as uint16)."""
        array = np.array(values, order="C") if isinstance(values, np.ndarray) else np.array(values, dtype)
        key = (dtype, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.parameter("", dtype, array)
        return self._constants[key]

    def op(self, kind, inputs, outputs, attributes):
        """Adds an operation; `inputs` and `outputs` are lists of names of variables by slot."""
        if self._role is not None:
            attributes = {**attributes, "op_role": self._role}
        made = {"type": kind, "inputs": inputs, "outputs": outputs, "attributes": attributes}
        self.blocks[self._at]["ops"].append(made)

    def reads(self, block):
        """The names that a block, or one within, takes from the blocks around it."""
        own = {v["name"] for v in self.blocks[block]["vars"]}
        found = set()
        for made in self.blocks[block]["ops"]:
            found.update(name for names in made["inputs"].values() for name in names)
        return found - own


def dims_of(shape):
    """Dims as the format has them: -1 for an open one."""
    return [max(d, -1) for d in shape or ()]


class WholeGraph(Graph):
    """One of a program as it was built, which has no values but those of its parameters: operations make its constants."""

    trains = True

    def parameter(self, name, dtype, array, trainable=False):
        at, self._at = self._at, 0
        flat = array.reshape(-1)
        if flat.size and dtype != "bfloat16" and (flat == flat[0]).all():
            number = flat[0].item()
            if isinstance(number, complex):
                raise NotInReference("a complex constant")
            text = str(int(number)) if isinstance(number, (bool, int)) else repr(number)
            out = self.variable("constant", dtype, array.shape)
            form = {"shape": wire.Longs(array.shape), "dtype": wire.CODES[dtype]}
            self.op("fill_constant", {}, {"Out": [out.name]}, {**form, "value": float(number), "str_value": text})
        elif dtype in _LISTS:
            out = self._listed(dtype, array)
        elif dtype in ("float64", "float16", "bfloat16"):
            wide = array if dtype != "bfloat16" else (array.astype(np.uint32) << 16).view(np.float32)
            high = wide.astype(np.float32)
            out = self._cast(self._listed("float32", high), dtype)
            if dtype == "float64" and (low := (array - high).astype(np.float32)).any():
                both = [out.name, self._cast(self._listed("float32", low), dtype).name]
                out = self.variable("constant", dtype, array.shape)
                self.op("sum", {"X": both}, {"Out": [out.name]}, {})
        elif dtype in ("int8", "int16", "uint8"):
            out = self._cast(self._listed("int32", array.astype(np.int32)), dtype)
        else:
            raise NotInReference(f"a constant of type {dtype}")
        self._at = at
        return out

    def _listed(self, dtype, array):
        """A variable of elements that an attribute lists."""
        out = self.variable("constant", dtype, array.shape)
        attribute, listed = _LISTS[dtype]
        form = {"shape": list(array.shape), "dtype": wire.CODES[dtype], attribute: listed(array.reshape(-1).tolist())}
        self.op("assign_value", {}, {"Out": [out.name]}, form)
        return out

    def _cast(self, value, dtype):
        out = self.variable("constant", dtype, value.shape)
        codes = {"in_dtype": wire.CODES[value.dtype], "out_dtype": wire.CODES[dtype]}
        self.op("cast", {"X": [value.name]}, {"Out": [out.name]}, codes)
        return out


# Attributes of `assign_value` that list elements.
_LISTS = {
    "float32": ("fp32_values", wire.Floats),
    "int32": ("int32_values", list),
    "int64": ("int64_values", wire.Longs),
    "bool": ("bool_values", lambda values: [int(v) for v in values]),
}
