"""Reads pickles of plain values and NumPy arrays without running anything that they say.

A pickle is a program for a stack machine that may import and call what it likes. This
machine has the opcodes that make numbers, text, bytes, lists, tuples, dicts and sets, and
knows the few functions by which arrays (and the reference's tensors) are written *by name*:
what such a name does is written here, nothing is imported or called for it. Everything else
is a FileError that says the opcode, the name and the byte.

What a file can make this process do is bounded by its size: lengths are checked against what
is left of the file before memory is taken, bytes of arrays are read from the file once when
they are needed, and copies of what was read before count against a budget.

    >>> import io, pickle
    >>> from proa.framework.pickle_reader import read
    >>> read(io.BytesIO(pickle.dumps({"lr": 0.1, "steps": [1, 2]})), "state")
    {'lr': 0.1, 'steps': [1, 2]}
"""

import codecs
import collections
import os
import struct

import numpy as np

from proa import _C
from proa.framework.container import FileError

_MAX_DEPTH = 200  # of nested values
_MAX_LONG = 256  # bytes of an integer
_MAX_LINE = 1024  # of names and numbers in the text opcodes
_IN_PLACE = 4096  # bytes up to which they are read at once
_DTYPES = frozenset("b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split())


class _Slice:
    """Bytes that stay in the file until they are wanted, as a `bytes` or `bytearray`."""

    def __init__(self, start, size, kind):
        self.start, self.size, self.kind = start, size, kind


class _Global:
    """A name that stands for something that this reader can do."""

    def __init__(self, name, call):
        self.name, self.call = name, call


class _DType:
    """A dtype; BUILD gives it its byte order."""

    def __init__(self, code):
        self.code, self.order = code, "<"

    def build(self, machine, state):
        ok = (
            isinstance(state, tuple)
            and len(state) in (8, 9)
            and state[0] in (3, 4)
            and state[1] in ("<", ">", "|", "=")
        )
        if not ok or state[2:5] != (None, None, None):
            machine.fail("builds a dtype with fields or from an unknown state")
        self.order = ">" if state[1] == ">" else "<"

    def numpy(self):
        return np.dtype(self.order + self.code)


class _Array:
    """An array; its contents come with BUILD."""

    def __init__(self):
        self.value = None

    def build(self, machine, state):
        if not isinstance(state, tuple) or len(state) != 5 or not isinstance(state[0], int):
            machine.fail("builds an array from an unknown state")
        _, shape, dtype, fortran, raw = state
        self.value = machine.array(raw, dtype, shape, "F" if fortran is True else "C")


def read(stream, name):
    """The value of the pickle at the stream's position, with NumPy arrays and scalars in it.

    Args:
        stream: a binary stream that can seek.
        name (str): of the file, for messages.

    Raises:
        FileError: the pickle is cut off, asks for something to be called or imported, or holds
            what is neither a plain value nor an array of numbers.
    """
    return _Machine(stream, name).run()


class _Machine:
    """The stack machine."""

    def __init__(self, stream, name):
        self._stream, self._name = stream, name
        self._at = self._position = stream.tell()  # of the opcode, of what is read next
        self._end = stream.seek(0, os.SEEK_END)
        stream.seek(self._at)
        self._budget = 4 * (self._end - self._at) + (1 << 16)
        self._stack, self._marks, self._memo = [], [], {}
        self._opcode = "?"

    def run(self):
        try:
            while True:
                self._at = self._position
                code = self._read(1)
                if code == b".":
                    self._opcode = "STOP"
                    break
                known = _OPCODES.get(code)
                if known is None:
                    self._opcode = _NAMES.get(code)
                    if self._opcode is None:
                        self.fail(f"the byte 0x{code[0]:02x} is no opcode", "")
                    self.fail("would run code or needs something from outside of the file")
                self._opcode, method = known
                method(self)
            value = self._pop()
            if self._stack or self._marks:
                self.fail("leaves more than one value")
            return _Finisher(self).finish(value)
        except RecursionError:
            self.fail("makes values that are nested too deeply")
        except (ValueError, TypeError, ArithmeticError, LookupError) as error:
            if isinstance(error, FileError):
                raise
            self.fail(f"does not fit what it is given ({type(error).__name__}: {str(error)[:80]})")

    def fail(self, what, opcode=None):
        """Raises the error that says file, byte and opcode."""
        opcode = f"opcode {self._opcode} " if opcode is None else opcode
        raise _C.located(
            FileError(f"{self._name}: byte {self._at}: {opcode}{what}; pickles are read as data, nothing is executed")
        )

    def spend(self, size):
        """Counts memory that is not one to one in the file."""
        self._budget -= size
        if self._budget < 0:
            self.fail("repeats what was read before until it takes more memory than the file is large")

    # Reading

    def _read(self, n):
        if n > _IN_PLACE:
            self._need(n)
        data = self._stream.read(n)
        self._position += n
        if len(data) != n:
            self.fail("the file is cut off", "")
        return data

    def _need(self, n):
        rest = self._end - self._position
        if n > rest:
            self.fail(f"has a length of {n} bytes, but {rest} follow; the file is cut off or was altered")

    def _line(self, longest=_MAX_LINE):
        line = self._stream.readline(longest)
        self._position += len(line)
        if line[-1:] != b"\n":
            self.fail("has a line that does not end")
        return line[:-1]

    def _bytes(self, n, kind):
        self._need(n)
        if n <= _IN_PLACE:
            return self._push(kind(self._read(n)))
        self._push(_Slice(self._position, n, kind))
        self._position += n
        self._stream.seek(self._position)
        return None

    def _number(self, layout):
        return struct.unpack(layout, self._read(struct.calcsize(layout)))[0]

    def data(self, value):
        """The bytes of a bytes object, a slice of the file or a str of an older Python."""
        if isinstance(value, _Slice):
            self.spend(value.size)
            self._stream.seek(value.start)
            data = bytearray(value.size)
            count = self._stream.readinto(data)
            self._stream.seek(self._position)
            if count != value.size:
                self.fail("is cut off")
            return data
        if isinstance(value, str):
            self.spend(len(value))
            return bytearray(value.encode("latin-1"))
        if isinstance(value, (bytes, bytearray)):
            self.spend(len(value))
            return bytearray(value)
        return self.fail(f"needs bytes, not {_kind(value)}")

    # Stack

    def _pop(self):
        if not self._stack or self._marks and self._marks[-1] == len(self._stack):
            self.fail("finds nothing on the stack")
        return self._stack.pop()

    def _top(self):
        if not self._stack or self._marks and self._marks[-1] == len(self._stack):
            self.fail("finds nothing on the stack")
        return self._stack[-1]

    def _push(self, value):
        self._stack.append(value)

    def _mark(self):
        self._marks.append(len(self._stack))

    def _since_mark(self):
        if not self._marks:
            self.fail("finds no mark on the stack")
        at = self._marks.pop()
        items = self._stack[at:]
        del self._stack[at:]
        return items

    # Memo

    def _put(self, index):
        if index < 0:
            self.fail("has a negative number")
        self._memo[index] = self._top()

    def _get(self, index):
        if index not in self._memo:
            self.fail(f"asks for number {index} of what was kept, which is not there")
        self._push(self._memo[index])

    # Containers

    def _key(self, key):
        parts = key if type(key) is tuple else (key,)
        for part in parts:
            if not (part is None or isinstance(part, (bool, int, float, str, bytes))):
                self.fail(f"uses a {_kind(part)} as a key")
            if isinstance(part, int) and abs(part) >= 1 << 60:  # larger ones may be made to collide
                self.fail("uses a huge number as a key")
        return key

    def _set_items(self, items):
        target = self._top()
        if not isinstance(target, dict) or len(items) % 2:
            self.fail(f"puts {len(items)} keys and values into a {_kind(target)}")
        for i in range(0, len(items), 2):
            target[self._key(items[i])] = items[i + 1]

    def _append(self, items):
        target = self._top()
        if not isinstance(target, list):
            self.fail(f"appends to a {_kind(target)}")
        target.extend(items)

    def _add(self, items):
        target = self._top()
        if type(target) is not set:
            self.fail(f"adds to a {_kind(target)}")
        target.update(self._key(item) for item in items)

    # Names

    def _global(self, module, name):
        if not isinstance(module, str) or not isinstance(name, str):
            self.fail("names something by what is no text")
        call = _GLOBALS.get((module, name))
        if call is None:
            self.fail(f"names {module[:80]}.{name[:80]}, which is not read")
        self._push(_Global(f"{module}.{name}", call))

    def _reduce(self):
        arguments, function = self._pop(), self._pop()
        if not isinstance(function, _Global) or not isinstance(arguments, tuple):
            self.fail(f"calls a {_kind(function)} with a {_kind(arguments)}")
        try:
            self._push(function.call(self, *arguments))
        except (TypeError, ValueError, LookupError) as error:
            if isinstance(error, FileError):
                raise
            self.fail(f"gives {function.name} what it does not take ({str(error)[:80]})")

    def _build(self):
        state, target = self._pop(), self._top()
        if not isinstance(target, (_Array, _DType)):
            self.fail(f"sets attributes of a {_kind(target)}")
        target.build(self, state)

    # Arrays

    def array(self, raw, dtype, shape, order):
        """An array of its own over the elements `raw`."""
        if not isinstance(dtype, _DType):
            self.fail(f"makes an array of a {_kind(dtype)}")
        if isinstance(raw, list):
            self.fail("makes an array of Python objects")
        shape = (shape,) if isinstance(shape, int) else shape
        if not isinstance(shape, tuple) or len(shape) > 32 or not all(type(d) is int and 0 <= d < 2**62 for d in shape):
            self.fail("makes an array whose shape is not a tuple of sizes")
        kind, size = dtype.numpy(), raw.size if isinstance(raw, _Slice) else len(raw)
        needed = kind.itemsize
        for d in shape:
            needed *= d
        if needed != size:
            self.fail(f"makes an array of {needed} bytes out of {size}")
        flat = np.frombuffer(self.data(raw), kind)
        if dtype.code == "b1" and size and flat.view("u1").max() > 1:
            self.fail("makes an array of bool from bytes that are neither 0 nor 1")
        if dtype.order == ">":
            flat = flat.astype(kind.newbyteorder("<"))
        return flat.reshape(shape, order=order)


def _kind(value):
    if isinstance(value, _Global):
        return value.name
    return {"_Slice": "bytes", "_DType": "dtype", "_Array": "array"}.get(type(value).__name__, type(value).__name__)


class _Finisher:
    """Replaces the machine's own objects by what they stand for, each once; shared values stay shared."""

    def __init__(self, machine):
        self._machine = machine
        self._done, self._open = {}, set()

    def finish(self, value, depth=0):
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes, bytearray, np.generic)):
            return value
        if id(value) in self._done:
            return self._done[id(value)][0]
        if id(value) in self._open:
            self._machine.fail("makes a value that contains itself")
        if depth > _MAX_DEPTH:
            self._machine.fail(f"makes values nested deeper than {_MAX_DEPTH}")
        self._open.add(id(value))
        result = self._finish(value, depth + 1)
        self._open.discard(id(value))
        self._done[id(value)] = result, value  # kept, so that its id is not given again
        return result

    def _finish(self, value, depth):
        if isinstance(value, dict):
            for key, item in value.items():
                value[key] = self.finish(item, depth)
            return value
        if isinstance(value, list):
            value[:] = [self.finish(item, depth) for item in value]
            return value
        if isinstance(value, tuple):
            return tuple(self.finish(item, depth) for item in value)
        if isinstance(value, (set, frozenset)):
            return value
        if isinstance(value, np.ndarray):
            return value
        if isinstance(value, _Slice):
            return value.kind(self._machine.data(value))
        if isinstance(value, _Array) and value.value is not None:
            return value.value
        if isinstance(value, _DType):
            return value.numpy()
        return self._machine.fail(f"leaves the name {_kind(value)} as a value")


