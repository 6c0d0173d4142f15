"""States of optimizers in mapped files: the same numbers, elsewhere."""

import os

import numpy as np
import pytest

import proa
from proa import nn
from proa.distributed import checkpoint
from proa.distributed.groups import run_threads
from proa.distributed.sharding import group_sharded_parallel

SIZE = 64  # a state of 64 x 64 float32 takes four pages


def _file_at(address):
    """The file that is mapped at an address, "" for none."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            bounds, *rest = line.split(maxsplit=5)
            low, high = (int(bound, 16) for bound in bounds.split("-"))
            if low <= address < high:
                return rest[4].strip() if len(rest) > 4 else ""
    return ""


def _make(low=False):
    net = nn.Sequential(nn.Linear(SIZE, SIZE), nn.Tanh(), nn.Linear(SIZE, 2))
    for i, p in enumerate(net.parameters()):
        p.set_value(np.random.RandomState(i).randn(*p.shape).astype("float32") * 0.1)
    adam = proa.optimizer.AdamW(0.01, parameters=net.parameters(), multi_precision=low)
    if low:
        return proa.amp.decorate(net, adam, level="O2", dtype="bfloat16")
    return net, adam


def _steps(net, adam, count, low=False, first=0):
    for step in range(first, first + count):
        x = proa.to_tensor(np.random.RandomState(step).randn(4, SIZE).astype("float32"))
        with proa.amp.auto_cast(enable=low, level="O2", dtype="bfloat16"):
            loss = (net(x) ** 2).mean()
        loss.backward()
        adam.step(), adam.clear_grad()
    return {name: t.astype("float32").numpy() for name, t in net.state_dict().items()}


def _inner(adam):
    while hasattr(adam, "_inner_opt"):
        adam = adam._inner_opt
    return adam


@pytest.mark.parametrize("low", [False, True], ids=["float32", "O2"])
@pytest.mark.parametrize("level", ["os", "os_g", "p_g_os"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_same_bits_in_files(ranks, level, low, tmp_path):
    def body(offload):
        net, adam = _make(low)
        model, adam, _ = group_sharded_parallel(net, adam, level, offload=offload)
        state = _steps(model, adam, 4, low)
        inner = _inner(adam)
        tensors = [t for by in inner._accumulators.values() for t in by.values()] + list(inner._master_weights.values())
        files = {t.name: _file_at(t.data_ptr()) for t in tensors if t.size * t.element_size() >= 4096}
        return state, files

    folder = str(tmp_path)
    plain, mapped = run_threads(lambda: body(False), ranks), run_threads(lambda: body(folder), ranks)
    for (want, not_there), (found, files) in zip(plain, mapped):
        for name in want:
            np.testing.assert_array_equal(found[name], want[name])
        assert len(files) == len(not_there) >= (3 if low else 2)  # of the large weight
        assert all(file.startswith(folder) and "(deleted)" in file for file in files.values()), files
        assert not any(folder in file for file in not_there.values())
    assert os.listdir(folder) == []  # nothing is left behind


def test_they_go_into_checkpoints(tmp_path):
    folder = str(tmp_path / "states")
    os.mkdir(folder)
    want = _steps(*_make(), 4)
    net, adam = _make()
    net, adam, _ = group_sharded_parallel(net, adam, "os", offload=folder)
    _steps(net, adam, 2)
    checkpoint.save(str(tmp_path / "checkpoints"), net, adam, 2)
    net, adam = _make()
    net, adam, _ = group_sharded_parallel(net, adam, "os", offload=folder)
    assert checkpoint.load(str(tmp_path / "checkpoints"), net, adam).step == 2
    found = _steps(net, adam, 2, first=2)
    for name in want:
        np.testing.assert_array_equal(found[name], want[name])
    assert _file_at(_inner(adam)._accumulators["moment1"][net.parameters()[0].name].data_ptr()).startswith(folder)


def test_where(tmp_path, monkeypatch):
    from proa.distributed.fleet.meta_parallel.sharding.offload import folder_of

    monkeypatch.setenv("PROA_OFFLOAD_DIR", str(tmp_path))
    assert folder_of(True) == str(tmp_path) and folder_of("/x") == "/x"
    net, adam = _make()
    group_sharded_parallel(net, adam, "os", offload=True)
    _steps(net, adam, 1)
    state = adam._accumulators["moment2"][net.parameters()[0].name]
    assert _file_at(state.data_ptr()).startswith(str(tmp_path))
    with pytest.raises(ValueError, match="there is no folder"):
        group_sharded_parallel(*_make(), "os", offload=str(tmp_path / "missing"))


def test_a_full_disk_is_an_error_in_the_step(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    net, adam = _make()
    net, adam, _ = group_sharded_parallel(net, adam, "os", offload=str(tmp_path))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left"):
        _steps(net, adam, 1)
