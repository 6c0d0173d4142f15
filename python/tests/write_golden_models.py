"""Writes the golden models of a release: small saved programs that every later release must load and run alike.

    python python/tests/write_golden_models.py

writes `golden_models/<version>/`: of each program `<name>.pdmodel`, `<name>.pdiparams` and `<name>.npz` with inputs
and what they gave; and `ops.txt`, the signatures of all ops. Written when a release is made, by its own code; until
then the folder of the release under work may be removed and written anew, what is there of earlier releases stays
for ever (docs/recordings.md). Together the programs hold every kind of argument that an op takes.
"""

import pathlib
import sys

import numpy as np

import proa as paddle
from proa import nn

F, Spec = nn.functional, paddle.static.InputSpec
FOLDER = pathlib.Path(__file__).parent / "golden_models"


class Case:
    """A program: what is saved, the specs of its inputs, their arrays."""

    def __init__(self, function, *inputs, opened=(0,), seed=None):
        self.function, self.seed = function, seed
        self.inputs = [np.asarray(a) for a in inputs]
        self.specs = [
            Spec([None if i in opened and a.ndim else n for i, n in enumerate(a.shape)], str(a.dtype), f"x{k}")
            for k, a in enumerate(self.inputs)
        ]


def _f(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).normal(size=shape).astype("float32")


def _attributes(x):
    a = F.leaky_relu(x, 0.3)  # float
    b = F.gelu(x, approximate=True)  # bool
    c = paddle.transpose(paddle.sum(x, axis=[1], keepdim=True), [1, 0])  # ints
    d = F.interpolate(paddle.ones([1, 1, 4, 3]) * x.mean(), scale_factor=[2.0, 1.0], mode="nearest")  # floats, text
    e = paddle.cast(x, "float64") * 2.5  # dtype, number
    g = paddle.clip(x, -0.5, 0.5) + paddle.scale(x, 2.0, -1.0, False)
    return a, b, c, d, e, g, paddle.full([2], 3, "int64"), paddle.full([1], True, "bool")


def _optional(x):
    weight = paddle.ones([3])
    return (
        F.layer_norm(x, 3),
        F.layer_norm(x, 3, weight),
        paddle.argmax(x),
        paddle.argmax(x, axis=1),
        x.sum(dtype="float64"),
    )


def _complex(x):
    z = paddle.complex(x, x * 2)
    return paddle.real(z * z), paddle.imag(paddle.full([2], 1 + 2j, "complex64") * 3j), z


def _sizes(x):
    n = x.shape[0]
    a = x.reshape([n, 1, -1]) / n
    return a, paddle.zeros([2 * n, 2]), paddle.concat([x, paddle.ones([n, 1])], axis=1), paddle.expand(x[:1], [n, -1])


def _views(x):
    y = x * 2
    y[:, 1] = 5.0
    part = y[1:]
    part.add_(paddle.ones([1]))
    y.reshape_([-1])
    return y, part.t(), paddle.split(x, [1, -1], axis=1)[1]


def _cond(x):
    return paddle.static.nn.cond(
        x.sum() > 0,
        lambda: (x * 2, paddle.static.nn.cond(x.max() > 1, lambda: x + 1, lambda: x - 1)),
        lambda: (-x, x * 0),
    )


def _while(x):
    start = paddle.zeros([], "int64")
    return paddle.static.nn.while_loop(lambda i, v: v.sum() < 100.0, lambda i, v: [i + 1, v * 2.0], [start, x])


class _Counter(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", paddle.zeros([1]))
        self.norm = nn.BatchNorm1D(3)

    def forward(self, x):
        self.calls.add_(paddle.ones([1]))
        return self.norm(x) * self.calls


class _Recurrent(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.lstm = nn.LSTM(4, 5, direction="bidirectional")
        self.gru = nn.GRU(10, 3)

    def forward(self, ids):
        y, (h, c) = self.lstm(self.embedding(ids))
        return self.gru(y)[0], h, c


class _Seeded(nn.Layer):
    def forward(self, x):
        return F.dropout(x, 0.5, training=True), paddle.rand([2, 3]), paddle.randint(0, 9, [4])


def _net():
    return nn.Sequential(
        nn.Conv2D(2, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2), nn.Conv2D(4, 4, 3, 2, "SAME"),
        nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(4, 3), nn.Softmax(),
    )  # fmt: skip


def cases():
    """Name: Case. Names stay; new ones may come."""
    paddle.seed(1)
    bits = np.array([[1, 0, 3], [7, 2, 5]], "int32")
    return {
        "attributes": Case(_attributes, _f(4, 3)),
        "batch_norm_and_state": Case(_Counter(), _f(4, 3)),
        "complex": Case(_complex, _f(3, 2)),
        "cond": Case(_cond, _f(4)),
        "convolution": Case(_net(), _f(2, 2, 8, 8)),
        "every_size_open": Case(lambda x, y: x @ y + x.mean(), _f(2, 3), _f(3, 4), opened=(0, 1)),
        "integers": Case(lambda x: (x // 2, x & 1, x > 2, paddle.cumsum(x, 1), x.astype("bool")), bits),
        "lists_of_numbers": Case(
            lambda x: paddle._C.ops.prior_box(x, paddle.ones([1, 3, 20, 30]), [4.0, 8.5], [], [1.0, 2.0], flip=True),
            _f(1, 2, 2, 3),
            opened=(),
        ),
        "lists_of_tensors": Case(lambda x, y: (paddle.concat([x, y, x]), paddle.stack([x, y], 1)), _f(2, 3), _f(2, 3)),
        "optional": Case(_optional, _f(2, 3)),
        "place": Case(lambda x: x + paddle._C.ops.full([2], 1.5, "float32", paddle.CPUPlace()), _f(3, 2)),
        "random": Case(_Seeded(), _f(4, 6), seed=5),
        "recurrent": Case(_Recurrent(), np.array([[1, 2, 3], [4, 5, 6]])),
        "sizes": Case(_sizes, _f(3, 2)),
        "transformer": Case(nn.TransformerEncoderLayer(8, 2, 16), _f(2, 5, 8)),
        "views": Case(_views, _f(3, 4)),
        "while": Case(_while, np.array([1.0, 2.0], "float32")),
    }


def run(case, function):
    """What a call gives, as arrays."""
    if case.seed is not None:
        paddle.seed(case.seed)
    results = function(*[paddle.to_tensor(a) for a in case.inputs])
    return [t.numpy() for t in (results if isinstance(results, (list, tuple)) else [results])]


def write(folder):
    """Writes all programs below `folder`."""
    folder.mkdir(parents=True)
    for name, case in cases().items():
        paddle.jit.save(case.function, str(folder / name), case.specs)
        (folder / f"{name}.pdiparams.info").unlink()
        inputs = {f"x{i}": a for i, a in enumerate(case.inputs)}
        outputs = {f"y{i}": a for i, a in enumerate(run(case, paddle.jit.load(str(folder / name))))}
        seed = {} if case.seed is None else {"seed": np.int64(case.seed)}
        np.savez(folder / f"{name}.npz", **inputs, **outputs, **seed)
    (folder / "ops.txt").write_text("".join(f"{line}\n" for line in signatures()))


def signatures():
    """Version and signature of each op that files may name."""
    return [f"{op['version']} {op['signature']}" for op in paddle._C.op_registry() if "composite" not in op["traits"]]


if __name__ == "__main__":
    target = FOLDER / paddle.version.full_version
    if target.exists():
        sys.exit(f"{target} is there already; files of a release that was made stay as they are")
    write(target)
