"""The crash handler: opt-in, says which op ran and whose code faulted, and leaves the rest as it was."""

import os
import re
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer handles these signals itself"
)

PRELUDE = "import ctypes, os, signal, sys, proa\n"
ON = "proa.utils.enable_crash_handler(python_stack=False)\n"


def run(code, timeout=60, **environment):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code],
        capture_output=True,
        text=True,
        env=environment,
        timeout=timeout,
        check=False,
    )
    return done.returncode, done.stderr


def test_nothing_is_installed_unless_asked_for():
    code = (
        "caught = lambda: [l for l in open('/proc/self/status') if l.startswith('SigCgt')]\n"
        "before = caught()\n" + ON + ON + "assert caught() != before\n"
        "proa.disable_signal_handler()\nassert caught() == before\n"
    )
    assert run(code) == (0, "")


def test_importing_installs_nothing():
    code = "print(proa._C.debug.crash_handler_enabled(), file=sys.stderr)"
    assert run(code) == (0, "False\n")


def test_a_fault_in_the_c_library_is_not_ours():
    status, err = run(ON + "ctypes.string_at(0)")
    assert status == -signal.SIGSEGV
    assert "*** SIGSEGV (segmentation fault), address 0x0, on thread" in err
    assert re.search(r"\*\*\* the code that faulted is in \S+ \(\+0x[0-9a-f]+\), not in Proa", err), err
    assert "*** no op runs" in err and "which is Proa" not in err


def test_a_call_through_a_bad_pointer():
    status, err = run(ON + "ctypes.CFUNCTYPE(None)(0x10)()")
    assert status == -signal.SIGSEGV
    assert "*** the instruction at 0x10 is not mapped: a call through a bad pointer" in err


def test_the_op_that_runs_is_named():
    # One product of seconds: the signal comes in its midst, not between two calls. A thread's first op is not
    # observed (ops/observers.h).
    code = (
        ON
        + "import threading, time\n"
        + "begun = threading.Event()\n"
        + "def work():\n"
        + "  a = proa.ones([6000, 6000])\n"
        + "  begun.set()\n"
        + "  while True: proa.matmul(a, a)\n"
        + "threading.Thread(target=work, daemon=True).start(); begun.wait(); time.sleep(0.5)\n"
        + "os.kill(os.getpid(), signal.SIGSEGV); time.sleep(5)\n"
    )
    status, err = run(code)
    assert status == -signal.SIGSEGV
    assert "sent by process" in err
    assert re.search(r"\*\*\* an op runs: \w+, on thread \d+", err), err


def test_abort_keeps_its_status():
    status, err = run(ON + "os.abort()")
    assert status == -signal.SIGABRT
    assert err.count("*** SIGABRT (aborted)") == 1


def test_it_goes_on_to_the_handler_that_was_there():
    code = "import faulthandler; faulthandler.enable()\n" + ON + "ctypes.string_at(0)"
    status, err = run(code)
    assert status == -signal.SIGSEGV
    assert err.index("*** SIGSEGV") < err.index("Fatal Python error: Segmentation fault")
    assert 'File "<string>", line' in err


def test_with_the_python_stack():
    status, err = run("proa.utils.enable_crash_handler()\nctypes.string_at(0)")
    assert status == -signal.SIGSEGV
    assert "*** SIGSEGV" in err and "Fatal Python error" in err


def test_a_stack_overflow_is_reported():
    code = ON + "sys.setrecursionlimit(10**8)\nclass A:\n  def __repr__(self): return repr(self)\nrepr(A())"
    status, err = run(code)
    if status == 1:
        pytest.skip("this interpreter stops the recursion itself")
    assert status == -signal.SIGSEGV and "*** SIGSEGV" in err


def test_off_again_it_says_nothing():
    status, err = run(ON + "proa.utils.disable_crash_handler()\nctypes.string_at(0)")
    assert (status, err) == (-signal.SIGSEGV, "")


def test_a_handler_over_it_is_left_alone():
    code = ON + "import faulthandler; faulthandler.enable()\nproa.utils.disable_crash_handler()\nctypes.string_at(0)"
    status, err = run(code)
    assert status == -signal.SIGSEGV
    assert "***" not in err and "Fatal Python error" in err


def test_by_a_flag():
    status, err = run("ctypes.string_at(0)", FLAGS_crash_handler="1")
    assert status == -signal.SIGSEGV and "*** SIGSEGV" in err


def test_a_fault_in_our_code_is_ours():
    """A tensor over memory that is gone: the kernel that reads it faults."""
    code = (
        ON
        + "import mmap\n"
        + "import numpy as np\n"
        + "libc = ctypes.CDLL(None, use_errno=True)\n"
        + "libc.mmap.restype = ctypes.c_void_p\n"
        + "libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]\n"
        + "n = 1 << 20\n"
        + "p = libc.mmap(None, n, 3, 0x22, -1, 0)\n"
        + "a = np.frombuffer((ctypes.c_float * (n // 4)).from_address(p), np.float32)\n"
        + "x = proa.from_dlpack(a) if hasattr(proa, 'from_dlpack') else proa._C.from_dlpack(a)\n"
        + "libc.mprotect(ctypes.c_void_p(p), ctypes.c_size_t(n), 0)\n"
        + "proa.exp(x)\n"
    )
    status, err = run(code)
    assert status == -signal.SIGSEGV, err
    assert "which is Proa" in err, err
    assert "*** an op runs: exp, on thread" in err
