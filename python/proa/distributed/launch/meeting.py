"""How machines of a job find each other, get numbers, and start again together. Rules only; `links` carries them."""

import time

__all__ = ["RESTART_CODE", "Meeting"]

# A rank that exits with it wants all ranks to be started again; that is no failure.
RESTART_CODE = 101
_CLASHES = 3  # starts that another program's port may spoil


class _Machine:
    def __init__(self, key, offer, arrival):
        self.key, self.offer, self.arrival = key, offer, arrival
        self.number = None  # in the last round
        self.ready, self.done = True, False


class Meeting:
    """The machines of one job and the rounds in which they run its ranks.

    A machine offers itself (`join`), hears "start" with everybody's place, then says `done` or `failed`, or is lost
    (`leave`). It hears "regroup" to end its ranks and offer itself again, "stop" when the job has failed, "over" when
    it is done, "refuse" when it is not wanted.

    Args:
        nodes (tuple[int, int]): the least and most machines.
        restarts (int): how many failures are survived.
        timeout (float): seconds that the others wait for a machine.
        clock (Callable): the time in seconds.
        token (str): told with each start; no other meeting has it.
    """

    def __init__(self, nodes, restarts, timeout, clock=time.monotonic, token=""):
        self._token = token
        self._least, self._most = nodes
        self._limit, self._timeout, self._clock = restarts, timeout, clock
        # Those that may still come are waited for a little once there are enough.
        self._settle = min(3.0, timeout / 4)
        self._machines = {}
        self._arrivals = 0
        self.restarts, self._clashes, self._round = 0, 0, 0
        self.running, self.ended = False, False
        self._since = self._changed = clock()
        self._out = []

    def messages(self):
        """[(machine, message)] that are to be delivered; they are given once."""
        out, self._out = self._out, []
        return out

    def _say(self, machine, kind, **values):
        self._out.append((machine.key, {"kind": kind, **values}))

    def join(self, key, offer):
        """A new machine: offer has rank (-1 for any), processes, host, ports, job."""
        machine = _Machine(key, offer, self._arrivals)
        # Of a meeting that was lost with its machine.
        self.restarts = max(self.restarts, offer.get("restarts", 0))
        self._arrivals += 1
        others = list(self._machines.values())
        if self.ended:
            return self._say(machine, "refuse", text="the job has ended")
        if len(others) >= self._most:
            return self._say(machine, "refuse", text=f"the job has its {self._most} machines already")
        if offer["rank"] >= 0 and any(m.offer["rank"] == offer["rank"] for m in others):
            return self._say(machine, "refuse", text=f"another machine has --rank {offer['rank']} already")
        self._machines[key] = machine
        self._changed = self._clock()
        if self.running:
            self._regroup(f"{offer['host']} has come")
        return None

    def ready(self, key, offer):
        """A machine has ended its ranks and is there for the next round."""
        machine = self._machines.get(key)
        if machine is not None:
            machine.offer, machine.ready, machine.done = offer, True, False

    def leave(self, key, why="has left"):
        """A machine is lost."""
        machine = self._machines.pop(key, None)
        if machine is None or self.ended or machine.done:
            return
        self._changed = self._clock()
        if self.running:
            self._again(f"{machine.offer['host']} (machine {machine.number}) {why}", 1)

    def done(self, key):
        """All ranks of a machine have ended well."""
        machine = self._machines.get(key)
        if machine is None or self.ended:
            return
        machine.done = True
        if all(m.done for m in self._machines.values()):
            self._end("over")

    def failed(self, key, code, text, clash=False):
        """A rank of a machine has failed with an exit code; `clash`: because another program had its port."""
        machine = self._machines.get(key)
        if machine is None or self.ended or not self.running:
            return
        machine.done = False
        if code == RESTART_CODE or (clash and self._clashes < _CLASHES):
            self._clashes += clash
            self._regroup(text)
        else:
            self._again(text, code)

    def _again(self, why, code):
        if self.restarts >= self._limit:
            self._end("stop", code=code, why=why)
            return
        self.restarts += 1
        self._regroup(f"{why}; start {self.restarts + 1} of at most {self._limit + 1}")

    def _regroup(self, why):
        self.running = False
        self._since = self._changed = self._clock()
        for machine in self._machines.values():
            if machine.number is not None:
                machine.ready = machine.done = False
                self._say(machine, "regroup", why=why)

    def _end(self, kind, **values):
        self.running, self.ended = False, True
        for machine in self._machines.values():
            self._say(machine, kind, **values)

    def tick(self):
        """What happens because time passes: a round begins, or nobody comes any more."""
        if self.running or self.ended:
            return
        now, count = self._clock(), len(self._machines)
        ready = all(machine.ready for machine in self._machines.values())
        if count >= self._least and ready and (count == self._most or now - self._changed >= self._settle):
            self._start()
        elif now - self._since > self._timeout:
            missing = (
                f"{count} of {self._least} machines came" if count < self._least else "a machine did not get ready"
            )
            self._end("stop", code=1, why=f"{missing} within {self._timeout:g} seconds")

    def _start(self):
        machines = list(self._machines.values())
        places = [None] * len(machines)
        asked = [m for m in machines if 0 <= m.offer["rank"] < len(machines)]
        for machine in asked:
            places[machine.offer["rank"]] = machine
        # The others keep their order, so that a rank finds its files where it left them if it can.
        others = [m for m in machines if m not in asked]
        others.sort(key=lambda m: (m.number is None, m.number or 0, m.arrival))
        for i, machine in enumerate(places):
            if machine is None:
                places[i] = others.pop(0)
        nodes = [{name: m.offer[name] for name in ("host", "processes", "ports")} for m in places]
        self.running = True
        self._round += 1
        for number, machine in enumerate(places):
            machine.number = number
            self._say(
                machine,
                "start",
                number=number,
                nodes=nodes,
                restarts=self.restarts,
                round=self._round,
                token=f"{self._token}.{self._round}",
            )
