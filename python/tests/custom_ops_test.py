"""Users' own ops in C++: the same as any other op in every mode, and clear about what is wrong."""

import os
import pathlib
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import proa
from proa import _C, nn, static
from proa.autograd import gradcheck, gradgradcheck
from proa.utils import cpp_extension
from python.tests.program_results import program_results

_HERE = pathlib.Path(__file__).absolute().parent
_V1 = _HERE.parent.parent / "ops/extension/testing"
_QUICK = ["-O0"]  # the tests compile more than they compute


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("extensions")


@pytest.fixture(scope="session")
def ops(folder):
    """The ops of custom_ops.cc."""
    return cpp_extension.load("test_ops", [_HERE / "custom_ops.cc"], _QUICK, build_directory=str(folder / "native"))


@pytest.fixture(scope="session")
def paddle_ops(folder):
    """Those of paddle_ops.cc, in the reference's form."""
    return cpp_extension.load("paddle_ops", [_HERE / "paddle_ops.cc"], _QUICK, build_directory=str(folder / "paddle"))


def _random(*shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def _leaf(array):
    return proa.to_tensor(array, stop_gradient=False)


def _affine(ops, x, **attributes):
    return ops.test_affine(x, **{"ints": [], "floats": [], "texts": [], **attributes})


# --- Eager ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (5,), (4, 300, 7)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_attributes_of_every_kind(ops, shape, dtype):
    x = _random(*shape, dtype=dtype)
    y = ops.test_affine(proa.to_tensor(x), 3.0, times=2, negate=True, mode="plus", ints=[1, 2], floats=[0.5],
                        texts=["ab", "", "c\nd\\"])  # fmt: skip
    want = x.astype("float64") * (3.0 * 2 * -1 + 0.5) + 1 + 3 + 2 + 0 + 4
    assert y.shape == list(shape) and y.dtype.name == dtype
    np.testing.assert_allclose(y.numpy(), want, rtol=2e-3 if dtype == "float16" else 1e-6, atol=1e-2)


def test_defaults_and_the_signature(ops):
    x = proa.ones([2], "float64")
    assert _affine(ops, x).tolist() == [2.0, 2.0]
    assert str(__import__("inspect").signature(ops.test_affine)).startswith(
        "(x, factor=2.0, times=1, negate=False, mode='plain'"
    )
    assert ops.test_affine.__doc__.startswith("x times a factor, and more.")
    assert sorted(ops.__all__) == ["test_affine", "test_bump", "test_cube", "test_dot", "test_padded", "test_positive",
                                   "test_shift", "test_wrong"]  # fmt: skip


def test_views_come_contiguous(ops):
    x = _random(4, 6)
    for view in (
        proa.to_tensor(x).transpose([1, 0]),
        proa.to_tensor(x)[::2, 1::2],
        proa.to_tensor(x[:1]).expand([3, 6]),
    ):
        np.testing.assert_array_equal(_affine(ops, view).numpy(), view.numpy() * 2)


def test_several_outputs(ops):
    x, y = _random(3, 4), _random(3, 4, seed=1)
    out, count = ops.test_dot(proa.to_tensor(x), proa.to_tensor(y))
    np.testing.assert_allclose(out.numpy(), (x * y).sum(1))
    assert count.item() == 12 and count.dtype == proa.int64


def test_a_result_shares_no_memory_with_an_argument(ops):
    x = proa.ones([2])
    y = ops.test_wrong(x, "as it is")
    y.add_(proa.ones([2]))
    assert x.tolist() == [1.0, 1.0] and y.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("by", [None, 2.0])
def test_lists_and_none(ops, by):
    xs = [_leaf(_random(2)), _leaf(_random(3, 2))]
    by = None if by is None else _leaf(np.array(by))
    outs = ops.test_shift(xs, by)
    for x, out in zip(xs, outs):
        np.testing.assert_allclose(out.numpy(), x.numpy() + (1.0 if by is None else 2.0))
    xs = [_leaf(_random(2)), _leaf(_random(2))]
    sum((o * (i + 1)).sum() for i, o in enumerate(ops.test_shift(xs, by))).backward()
    assert [x.grad.tolist() for x in xs] == [[1.0, 1.0], [2.0, 2.0]]
    if by is not None:
        assert by.grad.item() == 6.0
    xs = [_random(2), _random(2, seed=1)]
    main = static.Program()
    with static.program_guard(main):
        values = [static.data(f"x{i}", [None], "float64") for i in range(2)]
        values[0].stop_gradient = False
        recorded = ops.test_shift(values, None if by is None else values[1].sum())
        (grad,) = static.gradients([(recorded[0] * recorded[1]).sum()], values[:1])
    got = static.Executor().run(main, feed={"x0": xs[0], "x1": xs[1]}, fetch_list=[*recorded, grad])
    add = 1.0 if by is None else xs[1].sum()
    np.testing.assert_allclose(got, [xs[0] + add, xs[1] + add, xs[1] + add])


# --- Gradients --------------------------------------------------------------------------------------------------------


def test_gradients(ops):
    x, y = _leaf(_random(3, 4)), _leaf(_random(3, 4, seed=1))
    assert gradcheck(lambda a: _affine(ops, a, factor=3.0, floats=[0.5]), [x])
    assert gradgradcheck(lambda a: _affine(ops, a, factor=3.0) ** 2, [x])
    assert gradcheck(lambda a, b: ops.test_dot(a, b)[0], [x, y])
    assert gradgradcheck(lambda a, b: ops.test_dot(a, b)[0] ** 2, [x, y])
    assert gradcheck(ops.test_cube, [x])
    assert gradgradcheck(ops.test_cube, [x])
    assert gradcheck(lambda a, b: ops.test_shift([a, b], a.sum())[1], [x, y])


def test_a_gradient_without_gradient_says_so(ops):
    x = _leaf(_random(3))
    (g,) = proa.grad([ops.test_cube(x).sum()], [x], create_graph=True)
    (gg,) = proa.grad([g.sum()], [x], create_graph=True)
    np.testing.assert_allclose(gg.numpy(), 6 * x.numpy())
    with pytest.raises(NotImplementedError, match="test_cube_grad_grad: has no gradient of its own"):
        proa.grad([gg.sum()], [x])


def test_no_gradient_is_a_constant(ops):
    x = _leaf(_random(3).astype("float32"))
    assert ops.test_wrong(x, "").stop_gradient and not x.stop_gradient


def test_in_place(ops):
    x, y = proa.ones([2, 2]), proa.full([2, 2], 2.0)
    out = ops.test_bump(x, y)
    assert out is x and x.tolist() == [[3.0, 3.0]] * 2 and x.inplace_version == 1
    view = x[:, 0]  # of other strides
    ops.test_bump(view, y[:, 0])
    assert x.tolist() == [[5.0, 3.0]] * 2
    ops.test_bump(x, x)  # the kernel reads what it changes
    assert x.tolist() == [[10.0, 6.0]] * 2
    a, b = _leaf(_random(3).astype("float32")), _leaf(_random(3, seed=1).astype("float32"))
    c = a * 2.0
    (ops.test_bump(c, b) * 3.0).sum().backward()
    assert a.grad.tolist() == [6.0] * 3 and b.grad.tolist() == [3.0] * 3
    with pytest.raises(RuntimeError, match="test_bump: cannot change x in place.*leaf"):
        ops.test_bump(a, b)
    with pytest.raises(ValueError, match="test_bump_: .*expand|one and the same"):
        ops.test_bump(proa.ones([1]).expand([3]), b.detach())


def test_a_saved_input_that_was_changed_is_noticed(ops):
    x = _leaf(_random(3))
    y = x * 1.0
    out = ops.test_cube(y)
    y.add_(proa.ones([3], "float64"))
    with pytest.raises(RuntimeError, match="test_cube.*changed in place"):
        out.sum().backward()


# --- Programs ---------------------------------------------------------------------------------------------------------


def test_static_programs(ops):
    feed = {"x": _random(3, 4), "y": _random(3, 4, seed=1)}

    def build(x, y):
        return ops.test_dot(_affine(ops, x, factor=0.5), ops.test_cube(y))[0]

    _, (out, gx, gy) = program_results(build, feed, "x", "y")
    x, y = _leaf(feed["x"]), _leaf(feed["y"])
    want = build(x, y)
    want.sum().backward()
    for a, b in ((out, want), (gx, x.grad), (gy, y.grad)):
        np.testing.assert_allclose(a, b.numpy())


def test_sizes_keep_their_identity(ops):
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [None, 4], "float64")
        out, count = ops.test_dot(x, x)
        padded = ops.test_padded(x, n=2)
        assert out.shape[0] - x.shape[0] == 0 and count.shape == [] and padded.shape[1] == 4
        with pytest.raises(RuntimeError, match="known only when the program runs"):
            assert padded.shape[0] - x.shape[0] == 0
        both = out + x[:, 0]
    fed = {"x": _random(3, 4)}
    got = static.Executor().run(main, feed=fed, fetch_list=[both, padded])
    np.testing.assert_allclose(got[0], (fed["x"] ** 2).sum(1) + fed["x"][:, 0])
    assert got[1].shape == (5, 4)


