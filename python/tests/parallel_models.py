"""Small networks that fleet trains in every way of being parallel, beside the same networks in one process.

Ranks are threads of this process (`run_threads`). In float64 (`doubles`) what differs is a mistake and not rounding, which
optimizers such as Adam make large where a gradient is nearly 0.
"""

import contextlib
from typing import NamedTuple

import numpy as np

import proa
import proa.distributed as dist
import proa.nn.functional as F
from proa import nn
from proa.distributed import fleet

__all__ = [
    "BATCH",
    "MODELS",
    "Way",
    "begin",
    "build",
    "data",
    "doubles",
    "one_process",
    "optimizer_of",
    "train",
    "values_for",
]

BATCH, LENGTH, VOCABULARY, HIDDEN, HEADS = 8, 4, 8, 8, 4


@contextlib.contextmanager
def doubles():
    """Parameters and data are of float64."""
    before = proa.get_default_dtype()
    proa.set_default_dtype("float64")
    try:
        yield
    finally:
        proa.set_default_dtype(before)


class Way(NamedTuple):
    """How a job is parallel: degrees, the stage of sharding, parts a stage, and whether sequences are divided."""

    dp: int = 1
    mp: int = 1
    pp: int = 1
    sharding: int = 1
    stage: int = 1
    chunks: int = 1
    sequence: bool = False
    clip: str = "ClipGradByGlobalNorm"
    recompute: int = 0
    low: str = ""  # a 16-bit dtype: parameters of it (O2), with float32 copies
    free: bool = False  # vectors are not clipped

    @property
    def ranks(self):
        return self.dp * self.mp * self.pp * self.sharding

    @property
    def ways(self):
        """Among how many ranks a batch is divided."""
        return self.dp * self.sharding


def _linear(way, size, out, kind):
    """A linear layer; the first and second ("column", "row") of a pair."""
    from proa.distributed.fleet.meta_parallel import ColumnParallelLinear, RowParallelLinear

    if way.mp == 1:
        return nn.Linear(size, out)
    if kind == "column":
        return ColumnParallelLinear(size, out, has_bias=True, gather_output=False)
    return RowParallelLinear(size, out, input_is_parallel=True)


class Pair(nn.Layer):
    """Two linear layers with what is between them."""

    def __init__(self, way, size, hidden, out, activation):
        super().__init__()
        self.up, self.down = _linear(way, size, hidden, "column"), _linear(way, hidden, out, "row")
        self.activation = activation

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


class Words(nn.Layer):
    """Embeddings; [batch, length] to [batch, length, size], or to parts of the length: [length / ranks, batch, size]."""

    def __init__(self, way):
        super().__init__()
        from proa.distributed.fleet.meta_parallel import VocabParallelEmbedding

        self.sequence = way.sequence
        self.words = (VocabParallelEmbedding if way.mp > 1 else nn.Embedding)(VOCABULARY, HIDDEN)

    def forward(self, x):
        from proa.distributed.fleet.utils.sequence_parallel_utils import ScatterOp

        y = self.words(x)
        return ScatterOp.apply(y.transpose([1, 0, 2])) if self.sequence else y


