"""Random calls beside another package: what is generated, what is run, what is found. The other package is ours."""

import dataclasses
import os
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest

import proa
from fuzz.beside import __main__ as tool
from fuzz.beside import calls, compare, generate, watch
from fuzz.beside.calls import Array, Call
from python.tests import layer_cases, public_cases


@pytest.fixture(scope="module")
def generator():
    return generate.Generator(3)


# Generated ------------------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_calls(generator):
    numbers = range(0, 3000, 17)
    again, other = generate.Generator(3), generate.Generator(4)
    assert [generator.call(n) for n in numbers] == [again.call(n) for n in reversed(numbers)][::-1]
    assert sum(generator.call(n) == other.call(n) for n in numbers) < 10


def test_every_public_function_and_layer_is_called(generator):
    """But those that give memory as it was, and those whose samples are no plain data (sparse tensors, bfloat16)."""
    functions = {name for name, _, texts in public_cases.public_cases() if texts and "empty_like" not in name}
    missing = functions - set(generator.right)
    assert not {name for name in missing if not name.startswith(("sparse.", "incubate."))}, missing
    assert {f"nn.{name}" for name in layer_cases.LAYERS} <= set(generator.right)
    assert {"Tensor.tanh", "Tensor.tanh_", "nn.functional.elu_", "Tensor.matmul"} <= set(generator.right)


def test_every_class_that_more_than_one_call_shows_is_used(generator):
    """What is left out takes others, or is a base class."""
    left_out = {
        "vision.transforms": {"BaseTransform", "Compose"},
        "distribution": {
            "ChainTransform", "Distribution", "ExponentialFamily", "Independent", "IndependentTransform",
            "ReshapeTransform", "StackTransform", "Transform", "TransformedDistribution", "kl_divergence", "register_kl",
        },
        "optimizer": {"Optimizer", "lr"},
        "optimizer.lr": {"LRScheduler"},
        "metric": {"Metric", "accuracy"},
        "nn.initializer": {"calculate_gain", "set_global_initializer"},
    }  # fmt: skip
    for module, but in left_out.items():
        used = {t.rpartition(".")[2] for t in generator.uses if t.partition(" ")[2].rpartition(".")[0] == module}
        assert used == set(public_cases.function_at(module).__all__) - but, module


def test_results_of_uses(generator, tmp_path):
    """Of each several, with other seeds: almost all are right, and what is random is known to be."""
    made = [make(random.Random(f"{name} {n}")) for name, make in generator.uses.items() for n in range(3)]
    results = [r["eager"] for r in _run(made, tmp_path)]
    refused = [(str(c)[:200], r[2]) for c, r in zip(made, results) if r[0] != "ok"]
    assert len(refused) < len(made) / 8, refused
    assert {c.target.partition(" ")[0] for c, r in zip(made, results) if r[0] == "ok" and r[3]} <= {
        "initialize", "sampled", "transform",
    }  # fmt: skip
    by: dict[str, list] = {}
    for call, result in zip(made, results):
        if result[0] == "ok":
            by.setdefault(call.target, result[1])
    assert by["schedule optimizer.lr.StepDecay"][0][1].shape == (203,)
    assert [v[1].shape for v in by["optimize optimizer.SGD"][:4]] == [(3, 4), (4,), (4, 2), (2,)]
    assert any(r[2] for c, r in zip(made, results) if c.target == "distribution distribution.Normal" and r[0] == "ok")


def test_calls_are_data_without_the_package(generator, tmp_path):
    """The other package's process has no Proa."""
    (tmp_path / "calls").write_bytes(pickle.dumps([generator.call(n) for n in range(500)]))
    code = (
        "import pickle, sys; calls = pickle.load(open(sys.argv[1], 'rb')); import fuzz.beside.runner; "
        "print(len(calls), 'proa' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "calls"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["500", "False"]


def test_a_right_call_stays_as_it_was(generator):
    """Changes are made in copies."""
    before = pickle.dumps(generator.right)
    for n in range(2000):
        str(generator.call(n))
    assert pickle.dumps(generator.right) == before


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "complex64", "uint8"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_arrays_keep_their_bytes(dtype, shape):
    a = np.random.RandomState(0).randint(0, 2, shape).astype(dtype)
    back = pickle.loads(pickle.dumps(Array.of(a))).numpy()
    assert back.dtype == a.dtype and back.shape == a.shape and np.array_equal(back, a)


def test_calls_as_text():
    x, i = Array.of(np.ones([2, 3], "float32")), Array.of(np.int64(4))
    assert str(Call("concat", ([x, x],), {"axis": i})) == "concat([float32[2, 3], float32[2, 3]], axis=int64(4))"
    call = Call("nn.Linear", (x,), {}, ((3, 4), {"bias_attr": False}), training=False)
    assert str(call) == "nn.Linear(3, 4, bias_attr=False).eval()(float32[2, 3])"
    assert calls.text((x,)) == "(float32[2, 3],)"


# Run ------------------------------------------------------------------------------------------------------------------

_X = Array.of(np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3))


