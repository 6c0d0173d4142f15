"""The launcher's command line: both flag families of the reference, and torchrun's, as one plan."""

import argparse
import os
import socket
from typing import NamedTuple, Optional

from proa import _C
from proa.distributed.environment import Etcd, _endpoint, etcd_place

__all__ = ["Plan", "parse"]


class Plan(NamedTuple):
    """What is started.

    Attributes:
        script, arguments, module, python: the program; whether it is a module's name, and whether Python runs it.
        processes (int): on this machine.
        devices (list[str]): one for each process, or none.
        nodes (tuple[int, int]): least and most machines.
        master (tuple[str, int]|None): where machines meet; None for one machine.
        node_rank (int): asked for, -1 for any.
        host (str): this machine's address for the others.
        port (int|None): the first port of ranks, or any.
        log_dir (str|None): for one log a rank.
        job_id (str): machines of other jobs are turned away.
        restarts (int): how often a failure starts all ranks again.
        timeout (float): seconds that machines wait for each other.
        etcd (Etcd|None): the server where machines find the one that they meet at, and ranks each other.
    """

    script: str
    arguments: list[str]
    module: bool
    python: bool
    processes: int
    devices: list[str]
    nodes: tuple[int, int]
    master: Optional[tuple[str, int]]
    node_rank: int
    host: str
    port: Optional[int]
    log_dir: Optional[str]
    job_id: str
    restarts: int
    timeout: float
    etcd: Optional[Etcd] = None


def _environment(*names, default=None):
    return next((os.environ[name] for name in names if os.environ.get(name)), default)


