"""Every public function with each of its dims open in turn: saved, loaded, run at three sizes and at zero.

Values and gradients are those of eager mode. A dim is opened together with those that must be as large, found by
trying; where the call fits no other size, it is run at its own. Refusals are sentences, and stand in REFUSED with
their reason.

`python open_sizes_test.py NAME...` shows what became of the dims of some functions, all without one.
"""

import os
import re
import sys
import tempfile

import numpy as np
import pytest

import proa as paddle
from ops.conformance import samples
from proa import _C
from python.tests.public_cases import Case, public_cases

# Why a dim cannot be open, by a part of the message.
REFUSED = {
    "must be known": "the rank or the number of results depends on the size (squeeze, unbind, unstack)",
    "no elements until the program runs": "Python reads elements: which ones there are decides the size of the result",
    "gives no tensors": "the result is a number of Python",
    "must be int when the program is recorded": "an attribute that must be a number then",
    "must be a number or a Tensor": "an attribute that must be a number then",
    "the last dim of index must be known": "the rank of the result depends on it",
    "must have a known length": "a list of sizes whose length is open: the rank of the result would be",
}
# How many samples of a function are tried; the conformance suite runs all of them.
_MOST_SAMPLES = 2


class _Sized(Case):
    """A case whose tensors may be made at other sizes: `changes` is {(tensor, axis): size}."""

    changes: dict = {}

    def arguments(self, more=0):
        specs = self._sample.specs()
        saved = [s.dims for s in specs]
        try:
            for (i, axis), size in self.changes.items():
                dims = list(specs[i].dims)
                dims[axis] = size
                object.__setattr__(specs[i], "dims", tuple(dims))
            return super().arguments(more)
        finally:
            for s, dims in zip(specs, saved, strict=True):
                object.__setattr__(s, "dims", dims)

    def dims(self):
        return [s.dims for s in self._sample.specs()]


def _groups(case, i, axis):
    """Sets of dims that may have to be as large as dim `axis` of tensor `i`, small ones first."""
    dims = case.dims()
    n, right = dims[i][axis], len(dims[i]) - axis
    every = [(k, a) for k, d in enumerate(dims) for a in range(len(d)) if d[a] == n]
    yield {(i, axis)}
    yield {(k, a) for k, a in every if a == axis}
    yield {(k, a) for k, a in every if len(dims[k]) - a == right}
    yield set(every)


def _run(case, changes, function=None):
    """(tensors, results, gradients) of a call, eager or of a loaded function."""
    case.changes = changes
    tensors, eager = case.bind(*case.arguments())
    for t in tensors:
        t.stop_gradient = not t.is_floating_point()
    paddle.seed(3)
    if function is None:
        out = eager(*tensors)
    else:
        out = function(*tensors)
        out = list(out) if isinstance(out, (list, tuple)) else [out]
    led = [t for t in out if t.is_floating_point() and not t.stop_gradient]
    weights = [
        paddle.to_tensor(np.random.default_rng(5).uniform(0.5, 1.5, t.shape).astype(t.numpy().dtype)) for t in led
    ]
    if led:
        paddle.autograd.backward(led, weights)
    return tensors, out, [t.grad for t in tensors]


def _same(got, want, where):
    assert len(got) == len(want), f"{where}: {len(got)} results instead of {len(want)}"
    for a, b in zip(got, want, strict=True):
        if a is None or b is None:  # no gradient, or one of zeros
            assert all(t is None or not t.any() for t in (a, b)), f"{where}: {a} instead of {b}"
        else:
            assert a.dtype == b.dtype and a.shape == b.shape, f"{where}: {a.dtype} {a.shape}, eager {b.dtype} {b.shape}"
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=3e-5, atol=3e-5, err_msg=where)


def _fitting(case, i, axis):
    """The dims to open together, and the sizes at which the call may be made."""
    n = case.dims()[i][axis]
    for group in _groups(case, i, axis):
        sizes = []
        for size in (n + 1, 2 * n, 3 * n):
            try:
                _run(case, dict.fromkeys(group, size))
            except Exception:  # the call does not fit
                continue
            sizes.append(size)
        if sizes:
            return group, sizes
    return {(i, axis)}, []


def check(case, folder):
    """What became of each dim: {(tensor, axis): sizes, or the message of a refusal}."""
    outcome, done = {}, set()
    for i, dims in enumerate(case.dims()):
        for axis in range(len(dims)):
            if (i, axis) in done:
                continue
            group, sizes = _fitting(case, i, axis)
            done |= group
            outcome[i, axis] = _check_open(case, group, [dims[axis], *sizes], folder)
    return outcome


