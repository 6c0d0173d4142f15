"""Every public function, method and layer: eager, converted, saved and loaded; twice; with open sizes.

Equal to eager where nothing is drawn; what draws differs from run to run and follows the seed as eager
does; with sizes left open the results are those of eager, also at another batch size, or the recording is
refused by a clear error. Functions that are generated from a schema are the conformance suite's
(ops/conformance); here stands what is written in Python.

`python everywhere_test.py NAME...` shows what became of the cases of some names, all without one.
"""

import contextlib
import inspect
import os
import sys
import tempfile

import numpy as np
import pytest

import proa as paddle
from proa.static.amp import mixing
from python.tests.layer_cases import LAYERS, NO_LAYERS, layer_of
from python.tests.public_cases import FUNCTIONS, Case, function_at, parameter_names, public_cases

F, nn, Tensor = paddle.nn.functional, paddle.nn, paddle.Tensor

# What is no computation on tensors, by module: settings, conversions to Python, files, devices, marks.
NO_COMPUTATION = {
    "": """CPUPlace CUDAPinnedPlace CUDAPlace batch broadcast_shape check_shape create_parameter disable_signal_handler
        disable_static enable_static empty flops get_cuda_rng_state get_cudnn_version get_default_dtype get_device get_flags
        get_rng_state grad in_dynamic_mode is_complex is_floating_point is_grad_enabled is_integer is_tensor load
        is_compiled_with_cinn is_compiled_with_cuda is_compiled_with_npu is_compiled_with_rocm is_compiled_with_xpu
        ones zeros save seed set_cuda_rng_state set_default_dtype set_device set_flags set_grad_enabled
        set_printoptions set_rng_state summary to_tensor tolist no_grad""",
    "nn.functional": "",
    "linalg": "",
    "fft": "",
    "incubate": "LookAhead ModelAverage autograd autotune nn optimizer sparse strings",
    "signal": "",
    "Tensor": """backward clear_grad clear_gradient cols copy_ crows cuda data_ptr detach_ element_size get_selected_rows get_tensor gradient
        indices is_contiguous is_dense is_dist is_selected_rows is_sparse is_sparse_coo is_sparse_csr item ndimension numpy pin_memory is_tensor broadcast_shape
        is_complex is_floating_point is_integer register_hook rows values to_dense to_device to_uva_tensor register_post_accumulate_grad_hook retain_grads set_value value
        get_value to_string""",
}

# The size of the result, or an error, depends on values that Python reads: refused while recorded.
REFUSALS = ("known", "open", "InputSpec", "no elements until the program runs")


def _cases():
    for name, texts in FUNCTIONS.items():
        if texts is None or "." in name and not hasattr(function_at(name.rpartition(".")[0]), name.rpartition(".")[2]):
            continue
        for text in texts:
            yield Case(name, text, function_at(name))


def _numpy(tensors):
    return [t.astype("float32").numpy() if t.dtype.name == "bfloat16" else t.numpy() for t in tensors]


def _equal(got, want, where):
    got, want = _numpy(got), _numpy(want)
    assert len(got) == len(want), f"{where}: {len(got)} results, eager gives {len(want)}"
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{where}: {a.dtype} {a.shape}, eager {b.dtype} {b.shape}"
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5, err_msg=where)


def _seeded(function, *args):
    paddle.seed(11)
    return function(*args)


