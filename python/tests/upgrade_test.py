"""python -m proa.upgrade: the table's names are there, rewritten programs compute the same, and the rest of a text stays."""

import contextlib
import importlib
import io
import re
import textwrap

import numpy as np
import pytest

import proa
from proa.upgrade import __main__ as program
from proa.upgrade import upgrade
from proa.upgrade.names import ADDED, HINTS, NAMES, PARAMETERS, VALUES


def find(name):
    value, path = proa, "proa"
    for part in name.split("."):
        path += f".{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(path)
    return value


@pytest.mark.parametrize("old", NAMES)
def test_both_names_are_there(old):
    assert callable(find(f"fluid.{old}")) and callable(find(NAMES[old]))


def test_the_tables_are_of_these_names():
    assert not set(HINTS) & set(NAMES)
    assert (
        set(ADDED) <= set(NAMES) and set(PARAMETERS) - {""} <= set(NAMES) and {old for old, _ in VALUES} <= set(NAMES)
    )


# Programs of 1.8; each leaves `found`, a list of arrays.
_PROGRAMS = {
    "eager": """
        import numpy as np
        import paddle.fluid as fluid
        from paddle.fluid.dygraph.nn import Linear, Conv2D
        from paddle.fluid import layers as L

        class Net(fluid.dygraph.Layer):
            def __init__(self):
                super().__init__()
                constant = fluid.initializer.ConstantInitializer(value=0.1)
                self.conv = Conv2D(num_channels=1, num_filters=4, filter_size=3, act=None,
                                   param_attr=fluid.ParamAttr(initializer=constant))
                self.fc = Linear(4, 6, param_attr=constant)  # ä

            def forward(self, x):
                x = L.relu(self.conv(x), name="r")
                x = fluid.layers.reduce_mean(x, dim=[2, 3], keep_dim=False)
                return fluid.layers.elementwise_add(self.fc(x), L.ones([6], "float32"), axis=-1)

        net = Net()
        adam = fluid.optimizer.AdamOptimizer(0.1, parameter_list=net.parameters(),
                                             regularization=fluid.regularizer.L2Decay(regularization_coeff=0.1))
        image = np.arange(128, dtype="float32").reshape([2, 1, 8, 8]) / 64
        x = fluid.dygraph.to_variable(image)
        for _ in range(2):
            out = net(x)
            loss = L.mean(L.square(out))
            loss.backward()
            adam.minimize(loss)
            net.clear_gradients()
        halves = fluid.layers.split(out, 2)
        best = L.argmax(L.softmax(halves[0], axis=1))
        probability = L.softmax(out)
        label = fluid.dygraph.to_variable(np.array([[1], [3]], dtype="int64"))
        each = L.cross_entropy(probability, label, False)
        values, indices = L.topk(out, k=2)
        dropped = L.dropout(x, dropout_prob=0.5, is_test=False) * 0
        tiled = L.expand(x=halves[1], expand_times=[1, 2])
        filled = L.fill_constant([2], "float32", 3.0)
        joined = L.concat(input=[filled, filled], axis=0)
        found = [v.numpy() for v in (loss, best, each, values, indices, dropped, tiled, joined, net.fc.weight)]
    """,
    "static": """
        import numpy as np
        import paddle.fluid as fluid

        main, startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(main, startup):
            x = fluid.data(name="x", shape=[None, 4], dtype="float32")
            y = fluid.data("y", [None, 1], "int64")
            constant = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.2))
            hidden = fluid.layers.fc(input=x, size=5, param_attr=constant, act="tanh")
            out = fluid.layers.fc(hidden, 3, 1, constant, None, "softmax")
            loss = fluid.layers.mean(fluid.layers.cross_entropy(input=out, label=y))
            right = fluid.layers.accuracy(out, y)
            fluid.optimizer.SGD(learning_rate=0.1).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        feed = {"x": np.arange(8, dtype="float32").reshape([2, 4]) / 8, "y": np.array([[0], [2]], "int64")}
        found = []
        for _ in range(3):
            found += exe.run(main, feed=feed, fetch_list=[loss, right, out])
    """,
}


