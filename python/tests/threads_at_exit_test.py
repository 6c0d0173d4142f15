"""A program may end while its daemon threads are anywhere: in backward, in hooks, in a PyLayer, in ops."""

import subprocess
import sys

import pytest

_PROGRAM = """
import sys, threading, time
import numpy
import proa

def leaf(*shape):
    x = proa.ones(list(shape))
    x.stop_gradient = False
    return x

class Slow(proa.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g + sum(i for i in range(300)) * 0

def backward():
    x = leaf(64)
    y = x
    for _ in range(200):
        y = y * 1.01
    y.sum().backward()

def large():
    x = leaf(300, 300)
    proa.matmul(x, x).sum().backward()

def hooks():
    x = leaf(8)
    y = x * 2
    y.register_hook(lambda g: g * sum(range(2000)))
    (y * y).sum().backward()

def layer():
    Slow.apply(leaf(8)).sum().backward()

def recomputed():
    x = leaf(8)
    proa.autograd.recompute(lambda t: (t * sum(range(2000))).exp(), x).sum().backward()

def saved():
    x = leaf(8)
    with proa.autograd.saved_tensors_hooks(lambda t: (sum(range(500)), t)[1], lambda t: (sum(range(500)), t)[1]):
        y = (x * x).sum()
    y.backward()

def converted():
    net(leaf(8))

def lists():
    proa.to_tensor([[1.0, 2.0] * 50] * 50).tolist()
    proa.ones([200, 200]).numpy()

def arrays():
    proa.ones([3]).numpy()

class Array:
    def __array__(self, *arguments, **named):
        return numpy.ones([3 + 0 * sum(range(500))])

def foreign():
    proa.to_tensor([Array(), Array()])

class Text(str):
    def __hash__(self):
        return sum(range(500))

def bound():
    proa._C.profiler.Range(Text("a"), Text("b"))
    proa._C.Program().add_input("x", [Number()] * 3, "float32")

class Number:
    def __index__(self):
        return 1 + 0 * sum(range(500))

def protocols():
    x = proa.ones([3, 4])
    x[Number()]
    proa.reshape(x, [Number(), 12])

net = proa.jit.to_static(lambda x: (x * 2).exp().sum())
net(leaf(8))
work = globals()[sys.argv[1]]

def run():
    while True:
        work()

sys.setswitchinterval(1e-5)
for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
time.sleep(float(sys.argv[2]))
"""

_WORK = [
    "backward",
    "large",
    "hooks",
    "layer",
    "recomputed",
    "saved",
    "converted",
    "lists",
    "protocols",
    "arrays",
    "foreign",
    "bound",
]


@pytest.mark.parametrize("work", _WORK)
def test_exit(work):
    for attempt in range(3):
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, work, str(0.05 + 0.037 * attempt)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr[-2000:]}"