def _run(made, tmp_path, modes=("eager",), **how):
    return watch.run(made, [sys.executable], "proa", str(tmp_path), modes, memory=1 << 40, **how)


def test_results_of_calls(tmp_path):
    made = [
        Call("tanh", (_X,)),
        Call("Tensor.tanh_", (_X,)),
        Call("rand", ([2],)),
        Call("concat", ([_X], 7)),
        Call("nn.Linear", (_X,), {}, ((3, 4), {})),
        Call("topk", (_X, 2)),
    ]
    tanh, in_place, random, wrong, layer, several = (r["eager"] for r in _run(made, tmp_path))
    want = np.tanh(_X.numpy())
    assert tanh[0] == "ok" and not tanh[3]
    np.testing.assert_allclose(tanh[1][0][1].numpy(), want, rtol=1e-6)
    weight = np.random.RandomState(7).randn(2, 3)
    np.testing.assert_allclose(tanh[2][0].numpy(), weight * (1 - want**2), rtol=1e-4)
    assert [v[1] for v in in_place[1]] == [tanh[1][0][1]] * 2, "what it gives and what it changed"
    np.testing.assert_allclose(in_place[2][0].numpy(), sum(_weights(2)) * (1 - want**2), rtol=1e-4)
    assert random[3] and random[1][0][1].shape == (2,)
    assert wrong[0] == "error" and "axis" in wrong[2]
    assert layer[1][0][1].shape == (2, 4) and layer[1][1] == ("py", "[('bias', [4]), ('weight', [3, 4])]")
    assert [g.shape for g in layer[2]] == [(2, 3), (4,), (3, 4)]
    assert [v[0] for v in several[1]] == ["float32", "int64"]


def _weights(count):
    return [np.random.RandomState(7 + i).randn(2, 3) for i in range(count)]


_FAULTY = """
import os, signal, time
import proa.as_paddle
import paddle
def tanh(x):
    n = int(x.shape[0])
    if n == 1: os.kill(os.getpid(), signal.SIGSEGV)
    if n == 2:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        time.sleep(1000)
    if n == 4:
        while True: pass
    if n == 5: return x * 2
    return paddle.exp(x)
paddle.tanh = tanh
"""


def test_what_dies_or_hangs_is_started_again_behind_the_call(tmp_path, monkeypatch):
    """Through an import that makes a function of the package faulty, by the size of its argument."""
    (tmp_path / "sitecustomize.py").write_text(_FAULTY)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    monkeypatch.setattr(watch, "_GRACE_SECONDS", 8)
    made = [Call("tanh", (Array.of(np.zeros([n, 2], "float32")),)) for n in (3, 1, 2, 4, 3, 1)]
    said = []
    results = _run(made, tmp_path, seconds=4, environment=environment, report=said.append)
    kinds = [r["eager"][:2] for r in results]
    died, slow = ("died", "status -11"), ("error", "_TooLong")
    assert [k[0] for k in kinds] == ["ok", "died", "died", "error", "ok", "died"]
    assert kinds[1] == died and kinds[2] == ("died", "hangs") and kinds[3] == slow and kinds[5] == died
    assert len(said) == 3 and "tanh(float32[1, 2])" in said[0]
    # And what is faulty differs from what is right.
    assert compare.beside(_run(made[:1], tmp_path)[0]["eager"], results[0]["eager"])[0] == "value"


def test_a_package_that_is_not_there(tmp_path):
    with pytest.raises(RuntimeError, match="no_package does not begin(.|\n)*ModuleNotFoundError"):
        watch.run([Call("tanh", (_X,))], [sys.executable], "no_package", str(tmp_path))


def test_memory_of_a_call_is_bounded(tmp_path):
    """2 TiB of a tensor are an error of the call; the process goes on."""
    huge = Call("zeros", ([2**20, 2**19],))
    with open("/proc/self/status", encoding="utf-8") as file:
        room = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmPeak"))
    results = watch.run([huge, Call("tanh", (_X,))], [sys.executable], "proa", str(tmp_path), memory=room + (4 << 30))
    assert results[0]["eager"][0] == "error" and results[1]["eager"][0] == "ok"


# Compared -------------------------------------------------------------------------------------------------------------


def _ok(*values, gradients=None, random=False):
    return (
        "ok",
        [(str(v.dtype), Array.of(v)) if isinstance(v, np.ndarray) else ("py", v) for v in values],
        gradients,
        random,
    )


_F = np.array([1.0, 2.0, 1000.0], "float32")
_ERROR, _DIED, _SLOW = ("error", "ValueError", "no"), ("died", "status -11", ""), ("error", "_TooLong", "")


