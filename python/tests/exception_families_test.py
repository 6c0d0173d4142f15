"""Every public function says what is wrong with an argument, with exceptions of Python's family and of the reference's."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import proa
from proa import nn
from proa.nn import functional as F

WORDS = ("(InvalidArgument) ", "(OutOfRange) ", "(NotFound) ", "(PreconditionNotMet) ", "(Unimplemented) ")

# First parameters that are no tensors: sizes, numbers, names and lists of tensors.
NO_TENSOR = {
    "a", "boundaries", "d", "dtype", "end", "equation", "inputs", "lengths", "location", "low", "mean", "mode", "n",
    "num_rows", "output_sizes", "params", "path", "pred", "seed", "shape", "start", "state", "state_list", "tensors",
    "x_shape", "xs", "flags", "device", "obj", "reader", "real", "net", "layer", "func", "function", "precision",
    "place", "data", "cls", "self", "args", "fn", "outputs", "inp", "name", "value_",
}  # fmt: skip
# Functions that take anything, or numbers and lists as they take tensors.
TAKES_MORE = {"is_tensor", "assign", "to_tensor", "broadcast_tensors", "concat", "stack", "multi_dot", "meshgrid"}
NOT_ASKED = {"load", "save", "summary", "flops", "create_parameter", "disable_signal_handler"}


def functions():
    """(module, name, function) of all public functions, each once."""
    seen = set()
    for module in (proa, F, proa.linalg, proa.fft):
        for name, function in sorted(vars(module).items()):
            if name.startswith("_") or not inspect.isfunction(function) or function in seen:
                continue
            seen.add(function)
            yield module, name, function


# Second arguments that are no tensors.
SECOND = {"full_like": 1.0, "matrix_power": 2, "nanquantile": 0.5, "one_hot": 3, "quantile": 0.5}


def of_a_tensor():
    """(name, function, its first parameter, how many arguments it needs) of those that take a tensor first."""
    for _, name, function in functions():
        parameters = list(inspect.signature(function).parameters.values())
        if not parameters or name in NOT_ASKED | TAKES_MORE or parameters[0].name in NO_TENSOR:
            continue
        needed = [p for p in parameters if p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD]
        yield name, function, parameters[0].name, len(needed)


@pytest.mark.parametrize("bad", [None, [1.0], "text", object()], ids=["None", "list", "str", "object"])
def test_what_is_no_tensor(bad):
    wrong, asked = [], 0
    for name, function, first, needed in of_a_tensor():
        asked += 1
        try:
            others = [SECOND[name]] if name in SECOND else [proa.ones([2, 2]) for _ in range(needed - 1)]
            function(bad, *others)
        except Exception as e:  # pylint: disable=broad-except
            text = str(e)
            if not (isinstance(e, TypeError) and isinstance(e, ValueError)):
                wrong.append(f"{name}: {type(e).__name__} {text.splitlines()[0][:90]}")
            elif not text.startswith("(InvalidArgument) ") or f"{first} must be" not in text:
                wrong.append(f"{name}({first}): {text.splitlines()[0][:110]}")
        else:
            wrong.append(f"{name}: accepted")
    assert asked > 250
    assert wrong == []


@pytest.mark.parametrize("bad", [None, 3, "text", ["text"]], ids=["None", "int", "str", "list of str"])
def test_what_is_no_list_of_tensors(bad):
    for function in (
        proa.concat, proa.stack, proa.add_n, proa.broadcast_tensors, proa.linalg.multi_dot,
        lambda xs: proa.multiplex(xs, proa.to_tensor([0])),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"^\(InvalidArgument\) \w+: .*must be a") as e:
            function(bad)
        assert isinstance(e.value, ValueError)


def axis_functions():
    for name, function, _first, needed in of_a_tensor():
        parameters = inspect.signature(function).parameters
        for axis in ("axis", "dim"):
            if axis in parameters and needed <= 2 and not name.endswith("_"):
                yield name, function, needed, axis


def test_an_axis_outside():
    """IndexError and ValueError in one, with the number in the text."""
    wrong, asked = [], 0
    for name, function, needed, axis in axis_functions():
        x = proa.ones([2, 2])
        if "index" in inspect.signature(function).parameters or "indices" in inspect.signature(function).parameters:
            continue
        try:
            function(*[x] * (1 if list(inspect.signature(function).parameters)[1] == axis else needed), **{axis: 7})
        except Exception as e:  # pylint: disable=broad-except
            asked += 1
            if not isinstance(e, ValueError) or not str(e).startswith(WORDS):
                wrong.append(f"{name}: {type(e).__name__} {str(e).splitlines()[0][:100]}")
        else:
            wrong.append(f"{name}: accepted")
    assert asked > 40
    assert wrong == []


# Whose second argument is no tensor of the first's kind: sizes.
OF_SIZES = {"expand", "pad", "zeropad2d"}


@pytest.mark.parametrize("shape", [[], [3], [0], [0, 3], [1, 2, 1, 2, 1]], ids=str)
def test_any_rank(shape):
    """A result, or an error that says the function: none of Python's own from inside of it."""
    wrong = []
    x = proa.ones(shape)
    for name, function, _, needed in of_a_tensor():
        if name in OF_SIZES:
            continue
        others = [SECOND[name]] if name in SECOND else [x] * (needed - 1)
        try:
            function(x.clone(), *others)
        except Exception as e:  # pylint: disable=broad-except
            if not str(e).startswith(WORDS):
                wrong.append(f"{name}: {type(e).__name__} {str(e).splitlines()[0][:100]}")
    assert wrong == []


