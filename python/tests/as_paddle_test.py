"""Running programs that say `import paddle`."""

import os
import subprocess
import sys
import textwrap

import pytest

import proa


def run(*arguments, cwd=None):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, check=False)


PROGRAM = """
    import sys
    import paddle
    import paddle.nn.functional as F
    from paddle.io import Dataset, DataLoader
    from paddle.optimizer.lr import StepDecay
    import helper

    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = paddle.nn.Linear(2, 1)

        def forward(self, x):
            return self.fc(x)

    paddle.seed(1)
    net = Net()
    opt = paddle.optimizer.SGD(learning_rate=StepDecay(0.1, 10), parameters=net.parameters())
    for _ in range(3):
        loss = F.mse_loss(net(paddle.ones([4, 2])), paddle.zeros([4, 1]))
        loss.backward()
        opt.step()
        opt.clear_grad()
    print(type(loss).__name__, __name__, sys.argv[1:], helper.VALUE, paddle.nn is sys.modules["proa.nn"])
"""


@pytest.fixture(name="script")
def _script(tmp_path):
    (tmp_path / "helper.py").write_text("VALUE = 7\n")
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(PROGRAM))
    return path


def test_script(script, tmp_path):
    result = run("-m", "proa.as_paddle", script, "--rate", "3")
    assert result.stderr == ""
    assert result.stdout == "Tensor __main__ ['--rate', '3'] 7 True\n"
    result = run("-m", "proa.as_paddle", "-m", "script", "x", cwd=tmp_path)
    assert result.stdout == "Tensor __main__ ['x'] 7 True\n", result.stderr


def test_errors(tmp_path):
    result = run("-m", "proa.as_paddle", tmp_path / "missing.py")
    assert result.returncode == 2 and "there is no file" in result.stderr
    assert run("-m", "proa.as_paddle").returncode == 2
    assert "import paddle" in run("-m", "proa.as_paddle", "--help").stdout
    bad = tmp_path / "bad.py"
    bad.write_text("import paddle.no_such_module\n")
    result = run("-m", "proa.as_paddle", bad)
    assert "No module named 'paddle.no_such_module'" in result.stderr


def test_import_hook():
    code = """
        from proa import as_paddle
        as_paddle.install()
        as_paddle.install()
        import paddle, proa, paddle.nn.layer.layers as layers, sys
        assert paddle is proa and layers is proa.nn.layer.layers
        assert proa.nn.__spec__.name == "proa.nn" and proa.__spec__.name == "proa"
        assert sum(type(f).__name__ == "_Finder" for f in sys.meta_path) == 1
        import importlib
        importlib.reload(proa.regularizer)
    """
    result = run("-c", textwrap.dedent(code))
    assert result.returncode == 0, result.stderr


def test_another_paddle_is_left_alone():
    code = (
        "import sys, types; sys.modules['paddle'] = types.ModuleType('paddle'); import proa.as_paddle as a; a.install()"
    )
    result = run("-c", code)
    assert "another module paddle" in result.stderr


def test_import_is_quick_and_silent():
    code = """
        import sys, time
        start = time.process_time()  # other programs may be running
        import proa
        print(time.process_time() - start)
        # Each of these takes as long to import as a third of the package, and only some programs need it.
        print(*{"numpy", "proa.nn", "inspect", "typing", "difflib", "ast", "traceback"} & set(sys.modules))
    """
    runs = [run("-S", "-c", textwrap.dedent(code)) for _ in range(5)]
    assert all(r.stderr == "" for r in runs)
    assert {r.stdout.partition("\n")[2].strip() for r in runs} == {""}
    assert min(float(r.stdout.split()[0]) for r in runs) < 0.3


def test_import_leaves_the_process_alone():
    code = """
        import locale, os, signal, threading
        def state():
            handlers = [signal.getsignal(s) for s in range(1, 32)]
            mask = os.umask(0); os.umask(mask)
            return handlers, mask, locale.setlocale(locale.LC_ALL), threading.active_count(), dict(os.environ)
        before = state()
        import proa
        proa.nn, proa.optimizer, proa.io, proa.ones([2]).sum()
        assert state() == before
    """
    result = run("-c", textwrap.dedent(code))
    assert result.returncode == 0, result.stderr


def test_names_of_the_package():
    assert "nn" in dir(proa) and "save" in dir(proa)
    assert proa.linalg.__name__ == "proa.linalg"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(proa, "nothing")  # noqa: B009
    proa.utils.require_version("0.0.1")
    with pytest.raises(Exception, match="or newer is needed"):
        proa.utils.require_version("99.0")
    with pytest.raises(ImportError, match="no_such_thing"):
        proa.utils.try_import("no_such_thing")


