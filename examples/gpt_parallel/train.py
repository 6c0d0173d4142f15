"""Trains a small GPT on several processes: data, tensor, sequence and pipeline parallel, with divided optimizer states, gradients
and parameters, with experts, in mixed precision, or all of it.

    fleetrun --nproc_per_node 2 train.py --mp 2 [--quick] [--steps N] [--text FILE] [--checkpoint FOLDER]
    fleetrun --nproc_per_node 4 train.py --mp 2 --sequence --pp 2 --chunks 2
    fleetrun --nproc_per_node 4 train.py --dp 2 --sharding 2 --stage 3 --amp O1 --recompute
    fleetrun --nproc_per_node 2 train.py --experts 4 --merge 2

What --mp, --pp and --sharding leave of the processes is data parallel. All ways learn alike; their losses differ a
little because each process draws the start of its own parts. With --checkpoint it goes on from the last complete checkpoint,
of any number of processes, divided in any way: `fleetrun --max_restart 3` survives the loss of a process.
Ends with status 1 unless the loss falls well below that of guessing by the letters' frequencies.
"""

import argparse
import contextlib
import os
import sys
from typing import NamedTuple

import numpy as np

import proa as paddle
import proa.distributed as dist
from proa.distributed import checkpoint, fleet
from proa.distributed.fleet.meta_parallel import (
    ColumnParallelLinear,
    LayerDesc,
    PipelineLayer,
    RowParallelLinear,
    VocabParallelEmbedding,
)
from proa.distributed.fleet.utils.sequence_parallel_utils import (
    ColumnSequenceParallelLinear,
    GatherOp,
    RowSequenceParallelLinear,
    ScatterOp,
    mark_as_sequence_parallel_parameter,
)
from proa.incubate.distributed.models.moe import MoELayer

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = os.path.join(HERE, os.pardir, "char_transformer", "declaration.txt")


class Sizes(NamedTuple):
    """Of the network, and how its layers are divided."""

    characters: int
    context: int
    width: int
    heads: int
    blocks: int
    sequence: bool = False  # between blocks each tensor-parallel process has a part of the length
    experts: int = 0  # of each data-parallel process; 0: linear layers in their place


class Words(paddle.nn.Layer):
    """Embeddings of characters, whose rows are divided among tensor-parallel processes, and of places."""

    def __init__(self, sizes):
        super().__init__()
        self.sequence = sizes.sequence
        self.characters = VocabParallelEmbedding(sizes.characters, sizes.width)
        self.places = paddle.nn.Embedding(sizes.context, sizes.width)

    def forward(self, x):
        found = self.characters(x) + self.places(paddle.arange(x.shape[1]))
        return ScatterOp.apply(found.transpose([1, 0, 2])) if self.sequence else found


def seeing_parts(layer, sizes):
    """The layer, all of which sees a part of the sequence where that is divided."""
    if sizes.sequence:
        for parameter in layer.parameters():
            mark_as_sequence_parallel_parameter(parameter)
    return layer


def norm(sizes):
    """A normalization."""
    return seeing_parts(paddle.nn.LayerNorm(sizes.width), sizes)


def experts(sizes):
    """A mixture of experts, other ones on each data-parallel process; tokens go to two of them."""
    width, hcg = sizes.width, fleet.get_hybrid_communicate_group()
    nn = paddle.nn
    made = [nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)) for _ in range(sizes.experts)]
    gate = {"type": "naive", "top_k": 2}
    # Tensor-parallel processes share their tokens, unless they have parts of the sequence already.
    shared = None if sizes.sequence else hcg.get_model_parallel_group()
    layer = MoELayer(width, nn.LayerList(made), gate, hcg.get_data_parallel_group(), mp_group=shared)
    return seeing_parts(layer, sizes)


