"""What ranks say when one of them dies, disagrees, or never comes; and that they end."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

import proa
import proa.distributed as dist
from proa.distributed.groups import run_threads
from python.tests import ranks

_LIMIT = 5.0  # seconds in which the others raise


def _kill(source, victim, count, says, **environment):
    """Rank `victim` kills itself at `kill()`; the others must fail within the limit. Their errors."""
    kill = f"""
def kill():
    if int(os.environ["PADDLE_TRAINER_ID"]) == {victim}:
        print(time.time(), flush=True)
        os.kill(os.getpid(), {signal.SIGKILL})
"""
    processes = ranks.start(kill + source, count, **environment)
    began = time.time()
    outputs = [p.communicate(timeout=60) for p in processes]
    killed = re.search(r"^[\d.]+$", outputs[victim][0], re.M)
    assert killed, outputs[victim]
    # Python's own end takes its time; the error's own time is what the program printed.
    for rank, (p, (out, err)) in enumerate(zip(processes, outputs)):
        if rank == victim:
            assert p.returncode == -signal.SIGKILL
            continue
        assert p.returncode != 0, f"rank {rank} did not notice: {out}"
        assert re.search(says, err), err
        raised = re.search(r"^raised ([\d.]+)$", out, re.M)
        assert raised, (out, err)
        assert float(raised[1]) - float(killed[0]) < _LIMIT
    assert time.time() - began < 60


_BODY = """
try:
    {0}
except RuntimeError:
    print("raised", time.time(), flush=True)
    raise
"""


_WAYS = {"shared memory": {"PROA_SHARED_MEMORY": "1"}, "sockets": {"PROA_SHARED_MEMORY": "0"}} | {
    name: {"PADDLE_DISTRI_BACKEND": name} for name in proa._C.distributed.backends() if name != "proa"
}


@pytest.mark.parametrize("victim", [0, 2])
@pytest.mark.parametrize("way", _WAYS)
def test_killed_in_all_reduce(victim, way):
    source = """
dist.init_parallel_env()
x = proa.ones([100000])
for i in range(3):
    dist.all_reduce(x)
kill()
""" + _BODY.format("dist.all_reduce(x)")
    says = rf"all_reduce #4 \(.*\): rank {victim} (died|has left the job)"
    _kill(source, victim, 3, says, **_WAYS[way])


@pytest.mark.parametrize("way", _WAYS)
def test_killed_while_bytes_are_under_way(way):
    source = """
import threading
dist.init_parallel_env()
x = proa.ones([1 << 22])
dist.all_reduce(x)
def later():
    time.sleep(0.2)
    kill()
threading.Thread(target=later).start()
def many():
    for i in range(10000):
        dist.all_reduce(x)
""" + _BODY.format("many()")
    _kill(source, 1, 3, r"all_reduce #\d+ \(.*\): rank 1 (died|has left the job)", **_WAYS[way])


@pytest.mark.parametrize("way", _WAYS)
def test_stopped_while_bytes_are_under_way(way):
    # It lives and does nothing, so only the limit tells.
    source = """
import signal, threading
dist.init_parallel_env()
group = dist.new_group(timeout=2)
x = proa.ones([1 << 22])
dist.all_reduce(x, group=group)
pid = os.getpid()
if dist.get_rank() == 1:
    if os.fork() == 0:
        time.sleep(0.3)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(4)
        os.kill(pid, signal.SIGKILL)
        os._exit(0)
try:
    for i in range(10000):
        dist.all_reduce(x, group=group)
except RuntimeError as error:
    print(error, flush=True)
    os._exit(7)
"""
    processes = ranks.start(source, 3, **_WAYS[way])
    outputs = [p.communicate(timeout=60)[0] for p in processes]
    # Who finds it first ends, and that may be what the other one sees.
    found = "rank 1 never entered all_reduce|all ranks entered it, and it did not end"
    assert processes[0].returncode == processes[2].returncode == 7, outputs
    assert any(re.search(found, outputs[rank]) for rank in (0, 2)), outputs
    for rank, other in ((0, 2), (2, 0)):
        assert re.search(rf"{found}|rank {other} (died|has left)", outputs[rank]), outputs


def test_killed_while_others_do_not_wait_for_it():
    # Ranks 0 and 1 wait for each other's message, and rank 1 for the dead one.
    source = """