def test_run_check(capsys):
    proa.utils.run_check()
    assert "installed successfully" in capsys.readouterr().out


_IMPORTS = """
    import importlib, inspect, pickle, pkgutil, sys
    import paddle
    import paddle.nn as nn
    import paddle.fluid as fluid
    from paddle.fluid import layers
    from paddle.nn.layer import norm
    from paddle.vision.models import resnet18
    assert importlib.import_module("paddle.vision.models") is paddle.vision.models
    assert "paddle.nn.functional" in [m.name for m in pkgutil.walk_packages(paddle.__path__, "paddle.")]
    # Each class and function that a module defines says that it is paddle's, is found by that, and can be pickled.
    count = 0
    for name, module in list(sys.modules.items()):
        if not name.startswith("paddle.") or name.startswith(("paddle._C", "paddle._generated")):
            continue
        assert module is sys.modules["proa" + name[6:]], name
        for key, value in list(vars(module).items()):
            made = isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")  # has no source
            if not key.startswith("__") and not made and (isinstance(value, type) or inspect.isfunction(value)):
                home = value.__module__
                assert not home.startswith("proa."), (name, key, home)
                if home == name and getattr(module, value.__qualname__, None) is value:
                    assert pickle.loads(pickle.dumps(value)) is value
                    assert inspect.getmodule(value) is module and inspect.getsource(value)
                    count += 1
    assert count > 300, count
    print(nn.Linear, type(paddle.ones([1])), paddle.float32, [paddle.int64], nn.functional.relu.__module__)
"""


def _program(tmp_path, text):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(text))
    return path


def test_every_import_form_sees_paddle(tmp_path):
    result = run("-m", "proa.as_paddle", _program(tmp_path, _IMPORTS))
    assert (
        result.stdout
        == (
            "<class 'paddle.nn.layer.common.Linear'> <class 'paddle.Tensor'> paddle.float32 [paddle.int64] paddle.nn.functional\n"
        )
        or "paddle._generated" in result.stdout
    ), result.stdout + result.stderr
    assert result.returncode == 0, result.stderr


def test_objects_of_programs_are_pickled_and_copied(tmp_path):
    text = """
        import copy, pickle
        import paddle
        x = pickle.loads(pickle.dumps(paddle.to_tensor([1.0, 2.0])))
        assert x.tolist() == [1.0, 2.0] and pickle.loads(pickle.dumps(x.dtype)) == paddle.float32
        net = copy.deepcopy(paddle.nn.Linear(2, 2))
        assert isinstance(net.weight, paddle.fluid.framework.Parameter) and isinstance(x, paddle.Tensor)
        print(type(net.weight))
    """
    result = run("-m", "proa.as_paddle", _program(tmp_path, text))
    assert result.stdout == "<class 'paddle.framework.parameter.Parameter'>\n", result.stderr


_ONE_ELEMENT = """
    import numpy as np, paddle
    print(paddle.__version__, paddle.version.major)
    loss = paddle.mean(paddle.ones([3]))
    assert loss.shape == [] and paddle.ones([2]).numpy().shape == (2,)
    try:
        print(loss.numpy()[0], loss[0].item(), float(loss.numpy()[0]), loss[:].shape, loss.numpy().shape)
    except IndexError as e:
        print("IndexError")
    x = paddle.ones([2, 2])
    assert x[0, 1].item() == 1.0 and x[0].shape == [2]
    try:
        x[5]
    except IndexError:
        print("out of range")
"""


def test_results_of_full_reductions_are_indexed(tmp_path):
    program = _program(tmp_path, _ONE_ELEMENT)
    found = run("-m", "proa.as_paddle", program)
    assert found.stdout == "2.3.2 2\n1.0 1.0 1.0 [1] (1,)\nout of range\n", found.stderr
    assert run("-m", "proa.as_paddle", "--version", "2.4", program).stdout.startswith("2.4.2 2\n1.0")
    assert run("-m", "proa.as_paddle", "--version=2.5", program).stdout == "2.5.2 2\nIndexError\nout of range\n"
    bad = run("-m", "proa.as_paddle", "--version", "1.8", program)
    assert bad.returncode == 2 and "must be one of 2.0" in bad.stderr