class Block(paddle.nn.Layer):
    """Attention that looks back only, and two linear layers or experts; each process has some of the heads and columns."""

    def __init__(self, sizes):
        super().__init__()
        width, self.sequence = sizes.width, sizes.sequence
        self.size = width // sizes.heads
        column = ColumnSequenceParallelLinear if sizes.sequence else ColumnParallelLinear
        row = RowSequenceParallelLinear if sizes.sequence else RowParallelLinear
        self.before, self.between = norm(sizes), norm(sizes)
        self.qkv = column(width, 3 * width, has_bias=True, gather_output=False)
        self.out = row(width, width, input_is_parallel=True)
        if sizes.experts:
            self.mixed = experts(sizes)
        else:
            self.up = column(width, 4 * width, has_bias=True, gather_output=False)
            self.down = row(4 * width, width, input_is_parallel=True)

    def forward(self, x):
        qkv = self.qkv(self.before(x))
        qkv = qkv.transpose([1, 0, 2]) if self.sequence else qkv
        batch, length, _ = qkv.shape
        # [batch, length, own heads, q k v, size] to [q k v, batch, heads, length, size]
        qkv = qkv.reshape([batch, length, -1, 3, self.size]).transpose([3, 0, 2, 1, 4])
        scores = qkv[0] @ qkv[1].transpose([0, 1, 3, 2]) / self.size**0.5
        scores = scores + paddle.triu(paddle.full([length, length], -1e9, scores.dtype), 1)
        seen = paddle.nn.functional.softmax(scores, -1) @ qkv[2]
        seen = seen.transpose([0, 2, 1, 3]).reshape([batch, length, -1])
        x = x + self.out(seen.transpose([1, 0, 2]) if self.sequence else seen)
        if hasattr(self, "mixed"):
            return x + self.mixed(self.between(x))
        return x + self.down(paddle.nn.functional.gelu(self.up(self.between(x))))


class Out(paddle.nn.Layer):
    """Logits of all characters."""

    def __init__(self, sizes):
        super().__init__()
        self.sequence, self.norm = sizes.sequence, norm(sizes)
        self.linear = ColumnParallelLinear(sizes.width, sizes.characters, has_bias=False, gather_output=True)

    def forward(self, x):
        x = self.norm(x)
        return self.linear(GatherOp.apply(x).transpose([1, 0, 2]) if self.sequence else x)


def layers(sizes):
    """The model as a list, of which each stage makes its own."""
    return [LayerDesc(Words, sizes), *[LayerDesc(Block, sizes) for _ in range(sizes.blocks)], LayerDesc(Out, sizes)]


def mean_loss(logits, labels):
    return paddle.nn.functional.cross_entropy(logits, labels)


def batch(codes, context, size, step):
    """Characters [size, context] and those that follow each; by the step alone, so that a restart goes on with the same."""
    starts = np.random.default_rng([7, step]).integers(0, len(codes) - context, size)
    rows = np.stack([codes[s : s + context + 1] for s in starts])
    return rows[:, :-1], rows[:, 1:]


def entropy(codes):
    """The loss of guessing by frequencies, in nats."""
    p = np.bincount(codes) / len(codes)
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


def read_options(arguments):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mp", type=int, default=1, help="processes that divide each layer")
    parser.add_argument("--sequence", action="store_true", help="they divide the sequence between layers too")
    parser.add_argument("--pp", type=int, default=1, help="stages")
    parser.add_argument("--chunks", type=int, default=1, help="parts of the model a stage (interleaved)")
    parser.add_argument("--sharding", type=int, default=1, help="processes that divide the optimizer's states")
    parser.add_argument(
        "--stage", type=int, default=1, choices=[1, 2, 3], help="they divide gradients (2), parameters (3) too"
    )
    parser.add_argument("--dp", type=int, default=-1, help="data-parallel processes; what the others leave")
    parser.add_argument("--experts", type=int, default=0, help="of each block, divided among data-parallel processes")
    parser.add_argument("--amp", choices=["O1", "O2"], help="bfloat16, of what gains by it or of all but the optimizer")
    parser.add_argument("--recompute", action="store_true", help="backward computes blocks again")
    parser.add_argument(
        "--merge", type=int, default=1, help="parts of a batch whose gradients add up; of stages 4 at least"
    )
    parser.add_argument("--quick", action="store_true", help="a smaller network and few steps, for tests")
    parser.add_argument("--steps", type=int, help="batches")
    parser.add_argument("--text", default=TEXT, help="what to learn")
    parser.add_argument("--checkpoint", help="a folder to save to, and to go on from")
    parser.add_argument("--every", type=int, default=50, help="steps from one checkpoint and one line to the next")
    options = parser.parse_args(arguments)
    if options.sequence and options.mp == 1:
        parser.error("--sequence divides among the processes of --mp, which is 1")
    if options.chunks > 1 and options.pp == 1:
        parser.error("--chunks are parts of the stages of --pp, which is 1")
    return options


