"""Saving from Python: what is replaced and what is refused, writers beside each other, full disks, odd names."""

import errno
import io
import json
import multiprocessing
import os
import pickle
import random
import resource
import signal
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import proa
from proa import nn

_SPEC = [proa.static.InputSpec([None, 3], "float32", "x")]


def _layer(value):
    net = nn.Linear(3, 2)
    net.set_state_dict({"weight": proa.full([3, 2], value), "bias": proa.full([2], value)})
    return net


def _save(value, path):
    proa.save({"w": proa.full([1000], value), "v": value}, path)


def _read(path):
    loaded = proa.load(path)
    assert set(loaded["w"].tolist()) == {loaded["v"]}
    return loaded["v"]


def _jit_save(value, path):
    proa.jit.save(_layer(value), path, _SPEC)


def _jit_read(path):
    loaded = proa.jit.load(path)
    (value,) = {v for t in loaded.state_dict().values() for v in t.numpy().ravel().tolist()}
    return value


def _static_save(value, path):
    proa.static.save_to_file(path, bytes([int(value)]) * 100)


def _static_read(path):
    (value,) = set(proa.static.load_from_file(path))
    return float(value)


def _model_save(value, path):
    proa.Model(_layer(value)).save(path)


def _model_read(path):
    model = proa.Model(_layer(0.0))
    model.load(path)
    (value,) = {v for t in model.network.state_dict().values() for v in t.numpy().ravel().tolist()}
    return value


def _profile():
    with proa.profiler.Profiler(timer_only=False) as profiler:
        proa.ones([2]) + 1
    return profiler.profiler_result


# name -> (save(value, path), read(path), endings of the files)
_SAVERS = {
    "save": (_save, _read, [""]),
    "jit.save": (_jit_save, _jit_read, [".pdmodel", ".pdiparams", ".pdiparams.info"]),
    "save_to_file": (_static_save, _static_read, [""]),
    "Model.save": (_model_save, _model_read, [".pdparams"]),
}
_each = pytest.mark.parametrize("saver", _SAVERS)


@_each
def test_modes_stay(saver, tmp_path):
    save, read, endings = _SAVERS[saver]
    path = str(tmp_path / "model")
    save(1.0, path)
    mask = os.umask(0)
    os.umask(mask)
    for ending in endings:
        assert stat.S_IMODE(os.stat(path + ending).st_mode) == 0o666 & ~mask
        os.chmod(path + ending, 0o600)
    save(2.0, path)
    assert read(path) == 2.0
    for ending in endings:
        assert stat.S_IMODE(os.stat(path + ending).st_mode) == 0o600


@_each
def test_links_are_followed(saver, tmp_path):
    save, read, endings = _SAVERS[saver]
    there = tmp_path / "there"
    there.mkdir()
    for ending in endings:
        (tmp_path / f"model{ending}").symlink_to(there / f"target{ending}")
    for value in (1.0, 2.0):
        save(value, str(tmp_path / "model"))
        assert read(str(tmp_path / "model")) == read(str(there / "target")) == value
    for ending in endings:
        assert (tmp_path / f"model{ending}").is_symlink() and not (there / f"target{ending}").is_symlink()
    assert len(os.listdir(there)) == len(os.listdir(tmp_path)) - 1 == len(endings)


