"""An allocation that fails, wherever it is, is a MemoryError: the process lives, and the same call works later.

Each scenario runs in a process of its own, with a library before it (failing_memory.cc) that lets its first allocation
fail, then its second, and so on until none fails any more; then the same with all allocations from there on.
"""

import contextlib
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

_MOST = 150  # failures of a scenario; beyond, every k-th allocation


def _library():
    built = pathlib.Path("python/tests/failing_memory.so")
    return str(built.resolve()) if built.exists() else os.environ.get("PROA_FAILING_MEMORY", "")


pytestmark = pytest.mark.skipif(
    not _library() or "lib" in os.environ.get("LD_PRELOAD", ""), reason="another library is before the process"
)


# Scenarios: called once to make what they need; the result is what is let fail, and gives arrays. ------------------


def _leaf(proa, *shape):
    x = proa.arange(int(__import__("math").prod(shape)), dtype="float32").reshape(shape) / 7
    x = x.detach()
    x.stop_gradient = False
    return x


def eager_op(proa):
    x = proa.ones([3, 5])
    return lambda: [x + x, (x * 2).sum(), proa.nn.functional.softmax(x), proa.argsort(x), x[:, ::2], x[x > 0]]


def products(proa):
    x, y = proa.ones([40, 33]), proa.ones([3, 33, 50])
    return lambda: [proa.matmul(x, y), proa.matmul(x, x, transpose_y=True)]


def convolution(proa):
    x, w = _leaf(proa, 1, 3, 9, 9), _leaf(proa, 4, 3, 3, 3)

    def run():
        y = proa.nn.functional.conv2d(x, w, padding=1)
        return [y, *proa.grad([proa.nn.functional.max_pool2d(y, 2).sum()], [x, w])]

    return run


def in_place(proa):
    base = proa.zeros([4, 6])

    def run():
        x = base.clone()
        v = x[1]
        v.add_(proa.ones([6]))
        x[:, 0:2] = 3.0
        x[proa.to_tensor([0, 2])] = proa.ones([2, 6])
        x.scale_(2.0)
        return [x, v]

    return run


def backward(proa):
    x, w, b = _leaf(proa, 4, 5), _leaf(proa, 5, 3), _leaf(proa, 3)

    def run():
        for t in (x, w, b):
            t.clear_gradient(False)
        h = proa.nn.functional.relu(proa.matmul(x, w) + b)
        parts = proa.split(h, 3, axis=1)
        (parts[0] * parts[1] + h.mean()).sum().backward()
        return [x.grad, w.grad, b.grad]

    return run


def second_order(proa):
    x = _leaf(proa, 3, 4)

    def run():
        (g,) = proa.grad([(x.exp() * x).sum()], [x], create_graph=True)
        return proa.grad([(g * g).sum()], [x])

    return run


def views(proa):
    x = _leaf(proa, 4, 6)

    def run():
        y = x * 1.0
        y[:, 0:1] = y[:, 0:1] * y[:, 0:1]
        y[1].multiply_(proa.full([6], 2.0))
        return [y, *proa.grad([y.sum()], [x])]

    return run


def recompute(proa):
    x, w = _leaf(proa, 4, 5), _leaf(proa, 5, 5)

    def run():
        y = proa.autograd.recompute(lambda t: proa.nn.functional.relu(proa.matmul(t, w)).exp(), x)
        return [y, *proa.grad([y.sum()], [x, w])]

    return run


def py_layer(proa):
    class Double(proa.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x)
            return x * 2, {"y": y + x}

        @staticmethod
        def backward(ctx, a, b):
            (x,) = ctx.saved_tensor()
            return a * 2 + b["y"] + x * 0, b["y"]

    x, y = _leaf(proa, 3), _leaf(proa, 3)

    def run():
        a, b = Double.apply(x, y)
        return [a, *proa.grad([a.sum() + b["y"].sum()], [x, y])]

    return run


