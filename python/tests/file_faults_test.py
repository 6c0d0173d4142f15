"""Files change as a whole: a process that is killed, or whose disk is full, at any call by which files change.

`file_faults.so`, preloaded, strikes at the n-th such call; each test goes through all of them.
"""

import os
import pathlib
import subprocess
import sys

import pytest

_LIBRARY = pathlib.Path("python/tests/file_faults.so")
if not _LIBRARY.exists():
    _LIBRARY = "bazel-bin" / _LIBRARY

_DRIVER = '''
import ctypes, errno, os, shutil, signal, sys, tempfile
import numpy as np
import proa
from proa import nn

faults = ctypes.CDLL(None)
KILL, HALF_THEN_KILL = -1, -2
folder = tempfile.mkdtemp(dir=sys.argv[2])
path = os.path.join(folder, "model")


def layer(value):
    net = nn.Linear(3, 2)
    net.set_state_dict({"weight": proa.full([3, 2], value), "bias": proa.full([2], value)})
    net.bias.stop_gradient = value == 1.0     # flags belong to the model too
    return net


def save(value):
    proa.save({"a": proa.full([1 << 16], value), "b": [value]}, path)


def state():
    loaded = proa.load(path)
    assert set(loaded["a"].tolist()) == {loaded["b"][0]}
    return loaded["b"][0]


def jit_save(value):
    proa.jit.save(layer(value), path, [proa.static.InputSpec([None, 3], "float32", "x")])


def jit_state():
    loaded = proa.jit.load(path)
    values = {v for t in loaded.state_dict().values() for v in t.numpy().ravel().tolist()}
    (value,) = values
    assert sum(not p.stop_gradient for p in loaded.parameters()) == (1 if value == 1.0 else 2)
    assert loaded(proa.ones([1, 3])).numpy()[0, 0] == 4 * value
    return value


def static_save(value):
    proa.enable_static()
    main = proa.static.Program()
    with proa.static.program_guard(main, proa.static.Program()):
        x = proa.static.data("x", [None, 3])
        y = x * proa.to_tensor(np.full([3], value, "float32"))
    proa.static.save_inference_model(path, [x], [y], proa.static.Executor(), program=main)
    proa.disable_static()


def static_state():
    proa.enable_static()
    executor = proa.static.Executor()
    program, feeds, fetches = proa.static.load_inference_model(path, executor)
    (out,) = executor.run(program, feed={feeds[0]: np.ones([1, 3], "float32")}, fetch_list=fetches)
    proa.disable_static()
    (value,) = set(out.ravel().tolist())
    return value


def state_program(value):
    proa.enable_static()
    main = proa.static.Program()
    with proa.static.program_guard(main, proa.static.Program()):
        y = proa.static.nn.fc(proa.static.data("x", [None, 3]), 2)
    main.set_state_dict({n: np.full(t.shape, value, "float32") for n, t in main.state_dict().items()})
    return main


def state_save(value):
    proa.static.save(state_program(value), path)
    proa.disable_static()


def state_state():
    values = {v for array in proa.static.load_program_state(path).values() for v in array.ravel().tolist()}
    (value,) = values
    return value


def trained(value):
    model = proa.Model(layer(value))
    optimizer = proa.optimizer.Adam(value, parameters=model.network.parameters())
    model.prepare(optimizer, nn.MSELoss())
    return model, optimizer


def model_save(value):
    model, optimizer = trained(value)
    model.network.bias.stop_gradient = False
    (model.network(proa.full([1, 3], value)).sum() * value).backward()
    optimizer.step()
    model.network.set_state_dict(layer(value).state_dict())
    model.save(path)


def model_state():
    model, optimizer = trained(5.0)
    model.load(path)
    value = model.network.weight.numpy()[0, 0]
    moments = [t.numpy() for k, t in optimizer.state_dict().items() if "moment1" in k]
    assert moments and any(np.allclose(m, 0.1 * value * value) for m in moments), (value, moments)
    return value


SAVERS = {
    "save": (save, state, {"model"}),
    "jit": (jit_save, jit_state, {"model.pdmodel", "model.pdiparams", "model.pdiparams.info"}),
    "static": (static_save, static_state, {"model.pdmodel", "model.pdiparams"}),
    "state": (state_save, state_state, {"model.pdparams", "model.pdopt"}),
    "model": (model_save, model_state, {"model.pdparams", "model.pdopt"}),
}
write, read, files = SAVERS[sys.argv[1]]


def child(at, action):
    """Saves 2.0 over 1.0 in a child; (its exit status, number of calls)."""
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 9
        faults.file_faults_arm(at, action)
        try:
            write(2.0)
            status = 0
        except OSError as error:
            faults.file_faults_disarm()
            status = 1
            if error.errno != action or not error.filename.startswith(path):
                print("wrong error:", at, action, repr(error), error.filename, flush=True)
                status = 8
        except BaseException as error:
            print("wrong error:", at, action, repr(error), flush=True)
        count = faults.file_faults_disarm()
        os.write(there, str(count).encode())
        os._exit(status)
    os.close(there)
    _, status = os.waitpid(pid, 0)
    text = os.read(here, 20)
    os.close(here)
    return status, int(text or -1)


def fresh(before):
    """The old model, or none; and nothing that an earlier child left."""
    write(1.0)
    assert set(os.listdir(folder)) == files, os.listdir(folder)
    assert read() == 1.0
    if not before:
        for name in files:
            os.unlink(os.path.join(folder, name))


def found():
    try:
        return read()
    except FileNotFoundError:
        return None


seen = set()
for action in (KILL, HALF_THEN_KILL, errno.ENOSPC, errno.EIO, errno.EINTR):
    for before in (True, False):
        fresh(before)
        old = 1.0 if before else None
        status, calls = child(0, 0)
        assert status == 0 and calls > 5, (status, calls)
        for at in range(1, calls + 1):
            fresh(before)
            status, _ = child(at, action)
            after = found()
            where = at, action, status, before, after, sorted(os.listdir(folder))
            if action < 0:
                assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL or action == HALF_THEN_KILL, where
                assert after in (old, 2.0), where
            else:
                assert os.waitstatus_to_exitcode(status) in (0, 1), where
                # Said to be saved, it is; an error leaves the old model, unless only a name was still to be given.
                assert after == 2.0 if status == 0 else after in (old, 2.0), where
            seen.add((action, status == 0, after))
        fresh(True)
print(len(seen), "outcomes;", calls, "calls")
for action in (KILL, HALF_THEN_KILL):
    assert {a for x, _, a in seen if x == action} == {None, 1.0, 2.0}, seen
for action in (errno.ENOSPC, errno.EIO):
    assert (action, False, 1.0) in seen, seen
'''


def _run(*arguments):
    assert _LIBRARY.exists(), "build //python/tests:file_faults.so"
    preload = ":".join(p for p in (os.environ.get("LD_PRELOAD"), str(_LIBRARY.resolve())) if p)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LD_PRELOAD": preload}
    return subprocess.run(
        [sys.executable, "-c", _DRIVER, *arguments], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("saver", ["save", "jit", "static", "state", "model"])
def test_a_fault_at_any_call_leaves_the_old_or_the_new(saver, tmp_path):
    done = _run(saver, str(tmp_path))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