@_each
def test_what_is_no_regular_file_is_refused(saver, tmp_path):
    save, read, endings = _SAVERS[saver]
    for i, ending in enumerate(endings):
        path = str(tmp_path / f"{i}")
        os.mkfifo(path + ending)
        with pytest.raises(OSError) as caught:
            save(1.0, path)
        assert caught.value.errno == errno.EINVAL and caught.value.filename == path + ending
        assert "pipe" in str(caught.value)
        assert stat.S_ISFIFO(os.stat(path + ending).st_mode)
        os.unlink(path + ending)
        os.mkdir(path + ending)
        with pytest.raises(IsADirectoryError):
            save(1.0, path)
        os.rmdir(path + ending)
        # By way of a link: a device.
        os.symlink("/dev/null", path + ending)
        with pytest.raises(OSError, match="device"):
            save(1.0, path)
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_devices_and_open_files_are_refused(tmp_path):
    for path in ("/dev/null", "/dev/full", "/dev/zero"):
        with pytest.raises(OSError, match="only a regular file can be replaced") as caught:
            proa.save({}, path)
        assert caught.value.filename == path and stat.S_ISCHR(os.stat(path).st_mode)
        with pytest.raises(ValueError, match="is a device"):
            proa.load(path)
    with open(tmp_path / "log", "w") as log:
        code = "import proa; proa.save({}, '/dev/stdout')"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=log, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
    assert "a file that a process has open" in done.stderr
    assert (tmp_path / "log").stat().st_size == 0


@pytest.mark.parametrize(
    "load, ending",
    [
        (proa.load, ""),
        (proa.jit.load, ".pdmodel"),
        (proa.jit.load, ".pdiparams"),
        (lambda path: proa.Model(_layer(0.0)).load(path), ".pdparams"),
    ],
)
def test_a_pipe_is_not_waited_for(load, ending, tmp_path):
    path = str(tmp_path / "model")
    _jit_save(1.0, path)
    if os.path.exists(path + ending):
        os.unlink(path + ending)
    os.mkfifo(path + ending)
    with pytest.raises(ValueError, match="model"):
        load(path)
    os.unlink(path + ending)
    os.mkdir(path + ending)
    with pytest.raises((OSError, ValueError), match="model"):
        load(path)


def test_folders_and_files_that_may_not_be_written(tmp_path):
    path = str(tmp_path / "model")
    _save(1.0, path)
    os.chmod(path, 0o444)
    os.chmod(tmp_path, 0o777)
    closed = tmp_path / "closed"
    closed.mkdir()
    _save(1.0, str(closed / "model"))
    closed.chmod(0o555)

    def attempt():
        if os.getuid() == 0:  # who may write anything
            try:
                os.setuid(65534)
            except OSError:  # a sandbox that has no other users
                return
        for target in (path, str(closed / "model"), str(closed / "new")):
            try:
                _save(2.0, target)
            except PermissionError as error:
                assert (error.errno, error.filename) == (errno.EACCES, target), error
            else:
                raise AssertionError(target)

    if all(os.stat(p).st_mode & 1 for p in [*tmp_path.parents][:-1]):  # that the other user can get there
        _in_child(attempt)
    assert _read(path) == _read(str(closed / "model")) == 1.0


def _in_child(body):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            body()
            status = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@_each
def test_a_size_limit_is_an_error_of_the_system(saver, tmp_path):
    save, read, endings = _SAVERS[saver]
    path = str(tmp_path / "model")
    save(1.0, path)

    def attempt():
        resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))  # Python ignores SIGXFSZ
        with pytest.raises(OSError) as caught:
            save(2.0, path)
        assert caught.value.errno == errno.EFBIG and caught.value.filename in [path + e for e in endings]

    _in_child(attempt)
    assert read(path) == 1.0
    assert len(os.listdir(tmp_path)) == len(endings)


def test_a_full_disk_is_an_error_of_the_system(tmp_path):
    full = tmp_path / "disk"
    full.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96k", "none", str(full)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here; file_faults_test fails every call in turn")
    try:
        for saver, (save, read, endings) in _SAVERS.items():
            path = str(full / "model")
            save(1.0, path)
            with open(full / "filler", "wb", buffering=0) as filler, pytest.raises(OSError):
                while True:
                    filler.write(bytes(4096))
            with pytest.raises(OSError) as caught:
                save(2.0, path)
            assert caught.value.errno == errno.ENOSPC and caught.value.filename.startswith(path), saver
            assert read(path) == 1.0
            assert len(os.listdir(full)) == len(endings) + 1
            for name in os.listdir(full):
                os.unlink(full / name)
    finally:
        subprocess.run(["umount", str(full)], check=True)