def _listed(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _draws(function, tensors):
    first, second = _numpy(function(*tensors)), _numpy(function(*tensors))
    return any(not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(first, second, strict=True))


def check(case, folder):
    """Eager, converted and saved; then with open sizes. Returns what became of the open ones."""
    tensors, function = case.bind(*case.arguments())
    want = _seeded(function, *tensors)
    if not want:
        return ["no tensors"]
    random = _draws(function, tensors)
    converted = paddle.jit.to_static(function)
    specs = [paddle.static.InputSpec(t.shape, t.dtype, f"x{i}") for i, t in enumerate(tensors)]
    prefix = os.path.join(folder, "model")
    paddle.jit.save(function, prefix, specs)
    loaded = paddle.jit.load(prefix)
    for way, recorded in (("converted", converted), ("saved", loaded)):

        def run(*ts, recorded=recorded):
            return _listed(recorded(*ts))

        where = f"{case.name}({case.text}) {way}"
        for _ in range(2):
            _equal(_seeded(run, *tensors), want, where)
        assert _draws(run, tensors) == random, f"{where}: {'the same draws twice' if random else 'differs'}"
    return [_open(case, folder, whole) for whole in (False, True)] if tensors else ["no inputs"]


def _open(case, folder, whole):
    """With the batch left open, run at two other sizes; or with every dim left open."""
    tensors, function = case.bind(*case.arguments())
    specs = [
        paddle.static.InputSpec(
            [-1 if whole or i == 0 and case.batched(t) else n for i, n in enumerate(t.shape)], t.dtype, f"x{k}"
        )
        for k, t in enumerate(tensors)
    ]
    prefix = os.path.join(folder, "open")
    try:
        paddle.jit.save(function, prefix, specs)
    except (RuntimeError, ValueError, TypeError, NotImplementedError, IndexError) as e:
        assert any(word in str(e) for word in REFUSALS), f"{case.name}({case.text}) refuses open sizes by: {e}"
        return "refused"
    loaded = paddle.jit.load(prefix)
    for more in (0,) if whole else (0, 1, 2):
        given, eager = case.bind(*case.arguments(more))
        try:
            want = _seeded(eager, *given)
        except (ValueError, RuntimeError):
            continue  # the call does not fit other sizes
        where = f"{case.name}({case.text}) {'all sizes' if whole else 'batch'} open, {more} more"
        try:
            got = _seeded(loaded, *given)
        except (RuntimeError, ValueError) as e:
            assert "in the program" in str(e), f"{where}: {e}"
            return "refused when it runs"
        _equal(_listed(got), want, where)
    return "equal"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name, tmp_path):
    for case in _cases():
        if case.name == name:
            check(case, str(tmp_path))


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_layer(name, training, tmp_path):
    layer, text = layer_of(name)
    layer.train() if training else layer.eval()
    start = {k: v.numpy() for k, v in layer.state_dict().items()}
    case = Case(name, text, layer)
    tensors, function = case.bind(*case.arguments())

    def restart():
        for key, value in layer.state_dict().items():
            value.set_value(start[key])

    want = []
    for _ in range(2):  # the second call sees what the first left behind
        want.append([t.clone() for t in _seeded(function, *tensors)])
    restart()
    converted = paddle.jit.to_static(layer)
    for i in range(2):
        _equal(_flat(_seeded(converted, *tensors)), want[i], f"{name} converted, call {i}")
    if training:
        return
    specs = [paddle.static.InputSpec(t.shape, t.dtype, f"x{i}") for i, t in enumerate(tensors)]
    restart()
    paddle.jit.save(layer, str(tmp_path / "layer"), specs)
    loaded = paddle.jit.load(str(tmp_path / "layer"))
    for i in range(2):
        _equal(_listed(_seeded(loaded, *tensors)), want[i], f"{name} saved, call {i}")
    restart()
    _open(Case(name, text, lambda *a: _flat(layer(*a))), str(tmp_path), False)


def _backward(function, tensors, layer):
    """Values, and gradients of what requires some, of a call after a restart."""
    tensors = [t.detach() for t in tensors]
    for t in tensors:
        t.stop_gradient = not t.is_floating_point()
    layer.clear_gradients(set_to_zero=False)
    out = [t for t in _flat(_seeded(function, *tensors)) if t is not None]
    total = sum((t.astype("float32") * 0.5).sum() for t in out if t.is_floating_point() and not t.stop_gradient)
    if isinstance(total, Tensor):
        total.backward()
    wanted = [*tensors, *layer.parameters()]
    return out, [t.grad for t in wanted]


