"""What models of public packages are made of: how they hand on options, sizes, caches and results."""

import collections
import copy
import functools
import math

import proa as paddle
from proa import nn
from python.tests.converted_models import _linear
from python.tests.converted_registry import refused, supported

F = nn.functional
_Cache = collections.namedtuple("_Cache", "k v")


class _Attention(nn.Layer):
    """Attention over what came before, which it keeps if asked to; it notes the names of what it made."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = _linear(4, 4), _linear(4, 4, 0.2), _linear(4, 4, 0.3)

    def forward(self, x, use_cache=False, cache=None):
        k, v = self.k(x), self.v(x)
        if isinstance(cache, _Cache):
            k, v = paddle.concat([cache.k, k], axis=1), paddle.concat([cache.v, v], axis=1)
        if use_cache is True:
            cache = _Cache(k, v)
        weights = F.softmax(paddle.matmul(self.q(x), k, transpose_y=True) / math.sqrt(4))
        out = x + paddle.matmul(weights, v)
        return (out, cache) if use_cache else out


class _Decoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layers = nn.LayerList([_Attention() for _ in range(2)])
        self.noted = []

    def forward(self, x, use_cache=False, cache=None):
        new_caches = [] if use_cache else None
        self.noted = []
        for i, layer in enumerate(self.layers):
            outputs = layer(x, use_cache=use_cache, cache=cache[i] if cache is not None else cache)
            x = outputs[0] if use_cache else outputs
            if use_cache:
                new_caches.append(outputs[-1])
            self.noted.append(x.name)
        return tuple(v for v in [x, new_caches] if v is not None) if use_cache else x


_DECODER, _WORDS = _Decoder(), _linear(4, 6, 0.7)


@supported
def greedy_with_caches(x):
    """Greedy decoding with a cache of each layer, ended by a word; layers that note names of tensors in an attribute"""
    out, caches = _DECODER(x.unsqueeze(1), use_cache=True)
    word = _WORDS(out[:, -1, :]).argmax(-1, keepdim=True)
    words, count = word, 0
    while count < 5:
        step = F.one_hot(word, 6)[:, :, :4]
        out, caches = _DECODER(step, use_cache=True, cache=caches)
        word = _WORDS(out[:, -1, :]).argmax(-1, keepdim=True)
        words = paddle.concat([words, word], axis=1)
        count += 1
        if (word == 5).all():
            break
    return words[:, :2], caches[0].k.sum(1) + x


@supported
def text_that_turns_change(x):
    """A text that the first turn of a loop changes; one that each turn makes anew and nobody reads"""
    mode, name, n = "first", "", paddle.to_tensor(0)
    while n < 3:
        x = x + 1 if mode == "first" else x * 1.5
        mode, name = "later", x.name  # noqa: F841 (its texts differ from turn to turn)
        n = n + 1
    return x


class _Output(collections.OrderedDict):
    """Results by name, and by attribute."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


class _Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = nn.LayerList([_linear(4, 4) for _ in range(3)])
        for i in range(3):
            self.add_sublayer(f"head_{i}", _linear(4, 2))

    def forward(self, x, output_hidden_states=None, return_dict=False, **options):
        states = () if output_hidden_states else None
        for block in self.blocks:
            if output_hidden_states:
                states = states + (x,)
            x = F.gelu(block(x)) * options.get("scale", 1.0)
        if not return_dict:
            return tuple(v for v in (x, states) if v is not None)
        return _Output(last=x, states=states)


_ENCODER = _Encoder()


@supported
def results_by_name(x):
    """Results as an OrderedDict of a class of its own, or as a tuple without what is None"""
    out = _ENCODER(x, output_hidden_states=True, return_dict=True)
    pair, (alone,) = _ENCODER(x, output_hidden_states=True), _ENCODER(x, scale=2.0)
    return out.last + out["states"][1], out.to_tuple()[0] - pair[0], alone, len(pair[1])


@supported
def heads_by_name(x):
    """Sublayers by `getattr` of a text"""
    return [getattr(_ENCODER, f"head_{i}")(x) for i in range(3) if hasattr(_ENCODER, f"head_{i}")]


@supported
def padded_to_a_multiple(x):
    """A tensor that is padded to a multiple of a window, cut into windows, and put together again"""
    rows, columns = x.shape
    more = (4 - rows % 4) % 4
    if more > 0:
        x = F.pad(x.unsqueeze([0, 1]), [0, 0, 0, more])[0, 0]
    windows = x.reshape([-1, 4, columns])
    windows = windows - windows.mean(1, keepdim=True)
    return windows.reshape([-1, columns])[:rows]


@supported
def table_of_functions(x):
    """A function that a dict gives by a text; `partial` and `reduce` over such"""
    table = {"relu": F.relu, "scale": functools.partial(paddle.scale, scale=2.0), "twice": lambda v: v * 2}
    names = ["relu", "scale"] if "twice" in table else []
    return functools.reduce(lambda v, name: table[name](v), names, x), table.get("none", F.tanh)(x)