def begin(options, size):
    """Starts fleet; (groups of this process, among how many a batch is divided, which of them this one is)."""
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {
        "dp_degree": options.dp, "mp_degree": options.mp, "pp_degree": options.pp, "sharding_degree": options.sharding,
    }  # fmt: skip
    strategy.sharding_configs = {"stage": options.stage}
    fleet.init(is_collective=True, strategy=strategy)
    hcg = fleet.get_hybrid_communicate_group()
    # Data parallel and sharding processes have a part of each batch.
    ways = hcg.get_data_parallel_world_size() * hcg.get_sharding_parallel_world_size()
    way = hcg.get_data_parallel_rank() * hcg.get_sharding_parallel_world_size() + hcg.get_sharding_parallel_rank()
    micro = max(options.merge, 4)
    strategy.pipeline_configs = {"accumulate_steps": micro, "micro_batch_size": size // ways // micro}
    return hcg, ways, way


def build(options, sizes, hcg):
    """(model, optimizer) as this process has them."""
    paddle.seed(5)
    net = PipelineLayer(
        layers(sizes),
        loss_fn=mean_loss,
        topology=hcg.topology(),
        recompute_interval=int(options.recompute),
        num_virtual_pipeline_stages=options.chunks,
    )
    clip = paddle.nn.ClipGradByGlobalNorm(1.0)
    adam = paddle.optimizer.AdamW(
        3e-3, weight_decay=0.01, parameters=net.parameters(), grad_clip=clip, multi_precision=options.amp == "O2"
    )
    if options.amp == "O2":
        net, adam = paddle.amp.decorate(net, adam, level="O2", dtype="bfloat16")
    return fleet.distributed_model(net), fleet.distributed_optimizer(adam)


def train(options, model, optimizer, x, y):
    """One step; the loss of this process's part of the batch."""

    def amp():
        return paddle.amp.auto_cast(enable=options.amp is not None, level=options.amp or "O1", dtype="bfloat16")

    if options.pp > 1:
        with amp():
            return model.train_batch([x, y], optimizer).item()
    total = 0.0
    parts = list(zip(paddle.split(x, options.merge), paddle.split(y, options.merge)))
    for number, (some, labels) in enumerate(parts):
        # Gradients are exchanged once, when all have been added up.
        more = number + 1 < len(parts) and hasattr(model, "no_sync")
        with model.no_sync() if more else contextlib.nullcontext():
            with amp():
                loss = mean_loss(model(some), labels) / len(parts)
            loss.backward()
        total += loss.item()
    optimizer.step()
    optimizer.clear_grad()
    return total


def main(arguments=None):
    options = read_options(arguments)
    with open(options.text, encoding="utf-8") as stream:
        text = stream.read()
    alphabet = "".join(sorted(set(text)))
    codes = np.array([alphabet.index(c) for c in text], "int64")
    characters = -(-len(alphabet) // 8) * 8  # some that do not occur, so that they are divided evenly
    context, width, heads, blocks, steps = (32, 32, 4, 2, 150) if options.quick else (64, 128, 8, 4, 1000)
    steps, size = options.steps or steps, 32
    hcg, ways, way = begin(options, size)
    if options.experts % hcg.get_data_parallel_world_size():
        raise SystemExit(f"--experts {options.experts}: {ways} processes do not divide them evenly")
    own = options.experts // hcg.get_data_parallel_world_size()
    model, optimizer = build(options, Sizes(characters, context, width, heads, blocks, options.sequence, own), hcg)

    restored = checkpoint.load(options.checkpoint, model, optimizer) if options.checkpoint else None
    first, recent = (restored.step, restored.extra["loss"]) if restored else (0, float(np.log(characters)))
    for step in range(first, steps):
        x, y = (paddle.to_tensor(np.split(part, ways)[way]) for part in batch(codes, context, size, step))
        loss = paddle.to_tensor(train(options, model, optimizer, x, y))
        dist.all_reduce(loss, dist.ReduceOp.AVG)  # of the whole batch
        recent += (loss.item() - recent) * 0.05
        if (step + 1) % options.every:
            continue
        if fleet.is_first_worker():
            print(f"step {step + 1}: loss {recent:.4f}, of this batch {loss.item():.6f}", flush=True)
        if options.checkpoint:
            checkpoint.save(options.checkpoint, model, optimizer, step + 1, extra={"loss": recent})
    if fleet.is_first_worker():
        print(f"loss {recent:.3f}; guessing by frequencies gives {entropy(codes):.3f}")
    return 0 if recent < entropy(codes) - (0.2 if options.quick else 1.0) else 1


if __name__ == "__main__":
    sys.exit(main())
