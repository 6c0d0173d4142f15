"""What a type checker sees: the stubs and the tests are sound, and names that come lazily have their types."""

import doctest
import importlib
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import textwrap

import pytest

import proa
from python.tests.layer_cases import LAYERS, layer_of


def _mypy(folder, *arguments):
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(folder / "cache"), *arguments]
    # A folder with the package alone: beside it may lie the tests, which would then have two names.
    packages = folder / "packages"
    if not packages.exists():
        packages.mkdir()
        (packages / "proa").symlink_to(pathlib.Path(proa.__file__).parent)
    environment = {**os.environ, "MYPYPATH": f"{packages}:{pathlib.Path(__file__).parents[2]}"}
    run = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    assert not run.stderr, run.stderr
    return run.stdout.splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def _check(folder, program):
    (folder / "program.py").write_text(program)
    return _mypy(folder, "--check-untyped-defs", "--follow-imports=silent", "program.py")


def test_the_package_and_its_stubs_are_sound(folder):
    assert _mypy(folder, "-p", "proa") == []


def test_the_tests_are_sound(folder):
    """Tests call with nonsense on purpose: such lines say which error a type checker has to see there, and it is seen.
    Programs that the tests hold as text or make from other packages are not there to be looked up."""
    here = pathlib.Path(__file__).parent
    files = sorted(map(str, here.glob("*.py")))
    assert len(files) > 150
    found = _mypy(folder, "--explicit-package-bases", "--follow-imports=silent", "--disable-error-code=import-untyped",
                  "--disable-error-code=import-not-found", "--warn-unused-ignores", *files)  # fmt: skip
    assert found == []


_PROGRAM = """\
import proa
x = proa.to_tensor([1.0, 2.0], stop_gradient=False)
net = proa.nn.Linear(2, 3)
reveal_type(x + 1)
reveal_type(proa.add(x, 1.0))
reveal_type(proa.nn.functional.softmax(x))
reveal_type(x.reshape([2, 1]))
reveal_type(x.shape)
reveal_type(x.grad)
reveal_type(x.is_floating_point())
reveal_type(proa.float32)
proa.optimizer.SGD(0.1, parameters=net.parameters())
proa.add(x)
proa.add("a", x)
x.no_such_method()
"""


def test_a_program(folder):
    assert _check(folder, _PROGRAM) == [
        'program.py:4: note: Revealed type is "proa._C.Tensor"',
        'program.py:5: note: Revealed type is "proa._C.Tensor"',
        'program.py:6: note: Revealed type is "proa._C.Tensor"',
        'program.py:7: note: Revealed type is "proa._C.Tensor"',
        'program.py:8: note: Revealed type is "list[int]"',
        'program.py:9: note: Revealed type is "proa._C.Tensor | None"',
        'program.py:10: note: Revealed type is "bool"',
        'program.py:11: note: Revealed type is "proa._C.DType"',
        'program.py:13: error: Missing positional argument "y" in call to "add"  [call-arg]',
        'program.py:14: error: Argument 1 to "add" has incompatible type "str"; '
        'expected "Tensor | int | float | complex"  [arg-type]',
        'program.py:15: error: "Tensor" has no attribute "no_such_method"  [attr-defined]',
    ]


# What an expression is seen as.
_SEEN = {
    "net.parameters()": "list[proa.framework.parameter.Parameter]",
    "net.sublayers()": "list[proa.nn.layer.layers.Layer]",
    "net.to(dtype='float64').half()": "proa.nn.layer.common.Linear",
    "next(net.named_parameters())": "tuple[str, proa.framework.parameter.Parameter]",
    "proa.create_parameter([1], 'float32')": "proa.framework.parameter.Parameter",
    "len(loader)": "int",
    "iter(loader)": "typing.Iterator[Any]",
    "proa.io.random_split(data, [3, 1])": "list[proa.io.dataset.Subset]",
    "list(proa.io.RandomSampler(data))": "list[int]",
    "proa.Model(net).evaluate(data, verbose=0)": "dict[str, Any]",
    "proa.Model(net).predict_batch(data[0])": "list[numpy.ndarray[Any, Any]]",
    "proa.summary(net, (1, 2))": "dict[str, int]",
    "proa.flops(net, [1, 2])": "int",
    "proa.optimizer.SGD(0.5, net.parameters()).get_lr()": "float",
    "proa.optimizer.SGD(0.5, net.parameters()).state_dict()": "dict[str, Any]",
    "proa.get_device()": "str",
    "proa.in_dynamic_mode()": "bool",
}


