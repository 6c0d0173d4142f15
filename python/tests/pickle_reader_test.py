"""Pickles are read as data: what comes back, what is refused, and that nothing is ever executed.

python python/tests/pickle_reader_test.py --mutants 1000000    # the fuzzer, longer
"""

import argparse
import collections
import io
import os
import pickle
import pickletools
import random
import resource
import struct
import sys
import time

import numpy as np
import pytest

import proa
from proa.framework import pickle_reader, reference_pickles
from proa.framework.container import FileError

_PROTOCOLS = range(6)


class _Tensor:
    """Is pickled as the reference pickles a tensor: as a tuple of its name and its array."""

    def __init__(self, name, array):
        self._pair = name, array

    def __reduce__(self):
        return tuple, (self._pair,)


class _StaticTensor:
    """Is pickled as the reference pickles a tensor of a static program."""

    def __init__(self, array):
        self._array = array

    def __reduce__(self):
        return eval, ("data", {"data": self._array})


def _read(data):
    return pickle_reader.read(io.BytesIO(data), "file")


def _load(value, protocol, **options):
    data = value if isinstance(value, bytes) else pickle.dumps(value, protocol)
    return proa.load(io.BytesIO(data), **options)


def _same(got, wanted):
    if isinstance(wanted, (np.ndarray, np.generic)):
        return (
            type(got) is type(wanted)
            and got.dtype == wanted.dtype.newbyteorder("=")
            and got.shape == wanted.shape
            and got.tobytes() == wanted.astype(got.dtype).tobytes()
        )
    if type(got) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return list(got) == list(wanted) and all(_same(got[k], wanted[k]) for k in wanted)
    if isinstance(wanted, (list, tuple)):
        return len(got) == len(wanted) and all(map(_same, got, wanted))
    return got == wanted