@pytest.mark.parametrize("name", LAYERS)
def test_a_converted_layer_follows_its_switches(name):
    """Mode, autocast, a second batch, hooks: after the first call, in value and gradient."""
    layer, text = layer_of(name)
    start = {k: v.numpy() for k, v in layer.state_dict().items()}
    case = Case(name, text, layer)
    converted = paddle.jit.to_static(lambda *args: layer(*args))

    def same(what, more=0):
        results = []
        for function in (lambda *args: layer(*args), converted, converted):
            for key, value in layer.state_dict().items():
                value.set_value(start[key])
            tensors, _ = case.bind(*case.arguments(more))
            try:
                results.append(_backward(function, tensors, layer))
            except (ValueError, RuntimeError):
                if results or not more and what != "autocast":
                    raise
                return  # the call does not fit this batch, or this dtype
        want = results[0]
        for got in results[1:]:
            _equal(got[0], want[0], f"{name} {what}")
            assert [g is None for g in got[1]] == [w is None for w in want[1]], f"{name} {what}: gradients"
            pairs = [(g, w) for g, w in zip(got[1], want[1], strict=True) if w is not None]
            _equal([g for g, _ in pairs], [w for _, w in pairs], f"{name} {what}, gradients")

    same("training")
    layer.eval()
    same("evaluation")
    for more in (1, 2):
        same("evaluation, another batch", more)
    layer.train()
    same("training, another batch", 1)
    with paddle.amp.auto_cast(dtype="bfloat16"):
        same("autocast")
    same("training again")
    hook = layer.register_forward_post_hook(lambda layer, inputs, out: _doubled(out))
    same("hook")
    hook.remove()
    same("without the hook")


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_trains_in_a_mixed_program(name):
    """Recorded in float32 and made again by static.amp, as at once under autocast: dtypes, values and gradients."""
    layer, text = layer_of(name)
    layer.eval()  # what is drawn is another's matter
    case = Case(name, text, layer)
    tensors, function = case.bind(*case.arguments())
    static = paddle.static
    for level in ("O1", "O2"):
        with paddle.amp.auto_cast(level=level, dtype="bfloat16"):
            want = _flat(function(*tensors))
        _sum(want).backward() if any(not t.stop_gradient for t in want) else None
        grads = {p.name: p.grad for p in layer.parameters() if p.grad is not None}
        layer.clear_gradients(set_to_zero=False)
        paddle.enable_static()
        try:
            main, pairs = static.Program(), []
            with static.program_guard(main, static.Program()):
                inputs = [static.data(f"x{i}", t.shape, t.dtype.name) for i, t in enumerate(tensors)]
                outputs = _flat(function(*inputs))
                if grads:
                    sgd = static.amp.decorate(paddle.optimizer.SGD(0.0), level=level, dtype="bfloat16")
                    _, pairs = sgd.minimize(_sum(outputs))
                else:
                    mixing.mix(main, "bfloat16", level)
            feed = {f"x{i}": t for i, t in enumerate(tensors)}
            found = static.Executor().run(main, feed, outputs + [g for _, g in pairs], return_numpy=False)
        finally:
            paddle.disable_static()
        assert [t.dtype for t in found[: len(want)]] == [t.dtype for t in want], f"{name} {level}"
        # SpectralNorm asks for dtypes while it is recorded: another one rounds once more.
        near = {"rtol": 2**-6, "atol": 2**-6}
        for a, b in zip(found, want):
            if name == "SpectralNorm":
                np.testing.assert_allclose(a.numpy(), b.numpy(), **near)
            else:
                _equal([a], [b], f"{name} {level}")
        assert {p.name for p, _ in pairs} == set(grads), f"{name} {level}"
        for (p, _), g in zip(pairs, found[len(want) :]):
            np.testing.assert_allclose(g.numpy(), grads[p.name].numpy(), **near, err_msg=f"{name} {level} {p.name}")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_in_a_mixed_program(name):
    """Recorded in float32 and made again by static.amp, as at once under autocast."""
    static = paddle.static
    for case in (case for case in _cases() if case.name == name):
        tensors, function = case.bind(*case.arguments())
        twice = [[_array(t) for t in _flat(function(*tensors))] for _ in range(2)]
        if name.endswith("_") or any(not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(*twice)):
            continue  # what is changed keeps its dtype at once alone; what is drawn is another's matter
        for level in ("O1", "O2"):
            try:
                with paddle.amp.auto_cast(level=level, dtype="bfloat16"):
                    want = _flat(function(*tensors))
            except TypeError as error:
                assert "must have the dtype of x" in str(error)  # auto_cast_ops_test names these
                continue
            paddle.enable_static()
            try:
                main = static.Program()
                with static.program_guard(main, static.Program()):
                    outputs = _flat(
                        function(*[static.data(f"x{i}", t.shape, t.dtype.name) for i, t in enumerate(tensors)])
                    )
                if not outputs or not all(paddle._C.is_symbolic(t) for t in outputs):
                    continue
                mixing.mix(main, "bfloat16", level)
                feed = {f"x{i}": t for i, t in enumerate(tensors)}
                found = static.Executor().run(main, feed, outputs, return_numpy=False)
            finally:
                paddle.disable_static()
            for a, b in zip(found, want, strict=True):
                if name != "Tensor.contiguous":  # at once it is no op
                    assert a.dtype == b.dtype, f"{case.text} {level}"
                    assert np.array_equal(_array(a), _array(b), equal_nan=a.is_floating_point()), f"{case.text} {level}"