def hooks(proa):
    x = _leaf(proa, 3)

    def run():
        y = x * 2
        handle = y.register_hook(lambda g: g * 3)
        with proa.autograd.saved_tensors_hooks(lambda t: t.numpy(), proa.to_tensor):
            z = (y * y).sum()
        grads = proa.grad([z], [x])
        handle.remove()
        return grads

    return run


def recording(proa):
    w = _leaf(proa, 5, 3)

    nn = proa.static.nn

    def net(x):
        h = proa.nn.functional.relu(proa.matmul(x, w))
        h = nn.cond(h.sum() > 0, lambda: h * 2, lambda: h)
        _, h = nn.while_loop(lambda i, h: i < 3, lambda i, h: [i + 1, h + i], [proa.zeros([1]), h])
        h[0] = 0.0
        return proa.concat([h, proa.to_tensor([[h.sum(), 1.0, 2.0]])])

    def run():
        y = proa.jit.to_static(net)(proa.ones([4, 5]))
        return [y, *proa.grad([y.sum()], [w])]

    return run


def executor(proa):
    w = _leaf(proa, 5, 3)

    @proa.jit.to_static
    def net(x):
        _, x = proa.static.nn.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, x + i], [proa.zeros([1]), x])
        return proa.matmul(x, w).reshape([-1]), proa.split(x, 2)[0]

    x = proa.ones([4, 5])
    net(x)
    return lambda: list(net(x))


def training(proa):
    net = proa.nn.Sequential(proa.nn.Conv2D(1, 2, 3), proa.nn.BatchNorm2D(2), proa.nn.ReLU())
    x = _leaf(proa, 2, 1, 6, 6)
    start = {k: v.clone() for k, v in net.state_dict().items()}

    def run():
        net.set_state_dict(start)
        optimizer = proa.optimizer.Adam(0.01, parameters=net.parameters())
        optimizer.clear_grad()  # of a pass that failed
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return [loss, *net.parameters()]

    return run


def interchange(proa):
    import copy
    import pickle

    import numpy as np

    x = proa.ones([2, 3])
    array = np.ones([2, 3], "float32")[:, ::-1]

    def run():
        made = [proa.to_tensor([[1, x.sum()], [2.0, 3]]), proa.to_tensor(array), proa.to_tensor(x.numpy())]
        made += [proa.to_tensor(memoryview(x)), copy.deepcopy(x), pickle.loads(pickle.dumps(x))]
        made.append(proa.utils.dlpack.from_dlpack(proa.utils.dlpack.to_dlpack(x)))
        assert repr(x) and x.tolist()
        return made

    return run


def bound_classes(proa):
    """The classes that pybind11 binds."""

    def run():
        places = [
            proa.CPUPlace(),
            proa.CUDAPlace(0),
            proa.CUDAPinnedPlace(),
            proa._C.Place("cpu"),
            proa._C.Place("gpu:1"),
        ]
        assert [str(p) for p in places[:2]] == ["Place(cpu)", "Place(gpu:0)"]
        x = proa.ones([2])
        assert x.place == places[0]
        program = proa._C.Program()
        s = program.add_input("x", [2], "float32")
        with program.recording():
            y = s + s
        for make in (lambda: proa._C.XPUPlace(0), lambda: proa._C.CustomPlace("none", 0), lambda: proa._C.Place("no")):
            with contextlib.suppress(ValueError, NotImplementedError):
                make()
        proa._C.profiler.Range("a", "b").begin()
        proa._C.profiler.start(0, 0, 0)
        assert len(proa._C.profiler.take()) >= 0
        return program.run({"x": x}, [y])

    return run


def saving(proa):
    folder = tempfile.mkdtemp()
    layer = proa.nn.Linear(3, 2)
    traced = proa.jit.to_static(layer, input_spec=[proa.static.InputSpec([None, 3], "float32")])

    def run():
        proa.jit.save(traced, folder + "/model")
        return [proa.jit.load(folder + "/model")(proa.ones([2, 3]))]

    return run


