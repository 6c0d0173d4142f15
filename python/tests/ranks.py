"""Ranks for tests: processes of one job on this machine, and ports for them."""

import os
import socket
import subprocess
import sys

__all__ = ["free_port", "run", "start"]


def free_port():
    """A port that nobody has at this moment."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(source, ranks, **environment):
    """Starts `ranks` processes that run Python source; the list of them.

    Args:
        source (str): begins with proa imported, and `dist` for proa.distributed; the job has not begun.
        environment (str): further variables.
    """
    begin = "import os, sys, time\nimport numpy as np\nimport proa\nimport proa.distributed as dist\n"
    common = {name: value for name, value in os.environ.items() if not name.startswith(("PADDLE_", "MASTER_"))}
    common |= {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "OMP_NUM_THREADS": "1",
        "PADDLE_TRAINERS_NUM": str(ranks),
        "PADDLE_MASTER": f"127.0.0.1:{free_port()}",
        "PROA_INIT_TIMEOUT": "60",
        **environment,
    }
    return [
        subprocess.Popen(
            [sys.executable, "-c", begin + source],
            env=common | {"PADDLE_TRAINER_ID": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]


def run(source, ranks, timeout=120, **environment):
    """What each of them printed; raises if one fails."""
    processes = start(source, ranks, **environment)
    try:
        outputs = [p.communicate(timeout=timeout) for p in processes]
    finally:
        for p in processes:
            p.kill()
    for rank, (p, (out, err)) in enumerate(zip(processes, outputs)):
        assert p.returncode == 0, f"rank {rank} ended with {p.returncode}:\n{out}\n{err}"
    return [out for out, _ in outputs]