def _array(tensor):
    return (tensor.astype("float32") if tensor.is_floating_point() else tensor).numpy()


def _sum(outputs):
    floating = [t.astype("float32").sum() for t in outputs if t.is_floating_point() and not t.stop_gradient]
    return sum(floating[1:], floating[0])


def _doubled(out):
    from proa.framework.nested import rebuild

    return rebuild(out, (t * 2 if t.is_floating_point() else t for t in _flat(out)))


def _flat(result):
    from proa.framework.nested import flatten

    return flatten(result)


def _written(module, path):
    """Public functions of a module or class that are written in Python."""
    for name in dir(module):
        if name.startswith("_"):
            continue
        with contextlib.suppress(AttributeError, ImportError):
            value = getattr(module, name)
            generated = getattr(value, "__module__", "").startswith("proa._generated")
            if callable(value) and not isinstance(value, type) and not inspect.ismodule(value) and not generated:
                yield name if not path else f"{path}.{name}"


def _generated_twin(name):
    """`add_` is made from the op of `add`, as are methods from functions of their names."""
    last = name.rpartition(".")[2]
    bare = last.rstrip("_")
    places = (paddle, paddle.linalg, F, Tensor)
    return any(
        getattr(getattr(place, n, None), "__module__", "").startswith("proa._generated")
        for place in places
        for n in (last, bare)
    )


def test_every_function_stands_here():
    missing = []
    for path, skipped in NO_COMPUTATION.items():
        module = function_at(path) if path else paddle
        for name in _written(module, path):
            last = name.rpartition(".")[2]
            known = name in FUNCTIONS or path and last in FUNCTIONS or last in skipped.split()
            twins = [f"nn.functional.{last}"] + [f"linalg.{last}"] * (path == "Tensor")
            if not known and not any(t in FUNCTIONS or _generated_twin(t) for t in [name, *twins]):
                missing.append(name)
    assert not missing, f"no case, and no reason for none: {missing}"


def test_every_layer_stands_here():
    missing = []
    for name in dir(nn):
        value = getattr(nn, name, None)
        if not isinstance(value, type) or not issubclass(value, nn.Layer):
            continue
        if name not in LAYERS and name not in NO_LAYERS:
            missing.append(name)
    assert not missing, f"no case, and no reason for none: {missing}"


# May be None, though they have no default.
MAY_BE_NONE = {("nn.functional.batch_norm", "weight"), ("nn.functional.batch_norm", "bias")}


def test_none_in_the_place_of_each_tensor():
    """The sentence that names the argument, whichever it is."""
    wrong, asked = [], 0
    for name, function, texts in public_cases():
        case = Case(name, texts[0].replace(".T", ""), function)
        args, kwargs = case.arguments()
        names = parameter_names(function, len(args))
        parameters = inspect.signature(function).parameters
        for i, a in enumerate(args):
            if (
                name.startswith("Tensor.")
                or not isinstance(a, Tensor)
                or names[i] not in parameters
                or (name, names[i]) in MAY_BE_NONE
            ):
                continue
            if parameters[names[i]].default is not inspect.Parameter.empty:
                continue
            asked += 1
            try:
                function(*[*args[:i], None, *args[i + 1 :]], **kwargs)
            except Exception as e:  # pylint: disable=broad-except
                both = isinstance(e, TypeError) and isinstance(e, ValueError)
                if not both or not str(e).startswith("(InvalidArgument) ") or " must be " not in str(e):
                    wrong.append(f"{name}({names[i]}): {type(e).__name__} {str(e).splitlines()[0][:110]}")
            else:
                wrong.append(f"{name}({names[i]}): accepted")
    assert asked > 250
    assert wrong == []


def main(names):
    with tempfile.TemporaryDirectory() as folder:
        for case in _cases():
            if not names or case.name in names or case.name.rpartition(".")[2] in names:
                try:
                    print(f"{case.name}({case.text}):", *check(case, folder), sep="  ")
                except Exception as e:
                    print(
                        f"{case.name}({case.text}): FAILED {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
                    )


if __name__ == "__main__":
    main(sys.argv[1:])
