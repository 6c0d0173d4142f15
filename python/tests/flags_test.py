"""Flags: set, got, read from the environment; FLAGS_trace_ops and FLAGS_call_stack_level."""

import ast
import os
import pathlib
import re
import subprocess
import sys
import traceback

import numpy as np
import pytest

import proa
from proa.framework import flags


@pytest.fixture(autouse=True)
def as_before():
    before = flags.changed()
    yield
    for name in flags.changed():
        proa.set_flags({name: flags._FLAGS[name.removeprefix("FLAGS_")].default})
    proa.set_flags(before)


def run(code, **environment):
    """What a fresh process prints, and says on stderr."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stdout, done.stderr


def test_set_and_get():
    proa.set_flags({"FLAGS_check_nan_inf": 1, "call_stack_level": 2})
    assert proa.get_flags(["FLAGS_check_nan_inf", "call_stack_level"]) == {
        "FLAGS_check_nan_inf": True,
        "call_stack_level": 2,
    }
    assert proa.get_flags("FLAGS_check_nan_inf") == {"FLAGS_check_nan_inf": True}
    assert flags.changed() == {"FLAGS_check_nan_inf": True, "FLAGS_call_stack_level": 2}


def test_flags_of_other_programs_are_kept():
    assert proa.get_flags("FLAGS_fraction_of_gpu_memory_to_use") == {"FLAGS_fraction_of_gpu_memory_to_use": 0.92}
    proa.set_flags({"FLAGS_fraction_of_gpu_memory_to_use": 0.5, "FLAGS_cudnn_deterministic": True})
    assert proa.get_flags("FLAGS_fraction_of_gpu_memory_to_use")["FLAGS_fraction_of_gpu_memory_to_use"] == 0.5


@pytest.mark.parametrize(
    "given, kind, says",
    [
        (
            {"FLAGS_check_nan_int": 1},
            ValueError,
            "there is no flag 'FLAGS_check_nan_int'; did you mean FLAGS_check_nan_inf",
        ),
        ({"zzz": 1}, ValueError, "set_flags: there is no flag 'zzz'"),
        ({3: 1}, TypeError, "the name of a flag must be a str, not int"),
        ([("a", 1)], TypeError, "set_flags: flags must be a dict, not list"),
        ({"FLAGS_call_stack_level": 3}, ValueError, "FLAGS_call_stack_level must be from 0 to 2, not 3"),
        ({"FLAGS_call_stack_level": "x"}, ValueError, "FLAGS_call_stack_level must be int, not 'x'"),
        ({"FLAGS_call_stack_level": True}, TypeError, "FLAGS_call_stack_level must be int, not bool"),
        ({"FLAGS_call_stack_level": None}, TypeError, "must be int, not NoneType"),
        ({"FLAGS_trace_ops": "maybe"}, ValueError, "FLAGS_trace_ops must be one of 1, 0, true, false, not 'maybe'"),
        ({"FLAGS_allocator_strategy": 1}, TypeError, "FLAGS_allocator_strategy must be str, not int"),
    ],
)
def test_wrong_flags(given, kind, says):
    with pytest.raises(kind, match=re.escape(says)):
        proa.set_flags(given)


def test_all_or_nothing():
    with pytest.raises(ValueError):
        proa.set_flags({"FLAGS_call_stack_level": 2, "FLAGS_nothing": 1})
    assert proa.get_flags("FLAGS_call_stack_level") == {"FLAGS_call_stack_level": 1}


def test_wrong_names_to_get():
    with pytest.raises(ValueError, match="get_flags: there is no flag 'FLAGS_trace_op'; did you mean FLAGS_trace_ops"):
        proa.get_flags(["FLAGS_trace_op"])
    with pytest.raises(TypeError, match="get_flags: flags must be a str, list or tuple, not int"):
        proa.get_flags(3)


def test_the_environment():
    code = "import proa; print(proa.get_flags(['check_nan_inf', 'call_stack_level', 'benchmark']))"
    status, out, err = run(code, FLAGS_check_nan_inf="1", FLAGS_call_stack_level="0", FLAGS_benchmark="true")
    assert status == 0 and err == ""
    assert out == "{'check_nan_inf': True, 'call_stack_level': 0, 'benchmark': True}\n"


def test_what_is_wrong_in_the_environment_is_one_warning():
    status, out, err = run("import proa; print('on')", FLAGS_chek_nan_inf="1", FLAGS_call_stack_level="9", FLAGS_x="")
    assert status == 0 and out == "on\n"
    assert err.count("RuntimeWarning") == 1
    assert "there is no flag FLAGS_chek_nan_inf; did you mean FLAGS_check_nan_inf" in err
    assert "FLAGS_call_stack_level must be from 0 to 2, not 9" in err and "there is no flag FLAGS_x" in err


def test_a_flag_of_the_environment_acts():
    status, _, err = run("import proa; proa.to_tensor([0.0]).log()", FLAGS_check_nan_inf="1")
    assert status == 1 and "RuntimeError: (PreconditionNotMet) log: made 1 Inf in out" in err


# FLAGS_trace_ops --------------------------------------------------------------

LINE = re.compile(r"\[op (\d+)\] (\w+)\((.*)\) -> (.*?) \| (.*?) \| (.*?) \| ([\d.]+) us(?: \| (.*))?$")


def logged(capfd, body):
    capfd.readouterr()
    proa.set_flags({"FLAGS_trace_ops": 1})
    try:
        body()
    finally:
        proa.set_flags({"FLAGS_trace_ops": 0})
    lines = capfd.readouterr().err.splitlines()
    assert all(LINE.match(line) for line in lines), lines
    return [LINE.match(line).groups() for line in lines]


def test_log_of_calls(capfd):
    x = proa.ones([2, 3])
    w = proa.ones([3])
    w.stop_gradient = False

    def body():
        x * 2.0
        (x * w).sum().backward()

    calls = logged(capfd, body)
    names = [call[1] for call in calls]
    assert names[:2] == ["multiply", "multiply"] and "sum" in names
    assert calls[0][2:4] == ("x=[2, 3] float32, y=[] float32", "[2, 3] float32")
    assert calls[0][4] == "execute" and calls[1][4] == "differentiate"
    assert calls[0][5] in ("sse2", "avx2", "avx512")
    assert calls[0][7] == f"flags_test.py:{body.__code__.co_firstlineno + 1}"
    numbers = [int(call[0]) for call in calls]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert len(names) > 3  # backward too


def test_log_of_layers_libraries_views_and_failures(capfd):
    net = proa.nn.Sequential(proa.nn.Linear(64, 64))
    x = proa.ones([64, 64])

    def body():
        with proa.no_grad():
            net(x)
        x.reshape([4096])
        with pytest.raises(ValueError):
            x + proa.ones([3])

    calls = {call[1]: call for call in logged(capfd, body)}
    assert calls["linear"][7].startswith("in layer Sequential.0 (Linear), flags_test.py:")
    assert ":" in calls["linear"][5] or calls["linear"][5] in ("sse2", "avx2", "avx512")  # oneDNN's, or our own loops
    assert calls["reshape"][5] == "view"
    assert calls["add"][3] == "failed"


def test_log_of_programs(capfd):
    @proa.jit.to_static
    def f(x):
        return x.exp()

    x = proa.ones([2])
    first = logged(capfd, lambda: f(x))
    assert [c[4:6] for c in first if c[1] == "exp"][0] == ("record", "recorded")
    again = logged(capfd, lambda: f(x))
    assert [c[1] for c in again] == ["exp"] and again[0][4] == "execute"


# FLAGS_call_stack_level -------------------------------------------------------


def failing(net=None):
    x = proa.ones([2, 3])
    y = proa.ones([4])
    return net(x) if net else proa.add(x, y)


def error(*arguments):
    with pytest.raises(ValueError) as e:
        failing(*arguments)
    return "".join(traceback.format_exception_only(e.value))


def test_level_0_is_the_message():
    proa.set_flags({"FLAGS_call_stack_level": 0})
    assert error() == (
        "ValueError: (InvalidArgument) add: shapes do not broadcast at dim 1; x is [2, 3] float32, y is [4] float32\n"
    )


def test_level_1_says_the_line_of_the_program():
    line = failing.__code__.co_firstlineno + 3
    assert error().splitlines()[1:] == [
        f"  at flags_test.py:{line}, in failing: return net(x) if net else proa.add(x, y)"
    ]


def test_level_1_says_the_layer():
    net = proa.nn.Sequential(proa.nn.ReLU(), proa.nn.Linear(5, 2))
    lines = error(net).splitlines()
    assert lines[0].startswith("ValueError: (InvalidArgument) linear: ")
    assert (
        lines[1].startswith("  at flags_test.py:")
        and lines[2] == "  in layer Sequential.1 (Linear), called with [2, 3] float32"
    )


def test_level_1_repeats_nothing():
    """The traceback ends in the line anyway."""
    with pytest.raises(ValueError) as e:
        proa.ones([2, 3]) + proa.ones([4])
    assert not hasattr(e.value, "__notes__")


def test_level_2_has_the_frames_of_the_core():
    proa.set_flags({"FLAGS_call_stack_level": 2})
    text = error()
    assert text.index("at flags_test.py") < text.index("C++ frames:\n  #0 ")
    assert re.search(r"#\d+ proa::.*ops::add", text), text


def test_errors_of_programs_say_who_recorded_them():
    def record(x, y):
        return x + y

    program = proa.static.Program()
    proa.enable_static()
    try:
        with proa.static.program_guard(program):
            out = record(proa.static.data("x", [-1, 3]), proa.static.data("y", [-1, 3]))
        with pytest.raises(ValueError) as e:
            feeds = {"x": np.ones([2, 3], "f"), "y": np.ones([4, 3], "f")}
            proa.static.Executor().run(program, feeds, [out])
    finally:
        proa.disable_static()
    lines = str(e.value).splitlines()
    assert (
        lines[0] == "(InvalidArgument) add: shapes do not broadcast at dim 0; x is [2, 3] float32, y is [4, 3] float32"
    )
    assert lines[1] == "  in the program: %2 = add(%0, %1) : [?, 3] float32"
    assert lines[2] == f"  recorded: flags_test.py:{record.__code__.co_firstlineno + 1}: return x + y"


@pytest.mark.parametrize(
    "call, prefix, where",
    [
        (lambda: proa.bmm(proa.ones([2, 3]), proa.ones([2, 3])), "bmm: x must have 3 dims", "ops::BatchedMatMul"),
        (lambda: proa.zeros([2**45]), "full: cpu: out of memory", "CachingCpuAllocator::Allocate"),
        (lambda: proa.zeros([2**40, 2**40]), "full: shape: size overflows", "Shape::numel"),
    ],
)
def test_level_2_has_the_frames_that_threw_whoever_named_the_op(call, prefix, where):
    """The op is put before the message later, by its front door."""
    proa.set_flags({"FLAGS_call_stack_level": 2})
    with pytest.raises((ValueError, MemoryError)) as e:
        call()
    assert str(e.value).partition(") ")[2].startswith(prefix)
    frames = next(note for note in e.value.__notes__ if note.startswith("C++ frames:"))
    assert where in frames and frames.index(where) < frames.index("proa::v0::python::")
    assert "RethrowFrom" not in frames


# Errors that the Python code of the package raises ---------------------------


def test_errors_of_python_code_say_the_line_too():
    def body():
        return proa.nn.functional.pad(proa.ones([2, 3]), [1])

    with pytest.raises(ValueError) as e:
        body()
    line = body.__code__.co_firstlineno + 1
    (note,) = e.value.__notes__
    assert note == f"  at flags_test.py:{line}, in body: return proa.nn.functional.pad(proa.ones([2, 3]), [1])"
    proa.set_flags({"FLAGS_call_stack_level": 0})
    with pytest.raises(ValueError) as e:
        body()
    assert not hasattr(e.value, "__notes__")


def test_errors_of_python_code_say_the_layer_too():
    net = proa.nn.Sequential(proa.nn.Pad2D([1, 1, 1]))
    with pytest.raises(ValueError) as e:
        net(proa.ones([1, 1, 2, 2]))
    assert "in layer Sequential.0 (Pad2D)" in e.value.__notes__[0]


def test_errors_of_bindings_say_the_line_too():
    with pytest.raises(TypeError) as e:
        proa.add(None, proa.ones([2]))
    assert e.value.__notes__[0].startswith("  at flags_test.py:")


def test_every_error_of_the_package_is_located():
    """`raise _C.located(ValueError(...))`, but for those by which Python asks, and modules that load _C."""
    package = pathlib.Path(proa.__file__).parent
    protocols = {
        "AttributeError",
        "ModuleNotFoundError",
        "MissingName",
        "_MissingName",
        "StopIteration",
        "KeyError",
        "Mismatch",
        "_Leave",  # what upgrade does not touch; caught there
        "_Again",  # of dy2static, caught there: record once more; leave a function as it is written
        "NotConverted",
        "AssertionError",  # the user's own
        "wrong",  # of framework/attributes.py
        "_wrong",  # and the next: functions that give located errors
        "_refused",
        "Refused",  # of the ONNX importer, and the next two: caught there, and said with the file's name
        "Refusal",
        "Damaged",
        "FileError",  # of readers, caught by damage_named, which says the file's name
        "NotInReference",  # of the writer of the reference's format: collected there
        "RequestError",  # of the server, which answers with it
    }
    bare = []
    for path in package.rglob("*.py"):
        if path.name in ("_openmp.py", "version.py") or "_generated" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
                if node.exc.func.id not in protocols:
                    bare.append(f"{path.relative_to(package)}:{node.lineno}")
    assert not bare


def test_only_exceptions_are_located():
    with pytest.raises(TypeError, match="located: not an exception"):
        proa._C.located(ValueError)


def test_memory_errors_say_what_takes_less():
    with pytest.raises(MemoryError) as e:
        proa.zeros([2**45])
    assert any("recompute" in note and "smaller batches" in note for note in e.value.__notes__)
