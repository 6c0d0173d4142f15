"""Random uses (uses.py) of all schedules, optimizers, initializers, transforms, distributions, metrics and callbacks.

What a class takes is asked of its signature: an argument without an entry below is left out, or is an error if it must
be given. So a class of the public API that comes new is used, or this file says what it does not know.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import numpy as np

import proa
from fuzz.beside.calls import Array, Call
from python.tests.public_cases import function_at

_Make = Callable[[random.Random], Any]


def _of(*choices: Any) -> _Make:
    return lambda rng: rng.choice(choices)


def _between(low: float, high: float) -> _Make:
    return lambda rng: round(rng.uniform(low, high), 3)


def _object(path: str, **given: Any) -> dict[str, Any]:
    return {"make": path, **given}


def _scheduler(rng) -> dict[str, Any]:
    return _object("optimizer.lr.ExponentialDecay", learning_rate=rng.choice((0.1, 0.4)), gamma=0.9)


def _increasing(rng, count: int) -> list[int]:
    return sorted(rng.sample(range(1, 60), count))


def _piecewise(rng) -> dict[str, Any]:
    count = rng.randint(1, 4)
    return {"boundaries": _increasing(rng, count), "values": [round(rng.random(), 3) for _ in range(count + 1)]}


# By the name of a parameter, or of a class and a parameter.
_SCHEDULES: dict[str, _Make] = {
    "learning_rate": _of(0.1, 0.5, 1.0, 1, 0.003),
    "gamma": _between(0.05, 1.2),
    "last_epoch": _of(-1, 0, 3),
    "T_max": _of(1, 2, 7, 30),
    "eta_min": _of(0, 0.01, 0.2),
    "base_learning_rate": _of(0.1, 0.3),
    "max_learning_rate": _of(0.5, 1.0),
    "step_size_up": _of(1, 3, 20),
    "step_size_down": _of(None, 1, 4, 31),
    "mode": _of("triangular", "triangular2", "exp_range"),
    "exp_gamma": _of(1.0, 0.9, 0.99),
    "scale_mode": _of("cycle", "iterations"),
    "lr_lambda": lambda rng: _object("power", base=rng.choice((0.5, 0.95, 1.1))),
    "scale_fn": lambda rng: _object("power", base=rng.choice((0.5, 0.95))),
    "warmup_steps": _of(1, 2, 10, 300),
    "start_lr": _of(0.0, 0.01),
    "end_lr": _of(0.1, 0.3, 0.02),
    "milestones": lambda rng: _increasing(rng, rng.randint(1, 4)),
    "d_model": _of(1, 64, 512),
    "total_steps": _of(220, 300),
    "divide_factor": _of(25.0, 3.0, 1.0),
    "end_learning_rate": _of(0.0001, 0.02),
    "phase_pct": _of(0.3, 0.45, 0.1),
    "anneal_strategy": _of("cos", "linear"),
    "three_phase": _of(True, False),
    "decay_steps": _of(1, 5, 40, 300),
    "power": _of(1.0, 0.5, 2.0),
    "cycle": _of(True, False),
    "step_size": _of(1, 3, 50),
    "ReduceOnPlateau.mode": _of("min", "max"),
    "factor": _of(0.1, 0.5, 0.9),
    "patience": _of(0, 1, 5),
    "threshold": _of(1e-4, 0.1),
    "threshold_mode": _of("rel", "abs"),
    "cooldown": _of(0, 1, 4),
    "min_lr": _of(0, 0.01),
    "epsilon": _of(1e-8, 1e-2),
    "LinearWarmup.learning_rate": lambda rng: rng.choice((0.5, _scheduler(rng))),
}
_CLIPS = ("ByGlobalNorm", "ByNorm", "ByValue")
# Left out: what 3.3 ignores (rescale_grad), and Lamb without decay, which is another in 3.3 than in 2.3.
_OPTIMIZERS: dict[str, _Make] = {
    "learning_rate": lambda rng: rng.choice((0.1, 0.01, 1e-3, _scheduler(rng))),
    "beta1": _of(0.9, 0.5, 0.99),
    "beta2": _of(0.999, 0.9, 0.5),
    "epsilon": _of(1e-8, 1e-4, 1e-6),
    "rho": _of(0.95, 0.5),
    "momentum": _of(0.9, 0.5, 0.0),
    "weight_decay": lambda rng: rng.choice(
        (None, 0.1, 0.02, *(_object(f"regularizer.{n}Decay", coeff=0.05) for n in ("L1", "L2")))
    ),
    "AdamW.weight_decay": _of(0.0, 0.01, 0.3),
    "grad_clip": lambda rng: rng.choice(
        (None, _object(f"nn.ClipGrad{rng.choice(_CLIPS)}", **{"*": (rng.choice((0.05, 0.5, 5.0)),)}))
    ),
    "initial_accumulator_value": _of(0.0, 0.1),
    "lamb_weight_decay": _of(0.01, 0.1, 0.3),
    "use_nesterov": _of(True, False),
    "centered": _of(True, False),
    "multi_precision": _of(True, False),
    "use_multi_tensor": _of(True, False),
    "lazy_mode": _of(True, False),
}
_INITIALIZERS: dict[str, _Make] = {
    "value": _between(-3, 3),
    "Assign.value": lambda rng: [round(rng.uniform(-2, 2), 2) for _ in range(24)],
    "groups": _of(1, 2),
    "fan_in": _of(None, 3, 100),
    "fan_out": _of(None, 3, 100),
    "negative_slope": _of(0.0, 0.3),
    "nonlinearity": _of("relu", "leaky_relu", "linear"),
    "mean": _of(0.0, 3.0),
    "std": _of(1.0, 0.1),
    "gain": _of(1.0, 2.0),
    "low": _of(-1.0, -0.1),
    "high": _of(1.0, 0.1),
}
_FACTOR = _of(0, 0.3, 1.0, 1.7)
_SIZE: _Make = lambda rng: rng.choice((5, 8, (4, 7), [9, 3]))
_TRANSFORMS: dict[str, _Make] = {
    "value": _of(0, 0.2, 0.5),
    "brightness": _of(0, 0.4),
    "contrast": _of(0, 0.4),
    "saturation": _of(0, 0.4),
    "hue": _of(0, 0.4),
    "size": _SIZE,
    "output_size": _SIZE,
    "num_output_channels": _of(1, 3),
    "mean": lambda rng: rng.choice((127.5, [10.0, 20.0, 30.0])),
    "std": lambda rng: rng.choice((127.5, [10.0, 20.0, 30.0])),
    "data_format": _of("CHW", "HWC"),
    "to_rgb": _of(True, False),
    "padding": lambda rng: rng.choice((0, 2, (1, 2), [1, 2, 3, 0])),
    "RandomCrop.padding": lambda rng: rng.choice((None, 2, (1, 2), [1, 2, 3, 0])),
    "fill": _of(0),  # another number fills every channel here, and the first one of Pillow images there
    "padding_mode": _of("constant", "edge", "reflect", "symmetric"),
    "degrees": lambda rng: rng.choice((30, (10, 50))),
    "translate": lambda rng: rng.choice((None, (0.1, 0.3))),
    "affine.translate": lambda rng: [rng.randint(-3, 3), rng.randint(-3, 3)],
    "scale": lambda rng: rng.choice((None, (0.5, 1.5))),
    "affine.scale": _of(0.5, 1.0, 1.3),
    "RandomErasing.scale": lambda rng: (0.02, rng.choice((0.1, 0.33))),
    "RandomResizedCrop.scale": lambda rng: (0.08, rng.choice((0.5, 1.0))),
    "ratio": lambda rng: (rng.choice((0.3, 0.75)), rng.choice((1.33, 3.3))),
    "shear": lambda rng: rng.choice((None, 10, (0, 20), [0, 10, 5, 15])),
    "affine.shear": lambda rng: [rng.randint(-20, 20), rng.randint(-20, 20)],
    "interpolation": _of("nearest", "bilinear"),
    "resize.interpolation": _of("nearest", "bilinear", "area", "bicubic", "lanczos", "box", "hamming"),
    "Resize.interpolation": _of("nearest", "bilinear", "area", "bicubic", "lanczos", "box", "hamming"),
    "center": lambda rng: rng.choice((None, (3, 4), [2, 6])),
    "expand": _of(True, False),
    "angle": _of(0, 30, -75, 90, 45.5, 180),
    "prob": _of(0, 1, 0.5),
    "distortion_scale": _of(0.1, 0.5),
    "pad_if_needed": _of(True, False),
    "order": lambda rng: rng.choice(((2, 0, 1), (1, 0, 2), (0, 1, 2))),
    "brightness_factor": _FACTOR,
    "contrast_factor": _FACTOR,
    "saturation_factor": _FACTOR,
    "hue_factor": _of(-0.5, -0.2, 0.0, 0.1, 0.5),
    "top": _of(0, 2),
    "left": _of(0, 3),
    "height": _of(1, 4),
    "width": _of(2, 5),
    "i": _of(0, 2),
    "j": _of(0, 3),
    "h": _of(1, 4),
    "w": _of(2, 5),
    "v": _of(0, 9),
    "startpoints": lambda rng: [[0, 0], [8, 0], [8, 9], [0, 9]],
    "endpoints": lambda rng: [[rng.randint(0, 3), 1], [7, rng.randint(0, 2)], [8, 9], [1, rng.randint(7, 9)]],
}
_METRICS: dict[str, _Make] = {
    "topk": lambda rng: rng.choice(((1,), (1, 2), (3,), (1, 3, 5))),
    "num_thresholds": _of(4095, 20, 1),
    "curve": _of("ROC"),  # the other computes this one, whatever is asked for
}
_CALLBACKS: dict[str, _Make] = {
    "monitor": _of("loss", "acc"),
    "mode": _of("auto", "min", "max"),
    "patience": _of(0, 1, 3),
    "verbose": _of(0),
    "min_delta": _of(0, 0.05, 1e-4),
    "baseline": _of(None, 0.5),
    "save_best_model": _of(False),
    "factor": _of(0.1, 0.5),
    "cooldown": _of(0, 1, 2),
    "min_lr": _of(0, 0.1),
}


def _given(rng, path: str, known: dict[str, _Make], often: float = 0.4, **fixed: Any) -> dict[str, Any]:
    """Arguments of what a path names, those with a default now and then."""
    name, given = path.rpartition(".")[2], dict(fixed)
    for parameter in list(inspect.signature(function_at(path)).parameters.values()):
        if parameter.name in ("img", "pic", *fixed) or parameter.kind not in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            continue
        make = known.get(f"{name}.{parameter.name}") or known.get(parameter.name)
        if make is None and parameter.default is parameter.empty:
            raise ValueError(f"random_uses.py: there is nothing to give for {parameter.name} of {path}")
        if make is not None and (parameter.default is parameter.empty or rng.random() < often):
            given[parameter.name] = make(rng)
    return given


def _array(rng, shape, low=-2.0, high=2.0, dtype="float32") -> Array:
    random_ = np.random.RandomState(rng.randrange(1 << 30))
    return Array.of(random_.uniform(low, high, shape).astype(dtype))


# Each makes a call of a use of a path.


def _schedule(rng, path):
    if path.endswith("PiecewiseDecay"):
        kwargs = _piecewise(rng)
    else:
        kwargs = _given(rng, path, _SCHEDULES)
    metrics: tuple[float, ...] = ()
    if path.endswith("ReduceOnPlateau"):
        level = 1.0
        for _ in range(200):
            level = round(level * rng.choice((1.0, 0.9, 0.999, 1.05)), 4)
            metrics += (level,)
    return (kwargs, 200, metrics)


def _optimize(rng, path):
    kwargs = _given(rng, path, _OPTIMIZERS, learning_rate=_OPTIMIZERS["learning_rate"](rng))
    settings: dict[str, Any] = {}
    if rng.random() < 0.3:
        settings["attr"] = {
            name: value
            for name, value in (
                ("learning_rate", rng.choice((0.5, 2.0))),
                ("regularizer", _object("regularizer.L1Decay", coeff=0.1)),
                ("need_clip", False),
            )
            if rng.random() < 0.5
        }
    elif rng.random() < 0.3:  # a group takes what ParamAttr says away, there
        settings["groups"] = [{"learning_rate": rng.choice((0.5, 0.1))}, rng.choice(({}, {"weight_decay": 0.2}))]
    if rng.random() < 0.15:
        settings["dtype"] = rng.choice(("float64", "bfloat16"))
    return (kwargs, settings, rng.choice((1, 3, 10)), rng.randrange(1000))


def _initialize(rng, path):
    shape = rng.choice(([4, 6], [2, 3, 2, 2], [4, 2, 3], [2, 2, 2, 3, 1], [24]))
    return (_given(rng, path, _INITIALIZERS), shape, rng.choice(("float32", "float32", "float64")))


def _transform(rng, path):
    channels = rng.choice((1, 3, 3))
    random_ = np.random.RandomState(rng.randrange(1 << 30))
    image = random_.randint(0, 256, (rng.choice((9, 12)), rng.choice((10, 11)), channels)).astype("uint8")
    return (
        _given(rng, path, _TRANSFORMS, 0.5),
        Array.of(image, plain=True),
        rng.choice(("array", "pillow", "tensor", "floats")),
    )


_BATCHES: tuple[list[int], ...] = ([], [1], [3], [2, 3])


def _parameters(rng, name: str):
    """(parameters, settings, a value) of a distribution."""
    batch, dtype = rng.choice(_BATCHES), rng.choice(("float32", "float32", "float64"))
    array = lambda low, high, shape=batch: _array(rng, shape, low, high, dtype)
    if name == "Normal":
        return (array(-2, 2), array(0.05, 3)), {}, array(-4, 4)
    if name == "Uniform":
        return (array(-2, 0), array(0.5, 3)), {}, array(-3, 4)
    if name == "Beta":
        return (array(0.1, 5), array(0.1, 5)), {}, array(0.01, 0.99)
    if name == "Dirichlet":
        value = np.random.RandomState(rng.randrange(1000)).dirichlet(np.ones(4), batch or None).astype(dtype)
        return (array(0.1, 5, [*batch, 4]),), {}, Array.of(value)
    if name == "Categorical":
        return (array(0.1, 3, [*batch, 4]),), {}, Array.of(np.full(batch or [1], rng.randrange(4), "int64"))
    counts = np.random.RandomState(rng.randrange(1000)).multinomial(5, np.ones(4) / 4, tuple(batch) or None)
    return (5, array(0.1, 1, [*batch, 4])), {}, Array.of(counts.astype(dtype))


_DISTRIBUTIONS = ("Normal", "Uniform", "Beta", "Dirichlet", "Categorical", "Multinomial")


def _distribution(rng, path):
    arguments, settings, value = _parameters(rng, path.rpartition(".")[2])
    methods = [m for m in ("mean", "variance", "stddev", "entropy") if hasattr(function_at(path), m)]
    method = rng.choice([*methods, "log_prob", "prob", "log_prob", "probs"])
    if method == "probs" and not path.endswith("Categorical"):
        method = "prob"
    if method == "prob" and path.endswith("Categorical"):
        method = "probs"
    return (arguments, settings, method, (value,) if "prob" in method else ())


def _sampled(rng, path):
    arguments, settings, _ = _parameters(rng, path.rpartition(".")[2])
    return (arguments, settings, rng.choice(([1], [2, 3], [4])))


def _divergence(rng, path):
    state = rng.random()
    first, second = (_parameters(random.Random(state), path.rpartition(".")[2])[0] for _ in range(2))
    second = tuple(
        v.changed(lambda a: (a * 1.25 + 0.125).astype(a.dtype)) if isinstance(v, Array) else v for v in second
    )
    return (first, second, {})


def _bijection(rng, path):
    name, dtype = path.rpartition(".")[2], rng.choice(("float32", "float64"))
    array = lambda low, high, shape=(2, 3): _array(rng, shape, low, high, dtype)
    scale, forward = (array(-1, 1), array(0.5, 2)), array(-2, 2)
    inside = array(0.05, 0.95)
    arguments = {"AffineTransform": scale, "PowerTransform": (array(0.5, 2, ()),)}.get(name, ())
    if name == "PowerTransform":
        forward = array(0.2, 2)
    # What an inverse takes: what a transform gives.
    inverse = {"SigmoidTransform": inside, "TanhTransform": inside, "AffineTransform": forward}.get(name, array(0.2, 2))
    if name in ("SoftmaxTransform", "StickBreakingTransform"):
        inverse = Array.of(np.random.RandomState(rng.randrange(1000)).dirichlet(np.ones(3), 2).astype(dtype))
    method = rng.choice(("forward", "inverse", "forward_log_det_jacobian", "inverse_log_det_jacobian"))
    return (arguments, {}, method, (forward if method.startswith("forward") else inverse,))


def _measure(rng, path):
    random_ = np.random.RandomState(rng.randrange(1 << 30))
    batches = []
    for _ in range(rng.randint(1, 4)):
        rows = rng.choice((1, 3, 8))
        if path.endswith("Accuracy"):
            prediction = random_.rand(rows, 5).astype("float32")
            label = random_.randint(0, 5, (rows, 1)).astype("int64")
        else:
            one = random_.rand(rows, 1).astype("float32")
            prediction = np.concatenate([1 - one, one], 1) if path.endswith("Auc") else one
            label = random_.randint(0, 2, (rows, 1)).astype("int64")
        batches.append((Array.of(prediction, plain=True), Array.of(label, plain=True)))
    return (_given(rng, path, _METRICS), batches)


def _call_back(rng, path):
    logs = [[("loss", [round(rng.uniform(0, 1), 3)]), ("acc", round(rng.uniform(0, 1), 3))] for _ in range(12)]
    # Without patience EarlyStopping is another on purpose.
    return (_given(rng, path, _CALLBACKS, patience=rng.choice((1, 2, 3))), logs)


def _classes(module, base) -> list[str]:
    where = module.__name__.partition(".")[2]
    found = [(name, getattr(module, name)) for name in module.__all__]
    return [
        f"{where}.{n}" for n, kind in found if inspect.isclass(kind) and issubclass(kind, base) and kind is not base
    ]


def _images() -> list[str]:
    """All but those that hold others."""
    held = {"BaseTransform", "Compose"}
    return [f"vision.transforms.{n}" for n in proa.vision.transforms.__all__ if n not in held]


def _uses() -> list[tuple[str, list[str], Callable[[random.Random, str], tuple]]]:
    """The name of a use, paths, and what makes its arguments."""
    distributions = [f"distribution.{n}" for n in _DISTRIBUTIONS]
    bijections = ("Abs", "Affine", "Exp", "Power", "Sigmoid", "Softmax", "StickBreaking", "Tanh")
    return [
        ("schedule", _classes(proa.optimizer.lr, proa.optimizer.lr.LRScheduler), _schedule),
        ("optimize", _classes(proa.optimizer, proa.optimizer.Optimizer), _optimize),
        ("initialize", _classes(proa.nn.initializer, proa.nn.initializer.Initializer), _initialize),
        ("transform", _images(), _transform),
        ("distribution", distributions, _distribution),
        ("distribution", [f"distribution.{n}Transform" for n in bijections], _bijection),
        ("sampled", distributions, _sampled),
        ("divergence", [d for d in distributions if not d.endswith("Multinomial")], _divergence),
        ("measure", _classes(proa.metric, proa.metric.Metric), _measure),
        ("call_back", ["callbacks.EarlyStopping", "callbacks.ReduceLROnPlateau"], _call_back),
    ]


def makers(recorded: bool = False) -> dict[str, Callable[[random.Random], Call]]:
    """By its target, what makes a random use; `recorded`: of those that are of tensors, as a program is."""
    kept = [use for use in _uses() if not recorded or use[0] in ("distribution", "divergence")]
    return {f"{use} {path}": _maker(f"{use} {path}", path, made) for use, paths, made in kept for path in paths}


def _maker(target: str, path: str, arguments: Callable[[random.Random, str], tuple]) -> Callable[[random.Random], Call]:
    return lambda rng: Call(target, arguments(rng, path))
