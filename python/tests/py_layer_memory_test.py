"""PyLayer: what a recorded call keeps, and when that goes: weak references to all of it."""

import gc
import os
import subprocess
import sys
import threading
import weakref

import pytest

import proa
from proa.autograd import PyLayer


def _leaf(*values, dtype="float64"):
    return proa.to_tensor(list(values), dtype, stop_gradient=False)


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * 2 * x


def test_graph_goes_without_the_collector():
    class Exp(PyLayer):
        @staticmethod
        def forward(ctx, x):
            y = proa.exp(x)
            ctx.save_for_backward(x, y)
            ctx.other = marker  # noqa: F821
            return y

        @staticmethod
        def backward(ctx, dy):
            return dy * ctx.saved_tensor()[1]

    class Marker:
        pass

    gc.disable()
    try:
        marker = Marker()
        gone = weakref.ref(marker)
        x = _leaf(1.0)
        y = Exp.apply(x)
        del marker
        assert gone() is not None
        y.backward()
        del y
        assert gone() is None
    finally:
        gc.enable()


def test_an_output_as_attribute_is_collected():
    class Exp(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.y = proa.exp(x)
            return ctx.y

        @staticmethod
        def backward(ctx, dy):
            return dy * ctx.y

    x = _leaf(0.0)
    y = Exp.apply(x)
    gone = weakref.ref(y)
    z = y * 2
    del y
    gc.collect()
    assert gone() is not None  # the graph of z needs it
    z.backward()
    assert x.grad.tolist() == [2.0]
    del z
    gc.collect()
    assert gone() is None


class Both(PyLayer):
    """Two outputs, which are kept as attributes as well."""

    @staticmethod
    def forward(ctx, x, marker=None):
        ctx.marker = marker
        ctx.both = [x * 2, x * 3]
        return tuple(ctx.both)

    @staticmethod
    def backward(ctx, da, db):
        assert len(ctx.both) == 2
        return da * 2 + db * 3


class Marker:
    pass


def _marked(call):
    """A weak reference to something that the context of a call refers to, and what `call` gives."""
    marker = Marker()
    return weakref.ref(marker), call(marker)


@pytest.mark.parametrize("kept", [(), (0,), (1,), (0, 1)])
def test_several_outputs_as_attributes_are_collected(kept):
    x = _leaf(1.0)

    def call(marker):
        outputs = Both.apply(x, marker)
        return [outputs[i] for i in kept]

    gone, outputs = _marked(call)
    gc.collect()
    assert (gone() is None) == (not kept)
    for y in outputs:
        y.backward(retain_graph=True)  # the context is whole
    del outputs
    y = None
    gc.collect()
    assert gone() is None
    assert x.grad is None or x.grad.tolist() == [float(sum((2, 3)[i] for i in kept))]


def test_outputs_as_attributes_live_while_a_graph_needs_them():
    x = _leaf(1.0)
    gone, z = _marked(lambda marker: sum(Both.apply(x, marker)))
    for _ in range(3):
        gc.collect()
    assert gone() is not None  # only C++ refers to the call
    z.backward(retain_graph=True)
    assert x.grad.tolist() == [5.0]
    u = z * 2
    del z
    gc.collect()
    u.backward()
    assert x.grad.tolist() == [15.0]
    del u
    gc.collect()
    assert gone() is None


def test_an_output_within_a_cycle_of_its_own():
    x = _leaf(1.0)

    def call(marker):
        a, b = Both.apply(x, marker)
        a.itself = a
        return b

    gone, b = _marked(call)
    gc.collect()  # `a` is kept by the context only, which `b` needs
    b.backward()
    assert x.grad.tolist() == [3.0] and gone() is not None
    del b
    gc.collect()
    assert gone() is None


def test_a_node_that_the_context_refers_to():
    x = _leaf(1.0)

    def call(marker):
        a, b = Both.apply(x, marker)
        marker.node = a.grad_fn
        return marker.node

    gone, node = _marked(call)
    gc.collect()
    assert gone() is not None and node.name() == "Both"
    del node
    gc.collect()
    assert gone() is None


def test_what_backward_keeps_as_attribute():
    class Exp(PyLayer):
        @staticmethod
        def forward(ctx, x, marker):
            y = proa.exp(x)
            ctx.save_for_backward(y)
            ctx.marker = marker
            return y

        @staticmethod
        def backward(ctx, dy):
            (ctx.y,) = ctx.saved_tensor()  # with its history, if that is recorded
            return dy * ctx.y

    x = _leaf(0.0)

    def call(marker):
        (g,) = proa.grad(Exp.apply(x, marker), x, create_graph=True)
        return g

    gone, g = _marked(call)
    gc.collect()
    assert gone() is not None
    g.backward()
    assert x.grad.tolist() == [1.0]
    del g
    gc.collect()
    assert gone() is None


def test_collections_while_other_threads_run_backward():
    x = _leaf(1.0)
    stop = threading.Event()
    errors = []

    def work():
        try:
            while not stop.is_set():
                y = proa.to_tensor([1.0], stop_gradient=False)
                sum(Both.apply(y)).backward()
                assert y.grad.tolist() == [5.0]
        except BaseException as e:  # noqa: BLE001
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    gone = []
    for _ in range(100):
        gone.append(_marked(lambda marker: sum(Both.apply(x, marker)))[0])
        gc.collect()
    stop.set()
    for t in threads:
        t.join()
    gc.collect()
    assert not errors and all(g() is None for g in gone)


def test_without_the_callback_nothing_live_is_taken():
    """Who empties gc.callbacks gets leaks at worst."""
    x = _leaf(1.0)
    callbacks, gc.callbacks[:] = list(gc.callbacks), []
    try:
        gone, (a, b) = _marked(lambda marker: Both.apply(x, marker))
        z = a * b
        gc.collect()
        z.backward()
        assert x.grad.tolist() == [12.0] and gone() is not None
        del a, b, z
        gc.collect()
    finally:
        gc.callbacks[:] = callbacks
    gc.collect()
    assert gone() is None


def test_inputs_are_released_by_backward():
    x = _leaf(1.0)
    y = x * 1
    gone = weakref.ref(y)
    z = Square.apply(y)
    z.backward()
    del y
    assert gone() is None and z.tolist() == [1.0]


_ENDS = """
import gc, os, sys, types
import proa

class Twice(proa.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2.0

    @staticmethod
    def backward(ctx, g):
        return g * 2.0

x = proa.ones([2])
x.stop_gradient = False

def others(i, x=x):
    return [x * 2.0, x + x, x.exp(), (x * x).sum(), x.reshape([1, 2]), x.matmul(x)][i % 6]

class Late:
    def __init__(self):
        self.collect, self.write, self.others = gc.collect, os.write, others

    def __del__(self):
        kept = [self.others(i) for i in range(300)]  # where the nodes were
        self.collect()
        self.write(1, b"collected")

# Modules go in this order when the interpreter ends.
sys.modules["early"], sys.modules["late"] = types.ModuleType("early"), types.ModuleType("late")
sys.modules["early"].kept = [Twice.apply(x) for _ in range(100)]
sys.modules["late"].kept = Late()
"""


def test_a_collection_while_the_interpreter_ends():
    """Nodes that went before it, with the contexts that they own, are not looked at any more."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "GLIBC_TUNABLES": "glibc.malloc.perturb=85"}
    run = subprocess.run([sys.executable, "-c", _ENDS], env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "collected", "")
