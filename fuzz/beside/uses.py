"""What is used by more than one call: schedules of learning rates, optimizers, initializers, transforms of images,
distributions, metrics and callbacks, by what comes of them. Runs in either package: nothing here is of Proa.

A function takes the package, the path of a class, and data; it gives a list of results. Where a class takes an object,
its data is `{"make": path, ...}`: what it names, called with the other entries.
"""

from __future__ import annotations

import numpy as np


def at(paddle, path: str):
    value = paddle
    for part in path.split("."):
        value = getattr(value, part)
    return value


def made(paddle, v):
    """Data, with the objects that it says."""
    if isinstance(v, dict) and "make" in v:
        given = {name: made(paddle, x) for name, x in v.items() if name != "make"}
        if v["make"] == "power":  # a function of a step
            return lambda step: given["base"] ** step
        return at(paddle, v["make"])(*given.pop("*", ()), **given)
    if isinstance(v, dict):
        return {name: made(paddle, x) for name, x in v.items()}
    return type(v)(made(paddle, x) for x in v) if isinstance(v, (list, tuple)) else v


def _python(v):
    """Numbers of a result as those of Python, and whatever else as its text."""
    if isinstance(v, (list, tuple)):
        return [_python(x) for x in v]
    if hasattr(v, "numpy"):
        v = v.numpy()
    return np.asarray(v, "float64").tolist() if np.asarray(v).dtype.kind in "biuf" else str(v)


