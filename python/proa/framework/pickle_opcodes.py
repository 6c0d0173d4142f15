"""What each opcode of a pickle does to the machine (pickle_machine.py), and those that are refused."""

import codecs

__all__ = ["OPCODES", "REFUSED"]

_MAX_LONG = 256  # bytes of an integer


def _proto(m):
    version = m.number("B")
    if version > 5:
        m.fail(f"says version {version}; there is none above 5")


def _frame(m):
    m.need(m.number("<Q"))


def _decimal(m):
    text = m.line()
    if text in (b"00", b"01"):
        return m.push(text == b"01")
    return m.push(int(text[:-1] if text[-1:] == b"L" else text))


def _long(layout):
    def method(m):
        n = m.number(layout)
        if not 0 <= n <= _MAX_LONG:
            m.fail(f"has an integer of {n} bytes; {_MAX_LONG} are the most")
        m.push(int.from_bytes(m.read(n), "little", signed=True))

    return method


def _literal(layout):
    return lambda m: m.push(m.number(layout))


def _raw(layout, kind=bytes):
    return lambda m: m.take_bytes(m.number(layout), kind)


def _text(layout, decode):
    def method(m):
        n = m.number(layout)
        if n < 0:
            m.fail("has a negative length")
        m.need(n)
        m.push(decode(m.read(n)))

    return method


def _utf8(data):
    return data.decode("utf-8", "surrogatepass")


def _latin1(data):
    return data.decode("latin-1")


def _quoted(m):
    text = m.line(-1).rstrip()
    if len(text) < 2 or text[:1] not in (b"'", b'"') or text[-1:] != text[:1]:
        m.fail("has no text in quotes")
    m.push(_latin1(codecs.escape_decode(text[1:-1])[0]))


def _unicode(m):
    m.push(m.line(-1).decode("raw-unicode-escape"))


def _pop_one(m):
    if m.marks and m.marks[-1] == len(m.stack):
        m.marks.pop()
    else:
        m.pop()


def _dup(m):
    m.push(m.top())


def _items(count):
    def method(m):
        values = [m.pop() for _ in range(count)]
        m.push(tuple(reversed(values)))

    return method


def _dict_since_mark(m):
    items = m.since_mark()
    m.push({})
    m.set_items(items)


def _set_one(m):
    value, key = m.pop(), m.pop()
    m.set_items([key, value])


def _append_one(m):
    value = m.pop()
    m.append([value])


def _global_lines(m):
    module, name = m.line().decode("utf-8"), m.line().decode("utf-8")
    m.name(module, name)


def _global_from_stack(m):
    name, module = m.pop(), m.pop()
    m.name(module, name)


# By the names that the `pickletools` module has for them.
OPCODES = {
    b"\x80": ("PROTO", _proto),
    b"\x95": ("FRAME", _frame),
    b"(": ("MARK", lambda m: m.mark()),
    b"0": ("POP", _pop_one),
    b"1": ("POP_MARK", lambda m: m.since_mark() and None),
    b"2": ("DUP", _dup),
    b"I": ("INT", _decimal),
    b"L": ("LONG", _decimal),
    b"J": ("BININT", _literal("<i")),
    b"K": ("BININT1", _literal("B")),
    b"M": ("BININT2", _literal("<H")),
    b"\x8a": ("LONG1", _long("B")),
    b"\x8b": ("LONG4", _long("<i")),
    b"F": ("FLOAT", lambda m: m.push(float(m.line()))),
    b"G": ("BINFLOAT", _literal(">d")),
    b"N": ("NONE", lambda m: m.push(None)),
    b"\x88": ("NEWTRUE", lambda m: m.push(True)),
    b"\x89": ("NEWFALSE", lambda m: m.push(False)),
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
    b"l": ("LIST", lambda m: m.push(m.since_mark())),
    b"]": ("EMPTY_LIST", lambda m: m.push([])),
    b"a": ("APPEND", _append_one),
    b"e": ("APPENDS", lambda m: m.append(m.since_mark())),
    b"t": ("TUPLE", lambda m: m.push(tuple(m.since_mark()))),
    b")": ("EMPTY_TUPLE", lambda m: m.push(())),
    b"\x85": ("TUPLE1", _items(1)),
    b"\x86": ("TUPLE2", _items(2)),
    b"\x87": ("TUPLE3", _items(3)),
    b"d": ("DICT", _dict_since_mark),
    b"}": ("EMPTY_DICT", lambda m: m.push({})),
    b"s": ("SETITEM", _set_one),
    b"u": ("SETITEMS", lambda m: m.set_items(m.since_mark())),
    b"\x8f": ("EMPTY_SET", lambda m: m.push(set())),
    b"\x90": ("ADDITEMS", lambda m: m.add(m.since_mark())),
    b"\x91": ("FROZENSET", lambda m: m.push(frozenset(map(m.key, m.since_mark())))),
    b"p": ("PUT", lambda m: m.put(int(m.line()))),
    b"q": ("BINPUT", lambda m: m.put(m.number("B"))),
    b"r": ("LONG_BINPUT", lambda m: m.put(m.number("<I"))),
    b"\x94": ("MEMOIZE", lambda m: m.put(len(m.memo))),
    b"g": ("GET", lambda m: m.get(int(m.line()))),
    b"h": ("BINGET", lambda m: m.get(m.number("B"))),
    b"j": ("LONG_BINGET", lambda m: m.get(m.number("<I"))),
    b"c": ("GLOBAL", _global_lines),
    b"\x93": ("STACK_GLOBAL", _global_from_stack),
    b"R": ("REDUCE", lambda m: m.reduce()),
    b"Q": ("BINPERSID", lambda m: m.push(m.outside(m.pop()))),
    b"b": ("BUILD", lambda m: m.build()),
}

# Those that are opcodes and not read, for messages.
REFUSED = {
    b"P": "PERSID",
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
