"""What the simulator predicts beside what jobs of this machine take: data parallel and pipelines on 2, 4 and 8 ranks.

    python benchmarks/simulate.py [--networks mlp gpt] [--ranks 2 4 8] [--steps 8] [--turns 3] [--trace FOLDER]
                                  [--record FILE | --replay FILE]

Costs of calls are measured in steps of the network in one process, two of them at a time, since these share caches and memory:
steps of one batch, with gradients put together as for an exchange, and of as many micro-batches as a pipeline has. What ranks
cost beside that is fitted to a smaller and a larger network: the link to collectives of two ranks, and with what ranks that
share a core take of each other to steps of two and four. No step that is predicted was measured before. All is measured by
turns, and medians count.
What other processes of the machine took meanwhile is printed (disturbance.py); a disturbed job is measured again. With --record
all that was measured is kept in a file, and --replay predicts by such a file what another version of the simulator would have.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import socket
import statistics
import subprocess
import sys
import time

import disturbance

import proa
from proa import distributed as dist
from proa import nn, profiler
from proa.distributed import collective, fleet, simulate
from proa.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer
from proa.distributed.fleet.meta_parallel.pp_utils.p2p_communication import Line
from proa.distributed.fleet.meta_parallel.pp_utils.schedule import Step
from proa.distributed.reducer import Reducer

_CORES = len(os.sched_getaffinity(0))
_TICK = 4e-3  # seconds of the clock of Linux
_MICRO = 4  # micro-batches of a pipeline's step, at least

# Sizes that are predicted, and those that the link and what ranks share are fitted to.
_SIZES = {
    "mlp": ({"width": 1024, "batch": 32}, [{"width": 896, "batch": 24}, {"width": 1152, "batch": 40}]),
    "gpt": ({"width": 256, "batch": 8}, [{"width": 192, "batch": 4}, {"width": 320, "batch": 12}]),
}
_LENGTH, _WORDS = 64, 96


class Pair(nn.Layer):
    """A linear layer and gelu."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return nn.functional.gelu(self.linear(x))


class Words(nn.Layer):
    """Embeddings of words and places."""

    def __init__(self, width):
        super().__init__()
        self.words, self.places = nn.Embedding(_WORDS, width), nn.Embedding(_LENGTH, width)

    def forward(self, x):
        return self.words(x) + self.places(proa.arange(_LENGTH))


class Block(nn.Layer):
    """Attention that looks back only, and two linear layers."""

    def __init__(self, width, heads=8):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        qkv = self.qkv(self.before(x)).reshape([-1, _LENGTH, 3, self.heads, self.size]).transpose([2, 0, 3, 1, 4])
        scores = qkv[0] @ qkv[1].transpose([0, 1, 3, 2]) / self.size**0.5
        scores = scores + proa.triu(proa.full([_LENGTH, _LENGTH], -1e9), 1)
        seen = nn.functional.softmax(scores, -1) @ qkv[2]
        x = x + self.out(seen.transpose([0, 2, 1, 3]).reshape([-1, _LENGTH, self.heads * self.size]))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))


