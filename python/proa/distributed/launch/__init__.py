"""Starts a job: `python -m proa.distributed.launch train.py`, or `fleetrun train.py`.

    fleetrun --nproc_per_node 4 train.py --lr 0.1
    fleetrun --master 10.0.0.1:6768 --nnodes 2 train.py        # the same on each of two machines
    fleetrun --elastic_server 10.0.0.9:2379 --nnodes 2:4 train.py    # machines that find each other through etcd

Every rank is a process of its own with one log (`log/workerlog.N`; the first one is shown). When a rank fails, the end
of its log is shown, the others are ended and the launcher exits with its code. One rank alone runs in this process.
"""

import os
import runpy
import sys

from proa import _C

__all__ = ["launch", "main"]


def _run_here(plan):
    """The only rank of a job, with this terminal and debugger."""
    os.environ.update(PADDLE_TRAINER_ID="0", PADDLE_TRAINERS_NUM="1")
    for name in ("RANK", "WORLD_SIZE", "PADDLE_TRAINER_ENDPOINTS", "PADDLE_CURRENT_ENDPOINT", "PADDLE_GLOBAL_RANK"):
        os.environ.pop(name, None)
    if plan.devices:
        os.environ["FLAGS_selected_gpus"] = ",".join(plan.devices)
    sys.argv = [plan.script, *plan.arguments]
    if plan.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(plan.script, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(plan.script)))
        runpy.run_path(plan.script, run_name="__main__")


def launch(arguments=None):
    """Runs the job that the command line (or `arguments`) describes.

    Args:
        arguments (list[str], optional): flags, the script, its arguments.

    Raises:
        ValueError: flags that contradict each other.
        FileNotFoundError: there is no such script.
        ConnectionError: the other machines are not reached.
        SystemExit: the job failed, with the exit code of the first rank that did.
    """
    from proa.distributed.launch.options import parse

    plan = parse(arguments)
    if plan.python and not plan.module and not os.path.isfile(plan.script):
        raise _C.located(FileNotFoundError(f"launch: there is no script {plan.script}"))
    if plan.processes == 1 and plan.master is plan.etcd is plan.log_dir is None and plan.python:
        _run_here(plan)
        return
    from proa.distributed.launch.agent import run

    code = run(plan)
    if code:
        sys.exit(code)


def main():
    """The command `fleetrun`: errors of the command line are one line, not a traceback."""
    from proa.distributed.launch.options import parse

    try:
        parse()
    except (ValueError, NotImplementedError) as error:
        sys.exit(f"fleetrun: {error}")
    try:
        launch()
    except (FileNotFoundError, ConnectionError) as error:
        sys.exit(str(error))
