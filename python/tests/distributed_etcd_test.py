"""Ranks and launchers that meet in an etcd server (Debian's etcd-server), and do without a machine that is lost."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from proa import _C
from proa.distributed.environment import etcd_place, job
from python.tests import ranks

_PROGRAM = next((path for path in ("/usr/bin/etcd", "/usr/local/bin/etcd") if os.access(path, os.X_OK)), None)

needs_etcd = pytest.mark.skipif(_PROGRAM is None, reason="there is no etcd here: Debian's etcd-server has it")


@pytest.fixture
def server(tmp_path):
    """The address of an etcd of this test."""
    client, peer = (f"http://127.0.0.1:{ranks.free_port()}" for _ in range(2))
    process = subprocess.Popen(
        [_PROGRAM, f"--data-dir={tmp_path}/etcd", f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
         f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}",
         "--unsafe-no-fsync"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    yield client.removeprefix("http://")
    process.kill()
    process.wait()


def _store(server, prefix=""):
    host, port = server.split(":")
    return _C.distributed.EtcdStore(host, int(port), prefix, 20.0)


@needs_etcd
def test_ranks_meet_in_it(server):
    source = """
dist.init_parallel_env()
x = proa.ones([3]) * (dist.get_rank() + 1)
dist.all_reduce(x)
pair = dist.new_group([0, 2], backend="gloo")
if pair.is_member():
    dist.all_reduce(x, group=pair)
dist.barrier()
print(x.tolist())
"""
    out = ranks.run(source, 3, PADDLE_MASTER=f"etcd://{server}/jobs/one")
    assert out == ["[12.0, 12.0, 12.0]\n", "[6.0, 6.0, 6.0]\n", "[12.0, 12.0, 12.0]\n"]
    assert _store(server, "/jobs/one").clear() == 0  # nothing stays


@needs_etcd
def test_a_rank_that_never_comes(server):
    source, place = "dist.init_parallel_env()", f"etcd://{server}/late"
    process = ranks.start(source, 1, PADDLE_MASTER=place, PADDLE_TRAINERS_NUM="2", PROA_INIT_TIMEOUT="1")[0]
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0 and "within 1 s" in err


def test_no_server(monkeypatch):
    process = ranks.start(
        "dist.init_parallel_env()", 1, PADDLE_MASTER=f"etcd://127.0.0.1:{ranks.free_port()}", PADDLE_TRAINERS_NUM="2",
        PROA_INIT_TIMEOUT="1",
    )[0]  # fmt: skip
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0 and "cannot connect to 127.0.0.1" in err


def test_places(monkeypatch):
    assert etcd_place("10.0.0.1:2379", "x") is None
    assert etcd_place("etcd://h", "x") == ("h", 2379, "")
    assert str(etcd_place("etcd://[::1]:7/a/b/", "x")) == "etcd://[::1]:7/a/b"
    assert etcd_place("etcd://h:1", "x").below("job").prefix == "/job"
    with pytest.raises(ValueError, match="x='h:99999'"):
        etcd_place("etcd://h:99999/a", "x")
    for name in ("PADDLE_TRAINER_ENDPOINTS", "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    monkeypatch.setenv("PADDLE_MASTER", "etcd://h:1/a")
    assert job().etcd == ("h", 1, "/a") and job().master is None


RANK = """
import os, pathlib, sys, time
import proa, proa.distributed as dist
dist.init_parallel_env()
folder, restart = pathlib.Path(sys.argv[1]), os.environ["PADDLE_RESTART_COUNT"]
x = proa.ones([1])
dist.all_reduce(x)
(folder / f"{restart}.{dist.get_rank()}.of{int(x)}.{os.environ['MACHINE']}").touch()
while not (folder / "enough").exists():
    time.sleep(0.05)
"""


def _launch(server, folder, machine, *more):
    environment = {n: v for n, v in os.environ.items() if not n.startswith(("PADDLE_", "MASTER_"))}
    environment |= {"MACHINE": machine, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "proa.distributed.launch", "--elastic_server", server, "--job_id", "job", "--nnodes", "1:3",
         "--elastic_timeout", "40", "--log_dir", f"{folder}/{machine}", *more, f"{folder}/rank.py", folder],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _until(condition, processes, seconds=60):
    limit = time.monotonic() + seconds
    while not condition():
        for process in processes:
            assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < limit
        time.sleep(0.05)


def _begun(folder, size):
    """Machines of a round with so many ranks that all have begun."""
    found = {}
    for path in pathlib.Path(folder).glob(f"*.of{size}.*"):
        restart, _, _, machine = path.name.split(".")
        found.setdefault(restart, set()).add(machine)
    return [machines for machines in found.values() if len(machines) == size]


@needs_etcd
def test_machines_leave_and_join(server, tmp_path):
    """The machine that has the meeting is killed: the other one goes on alone, and a third joins it."""
    (tmp_path / "rank.py").write_text(RANK)
    first = _launch(server, tmp_path, "a")
    time.sleep(1.5)
    second = _launch(server, tmp_path, "b")
    _until(lambda: _begun(tmp_path, 2) == [{"a", "b"}], [first, second])
    first.send_signal(signal.SIGKILL)
    first.communicate()
    _until(lambda: {"b"} in _begun(tmp_path, 1), [second])
    third = _launch(server, tmp_path, "c")
    _until(lambda: {"b", "c"} in _begun(tmp_path, 2), [second, third])
    (tmp_path / "enough").touch()
    for process in (second, third):
        _, err = process.communicate(timeout=40)
        assert process.returncode == 0, err
    # The place is free for another job of the name.
    assert _store(server, "/job").clear() == 0


@needs_etcd
def test_a_launcher_that_is_ended_leaves_its_place(server, tmp_path):
    (tmp_path / "rank.py").write_text(RANK)
    first = _launch(server, tmp_path, "a")
    time.sleep(1.5)
    second = _launch(server, tmp_path, "b")
    _until(lambda: _begun(tmp_path, 2) == [{"a", "b"}], [first, second])
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=40)
    assert first.returncode == 128 + signal.SIGTERM
    _until(lambda: {"b"} in _begun(tmp_path, 1), [second])
    (tmp_path / "enough").touch()
    _, err = second.communicate(timeout=40)
    assert second.returncode == 0 and "machines meet again" in err


def test_no_server_for_a_launcher(tmp_path):
    (tmp_path / "rank.py").write_text(RANK)
    process = _launch(f"127.0.0.1:{ranks.free_port()}", tmp_path, "a", "--elastic_timeout", "1")
    _, err = process.communicate(timeout=40)
    assert process.returncode == 1 and "does not answer" in err