def test_a_dtype_without_a_kernel():
    """TypeError and RuntimeError in one."""
    wrong, asked = [], 0
    x = proa.to_tensor([[True, False], [True, True]])
    for name, function, _first, needed in of_a_tensor():
        if needed > 1:
            continue
        try:
            function(x)
        except Exception as e:  # pylint: disable=broad-except
            asked += 1
            if not (isinstance(e, (TypeError, RuntimeError)) or isinstance(e, ValueError)):
                wrong.append(f"{name}: {type(e).__name__} {e}")
            elif not str(e).startswith(WORDS):
                wrong.append(f"{name}: {type(e).__name__} {e}")
    assert asked > 40
    assert wrong == []
    for function in (proa.abs, F.softmax, F.relu):
        with pytest.raises(RuntimeError, match="does not accept bool") as caught:
            function(x)
        assert isinstance(caught.value, TypeError) and isinstance(caught.value, ValueError)


CASES = [
    (lambda: proa.ones([2, 3]).sum(axis=5), proa.errors.IndexRangeError, "(OutOfRange) sum: "),
    (lambda: proa.ones([2])[7], proa.errors.IndexRangeError, "(OutOfRange) "),
    (lambda: proa.exp([1.0]), proa.errors.ArgumentTypeError, "(InvalidArgument) exp: x must be a Tensor or an array, not list"),  # type: ignore[arg-type]
    (lambda: proa.exp(proa.to_tensor([1])).foo, AttributeError, ""),  # type: ignore[attr-defined]
    (lambda: proa.abs(proa.to_tensor([True])), proa.errors.DTypeError, "(InvalidArgument) abs: does not accept bool"),
    (lambda: proa.ones([2, 3]) + proa.ones([2]), ValueError, "(InvalidArgument) add: "),
    (lambda: nn.Layer()(1), NotImplementedError, "(Unimplemented) Layer does not define forward"),
    (lambda: F.dropout(proa.ones([1]), 2), ValueError, "(InvalidArgument) dropout: "),
    (lambda: nn.LayerList([nn.ReLU()])[3], proa.errors.IndexRangeError, "(OutOfRange) LayerList: "),
    (lambda: nn.LayerList([nn.ReLU()])["a"], proa.errors.ArgumentTypeError, "(InvalidArgument) LayerList: "),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(CASES)))
def test_classes_words_and_pickles(i):
    function, kind, text = CASES[i]
    with pytest.raises(kind) as e:
        function()
    assert type(e.value) is kind and str(e.value).startswith(text)
    for other in (pickle.loads(pickle.dumps(e.value)), copy.deepcopy(e.value), copy.copy(e.value)):
        assert type(other) is kind and str(other) == str(e.value)


