"""The launcher and spawn: who is started with what, what happens when ranks fail or are killed, and that nobody stays."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

import proa.distributed as dist
from proa.distributed.launch.meeting import Meeting
from proa.distributed.launch.options import parse
from proa.distributed.spawning import SpawnError

RANK = """
import json, os, signal, subprocess, sys, time
rank, restart = int(os.environ["RANK"]), int(os.environ["PADDLE_RESTART_COUNT"])
folder, what = sys.argv[1], sys.argv[2]
with open(f"{folder}/{restart}.{rank}.json.new", "w") as file:
    told = {n: v for n, v in os.environ.items() if n.split("_")[0] in ("PADDLE", "FLAGS", "OMP", "MASTER", "RANK", "LOCAL", "WORLD")}
    json.dump({"pid": os.getpid(), **told}, file)
os.rename(file.name, f"{folder}/{restart}.{rank}.json")  # who looks finds all of it
print("rank", rank, "here", flush=True)
if what == "tree":  # a grandchild that ignores being asked
    subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(100)"])
    open(f"{folder}/{rank}.tree", "w").close()
    time.sleep(100)
if what == "fail" and rank == 1:
    raise RuntimeError("rank one is broken")
if what == "die" and rank == 1:
    os.kill(os.getpid(), signal.SIGSEGV)
if what == "once" and rank == 0 and restart == 0:
    sys.exit(7)
if what == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if what == "usr1":
    def note(*_):
        open(f"{folder}/{rank}.usr1", "w").close()
        sys.exit(0)
    signal.signal(signal.SIGUSR1, note)
    open(f"{folder}/{rank}.waits", "w").close()
if what in ("fail", "die", "usr1"):
    time.sleep(100)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "rank.py"
    path.write_text(RANK)
    return str(path)


def _environment():
    values = {n: v for n, v in os.environ.items() if not n.startswith(("PADDLE_", "SLURM_", "OMPI_", "MASTER_"))}
    return {n: v for n, v in values.items() if n not in ("RANK", "WORLD_SIZE", "OMP_NUM_THREADS")}


def _start(*arguments):
    command = [sys.executable, "-m", "proa.distributed.launch", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_environment())


def _run(*arguments):
    process = _start(*arguments)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def _noted(folder, restart=0):
    return {int(path.name.split(".")[1]): json.loads(path.read_text()) for path in folder.glob(f"{restart}.*.json")}