@pytest.mark.parametrize("form", ["json", "pb", "perfetto", "folded", "html"])
def test_exports_of_profiles_give_errors_of_the_system(form, tmp_path):
    result = _profile()
    path = str(tmp_path / "profile")
    result.save(path, form)
    os.chmod(path, 0o600)
    before = os.path.getsize(path)

    def attempt():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
        with pytest.raises(OSError) as caught:
            result.save(path, form)
        assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, path)

    if before > 20:
        _in_child(attempt)
    assert os.path.getsize(path) == before
    result.save(path, form)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    if before > 0:
        with pytest.raises(OSError) as caught:
            result.save("/dev/full", form)
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "/dev/full")
    missing = str(tmp_path / "no" / "file")
    with pytest.raises(FileNotFoundError) as caught:
        result.save(missing, form)
    assert caught.value.filename == missing
    with pytest.raises(IsADirectoryError):
        result.save(str(tmp_path), form)
    # Nobody reads it: an error instead of a wait.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError) as caught:
        result.save(str(tmp_path / "pipe"), form)
    assert caught.value.errno == errno.ENXIO
    assert sorted(os.listdir(tmp_path)) == ["pipe", "profile"]


# Writers beside each other ------------------------------------------------------------------


@_each
def test_threads_that_save_to_one_path(saver, tmp_path):
    save, read, endings = _SAVERS[saver]
    path = str(tmp_path / "model")
    failed = []

    def work(value):
        try:
            for _ in range(15):
                save(value, path)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(float(v),)) for v in (1, 2, 3)]
    if saver in ("jit.save", "Model.save"):  # layers are recorded one at a time
        threads = threads[:1]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed
    assert read(path) in (1.0, 2.0, 3.0)
    assert len(os.listdir(tmp_path)) == len(endings)


def _writer(saver, path, value, until):
    save = _SAVERS[saver][0]
    while time.time() < until:
        save(value, path)


@_each
def test_processes_that_save_to_one_path_and_are_killed(saver, tmp_path):
    save, read, endings = _SAVERS[saver]
    path = str(tmp_path / "model")
    save(9.0, path)
    rng = random.Random(7)
    context = multiprocessing.get_context("fork")
    end = time.time() + 2.5
    workers = {}
    seen = set()
    while time.time() < end:
        for value in (1.0, 2.0, 3.0):
            if value not in workers or not workers[value].is_alive():
                workers[value] = context.Process(target=_writer, args=(saver, path, value, end))
                workers[value].start()
        for _ in range(rng.randrange(4)):
            seen.add(read(path))
        if rng.random() < 0.7:
            rng.choice(list(workers.values())).kill()
    for worker in workers.values():
        worker.join()
        assert worker.exitcode in (0, -signal.SIGKILL)
    assert seen <= {1.0, 2.0, 3.0, 9.0} and len(seen) > 1
    # The next save removes what those left that were killed.
    save(4.0, path)
    assert read(path) == 4.0
    assert len(os.listdir(tmp_path)) == len(endings), os.listdir(tmp_path)


@_each
def test_what_is_saved_while_it_changes_loads(saver, tmp_path):
    # A thread trains while another saves: any numbers, but no file whose checksum is wrong.
    path = str(tmp_path / "model")
    net = nn.Linear(600, 800)
    values = net.weight.detach()  # shares the memory
    stop = threading.Event()

    def train():
        i = 0
        while not stop.is_set():
            i += 1
            values.set_value(np.full([600, 800], i, "float32"))

    thread = threading.Thread(target=train)
    thread.start()
    try:
        for _ in range(10):
            if saver == "jit.save":
                proa.jit.save(net, path, [proa.static.InputSpec([None, 600], "float32", "x")])
                proa.jit.load(path)
            elif saver == "Model.save":
                proa.Model(net).save(path)
                proa.load(path + ".pdparams")
            else:
                proa.save(net.state_dict(), path)
                proa.load(path)
        assert thread.is_alive()
    finally:
        stop.set()
        thread.join()