class Block(nn.Layer):
    """Attention that looks back only, and two linear layers."""

    def __init__(self, way):
        super().__init__()
        from proa.distributed.fleet.meta_parallel import ColumnParallelLinear, RowParallelLinear
        from proa.distributed.fleet.utils import sequence_parallel_utils as sp

        self.sequence = way.sequence
        self.before, self.between = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        if way.mp > 1:
            column = sp.ColumnSequenceParallelLinear if way.sequence else ColumnParallelLinear
            row = sp.RowSequenceParallelLinear if way.sequence else RowParallelLinear
            self.qkv = column(HIDDEN, 3 * HIDDEN, has_bias=False, gather_output=False)
            self.out = row(HIDDEN, HIDDEN, input_is_parallel=True)
            self.up = column(HIDDEN, 4 * HIDDEN, has_bias=True, gather_output=False)
            self.down = row(4 * HIDDEN, HIDDEN, input_is_parallel=True)
        else:
            # No bias: that of the keys has no gradient but rounding.
            self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN, bias_attr=False), nn.Linear(HIDDEN, HIDDEN)
            self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
        if way.sequence:
            for p in [*self.before.parameters(), *self.between.parameters()]:
                sp.mark_as_sequence_parallel_parameter(p)

    def forward(self, x):
        qkv = self.qkv(self.before(x))
        qkv = qkv.transpose([1, 0, 2]) if self.sequence else qkv
        batch, length, _ = qkv.shape
        # Columns are [head, q|k|v, size], so that a part of them is whole heads.
        qkv = qkv.reshape([batch, length, -1, 3, HIDDEN // HEADS]).transpose([3, 0, 2, 1, 4])
        mask = proa.triu(proa.full([length, length], -1e4, x.dtype), 1)
        seen = F.softmax(qkv[0] @ qkv[1].transpose([0, 1, 3, 2]) + mask, -1) @ qkv[2]
        seen = seen.transpose([0, 2, 1, 3]).reshape([batch, length, -1])
        x = x + self.out(seen.transpose([1, 0, 2]) if self.sequence else seen)
        return x + self.down(F.gelu(self.up(self.between(x))))


class Out(nn.Layer):
    """Logits of all words."""

    def __init__(self, way):
        super().__init__()
        from proa.distributed.fleet.meta_parallel import ColumnParallelLinear
        from proa.distributed.fleet.utils import sequence_parallel_utils as sp

        self.sequence = way.sequence
        self.norm = nn.LayerNorm(HIDDEN)
        if way.mp > 1:
            self.linear = ColumnParallelLinear(HIDDEN, VOCABULARY, has_bias=False, gather_output=True)
        else:
            self.linear = nn.Linear(HIDDEN, VOCABULARY, bias_attr=False)
        if way.sequence:
            for p in self.norm.parameters():
                sp.mark_as_sequence_parallel_parameter(p)

    def forward(self, x):
        from proa.distributed.fleet.utils.sequence_parallel_utils import GatherOp

        x = self.norm(x)
        return self.linear(GatherOp.apply(x).transpose([1, 0, 2]) if self.sequence else x)


def _mlp(way):
    return [(Pair, way, 6, 8, 10, nn.GELU()), (nn.LayerNorm, 10), (Pair, way, 10, 12, 6, nn.Tanh()), (nn.Linear, 6, 2)]


def _cnn(way):
    return [
        (nn.Conv2D, 1, 4, 3, 1, 1),
        (nn.GELU,),
        (nn.Conv2D, 4, 4, 3, 2, 1),
        (nn.Flatten,),
        (Pair, way, 36, 12, 8, nn.GELU()),
        (nn.Linear, 8, VOCABULARY),
    ]


def _gpt(way):
    return [(Words, way), (Block, way), (Block, way), (Out, way)]


class Tied(nn.Embedding):
    """An embedding that is also the last layer, in another place of the list."""

    def __init__(self, way):
        super().__init__(VOCABULARY, HIDDEN)


def _logits(words, x):
    return x @ words.weight.t()


def _tied(way):
    return [(Tied, way), (Block, way), (Block, way), (nn.LayerNorm, HIDDEN), (Tied, way)]


class _OneTied(nn.Layer):
    """What `_tied` describes, in one process, under the same names."""

    def __init__(self):
        super().__init__()
        for at, (layer, *args) in enumerate(_tied(Way())[:-1]):
            self.add_sublayer(str(at), layer(*args))

    def forward(self, x):
        for at in range(4):
            x = self._sub_layers[str(at)](x)
        return _logits(self._sub_layers["0"], x)


def _squares(y, t):
    return ((y - t) ** 2).mean()


def _entropy(y, t):
    return F.cross_entropy(y, t).mean()


def _labels(random, *shape):
    return random.randint(0, VOCABULARY, [*shape, 1])


MODELS = {
    "mlp": (_mlp, _squares, lambda r: (r.randn(BATCH, 6), r.randn(BATCH, 2))),
    "cnn": (_cnn, _entropy, lambda r: (r.randn(BATCH, 1, 6, 6), _labels(r, BATCH))),
    "gpt": (_gpt, _entropy, lambda r: (r.randint(0, VOCABULARY, [BATCH, LENGTH]), _labels(r, BATCH, LENGTH))),
    "tied": (_tied, _entropy, lambda r: (r.randint(0, VOCABULARY, [BATCH, LENGTH]), _labels(r, BATCH, LENGTH))),
}


def data(kind, step):
    """(x, y) of a step, by its number alone."""
    dtype = proa.get_default_dtype()
    return tuple(a.astype(dtype) if a.dtype == np.float64 else a for a in MODELS[kind][2](np.random.RandomState(step)))


def optimizer_of(net, way, kind="AdamW"):
    """An optimizer whose clip changes every step."""
    clip = getattr(nn, way.clip)(0.05 if way.clip != "ClipGradByGlobalNorm" else 0.3)
    more = {"multi_precision": True} if way.low else {}
    for p in net.parameters():
        p.need_clip = not way.free or p.ndim > 1
    return getattr(proa.optimizer, kind)(0.01, parameters=net.parameters(), grad_clip=clip, **more)


def _amp(way):
    """In what forward runs."""
    return proa.amp.auto_cast(enable=bool(way.low), level="O2", dtype=way.low or "bfloat16")


def one_process(kind, steps, optimizer="AdamW", clip="ClipGradByGlobalNorm", left_out=(), low="", micro=1, free=False):
    """(losses, weights before, weights after) of one process with the whole batch, whose optimizer leaves steps out.

    Args:
        micro (int): in so many parts, whose gradients add up: as pipelines do it in 16 bits.
    """
    proa.seed(11)
    layers, loss_of, _ = MODELS[kind]
    net = _OneTied() if kind == "tied" else nn.Sequential(*[layer(*args) for layer, *args in layers(Way())])
    before = {name: p.numpy() for name, p in net.named_parameters()}
    way = Way(clip=clip, low=low, free=free)
    adam, losses = optimizer_of(net, way, optimizer), []
    if low:
        net, adam = proa.amp.decorate(net, adam, level="O2", dtype=low)
    for step in range(steps):
        total = 0.0
        for x, y in zip(*(map(proa.to_tensor, np.split(part, micro)) for part in data(kind, step))):
            with _amp(way):
                loss = loss_of(net(x), y) / micro
            loss.backward()
            total += loss.item()
        if step not in left_out:
            adam.step()
        adam.clear_grad()
        losses.append(total)
    return (
        losses,
        before,
        {name: p.astype("float32").numpy() if low else p.numpy() for name, p in net.named_parameters()},
    )


def begin(way):
    """Starts fleet."""
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {
        "dp_degree": way.dp, "mp_degree": way.mp, "pp_degree": way.pp, "sharding_degree": way.sharding,
    }  # fmt: skip
    strategy.sharding_configs = {"stage": way.stage}
    micro = 4 if way.chunks > 1 or way.ways < 4 else 2
    strategy.pipeline_configs = {"accumulate_steps": micro, "micro_batch_size": BATCH // way.ways // micro}
    fleet.init(is_collective=True, strategy=strategy)
    return fleet.get_hybrid_communicate_group()


def build(kind, way, hcg):
    """The network as this rank has it, not yet wrapped."""
    from proa.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer, SharedLayerDesc

    layers, loss_of, _ = MODELS[kind]
    descs = [LayerDesc(layer, *args) for layer, *args in layers(way)]
    if kind == "tied":
        first = descs[0].inputs
        descs[0] = SharedLayerDesc("words", Tied, None, "weight", *first)
        descs[-1] = SharedLayerDesc("words", Tied, _logits, "weight", *first)
    return PipelineLayer(
        descs,
        loss_fn=loss_of,
        topology=hcg.topology(),
        recompute_interval=way.recompute,
        num_virtual_pipeline_stages=way.chunks if way.pp > 1 else 1,
    )


def values_for(net, values, group):
    """{name: this rank's part of a value}."""
    found = {}
    for name, p in net.named_parameters():
        axis = getattr(p, "split_axis", None)
        parts = 1 if axis is None else group.nranks
        value = values.get(name, values.get("0.weight"))  # of a later stage, the tied weight
        found[name] = np.split(value, parts, axis or 0)[group.rank if parts > 1 else 0]
    return found


def train(kind, way, values, steps, first=0, optimizer="AdamW", model=None, scaler=None):
    """Trains on this rank; (losses of the whole batch, net, model, optimizer).

    Args:
        values (dict): weights of one process to begin with.
        first (int): the number of the first step.
        model (tuple, optional): what an earlier call gave, to go on.
        scaler (GradScaler, optional): scales losses.
    """
    if model is None:
        hcg = begin(way)
        net = build(kind, way, hcg)
        for name, value in values_for(net, values, hcg.get_model_parallel_group()).items():
            # The first data-parallel rank's are everybody's.
            dict(net.named_parameters())[name].set_value(value * (1.0 if hcg.get_data_parallel_rank() == 0 else 2.0))
        adam = optimizer_of(net, way, optimizer)
        if way.low:
            net, adam = proa.amp.decorate(net, adam, level="O2", dtype=way.low)
        wrapped = fleet.distributed_model(net)
        adam = fleet.distributed_optimizer(adam)
    else:
        net, wrapped, adam = model
        hcg = fleet.get_hybrid_communicate_group()
    number = hcg.get_data_parallel_rank() * way.sharding + hcg.get_sharding_parallel_rank()
    losses = []
    for step in range(first, first + steps):
        batch = [proa.to_tensor(np.split(part, way.ways)[number]) for part in data(kind, step)]
        if way.pp > 1:
            with _amp(way):
                loss = wrapped.train_batch(batch, adam, scaler=scaler)
        else:
            with _amp(way):
                loss = MODELS[kind][1](wrapped(batch[0]), batch[1])
            if scaler is None:
                loss.backward()
                adam.step()
            else:
                scaler.scale(loss).backward()
                scaler.step(adam), scaler.update()
            adam.clear_grad()
        found = []
        dist.all_gather(found, loss.detach().astype("float64").reshape([1]))
        losses.append(float(np.mean([f.item() for f in found])))
    return losses, (net, wrapped, adam)