def _check_open(case, group, sizes, folder):
    case.changes = {}
    tensors, function = case.bind(*case.arguments())
    specs = []
    for k, t in enumerate(tensors):
        open_axes = {a for j, a in group if j == k}
        specs.append(
            paddle.static.InputSpec([-1 if a in open_axes else n for a, n in enumerate(t.shape)], t.dtype, f"x{k}")
        )
        specs[-1].stop_gradient = not t.is_floating_point()
    prefix = os.path.join(folder, "model")
    where = f"{case.name}({case.text}), open {sorted(group)}"
    try:
        paddle.jit.save(function, prefix, specs)
    except Exception as e:
        text = str(e)
        assert any(reason in text for reason in REFUSED), f"{where}: refused by {type(e).__name__} {text}"
        return text
    loaded = paddle.jit.load(prefix)
    loaded.train()
    for size in sizes:
        changes = dict.fromkeys(group, size)
        _, want, gradients = _run(case, changes)
        _, got, others = _run(case, changes, loaded)
        _same(got, want, f"{where} at {size}")
        _same(others, gradients, f"{where} at {size}, gradients")
    _check_empty(case, group, loaded, where)
    return sizes


def _check_empty(case, group, loaded, where):
    """At size 0 the program gives what eager mode gives. What eager mode refuses it refuses, or its results are empty too."""
    changes = dict.fromkeys(group, 0)
    try:
        _, want, gradients = _run(case, changes)
    except Exception:
        try:
            _, got, _ = _run(case, changes, loaded)
        except Exception:
            return
        assert not any(t.numel() for t in got), f"{where} at 0: {got}; eager mode refuses"
        return
    _, got, others = _run(case, changes, loaded)
    _same(got, want, f"{where} at 0")
    _same(others, gradients, f"{where} at 0, gradients")


def _cases():
    for name, function, texts in public_cases():
        for text in texts[:_MOST_SAMPLES]:
            text = text.replace(".T", "")
            (sample,) = samples.parse(text, ("float32",)) if text.strip() else (samples.Sample((), {}, ""),)
            # Samples of all dtypes are of float32 here, which functions of complex numbers do not take.
            if sample.specs() and not any(s.views for s in sample.specs()) and name not in ("imag", "as_real"):
                yield name, _Sized(name, text, function)


_CASES: dict = {}
for _name, _case in _cases():
    _CASES.setdefault(_name, []).append(_case)


@pytest.mark.parametrize("name", _CASES)
def test_function(name, tmp_path):
    for case in _CASES[name]:
        check(case, str(tmp_path))


KEYS = [
    0,
    -1,
    (slice(None), 0),
    (0, -1),
    (..., 1),
    (None, 0),
    (slice(1, None), -2),
    (0, slice(None, None, 2)),
    (-1, None, ...),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_integers_as_indices(key, tmp_path):
    """How many dims are left is known, whatever their sizes are."""
    model = paddle.jit.to_static(lambda x: x[key] * 2.0)
    paddle.jit.save(model, str(tmp_path / "model"), input_spec=[paddle.static.InputSpec([None, None], "float32", "x")])
    loaded = paddle.jit.load(str(tmp_path / "model"))
    for shape in [(3, 4), (5, 2), (2, 7)]:
        x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        leaf = paddle.to_tensor(x, stop_gradient=False)
        loaded(leaf).sum().backward()
        want = np.zeros_like(x)
        want[key] = 2
        np.testing.assert_array_equal(loaded(paddle.to_tensor(x)).numpy(), x[key] * 2)
        np.testing.assert_array_equal(leaf.grad.numpy(), want)
    with pytest.raises((ValueError, IndexError)):
        loaded(paddle.ones([0, 0]))


_X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("float32")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: paddle.median(x),
        lambda x: paddle.nanmedian(x, [0, 1], True),
        lambda x: paddle.quantile(x, [0.3, 0.5], 1),
        lambda x: paddle.split(x, 2, 2),
        lambda x: paddle.chunk(x, 3, 1),
        lambda x: paddle.unstack(x, 1, 3),
        lambda x: paddle.broadcast_tensors([x, x[:1], x[0]]),
        lambda x: paddle.cross(x, x * x, axis=1),
        lambda x: paddle.crop(x),
        lambda x: paddle.crop(x, [-1, 2, 2], [1, 1, 0]),
    ],
)
def test_what_needs_no_known_size(function):
    """All dims open; of sizes that do not fit there is an error when the program runs."""
    expected = function(paddle.to_tensor(_X))
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            out = function(paddle.static.data("x", [None, None, None]))
        out, expected = ([v] if isinstance(v, paddle.Tensor) else v for v in (out, expected))
        got = paddle.static.Executor().run(program, feed={"x": _X}, fetch_list=out)
    finally:
        paddle.disable_static()
    for mine, wanted in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, wanted.numpy())