class Out(nn.Layer):
    """Logits of all words."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, _WORDS)

    def forward(self, x):
        return self.linear(self.norm(x))


def _layers(kind, width, batch):
    """Classes of the layers, (sizes, dtype) of inputs and of labels, and the loss."""
    if kind == "mlp":
        return [Pair] * 8, ([batch, width], "float32"), ([batch, width], "float32"), nn.MSELoss()
    shape = [batch, _LENGTH]
    return [Words, *[Block] * 6, Out], (shape, "int64"), ([*shape, 1], "int64"), nn.CrossEntropyLoss()


def _data(shape, dtype):
    return proa.randint(0, _WORDS, shape, dtype) if dtype == "int64" else proa.rand(shape)


# What the processes of a job do -----------------------------------------------------


def _step_of_one(kind, width, batch, passes=1, group=None):
    """One step of one process.

    `group`, of this rank alone, has it put its gradients together and take them apart as for an exchange: all that it computes
    with is less often in a cache then.
    """
    classes, x, y, loss = _layers(kind, width, batch)
    net = nn.Sequential(*[layer(width) for layer in classes])
    if group is not None:
        reducer = Reducer(list(net.named_parameters()), group)
        net.register_forward_post_hook(lambda _, inputs, outputs: reducer.prepare(outputs))
    return _training(net, loss, _data(*x), _data(*y), passes)


def _training(net, loss, x, y, passes=1):
    """A function that does one step of Adam, with the gradients of some micro-batches."""
    adam = proa.optimizer.Adam(1e-3, parameters=net.parameters())

    def step():
        for _ in range(passes):
            loss(net(x), y).backward()
        adam.step()
        adam.clear_grad()

    return step


def _calibrate(kind, sizes):
    dist.init_parallel_env()
    alone = [dist.new_group([rank]) for rank in range(dist.get_world_size())][dist.get_rank()]
    steps = {"dp": _step_of_one(kind, **sizes, group=alone), "pp": _step_of_one(kind, **sizes, passes=_MICRO)}
    messages, samples = _messages(), {}
    for way, step in steps.items():
        dist.barrier()
        samples[way] = messages + simulate.measure_step(step, rounds=8)
    links = simulate.measure_links(kinds=("all_reduce", "send"), sizes=(1 << 16, 1 << 20, 1 << 22, 1 << 24))
    return {"samples": samples, "links": links}


def _messages():
    """What messages between stages take of the ranks that send and receive them."""
    line, step = Line(collective.get_group(0)), Step("forward", 0, 0)
    found, calls = [], {"send": lambda x: line.send(x, 1, step), "recv": lambda x: line.receive(1, step)}
    for count in (1 << 12, 1 << 16, 1 << 18):
        x, times = proa.rand([count]), {name: [] for name in calls}
        for _ in range(100):
            for name in sorted(calls, reverse=dist.get_rank() == 0):
                began = time.thread_time()
                calls[name](x)
                times[name].append(time.thread_time() - began)
        line.finish()
        found += [simulate.OpSample(name, 0.0, 4.0 * count, statistics.median(times[name])) for name in calls]
    return found


def _parallel_step(kind, way, sizes):
    """One step of a rank of a job that is data parallel ("dp") or a pipeline ("pp")."""
    dist.init_parallel_env()
    ranks = dist.get_world_size()
    classes, x, y, loss = _layers(kind, **sizes)
    if way == "dp":
        net = proa.DataParallel(nn.Sequential(*[layer(sizes["width"]) for layer in classes]))
        return _training(net, loss, _data(*x), _data(*y))
    strategy, micro = fleet.DistributedStrategy(), max(_MICRO, ranks)
    strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": 1, "pp_degree": ranks}
    strategy.pipeline_configs = {"accumulate_steps": micro, "micro_batch_size": sizes["batch"]}
    fleet.init(is_collective=True, strategy=strategy)
    hcg = fleet.get_hybrid_communicate_group()
    descs = [LayerDesc(layer, sizes["width"]) for layer in classes]
    net = PipelineLayer(descs, loss_fn=loss, topology=hcg.topology())
    model = fleet.distributed_model(net)
    adam = fleet.distributed_optimizer(proa.optimizer.Adam(1e-3, parameters=net.parameters()))
    data = [_data([shape[0] * micro, *shape[1:]], dtype) for shape, dtype in (x, y)]
    return lambda: model.train_batch(data, adam)


def _measure(kind, way, steps, sizes):
    """The median of a step's seconds."""
    step, times = _parallel_step(kind, way, sizes), []
    for number in range(steps + 3):
        dist.barrier()
        began = time.perf_counter()
        step()
        dist.barrier()  # a step is over when all ranks are done
        if number >= 3:
            times.append(time.perf_counter() - began)
    return statistics.median(times)


# The parent ---------------------------------------------------------------------------