# Odd values and names -----------------------------------------------------------------------


@_each
@pytest.mark.parametrize("name", ["ключ", "new\nline", "a b'c\"", ".hidden", "n" * 240, "\udcff", "x.tmp", "%s"])
def test_odd_names_of_files(saver, name, tmp_path):
    save, read, endings = _SAVERS[saver]
    path = os.path.join(str(tmp_path), name)
    for value in (1.0, 2.0):
        save(value, path)
        assert read(path) == value
    assert sorted(os.listdir(tmp_path)) == sorted(name + ending for ending in endings)
    for bad in ("\0", "a\0b"):
        with pytest.raises(ValueError, match="null"):
            save(1.0, os.path.join(str(tmp_path), bad))
    with pytest.raises(OSError) as caught:
        save(1.0, os.path.join(str(tmp_path), "n" * 300))
    assert caught.value.errno == errno.ENAMETOOLONG


def test_odd_names_and_values_of_tensors(tmp_path):
    path = str(tmp_path / "state")
    shared = proa.ones([2])
    names = ["", ".", "a.b", "a_b", "ключ", "new\nline", "\0", "__metadata__", "n" * 100000, '"', "\ud800"]
    value = {name: proa.full([1], float(i)) for i, name in enumerate(names)}
    value.update(empty={}, nested={"a": [[], (), {"b": {}}]}, same=(shared, [shared]), zero=proa.zeros([0, 3]))
    proa.save(value, path)
    loaded = proa.load(path)
    assert [loaded[name].item() for name in names] == list(range(len(names)))
    assert loaded["empty"] == {} and loaded["nested"] == value["nested"] and loaded["zero"].shape == [0, 3]
    assert loaded["same"][0] is loaded["same"][1][0]
    many = {f"layer.{i}.weight": proa.full([2], float(i)) for i in range(3000)}
    proa.save(many, path)
    loaded = proa.load(path)
    assert list(loaded) == list(many) and all(loaded[n].tolist() == [float(i)] * 2 for i, n in enumerate(many))


def test_streams():
    stream = io.BytesIO()
    proa.save({"a": proa.ones([2]), "b": [1]}, stream)
    stream.seek(0)
    loaded = proa.load(stream)
    assert loaded["a"].tolist() == [1.0, 1.0] and loaded["b"] == [1]
    stream = io.BytesIO(b"before" + stream.getvalue())
    stream.seek(6)
    assert proa.load(stream)["b"] == [1]


