"""A job under signals: who is hit, by what, in which phase. It must end or go on, leave no process, and no half checkpoint.

    python python/tests/kill_matrix.py [--runs 200] [--first 0] [--seed 0]

goes through all combinations again and again, with another delay each time (`--first 80 --runs 40` are runs 80 to 119 of those
of the seed). Each run is a launcher with two ranks that
train divided weights, save a checkpoint a step, and go on from the last one after a restart (`--max_restart 1`).
"""

import argparse
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid

import numpy as np

PHASES = ("init", "forward", "all_reduce", "checkpoint", "shutdown")
SIGNALS = ("SIGKILL", "SIGTERM", "SIGSTOP")
VICTIMS = ("0", "1", "launcher")
STEPS, LIMIT = 5, 75.0  # seconds in which a run must be over

_PROGRAM = """
import os, signal, threading, time
import numpy as np
rank = int(os.environ["PADDLE_TRAINER_ID"])
hit = os.environ["HIT_VICTIM"] in (str(rank), "launcher") and os.environ.get("PADDLE_RESTART_COUNT", "0") == "0"
hit = hit and (rank == 0 or os.environ["HIT_VICTIM"] != "launcher")

def mark(phase, step=2):
    if hit and phase == os.environ["HIT_PHASE"] and step == 2:
        target = os.getppid() if os.environ["HIT_VICTIM"] == "launcher" else os.getpid()
        delay = float(os.environ["HIT_DELAY"])
        def strike():
            time.sleep(delay)
            print("hits", target, flush=True)
            os.kill(target, getattr(signal, os.environ["HIT_SIGNAL"]))
        if delay:
            threading.Thread(target=strike, daemon=True).start()
        else:
            strike()

import proa, proa.distributed as dist
mark("init")
dist.init_parallel_env()
group = dist.new_group(timeout=6)
from proa.distributed import checkpoint
class Net(proa.nn.Layer):
    def __init__(self):
        super().__init__()
        self.w = self.create_parameter([64], default_initializer=proa.nn.initializer.Constant(0.0))
from proa.distributed.fleet.meta_parallel.sharding.divided_layers import DividedParameters
net = DividedParameters(Net(), group)  # each rank has half of it
w = net.parameters()[0]
restored = checkpoint.load(os.environ["HIT_FOLDER"] + "/checkpoints", net, group=group)
for step in range(restored.step if restored else 0, int(os.environ["HIT_STEPS"])):
    mark("forward", step)
    with proa.no_grad():
        g = proa.ones([32]) * (rank + 1)
        mark("all_reduce", step)
        dist.all_reduce(g, group=group)
        w.set_value(w + g + 2 * 0.5 * w)
    mark("checkpoint", step)
    checkpoint.save(os.environ["HIT_FOLDER"] + "/checkpoints", net, step=step + 1, group=group)
mark("shutdown")
"""


def wanted(steps):
    """What the weights are after some steps."""
    w = 0.0
    for _ in range(steps):
        w += 3.0 + 2 * 0.5 * w
    return w


def _alive(mark):
    """Processes of a run that are there: their environment has the mark."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                text = file.read()
            with open(f"/proc/{pid}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in text and state != "Z":
            found.append(int(pid))
    return found


def _is_stopped(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def _net():
    import proa

    net = proa.nn.Layer()
    net.w = net.create_parameter([64])
    return net


def run(phase, name, victim, delay):
    """One run; "" if all is well, else what is not."""
    from proa.distributed import checkpoint

    mark = f"HIT_MARK={uuid.uuid4().hex}"
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "program.py")
        with open(script, "w") as file:
            file.write(_PROGRAM)
        environment = {n: v for n, v in os.environ.items() if not n.startswith(("PADDLE_", "MASTER_"))} | {
            "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1", "PROA_INIT_TIMEOUT": "6",
            "HIT_PHASE": phase, "HIT_SIGNAL": name, "HIT_VICTIM": victim, "HIT_DELAY": str(delay),
            "HIT_FOLDER": folder, "HIT_STEPS": str(STEPS), "HIT_MARK": mark.partition("=")[2],
        }  # fmt: skip
        logs = os.path.join(folder, "log")
        command = [sys.executable, "-m", "proa.distributed.launch", "--nproc_per_node", "2", "--max_restart", "1"]
        began = time.monotonic()
        process = subprocess.Popen(
            [*command, "--log_dir", logs, script], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            if (victim, name) == ("launcher", "SIGSTOP"):
                # However long the job takes to come to the phase, and with what it missed to be done afterwards.
                while process.poll() is None and not _is_stopped(process.pid) and time.monotonic() - began < LIMIT:
                    time.sleep(0.1)
                time.sleep(6)
                process.send_signal(signal.SIGCONT)
            code = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            return f"not over within {LIMIT} s; left: {_alive(mark)}"
        finally:
            left, until = _alive(mark), time.monotonic() + 10
            while left and time.monotonic() < until:
                time.sleep(0.1)
                left = _alive(mark)
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            process.wait()
        took = time.monotonic() - began
        if left:
            return f"processes {left} were left"
        if not os.path.isdir(logs):
            return f"no rank began; exit code {code}"
        texts = [open(os.path.join(logs, log)).read() for log in os.listdir(logs)]
        if not any("hits" in text for text in texts):
            # A shutdown may be over before the delay is.
            return "" if code == 0 and delay else f"nobody was hit; exit code {code}"
        net, steps = _net(), 0
        restored = checkpoint.load(os.path.join(folder, "checkpoints"), net)
        if restored is not None:
            steps = restored.step
            if not np.array_equal(net.w.numpy(), np.full(64, wanted(steps), "float32")):
                return f"the checkpoint of step {steps} has other weights"
        ended = {"SIGKILL": -signal.SIGKILL, "SIGTERM": 128 + signal.SIGTERM, "SIGSTOP": 0}[name]
        expected = ended if victim == "launcher" else 0
        if code != expected and not (code == 0 and phase == "shutdown"):
            return f"exit code {code} in place of {expected} after {took:.1f} s"
        if code == 0 and steps != STEPS:
            return f"it ended well at step {steps}"
        return ""


def combinations():
    """(phase, signal, victim) of all runs; a rank that is stopped when the others have left is waited for, rightly."""
    for phase, name, victim in itertools.product(PHASES, SIGNALS, VICTIMS):
        if (phase, name) != ("shutdown", "SIGSTOP") or victim == "launcher":
            yield phase, name, victim


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    chance, bad = random.Random(args.seed), 0
    for number, (phase, name, victim) in zip(range(args.first + args.runs), itertools.cycle(combinations())):
        delay = chance.choice([0, 0.001, 0.003, 0.01])
        if number < args.first:
            continue
        began, wrong = time.monotonic(), run(phase, name, victim, delay)
        bad += bool(wrong)
        print(
            f"{number:3} {phase:10} {name} {victim:8} {delay:5} {time.monotonic() - began:5.1f} s  {wrong or 'ok'}",
            flush=True,
        )
    print(f"{args.runs} runs, {bad} bad")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