def test_in_place_in_programs(ops):
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [None, 2])
        x.stop_gradient = False
        y = x * 2.0
        before = y + 0.0
        out = ops.test_bump(y, x)
        assert out is y
        (grad,) = static.gradients([(y * y).sum()], [x])
    fed = np.array([[1, 2]], "float32")
    got = static.Executor().run(main, feed={"x": fed}, fetch_list=[before, y, grad])
    np.testing.assert_allclose(got, [fed * 2, fed * 3, 18 * fed])
    assert "test_bump(" in str(main)


def test_recording_needs_inference(ops):
    x = _random(5).astype("float32")
    assert (ops.test_positive(proa.to_tensor(x), proa.to_tensor(x)).numpy() > 0).all()
    with static.program_guard(static.Program()):
        v = static.data("x", [5])
        with pytest.raises(ValueError, match=r"test_positive: the shape of output out is not known.*SetInferShapeFn"):
            ops.test_positive(v, v)


class _Net(nn.Layer):
    def __init__(self, ops):
        super().__init__()
        self.ops = ops
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        return _affine(self.ops, y, factor=0.5, mode="plus", texts=["two"]) + self.ops.test_cube(y)


_RELOAD = """
import sys
import numpy as np
import proa
path, library, x = sys.argv[1:]
x = proa.to_tensor(np.load(x))
try:
    proa.jit.load(path)
except Exception as error:
    print(error)
ops = proa.utils.cpp_extension.load_library(library)
y = proa.jit.load(path)(x)
np.save(path + ".out.npy", y.numpy())
"""


