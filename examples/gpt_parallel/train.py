"""Trains a small GPT on several processes: data, tensor and pipeline parallel, with divided optimizer states, or all of it.

    fleetrun --nproc_per_node 2 train.py --mp 2 [--quick] [--steps N] [--text FILE] [--checkpoint FOLDER]
    fleetrun --nproc_per_node 4 train.py --mp 2 --pp 2
    fleetrun --nproc_per_node 4 train.py --dp 2 --sharding 2

What --mp, --pp and --sharding leave of the processes is data parallel. All ways learn alike; their losses differ a
little because each process draws the start of its own parts. With --checkpoint it goes on from the last complete checkpoint,
of any number of processes: `fleetrun --max_restart 3` survives the loss of a process.
Ends with status 1 unless the loss falls well below that of guessing by the letters' frequencies.
"""

import argparse
import os
import sys

import numpy as np

import proa as paddle
from proa.distributed import checkpoint, fleet
from proa.distributed.fleet.meta_parallel import (
    ColumnParallelLinear,
    LayerDesc,
    PipelineLayer,
    RowParallelLinear,
    VocabParallelEmbedding,
)

HERE = os.path.dirname(os.path.abspath(__file__))
TEXT = os.path.join(HERE, os.pardir, "char_transformer", "declaration.txt")


class Words(paddle.nn.Layer):
    """Embeddings of characters, whose rows are divided among tensor-parallel processes, and of places."""

    def __init__(self, characters, context, width):
        super().__init__()
        self.characters = VocabParallelEmbedding(characters, width)
        self.places = paddle.nn.Embedding(context, width)

    def forward(self, x):
        return self.characters(x) + self.places(paddle.arange(x.shape[1]))


class Block(paddle.nn.Layer):
    """Attention that looks back only, and two linear layers; each process has some of the heads and columns."""

    def __init__(self, width, heads):
        super().__init__()
        nn = paddle.nn
        self.size = width // heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = ColumnParallelLinear(width, 3 * width, has_bias=True, gather_output=False)
        self.out = RowParallelLinear(width, width, input_is_parallel=True)
        self.up = ColumnParallelLinear(width, 4 * width, has_bias=True, gather_output=False)
        self.down = RowParallelLinear(4 * width, width, input_is_parallel=True)

    def forward(self, x):
        batch, length, _ = x.shape
        # [batch, length, own heads, q k v, size] to [q k v, batch, heads, length, size]
        qkv = self.qkv(self.before(x)).reshape([batch, length, -1, 3, self.size]).transpose([3, 0, 2, 1, 4])
        scores = qkv[0] @ qkv[1].transpose([0, 1, 3, 2]) / self.size**0.5
        scores = scores + paddle.triu(paddle.full([length, length], -1e9), 1)
        seen = paddle.nn.functional.softmax(scores, -1) @ qkv[2]
        x = x + self.out(seen.transpose([0, 2, 1, 3]).reshape([batch, length, -1]))
        return x + self.down(paddle.nn.functional.gelu(self.up(self.between(x))))


class Out(paddle.nn.Layer):
    """Logits of all characters."""

    def __init__(self, width, characters):
        super().__init__()
        self.norm = paddle.nn.LayerNorm(width)
        self.linear = ColumnParallelLinear(width, characters, has_bias=False, gather_output=True)

    def forward(self, x):
        return self.linear(self.norm(x))


def layers(characters, context, width, heads, blocks):
    """The model as a list, of which each stage makes its own."""
    return [
        LayerDesc(Words, characters, context, width),
        *[LayerDesc(Block, width, heads) for _ in range(blocks)],
        LayerDesc(Out, width, characters),
    ]


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


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mp", type=int, default=1, help="processes that divide each layer")
    parser.add_argument("--pp", type=int, default=1, help="stages")
    parser.add_argument("--sharding", type=int, default=1, help="processes that divide the optimizer's states")
    parser.add_argument("--dp", type=int, default=-1, help="data-parallel processes; what the others leave")
    parser.add_argument("--quick", action="store_true", help="a smaller network and few steps, for tests")
    parser.add_argument("--steps", type=int, help="batches")
    parser.add_argument("--text", default=TEXT, help="what to learn")
    parser.add_argument("--checkpoint", help="a folder to save to every 50 steps, and to go on from")
    options = parser.parse_args(arguments)
    with open(options.text, encoding="utf-8") as stream:
        text = stream.read()
    alphabet = "".join(sorted(set(text)))
    codes = np.array([alphabet.index(c) for c in text], "int64")
    characters = -(-len(alphabet) // 8) * 8  # some that do not occur, so that they are divided evenly
    context, width, heads, blocks, steps = (32, 32, 4, 2, 150) if options.quick else (64, 128, 8, 4, 1000)
    steps, size = options.steps or steps, 32

    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {
        "dp_degree": options.dp, "mp_degree": options.mp, "pp_degree": options.pp, "sharding_degree": options.sharding,
    }  # fmt: skip
    fleet.init(is_collective=True, strategy=strategy)
    hcg = fleet.get_hybrid_communicate_group()
    # Data parallel and sharding processes have a part of each batch.
    ways = hcg.get_data_parallel_world_size() * hcg.get_sharding_parallel_world_size()
    way = hcg.get_data_parallel_rank() * hcg.get_sharding_parallel_world_size() + hcg.get_sharding_parallel_rank()
    strategy.pipeline_configs = {"accumulate_steps": 4, "micro_batch_size": size // ways // 4}

    paddle.seed(5)
    net = PipelineLayer(layers(characters, context, width, heads, blocks), loss_fn=mean_loss, topology=hcg.topology())
    model = fleet.distributed_model(net)
    clip = paddle.nn.ClipGradByGlobalNorm(1.0)
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.AdamW(3e-3, weight_decay=0.01, parameters=net.parameters(), grad_clip=clip)
    )
    restored = checkpoint.load(options.checkpoint, model, optimizer) if options.checkpoint else None
    first, recent = (restored.step, restored.extra["loss"]) if restored else (0, float(np.log(characters)))
    for step in range(first, steps):
        x, y = (paddle.to_tensor(np.split(part, ways)[way]) for part in batch(codes, context, size, step))
        if options.pp > 1:
            loss = model.train_batch([x, y], optimizer)
        else:
            loss = mean_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        recent += (loss.item() - recent) * 0.05
        if fleet.is_first_worker() and (step + 1) % 50 == 0:
            print(f"step {step + 1}: loss {recent:.4f}", flush=True)
        if options.checkpoint and (step + 1) % 50 == 0:
            checkpoint.save(options.checkpoint, model, optimizer, step + 1, extra={"loss": recent})
    if fleet.is_first_worker():
        print(f"loss {recent:.3f}; guessing by frequencies gives {entropy(codes):.3f}")
    return 0 if recent < entropy(codes) - (0.2 if options.quick else 1.0) else 1


if __name__ == "__main__":
    sys.exit(main())