def schedule(paddle, path, kwargs, steps, metrics):
    """The rates of so many steps, before and after it is saved, loaded by another one, and set to an epoch."""
    make = lambda: at(paddle, path)(**made(paddle, kwargs))
    one, rates = make(), []
    given = iter(metrics)
    advance = (lambda s: s.step(next(given))) if metrics else (lambda s: s.step())
    for _ in range(steps // 2):
        rates.append(float(one()))
        advance(one)
    other = make()
    other.set_state_dict(one.state_dict())
    for _ in range(steps - steps // 2):
        rates.append(float(other()))
        advance(other)
    if not metrics:
        for epoch in (7, 3, 0):
            other.step(epoch)
            rates.append(float(other()))
    return [paddle.to_tensor(np.array(rates, "float64")), float(one.last_epoch), sorted(one.state_dict())]


def optimize(paddle, path, kwargs, settings, steps, seed):
    """The parameters of a small network after so many steps."""
    rng = np.random.RandomState(seed)
    attr = {name: made(paddle, v) for name, v in settings.get("attr", {}).items()}
    net = paddle.nn.Sequential(
        paddle.nn.Linear(3, 4, weight_attr=paddle.ParamAttr(**attr) if attr else None),
        paddle.nn.Tanh(),
        paddle.nn.Linear(4, 2),
    )
    for p in net.parameters():
        p.set_value(rng.uniform(-1, 1, p.shape).astype("float32"))
    dtype = settings.get("dtype", "float32")
    net.to(dtype=dtype)
    parameters = net.parameters()
    if "groups" in settings:
        groups = made(paddle, settings["groups"])
        parameters = [{"params": parameters[:2], **groups[0]}, {"params": parameters[2:], **groups[1]}]
    optimizer = at(paddle, path)(parameters=parameters, **made(paddle, kwargs))
    x = paddle.to_tensor(rng.randn(steps, 5, 3)).astype(dtype)
    y = paddle.to_tensor(rng.randn(steps, 5, 2)).astype(dtype)
    for i in range(steps):
        ((net(x[i]) - y[i]) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
        if isinstance(kwargs.get("learning_rate"), dict):
            optimizer._learning_rate.step()
    return [*net.parameters(), float(optimizer.get_lr())]


def initialize(paddle, path, kwargs, shape, dtype):
    """A parameter; of random ones, another seed says so, its sizes."""
    attr = paddle.ParamAttr(initializer=at(paddle, path)(**made(paddle, kwargs)))
    return [paddle.create_parameter(list(shape), dtype, attr=attr).detach()]


def transform(paddle, path, kwargs, image, form):
    """An image of a form (array, pillow, tensor) of an array of [H, W, C] uint8."""
    pixels = image.numpy() if hasattr(image, "numpy") else image
    if form == "pillow":
        from PIL import Image

        given = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    elif form == "tensor":
        given = paddle.to_tensor(pixels.transpose(2, 0, 1).astype("float32") / 255)
    else:
        given = pixels.astype("float32") if form == "floats" else pixels
    function = at(paddle, path)
    result = (
        function(**made(paddle, kwargs))(given)
        if path.rpartition(".")[2][0].isupper()
        else function(given, **made(paddle, kwargs))
    )
    is_tensor = hasattr(result, "stop_gradient")
    array = result.numpy() if is_tensor else np.asarray(result)
    kind = "tensor" if is_tensor else "array" if isinstance(result, np.ndarray) else type(result).__name__
    return [f"{kind} {array.dtype} {list(array.shape)}", paddle.to_tensor(array.astype("float32"))]


def distribution(paddle, path, arguments, settings, method, value):
    """A method of a distribution, or of a transform: parameters and value are tensors."""
    one = at(paddle, path)(*arguments, **made(paddle, settings))
    found = getattr(one, method)
    if callable(found):
        found = found(*value)
    return list(found) if isinstance(found, (list, tuple)) else [found]


def sampled(paddle, path, arguments, settings, shape):
    """Sizes of samples, and their means as far as chance allows."""
    one = at(paddle, path)(*arguments, **made(paddle, settings))
    return [one.sample(list(shape)), list(one.batch_shape), list(one.event_shape)]


def divergence(paddle, path, first, second, settings):
    kind = at(paddle, path)
    p, q = (kind(*arguments, **made(paddle, settings)) for arguments in (first, second))
    return [paddle.distribution.kl_divergence(p, q)]


def measure(paddle, path, kwargs, batches):
    """A metric of batches: what each update gives, and what they come to, before and after a reset."""
    one = at(paddle, path)(**made(paddle, kwargs))
    found = []
    for _ in range(2):
        for prediction, label in batches:
            computed = one.compute(paddle.to_tensor(prediction), paddle.to_tensor(label))
            computed = computed if isinstance(computed, (list, tuple)) else [computed]
            found.append(_python(one.update(*[c.numpy() if hasattr(c, "numpy") else c for c in computed])))
            found.append(_python(one.accumulate()))
        one.reset()
    return [str(one.name()), paddle.to_tensor(np.array(_numbers(found), "float64"))]


def _numbers(v) -> list:
    if isinstance(v, (list, tuple)):
        return [x for e in v for x in _numbers(e)]
    return [v] if isinstance(v, float) else []


class _Told:
    """What a callback sees of a Model."""

    def __init__(self, paddle):
        self.network = paddle.nn.Linear(1, 1)
        self._optimizer = paddle.optimizer.SGD(0.5, parameters=self.network.parameters())
        self.stop_training, self.saved = False, 0

    def save(self, path):
        self.saved += 1


def call_back(paddle, path, kwargs, logs):
    """The rate, whether to stop, and how often it saved, after each evaluation."""
    one, model, found = at(paddle, path)(**made(paddle, kwargs)), _Told(paddle), []
    one.set_model(model)
    one.set_params({"epochs": len(logs), "steps": 1, "verbose": 0, "metrics": ["loss", "acc"]})
    one.on_train_begin()
    for epoch, log in enumerate(logs):
        one.on_epoch_begin(epoch)
        one.on_epoch_end(epoch, dict(log))
        one.on_eval_begin()
        one.on_eval_end(dict(log))
        found.append([float(model._optimizer.get_lr()), float(model.stop_training), float(model.saved)])
    return [paddle.to_tensor(np.array(found, "float64"))]