dist.init_parallel_env()
x = proa.ones([4])
dist.barrier()
kill()
""" + _BODY.format("dist.recv(x, 2 if dist.get_rank() == 1 else 1)")
    _kill(source, 2, 3, r"receive from rank [12] #1 .*rank [12] (died|has left|is gone)")


def test_killed_at_the_start():
    source = """
if os.environ["PADDLE_TRAINER_ID"] == "1":
    host, port = os.environ["PADDLE_MASTER"].split(":")
    store = proa._C.distributed.TcpStore(host, int(port), 30.0, 1)
    kill()
""" + _BODY.format("dist.init_parallel_env()")
    _kill(source, 1, 3, "init_parallel_env: rank 1 died while rank [02] waited for all")


def test_who_starts_after_another_one_died():
    """The store of the failed meeting stays a while, so that it hears why, and does not wait for its whole limit."""
    source = """
number = os.environ["PADDLE_TRAINER_ID"]
if number == "1":
    host, port = os.environ["PADDLE_MASTER"].split(":")
    store = proa._C.distributed.TcpStore(host, int(port), 30.0, 1)
    kill()
if number == "2":
    time.sleep(3)
""" + _BODY.format("dist.init_parallel_env()")
    _kill(source, 1, 3, "init_parallel_env: rank 1 died while rank [02] waited for all")


def test_a_meeting_that_failed_may_be_tried_again():
    """In the same process, which must not find its own port taken."""
    source = """
if os.environ["PADDLE_TRAINER_ID"] == "1":
    time.sleep(4)
    dist.init_parallel_env()
    print("met")
else:
    try:
        os.environ["PROA_INIT_TIMEOUT"] = "2"
        dist.init_parallel_env()
    except RuntimeError as error:
        assert "did not come within 2" in str(error), error
    os.environ["PROA_INIT_TIMEOUT"] = "20"
    dist.init_parallel_env()
    print("met")
"""
    assert ranks.run(source, 2, timeout=60, PROA_INIT_TIMEOUT="20") == ["met\n"] * 2


def test_rank_0_killed_at_the_start():
    # Others have met the store, which ends with its process.
    source = """
if os.environ["PADDLE_TRAINER_ID"] == "0":
    server = proa._C.distributed.TcpStoreServer(int(os.environ["PADDLE_MASTER"].split(":")[1]))
    time.sleep(3)
    kill()
""" + _BODY.format("dist.init_parallel_env()")
    _kill(source, 0, 2, "store 127.0.0.1:\\d+ has vanished", PROA_INIT_TIMEOUT="30")


_FORK = """
dist.init_parallel_env()
rank = dist.get_rank()
dist.all_reduce(proa.ones([2]))
"""


def test_a_forked_child_says_nothing_for_its_rank():
    """It ends, or tries to take part: the job goes on."""
    source = (
        _FORK
        + """
if os.fork() == 0:
    assert (dist.get_rank(), dist.get_world_size()) == (rank, 2)
    for call in (lambda: dist.all_reduce(proa.ones([2])), lambda: dist.new_group([0, 1]), dist.barrier):
        try:
            call()
        except RuntimeError as error:
            assert f"was forked by rank {rank} and is no rank of the job" in str(error), error
        else:
            raise AssertionError("it took part")
    dist.destroy_process_group() if rank == 0 else None
    print("child", flush=True)
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
time.sleep(0.3)
x = proa.ones([2]) * rank
dist.all_reduce(x)
print(x.tolist(), flush=True)
"""
    )
    assert ranks.run(source, 2, timeout=60) == ["child\n[1.0, 1.0]\n"] * 2


@pytest.mark.parametrize("way", ["shared memory", "sockets"])
def test_killed_while_a_child_lives_on(way):
    """The child has none of the rank's connections, which would keep the others waiting."""
    source = (
        _FORK
        + """
if rank == 1 and os.fork() == 0:
    time.sleep(12)
    os._exit(0)
kill()
"""
        + _BODY.format("dist.all_reduce(proa.ones([2]))")
    )
    _kill(source, 1, 3, r"all_reduce #2 \(.*\): rank 1 (died|has left the job)", **_WAYS[way])