def _job(ranks, *arguments):
    """What the first of some processes of this script printed, read as JSON."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    common = {name: value for name, value in os.environ.items() if not name.startswith(("PADDLE_", "MASTER_"))}
    common |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    common |= {"PADDLE_TRAINERS_NUM": str(ranks), "PADDLE_MASTER": f"127.0.0.1:{port}"}
    command = [sys.executable, os.path.abspath(__file__), "--worker", *map(str, arguments)]
    processes = [
        subprocess.Popen(
            command,
            env=common | {"PADDLE_TRAINER_ID": str(rank)},
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
        )
        for rank in range(ranks)
    ]
    out = processes[0].communicate()[0]
    codes = [p.wait() for p in processes]
    if any(codes):
        raise RuntimeError(f"the ranks of {arguments} ended with {codes}")
    return json.loads(out.splitlines()[-1])


def _work(kind, sizes):
    """The work of a micro-batch."""
    classes, x, y, loss = _layers(kind, **sizes)
    layers = [layer(sizes["width"]) for layer in classes]
    parameters = [p for layer in layers for p in layer.parameters()]
    specs = [proa.static.InputSpec(*x, "x"), proa.static.InputSpec(*y, "y")]
    return simulate.record(layers, specs, loss, proa.optimizer.Adam(1e-3, parameters=parameters))


def _cuts(work, stages):
    """Layers by their number, as PipelineLayer divides them."""
    layers = len(work.marks)
    sizes = [layers // stages + (stage >= stages - layers % stages) for stage in range(stages)]
    return [work.marks[sum(sizes[:stage])] for stage in range(stages)]


def _predict(work, costs, link, ranks, way, sharing):
    topology = simulate.Topology(ranks, cores_per_node=_CORES, inside=link, sharing=sharing)
    strategy = simulate.Strategy(
        **{way: ranks},
        micro_batches=max(_MICRO, ranks) if way == "pp" else 1,
        algorithm="direct",
    )
    return simulate.predict(work, topology, strategy, costs, cuts=_cuts(work, ranks if way == "pp" else 1))


class _Jobs:
    """Runs jobs while nothing else disturbs them, or reads what they gave when they ran (--record, --replay)."""

    def __init__(self, options):
        self._steps, self._replays = options.steps, options.replay is not None
        self._path, self._found = options.record, []
        if self._replays:
            with open(options.replay) as file:
                self._found = json.load(file)

    def run(self, ranks, what, kind, sizes):
        """(what the first rank printed, what other processes took meanwhile)."""
        work = functools.partial(_job, ranks, what, kind, self._steps, json.dumps(sizes))
        return self._once([ranks, what, kind, sizes], work)

    def roof(self):
        """FLOP/s and bytes/s of one core."""
        return tuple(1e9 * rate for rate in self._once(["roof"], profiler.measure_roof)[0])

    def _once(self, key, work):
        if self._replays:
            at = next((at for at, (was, *_) in enumerate(self._found) if was == key), None)
            if at is None:
                raise SystemExit(f"the record has no further job {key}")
            return self._found.pop(at)[1:]
        job = disturbance.calm(work)
        self._found.append([key, job.value, job.others or 0.0])
        return self._found[-1][1:]

    def save(self):
        if self._path:
            with open(self._path, "w") as file:
                json.dump(self._found, file)


def _calm(jobs):
    """What jobs gave that were not disturbed, or all of them if none of them was calm."""
    return [value for value, others in jobs if others <= disturbance.BOUND] or [value for value, _ in jobs]


class _Turns:
    """What jobs of one network took, and the calls of its steps in one process, by turns."""

    def __init__(self, kind, sizes, cases, options, jobs):
        self.samples, self.links = [], []
        self.took = {case: [] for case in cases}
        calibrated = []
        for _ in range(options.turns):
            calibrated.append(jobs.run(min(_CORES, 2), "calibrate", kind, sizes))
            for way, ranks in cases:
                self.took[way, ranks].append(jobs.run(ranks, way, kind, sizes))
        for found in _calm(calibrated):
            self.samples.append(found["samples"])
            self.links += [simulate.LinkSample(*sample) for sample in found["links"]]

    def costs(self, way, roof):
        return simulate.fit([simulate.OpSample(*sample) for turn in self.samples for sample in turn[way]], roof)

    def seconds(self, case):
        return statistics.median(_calm(self.took[case]))

    def others(self, case):
        return min(others for _, others in self.took[case])


def _fitted(kind, roof, options, jobs):
    """Links of collectives and of messages, and the sharing of cores of this machine, by networks of other sizes."""
    turns = []
    for sizes in _SIZES[kind][1]:
        cases = [(way, ranks) for way in ("dp", "pp") for ranks in (_CORES, 2 * _CORES)]
        turns.append((_work(kind, sizes), _Turns(kind, sizes, cases, options, jobs)))
    measured = simulate.fit_link([sample for _, turn in turns for sample in turn.links], cores=1.0)
    steps = [
        (functools.partial(_seconds, work, turn.costs(way, roof), way, ranks, measured), turn.seconds((way, ranks)))
        for work, turn in turns
        for way, ranks in turn.took
    ]
    fitted, sharing = simulate.fit_to_steps(measured, steps, simulate.Sharing(tick=_TICK))
    return {"dp": fitted, "pp": measured}, sharing


def _seconds(work, costs, way, ranks, measured, link, sharing):
    """Who waits for a message does nothing else: it takes what was measured. Collectives run beside computing."""
    return _predict(work, costs, measured if way == "pp" else link, ranks, way, sharing).seconds


def _compare(kind, roof, options, jobs):
    """Prints what is predicted beside what was measured; the largest error."""
    links, sharing = _fitted(kind, roof, options, jobs)
    sizes = _SIZES[kind][0]
    turns = _Turns(kind, sizes, [(way, ranks) for way in ("dp", "pp") for ranks in options.ranks], options, jobs)
    work, worst = _work(kind, sizes), 0.0
    print(f"{kind}: {work}; {turns.costs('dp', roof)}; {links}; {sharing}")
    for way, ranks in turns.took:
        result = _predict(work, turns.costs(way, roof), links[way], ranks, way, sharing)
        seconds = turns.seconds((way, ranks))
        error = result.seconds / seconds - 1
        worst = max(worst, abs(error))
        print(
            f"  {way} {ranks} ranks: predicted {1e3 * result.seconds:8.2f} ms, measured {1e3 * seconds:8.2f} ms, "
            f"{100 * error:+6.1f} %, bubble {100 * result.bubble:4.1f} %, others took {turns.others((way, ranks)):.2f} of a CPU",
            flush=True,
        )
        if options.trace:
            result.save_trace(os.path.join(options.trace, f"{kind}_{way}_{ranks}.json"))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="+", default=list(_SIZES), choices=list(_SIZES))
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4, 8])
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3, help="in which everything is measured; medians count")
    parser.add_argument("--repeats", type=int, default=disturbance.REPEATS, help="of a disturbed job")
    parser.add_argument("--trace", help="a folder for traces of what is predicted")
    parser.add_argument("--record", help="a file that keeps all that was measured")
    parser.add_argument("--replay", help="a file of --record: predicts by it and measures nothing")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        what, kind, steps, sizes = options.worker
        found = (
            _calibrate(kind, json.loads(sizes))
            if what == "calibrate"
            else _measure(kind, what, int(steps), json.loads(sizes))
        )
        print(json.dumps(found), flush=True)
        return
    disturbance.REPEATS = options.repeats
    proa._C.set_num_threads(1)  # as many as a rank has
    jobs = _Jobs(options)
    roof = jobs.roof()
    worst = max(_compare(kind, roof, options, jobs) for kind in options.networks)
    jobs.save()
    print(f"largest error: {100 * worst:.1f} %")


if __name__ == "__main__":
    main()
