"""Messages of protocol buffers, read from bytes that nobody vouches for.

A form says what the numbers of fields mean; fields it does not have are skipped. Of a message there is an object with
attributes for its fields: those that were not there are zero, empty, or None for a message. Bytes are views.
"""

import array
import struct

# How deep messages lie in each other: a graph in an attribute of a node takes three.
_MOST_DEEP = 200


class Damaged(ValueError):
    """Bytes that are no message; `place` is where in the file."""

    def __init__(self, place, why):
        super().__init__(f"byte {place}: {why}")


class Form:
    """What a kind of message holds.

    Args:
        name (str): of the kind.
        fields (dict): {number: (name, kind, whether repeated)}; the kind is "int", "float", "double", "bytes", "text",
            or the name of a form.
    """

    def __init__(self, name, fields):
        self.name, self.fields = name, fields
        # An object holds what was there; the rest is of the class, so that an empty message costs little.
        self.message = type(name, (), {n: () if many else _EMPTY.get(kind) for n, kind, many in fields.values()})


def read(data, forms, name, begin=0, end=None, deep=0):
    """The message of this form in `data[begin:end]`.

    Args:
        data (memoryview): of bytes.
        forms (dict): all Forms by name.
        name (str): which one.

    Raises:
        Damaged: the bytes are no such message.
    """
    fields, message = forms[name].fields, forms[name].message()
    end = len(data) if end is None else end
    if deep > _MOST_DEEP:
        raise Damaged(begin, f"messages lie more than {_MOST_DEEP} deep in each other")
    at = begin
    while at < end:
        here = at
        key, at = varint(data, at, end)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at, end)
        elif wire in (1, 5):
            width = 8 if wire == 1 else 4
            value, at = (at, at + width), at + width
        elif wire == 2:
            size, at = varint(data, at, end)
            value, at = (at, at + size), at + size
        else:
            raise Damaged(here, f"a field of wire type {wire} in a {name}")
        if at > end:
            raise Damaged(here, f"field {number} of a {name} goes beyond its end")
        if number in fields:
            _set(message, fields[number], wire, value, data, forms, here, deep)
    return message


def varint(data, at, end):
    """(the number, where it ends)."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            raise Damaged(at, "a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (2**64 - 1), at
    raise Damaged(at, "a number of more than 64 bits")


def _signed(value):
    return value - 2**64 if value >= 2**63 else value


def _several(message, name, empty):
    """The list of a repeated field."""
    if name not in message.__dict__:
        setattr(message, name, empty)
    return getattr(message, name)


def _set(message, field, wire, value, data, forms, here, deep):
    name, kind, many = field
    if kind in ("int", "float", "double"):
        read_numbers = _NUMBERS[kind]
        if many:
            read_numbers(_several(message, name, array.array(_CODES[kind])), wire, value, data, here)
            return
        numbers = array.array(_CODES[kind])
        if wire == 2:
            raise Damaged(here, f"{name} is no number")
        read_numbers(numbers, wire, value, data, here)
        setattr(message, name, numbers[0])
        return
    if wire != 2:
        raise Damaged(here, f"{name} has wire type {wire}")
    if kind == "bytes":
        made = data[value[0] : value[1]]
    elif kind == "text":
        try:
            made = bytes(data[value[0] : value[1]]).decode()
        except UnicodeDecodeError:
            raise Damaged(here, f"{name} is no text") from None
    else:
        made = read(data, forms, kind, *value, deep + 1)
    if many:
        _several(message, name, []).append(made)
    else:
        setattr(message, name, made)


def _ints(numbers, wire, value, data, here):
    if wire == 0:
        numbers.append(_signed(value))
        return
    if wire != 2:
        raise Damaged(here, f"an integer of wire type {wire}")
    at, end = value
    while at < end:
        number, at = varint(data, at, end)
        numbers.append(_signed(number))


def _fixed(wire_of_one, width, code):
    def read_fixed(numbers, wire, value, data, here):
        if wire == wire_of_one:
            numbers.append(struct.unpack_from(f"<{code}", data, value[0])[0])
        elif wire == 2 and (value[1] - value[0]) % width == 0:
            numbers.frombytes(data[value[0] : value[1]])
        else:
            raise Damaged(here, f"numbers of {width} bytes have wire type {wire}, or parts of a number")

    return read_fixed


_CODES = {"int": "q", "float": "f", "double": "d"}
_NUMBERS = {"int": _ints, "float": _fixed(5, 4, "f"), "double": _fixed(1, 8, "d")}
_EMPTY = {"int": 0, "float": 0.0, "double": 0.0, "bytes": b"", "text": ""}