# What names do ------------------------------------------------------------------------------


def _reconstruct(machine, kind, shape, code):
    if not isinstance(kind, _Global) or kind.name != "numpy.ndarray":
        machine.fail(f"makes an array of the class {_kind(kind)}")
    return _Array()


def _ndarray(machine, *arguments):
    return machine.fail("calls numpy.ndarray, which arrays are not written with")


def _frombuffer(machine, raw, dtype, shape, order):
    if order not in ("C", "F"):
        machine.fail("makes an array of unknown order")
    return machine.array(raw, dtype, shape, order)


def _dtype(machine, code, align=False, copy=True):
    if not isinstance(code, str) or code not in _DTYPES:
        machine.fail(f"makes an array of the element type {str(code)[:40]!r}, which is not read")
    return _DType(code)


def _scalar(machine, dtype, raw):
    return machine.array(raw, dtype, (), "C")[()]


def _encode(machine, text, encoding):
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        machine.fail("encodes otherwise than bytes are written")
    machine.spend(len(text))
    return text.encode("latin-1")


def _copy_of(kind, accepts):
    def make(machine, items=()):
        if not isinstance(items, accepts):
            machine.fail(f"makes a {kind.__name__} of a {_kind(items)}")
        machine.spend(16 * len(items))
        return kind(items)

    return make


