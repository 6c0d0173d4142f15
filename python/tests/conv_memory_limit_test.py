"""Convolutions while the address space is short: a result or a MemoryError, and a result once there is room again."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import proa
import proa.nn.functional as F

proa._C.set_num_threads(1)

def attempt():
    outcomes = []
    for kernel in (1, 2, 3, 5):
        for channels in (3, 8, 33):
            for transposed in (False, True):
                try:
                    x = proa.ones([2, channels, 24, 24])
                    w = proa.ones([channels, channels, kernel, kernel])
                    x.stop_gradient = w.stop_gradient = False
                    f = F.conv2d_transpose if transposed else F.conv2d
                    f(x, w, stride=1 + channels % 2).sum().backward()
                    outcomes.append(float(w.grad.sum()))
                except MemoryError:
                    outcomes.append(None)
    return outcomes

pages = int(open("/proc/self/statm").read().split()[0])
_, most = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (int(sys.argv[1]) << 20), most))
short = attempt()
resource.setrlimit(resource.RLIMIT_AS, (most, most))
again = attempt()
assert None not in again, again
assert all(a in (None, b) for a, b in zip(short, again)), (short, again)
print(short.count(None))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and RLIMIT_AS")
@pytest.mark.skipif("PROA_PRELOAD" in os.environ, reason="a sanitizer needs its address space")
@pytest.mark.parametrize("mebibytes, fails", [(1, True), (30, True), (300, False)])
def test_little_address_space(mebibytes, fails):
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(mebibytes)], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert (int(run.stdout) > 0) == fails