def run(source, static):
    """`found` of a program, where `paddle` is proa."""
    import sys

    from proa import fluid

    replaced = {"paddle": proa, "paddle.fluid": fluid, "paddle.fluid.dygraph.nn": fluid.dygraph.nn}
    before = {name: sys.modules.get(name) for name in replaced}
    sys.modules.update(replaced)
    names = {}
    if static:
        proa.enable_static()
    try:
        exec(compile(source, "program", "exec"), names)
    finally:
        proa.disable_static()
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return names["found"]


@pytest.mark.parametrize("name", _PROGRAMS)
def test_a_rewritten_program_computes_the_same(name):
    old = textwrap.dedent(_PROGRAMS[name])
    done = upgrade(old)
    assert "fluid" not in done.text and done.left == []
    first, second = run(old, name == "static"), run(done.text, False)
    assert len(first) == len(second) > 8
    for a, b in zip(first, second):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("import paddle\nx = paddle.ones([2])", "import paddle\nx = paddle.ones([2])", []),
        ("import fluid\nfluid.layers.relu(x)", "import fluid\nfluid.layers.relu(x)", []),
        ("import paddle\nimport paddle.fluid as fluid\nfluid.layers.relu(x)\n",
         "import paddle\npaddle.nn.functional.relu(x)\n", []),
        ("import paddle.fluid\nf = paddle.fluid.layers.relu", "import paddle\nf = paddle.nn.functional.relu", []),
        ("from paddle.fluid.layers import relu as r, data\nr(x); data('x', [2])",
         "from paddle.fluid.layers import relu as r, data\nimport paddle\npaddle.nn.functional.relu(x); data('x', [2])",
         [(2, "fluid.layers.data", "paddle.static.data takes the whole shape")]),
        ("from paddle import fluid\nfluid.layers.matmul(a, b, alpha=2.0)", None,
         [(2, "fluid.layers.matmul", "paddle.matmul has no alpha")]),
        ("import paddle.fluid as f\nf.layers.matmul(a, b, alpha=1.0)", "import paddle\npaddle.matmul(a, b)", []),
        ("import paddle.fluid as f\nf.layers.relu(*a)", None, [(2, "fluid.layers.relu", "in a list or dict")]),
        ("import paddle.fluid as f\nf.layers.nothing(f.layers.relu(a))",
         "import paddle.fluid as f\nimport paddle\nf.layers.nothing(paddle.nn.functional.relu(a))",
         [(2, "fluid.layers.nothing", "no successor")]),
        ("import paddle.fluid as f\nf.layers.dropout(x, 0.5, dropout_implementation='downgrade_in_infer')",
         "import paddle\npaddle.nn.functional.dropout(x, 0.5, mode='downscale_in_infer')", []),
        ("import paddle.fluid as f\nf.layers.dropout(x, 0.5, dropout_implementation=how)", None,
         [(2, "fluid.layers.dropout", "calculated")]),
        ("import paddle.fluid as f\nf.dygraph.Embedding((3, n), False, padding_idx=1, param_attr=a)",
         "import paddle\npaddle.nn.Embedding(3, n, sparse=False, padding_idx=1, weight_attr=a)", []),
        ("import paddle.fluid as f\nf.dygraph.Embedding(sizes)", None,
         [(2, "fluid.dygraph.Embedding", "two sizes by themselves")]),
        ("import paddle.fluid as f\nf.layers.mean(x, None)", "import paddle\npaddle.mean(x, name=None)", []),
        ("import paddle.fluid as f\nwith f.dygraph.guard():\n    f.layers.sqrt(f.layers.abs(x))",
         "import paddle.fluid as f\nimport paddle\nwith f.dygraph.guard():\n    paddle.sqrt(paddle.abs(x))",
         [(2, "fluid.dygraph.guard", "2.x computes eagerly")]),
        ("import paddle.fluid as f\n\ndef g():\n    return f.layers.topk(input=x,  k = 2)  # k\n",
         "import paddle\n\ndef g():\n    return paddle.topk(x=x,  k = 2)  # k\n", []),
        ("def g():\n    import paddle.fluid as f\n    return f.layers.relu(x)\n",
         "def g():\n    import paddle\n    return paddle.nn.functional.relu(x)\n", []),
        ("import paddle.fluid as f\nexe = f.Executor()\nimport os\n",
         "import paddle\nexe = paddle.static.Executor()\nimport os\npaddle.enable_static()\n", []),
    ],
)  # fmt: skip
def test_texts(old, new, left):
    done = upgrade(old)
    assert done.text == (old if new is None else new)
    assert [(line, name) for line, name, _ in done.left] == [(line, name) for line, name, _ in left]
    for (_, _, why), (_, _, says) in zip(done.left, left):
        assert says in why
    again = upgrade(done.text)
    assert again.text == done.text