def test_converted_saved_and_reloaded_elsewhere(ops, tmp_path):
    net = _Net(ops)
    net.eval()
    x = proa.to_tensor(_random(3, 4).astype("float32"))
    want = net(x)
    converted = proa.jit.to_static(net, input_spec=[static.InputSpec([None, 4])])
    np.testing.assert_allclose(converted(x).numpy(), want.numpy(), rtol=1e-6)
    path = str(tmp_path / "net")
    proa.jit.save(converted, path)
    np.testing.assert_allclose(proa.jit.load(path)(x).numpy(), want.numpy(), rtol=1e-6)
    np.save(tmp_path / "x.npy", x.numpy())
    command = [sys.executable, "-c", _RELOAD, path, ops.__file__, str(tmp_path / "x.npy")]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=os.getcwd())
    assert result.returncode == 0, result.stderr
    said = result.stdout
    assert re.search(r"op 'test_\w+' is of the extension 'test_ops-\w+\.so', which is not loaded; load it first", said)
    np.testing.assert_allclose(np.load(path + ".out.npy"), want.numpy(), rtol=1e-6)


def test_training_a_converted_layer(ops):
    def train(convert):
        proa.seed(0)
        net = _Net(ops)
        layer = proa.jit.to_static(net) if convert else net
        optimizer = proa.optimizer.SGD(0.01, parameters=net.parameters())
        losses = []
        for i in range(3):
            loss = (layer(proa.to_tensor(_random(5, 4, seed=i).astype("float32"))) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(loss.item())
        return losses

    np.testing.assert_allclose(train(True), train(False), rtol=1e-5)


def test_autocast_leaves_it_alone(ops):
    with proa.amp.auto_cast(level="O2", dtype="bfloat16"):
        assert _affine(ops, proa.ones([2])).dtype == proa.float32


def test_programs_in_mixed_precision(ops):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), static.scope_guard(static.Scope()):
        proa.seed(0)
        x = static.data("x", [None, 4])
        y = ops.test_affine(static.nn.fc(x, 4), 0.5, ints=[1], floats=[], texts=["a", "b\nc\\"])
        loss = (ops.test_bump(y, x) ** 2).mean()
        static.amp.decorate(proa.optimizer.SGD(0.01)).minimize(loss)
        exe = static.Executor()
        exe.run(startup)
        fed = {"x": _random(3, 4).astype("float32")}
        losses = [exe.run(main, feed=fed, fetch_list=[loss])[0].item() for _ in range(3)]
    assert losses[2] < losses[1] < losses[0]


