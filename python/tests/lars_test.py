"""LARS against its formula in NumPy (float64): rates of layers, what does not decay, norms of zero, very large and small ones."""

import numpy as np
import pytest

import proa
from proa import fluid

_R = np.random.RandomState(0)


def lars(p, g, v, lr, momentum=0.9, coeff=0.001, decay=0.0005, epsilon=0.0, scale=1.0):
    """(parameter, velocity) after a step, as You et al. (2017) and the reference have it; all in float64."""
    g = np.asarray(g, "float64") * scale
    p_norm, g_norm = np.linalg.norm(p.ravel()), np.linalg.norm(g.ravel())
    rate = lr
    if decay > 0 and p_norm > 0 and g_norm > 0:
        rate = lr * coeff * p_norm / (g_norm + decay * p_norm + epsilon)
    v = momentum * v + rate * (g + decay * p)
    return p - v, v


def _parameter(name, value, dtype="float32"):
    made = proa.create_parameter(list(value.shape), dtype)
    made.set_value(proa.to_tensor(value).astype(dtype))
    made.name = name
    return made


@pytest.mark.parametrize("settings", [
    {}, {"lars_weight_decay": 0.0}, {"lars_coeff": 0.02}, {"epsilon": 1e-3}, {"rescale_grad": 0.25},
    {"exclude_from_weight_decay": ["norm", "bias"]}, {"lars_weight_decay": 0.3, "exclude_from_weight_decay": ["conv_w"]},
])  # fmt: skip
def test_layers(settings):
    """Each parameter has its own rate; a name that holds an excluded part does not decay, and takes the rate as it is."""
    shapes = {"conv_w": (4, 3, 3, 3), "norm_scale": (4,), "fc_bias": (1,), "fc_w": (8, 2)}
    values = {name: _R.randn(*shape) for name, shape in shapes.items()}
    parameters = [_parameter(name, value, "float64") for name, value in values.items()]
    schedule = proa.optimizer.lr.StepDecay(0.5, 2, 0.1)
    made = fluid.optimizer.LarsMomentum(schedule, 0.8, parameter_list=parameters, **settings)
    velocity = dict.fromkeys(values, 0.0)
    excluded = settings.get("exclude_from_weight_decay", [])
    for turn in range(4):
        for p in parameters:
            g = _R.randn(*p.shape)
            p.grad = proa.to_tensor(g)
            decay = 0.0 if any(part in p.name for part in excluded) else settings.get("lars_weight_decay", 0.0005)
            values[p.name], velocity[p.name] = lars(
                values[p.name], g, velocity[p.name], 0.5 * 0.1 ** (turn // 2), 0.8, settings.get("lars_coeff", 0.001),
                decay, settings.get("epsilon", 0.0), settings.get("rescale_grad", 1.0),
            )  # fmt: skip
        made.step()
        made.clear_grad()
        schedule.step()
    for p in parameters:
        np.testing.assert_allclose(p.numpy(), values[p.name], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("p, g", [
    ([0.0, 0.0], [1.0, -2.0]), ([1.0, 2.0], [0.0, 0.0]), ([0.0], [0.0]), ([], []),
])  # fmt: skip
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_norms_of_zero(p, g, decay):
    """The plain rate, and nothing divided by zero."""
    made = _parameter("w", np.array(p, "float32"))
    optimizer = fluid.optimizer.LarsMomentum(0.5, 0.9, lars_weight_decay=decay, parameter_list=[made])
    value, velocity = np.array(p), np.zeros(len(p))
    for _ in range(2):
        made.grad = proa.to_tensor(np.array(g, "float32"))
        optimizer.step()
        value, velocity = lars(value, np.array(g), velocity, 0.5, decay=decay)
    np.testing.assert_allclose(made.numpy(), value, rtol=1e-6)


@pytest.mark.parametrize(
    "p_size, g_size", [(1e25, 1.0), (1.0, 1e25), (1e-25, 1e-25), (1e-30, 1.0), (1.0, 1e-30), (1e-12, 1e-12)]
)
def test_norms_whose_squares_float32_does_not_hold(p_size, g_size):
    p, g = (_R.randn(5) * size for size in (p_size, g_size))
    made = _parameter("w", p)
    made.grad = proa.to_tensor(g.astype("float32"))
    fluid.optimizer.LarsMomentum(0.1, 0.9, lars_coeff=0.5, lars_weight_decay=0.01, parameter_list=[made]).step()
    np.testing.assert_allclose(made.numpy(), lars(p, g, 0.0, 0.1, coeff=0.5, decay=0.01)[0], rtol=1e-5)


@pytest.mark.parametrize("low", ["float16", "bfloat16"])
@pytest.mark.parametrize("masters", [False, True])
def test_16_bits(low, masters):
    """Norms above 65504 and rates below 6e-8 are held wide."""
    p, g = _R.randn(64) * 300.0, _R.randn(64) * 1e-3
    made = _parameter("w", p, low)
    start, value = made.astype("float32").numpy().astype("float64"), None
    optimizer = fluid.optimizer.LarsMomentum(0.1, 0.9, lars_coeff=0.01, lars_weight_decay=1e-4, parameter_list=[made],
                                             multi_precision=masters)  # fmt: skip
    value, velocity = start, 0.0
    for _ in range(3):
        made.grad = proa.to_tensor(g).astype(low)
        optimizer.step()
        optimizer.clear_grad()
        value, velocity = lars(
            value, proa.to_tensor(g).astype(low).astype("float64").numpy(), velocity, 0.1, coeff=0.01, decay=1e-4
        )
    assert np.abs(value - start).max() > 1.0
    bits = {"float16": 11, "bfloat16": 8}[low]
    np.testing.assert_allclose(
        made.astype("float32").numpy(), value, rtol=2.0**-bits * (1 if masters else 4), atol=1e-3 if masters else 0.05
    )


def test_a_network_learns():
    proa.seed(3)
    x, y = proa.randn([64, 8]), proa.randn([64, 1])
    net = proa.nn.Sequential(proa.nn.Linear(8, 16), proa.nn.BatchNorm1D(16), proa.nn.ReLU(), proa.nn.Linear(16, 1))
    made = fluid.optimizer.LarsMomentum(
        1.0, 0.9, lars_coeff=0.01, parameter_list=net.parameters(), exclude_from_weight_decay=["norm"]
    )
    losses = []
    for _ in range(60):
        loss = proa.nn.functional.mse_loss(net(x), y)
        loss.backward()
        made.step()
        made.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0], losses[::10]