def test_the_program(tmp_path, capsys):
    old, other = tmp_path / "old.py", tmp_path / "other.py"
    old.write_text("import paddle.fluid as fluid\nfluid.layers.relu(x)\nfluid.DataFeeder(a, b)\n")
    other.write_text("print 'Python 2'\n")
    assert program.main([str(tmp_path)]) == 1
    out, error = capsys.readouterr()
    assert f"{old}:3: fluid.DataFeeder: feed a dict of arrays" in out and "+paddle.nn.functional.relu(x)" in out
    assert str(other) in error and "fluid.layers.relu" in old.read_text()
    assert program.main(["--write", str(old)]) == 0
    assert "paddle.nn.functional.relu(x)\n" in old.read_text() and "2 changes" not in capsys.readouterr().err
    assert program.main([str(tmp_path / "none.py")]) == 1


def test_what_the_names_mean_must_be_seen():
    star = upgrade("from paddle.fluid import *\nlayers.relu(x)\n")
    assert star.changes == 0 and [(line, name) for line, name, _ in star.left] == [(1, "from paddle.fluid import *")]
    text = "import paddle.fluid as fluid\ndef f(fluid):\n    return fluid.layers.relu(1)\n"
    bound = upgrade(text)
    assert bound.text == text and [(line, name) for line, name, _ in bound.left] == [(2, "fluid")]


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfimport paddle.fluid as fluid\r\nfluid.layers.relu(x)  # \xc3\xa9",
        b"# -*- coding: latin-1 -*-\nimport paddle.fluid as fluid\ns = '\xe9'; fluid.layers.relu(s)\n",
    ],
)
def test_files_keep_their_encoding_and_ends_of_lines(data, tmp_path, capsys):
    path = tmp_path / "old.py"
    path.write_bytes(data)
    assert program.main([str(path)]) == 0 and "+paddle" in capsys.readouterr().out.replace("+s = 'é'; ", "+")
    assert program.main(["--write", str(path)]) == 0
    new = data.replace(b"import paddle.fluid as fluid", b"import paddle")
    assert path.read_bytes() == new.replace(b"fluid.layers.relu", b"paddle.nn.functional.relu")


def test_nothing_given(capsys):
    with pytest.raises(SystemExit):
        program.main([])
    assert "give files or folders" in capsys.readouterr().err


def test_the_page():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert program.main(["--table"]) == 0
    rows = dict(re.findall(r"^\| `fluid\.([\w.]+)` \| (.+) \|$", out.getvalue(), re.MULTILINE))
    assert rows.keys() == NAMES.keys() | HINTS.keys()
    assert rows["layers.relu"] == "`paddle.nn.functional.relu`" and rows["DataFeeder"].startswith("feed a dict")


def test_names_that_are_not_known_are_told():
    source = "import paddle.fluid as fluid\nfrom paddle.fluid.layers import nosuch2\n"
    source += "y = fluid.layers.nosuch(1)\nnosuch2(3)\nw = fluid.nothing.at_all\n"
    done = upgrade(source)
    why = "no successor that is known here"
    assert done.left == [
        (3, "fluid.layers.nosuch", why),
        (4, "fluid.layers.nosuch2", why),
        (5, "fluid.nothing.at_all", why),
    ]
    assert done.text == source