_PLAIN = [
    *(0, 1, -1, 255, 256, 65535, 65536, 2**31, -(2**31), 2**63, -(2**200), 1.5, -0.0, float("inf"), True, False, None),
    *("", "a", "ключ \U0001f600 \n'\"\\", "\ud800", "x" * 300, "y" * 70000),
    *(b"", b"a", bytes(range(256)), b"z" * 70000, bytearray(b"q"), bytearray(9000)),
    *([], [1, [2, [3]]], (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {}, {"a": 1, 2: (3,), None: 4, (1, "b"): 5}),
    *({1, 2, 3}, set(), frozenset([1, "a"]), 1 + 2j, collections.OrderedDict(b=1, a=[2])),
    *(list(range(3000)), {str(i): i for i in range(3000)}),
]
_ARRAYS = [
    *(np.arange(2).astype(t) for t in "? b B h H i I q Q e f d F D".split()),
    *(np.array(3.5), np.zeros([0, 3]), np.zeros([2, 0, 0]), np.float32(2.5), np.int64(7), np.bool_(True)),
    *(np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(3, dtype=">i4"), np.arange(3, dtype=">f8")),
    *(np.arange(24).reshape(2, 3, 4)[:, ::2], np.ones(20000, "f2"), np.array([np.nan, np.inf, -0.0])),
]


@pytest.mark.parametrize("protocol", _PROTOCOLS)
def test_what_is_read_is_what_was_written(protocol):
    for value in _PLAIN + _ARRAYS + [{"nested": [_PLAIN, (_ARRAYS,)]}]:
        data = pickle.dumps(value, protocol)
        assert _same(_read(data), value), value
        # Unoptimized pickles keep everything in the memo; optimized ones do not.
        assert _same(_read(pickletools.optimize(data)), value), value


@pytest.mark.parametrize("protocol", _PROTOCOLS)
def test_shared_values_stay_shared(protocol):
    array, items = np.ones(3), [1]
    got = _read(pickle.dumps([array, items, (array, items), array], protocol))
    assert got[0] is got[3] is got[2][0] and got[1] is got[2][1]


@pytest.mark.parametrize("protocol", [2, 3])
def test_both_names_of_numpys_functions(protocol):
    data = pickle.dumps(np.arange(3), protocol)
    old, new = b"cnumpy.core.multiarray\n", b"cnumpy._core.multiarray\n"
    assert (old in data) != (new in data)
    for name in (old, new):
        assert _same(_read(data.replace(old, name).replace(new, name)), np.arange(3))


def test_text_of_python_2():
    # What Python 2 wrote for {'w': array([1, 2], int32)}: bytes as its str.
    raw = np.array([1, 200], "<i4").tobytes()
    data = (
        b"\x80\x02}q\x01U\x01wcnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02i4K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U"
        + bytes([len(raw)])
        + raw
        + b"tbs."
    )
    assert _same(_read(data), {"w": np.array([1, 200], "i4")})
    assert proa.load(io.BytesIO(data))["w"].tolist() == [1, 200]
    assert _read(b"(dp0\nS'it\\'s'\np1\nI7\nsS\"\\xe9\"\nL12L\nsVa\\u0416\nF1.5\nsI01\nI00\ns.") == {
        "it's": 7,
        "\xe9": 12,
        "a\u0416": 1.5,
        True: False,
    }


# What the reference writes ------------------------------------------------------------------


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_a_state_dict(protocol):
    state = {
        "weight": np.ones([2, 3], "f4"),
        "half": np.array([1.0, -2.5], "f4").view("u4").__rshift__(16).astype("u2"),
        "scalar": np.array(3, "i8"),
        "LR_Scheduler": {"last_epoch": 3, "last_lr": np.float64(0.1)},
        "StructuredToParameterName@@": {"weight": "linear_0.w_0", "half": "h", "scalar": "s"},
    }
    got = _load(state, protocol)
    assert list(got) == ["weight", "half", "scalar", "LR_Scheduler"]
    assert got["weight"].name == "linear_0.w_0" and got["weight"].numpy().tolist() == [[1.0] * 3] * 2
    assert got["half"].dtype == proa.bfloat16 and got["half"].tolist() == [1.0, -2.5]
    assert got["scalar"].shape == [] and got["scalar"].dtype == proa.int64
    assert got["LR_Scheduler"] == {"last_epoch": 3, "last_lr": 0.1}
    assert "StructuredToParameterName@@" in _load(state, protocol, keep_name_table=True)
    assert _load({"w": np.ones(2), "StructuredToParameterName@@": {"w": {}}}, protocol)["w"].tolist() == [1.0, 1.0]
    arrays = _load(state, protocol, return_numpy=True)
    assert isinstance(arrays["weight"], np.ndarray)
    arrays["weight"][0] = 7  # they are the caller's


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_nested_values_with_tensors(protocol):
    x = np.ones([2], "f4")
    got = _load([_Tensor("x", x), {"a": (_Tensor("y", x * 2), 3), "array": np.arange(2)}, "text"], protocol)
    assert got[0].name == "x" and got[1]["a"][0].tolist() == [2.0, 2.0] and got[1]["a"][1] == 3
    assert isinstance(got[1]["array"], np.ndarray) and got[2] == "text"
    assert _load(_Tensor("bare", x), protocol).name == "bare"
    assert isinstance(_load(_Tensor("bare", x), protocol, return_numpy=True), np.ndarray)


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_arrays_without_names_are_tensors(protocol):
    got = _load({"w": np.ones(2), "n": [np.zeros(1)], "t": (np.arange(2),)}, protocol)
    assert all(isinstance(t, proa.Tensor) for t in (got["w"], got["n"][0], got["t"][0]))
    got = _load({"w": _StaticTensor(np.ones([2], "f4"))}, protocol)
    assert got["w"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("protocol", [2, 3])
def test_large_arrays_in_pieces(protocol):
    whole = np.arange(6, dtype="f4").reshape(2, 3)
    state = {
        "w@@.0": whole.ravel()[:4],
        "w@@.1": whole.ravel()[4:],
        "b": np.ones(1),
        "UnpackBigParamInfor@@": {"w": {"OriginShape": (2, 3), "slices": ["w@@.0", "w@@.1"]}},
        "StructuredToParameterName@@": {"w": "w_0", "b": "b_0"},
    }
    got = _load(state, protocol)
    assert sorted(got) == ["b", "w"] and np.array_equal(got["w"].numpy(), whole) and got["w"].name == "w_0"
    for table in (
        {"w": {"OriginShape": (2, 4), "slices": ["w@@.0", "w@@.1"]}},
        {"w": {"OriginShape": (2, 3), "slices": ["w@@.0", "gone"]}},
        {"w": {"OriginShape": (2, 4), "slices": ["w@@.0", "w@@.0"]}},
        {"w": 3},
        [1],
    ):
        with pytest.raises(ValueError, match="UnpackBigParamInfor@@ does not fit"):
            _load({**state, "UnpackBigParamInfor@@": table}, protocol)


def test_files_and_streams(tmp_path):
    path = str(tmp_path / "state.pdparams")
    for protocol in _PROTOCOLS:
        with open(path, "wb") as stream:
            pickle.dump({"w": np.ones(2, "f4"), "e": {}}, stream, protocol)
        assert proa.load(path)["w"].tolist() == [1.0, 1.0]
    stream = io.BytesIO()
    pickle.dump([1], stream)
    pickle.dump([2], stream)
    stream.seek(0)
    assert proa.load(stream) == [1] and proa.load(stream) == [2]


def test_safetensors_are_told_from_pickles():
    # Lengths whose first bytes are those of a pickle.
    for length in (0x280, 0x480, 0x580):
        start = length.to_bytes(8, "little") + b"{"
        assert not reference_pickles.is_pickle(start, 8 + length)
        assert reference_pickles.is_pickle(start, length)  # longer than the file


# What is refused ----------------------------------------------------------------------------


def _text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


_ran: list = []


class _Runs:
    def __reduce__(self):
        return _ran.append, (1,)


class _Builds:
    def __reduce__(self):
        return collections.OrderedDict, (), {"x": 1}


class _Persistent(pickle.Pickler):
    def persistent_id(self, obj):
        return "id" if obj == 7 else None


def _persistent(protocol):
    stream = io.BytesIO()
    _Persistent(stream, protocol).dump([7])
    return stream.getvalue()


_NAME = b"\x80\x04\x8c\x02os\x8c\x06system\x93"
_ARRAY = pickle.dumps(np.arange(4, dtype="i4"), 2)
_HOSTILE = {
    "global": (b"cos\nsystem\n(S'true'\ntR.", "opcode GLOBAL names os.system"),
    "builtins": (b"cbuiltins\nexec\n(S'1'\ntR.", "opcode GLOBAL names builtins.exec"),
    "getattr": (b"c__builtin__\ngetattr\n(cos\nsystem\ntR.", "opcode GLOBAL names __builtin__.getattr"),
    "stack global": (_NAME + b"\x8c\x04true\x85R.", "opcode STACK_GLOBAL names os.system"),
    "dotted": (b"\x80\x04\x8c\x05numpy\x8c\x0edtype.__init__\x93.", "STACK_GLOBAL names numpy.dtype.__init__"),
    "no text": (b"\x80\x04K\x01K\x02\x93.", "STACK_GLOBAL names something by what is no text"),
    "inst": (b"(S'true'\nios\nsystem\n.", "opcode INST would run code"),
    "obj": (b"(cnumpy\ndtype\nS'f4'\no.", "opcode OBJ would run code"),
    "newobj": (b"cnumpy\ndtype\n)\x81.", "opcode NEWOBJ would run code"),
    "newobj_ex": (b"\x80\x04cnumpy\ndtype\n)}\x92.", "opcode NEWOBJ_EX would run code"),
    "ext1": (b"\x82\x01.", "opcode EXT1"),
    "ext2": (b"\x83\x01\x00.", "opcode EXT2"),
    "ext4": (b"\x84\x01\x00\x00\x00.", "opcode EXT4"),
    "persid": (_persistent(0), "opcode PERSID"),
    "binpersid": (_persistent(2), "opcode BINPERSID"),
    "buffer": (b"\x80\x05\x97.", "opcode NEXT_BUFFER"),
    "readonly": (b"\x80\x05\x97\x98.", "opcode NEXT_BUFFER"),
    "attributes": (pickle.dumps(_Builds(), 4), "opcode BUILD sets attributes of a OrderedDict"),
    "build of a dict": (b"}}b.", "opcode BUILD sets attributes of a dict"),
    "method": (pickle.dumps(_Runs(), 4), "names"),
    "eval": (b"cbuiltins\neval\n(S'print(1)'\n}tR.", "opcode REDUCE calls eval"),
    "eval of data": (b"cbuiltins\neval\n(S'data'\n}S'data'\nS'x'\nstR.", "opcode REDUCE calls eval"),
    "a call of no name": (b"K\x01)R.", "opcode REDUCE calls a int"),
    "arguments": (b"cbuiltins\ntuple\nK\x01R.", "calls a builtins.tuple with a int"),
    "a name as the value": (b"cbuiltins\ntuple\n.", "leaves the name builtins.tuple as a value"),
    "a name in a list": (b"](cbuiltins\neval\ne.", "leaves the name builtins.eval as a value"),
    "encode": (b"c_codecs\nencode\n(V7a\nS'hex'\ntR.", "encodes otherwise"),
    "long line": (b"c" + b"a" * 5000 + b"\nb\n.", "a line that does not end"),
    "no opcode": (b"\xff.", "byte 0: the byte 0xff is no opcode"),
    "version": (b"\x80\x09N.", "says version 9"),
    "empty": (b"\x80\x04", "cut off"),
    "nothing": (b".", "finds nothing on the stack"),
    "two values": (b"NN.", "leaves more than one value"),
    "open mark": (b"(N.", "leaves more than one value"),
    "no mark": (b"e.", "finds no mark"),
    "past a mark": (b"N(0s.", "finds nothing on the stack"),
    "memo": (b"h\x05.", "asks for number 5 of what was kept"),
    "negative memo": (b"Np-1\n.", "negative"),
    "big memo": (b"Nr\xff\xff\xff\xff0h\x01.", "asks for number 1"),
    "loop": (b"]q\x00h\x00a.", "contains itself"),
    "loop in a dict": (b"}q\x00Nh\x00s.", "contains itself"),
    "loop in a tuple": (b"](q\x00e.", "finds"),
    "unhashable": (b"}]Ns.", "uses a list as a key"),
    "key of key": (b"}(]tNs.", "uses a list as a key"),
    "colliding": (b"}\x8a\x08" + (2**61 - 1).to_bytes(8, "little") + b"Ns.", "huge number as a key"),
    "set of lists": (b"\x8f(]\x90.", "uses a list as a key"),
    "append to a tuple": (b")Na.", "appends to a tuple"),
    "odd items": (b"}(Nu.", "1 keys and values"),
    "deep": (b"]" * 100000 + b"a" * 99999 + b".", "nested deeper than"),
    "deep tuples": (b")" + b"\x85" * 100000 + b".", "nested deeper than"),
    "long4": (b"\x8b\xff\xff\xff\x7f.", "integer of 2147483647 bytes"),
    "negative long4": (b"\x8b\xff\xff\xff\xff.", "integer of -1 bytes"),
    "long decimal": (b"I" + b"9" * 2000 + b"\n.", "a line that does not end"),
    "decimal": (b"Ix\n.", "opcode INT does not fit"),
    "unicode8": (b"\x8d" + b"\xff" * 8 + b".", "BINUNICODE8 has a length of 18446744073709551615 bytes, but 1 follow"),
    "bytes8": (b"\x8e" + struct.pack("<Q", 1 << 40) + b".", "BINBYTES8 has a length of 1099511627776 bytes"),
    "bytearray8": (b"\x96" + struct.pack("<Q", 1 << 40) + b".", "BYTEARRAY8 has a length"),
    "negative string": (b"T\xff\xff\xff\xff.", "negative length"),
    "frame": (b"\x80\x04\x95" + struct.pack("<Q", 1 << 40) + b"N.", "FRAME has a length"),
    "utf8": (b"X\x01\x00\x00\x00\xff.", "BINUNICODE does not fit"),
    "quotes": (b"S'a\n.", "no text in quotes"),
    "objects": (pickle.dumps(np.array([{}, None]), 2), "element type 'O8'"),
    "records": (pickle.dumps(np.zeros(2, "i4,f4"), 2), "element type 'V8'"),
    "text array": (pickle.dumps(np.array(["a"]), 2), "element type 'U1'"),
    "dates": (pickle.dumps(np.zeros(1, "M8[s]"), 2), "element type 'M8'"),
    "shape": (_ARRAY.replace(b"K\x04\x85", b"K\x09\x85"), "an array of 36 bytes out of 16"),
    "huge shape": (_ARRAY.replace(b"K\x04\x85", b"\x8a\x07\xff\xff\xff\xff\xff\xff\x7f\x85"), "bytes out of 16"),
    "dims": (_ARRAY.replace(b"K\x04\x85", b"(" + b"K\x01" * 33 + b"t"), "not a tuple of sizes"),
    "negative dim": (_ARRAY.replace(b"K\x04\x85", b"J\xff\xff\xff\xff\x85"), "not a tuple of sizes"),
    "subclass": (_ARRAY.replace(b"numpy\nndarray", b"numpy\ndtype"), "makes an array of the class numpy.dtype"),
    "ndarray called": (b"cnumpy\nndarray\n(K\x01tR.", "calls numpy.ndarray"),
    "too many arguments": (b"cbuiltins\ntuple\n(NNNtR.", "gives builtins.tuple what it does not take"),
    "unfinished": (b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nNNtR.", "leaves the name array"),
    "bool": (
        pickle.dumps(np.array([True, False]), 4).replace(b"\x01\x00\x94t", b"\x02\x00\x94t"),
        "neither 0 nor 1",
    ),
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_hostile_pickles_are_refused(name, tmp_path):
    data, says = _HOSTILE[name]
    with _Watch() as watch, pytest.raises(FileError) as caught:
        _read(data)
    assert says in str(caught.value), caught.value
    assert not watch.events and not _ran
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="file"):
        proa.load(str(path))


def test_copies_count_against_the_size_of_the_file():
    # One array's bytes, or one list, used again and again.
    big = b"\x80\x04B" + struct.pack("<I", 1 << 20) + bytes(1 << 20) + b"\x940]("
    array = b"cnumpy.core.numeric\n_frombuffer\n(h\x00cnumpy\ndtype\n(S'u1'\ntR\x8a\x03\x00\x00\x10S'C'\ntR"
    assert len(_read(big + array * 3 + b"e.")) == 3
    with pytest.raises(ValueError, match="more memory than the file is large"):
        _read(big + array * 100 + b"e.")
    items = b"](" + b"N" * 1000 + b"e\x940]("
    with pytest.raises(ValueError, match="more memory than the file is large"):
        _read(items + b"cbuiltins\nlist\n(h\x00tR" * 100000 + b"e.")
    # Laughs: each list holds the one before twice, and stays as small as it is written.
    data = b"](Ne\x94" + b"".join(b"0](h%ch%ce\x94" % (i, i) for i in range(100)) + b"."
    value = proa.load(io.BytesIO(b"\x80\x04" + data))
    for _ in range(100):
        assert value[0] is value[1]
        value = value[0]


def test_cut_anywhere_says_so():
    for protocol in _PROTOCOLS:
        data = pickle.dumps({"w": np.arange(300), "text": "x", "n": [1, 2.5, None, (b"b" * 5000,)]}, protocol)
        for end in range(0, len(data), 1 if len(data) < 2000 else 7):
            with pytest.raises(FileError, match="file: byte"):
                _read(data[:end])


# Fuzzing ------------------------------------------------------------------------------------


class _Watch:
    """Sees what the interpreter is asked to do: imports, calls of the system, code that is made or run."""

    _ALL: list = []  # hooks cannot be taken away again

    def __init__(self):
        self.events = []
        if not _Watch._ALL:
            sys.addaudithook(_Watch._saw)

    @staticmethod
    def _saw(event, args):
        starts = (
            "import",
            "exec",
            "compile",
            "os.",
            "subprocess.",
            "socket.",
            "ctypes.",
            "pickle.",
            "marshal.",
            "shutil.",
        )
        if _Watch._ALL and event.startswith(starts) and _Watch._ALL[-1] is not None:
            _Watch._ALL[-1].events.append((event, str(args)[:200]))

    def __enter__(self):
        _Watch._ALL.append(self)
        return self

    def __exit__(self, *unused):
        _Watch._ALL.append(None)


def _seeds():
    values = [
        {"w": np.arange(6, dtype="f4").reshape(2, 3), "StructuredToParameterName@@": {"w": "linear_0.w_0"}},
        [_Tensor("x", np.ones(2)), {"a": (1, 2.5, "x" * 40, None, True)}],
        {"d": _StaticTensor(np.arange(3)), "big": 2**70, "b": b"bytes", "s": {1, 2}},
        collections.OrderedDict(a=np.float32(1.5), z=np.zeros([0, 3])),
        {"w@@.0": np.ones(2), "UnpackBigParamInfor@@": {"w": {"OriginShape": (2,), "slices": ["w@@.0"]}}},
        np.ones(3000, ">f4"),
    ]
    good = [pickle.dumps(v, p) for v in values for p in _PROTOCOLS]
    return 8 * good + [data for data, _ in _HOSTILE.values() if len(data) < 10000]


_PIECES = [bytes([op]) for op in range(256)] + [
    b"cos\nsystem\n",
    b"cbuiltins\neval\n",
    b"c_codecs\nencode\n",
    b"\x8c\x02os\x8c\x06system\x93",
    b"(S'touch /tmp/proa_pickle_fuzz'\ntR",
    b"\x8b\xff\xff\xff\x7f",
    b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"h\x00h\x00h\x00",
    b"\x85" * 40,
]


def _mutant(rng, seeds):
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0 and data:
            data[at % len(data)] = rng.randrange(256)
        elif kind == 1:
            data[at:at] = rng.choice(_PIECES)
        elif kind == 2:
            del data[at : at + rng.choice((1, 1, 2, 8))]
        elif kind == 3:
            other = rng.choice(seeds)
            start = rng.randrange(len(other))
            data[at:] = other[start:]
        elif kind == 4:
            start = rng.randrange(len(data) + 1)
            data[at:at] = data[start : start + rng.choice((1, 4, 20))]
        elif data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
    return bytes(data)


def _fuzz(count, seed):
    """(mutants that were read, seconds of the slowest, growth of the process in KiB); raises for what must not be."""
    rng, seeds = random.Random(seed), _seeds()
    for data in seeds:  # whatever Python itself imports at a first use
        try:
            proa.load(io.BytesIO(data))
        except ValueError:
            pass
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    accepted, slowest = 0, 0.0
    with _Watch() as watch:
        for i in range(count):
            data = _mutant(rng, seeds)
            start = time.perf_counter()
            try:
                reference_pickles.load(io.BytesIO(data), "file", False, False)
                accepted += 1
            except FileError:
                pass
            except Exception as error:
                raise AssertionError(f"mutant {i} of seed {seed}: {error!r} for {data[:500]!r}") from error
            slowest = max(slowest, time.perf_counter() - start)
            assert not watch.events, (i, seed, data[:500], watch.events)
    assert not _ran and not os.path.exists("/tmp/proa_pickle_fuzz")
    return accepted, slowest, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


def test_mutants_execute_nothing():
    accepted, _, growth = _fuzz(4000, seed=20)
    assert 100 < accepted < 3900
    assert growth < 100 << 10


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=1000000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("read %d, slowest %.3f s, grew by %d KiB" % _fuzz(options.mutants, options.seed))