def _until(condition, seconds=20):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def _sessions(pids):
    """Processes that still exist in the ranks' sessions."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
                if int(fields[3]) in pids and fields[0] != "Z":
                    found.append(int(name))
    return found


def _port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_ranks_are_told_who_they_are(script, tmp_path):
    logs = tmp_path / "logs"
    code, out, err = _run("--gpus", "2,5", "--log_dir", logs, script, tmp_path, "end")
    assert (code, out) == (0, "rank 0 here\n"), err
    assert (logs / "workerlog.1").read_text() == "rank 1 here\n"
    for rank, values in _noted(tmp_path).items():
        endpoints = values["PADDLE_TRAINER_ENDPOINTS"].split(",")
        assert len(set(endpoints)) == 2 and values["PADDLE_CURRENT_ENDPOINT"] == endpoints[rank]
        assert values["PADDLE_MASTER"] == f"{values['MASTER_ADDR']}:{values['MASTER_PORT']}" not in endpoints
        for names, want in (
            (("PADDLE_TRAINER_ID", "RANK", "LOCAL_RANK", "PADDLE_RANK_IN_NODE"), rank),
            (("PADDLE_TRAINERS_NUM", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "PADDLE_LOCAL_SIZE"), 2),
            (("FLAGS_selected_gpus",), [2, 5][rank]),
            (("OMP_NUM_THREADS",), max(1, len(os.sched_getaffinity(0)) // 2)),
        ):
            for name in names:
                assert values[name] == str(want), name
    assert len(_noted(tmp_path)) == 2


@pytest.mark.parametrize(
    "what, code, says",
    [
        ("fail", 1, ["rank 1 on 127.0.0.1 exited with code 1", "RuntimeError: rank one is broken"]),
        ("die", 128 + signal.SIGSEGV, ["killed by signal 11 (SIGSEGV)"]),
    ],
)
def test_the_first_failure(script, tmp_path, what, code, says):
    found, _, err = _run("--nproc_per_node", 3, "--log_dir", tmp_path, script, tmp_path, what)
    assert found == code and all(text in err for text in says), err
    assert not _sessions([values["pid"] for values in _noted(tmp_path).values()])


def test_a_failure_starts_all_ranks_again(script, tmp_path):
    flags = ("--nproc_per_node", 2, "--log_dir", tmp_path)
    code, _, err = _run("--max_restart", 1, *flags, script, tmp_path, "once")
    assert code == 0 and "start 2 of at most 2" in err
    assert 0 in _noted(tmp_path, 0) and len(_noted(tmp_path, 1)) == 2
    code, _, err = _run(*flags, script, tmp_path, "once")
    assert code == 7


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_ended_launcher_leaves_nobody(script, tmp_path, number):
    process = _start("--nproc_per_node", 2, "--log_dir", tmp_path, script, tmp_path, "tree")
    _until(lambda: len(list(tmp_path.glob("*.tree"))) == 2)
    pids = [values["pid"] for values in _noted(tmp_path).values()]
    assert len(_sessions(pids)) == 4
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    _until(lambda: not _sessions(pids), 5)


def test_signals_are_passed_on(script, tmp_path):
    process = _start("--nproc_per_node", 2, "--log_dir", tmp_path, script, tmp_path, "usr1")
    _until(lambda: len(list(tmp_path.glob("*.waits"))) == 2)
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=20)
    assert process.returncode == 0 and len(list(tmp_path.glob("*.usr1"))) == 2


@pytest.mark.parametrize("flag", ["--master", "--rdzv-endpoint"])
def test_machines_find_each_other(script, tmp_path, flag):
    """Two launchers of this machine stand for two machines; one has a rank asked for."""
    meet = (flag, f"127.0.0.1:{_port()}", "--nnodes", 2)
    one = _start(*meet, "--nproc_per_node", 2, "--log_dir", tmp_path / "a", script, tmp_path, "end")
    two = _start(*meet, "--rank", 0, "--log_dir", tmp_path / "b", script, tmp_path, "end")
    assert (one.communicate(timeout=30)[0], two.communicate(timeout=30)[0]) == ("rank 1 here\n", "rank 0 here\n")
    assert (one.returncode, two.returncode) == (0, 0)
    noted = _noted(tmp_path)
    assert [noted[rank]["PADDLE_NODE_RANK"] for rank in range(3)] == ["0", "1", "1"]
    assert [noted[rank]["PADDLE_LOCAL_RANK"] for rank in range(3)] == ["0", "0", "1"]
    assert len({noted[rank]["PADDLE_MASTER"] for rank in range(3)}) == 1


def test_a_failure_ends_all_machines(script, tmp_path):
    meet = ("--master", f"127.0.0.1:{_port()}", "--nnodes", 2, "--log_dir", tmp_path)
    both = [_start(*meet, script, tmp_path, "fail") for _ in range(2)]
    texts = [process.communicate(timeout=30)[1] for process in both]
    assert [process.returncode for process in both] == [1, 1]
    assert sum("RuntimeError: rank one is broken" in text for text in texts) == 1
    assert not _sessions([values["pid"] for values in _noted(tmp_path).values()])


def test_a_lost_machine_is_replaced_or_done_without(script, tmp_path):
    meet = ("--master", f"127.0.0.1:{_port()}", "--nnodes", "1:2", "--elastic_timeout", 12, "--log_dir", tmp_path)
    first = _start(*meet, "--rank", 0, script, tmp_path, "usr1")
    time.sleep(0.3)
    second = _start(*meet, script, tmp_path, "usr1")
    _until(lambda: len(list(tmp_path.glob("*.waits"))) == 2)
    second.kill()
    second.communicate()
    _until(lambda: (tmp_path / "1.0.json").exists())
    _until(lambda: _noted(tmp_path, 1)[0]["WORLD_SIZE"] == "1")
    (tmp_path / "0.usr1").unlink(missing_ok=True)
    time.sleep(0.3)
    first.send_signal(signal.SIGUSR1)
    _, err = first.communicate(timeout=20)
    assert first.returncode == 0 and "has left" in err or "closed the connection" in err, err


def test_another_program_at_the_master(script, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        code, _, err = _run(
            "--master", f"127.0.0.1:{server.getsockname()[1]}", "--nnodes", 2, "--elastic_timeout", 3, script, tmp_path, "end"
        )  # fmt: skip
    assert code == 1 and "another program" in err


def test_a_stranger_is_turned_away(script, tmp_path):
    meet = ("--master", f"127.0.0.1:{_port()}", "--nnodes", 2, "--elastic_timeout", 4, "--log_dir", tmp_path)
    one = _start(*meet, "--job_id", "a", "--rank", 0, script, tmp_path, "end")
    time.sleep(1.0)
    code, _, err = _run(*meet, "--job_id", "b", script, tmp_path, "end")
    assert code == 1 and "this is job 'a'" in err, err
    assert "1 of 2 machines came within 4 seconds" in one.communicate(timeout=20)[1]


@pytest.mark.parametrize(
    "flags, error, says",
    [
        ("--nnodes 2:1 x.py", ValueError, "the least and the most"),
        ("--nnodes 2 x.py", ValueError, "need --master"),
        ("--nproc_per_node 0 x.py", ValueError, "must be a positive number"),
        ("--devices 0,0 x.py", ValueError, "names a device twice"),
        ("--devices a x.py", ValueError, "'a' is not a device's number"),
        ("--devices 0,1,2 --nproc_per_node 2 x.py", ValueError, "does not divide the 3 devices"),
        ("--ips 1.1.1.1,1.1.1.2 --nnodes 3 x.py", ValueError, "--ips with 2 machines"),
        ("--nnodes 2 --master zk://a:1 x.py", ValueError, "or in a server at etcd://address:port"),
        ("--nnodes 2 --master etcd://a:b x.py", ValueError, "must be address:port"),
        ("--nnodes 2 --master a:1 --rank 2 x.py", ValueError, "numbers go from 0 to 1"),
        ("--nnodes 2 --master a:b x.py", ValueError, "must be address:port"),
        ("--max_restart -1 x.py", ValueError, "must not be negative"),
        ("--run_mode ps x.py", NotImplementedError, "no parameter servers"),
        ("--server_num 2 --worker_num 2 x.py", NotImplementedError, "no parameter servers"),
    ],
)
def test_contradicting_flags(flags, error, says):
    with pytest.raises(error, match=says):
        parse(flags.split())


def test_flag_families(monkeypatch):
    assert parse("--gpus 0,1,2,3 train.py --lr 1".split()).processes == 4
    plan = parse("--ips 10.0.0.7,10.0.0.8 --host 10.0.0.8 --nproc_per_node 2 train.py".split())
    assert (plan.nodes, plan.master, plan.node_rank) == ((2, 2), ("10.0.0.7", 6070), 1)
    plan = parse("--nnodes=2 --node-rank=1 --master-addr=h --master-port=9 --nproc-per-node=2 -m a.b c".split())
    assert (plan.master, plan.node_rank, plan.module, plan.script, plan.arguments) == (("h", 9), 1, True, "a.b", ["c"])
    monkeypatch.setenv("PADDLE_ELASTIC_NP", "2:4")
    monkeypatch.setenv("PADDLE_ELASTIC_SERVER", "10.0.0.1:2379")
    plan = parse(["train.py"])
    assert (plan.nodes, plan.master, str(plan.etcd), plan.restarts) == ((2, 4), None, "etcd://10.0.0.1:2379", 3)
    assert parse("--elastic_server h --np 3 x.py".split()).etcd == ("h", 2379, "")
    assert parse("--master etcd://[::1]:5/a/b --nnodes 2 x.py".split()).etcd == ("::1", 5, "/a/b")
    assert parse(["--standalone", "train.py"]).nodes == (1, 1)


class _Clock:
    now = 0.0

    def __call__(self):
        return self.now


def _offer(rank=-1):
    return {"rank": rank, "processes": 1, "host": "h", "ports": [1, 2]}


def test_rules_of_a_meeting():
    """Numbers, growth, loss and the limit of restarts, without sockets and time."""
    clock = _Clock()
    meeting = Meeting((2, 3), restarts=1, timeout=100, clock=clock)

    def heard():
        meeting.tick()
        return {key: (m["kind"], m.get("number")) for key, m in meeting.messages()}

    meeting.join("a", _offer())
    assert heard() == {}
    meeting.join("b", _offer(0))
    assert heard() == {}  # a third one may still come
    clock.now += 3
    assert heard() == {"a": ("start", 1), "b": ("start", 0)}
    meeting.join("c", _offer())
    assert heard() == {"a": ("regroup", None), "b": ("regroup", None)} and meeting.restarts == 0
    meeting.ready("a", _offer()), meeting.ready("b", _offer(0))
    assert heard() == {"a": ("start", 1), "b": ("start", 0), "c": ("start", 2)}
    meeting.join("d", _offer())
    assert heard() == {"d": ("refuse", None)}
    meeting.leave("a")
    assert heard() == {"b": ("regroup", None), "c": ("regroup", None)} and meeting.restarts == 1
    meeting.ready("b", _offer(0)), meeting.ready("c", _offer())
    clock.now += 3
    assert heard() == {"b": ("start", 0), "c": ("start", 1)}
    meeting.done("b")
    assert heard() == {}
    meeting.failed("c", 9, "broken")
    assert heard() == {"b": ("stop", None), "c": ("stop", None)}
    late = Meeting((2, 2), restarts=0, timeout=5, clock=clock)
    late.join("a", _offer())
    clock.now += 6
    late.tick()
    assert [m["why"] for _, m in late.messages()] == ["1 of 2 machines came within 5 seconds"]


# spawn ------------------------------------------------------------------------------------------------------------------


def _note(folder, text):
    with open(f"{folder}/{dist.get_rank()}", "w") as file:
        file.write(f"{text} {dist.get_world_size()} {os.environ['OMP_NUM_THREADS']} {os.getpid()}")


def _fail(folder, how):
    with open(f"{folder}/{dist.get_rank()}", "w") as file:
        file.write(str(os.getpid()))
    if dist.get_rank() == 1:
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise KeyError("a key of rank 1")
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    time.sleep(100)


def test_spawn(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = dict(os.environ)
    dist.spawn(_note, (str(tmp_path), "hello"), nprocs=2)
    texts = [(tmp_path / str(rank)).read_text().split() for rank in range(2)]
    threads = str(max(1, len(os.sched_getaffinity(0)) // 2))
    assert [text[:3] for text in texts] == [["hello", "2", threads]] * 2
    assert str(os.getpid()) not in [text[3] for text in texts] and dict(os.environ) == before


@pytest.mark.parametrize("how, says", [("raise", "KeyError: 'a key of rank 1'"), ("kill", "SIGKILL")])
def test_spawn_raises_the_error_of_the_rank(tmp_path, how, says):
    context = dist.spawn(_fail, (str(tmp_path), how), nprocs=2, join=False)
    with pytest.raises(SpawnError, match=says) as caught:
        context.join()
    assert caught.value.rank == 1 and (how == "kill" or isinstance(caught.value.__cause__, KeyError))
    assert not any(process.is_alive() for process in context.processes)


def test_spawn_from_a_script(tmp_path):
    script = tmp_path / "main.py"
    script.write_text(
        "import proa.distributed as dist\n"
        "def train(folder):\n"
        "    open(f'{folder}/{dist.get_rank()}.ran', 'w').close()\n"
        "if __name__ == '__main__':\n"
        f"    dist.spawn(train, ({str(tmp_path)!r},), nprocs=2)\n"
    )
    subprocess.run([sys.executable, str(script)], check=True, timeout=60, env=_environment())
    assert sorted(path.name for path in tmp_path.glob("*.ran")) == ["0.ran", "1.ran"]


def test_join_has_a_limit(tmp_path):
    context = dist.spawn(time.sleep, (30,), nprocs=2, join=False)
    assert context.join(0.2) is False
    os.kill(context.processes[0].pid, signal.SIGKILL)
    with pytest.raises(SpawnError, match="process 0 of 2"):
        context.join()