def test_by_other_names(ops):
    x = proa.ones([2], "float64")
    assert _C.ops.test_cube(x).tolist() == proa._C_ops.test_cube(x).tolist() == [1.0, 1.0]
    known = {op["name"] for op in _C.op_registry()}
    assert "test_cube" not in known  # that is a list of the schemas' ops


# --- What is wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "kind", "says"),
    [
        ("value", ValueError, "test_wrong: the value is wrong"),
        ("type", TypeError, "test_wrong: the type is wrong"),
        ("std", RuntimeError, "test_wrong: thrown in the kernel"),
        ("range", IndexError, "test_wrong: out of range"),
        ("other", RuntimeError, "test_wrong: an exception that is no std::exception"),
        ("check", ValueError, r"test_wrong: numel is 2 \(x.numel\(\) == 0 is false, .*custom_ops.cc:\d+\)"),
        ("op", ValueError, "test_wrong: matmul: "),
        ("no op", RuntimeError, "test_wrong: there is no op 'there_is_no_such_op'"),
        (
            "dtype",
            ValueError,
            r"test_wrong: the kernel and inference disagree on output out: it is \[2, 1\] int32, .*float32",
        ),
        ("shape", ValueError, r"test_wrong: the kernel and inference disagree on output out: it is \[3, 1\]"),
        ("data", TypeError, r"test_wrong: data<int64>\(\): the tensor is float32"),
        ("undefined", ValueError, "test_wrong: the kernel gave an undefined tensor for output out"),
        ("none", ValueError, "test_wrong: the kernel returned 0 results; the op has 1 outputs"),
        ("two", ValueError, "test_wrong: the kernel returned 2 results; the op has 1 outputs"),
    ],
)
def test_kernels_that_go_wrong(ops, how, kind, says):
    with pytest.raises(kind, match=says):
        ops.test_wrong(proa.ones([2, 1]), how)


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda o: o.test_cube(), TypeError, "test_cube: missing a required argument: 'x'"),
        (lambda o: o.test_cube(1, 2), TypeError, "test_cube: too many positional"),
        (lambda o: o.test_cube(None), TypeError, "test_cube"),
        (lambda o: o.test_cube("a"), TypeError, "test_cube"),
        (lambda o: o.test_shift(proa.ones([2]), None), TypeError, "test_shift"),
        (lambda o: o.test_wrong(proa.ones([2]), 3), TypeError, "test_wrong"),
        (lambda o: o.test_padded(proa.ones([1, 1]), n=2**40), ValueError, "test_padded: an attribute is 1099511627776"),
        (lambda o: o.test_padded(proa.ones([1, 1]), n=1.5), TypeError, "test_padded"),
        (lambda o: _affine(o, proa.ones([2]), texts="ab"), TypeError, "test_affine.*list of str"),
        (lambda o: _affine(o, proa.ones([2]), texts=[1]), TypeError, "test_affine.*list of str"),
        (lambda o: _affine(o, proa.ones([2]), negate="no"), TypeError, "test_affine.*negate"),
        (lambda o: _affine(o, proa.ones([2]), ints=[0.5]), TypeError, "test_affine.*ints"),
        (lambda o: _affine(o, proa.ones([2], "int32")), TypeError, "test_affine: not for dtype int32"),
        (lambda o: _affine(o, proa.ones([2]), nothing=1), TypeError, "test_affine: got an unexpected keyword argument"),
    ],
)
def test_arguments_that_go_wrong(ops, call, kind, says):
    with pytest.raises(kind, match=says):
        call(ops)