def _set_of(kind):
    def make(machine, items=()):
        if not isinstance(items, (list, tuple)):
            machine.fail(f"makes a {kind.__name__} of a {_kind(items)}")
        machine.spend(64 * len(items))
        return kind(machine._key(item) for item in items)

    return make


def _ordered_dict(machine, pairs=()):
    if not isinstance(pairs, (list, tuple)):
        machine.fail(f"makes an OrderedDict of a {_kind(pairs)}")
    machine.spend(128 * len(pairs))
    return collections.OrderedDict((machine._key(key), value) for key, value in pairs)


def _bytes(machine, text="", encoding="latin-1"):
    if encoding not in ("latin1", "latin-1"):
        machine.fail("encodes otherwise than bytes are written")
    return bytes(machine.data(text))


def _bytearray(machine, text="", encoding="latin-1"):
    return bytearray(_bytes(machine, text, encoding))


def _complex(machine, real=0.0, imaginary=0.0):
    if not all(isinstance(part, (int, float)) for part in (real, imaginary)):
        machine.fail("makes a complex number of what are no numbers")
    return complex(real, imaginary)


def _named_data(machine, text, names):
    """How the reference writes an array of a static program: eval("data", {"data": array})."""
    if (
        text != "data"
        or not isinstance(names, dict)
        or list(names) != ["data"]
        or not isinstance(names["data"], (_Array, np.ndarray))
    ):
        machine.fail("calls eval")
    return names["data"]


