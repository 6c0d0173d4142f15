"""Calls between workers: values, errors, time limits, workers that are gone, and strangers."""

import os
import socket
import struct
import threading

import pytest

from proa.distributed.rpc import links
from python.tests import ranks

_BEGIN = """
from proa.distributed import rpc
rank = int(os.environ["PADDLE_TRAINER_ID"])
size = int(os.environ["PADDLE_TRAINERS_NUM"])
def add(a, b=1):
    return a + b
def who():
    return rpc.get_current_worker_info().name
def there_and_back(name, depth):
    here = who()
    return [here] + (rpc.rpc_sync(name, there_and_back, args=(here, depth - 1)) if depth else [])
class Odd(Exception):
    def __init__(self, one, two):
        super().__init__("odd")
def fail(kind):
    raise {"value": ValueError("no such row"), "odd": Odd(1, 2)}[kind]
def slow():
    time.sleep(5)
def lock():
    return threading.Lock()
import threading
rpc.init_rpc(f"worker{rank}")
"""


def test_values_and_tensors_and_calls_within_calls():
    outputs = ranks.run(
        _BEGIN
        + """
other = f"worker{(rank + 1) % size}"
assert rpc.rpc_sync(other, add, args=(2,), kwargs={"b": 3}) == 5
x = proa.to_tensor([1.0, 2.0]) * (rank + 1)
assert rpc.rpc_sync(other, add, args=(x, 1.0)).tolist() == [2.0 + rank, 3.0 + 2 * rank]
assert rpc.rpc_sync(other, who) == other
assert rpc.rpc_sync(f"worker{rank}", who) == f"worker{rank}"
assert rpc.rpc_sync(other, there_and_back, args=(f"worker{rank}", 5)) == [other, f"worker{rank}"] * 3
futures = [rpc.rpc_async(other, add, args=(i, i)) for i in range(200)]
assert [f.wait() for f in futures] == [2 * i for i in range(200)]
big = np.arange(3 << 20)
assert (rpc.rpc_sync(other, add, args=(big,)) == big + 1).all()
assert [w.name for w in rpc.get_all_worker_infos()] == [f"worker{i}" for i in range(size)]
assert rpc.get_worker_info("worker0").rank == 0
rpc.shutdown()
rpc.init_rpc(f"again{rank}")
assert rpc.rpc_sync(f"again{(rank + 1) % size}", add, args=(1,)) == 2
rpc.shutdown()
print("done")
""",
        3,
    )
    assert outputs == ["done\n"] * 3


def test_errors_and_limits():
    source = (
        _BEGIN
        + """
def error(*args, **kwargs):
    try:
        rpc.rpc_sync("worker1", *args, **kwargs)
    except Exception as e:
        return e
if rank == 1:
    time.sleep(60)
e = error(fail, args=("value",))
assert isinstance(e, ValueError) and str(e) == "no such row" and "in fail" in e.__notes__[0], repr(e)
e = error(fail, args=("odd",))
assert type(e) is RuntimeError and "Odd" in str(e), repr(e)
e = error(lock)
assert isinstance(e, TypeError) and "does not travel" in str(e), repr(e)
began = time.time()
e = error(slow, timeout=0.3)
assert isinstance(e, TimeoutError) and "no answer within 0.3 s" in str(e) and time.time() - began < 2, repr(e)
try:
    rpc.rpc_sync("nobody", add, args=(1,))
except ValueError as e:
    assert "there is no worker 'nobody'; there are: 'worker0', 'worker1'" in str(e)
assert rpc.rpc_sync("worker1", add, args=(1,)) == 2
e = error(os._exit, args=(3,))
assert isinstance(e, ConnectionError) and "worker 1 is gone" in str(e), repr(e)
print("done", flush=True)
os._exit(0)
"""
    )
    processes = ranks.start(source, 2)
    out, err = processes[0].communicate(timeout=90)
    processes[1].wait(30)
    processes[1].kill()
    assert processes[0].returncode == 0, err
    assert processes[1].returncode == 3
    assert out == "done\n"


@pytest.mark.parametrize(
    "names, said", [("['same', 'same'][rank]", "workers [0, 1] are all named 'same'"), ("''", "must be a string")]
)
def test_names(names, said):
    source = _BEGIN.replace('f"worker{rank}"', names)
    processes = ranks.start(source, 2)
    for p in processes:
        _, err = p.communicate(timeout=90)
        assert p.returncode == 1 and said in err, err


def test_workers_with_other_secrets():
    source = _BEGIN.replace("rpc.init", "os.environ['PROA_JOB_SECRET'] = 'b' if rank else ''; rpc.init")
    for p in (processes := ranks.start(source, 2, PROA_INIT_TIMEOUT="5"))[::-1]:
        _, err = p.communicate(timeout=90)
        assert p.returncode == 1 and ("PROA_JOB_SECRET" in err or p is processes[0]), err


def test_one_machine_needs_no_secret_and_others_do():
    class Store(dict):
        set = dict.__setitem__

        def get(self, name, limit):
            return self[name]

    store = Store()
    with pytest.raises(
        RuntimeError, match="set PROA_JOB_SECRET, to the same value on all workers, or meet at 127.0.0.1"
    ):
        links.job_key(store, 0, "rpc 1", False, 1.0)
    key, file = links.job_key(store, 0, "rpc 2", True, 1.0)
    assert links.job_key(store, 1, "rpc 2", True, 1.0) == (key, None)
    os.chmod(file, 0o644)
    with pytest.raises(RuntimeError, match="cannot be had"):
        links.job_key(store, 1, "rpc 2", True, 1.0)
    os.unlink(file)


def _pair(first, second):
    """What making a link of each of two ends raises."""
    ends, errors = socket.socketpair(socket.AF_UNIX), [None, None]

    class Wrapped:
        def __init__(self, end):
            self._end = end

        def setsockopt(self, *_):
            pass

        def __getattr__(self, name):
            return getattr(self._end, name)

    made = [None, None]

    def make(at, key):
        try:
            made[at] = links.Link(Wrapped(ends[at]), key, caller=at == 0)
        except OSError as error:
            errors[at] = error
            ends[at].close()

    threads = [threading.Thread(target=make, args=(at, key)) for at, key in enumerate((first, second))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return ends, made, errors


def test_who_does_not_know_the_key_is_refused():
    _, made, errors = _pair(b"a" * 32, b"b" * 32)
    assert made == [None, None] or any(isinstance(e, links.Stranger) for e in errors)
    assert any("does not know the job's secret" in str(e) for e in errors if e)


def test_what_others_put_into_a_connection_is_not_read():
    """Nothing is unpickled, and no memory is taken for what is announced without proof."""
    ends, (caller, called), errors = _pair(b"a" * 32, b"a" * 32)
    assert errors == [None, None]
    caller.send(b"hello")
    assert called.receive() == b"hello"
    ends[0].sendall(struct.pack("!4sQ", b"PRPC", 1 << 33) + os.urandom(32))
    with pytest.raises(links.Stranger, match="without proof"):
        called.receive()


def test_a_frame_is_not_taken_twice():
    ends, (caller, called), _ = _pair(b"a" * 32, b"a" * 32)
    caller.send(b"pay")
    sent = ends[1].recv(1 << 16)
    ends[0].sendall(sent + sent)
    assert called.receive() == b"pay"
    with pytest.raises(links.Stranger):
        called.receive()