@pytest.mark.parametrize("function", [lambda x: paddle.split(x, 2, 1), lambda x: paddle.unstack(x, 1, 2)])
def test_open_size_that_does_not_fit(function):
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            out = function(paddle.static.data("x", [None, None, None]))
        with pytest.raises(ValueError, match="do not add up to 3"):
            paddle.static.Executor().run(program, feed={"x": _X}, fetch_list=out)
    finally:
        paddle.disable_static()


def main(names):
    with tempfile.TemporaryDirectory() as folder:
        for name, cases in _CASES.items():
            if names and name not in names and name.rpartition(".")[2] not in names:
                continue
            for case in cases:
                try:
                    print(f"{name}({case.text}):", check(case, folder))
                except Exception as e:
                    print(f"{name}({case.text}): FAILED {type(e).__name__}: {(str(e).strip().splitlines() or [''])[0]}")


if __name__ == "__main__":
    main(sys.argv[1:])


def _linear(x):
    with paddle.no_grad():
        layer = paddle.nn.Linear(8, 3, weight_attr=paddle.nn.initializer.Constant(0.5))
    return layer(paddle.nn.functional.layer_norm(x.reshape([x.shape[0], 4, -1]), 8))


def _slices(x):
    n = x.shape[1] // 2
    return paddle.concat([x[:, n:], x[:, :n], x[:-1, : x.shape[1] - 1].sum([0, 1]).expand([x.shape[0], 2, -1])], 1)


def _same_padding(x):
    length = (x.shape[2] - 2 * (3 - 1) - 1) // 1 + 1
    around = (x.shape[2] - length) // 2
    assert around == 2  # the same for every size
    return paddle.nn.functional.pad(x, [around, around], mode="reflect", data_format="NCL")