def test_several_values_in_a_stream(tmp_path):
    stream = io.BytesIO()
    proa.save({"a": proa.ones([2])}, stream)
    proa.save(proa.zeros([3], "int64"), stream)
    proa.save([], stream)
    ended = stream.tell()
    stream.seek(0)
    assert proa.load(stream)["a"].tolist() == [1.0, 1.0]
    assert proa.load(stream).tolist() == [0, 0, 0] and proa.load(stream) == [] and stream.tell() == ended
    for cut in (1, 30, ended // 2):
        with pytest.raises(ValueError, match="cut off|no file of tensors"):
            short = io.BytesIO(stream.getvalue()[:cut])
            while True:
                proa.load(short)
    (tmp_path / "two").write_bytes(stream.getvalue())  # a file is of one value
    with pytest.raises(ValueError, match="bytes follow the header"):
        proa.load(str(tmp_path / "two"))


def test_options(tmp_path):
    path = str(tmp_path / "state")
    for protocol in (2, 3, 4, 5):
        proa.save({}, path, protocol)
        proa.save({}, path, protocol=protocol)
        proa.save({}, path, pickle_protocol=protocol)
    for protocol in (0, 1, 6, "4", None, True, 2.0):
        with pytest.raises(ValueError, match="protocol"):
            proa.save({}, path, protocol=protocol)
    with pytest.raises(TypeError, match="no option wrong"):
        proa.save({}, path, wrong=1)
    with pytest.raises(TypeError, match="no option wrong"):
        proa.load(path, wrong=1)
    for wrong in (None, 3, ["a"]):
        with pytest.raises(TypeError, match="path must be"):
            proa.save({}, wrong)
        with pytest.raises(TypeError, match="path must be"):
            proa.load(wrong)


# Files of a model ---------------------------------------------------------------------------


def test_flags_belong_to_the_model(tmp_path):
    path = str(tmp_path / "model")
    net = _layer(1.0)
    net.bias.stop_gradient = True
    proa.jit.save(net, path, _SPEC)
    # Those that stand beside are for older versions.
    with open(path + ".pdiparams.info", "w") as info:
        json.dump({"trainable": []}, info)
    assert len(proa.jit.load(path).parameters()) == 1
    os.unlink(path + ".pdiparams.info")
    assert len(proa.jit.load(path).parameters()) == 1


def test_models_of_0_1_have_their_flags_beside(tmp_path):
    path = str(tmp_path / "model")
    proa.enable_static()
    try:
        with proa.static.program_guard(proa.static.Program(), proa.static.Program()):
            x = proa.static.data("x", [None, 3])
            weight, program = _layer(1.0).weight, proa._C.program_of(x)
            program.capture(weight, "weight")
            y = proa.matmul(x, weight)
            proa._C.save_program(path, program, ["x"], [y])  # as that version: no flags in it
    finally:
        proa.disable_static()
    module = proa._C.load_program(path)
    assert module.trainable is None
    assert proa.jit.load(path).parameters() == []
    with open(path + ".pdiparams.info", "w") as info:
        json.dump({"trainable": [name for name, _ in module.captured]}, info)
    assert len(proa.jit.load(path).parameters()) == 1
    with open(path + ".pdiparams.info", "w") as info:
        info.write("{")
    with pytest.raises(ValueError, match="model.pdiparams.info"):
        proa.jit.load(path)


def test_a_state_saved_alone_replaces_that_of_the_model(tmp_path):
    path = str(tmp_path / "model")

    def trained():
        model = proa.Model(_layer(1.0))
        optimizer = proa.optimizer.Momentum(0.1, parameters=model.network.parameters())
        model.prepare(optimizer, nn.MSELoss())
        model.network(proa.ones([1, 3])).sum().backward()
        optimizer.step()
        return model, optimizer

    model, optimizer = trained()
    model.save(path)
    state = {k: v * 0 if isinstance(v, proa.Tensor) else v for k, v in optimizer.state_dict().items()}
    proa.save(state, path + ".pdopt")
    model.load(path)
    assert all(float(abs(t).max()) == 0 for t in optimizer.state_dict().values() if isinstance(t, proa.Tensor))
    os.unlink(path + ".pdopt")
    model.load(path)


def test_together_of_files_by_hand(tmp_path):
    from proa.framework import serialization

    paths = [str(tmp_path / name) for name in ("a", "b", "c")]
    serialization.save_together({p: {"n": i} for i, p in enumerate(paths)})
    assert [v["n"] for v in serialization.load_together(paths)] == [0, 1, 2]
    # Files that were written one by one, and pickles among them.
    alone = [str(tmp_path / name) for name in ("d", "e", "f")]
    proa.save({"n": 3}, alone[0])
    (tmp_path / "e").write_bytes(pickle.dumps({"n": 4}, 2))
    assert serialization.load_together(alone) == [{"n": 3}, {"n": 4}, None]
    assert serialization.load_together(alone[1:]) == [{"n": 4}, None]
    os.unlink(paths[2])
    assert serialization.load_together(paths)[2] is None
    with open(paths[1], "r+b") as stream:
        stream.seek(20)
        stream.write(b"x")
    with pytest.raises(ValueError, match="b: "):
        serialization.load_together(paths)