def _v1(folder, *defines, name="v1_negate", number=[0]):  # noqa: B006 - counts the libraries
    """An extension in C that was built against version 1.0 of the interface."""
    number[0] += 1
    library = folder / f"v1_{number[0]}.so"
    command = ["cc", "-shared", "-fPIC", f"-I{_V1 / 'v1'}", f'-DOP_NAME="{name}"', *[f"-D{d}" for d in defines],
               str(_V1 / "negate_v1.c"), "-o", str(library)]  # fmt: skip
    subprocess.run(command, check=True)
    return cpp_extension.load_library(library)


def test_an_extension_of_version_1(folder):
    ops = _v1(folder)
    x = _leaf(_random(2, 3).astype("float32"))
    y = ops.v1_negate(x)
    (y * 2.0).sum().backward()
    np.testing.assert_array_equal(y.numpy(), -x.numpy())
    assert x.grad.tolist() == [[-2.0] * 3] * 2
    with pytest.raises(TypeError, match="v1_negate: only float32 is negated here"):
        ops.v1_negate(x.astype("float64"))


@pytest.mark.parametrize(
    ("define", "kind", "says"),
    [
        ("MAJOR=2", RuntimeError, r"built for version 2.0 of the extension interface; this release has 1.0"),
        ("MINOR=9", RuntimeError, r"built for version 1.9 of the extension interface"),
        ("TABLE_SIZE=8", RuntimeError, "its table has 8 bytes"),
        ("OPS=0", RuntimeError, "it defines no op"),
        ("ENTRY=AnotherName", RuntimeError, "does not export ProaExtensionEntry"),
        ("NULL_TABLE", RuntimeError, "not today"),
        ("SMALL_OP", RuntimeError, "an op has no name, or is of version 0"),
        ("NO_KERNEL", ValueError, "bad_op: has no kernel"),
        ("MISSING_GRADIENT", ValueError, "bad_op: its gradient is nobody_grad, which the extension does not define"),
        ("WRONG_KIND", ValueError, "bad_op: parameter x is of kind 77"),
        ("WRONG_INPLACE", ValueError, "bad_op: output out is no parameter with tensors"),
    ],
)
def test_tables_that_are_refused(folder, define, kind, says):
    with pytest.raises(kind, match=says):
        _v1(folder, define, name="bad_op")
    assert not hasattr(_C.ops, "bad_op")  # nothing stays behind


def test_a_kernel_that_breaks_the_rules(folder):
    with pytest.raises(ValueError, match="v1_silent: failed with code 2 and no message"):
        _v1(folder, "FAIL_SILENTLY", name="v1_silent").v1_silent(proa.ones([2]))
    with pytest.raises(ValueError, match="v1_unknown: the kernel gave output 7; there are 1"):
        _v1(folder, "UNKNOWN_OUTPUT", name="v1_unknown").v1_unknown(proa.ones([2]))


def test_names_that_are_taken(ops, folder):
    with pytest.raises(RuntimeError, match="there is an op 'relu' already, of ops/elementwise"):
        _v1(folder, name="relu")
    with pytest.raises(RuntimeError, match="there is an op 'test_cube' already, of extension test_ops"):
        _v1(folder, name="test_cube")
    assert cpp_extension.load_library(ops.__file__).test_cube is ops.test_cube  # again is nothing