_GLOBALS = {
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): _ordered_dict,
    ("numpy", "ndarray"): _ndarray,
    ("numpy", "dtype"): _dtype,
}
for _core in ("numpy.core", "numpy._core"):
    _GLOBALS[_core + ".multiarray", "_reconstruct"] = _reconstruct
    _GLOBALS[_core + ".multiarray", "scalar"] = _scalar
    _GLOBALS[_core + ".numeric", "_frombuffer"] = _frombuffer
for _builtins in ("builtins", "__builtin__"):
    _GLOBALS[_builtins, "tuple"] = _copy_of(tuple, (list, tuple))
    _GLOBALS[_builtins, "list"] = _copy_of(list, (list, tuple))
    _GLOBALS[_builtins, "set"] = _set_of(set)
    _GLOBALS[_builtins, "frozenset"] = _set_of(frozenset)
    _GLOBALS[_builtins, "bytes"] = _bytes
    _GLOBALS[_builtins, "bytearray"] = _bytearray
    _GLOBALS[_builtins, "complex"] = _complex
    _GLOBALS[_builtins, "eval"] = _named_data


# What opcodes do ----------------------------------------------------------------------------


def _proto(m):
    version = m._number("B")
    if version > 5:
        m.fail(f"says version {version}; there is none above 5")


def _frame(m):
    m._need(m._number("<Q"))


def _decimal(m):
    text = m._line()
    if text in (b"00", b"01"):
        return m._push(text == b"01")
    return m._push(int(text[:-1] if text[-1:] == b"L" else text))


def _long(layout):
    def method(m):
        n = m._number(layout)
        if not 0 <= n <= _MAX_LONG:
            m.fail(f"has an integer of {n} bytes; {_MAX_LONG} are the most")
        m._push(int.from_bytes(m._read(n), "little", signed=True))

    return method


def _literal(layout):
    return lambda m: m._push(m._number(layout))


def _raw(layout, kind=bytes):
    return lambda m: m._bytes(m._number(layout), kind)


def _text(layout, decode):
    def method(m):
        n = m._number(layout)
        if n < 0:
            m.fail("has a negative length")
        m._need(n)
        m._push(decode(m._read(n)))

    return method


def _utf8(data):
    return data.decode("utf-8", "surrogatepass")


def _latin1(data):
    return data.decode("latin-1")


def _quoted(m):
    text = m._line(-1).rstrip()
    if len(text) < 2 or text[:1] not in (b"'", b'"') or text[-1:] != text[:1]:
        m.fail("has no text in quotes")
    m._push(_latin1(codecs.escape_decode(text[1:-1])[0]))


def _unicode(m):
    m._push(m._line(-1).decode("raw-unicode-escape"))


def _pop_one(m):
    if m._marks and m._marks[-1] == len(m._stack):
        m._marks.pop()
    else:
        m._pop()


def _dup(m):
    m._push(m._top())


def _items(count):
    def method(m):
        values = [m._pop() for _ in range(count)]
        m._push(tuple(reversed(values)))

    return method


def _dict_since_mark(m):
    items = m._since_mark()
    m._push({})
    m._set_items(items)


def _set_one(m):
    value, key = m._pop(), m._pop()
    m._set_items([key, value])