def test_killed_at_the_end():
    source = """
dist.init_parallel_env()
x = proa.ones([4])
dist.all_reduce(x)
if dist.get_rank() == 1:
    dist.barrier = None
kill()
""" + _BODY.format("dist.barrier() if dist.barrier else None")
    _kill(source, 1, 2, "barrier #2")


def test_one_that_never_comes_is_named():
    def body():
        group = dist.new_group([0, 1, 2], timeout=0.4)
        x = proa.ones([4])
        dist.all_reduce(x, group=group)
        if dist.get_rank() == 1:
            time.sleep(1.0)
            return None
        with pytest.raises(RuntimeError) as raised:
            dist.all_reduce(x, group=group)
        return str(raised.value)

    first, _, third = run_threads(body, 3)
    for text in (first, third):
        assert re.search(
            r"rank 1 never entered all_reduce #2 \(distributed_faults_test.py:\d+\); 0, 2 did \(limit 0.4 s\)", text
        ), text


def test_groups_that_ranks_make_of_others():
    """At once, and on all of them."""

    def body():
        rank = dist.get_rank()
        began = time.time()
        with pytest.raises(RuntimeError) as raised:
            dist.new_group([0, 1, 2] if rank < 2 else [0, 2], timeout=20)
        assert time.time() - began < 5
        return str(raised.value)

    for text in run_threads(body, 3):
        says = r"ranks disagree on group 1: rank 0 makes it of \[0, 1, 2\], rank 2 of \[0, 2\]; all ranks of the job call new_group"
        assert re.search(says, text), text


def test_a_group_that_one_rank_never_makes():
    def body():
        if dist.get_rank() == 2:
            time.sleep(1.5)
            return None
        with pytest.raises(RuntimeError) as raised:
            dist.new_group([0, 1, 2], timeout=0.5)
        return str(raised.value)

    first, second, _ = run_threads(body, 3)
    for text in (first, second):
        assert "new_group: rank 2 never made group 1 of [0, 1, 2] (limit 0.5 s); all ranks of the job" in text, text


def test_ranks_that_disagree_are_named():
    def body():
        rank = dist.get_rank()
        with pytest.raises(RuntimeError) as raised:
            if rank == 0:
                dist.all_reduce(proa.ones([2, 3]))
            else:
                dist.broadcast(proa.ones([2, 3], dtype="int64"), 1)
        with pytest.raises(RuntimeError, match="ended with an earlier error: ranks disagree"):
            dist.barrier()
        return str(raised.value)

    for text in run_threads(body, 2):
        assert re.search(
            r"ranks disagree in collective #1 of group 0: rank 0 calls all_reduce sum of \[2, 3\] float32 "
            r"\(distributed_faults_test.py:\d+\), rank 1 calls broadcast of \[2, 3\] int64, root 1 "
            r"\(distributed_faults_test.py:\d+\)",
            text,
        ), text


# The larger message does not fit into what lies between the two: whoever sends it must not find the connection closed.
@pytest.mark.parametrize("length", [4, 4 << 20])
def test_a_message_of_another_shape(length):
    def body():
        if dist.get_rank() == 0:
            dist.send(proa.ones([length]), 1)
            return
        said = rf"rank 0 sends send of \[{length}\] float32.*\[5\] float32 is to be filled"
        with pytest.raises(RuntimeError, match=said):
            dist.recv(proa.ones([5]), 0)

    run_threads(body, 2)