@pytest.mark.parametrize(
    "ours, theirs, kind",
    [
        (_ok(_F), _ok(_F), "same"),
        (_ok(_F), _ok(_F + np.float32(0.05)), "same"),  # of the largest number
        (_ok(_F), _ok(_F + np.float32(0.5)), "value"),
        (_ok(_F.astype("float64")), _ok(_F.astype("float64") + 0.05), "value"),
        (_ok(_F * np.nan), _ok(_F * np.nan), "same"),
        (_ok(_F * np.nan), _ok(_F), "value"),
        (_ok(_F * np.inf), _ok(-_F * np.inf), "value"),
        (_ok(_F), _ok(_F[None]), "shape"),
        (_ok(_F), _ok(_F.astype("float64")), "dtype"),
        (_ok(_F.astype("int64")), _ok(_F.astype("int64") + 1), "value"),
        (_ok(_F), _ok(_F, _F), "count"),
        (_ok(_F), _ok(3), "dtype"),
        (_ok(3), _ok(3), "same"),
        (_ok(3.0), _ok(3.0000000001), "same"),
        (_ok("a"), _ok("b"), "value"),
        (_ok(_F, random=True), _ok(_F + 1), "same"),
        (_ok(_F, random=True), _ok(_F[:1]), "shape"),
        (_ok(_F, gradients=[Array.of(_F)]), _ok(_F, gradients=[Array.of(_F * 2)]), "gradient"),
        (_ok(_F, gradients=[Array.of(_F)]), _ok(_F, gradients=[Array.of(_F)]), "same"),
        (_ok(_F, gradients=[None]), _ok(_F, gradients=[Array.of(_F)]), "gradient"),
        (_ok(_F, gradients=[None]), _ok(_F, gradients=[Array.of(_F * 0)]), "same"),
        (_ok(_F), _ok(_F, gradients=[Array.of(_F)]), "gradient"),
        (_ok(_F, gradients="no"), _ok(_F, gradients=[Array.of(_F)]), "gradient refused"),
        (_ok(_F, gradients=[Array.of(_F)]), _ok(_F, gradients="no"), "same"),
        (_ERROR, _ok(_F), "refused"),
        (_ok(_F), _ERROR, "theirs refuses"),
        (_ERROR, _ERROR, "both refuse"),
        (_DIED, _ok(_F), "died"),
        (_ok(_F), _DIED, "theirs died"),
        (_ok(_F), None, "theirs died"),
        (_ok(_F), _SLOW, "theirs died"),
        (_SLOW, _ERROR, "hangs"),
        (("error", "RuntimeError", "std::bad_alloc"), _ERROR, "internal"),
    ],
)  # fmt: skip
def test_two_packages(ours, theirs, kind):
    assert compare.beside(ours, theirs)[0] == kind


@pytest.mark.parametrize(
    "eager, program, kind",
    [
        (_ok(_F), _ok(_F), "same"),
        (_ok(_F), _ok(_F + 1), "value"),
        (_ok(_F), _ERROR, "refused"),
        (_ok(_F), ("error", "ValueError", "known when the program is recorded"), "refused later"),
        (_ERROR, _ok(_F), "accepted"),
        (_ERROR, _ERROR, "both refuse"),
        (_ok(_F), _DIED, "died"),
        (_ok(_F), _SLOW, "hangs"),
        (_ok(_F, random=True), _ok(_F + 1), "same"),
        (_ok(_F, gradients=[Array.of(_F)]), _ok(_F, gradients=[Array.of(_F * 2)]), "gradient"),
    ],
)
def test_at_once_and_in_a_program(eager, program, kind):
    assert compare.recorded(eager, program)[0] == kind


def test_differences_are_shown_by_function():
    report, call = compare.Report(), Call("tanh", (_X,))
    for number in range(5):
        report.add(number, call, "value", "1, theirs 2")
    report.add(5, dataclasses.replace(call, target="exp"), "value", "", of="open")
    report.add(6, call, "same", "")
    assert report.lines() == [
        "       1 open value",
        "       1 same",
        "       5 value",
        "open value: exp, 1 times",
        "    --call 5: exp(float32[2, 3])\n        ",
        "value: tanh, 5 times",
        "    --call 0: tanh(float32[2, 3])\n        1, theirs 2",
        "    --call 1: tanh(float32[2, 3])\n        1, theirs 2",
    ]


@pytest.mark.parametrize("lax", [False, True])
def test_what_only_the_other_refuses_is_shown_if_asked_for(lax):
    report = compare.Report(lax)
    report.add(3, Call("tanh", (_X,)), "theirs refuses", "no")
    assert len(report.lines()) == (3 if lax else 1) and bool(report.groups) == lax


def test_calls_at_once_and_in_programs_are_the_same(capsys):
    """A short run of the tool, without another package."""
    assert proa.in_dynamic_mode()
    tool.main(["--calls", "250", "--seed", "11", "--recorded", "--memory", "1000"])
    shown = capsys.readouterr().out
    # A program of open sizes that takes more than the call at once does is reported, but no wrong answer.
    found = [line for line in shown.splitlines() if line.endswith(" times") and not line.startswith("open accepted:")]
    assert not found, shown
    counts = {
        line.split(maxsplit=1)[1]: int(line.split()[0]) for line in shown.splitlines() if line[:8].strip().isdigit()
    }
    assert counts["closed same"] > 80 and counts["open same"] > 60, counts
