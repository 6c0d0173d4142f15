"""What a launcher does on its machine: rounds of starting ranks, watching them, and telling the other machines."""

import os
import signal
import sys
import time

from proa.distributed.launch.connecting import connect
from proa.distributed.launch.meeting import RESTART_CODE
from proa.distributed.launch.ranks import Guardian, Ranks, free_ports

__all__ = ["run"]

_PASSED = (signal.SIGUSR1, signal.SIGUSR2)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TICK = 0.05
_CLASH = ("address already in use", "eaddrinuse")


class _Signals:
    """Signals that this process gets, to be looked at between other things."""

    def __init__(self):
        self.ending, self.times, self.passed = None, 0, []
        self._before = {}

    def __enter__(self):
        for number in (*_ENDING, *_PASSED):
            try:
                self._before[number] = signal.signal(number, self._note)
            except ValueError:  # not the main thread: they are the program's
                break
        return self

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number, frame):
        if number in _PASSED:
            self.passed.append(number)
        else:
            self.ending, self.times = self.ending or number, self.times + 1


def _say(text):
    print(f"launch: {text}", file=sys.stderr, flush=True)


def _endpoint(host, port):
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def rank_environment(plan, message, local):
    """The variables of one rank, those of this process included.

    Args:
        plan (Plan): what is started.
        message (dict): "start" of the meeting.
        local (int): its number on this machine.
    """
    nodes, number = message["nodes"], message["number"]
    endpoints = [_endpoint(node["host"], port) for node in nodes for port in node["ports"][: node["processes"]]]
    rank = sum(node["processes"] for node in nodes[:number]) + local
    master = nodes[0]["host"], nodes[0]["ports"][-1]
    etcd = plan.etcd and str(plan.etcd.below(f"{plan.job_id}/{message['token']}"))
    values = {
        "PADDLE_TRAINER_ID": rank,
        "PADDLE_TRAINERS_NUM": len(endpoints),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
        "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
        "PADDLE_MASTER": etcd or _endpoint(*master),
        "PADDLE_GLOBAL_RANK": rank,
        "PADDLE_GLOBAL_SIZE": len(endpoints),
        "PADDLE_LOCAL_RANK": local,
        "PADDLE_RANK_IN_NODE": local,
        "PADDLE_LOCAL_SIZE": plan.processes,
        "PADDLE_NODE_RANK": number,
        "PADDLE_NNODES": len(nodes),
        "PADDLE_JOB_ID": plan.job_id,
        "PADDLE_RESTART_COUNT": message["restarts"],
        "TRAINING_ROLE": "TRAINER",
        "RANK": rank,
        "WORLD_SIZE": len(endpoints),
        "LOCAL_RANK": local,
        "LOCAL_WORLD_SIZE": plan.processes,
        "GROUP_RANK": number,
        "GROUP_WORLD_SIZE": len(nodes),
        "MASTER_ADDR": master[0],
        "MASTER_PORT": master[1],
        "TORCHELASTIC_RESTART_COUNT": message["restarts"],
        "TORCHELASTIC_MAX_RESTARTS": plan.restarts,
    }
    if plan.devices:
        share = len(plan.devices) // plan.processes
        values["FLAGS_selected_gpus"] = ",".join(plan.devices[local * share : (local + 1) * share])
    values = {name: str(value) for name, value in values.items()}
    cores = len(os.sched_getaffinity(0))
    # What they print is in the log when they are killed; all of them together have as many threads as there are cores.
    defaults = {"OMP_NUM_THREADS": str(max(1, cores // plan.processes)), "PYTHONUNBUFFERED": "1"}
    return {**defaults, **os.environ, **values}


def _command(plan):
    if not plan.python:
        return [plan.script, *plan.arguments]
    return [sys.executable, *(["-m"] if plan.module else []), plan.script, *plan.arguments]


class _Agent:
    def __init__(self, plan, link, signals, guardian):
        self._plan, self._link, self._signals, self._guardian = plan, link, signals, guardian
        self._ranks = None
        self._failure = None  # the last one of this machine
        self._reported = False
        self._restarts = 0

    def _offer(self, kind):
        plan = self._plan
        # One for each rank and one for the store of rank 0.
        ports = free_ports(plan.processes + 1, plan.port)
        self._link.send(
            {
                "kind": kind,
                "rank": plan.node_rank,
                "processes": plan.processes,
                "host": plan.host,
                "ports": ports,
                "restarts": self._restarts,
            }
        )

    def work(self):
        """The launcher's exit code."""
        self._offer("join")
        while True:
            if self._signals.ending:
                return self._end_by_signal()
            for number in self._signals.passed:
                if self._ranks:
                    self._ranks.send(number)
            self._signals.passed.clear()
            for message in self._link.poll(_TICK):
                code = self._heard(message)
                if code is not None:
                    return code
            self._watch()

    def _heard(self, message):
        kind = message["kind"]
        if kind == "start":
            self._start(message)
        elif kind == "regroup":
            _say(f"{message['why']}; all ranks start again")
            self._stop()
            self._offer("ready")
        elif kind == "lost":
            return self._meet_again(message["why"])
        elif kind == "over":
            return 0
        elif kind == "refuse":
            _say(f"the master does not want this machine: {message['text']}")
            return 1
        elif kind == "stop":
            if self._failure is None:
                _say(message["why"])
            self._stop()
            return max(1, min(255, int(message["code"])))
        return None

    def _meet_again(self, why):
        """The machine that had the meeting is lost: another one has it now, and all ranks start again."""
        if self._ranks is not None and self._restarts >= self._plan.restarts:
            _say(why)
            self._stop()
            return 1
        _say(f"{why}; machines meet again")
        self._restarts += self._ranks is not None
        self._stop()
        self._link.close()
        self._link = connect(self._plan)
        self._offer("join")
        return None

    def _start(self, message):
        plan = self._plan
        self._restarts = message["restarts"]
        self._ranks, self._failure, self._reported = Ranks(self._guardian), None, False
        if plan.log_dir:
            os.makedirs(plan.log_dir, exist_ok=True)
        for local in range(plan.processes):
            environment = rank_environment(plan, message, local)
            rank = environment["PADDLE_TRAINER_ID"]
            log = os.path.join(plan.log_dir, f"workerlog.{rank}") if plan.log_dir else None
            if log and message["round"] == 1 and os.path.exists(log):
                os.remove(log)  # of an earlier job
            self._ranks.start(int(rank), _command(plan), environment, log)

    def _watch(self):
        ranks = self._ranks
        if ranks is None or self._reported:
            return
        ranks.show()
        failure = ranks.poll()
        if failure is not None:
            ranks.show()
            self._report(failure)
        elif ranks.over():
            ranks.show()
            self._reported = True
            self._link.send({"kind": "done"})

    def _report(self, failure):
        self._failure, self._reported = failure, True
        text = f"rank {failure.rank} on {self._plan.host} {failure.text}"
        clash = self._plan.port is None and any(words in failure.tail.lower() for words in _CLASH)
        if failure.code != RESTART_CODE:
            log = f"{self._plan.log_dir}/workerlog.{failure.rank}"
            _say(text + (f"; the end of {log}:\n{failure.tail}" if failure.tail else ""))
        # The others would wait for it.
        self._ranks.stop()
        self._link.send({"kind": "failed", "code": failure.code, "text": text, "clash": clash})

    def _stop(self):
        if self._ranks is not None:
            self._ranks.show()
            self._ranks.stop()
            self._ranks.show()
            self._ranks = None

    def _end_by_signal(self):
        """Passes the signal on; what is left after a while, or at the second signal, is killed."""
        number = self._signals.ending
        _say(f"{signal.Signals(number).name}: the ranks are ended")
        if self._ranks is not None:
            self._ranks.send(number)
            limit = time.monotonic() + 10.0
            while not self._ranks.over() and self._signals.times == 1 and time.monotonic() < limit:
                self._ranks.poll()
                time.sleep(_TICK)
            self._ranks.show()
            self._ranks.stop(grace=0.0)
            self._ranks = None
        self._link.send({"kind": "leave", "why": f"was ended by {signal.Signals(number).name}"})
        return 128 + number

    def close(self):
        if self._ranks is not None:
            self._ranks.stop(grace=1.0)
        self._link.close()


def run(plan):
    """Starts the ranks of a plan on this machine and returns the exit code: 0, that of the first failure, or 128 + signal."""
    guardian = Guardian()
    try:
        with _Signals() as signals:
            link = connect(plan)
            agent = _Agent(plan, link, signals, guardian)
            try:
                return agent.work()
            finally:
                agent.close()
    finally:
        guardian.close()