def test_the_flight_record():
    def body():
        dist.all_reduce(proa.ones([2]))
        dist.barrier()
        return dist.get_group(0).carrier.entries()

    for entries in run_threads(body, 2):
        assert [e["sequence"] for e in entries] == [1, 2]
        assert entries[0]["state"] == "done" and entries[0]["microseconds"] > 0
        assert re.fullmatch(r"all_reduce sum of \[2\] float32 \(distributed_faults_test.py:\d+\)", entries[0]["call"])


def test_interrupt_ends_a_wait():
    source = """
dist.init_parallel_env()
if dist.get_rank() == 0:
    time.sleep(3)
else:
    print("waits", flush=True)
    dist.all_reduce(proa.ones([4]))
"""
    processes = ranks.start(source, 2)
    assert processes[1].stdout.readline() == "waits\n"
    time.sleep(0.3)
    began = time.time()
    processes[1].send_signal(signal.SIGINT)
    _, err = processes[1].communicate(timeout=30)
    assert "KeyboardInterrupt" in err and time.time() - began < 3
    processes[0].communicate(timeout=30)


def test_another_secret_is_refused():
    source = """
rank = int(os.environ["PADDLE_TRAINER_ID"])
os.environ["PROA_JOB_SECRET"] = "one" if rank == 0 else "two"
dist.init_parallel_env()
"""
    processes = ranks.start(source, 2, PROA_INIT_TIMEOUT="4")
    outputs = [p.communicate(timeout=60) for p in processes]
    assert all(p.returncode for p in processes)
    assert "PROA_JOB_SECRET differs" in outputs[1][1]
    assert "rank 1 of 2 did not come within 4 s" in outputs[0][1]


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2)])
def test_ranks_that_know_of_other_numbers(sizes):
    source = f"""
os.environ["PADDLE_TRAINERS_NUM"] = str({sizes}[int(os.environ["PADDLE_TRAINER_ID"])])
dist.init_parallel_env()
"""
    processes = ranks.start(source, 2, PROA_INIT_TIMEOUT="4")
    errors = [p.communicate(timeout=60)[1] for p in processes]
    assert all(p.returncode for p in processes)
    says = [f"rank {r} of {sizes[r]}, rank {1 - r} of {sizes[1 - r]}; PADDLE_TRAINERS_NUM is the same" for r in (0, 1)]
    assert any(text in error for text, error in zip(says, errors)), errors


def test_two_processes_of_one_rank():
    """The second is told so, and the job goes on."""
    source = """
number = int(os.environ["PADDLE_TRAINER_ID"])
if number == 2:
    time.sleep(2.5)
os.environ["PADDLE_TRAINER_ID"], os.environ["PADDLE_TRAINERS_NUM"] = str(min(number, 1)), "2"
dist.init_parallel_env()
time.sleep(4)
dist.all_reduce(proa.ones([2]))
print("done")
"""
    processes = ranks.start(source, 3)
    outputs = [p.communicate(timeout=60) for p in processes]
    assert [p.returncode for p in processes][:2] == [0, 0] and processes[2].returncode, outputs
    assert "another process is rank 1 of this job already" in outputs[2][1]


def test_port_in_use():
    port = ranks.free_port()
    server = proa._C.distributed.TcpStoreServer(port)
    with pytest.raises(RuntimeError, match=f"cannot listen on port {port}.*give the job another master port"):
        proa._C.distributed.TcpStoreServer(port)
    del server


def test_no_process_is_left():
    source = "dist.init_parallel_env(); dist.all_reduce(proa.ones([4])); print(os.getpid())"
    for pid in map(int, ranks.run(source, 2)):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_alone_without_a_job():
    out = subprocess.run(
        [sys.executable, "-c", "import proa.distributed as d; print(d.get_world_size(), d.is_initialized())"],
        env={k: v for k, v in os.environ.items() if not k.startswith("PADDLE_")}
        | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout == "1 False\n"