@supported
def lists_or_tensors(x):
    """A function that takes a tensor or a list of them, and returns what it was given"""

    def mapped(value):
        if isinstance(value, (list, tuple)):
            return type(value)(mapped(v) for v in value)
        if isinstance(value, dict):
            return {k: mapped(v) for k, v in value.items()}
        return value * 2 if paddle.is_tensor(value) else value

    return mapped([x, (x, "text")])[1][0], mapped({"a": x, "b": [x, 3]})["b"]


@supported
def options_of_a_config(x):
    """A config that is copied and changed; `**` of it; `pop` with a default"""

    class Config:
        def __init__(self, **kwargs):
            self.size = kwargs.pop("size", 4)
            self.__dict__.update(kwargs)

        def to_dict(self):
            return copy.deepcopy(self.__dict__)

    config = Config(size=2, rate=0.5)
    other = copy.deepcopy(config)
    other.rate = 2.0
    options = {**config.to_dict(), **{"rate": other.rate}}
    return x[:, : options["size"]] * options["rate"] + config.rate


@supported
def levels_of_a_pyramid(x):
    """Levels that are made from fine to coarse, and merged from coarse to fine"""
    levels = [x]
    for _ in range(2):
        levels.append(F.avg_pool1d(levels[-1].unsqueeze(0), 2, 1, padding=0)[0])
    merged = [levels[-1]]
    for level in levels[-2::-1]:
        merged.insert(0, level + F.pad(merged[0].unsqueeze(0), [0, 1], data_format="NCL")[0])
    return [m.sum(-1) for m in merged], merged[0]


@supported
def losses_by_name(x):
    """Losses in a dict, those of them that are asked for added up with weights"""
    losses = {}
    losses["l1"] = x.abs().mean()
    losses.update(l2=(x * x).mean(), smooth=F.smooth_l1_loss(x, paddle.zeros_like(x)))
    weights = dict.fromkeys(losses, 1.0)
    weights["l2"] = 0.5
    total = sum(weights[k] * v for k, v in sorted(losses.items()) if k != "smooth")
    return {"total": total, **{f"loss_{k}": v.detach() for k, v in losses.items()}}


@supported
def rows_of_each_expert(x):
    """Rows that are given to the expert of their largest column, where there are such rows"""
    chosen, out = x.argmax(1), paddle.zeros_like(x)
    for i, expert in enumerate(_ENCODER.blocks):
        mask = (chosen == i).astype("float32").unsqueeze(1)
        if mask.sum() > 0:
            out = out + mask * expert(x)
    return out


@supported
def blocks_of_a_mask(x):
    """A mask that is made by what is given: none, of rows, causal"""

    def mask_of(x, lengths=None, causal=False):
        if lengths is None and not causal:
            return None
        n = x.shape[0]
        mask = paddle.tril(paddle.ones([n, n])) if causal else paddle.ones([n, n])
        return mask if lengths is None else mask * (paddle.arange(n) < lengths).astype(mask.dtype)

    out = []
    for options in ({}, {"causal": True}, {"lengths": paddle.to_tensor(2)}):
        mask = mask_of(x, **options)
        scores = paddle.matmul(x, x, transpose_y=True)
        out.append(F.softmax(scores if mask is None else scores + (1 - mask) * -1e4))
    return out


@supported
def steps_of_diffusion(x):
    """Steps from the last one to the first, with a table of numbers, and something else in the first"""
    betas = paddle.linspace(0.1, 0.4, 4)
    kept = paddle.cumprod(1.0 - betas, 0)
    for t in reversed(range(4)):
        noise = paddle.cos(x * (t + 1))
        x = (x - betas[t] / paddle.sqrt(1.0 - kept[t] + 0.1) * noise) / paddle.sqrt(1.0 - betas[t])
        if t > 0:
            x = x + 0.1 * paddle.sqrt(betas[t])
    return x.clip(-3.0, 3.0)


@supported
def unfold_of_a_recurrence(x):
    """States of several layers in lists, one step after another, the last ones stacked"""
    cells, states = list(_ENCODER.blocks)[:2], [paddle.zeros([1, 4])] * 2
    outputs = []
    for step in paddle.split(x[:3], 3, axis=0):
        new_states = []
        for cell, state in zip(cells, states, strict=True):
            step = F.tanh(cell(step) + state)
            new_states.append(step)
        states = new_states
        outputs.append(step)
    return paddle.stack(states, axis=0), outputs[0] + outputs[1]


@supported
def relative_positions(x):
    """Buckets of distances: far ones logarithmically, by `where` and arithmetic of integers"""
    n = x.shape[0]
    distance = paddle.arange(n).unsqueeze(0) - paddle.arange(n).unsqueeze(1)
    sign, distance = (distance < 0).astype("int64") * 8, distance.abs()
    far = 4 + (paddle.log(distance.astype("float32").clip(min=1.0) / 4.0) / math.log(8.0) * 4).astype("int64")
    buckets = sign + paddle.where(distance < 4, distance, far.clip(0, 7))
    return paddle.gather(paddle.concat([x.sum(0)] * 4), buckets.flatten()).reshape([n, n])