def test_the_classes():
    errors = proa.errors
    assert issubclass(errors.ArgumentTypeError, (TypeError,)) and issubclass(errors.ArgumentTypeError, ValueError)
    assert issubclass(errors.IndexRangeError, IndexError) and issubclass(errors.IndexRangeError, ValueError)
    for kind in (TypeError, ValueError, RuntimeError):
        assert issubclass(errors.DTypeError, kind)
    for kind in (FileNotFoundError, OSError, RuntimeError, ValueError):
        assert issubclass(errors.NotFoundError, kind)
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert kind.__module__ == "proa.errors" and kind.__doc__ and str(kind("a")) == "a"
    # A call that does not fit a signature is Python's own TypeError.
    with pytest.raises(TypeError) as e:
        proa.ones([1]).add()
    assert type(e.value) is TypeError and str(e.value).startswith("add() missing 1 required argument: 'y'")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(proa.errors.NotFoundError, match="no such file") as e:
        proa.load(str(tmp_path / "none.pdparams"))
    assert isinstance(e.value, FileNotFoundError) and isinstance(e.value, ValueError) and e.value.errno == 2
    assert pickle.loads(pickle.dumps(e.value)).filename == e.value.filename


NONSENSE = {
    "addmm of 4 dims": lambda: proa.addmm(*[proa.ones([2, 2, 2, 2])] * 3),
    "addmm with an input of 3 dims": lambda: proa.addmm(proa.ones([1, 2, 2]), proa.ones([2, 2]), proa.ones([2, 2])),
    "argmax": lambda: proa.argmax(proa.ones([2]), dtype=None),  # type: ignore[arg-type]
    "argmin": lambda: proa.ones([2]).argmin(dtype=None),
    "selu scale": lambda: F.selu(proa.ones([2]), scale=0.5),
    "selu alpha": lambda: F.selu(proa.ones([2]), alpha=-1.0),
    "SELU": lambda: nn.SELU(scale=0.5)(proa.ones([2])),
    "softshrink": lambda: F.softshrink(proa.ones([2]), threshold=-1),
    "ClipGradByNorm": lambda: nn.ClipGradByNorm(-1),
    "ClipGradByGlobalNorm": lambda: nn.ClipGradByGlobalNorm(-1.0),
    "ClipGradByGlobalNorm of NaN": lambda: nn.ClipGradByGlobalNorm(float("nan")),
    "ClipGradByValue of a str": lambda: nn.ClipGradByValue("1"),
    "ClipGradByNorm of a str": lambda: nn.ClipGradByNorm("1"),
    "ClipGradByValue": lambda: nn.ClipGradByValue(-1),
    "interpolate": lambda: F.interpolate(proa.ones([1, 1, 4]), [2], mode="linear", data_format="NCL"),
    "interpolate of 4 dims": lambda: F.interpolate(proa.ones([1, 1, 4, 4]), [2, 2], data_format="NCW"),
    "elu_": lambda: F.elu_(proa.ones([2]), -0.5),
    "full": lambda: proa.full([1], "abc"),  # type: ignore[arg-type]
    "label_smooth": lambda: F.label_smooth(proa.ones([])),
    "cond of a number": lambda: proa.static.nn.cond(3, lambda: 1, lambda: 2),
    "cond without functions": lambda: proa.static.nn.cond(proa.to_tensor(True), 1, 2),
}


@pytest.mark.parametrize("what", sorted(NONSENSE))
def test_nonsense_is_refused(what):
    with pytest.raises(ValueError, match=r"^\(InvalidArgument\) \w+: "):
        NONSENSE[what]()


def test_values_of_branches():
    """What the functions of cond give may be plain numbers."""
    assert proa.static.nn.cond(proa.to_tensor(True), lambda: 1, lambda: 2) == 1
    assert proa.static.nn.cond(False, lambda: (1.5, True), lambda: (2.5, False))[0] == 2.5
    assert np.array_equal(F.elu(proa.to_tensor([-1.0]), -0.5).numpy() > 0, [True])


@pytest.mark.parametrize(
    "load",
    [
        lambda path: proa.jit.load(path),
        lambda path: proa.load(path + ".pdparams"),
        lambda path: proa.static.load_inference_model(path, proa.static.Executor()),
        lambda path: proa.static.load(proa.static.Program(), path),
    ],
)
def test_a_model_that_is_not_there(load, tmp_path):
    """FileNotFoundError, as Python's own, and ValueError, as the reference's."""
    with pytest.raises(FileNotFoundError) as e:
        load(str(tmp_path / "model"))
    assert isinstance(e.value, ValueError) and isinstance(e.value, RuntimeError)