def _append_one(m):
    value = m._pop()
    m._append([value])


def _global_lines(m):
    module, name = m._line().decode("utf-8"), m._line().decode("utf-8")
    m._global(module, name)


def _global_from_stack(m):
    name, module = m._pop(), m._pop()
    m._global(module, name)


# By the names that the `pickletools` module has for them.
_OPCODES = {
    b"\x80": ("PROTO", _proto),
    b"\x95": ("FRAME", _frame),
    b"(": ("MARK", _Machine._mark),
    b"0": ("POP", _pop_one),
    b"1": ("POP_MARK", lambda m: m._since_mark() and None),
    b"2": ("DUP", _dup),
    b"I": ("INT", _decimal),
    b"L": ("LONG", _decimal),
    b"J": ("BININT", _literal("<i")),
    b"K": ("BININT1", _literal("B")),
    b"M": ("BININT2", _literal("<H")),
    b"\x8a": ("LONG1", _long("B")),
    b"\x8b": ("LONG4", _long("<i")),
    b"F": ("FLOAT", lambda m: m._push(float(m._line()))),
    b"G": ("BINFLOAT", _literal(">d")),
    b"N": ("NONE", lambda m: m._push(None)),
    b"\x88": ("NEWTRUE", lambda m: m._push(True)),
    b"\x89": ("NEWFALSE", lambda m: m._push(False)),
    b"S": ("STRING", _quoted),
    b"T": ("BINSTRING", _text("<i", _latin1)),
    b"U": ("SHORT_BINSTRING", _text("B", _latin1)),
    b"B": ("BINBYTES", _raw("<I")),
    b"C": ("SHORT_BINBYTES", _raw("B")),
    b"\x8e": ("BINBYTES8", _raw("<Q")),
    b"\x96": ("BYTEARRAY8", _raw("<Q", bytearray)),
    b"V": ("UNICODE", _unicode),
    b"X": ("BINUNICODE", _text("<I", _utf8)),
    b"\x8c": ("SHORT_BINUNICODE", _text("B", _utf8)),
    b"\x8d": ("BINUNICODE8", _text("<Q", _utf8)),
    b"l": ("LIST", lambda m: m._push(m._since_mark())),
    b"]": ("EMPTY_LIST", lambda m: m._push([])),
    b"a": ("APPEND", _append_one),
    b"e": ("APPENDS", lambda m: m._append(m._since_mark())),
    b"t": ("TUPLE", lambda m: m._push(tuple(m._since_mark()))),
    b")": ("EMPTY_TUPLE", lambda m: m._push(())),
    b"\x85": ("TUPLE1", _items(1)),
    b"\x86": ("TUPLE2", _items(2)),
    b"\x87": ("TUPLE3", _items(3)),
    b"d": ("DICT", _dict_since_mark),
    b"}": ("EMPTY_DICT", lambda m: m._push({})),
    b"s": ("SETITEM", _set_one),
    b"u": ("SETITEMS", lambda m: m._set_items(m._since_mark())),
    b"\x8f": ("EMPTY_SET", lambda m: m._push(set())),
    b"\x90": ("ADDITEMS", lambda m: m._add(m._since_mark())),
    b"\x91": ("FROZENSET", lambda m: m._push(frozenset(map(m._key, m._since_mark())))),
    b"p": ("PUT", lambda m: m._put(int(m._line()))),
    b"q": ("BINPUT", lambda m: m._put(m._number("B"))),
    b"r": ("LONG_BINPUT", lambda m: m._put(m._number("<I"))),
    b"\x94": ("MEMOIZE", lambda m: m._put(len(m._memo))),
    b"g": ("GET", lambda m: m._get(int(m._line()))),
    b"h": ("BINGET", lambda m: m._get(m._number("B"))),
    b"j": ("LONG_BINGET", lambda m: m._get(m._number("<I"))),
    b"c": ("GLOBAL", _global_lines),
    b"\x93": ("STACK_GLOBAL", _global_from_stack),
    b"R": ("REDUCE", _Machine._reduce),
    b"b": ("BUILD", _Machine._build),
}

# Those that are opcodes and not read, for messages.
_NAMES = {
    b"P": "PERSID",
    b"Q": "BINPERSID",
    b"i": "INST",
    b"o": "OBJ",
    b"\x81": "NEWOBJ",
    b"\x92": "NEWOBJ_EX",
    b"\x82": "EXT1",
    b"\x83": "EXT2",
    b"\x84": "EXT4",
    b"\x97": "NEXT_BUFFER",
    b"\x98": "READONLY_BUFFER",
}