def test_files_that_are_no_extensions(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        cpp_extension.load_library(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(RuntimeError, match="it cannot be loaded"):
        cpp_extension.load_library(tmp_path / "text.so")


# --- Building ---------------------------------------------------------------------------------------------------------


def _declared(spec):
    return f'#include "proa/extension.h"\nusing namespace proa::extension;\n{spec}\n'


def test_what_the_compiler_says_is_shown(tmp_path):
    source = tmp_path / "broken.cc"
    source.write_text("int main() { return nothing_of_that_name; }\n")
    with pytest.raises(RuntimeError, match=r"(?s)broken: .* failed\n.*broken.cc:1:\d+: error: .*nothing_of_that_name"):
        cpp_extension.load("broken", [str(source)], build_directory=str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({"name": "a b", "sources": ["x.cc"]}, ValueError, "it must be a name of Python"),
        ({"name": "a", "sources": []}, ValueError, "a: there are no sources"),
        ({"name": "a", "sources": ["nowhere.cc"]}, FileNotFoundError, "a: there is no file .*nowhere.cc"),
        ({"name": "a", "sources": ["x.cu"]}, NotImplementedError, "x.cu is CUDA, and this build of Proa has none"),
        ({"name": "a", "sources": ["x.cc"], "extra_cuda_cflags": ["-O2"]}, NotImplementedError, "has no CUDA"),
    ],
)
def test_what_load_refuses(arguments, kind, says, tmp_path):
    with pytest.raises(kind, match=says):
        cpp_extension.load(build_directory=str(tmp_path), **arguments)
    with pytest.raises(NotImplementedError, match="CUDAExtension: this build of Proa has no CUDA"):
        cpp_extension.CUDAExtension(["a.cu"])


def test_without_a_compiler(monkeypatch, tmp_path):
    (tmp_path / "a.cc").write_text("")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match="a C[+][+]17 compiler is needed; CXX is 'no-such-compiler'"):
        cpp_extension.load("a", [str(tmp_path / "a.cc")], build_directory=str(tmp_path))


_COUNTED = """#!/bin/sh
echo run >> "$COUNT"
exec c++ "$@"
"""


def _compiler_runs(path):
    return path.read_text().count("run") if path.exists() else 0


def test_built_once_for_the_same_contents(tmp_path, monkeypatch):
    from proa.utils.cpp_extension import compiling

    compiler, count = tmp_path / "c++", tmp_path / "count"
    compiler.write_text(_COUNTED)
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("COUNT", str(count))
    source, header = tmp_path / "a.cc", tmp_path / "a.h"
    source.write_text('#include "a.h"\nextern "C" int Answer() { return ANSWER; }\n')
    header.write_text("#define ANSWER 1\n")
    results = []

    def build(flags=()):
        results.append(compiling.compile_library("a", [str(source)], str(tmp_path / "built"), list(flags)))
        return results[-1]

    def compiled():  # not asked for its version
        before = _compiler_runs(count)
        build()
        return _compiler_runs(count) - before > 1

    threads = [threading.Thread(target=build) for _ in range(4)]  # flock is of the open file: as processes do
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(results)) == 1 and len(results) == 4
    assert _compiler_runs(count) == 4 + 2  # four versions; one compilation, one link
    assert not compiled()
    header.write_text("#define ANSWER 2\n")
    assert compiled() and results[-1] != results[0]
    assert not compiled()
    header.write_text("#define ANSWER 1\n")
    assert compiled() and results[-1] == results[0]
    assert build(["-DOTHER"]) != results[0]


def test_setup(ops, tmp_path):
    """setup.py builds in place; the module that it makes has the ops."""
    pytest.importorskip("setuptools")
    (tmp_path / "tiny.cc").write_text(
        _declared(
            "std::vector<Tensor> Half(const Tensor& x) { return {x * 0.5}; }\n"
            'PROA_OP(setup_half).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PROA_KERNEL(Half)).Composite();'
        )
    )
    (tmp_path / "setup.py").write_text(
        "from proa.utils.cpp_extension import CppExtension, setup\n"
        "setup(name='tiny_ops', ext_modules=CppExtension(sources=['tiny.cc'], extra_compile_args={'cxx': ['-O0']}))\n"
    )
    command = [sys.executable, "setup.py", "build_ext", "--inplace"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path if p)}
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    sys.path.insert(0, str(tmp_path))
    try:
        import tiny_ops

        assert tiny_ops.__all__ == ["setup_half"]
        assert (
            tiny_ops.setup_half(X=proa.ones([2])).tolist()
            == tiny_ops.setup_half(x=proa.ones([2])).tolist()
            == [0.5, 0.5]
        )
    finally:
        sys.path.remove(str(tmp_path))
    for wrong in ({}, {"name": "a"}, {"name": "a", "ext_modules": [1, 2]}):
        with pytest.raises(ValueError, match="cpp_extension.setup: "):
            cpp_extension.setup(**wrong)


