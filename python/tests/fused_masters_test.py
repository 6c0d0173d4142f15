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
    if name == "lamb_":
        return ops.lamb_(params, grads, *states, *powers, rate, 0.9, 0.99, 1e-6, 0.02, 0.5, 0.01, **options)
    return ops.adamw_(params, grads, *states, *powers, rate, 0.9, 0.99, 1e-8, 0.01, 0.5, **options)


def _lists(seed=0):
    rng = np.random.RandomState(seed)
    return [paddle.to_tensor(np.asarray(rng.randn(*shape), "float32")) for shape in SHAPES]


EVERY = pytest.mark.parametrize(
    "name", ["sgd_", "momentum_", "adagrad_", "adam_", "adamw_", "rmsprop_", "adadelta_", "adamax_", "lamb_"]
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


def _lamb(p, g, m1, m2, step, decay, rate=0.1, beta1=0.9, beta2=0.99, epsilon=1e-6):
    """One step in NumPy, in float64."""
    m1, m2 = beta1 * m1 + (1 - beta1) * g, beta2 * m2 + (1 - beta2) * g * g
    update = m1 / (1 - beta1**step) / (np.sqrt(m2 / (1 - beta2**step)) + epsilon) + decay * p
    norms = np.linalg.norm(p.reshape(-1)), np.linalg.norm(update.reshape(-1))
    return p - rate * (norms[0] / norms[1] if min(norms) > 0 else 1.0) * update, m1, m2


@pytest.mark.parametrize("dtype", ["float32", "float64", *LOW])
@pytest.mark.parametrize("multi_precision", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_lamb_against_numpy(dtype, multi_precision, decay):
    if dtype == "float16" and not multi_precision:
        pytest.skip("squares of small gradients are 0 in moments of float16, which float32 copies are for")
    rng = np.random.RandomState(0)
    # A parameter of zeros, whose step is not scaled; one of more than one chunk; one that does not move.
    starts = [np.zeros([4]), rng.randn(130, 300), rng.randn(), np.zeros([0, 3]), rng.randn(5), np.zeros([2])]
    params = [paddle.create_parameter(np.shape(v), dtype) for v in starts]
    for p, v in zip(params, starts):
        p.set_value(paddle.to_tensor(v).astype(dtype))
    kept = multi_precision and dtype in LOW
    exact = [(p.astype("float64").numpy(), 0.0, 0.0) for p in params]
    lamb = paddle.optimizer.Lamb(0.1, decay, 0.9, 0.99, parameters=params, multi_precision=multi_precision)
    for step in range(1, 4):
        for i, p in enumerate(params):
            value = rng.randn(*p.shape) if i < 5 else np.zeros([2])
            p.grad = paddle.to_tensor(value).astype(dtype)
            exact[i] = _lamb(exact[i][0], p.grad.astype("float64").numpy(), *exact[i][1:], step, decay)
        lamb.step()
    masters = lamb.state_dict()["master_weights"] if kept else {}
    # Powers of betas are float32.
    bound = {"float64": 1e-6, "float32": 1e-5, "float16": 0.02, "bfloat16": 0.1}["float32" if kept else dtype]
    for p, (value, _, _) in zip(params, exact):
        found = masters.get(p.name, p).astype("float64").numpy()
        np.testing.assert_allclose(found, value, rtol=bound, atol=bound)


def test_lamb_gives_the_same_bits_on_any_number_of_threads():
    found, before = [], _C.get_num_threads()
    rng = np.random.RandomState(5)
    values, grads = (rng.randn(3, 90_001).astype("float32") for _ in range(2))
    try:
        for threads in (1, 2, 3):
            _C.set_num_threads(threads)
            params, states = [paddle.to_tensor(values)], [[paddle.zeros([3, 90_001])] for _ in range(2)]
            _step("lamb_", params, [paddle.to_tensor(grads)], states)
            found.append(params[0].numpy())
    finally:
        _C.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_a_step_of_16_bit_parameters_is_one_kernel():
    net = paddle.nn.Sequential(*[paddle.nn.Linear(8, 8) for _ in range(4)])
    for kind in ("SGD", "Momentum", "Adam", "AdamW", "Adagrad", "RMSProp", "Adadelta", "Adamax", "Lamb"):
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


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_clipping_by_the_norm_of_all_is_part_of_the_step(dtype):
    """One pass for the norm, one for the step: no gradient is multiplied, cast or rounded between. NumPy says what comes out."""
    random = np.random.RandomState(0)
    params = [paddle.create_parameter([n, 3], dtype) for n in (2, 4, 5)]
    params[2].need_clip = False
    for p in params:
        p.set_value(paddle.to_tensor(random.randn(*p.shape).astype("float32")).astype(dtype))
        p.grad = paddle.zeros(p.shape, dtype)
    sgd = paddle.optimizer.SGD(
        0.25, parameters=params, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5), multi_precision=dtype != "float32"
    )
    sgd.step()  # which makes the copies; of zeros it changes nothing
    for p in params:
        p.grad = paddle.to_tensor(random.randn(*p.shape).astype("float32")).astype(dtype)
    grads = [p.grad.astype("float32").numpy().astype("float64") for p in params]
    starts = [p.astype("float32").numpy().astype("float64") for p in params]
    norm = np.sqrt(sum((g**2).sum() for g in grads[:2]))
    assert norm > 0.5
    with paddle.amp.debugging.collect_operator_stats(show=False) as stats:
        sgd.step()
    assert sum(stats.calls["sgd_"].values()) == 2  # those that are clipped, and the others
    assert not {"cast", "multiply_", "scale_"} & set(stats.calls)
    assert all(sum(stats.calls.get(name, {}).values()) <= 1 for name in ("multiply", "scale"))  # of the norm, a number
    masters = sgd.state_dict().get("master_weights", {})
    for p, start, g, factor in zip(params, starts, grads, (0.5 / norm, 0.5 / norm, 1.0)):
        found = masters.get(p.name, p).numpy()
        np.testing.assert_allclose(found, start - 0.25 * factor * g, rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(p.grad.astype("float32").numpy(), g)  # as it was


def test_clipping_of_the_user_is_called():
    """A function, and a subclass that clips otherwise: neither is passed over."""

    class Halving(paddle.nn.ClipGradByGlobalNorm):
        def _clip(self, grads):
            return [g * 0.5 for g in grads]

    for clip in (Halving(1e-6), lambda pairs: [(p, g * 0.5) for p, g in pairs]):
        p = paddle.create_parameter([3], "float32")
        before = p.numpy()
        p.grad = paddle.ones([3])
        paddle.optimizer.SGD(1.0, parameters=[p], grad_clip=clip).step()
        np.testing.assert_allclose(p.numpy(), before - 0.5, rtol=1e-6)


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


_CLIPS = {
    "no clip": None,
    "by value": paddle.nn.ClipGradByValue(0.1),
    "by norm": paddle.nn.ClipGradByNorm(1.0),
    "by the norm of all": paddle.nn.ClipGradByGlobalNorm(1.0),
}


@pytest.mark.parametrize(
    "kind", ["SGD", "Momentum", "Adam", "AdamW", "Adagrad", "Adadelta", "RMSProp", "Adamax", "Lamb"]
)
@pytest.mark.parametrize("clip", _CLIPS)
def test_16_bit_gradients_are_read_and_not_cast(kind, clip):
    """Whatever comes before the update: L1 and L2 decay, clipping, a scaler's factor. Copies end as in float32 from the same gradients."""
    decays = {"": {}, "L1": {"weight_decay": paddle.regularizer.L1Decay(0.05)}, "L2": {"weight_decay": 0.05}}
    for decay in [""] if kind in ("AdamW", "Lamb") else decays:
        for factor in (1.0, 1.0 / 1024):
            found = []
            for dtype in ("bfloat16", "float32"):
                params = [paddle.create_parameter(shape, dtype) for shape in ([30, 20], [20])]
                random = np.random.RandomState(0)
                for p in params:
                    p.set_value(
                        paddle.to_tensor(random.randn(*p.shape).astype("float32")).astype("bfloat16").astype(dtype)
                    )
                optimizer = getattr(paddle.optimizer, kind)(
                    0.1, parameters=params, grad_clip=_CLIPS[clip], multi_precision=True, **decays[decay]
                )
                for step in range(3):
                    for p in params:
                        grad = paddle.to_tensor((random.randn(*p.shape) / factor).astype("float32"))
                        p.grad = grad.astype("bfloat16").astype(dtype)
                    with paddle.amp.debugging.collect_operator_stats(show=False) as stats:
                        optimizer._step_scaled(factor)
                    if step > 0 and dtype != "float32":  # the first makes the copies
                        assert stats.calls.get("cast", {}).get(dtype, 0) == 0, (decay, factor)
                found.append([optimizer._master_weights.get(p.name, p).numpy() for p in params])
            for one, other in zip(*found):
                np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7, err_msg=f"{decay} {factor}")