@pytest.mark.parametrize(
    ("function", "dims", "shapes"),
    [
        (_slices, [None, None, 3], [(2, 4, 3), (3, 7, 3)]),
        (
            lambda x: paddle.nn.functional.pad(x, [0, x.shape[2]], data_format="NCL"),
            [2, 2, None],
            [(2, 2, 3), (2, 2, 5)],
        ),
        (lambda x: x.roll(x.shape[0] // 2, 0), [None, 3], [(4, 3), (7, 3)]),
        (_same_padding, [None, 2, None], [(1, 2, 5), (2, 2, 9)]),
        (_linear, [None, 8, 4], [(2, 8, 4), (5, 8, 4)]),
        (lambda x: paddle.nn.functional.layer_norm(x, [2, 3]), [None, None, None], [(4, 2, 3)]),
        (lambda x: paddle.nn.functional.prelu(x, paddle.to_tensor([0.5, 2.0])), [None, None, 3], [(4, 2, 3)]),
        (
            lambda x: paddle.nn.functional.instance_norm(x, weight=paddle.ones([2]), bias=paddle.ones([2])),
            [None, None, 3],
            [(4, 2, 3)],
        ),
        (lambda x: paddle.nn.functional.group_norm(x, 2, weight=paddle.ones([4])), [None, None, 3], [(2, 4, 3)]),
        (lambda x: paddle.nn.functional.glu(x, 1), [None, None, None], [(2, 4, 3), (3, 2, 2)]),
        (lambda x: paddle.nn.functional.maxout(x, 3), [None, None, None], [(2, 6, 3), (1, 3, 2)]),
        (lambda x: paddle.nn.functional.pixel_shuffle(x, 2), [None] * 4, [(2, 8, 3, 2), (1, 4, 2, 2)]),
        (lambda x: paddle.nn.functional.pixel_shuffle(x, 2, "NHWC"), [None] * 4, [(2, 3, 2, 8)]),
        (lambda x: paddle.nn.functional.group_norm(x, 2), [None, None, None], [(2, 4, 3), (1, 2, 3)]),
        (lambda x: paddle.nn.functional.instance_norm(x), [None, None, None], [(2, 4, 3), (1, 2, 3)]),
        (lambda x: paddle.inner(x, x[:1]), [None, None], [(2, 4), (3, 5)]),
        (lambda x: paddle.tensordot(x, x.transpose([1, 0]), 1), [None, None], [(2, 4), (3, 5)]),
        (lambda x: paddle.ones([1, 1, 3]).expand([x.shape[0], -1, -1])[:, : x.shape[1]] * x, [None, 1, 3], [(4, 1, 3)]),
    ],
)
def test_computed_sizes(function, dims, shapes, tmp_path):
    """Bounds, paddings and shifts computed from open sizes; layers whose own dims an input leaves open."""
    prefix = str(tmp_path / "model")
    paddle.jit.save(paddle.jit.to_static(function), prefix, input_spec=[paddle.static.InputSpec(dims, "float32", "x")])
    loaded = paddle.jit.load(prefix)
    for shape in shapes:
        x = paddle.to_tensor(np.random.default_rng(1).standard_normal(shape).astype("float32"))
        np.testing.assert_allclose(loaded(x).numpy(), function(x).numpy(), 1e-6, 1e-6)


def test_own_dims_that_do_not_fit(tmp_path):
    prefix = str(tmp_path / "model")
    spec = paddle.static.InputSpec([None, None], "float32", "x")
    paddle.jit.save(paddle.nn.LayerNorm(6), prefix, input_spec=[spec])
    with pytest.raises(ValueError):
        paddle.jit.load(prefix)(paddle.ones([2, 5]))


@pytest.mark.parametrize(
    ("function", "shape", "says"),
    [
        (lambda x: paddle.nn.functional.glu(x, 1), [2, 3, 4, 4], "glu: the size of axis 1 is odd; x is"),
        (lambda x: paddle.nn.functional.maxout(x, 2), [2, 3, 4, 4], "maxout: groups must be above 1 and divide"),
        (lambda x: paddle.nn.functional.pixel_shuffle(x, 2), [2, 6, 4, 4], "pixel_shuffle: the channels are not"),
        (lambda x: paddle.nn.functional.group_norm(x, 2), [2, 3, 4, 4], "group_norm: the channels are not divisible"),
        (lambda x: paddle.nn.functional.grid_sample(x, x), [2, 3, 4, 4], "grid_sample: x must be"),
        (lambda x: paddle.inner(x, x.transpose([0, 1, 3, 2])), [2, 3, 4, 5], "inner: the last dims differ"),
        (lambda x: paddle.tensordot(x, x, 1), [2, 3, 4, 5], "tensordot: the summed dims differ"),
    ],
)
def test_sizes_that_do_not_fit_are_seen_by_the_run(function, shape, says):
    """The sentence is that of the eager call, up to the shape that it names."""
    with pytest.raises(ValueError, match=says) as eager:
        function(paddle.ones(shape))
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            out = function(paddle.static.data("x", [None] * 4))
        with pytest.raises(ValueError, match=says) as late:
            paddle.static.Executor().run(program, feed={"x": np.ones(shape, "float32")}, fetch_list=[out])
    finally:
        paddle.disable_static()
    assert str(eager.value) in str(late.value)


def test_a_refusal_names_the_function():
    def program_of(function):
        paddle.jit.to_static(function, input_spec=[paddle.static.InputSpec([None, None])]).concrete_program  # noqa: B018

    with pytest.raises(ValueError, match="unbind: the size of dim 0 must be known; x is "):
        program_of(lambda x: paddle.unbind(x * 1.0))
    x = _C.Program().add_input("x", [-1, -1], paddle.float32)
    with pytest.raises(RuntimeError, match="int: the size of dim 1"):
        int(x.shape[1])


def test_differences_of_sizes_are_numbers():
    def sizes(x):
        n = x.shape[0]
        found.extend([n - (n - 2), (2 * n + 3) // 2 - n, (4 * n + 7) % 4, n * 1 - n, n // 1 - n])
        return x + 1

    found = []
    paddle.jit.to_static(sizes, input_spec=[paddle.static.InputSpec([None])]).concrete_program  # noqa: B018
    assert found == [2, 1, 3, 0, 0] and all(type(n) is int for n in found)


@pytest.mark.parametrize(("dims", "added"), [([None, 3, 8, 8], [1, 4, 8, 8]), ([None, 3, None, None], [1, 4, 1, 1])])
def test_what_is_repeated_to_a_convolution_in_a_predictor(dims, added, tmp_path):
    """Of open sizes the sum was taken for a residual of the convolution, which runs of other sizes refused."""
    conv, place = paddle.nn.Conv2D(3, 4, 3, padding=1), paddle.rand(added)
    function = paddle.jit.to_static(lambda x: paddle.nn.functional.relu(conv(x) + place) + (conv(x) + place))
    prefix = str(tmp_path / "model")
    paddle.jit.save(function, prefix, input_spec=[paddle.static.InputSpec(dims, "float32", "x")])
    predictor = paddle.inference.create_predictor(paddle.inference.Config(prefix))
    for batch in (1, 3):
        x = np.random.default_rng(0).standard_normal((batch, 3, 8, 8)).astype("float32")
        predictor.get_input_handle("x").copy_from_cpu(x)
        predictor.run()
        got = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
        np.testing.assert_allclose(got, function(paddle.to_tensor(x)).numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize(
    ("dims", "added", "shapes"),
    [
        ([None, 3, 8, 8], [None, 4, 8, 8], [(2, 4, 8, 8), (1, 4, 8, 8)]),
        ([None, 3, None, None], [None, 4, None, None], [(2, 4, 8, 8), (1, 4, 1, 1), (2, 4, 1, 8)]),
        ([None] * 4, [None] * 4, [(2, 4, 8, 8), (2, 1, 8, 8)]),
    ],
)
def test_what_an_input_adds_to_a_convolution_may_be_repeated(dims, added, shapes, normed, tmp_path):
    """Both sizes are open: a fused addition refused runs where that of the input is 1."""
    norm = paddle.nn.BatchNorm2D(4) if normed else paddle.nn.Identity()
    net = paddle.nn.Sequential(paddle.nn.Conv2D(3, 4, 3, padding=1), norm)
    net.eval()
    function = paddle.jit.to_static(lambda x, y: paddle.nn.functional.relu(net(x) + y))
    prefix = str(tmp_path / "model")
    specs = [paddle.static.InputSpec(dims, "float32", "x"), paddle.static.InputSpec(added, "float32", "y")]
    paddle.jit.save(function, prefix, input_spec=specs)
    loaded = paddle.jit.load(prefix)
    predictor = paddle.inference.create_predictor(paddle.inference.Config(prefix))
    for shape in shapes:
        x, y = (np.random.default_rng(0).standard_normal(s).astype("float32") for s in ((2, 3, 8, 8), shape))
        want = paddle.nn.functional.relu(net(paddle.to_tensor(x)) + paddle.to_tensor(y)).numpy()
        np.testing.assert_allclose(loaded(paddle.to_tensor(x), paddle.to_tensor(y)).numpy(), want, 1e-5, 1e-5)
        for name, array in (("x", x), ("y", y)):
            predictor.get_input_handle(name).copy_from_cpu(array)
        predictor.run()
        got = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
        np.testing.assert_allclose(got, want, 1e-5, 1e-5)


def test_blocks_of_open_images_are_fused(tmp_path):
    """Two ways of windows from one image have one size, which names say, in a program from a file too."""
    first, second = paddle.nn.Conv2D(3, 4, 3, stride=2, padding=1), paddle.nn.Conv2D(4, 4, 3, padding=1)
    norm, short = paddle.nn.BatchNorm2D(4), paddle.nn.Conv2D(3, 4, 1, stride=2)
    norm.eval()
    block = lambda x: paddle.nn.functional.relu(norm(second(first(x))) + short(x))
    paddle.enable_static()
    try:
        program, prefix = paddle.static.Program(), str(tmp_path / "model")
        with paddle.static.program_guard(program):
            x = paddle.static.data("x", [None, 3, None, None])
            y = block(x)
        assert y.shape[2] == short(x).shape[2]
        executor = paddle.static.Executor()
        paddle.static.save_inference_model(prefix, [x], [y], executor, program=program)
        loaded, _, fetched = paddle.static.load_inference_model(prefix, executor)
    finally:
        paddle.disable_static()
    # Each open size of a file has a name of its own.
    for recorded in (program._program, loaded._program):
        (number,) = re.findall(r"%(\d+) = relu\(", str(recorded))
        assert "conv2d_batch_norm_relu_inference" in recorded.plan([recorded.value(int(number))])
    image = np.random.default_rng(0).standard_normal((2, 3, 9, 7)).astype("float32")
    got = executor.run(loaded, feed={"x": image}, fetch_list=fetched)[0]
    np.testing.assert_allclose(got, block(paddle.to_tensor(image)).numpy(), 1e-5, 1e-5)