def test_the_flag_by_hand():
    text = """
        import proa
        loss = proa.ones([2]).sum()
        proa.set_flags({"FLAGS_set_to_1d": True})
        assert loss.numpy()[0] == loss[0].item() == 2.0
        proa.set_flags({"FLAGS_set_to_1d": False})
        assert loss.numpy().shape == ()
    """
    result = run("-c", textwrap.dedent(text))
    assert result.returncode == 0, result.stderr


def test_other_ways_in(tmp_path, monkeypatch):
    program = _program(
        tmp_path, "import proa.as_paddle\nimport paddle\nprint(paddle.__version__, paddle.nn.Linear.__module__)\n"
    )
    assert run(program).stdout == "2.3.2 paddle.nn.layer.common\n"
    text = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import paddle.nn; print(paddle.__version__, paddle.nn)'])\n"
    found = run("-m", "proa.as_paddle", "--version", "2.1", _program(tmp_path, text))
    assert found.stdout.startswith("2.1.3 <module 'proa.nn'") or found.stdout.startswith("2.1.3 <module"), found.stderr
    folder = run("-m", "proa.as_paddle", "--path").stdout.strip()
    monkeypatch.setenv("PYTHONPATH", folder + os.pathsep + os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PROA_AS_PADDLE", "2.2")
    assert run("-c", "from paddle.nn import Linear; import paddle; print(paddle.__version__)").stdout == "2.2.2\n"
    monkeypatch.setenv("PROA_AS_PADDLE", "7")
    assert "must be one of" in run("-c", "import paddle").stderr


def test_a_pytest_plugin(tmp_path):
    (tmp_path / "some_test.py").write_text(
        "import paddle\n\n\ndef test_it():\n    assert paddle.ones([1]).sum()[0] == 1\n"
    )
    found = run("-m", "pytest", "-q", "-p", "proa.as_paddle", "-p", "no:cacheprovider", "some_test.py", cwd=tmp_path)
    assert "1 passed" in found.stdout, found.stdout + found.stderr


def test_names_that_are_not_there(tmp_path):
    text = """
        import paddle
        for module, name in ((paddle, "Conv2d"), (paddle.nn, "Conv2d"), (paddle, "audio"), (paddle.nn, "AdaptiveLogSoftmaxWithLoss"),
                             (paddle.fluid, "no_such_name"), (paddle.distributed, "get_worldsize")):
            assert not hasattr(module, name) and name not in dir(module)
            try:
                getattr(module, name)
            except AttributeError as e:
                print(e)
        try:
            import paddle.audio
        except ImportError as e:
            print(e)
        try:
            from paddle.nn import Conv2d
        except ImportError as e:
            print(type(e).__name__)
    """
    found = run("-m", "proa.as_paddle", _program(tmp_path, text)).stdout.splitlines()
    later = "it belongs to a release after 2.3 of the reference, and this package follows 2.0 to 2.3"
    assert found == [
        "module 'paddle' has no attribute 'Conv2d'; the nearest name is paddle.nn.Conv2D",
        f"module 'paddle.nn' has no attribute 'Conv2d': {later}; the nearest name is paddle.nn.Conv2D",
        f"module 'paddle' has no attribute 'audio': {later}",
        f"module 'paddle.nn' has no attribute 'AdaptiveLogSoftmaxWithLoss': {later}",
        "module 'paddle.fluid' has no attribute 'no_such_name'",
        "module 'paddle.distributed' has no attribute 'get_worldsize'; the nearest name is paddle.distributed.get_world_size",
        f"No module named 'paddle.audio': {later}",
        "ImportError",
    ]


def test_lists_of_converted_functions(tmp_path):
    """Functions of the package are known by what they are, whatever they are called."""
    (tmp_path / "script.py").write_text(
        textwrap.dedent("""
        import paddle

        @paddle.jit.to_static
        def kept(x):
            rows = []
            for row in x:
                if row.sum() > 0:
                    rows.append(row)
            return paddle.stack(rows), paddle.concat(rows), paddle.tensor.array_length(rows)

        for value in ([[1.0, 2.0], [-1.0, 0.0], [3.0, 4.0]], [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]):
            a, b, n = kept(paddle.to_tensor(value))
            print([a.tolist(), b.tolist(), n])
        """)
    )
    result = run("-m", "proa.as_paddle", tmp_path / "script.py")
    assert result.stdout.splitlines() == [
        "[[[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0, 3.0, 4.0], 2]",
        "[[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [1.0, 1.0, 2.0, 2.0, 3.0, 3.0], 3]",
    ], result.stderr
