"""The stack machine of pickles: what it reads, keeps and refuses. Its opcodes are in pickle_opcodes.py."""

import os
import struct

import numpy as np

from proa import _C
from proa.framework.container import FileError
from proa.framework.pickle_names import GLOBALS
from proa.framework.pickle_opcodes import OPCODES, REFUSED
from proa.framework.pickle_values import Array, DType, Global, Slice, kind_of

__all__ = ["Machine"]

_MAX_LINE = 1024  # of names and numbers in the text opcodes
_IN_PLACE = 4096  # bytes up to which they are read at once


class Machine:
    """The stack machine."""

    names = GLOBALS  # what those in the pickle do

    def __init__(self, stream, name):
        self._stream, self._name = stream, name
        self._at = self._position = stream.tell()  # of the opcode, of what is read next
        self._end = stream.seek(0, os.SEEK_END)
        stream.seek(self._at)
        self._budget = 4 * (self._end - self._at) + (1 << 16)
        self.stack, self.marks, self.memo = [], [], {}
        self._opcode = "?"

    def run(self, finish):
        """The value that the pickle leaves, after `finish` has been called with it."""
        try:
            while True:
                self._at = self._position
                code = self.read(1)
                if code == b".":
                    self._opcode = "STOP"
                    break
                known = OPCODES.get(code)
                if known is None:
                    self._opcode = REFUSED.get(code)
                    if self._opcode is None:
                        self.fail(f"the byte 0x{code[0]:02x} is no opcode", "")
                    self.refuse()
                self._opcode, method = known
                method(self)
            value = self.pop()
            if self.stack or self.marks:
                self.fail("leaves more than one value")
            return finish(value)
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

    def refuse(self):
        self.fail("would run code or needs something from outside of the file")

    def outside(self, key):
        """What the pickle names by a key of its own, as those of an archive do their other members."""
        self.refuse()

    def spend(self, size):
        """Counts memory that is not one to one in the file."""
        self._budget -= size
        if self._budget < 0:
            self.fail("repeats what was read before until it takes more memory than the file is large")

    # Reading

    def read(self, n):
        if n > _IN_PLACE:
            self.need(n)
        data = self._stream.read(n)
        self._position += n
        if len(data) != n:
            self.fail("the file is cut off", "")
        return data

    def need(self, n):
        rest = self._end - self._position
        if n > rest:
            self.fail(f"has a length of {n} bytes, but {rest} follow; the file is cut off or was altered")

    def line(self, longest=_MAX_LINE):
        line = self._stream.readline(longest)
        self._position += len(line)
        if line[-1:] != b"\n":
            self.fail("has a line that does not end")
        return line[:-1]

    def take_bytes(self, n, kind):
        self.need(n)
        if n <= _IN_PLACE:
            return self.push(kind(self.read(n)))
        self.push(Slice(self._position, n, kind))
        self._position += n
        self._stream.seek(self._position)
        return None

    def number(self, layout):
        return struct.unpack(layout, self.read(struct.calcsize(layout)))[0]

    def data(self, value):
        """The bytes of a bytes object, a slice of the file or a str of an older Python."""
        if isinstance(value, Slice):
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
        return self.fail(f"needs bytes, not {kind_of(value)}")

    # Stack

    def pop(self):
        if not self.stack or self.marks and self.marks[-1] == len(self.stack):
            self.fail("finds nothing on the stack")
        return self.stack.pop()

    def top(self):
        if not self.stack or self.marks and self.marks[-1] == len(self.stack):
            self.fail("finds nothing on the stack")
        return self.stack[-1]

    def push(self, value):
        self.stack.append(value)

    def mark(self):
        self.marks.append(len(self.stack))

    def since_mark(self):
        if not self.marks:
            self.fail("finds no mark on the stack")
        at = self.marks.pop()
        items = self.stack[at:]
        del self.stack[at:]
        return items

    # Memo

    def put(self, index):
        if index < 0:
            self.fail("has a negative number")
        self.memo[index] = self.top()

    def get(self, index):
        if index not in self.memo:
            self.fail(f"asks for number {index} of what was kept, which is not there")
        self.push(self.memo[index])

    # Containers

    def key(self, key):
        parts = key if type(key) is tuple else (key,)
        for part in parts:
            if not (part is None or isinstance(part, (bool, int, float, str, bytes))):
                self.fail(f"uses a {kind_of(part)} as a key")
            if isinstance(part, int) and abs(part) >= 1 << 60:  # larger ones may be made to collide
                self.fail("uses a huge number as a key")
        return key

    def set_items(self, items):
        target = self.top()
        if not isinstance(target, dict) or len(items) % 2:
            self.fail(f"puts {len(items)} keys and values into a {kind_of(target)}")
        for i in range(0, len(items), 2):
            target[self.key(items[i])] = items[i + 1]

    def append(self, items):
        target = self.top()
        if not isinstance(target, list):
            self.fail(f"appends to a {kind_of(target)}")
        target.extend(items)

    def add(self, items):
        target = self.top()
        if type(target) is not set:
            self.fail(f"adds to a {kind_of(target)}")
        target.update(self.key(item) for item in items)

    # Names

    def name(self, module, name):
        if not isinstance(module, str) or not isinstance(name, str):
            self.fail("names something by what is no text")
        call = self.names.get((module, name))
        if call is None:
            self.fail(f"names {module[:80]}.{name[:80]}, which is not read")
        self.push(Global(f"{module}.{name}", call))

    def reduce(self):
        arguments, function = self.pop(), self.pop()
        if not isinstance(function, Global) or not isinstance(arguments, tuple):
            self.fail(f"calls a {kind_of(function)} with a {kind_of(arguments)}")
        try:
            self.push(function.call(self, *arguments))
        except (TypeError, ValueError, LookupError) as error:
            if isinstance(error, FileError):
                raise
            self.fail(f"gives {function.name} what it does not take ({str(error)[:80]})")

    def build(self):
        state, target = self.pop(), self.top()
        if not isinstance(target, (Array, DType)):
            self.fail(f"sets attributes of a {kind_of(target)}")
        target.build(self, state)

    # Arrays

    def array(self, raw, dtype, shape, order):
        """An array of its own over the elements `raw`."""
        if not isinstance(dtype, DType):
            self.fail(f"makes an array of a {kind_of(dtype)}")
        if isinstance(raw, list):
            self.fail("makes an array of Python objects")
        shape = (shape,) if isinstance(shape, int) else shape
        if not isinstance(shape, tuple) or len(shape) > 32 or not all(type(d) is int and 0 <= d < 2**62 for d in shape):
            self.fail("makes an array whose shape is not a tuple of sizes")
        kind, size = dtype.numpy(), raw.size if isinstance(raw, Slice) else len(raw)
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
