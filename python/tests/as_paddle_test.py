"""Running programs that say `import paddle`."""

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
        print(time.process_time() - start, "numpy" in sys.modules, "proa.nn" in sys.modules)
    """
    runs = [run("-c", textwrap.dedent(code)) for _ in range(5)]
    assert all(r.stderr == "" for r in runs)
    seconds, numpy, nn = min((r.stdout.split() for r in runs), key=lambda words: float(words[0]))
    assert float(seconds) < 0.3
    assert (numpy, nn) == ("False", "False")


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