# --- The reference's form ---------------------------------------------------------------------------------------------


def test_the_reference_form(paddle_ops):
    x = _leaf(_random(3, 4))
    np.testing.assert_allclose(
        paddle_ops.pd_leaky(x, 0.1).numpy(), np.where(x.numpy() > 0, x.numpy(), 0.1 * x.numpy()), rtol=1e-6
    )
    assert gradcheck(lambda a: paddle_ops.pd_leaky(a, 0.25), [x])
    assert gradcheck(paddle_ops.pd_tanh, [x])
    assert gradgradcheck(paddle_ops.pd_tanh, [x])
    np.testing.assert_allclose(paddle_ops.pd_copy_out(x).numpy(), x.numpy())
    z = proa.to_tensor(np.array([1 + 2j, 3j]))
    np.testing.assert_allclose(paddle_ops.pd_copy_out(z).numpy(), z.numpy())
    w, b = proa.to_tensor(_random(4, 2)), proa.to_tensor(_random(2))
    np.testing.assert_allclose(paddle_ops.pd_linear(x, w, b).numpy(), x.numpy() @ w.numpy() + b.numpy())
    xs = [proa.ones([2]), proa.zeros([2])]
    assert paddle_ops.pd_add_vec(xs, proa.ones([2]))[1] is xs[1]
    assert [v.tolist() for v in xs] == [[2.0, 2.0], [1.0, 1.0]]
    one, z = proa.ones([2]), proa.zeros([2])
    assert [t if t is None else t.tolist() for t in paddle_ops.pd_add_maybe(one, None, None)] == [[2.0, 2.0], None]
    out, same = paddle_ops.pd_add_maybe(one, [one, one], z)
    assert out.tolist() == [5.0, 5.0] and same is z and z.tolist() == [1.0, 1.0]
    assert paddle_ops.pd_methods(proa.full([3], 1.5)).tolist() == [1.5] * 3


def test_the_reference_form_in_a_program(paddle_ops):
    _, (out, grad) = program_results(
        lambda x: paddle_ops.pd_leaky(paddle_ops.pd_tanh(x), 0.5), {"x": _random(3, 4)}, "x"
    )
    x = _leaf(_random(3, 4))
    want = paddle_ops.pd_leaky(paddle_ops.pd_tanh(x), 0.5)
    want.sum().backward()
    np.testing.assert_allclose(out, want.numpy())
    np.testing.assert_allclose(grad, x.grad.numpy())


def test_names_of_the_reference(paddle_ops, tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_EXTENSION_DIR", str(tmp_path / "extensions"))
    from proa.utils.cpp_extension import cpp_extension as inner
    from proa.utils.cpp_extension import extension_utils

    assert extension_utils.load_op_meta_info_and_register_op(paddle_ops.__file__) == paddle_ops.__all__
    assert inner.CUDA_HOME is None and inner.CppExtension is cpp_extension.CppExtension
    assert cpp_extension.get_build_directory() == str(tmp_path / "extensions")
    assert os.path.isdir(tmp_path / "extensions")


# --- The guide --------------------------------------------------------------------------------------------------------


def test_the_example_of_the_guide(tmp_path, monkeypatch):
    guide = (_HERE.parent.parent / "docs/custom_ops.md").read_text()
    source, program = (
        re.search(rf"```{kind}\n// softshrink.cc\n|```{kind}\n# try.py\n", guide) for kind in ("c\\+\\+", "python")
    )
    assert source and program
    for match, name in ((source, "softshrink.cc"), (program, "try.py")):
        text = guide[match.start() :].partition("\n")[2].partition("```")[0]
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path if p),
                   "PROA_EXTENSION_DIR": str(tmp_path / "built")}  # fmt: skip
    result = subprocess.run(
        [sys.executable, "try.py"], cwd=tmp_path, capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n")[-2] == "the same in every mode"