def test_what_functions_of_the_package_give(folder):
    """Editors complete what follows; without a type a checker sees nothing."""
    lines = ["import proa", "net = proa.nn.Linear(2, 3)", "data = proa.io.TensorDataset([proa.ones([4, 2])])"]
    lines += ["loader = proa.io.DataLoader(data)", *(f"reveal_type({expression})" for expression in _SEEN)]
    found = _check(folder, "\n".join(lines) + "\n")
    assert len(found) == len(_SEEN)
    for line, (expression, kind) in zip(found, _SEEN.items()):
        assert f'Revealed type is "{kind}' in line, (expression, line)


_RIGHT = """\
import proa
cpu = proa.CPUPlace()
x = proa.Tensor([1, 2], cpu, True, False, "weight")
proa.Tensor(value=[1.0], place=cpu, name="n", persistable=True, stop_gradient=False)
proa.Tensor(proa.float64, [2, 3], "zeros", None, True)
proa.Tensor([1], "int32", "cpu"), proa.Tensor()
reveal_type(x << 1)
reveal_type(1 >> x)
x.item((0,)), x.item(0)
bytes(memoryview(x))
pool = proa.nn.MaxPool2D(2)
pool.ksize, pool.stride, pool.padding, pool.ceil_mode, pool.return_mask, pool.data_format
pool1 = proa.nn.AvgPool1D(2)
pool1.kernel_size, pool1.exclusive
proa.nn.AdaptiveAvgPool2D(1)._output_size
"""


def test_a_program_that_runs(folder):
    """Forms that were red in an editor though they run."""
    exec(compile(_RIGHT.replace("reveal_type", ""), "right", "exec"), {})
    assert _check(folder, _RIGHT) == [f'program.py:{line}: note: Revealed type is "proa._C.Tensor"' for line in (7, 8)]


def test_attributes_of_layers(folder):
    """Those that a layer has after it was made are known, but for weights whose names have numbers."""
    lines, layers = [""], {type(layer_of(name)[0]): layer_of(name)[0] for name in LAYERS}
    for kind, layer in layers.items():
        for name in (*vars(layer), *layer._parameters, *layer._buffers, *layer._sub_layers):
            if not name.startswith("_") and name.isidentifier() and not re.search(r"_l\d", name):
                lines.append(f"def f{len(lines)}(x: {kind.__module__}.{kind.__name__}) -> None: x.{name}")
    assert len(lines) > 400
    lines[0] = "import " + ", ".join(sorted({kind.__module__ for kind in layers}))
    assert _check(folder, "\n".join(lines)) == []


# What is made, and what puts the package into the place of another when it is imported.
_LEFT_OUT = ("proa._C", "proa._generated", "proa.as_paddle", "proa.utils.paddle_path")


def _modules(package):
    """The modules of a package, and of those in it, imported."""
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if not info.name.startswith(_LEFT_OUT):
            module = importlib.import_module(info.name)
            yield module
            if info.ispkg:
                yield from _modules(module)


def test_examples_of_docstrings(folder):
    """Right programs, so that what a checker has to say of them is a mistake of the stubs."""
    lines, count = ["import numpy as np", "import proa"], 0
    for module in _modules(proa):
        for test in doctest.DocTestFinder().find(module, module.__name__, globs={}):
            count += bool(test.examples)
            body = "".join(example.source for example in test.examples)
            lines.append(
                f"def example_{count}() -> None:  # {test.name}\n{textwrap.indent(body, '    ')}" if body else ""
            )
    assert count > 1000
    (folder / "examples.py").write_text("\n".join(lines))
    # Gradients are Tensor | None, and empty lists say nothing of their items.
    found = _mypy(folder, "--check-untyped-defs", "--follow-imports=silent", "--disable-error-code=union-attr",
                  "--disable-error-code=var-annotated", "--disable-error-code=import-untyped",
                  "--disable-error-code=import-not-found", "examples.py")  # fmt: skip
    assert found == []


def test_every_lazy_name_is_known(folder):
    names = [n for n in dir(proa) if not n.startswith("_") and _is_there(n)]
    lines = _check(folder, "import proa\n" + "".join(f"reveal_type(proa.{n})\n" for n in names))
    unknown = [names[int(m[1]) - 2] for line in lines if (m := re.match(r"program.py:(\d+): .* is \"Any\"", line))]
    assert unknown == []


def _is_there(name):
    try:
        return hasattr(proa, name)
    except ImportError:  # a module that this build does not have
        return False
