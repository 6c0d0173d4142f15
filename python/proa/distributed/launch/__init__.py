"""Starts a job: `python -m proa.distributed.launch script.py`; of one process, the script itself.

python -m proa.distributed.launch [--devices 0] [--nproc_per_node 1] [--log_dir folder] script.py [arguments]
"""

import argparse
import os
import runpy
import sys

from proa.distributed.environment import require_one_process

__all__ = ["launch"]


def _parser():
    parser = argparse.ArgumentParser("launch", description=__doc__.partition("\n")[0])
    parser.add_argument("--nproc_per_node", "--nprocs", type=int, default=1)
    parser.add_argument("--nnodes", type=str, default="1")
    for name in ("--devices", "--gpus", "--selected_gpus", "--xpus", "--ips", "--log_dir", "--job_id", "--run_mode",
                 "--master", "--rank", "--log_level", "--backend", "--started_port", "--server_num", "--worker_num",
                 "--servers", "--workers"):  # fmt: skip
        parser.add_argument(name, default=None)
    parser.add_argument("-m", dest="module", action="store_true", help="the script is the name of a module")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser


def launch(arguments=None):
    """Runs the script that the command line (or `arguments`) names, as the only process of its job.

    Raises:
        NotImplementedError: more than one process is asked for.
    """
    options = _parser().parse_args(arguments)
    devices = options.devices or options.gpus or options.selected_gpus or ""
    nodes = options.nnodes.split(":")[0]
    processes = max(options.nproc_per_node, len([d for d in devices.split(",") if d]))
    require_one_process("launch", processes * (int(nodes) if nodes.isdigit() else 1))
    os.environ.update(PADDLE_TRAINER_ID="0", PADDLE_TRAINERS_NUM="1")
    sys.argv = [options.script, *options.arguments]
    if options.module:
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
        runpy.run_path(options.script, run_name="__main__")
