"""Steps that read 16-bit gradients and write float32 parameters with their 16-bit copies: as the same in parts, bit for bit."""

import numpy as np
import pytest

import proa as paddle
from proa import _C

LOW = ["float16", "bfloat16"]
SHAPES = [[], [0, 3], [1], [3, 5], [1025], [70, 300]]
ops = _C.ops


def _step(name, params, grads, states, **options):
    rate = paddle.to_tensor(0.1, dtype="float64")
    if name == "sgd_":
        return ops.sgd_(params, grads, rate, 0.5, 0.01, **options)
    if name == "momentum_":
        return ops.momentum_(params, grads, states[0], rate, 0.9, True, 0.5, 0.01, **options)
    if name == "adagrad_":
        return ops.adagrad_(params, grads, states[0], rate, 1e-6, 0.5, 0.01, **options)
    if name == "rmsprop_":
        return ops.rmsprop_(
            params, grads, *states, [p * 0.5 for p in params], rate, 0.9, 1e-3, 0.5, False, 0.5, 0.01, **options
        )
    if name == "adadelta_":
        return ops.adadelta_(params, grads, *states, rate, 0.9, 1e-6, 0.5, 0.01, **options)
    if name == "adamax_":
        powers = [paddle.full([1], 0.9) for _ in params]
        return ops.adamax_(params, grads, *states, powers, rate, 0.9, 0.99, 1e-8, 0.5, 0.01, **options)
    powers = [[paddle.full([1], value) for _ in params] for value in (0.9, 0.99)]
    if name == "adam_":
        return ops.adam_(params, grads, *states, *powers, rate, 0.9, 0.99, 1e-8, 0.5, 0.01, **options)
    return ops.adamw_(params, grads, *states, *powers, rate, 0.9, 0.99, 1e-8, 0.01, 0.5, **options)


def _lists(seed=0):
    rng = np.random.RandomState(seed)
    return [paddle.to_tensor(np.asarray(rng.randn(*shape), "float32")) for shape in SHAPES]


EVERY = pytest.mark.parametrize(
    "name", ["sgd_", "momentum_", "adagrad_", "adam_", "adamw_", "rmsprop_", "adadelta_", "adamax_"]
)


@EVERY
@pytest.mark.parametrize("grad_dtype", ["float32", *LOW])
@pytest.mark.parametrize("low", LOW)
def test_one_pass_is_the_parts(name, grad_dtype, low):
    grads = [g.astype(grad_dtype) for g in _lists(1)]
    results = []
    for fused in (True, False):
        params, states = _lists(), [[s.abs() for s in _lists(2)], [s.abs() for s in _lists(3)]]
        if fused:
            rounded = [paddle.zeros(shape, low) for shape in SHAPES]
            _step(name, params, grads, states, grad_scale=1.0 / 3, rounded=rounded)
        else:
            _step(name, params, [g.astype("float32") * (1.0 / 3) for g in grads], states)
            rounded = [p.astype(low) for p in params]
        results.append([t.astype("float32").numpy() for t in (*params, *rounded, *states[0], *states[1])])
    for one, other in zip(*results):
        np.testing.assert_array_equal(one, other)


@EVERY
@pytest.mark.parametrize("lazy", [False, True])
def test_rows(name, lazy):
    if lazy and name not in ("adam_", "adamw_"):
        pytest.skip("has no lazy mode")
    start = _lists()[-1]
    rows, values = (
        paddle.to_tensor([65, 2, 2]),
        paddle.to_tensor(np.random.RandomState(4).randn(3, 300).astype("float32")),
    )
    options = {"lazy_mode": True} if lazy else {}
    results = []
    for fused in (True, False):
        p, states = start.clone(), [[paddle.zeros_like(start)], [paddle.zeros_like(start)]]
        rounded = start.astype("bfloat16")
        if fused:
            grad = ops.row_sparse(rows, values, 70)
            _step(name, [p], [grad], states, grad_scale=0.5, rounded=[rounded], **options)
        else:
            _step(name, [p], [ops.row_sparse(rows, values * 0.5, 70)], states, **options)
            rounded = p.astype("bfloat16")
        results.append([t.astype("float32").numpy() for t in (p, rounded, states[0][0])])
    for one, other in zip(*results):
        np.testing.assert_array_equal(one, other)


def test_a_step_of_16_bit_parameters_is_one_kernel():
    net = paddle.nn.Sequential(*[paddle.nn.Linear(8, 8) for _ in range(4)])
    for kind in ("SGD", "Momentum", "Adam", "AdamW", "Adagrad", "RMSProp", "Adadelta", "Adamax"):
        model = paddle.nn.Sequential(*[paddle.nn.Linear(8, 8) for _ in range(4)])
        model.set_state_dict(net.state_dict())
        optimizer = getattr(paddle.optimizer, kind)(0.1, parameters=model.parameters())
        model, optimizer = paddle.amp.decorate(model, optimizer, level="O2", dtype="bfloat16")
        for _ in range(2):
            model(paddle.ones([2, 8], "bfloat16")).astype("float32").sum().backward()
            with paddle.amp.debugging.collect_operator_stats(show=False) as stats:
                optimizer.step()
            optimizer.clear_grad()
        assert set(stats.calls) == {f"{kind.lower()}_"}, kind
        assert sum(stats.calls[f"{kind.lower()}_"].values()) == 1
        masters = optimizer.state_dict()["master_weights"]
        for p in model.parameters():
            assert np.array_equal(
                p.astype("float32").numpy(), masters[p.name].astype("bfloat16").astype("float32").numpy()
            )


def test_a_subclass_with_an_update_of_its_own_gets_float32_gradients():
    seen = []

    class Noting(paddle.optimizer.SGD):
        def _update_bucket(self, bucket, grads):
            seen.extend(g.dtype for g in grads)
            super()._update_bucket(bucket, grads)

    p = paddle.create_parameter([3], "bfloat16")
    before = p.astype("float32").numpy()
    sgd = Noting(1.0, parameters=[p], multi_precision=True)
    p.grad = paddle.ones([3], "bfloat16")
    sgd.step()
    assert seen == [paddle.float32]
    np.testing.assert_allclose(p.astype("float32").numpy(), before - 1.0, atol=2**-7)