_SCENARIOS = [
    eager_op, products, convolution, in_place, backward, second_order, views, recompute, py_layer, hooks, recording,
    executor, training, interchange, bound_classes, saving,
]  # fmt: skip


def _let_fail(name):
    """In the process of a scenario."""
    import numpy as np

    import proa

    library = ctypes.CDLL(_library())
    library.stop_failing.restype = ctypes.c_int64
    library.fail_allocation.argtypes = [ctypes.c_int64, ctypes.c_int]
    assert not proa._C.debug.keeps_blocks()
    run = globals()[name](proa)
    values = lambda results: [t.astype("float64").numpy() for t in results]
    run()  # what is made once
    want = values(run())
    library.fail_allocation(0, 0)
    run()
    allocations = library.stop_failing()
    assert allocations > 1, "nothing would fail"
    step = -(-allocations // _MOST)
    for all_after in (0, 1):
        failures = 0
        for n in range(1, allocations + 1, step):
            print(f"{name}: allocation {n} of {allocations}{' and all after' * all_after}", file=sys.stderr, flush=True)
            library.fail_allocation(n, all_after)
            try:
                got = run()
            except MemoryError:
                failures += 1
                got = None
            finally:
                library.stop_failing()
            for results in (run(),) if got is None else (got, run()):
                for a, b in zip(values(results), want, strict=True):
                    np.testing.assert_array_equal(a, b, err_msg=f"{name}, allocation {n}")
        assert failures > allocations / step / 4, f"{failures} failures of {allocations} allocations"


@pytest.mark.parametrize("scenario", [s.__name__ for s in _SCENARIOS])
def test_each_allocation_may_fail(scenario):
    env = dict(os.environ, LD_PRELOAD=_library(), FLAGS_use_system_allocator="1", OMP_NUM_THREADS="2")
    env.pop("PYTHONMALLOC", None)
    done = subprocess.run(
        [sys.executable, __file__, scenario], env=env, capture_output=True, text=True, timeout=600, check=False
    )
    lines = done.stderr.splitlines()
    assert done.returncode == 0, f"exit {done.returncode}\n" + "\n".join(lines[-25:])


_SHORT = """
import resource, numpy as np, proa
F = proa.nn.functional
def used():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[0]) * resource.getpagesize()
x, w = proa.ones([4, 16, 64, 64]), proa.ones([32, 16, 3, 3])
F.conv2d(proa.ones([1, 1, 4, 4]), proa.ones([1, 1, 2, 2]))  # threads are there
held = [proa.ones([1024, 1024]) for _ in range(128)]  # 512 MiB
del held
assert proa.device.memory_reserved("cpu") > 500 << 20
resource.setrlimit(resource.RLIMIT_AS, (used() + (1 << 20), resource.RLIM_INFINITY))
y = F.conv2d(x, w, padding=1)  # with memory that oneDNN takes itself
kept = proa.device.memory_reserved("cpu")
assert kept < 100 << 20, kept
z = proa.ones([300, 1024, 256])
try:
    proa.ones([2048, 1024, 256])
except MemoryError as e:
    assert "out of memory" in str(e), e
else:
    raise AssertionError("2 GiB fit")
for size in (3, 5, 7):
    try:
        F.conv2d(proa.ones([64, 64, 64, 64]), proa.ones([256, 64, size, size]), padding=size // 2)
    except MemoryError:
        pass
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
del z
for size in (3, 5, 7):
    y = F.conv2d(proa.ones([1, 64, 16, 16]), proa.ones([8, 64, size, size]), padding=size // 2)
    assert float(y[0, 0, 8, 8]) == 64 * size * size
"""


@pytest.mark.parametrize("program", [_SHORT], ids=["address space"])
def test_what_is_kept_is_given_back(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr[-3000:]}"


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in globals():
        _let_fail(sys.argv[1])
    else:
        sys.exit(pytest.main([__file__]))