def _parser():
    parser = argparse.ArgumentParser(
        "proa.distributed.launch",
        description="Starts the ranks of a job on this machine, one process each, and watches over them.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="examples:\n"
        "  %(prog)s --nproc_per_node 4 train.py --lr 0.1\n"
        "  %(prog)s --master 10.0.0.1:6768 --nnodes 2 train.py          (the same on each of two machines)\n"
        "  %(prog)s --master 10.0.0.1:6768 --nnodes 2:4 --max_restart 3 train.py\n",
    )
    add = parser.add_argument
    add("--nproc_per_node", "--nproc-per-node", "--nprocs", metavar="N", help="ranks on this machine (1), or auto")
    add(
        "--nnodes",
        "--np",
        default=_environment("PADDLE_ELASTIC_NP", "PADDLE_NNODES"),
        metavar="N|MIN:MAX",
        help="machines (1)",
    )
    add("--master", default=_environment("PADDLE_MASTER"), metavar="ADDRESS:PORT|etcd://ADDRESS:PORT",
        help="where machines meet: one of them has this address; or an etcd server, with which any of them may be lost")  # fmt: skip
    add("--elastic_server", "--elastic-server", default=_environment("PADDLE_ELASTIC_SERVER"), metavar="ADDRESS:PORT",
        help="an etcd server, as --master etcd://ADDRESS:PORT")  # fmt: skip
    add("--rank", "--node_rank", "--node-rank", type=int, default=None, metavar="R", help="of this machine (any)")
    add("--host", default=_environment("PADDLE_ELASTIC_HOST", "POD_IP"), help="this machine's address for the others")
    add("--ips", "--cluster_node_ips", metavar="A,B", help="addresses of all machines, the first one the master")
    add("--devices", "--gpus", "--selected_gpus", "--xpus", "--npus", "--mlus", dest="devices", metavar="0,1",
        help="one rank for each of these devices")  # fmt: skip
    add("--log_dir", "--log-dir", default=None, metavar="FOLDER", help="one file a rank: workerlog.0, ... (log)")
    add(
        "--job_id",
        "--rdzv_id",
        "--rdzv-id",
        default=_environment("PADDLE_ELASTIC_JOB_ID", "PADDLE_JOB_ID", default="default"),
    )
    add("--max_restart", "--max_restarts", "--max-restarts", type=int, default=None, metavar="N",
        help="how often a failure starts all ranks again from their last checkpoint (0; 3 with --nnodes MIN:MAX)")  # fmt: skip
    add("--elastic_timeout", type=float, default=_environment("PADDLE_ELASTIC_TIMEOUT", default="120"), metavar="S",
        help="seconds that machines wait for each other (120)")  # fmt: skip
    add("--run_mode", default="collective", help="collective; parameter servers (ps) are not in this version")
    add("--standalone", action="store_true", help="one machine, whatever the environment says")
    add("--rdzv_endpoint", "--rdzv-endpoint", metavar="ADDRESS:PORT", help="as --master")
    add("--rdzv_backend", "--rdzv-backend", choices=("c10d", "static"), help="accepted: there is one")
    add("--master_addr", "--master-addr", metavar="ADDRESS")
    add("--master_port", "--master-port", type=int, metavar="PORT")
    add("--started_port", "--start_port", type=int, default=_environment("FLAGS_START_PORT"), metavar="P",
        help="the first port of ranks (any that are free)")  # fmt: skip
    add("-m", "--module", dest="module", action="store_true", help="the script is the name of a module")
    add("--no_python", "--no-python", action="store_true", help="the script is a command")
    for name in ("--log_level", "--backend", "--nproc_per_node_type", "--elastic_pre_hook", "--sort_ip", "--with_gloo",
                 "--legacy", "--trainers", "--redirects", "--tee", "--monitor_interval"):  # fmt: skip
        add(name, name.replace("_", "-"), default=None, help=argparse.SUPPRESS)
    for name in ("--servers", "--workers", "--heter_workers", "--heter_devices", "--server_num", "--worker_num",
                 "--trainer_num", "--heter_worker_num", "--http_port"):  # fmt: skip
        add(name, default=None, help=argparse.SUPPRESS)
    add("script", help="the program that each rank runs")
    add("arguments", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def _refused(text):
    return _C.located(ValueError(f"launch: {text}"))


def _nodes(text):
    """(least, most) of "2" or "2:4"."""
    least, _, most = str(text or "1").partition(":")
    try:
        found = int(least), int(most or least)
    except ValueError:
        found = (0, 0)
    if not 1 <= found[0] <= found[1]:
        raise _refused(f"--nnodes {text} must be a number of machines, or the least and the most: 2:4")
    return found


def _devices(options):
    devices = [d.strip() for d in (options.devices or "").split(",") if d.strip()]
    wrong = next((d for d in devices if not d.isdigit()), None)
    if wrong is not None:
        raise _refused(f"--devices {options.devices}: {wrong!r} is not a device's number")
    if len(set(devices)) < len(devices):
        raise _refused(f"--devices {options.devices} names a device twice")
    return devices


def _processes(options, devices):
    count = options.nproc_per_node
    if count is None:
        return max(1, len(devices))
    count = {"auto": str(os.cpu_count() or 1), "cpu": str(os.cpu_count() or 1), "gpu": "0"}.get(count, count)
    if not count.isdigit() or int(count) < 1:
        raise _refused(f"--nproc_per_node {options.nproc_per_node} must be a positive number of ranks")
    if devices and len(devices) % int(count):
        raise _refused(f"--nproc_per_node {count} does not divide the {len(devices)} devices {','.join(devices)}")
    return int(count)


def own_addresses():
    """Addresses that this machine answers to, as far as it knows."""
    found = {"127.0.0.1", "::1", "localhost", socket.gethostname(), socket.getfqdn()}
    for name in (socket.gethostname(), socket.getfqdn()):
        try:
            found.update(entry[4][0] for entry in socket.getaddrinfo(name, None))
        except OSError:
            pass
    return found


def _meeting(options, nodes):
    """(master, node rank or -1, Etcd or None)."""
    rank = -1 if options.rank is None else options.rank
    master = options.master or options.rdzv_endpoint
    if not master and options.elastic_server:
        master = "etcd://" + options.elastic_server.rpartition("://")[2]
    if not master and (options.master_addr or options.master_port):
        master = f"{options.master_addr or '127.0.0.1'}:{options.master_port or 29400}"
    if options.ips and "," in options.ips and not master:
        ips = [ip.strip() for ip in options.ips.split(",") if ip.strip()]
        master = f"{ips[0]}:{options.started_port or 6070}"
        mine = [i for i, ip in enumerate(ips) if ip in own_addresses() or ip == options.host]
        if rank < 0 and len(mine) == 1:
            rank = mine[0]
    if options.standalone or (nodes[1] == 1 and rank <= 0):
        return None, 0, None
    if not master:
        raise _refused(
            f"--nnodes {options.nnodes}: machines need --master address:port of one of them, the same on each"
        )
    for scheme in ("tcp://", "http://"):
        master = master.removeprefix(scheme)
    if rank >= nodes[1]:
        raise _refused(f"--rank {rank} of {nodes[1]} machines; numbers go from 0 to {nodes[1] - 1}")
    etcd = etcd_place(master, "--master")
    if etcd is not None:
        return None, rank, etcd
    if "://" in master:
        raise _refused(f"--master {master}: machines meet at address:port, or in a server at etcd://address:port")
    if ":" not in master:
        master += ":29400"
    return _endpoint(master, "--master"), rank, None


def _host(options, master):
    """This machine's address as the others see it: that of the way to the master."""
    if options.host:
        return options.host
    if options.ips and "," not in options.ips:
        return options.ips.strip()
    if master is None or master[0] in ("127.0.0.1", "localhost", "::1"):
        return "127.0.0.1"
    try:
        with socket.socket(socket.AF_INET6 if ":" in master[0] else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(master)  # sends nothing
            return probe.getsockname()[0]
    except OSError:
        return socket.gethostname()


def parse(arguments=None):
    """The plan of a command line.

    Args:
        arguments (list[str], optional): without the program's name; those of this process unless given.

    Raises:
        ValueError: what cannot be started.
        NotImplementedError: parameter servers.
        SystemExit: a flag that there is not.
    """
    options = _parser().parse_args(arguments)
    servers = [n for n in ("servers", "workers", "server_num", "worker_num", "heter_workers") if getattr(options, n)]
    if options.run_mode not in ("collective", "CollectiveMode") or servers:
        what = f"--{servers[0]}" if servers else f"--run_mode {options.run_mode}"
        raise _C.located(
            NotImplementedError(f"launch: {what}: this version has no parameter servers; --run_mode collective trains")
        )
    ips = [ip for ip in (options.ips or "").split(",") if ip.strip()]
    nodes = (1, 1) if options.standalone else _nodes(options.nnodes or (len(ips) if len(ips) > 1 else None))
    if len(ips) > 1 and nodes[1] != len(ips):
        raise _refused(f"--nnodes {options.nnodes} and --ips with {len(ips)} machines")
    devices = _devices(options)
    processes = _processes(options, devices)
    master, rank, etcd = _meeting(options, nodes)
    restarts = options.max_restart
    if restarts is None:
        restarts = 3 if nodes[0] < nodes[1] else 0
    if restarts < 0 or not options.elastic_timeout > 0:
        raise _refused("--max_restart must not be negative, and --elastic_timeout must be positive")
    if options.started_port is not None and not 0 < options.started_port < 65536:
        raise _refused(f"--started_port {options.started_port} must be 1 to 65535")
    several = processes > 1 or master is not None or etcd is not None or restarts > 0
    return Plan(
        script=options.script,
        arguments=options.arguments,
        module=options.module,
        python=not options.no_python,
        processes=processes,
        devices=devices,
        nodes=nodes,
        master=master,
        node_rank=rank,
        host=_host(options, master if etcd is None else (etcd.host, etcd.port)),
        port=options.started_port,
        log_dir=options.log_dir or ("log" if several else None),
        job_id=str(options.job_id),
        restarts=restarts,
        timeout=options.elastic_timeout,
        etcd=etcd,
    )
