"""10,000 runs of each network over random shapes: memory stays as it is, and results are those of calling the network."""

import gc
import os

import numpy as np
import pytest

import proa as paddle
from proa import _C, nn, static

pytestmark = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="freed memory waits in AddressSanitizer's quarantine"
)
_RUNS = 10_000
_SLACK = 2 << 20  # what the interpreter takes besides


class _Convolutions(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2D(2, 4, 3, padding=1), nn.BatchNorm2D(4), nn.Conv2D(4, 4, 1)

    def forward(self, x):
        y = nn.functional.relu(self.norm(self.first(x)))
        return (nn.functional.max_pool2d(self.second(y), 2) * 2).mean([2, 3])


class _Attention(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)

    def forward(self, x):
        return self.layer(x).sum(1)


class _Recurrence(nn.Layer):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 6, direction="bidirect")

    def forward(self, x):
        return self.lstm(x)[0][:, -1]


class _Loop(nn.Layer):
    """As many turns as its input says, and a list that grows with them."""

    def __init__(self):
        super().__init__()
        self.step = nn.Linear(4, 4)

    def forward(self, x):
        found = [x.sum(0)]
        while found[-1].abs().max() > 0.05 and len(found) < 6:
            found.append(paddle.tanh(self.step(found[-1])) * 0.5)
        return paddle.stack(found).sum(0)


class _Selected(nn.Layer):
    """Rows that are chosen by their values: of as many as only the run knows."""

    def forward(self, x):
        kept = paddle.masked_select(x, x > 0.3)
        order = paddle.argsort(kept)
        return paddle.concat([paddle.gather(kept, order), x.sum().reshape([1])])


def _mlp():
    return nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3), nn.Softmax())


# By name: how it is made, and its sizes, of which a pair is drawn from.
_NETWORKS = {
    "mlp": (_mlp, [(1, 40), 4]),
    "convolutions": (_Convolutions, [(1, 4), 2, (4, 10), (4, 10)]),
    "attention": (_Attention, [(1, 4), (1, 12), 8]),
    "recurrence": (_Recurrence, [(1, 4), (1, 9), 4]),
    "loop": (_Loop, [(1, 30), 4]),
    "selected": (_Selected, [(1, 30), (1, 9)]),
}


def _resident():
    with open("/proc/self/statm", encoding="utf-8") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _ways(net, open_sizes, folder):
    """Functions of an array that run the network."""
    spec = static.InputSpec(open_sizes, "float32", "x")
    converted = paddle.jit.to_static(net, input_spec=[spec])
    path = str(folder / "net")
    paddle.jit.save(converted, path)
    loaded = paddle.jit.load(path)
    program, _, targets = static.load_inference_model(path, static.Executor())
    executor = static.Executor()
    predictor = paddle.inference.create_predictor(paddle.inference.Config(path))
    return [
        lambda x: converted(paddle.to_tensor(x)).numpy(),
        lambda x: loaded(paddle.to_tensor(x)).numpy(),
        lambda x: executor.run(program, feed={"x": x}, fetch_list=targets)[0],
        lambda x: predictor.run([x])[0].numpy(),
    ]


@pytest.mark.parametrize("name", _NETWORKS)
def test_memory_is_flat(name, tmp_path):
    make, sizes = _NETWORKS[name]
    paddle.seed(1)
    net = make()
    net.eval()
    rng = np.random.RandomState(5)
    open_sizes = [n if isinstance(n, int) else None for n in sizes]
    largest = [n if isinstance(n, int) else n[1] - 1 for n in sizes]
    with paddle.no_grad():
        ways = _ways(net, open_sizes, tmp_path)
        before = None
        for k in range(_RUNS // len(ways)):
            shape = largest if k == 0 else [n if isinstance(n, int) else rng.randint(*n) for n in sizes]
            x = rng.randn(*shape).astype("float32")
            found = [way(x) for way in ways]
            if k % 100 == 0:
                want = net(paddle.to_tensor(x)).numpy() if k % 500 == 0 else found[0]
                for result in found:
                    np.testing.assert_allclose(result, want, rtol=1e-4, atol=1e-5)
            if k == _RUNS // len(ways) // 3:  # every shape was there
                gc.collect()
                before = _resident(), _C.memory_figures()["reserved"]
        gc.collect()
        assert _C.memory_figures()["reserved"] <= before[1]
        assert _resident() - before[0] < _SLACK
