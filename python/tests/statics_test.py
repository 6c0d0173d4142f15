"""Statics of functions: what ops use is made when the package is imported, where there is one thread.

A child of fork() that is made while another thread stands in the first call of such a function waits for that thread
for ever; workers of a DataLoader hung so, now and then.
"""

import ctypes
import re
import subprocess
import sys

from proa import _C

# Why a static may be made later.
_LATER = {
    r"Eigen::internal::manage_caching_sizes": "of an instruction set that is not the machine's; counted below",
    r"pybind11::": "made under the lock of the interpreter, which the forking thread holds",
    r"proa::v0::python::|KeepMallocBlocks": "made under the lock of the interpreter, which the forking thread holds",
    r"GiveThisThreadASignalStack": "of the main thread, as it asks for reports of crashes",
    r"proa::v0::distributed::|CollectiveTurn": "no op of one process uses it",
    r"jit::reference::": "reading files of the reference",
    r"inference::\(anonymous namespace\)::Runtime::Get": "ONNX Runtime is loaded",
    r"TickScale::Measure|TheLoaded|CustomOpBatch::Define|ops::\(anonymous namespace\)::TheTable": "a profile begins, an extension is loaded",
}


def _guards():
    """The guard variables of the extension, but those of each thread: name and address in its file."""
    command = ["nm", "-C", "--format=sysv", _C.__file__]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for line in lines:
        match = re.fullmatch(r"guard variable for (.*?) *\|([0-9a-f]+)\| *[bBdDuV] *\|(.*)", line)
        if match and "TLS" not in match[3]:
            yield match[1], int(match[2], 16)


def _base():
    with open("/proc/self/maps", encoding="ascii") as maps:
        for line in maps:
            if line.rstrip().endswith(_C.__file__.rsplit("/", 1)[-1]):
                return int(line.partition("-")[0], 16)
    raise AssertionError("the extension is not in the maps of this process")


def _made():
    base = _base()
    return [(name, ctypes.c_char.from_address(base + at).value == b"\1") for name, at in _guards()]


if __name__ == "__main__":
    print("\n".join(f"{made:d} {name}" for name, made in _made()))


def test_statics_are_made_at_import():
    run = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    lines = [line.split(" ", 1) for line in run.stdout.splitlines()]
    late = [name for made, name in lines if made == "0"]
    assert not (rest := [n for n in late if not any(re.search(pattern, n) for pattern in _LATER)]), "\n".join(rest)
    # One for each instruction set and one for the rest of the library: that one and the machine's are made.
    assert [made for made, name in lines if "manage_caching_sizes" in name].count("1") == 2


def test_threads_own_memory_is_little():
    """Libraries that are loaded late share some 1,600 bytes of a thread's static block (glibc): what one takes, others lack."""
    lines = subprocess.run(
        ["readelf", "-lW", _C.__file__], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    (segment,) = (line.split() for line in lines if line.split()[:1] == ["TLS"])
    assert int(segment[5], 16) <= 1264


def test_the_look_sees_statics():
    names = [name for name, _ in _guards()]
    assert any("TheCpuAllocator" in name for name in names)
    assert all(any(re.search(pattern, name) for name in names) for pattern in _LATER), "an exemption of nothing"


# A thread computes for the first time in its process, and compiles kernels, while others are forked.
_FORKS = """
import os, signal, threading
import proa

def compute():
    for k in range(200):
        proa.ones([50 + k, 50]).matmul(proa.ones([50, 7]))

thread = threading.Thread(target=compute)
thread.start()
for _ in range(12):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        x = proa.ones([30, 30])
        assert (x.matmul(x) + x).sum().item() == 31 * 900
        x.astype("float64").matmul(x.astype("float64"))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
thread.join()
os._exit(0)
"""


def test_forks_while_a_thread_computes_for_the_first_time():
    runs = [subprocess.Popen([sys.executable, "-c", _FORKS], stderr=subprocess.PIPE) for _ in range(4)]
    for run in runs:
        _, errors = run.communicate(timeout=240)
        assert run.returncode == 0, errors.decode()