@supported
def samples_until_enough(x):
    """A loop that ends when all rows are done, with those that are done left as they are"""
    done, steps = paddle.zeros([x.shape[0]], dtype="bool"), 0
    while not paddle.all(done):
        moved = x * 0.5
        x = paddle.where(done.unsqueeze(-1), x, moved)
        done = paddle.logical_or(done, x.abs().max(axis=1) < 0.5)
        steps += 1
        if steps >= 6:
            break
    return x, done


@supported
def statistics_that_follow(x):
    """Running values that a condition of tensors lets follow, beside a counter"""
    mean, seen = paddle.zeros([4]), paddle.to_tensor(0.0)
    for row in x:
        if row.mean() > -10:
            seen = seen + 1
            mean = mean + (row - mean) / seen
    return mean, seen


@supported
def boxes_of_levels(x):
    """Anchors of levels, decoded, clipped and filtered by a score, or all where none is left"""
    boxes, scores = [], []
    for stride in (1, 2):
        centers = (paddle.arange(2, dtype="float32") + 0.5) * stride
        size = F.softplus(x[:2, 2:])
        centers = paddle.stack([centers, centers], axis=-1) + x[:2, :2]
        boxes.append(paddle.concat([centers - size, centers + size], axis=-1).clip(0.0, 8.0))
        scores.append(F.sigmoid(x[:2].sum(-1)))
    boxes, scores = paddle.concat(boxes), paddle.concat(scores)
    keep = scores > 0.6
    if keep.astype("int64").sum() == 0:
        keep = paddle.ones_like(keep)
    weight = keep.astype("float32")
    return (boxes * weight.unsqueeze(-1)).sum(0) / weight.sum()


@supported
def chunks_of_a_sequence(x):
    """A long sequence in chunks of a size, the last one shorter, each with the state of the one before"""
    size, state, out = 2, paddle.zeros([4]), []
    for start in range(0, 3, size):
        chunk = x[start : min(start + size, 3)]
        state = F.tanh(chunk.sum(0) + state)
        out.append(chunk + state)
    return paddle.concat(out, axis=0)


@supported
def checks_of_arguments(x):
    """`assert` with texts, `isinstance` of several types, `try` of a conversion, `warnings`"""

    def pair(value, name="size"):
        assert isinstance(value, (int, list, tuple)), f"{name} must be int, list or tuple, not {type(value)}"
        try:
            return [int(value)] * 2
        except TypeError:
            return list(value)

    return x * pair(2)[0] + pair((1, 3))[1], "x".join(map(str, pair([4, 5])))


@supported
def weights_shared(x):
    """One weight for the words that come in and go out"""
    words = _WORDS.weight
    ids = x.abs().sum(1).astype("int64") % 4
    hidden = F.embedding(ids, words)[:, :4]
    return paddle.matmul(F.tanh(hidden + x), words)


@supported
def window_that_slides(x):
    """A window over a row, by `unfold` of sizes and a mask of what is inside"""
    offsets = paddle.arange(-1, 2)
    columns = paddle.arange(4).unsqueeze(1) + offsets
    inside = paddle.logical_and(columns >= 0, columns < 4)
    rows = paddle.gather(x, columns.clip(0, 3).flatten(), axis=1).reshape([-1, 4, 3])
    return (rows * inside.astype("float32")).max(-1)


@supported
def scheduled_by_the_data(x):
    """A list of thresholds, of which the first that holds gives the step"""
    step = 0.0
    for bound, value in ((8.0, 0.1), (4.0, 0.5), (0.0, 1.0)):
        if x.abs().sum() >= bound:
            step = value
            break
    else:
        step = 2.0
    return x * step


@supported
def layers_that_are_dropped(x):
    """Layers in training that are left out by a number, the others scaled, and names of what ran"""
    ran, keep = [], [True, False, True]
    for i, (block, kept) in enumerate(zip(_ENCODER.blocks, keep, strict=True)):
        if not kept:
            continue
        x = x + block(x) / sum(keep)
        ran.append(f"block{i}")
    return x if ",".join(ran) == "block0,block2" else -x


@refused("it holds 'word'; a program holds tensors, and no text: let a number stand for it")
def list_of_texts(x):
    """A list of texts that grows by a tensor: a list of numbers, which who called the function looks up"""
    words, n = [], paddle.to_tensor(0)
    while n < (x.abs() > 0).astype("int64").sum():
        words.append("word")
        n = n + 1
    return x


@refused("append: the number of its items depends on a tensor, and it holds tuples of 2, not a tuple of 3")
def list_of_pairs(x):
    """A list of tuples that grows by a tensor, of other lengths: tuples of one length"""
    pairs, n = [(x, x)], paddle.to_tensor(0)
    while n < (x.abs() > 0).astype("int64").sum():
        pairs.append((x, x * 2))
        n = n + 1
    pairs.append((x, x, x))
    return pairs[0][0]


@refused("gives? .*'a' before it and .* after a turn; a program holds tensors, and no text|no text")
def text_of_the_last_turn(x):
    """A text that each turn makes anew, read after the loop"""
    name, n = "a", paddle.to_tensor(0)
    while n < (x.abs() > 0).astype("int64").sum():
        name = x.name
        n = n + 1
    return x * len(name)
