"""Writes reference_vision_models.json: names, sizes and numbers of the networks of PaddlePaddle. Run it where that is.

    python reference_vision_models.py reference_vision_models.json

For each function that makes a network: how many entries its state has, how many numbers the trained ones and all are, and a
digest of all names and shapes in their order. For one small network of each family: what it computes in evaluation and in
training from weights and images that NumPy's generator draws, and what a step back gives.
"""

import hashlib
import inspect
import json
import sys

import numpy as np

# Name, arguments, side of the images.
SMALL = [
    ("LeNet", {}, 28),
    ("alexnet", {"num_classes": 0}, 67),
    ("densenet121", {"num_classes": 10}, 64),
    ("googlenet", {"num_classes": 10}, 224),
    ("inception_v3", {"num_classes": 10}, 139),
    ("mobilenet_v1", {"scale": 0.25, "num_classes": 10}, 64),
    ("mobilenet_v2", {"scale": 0.5, "num_classes": 10}, 64),
    ("mobilenet_v3_large", {"scale": 0.35, "num_classes": 10}, 64),
    ("mobilenet_v3_small", {"scale": 0.75, "num_classes": 10}, 64),
    ("resnet18", {"num_classes": 10}, 64),
    ("resnext50_32x4d", {"num_classes": 10}, 64),
    ("shufflenet_v2_swish", {"num_classes": 10}, 64),
    ("shufflenet_v2_x0_25", {"num_classes": 10}, 64),
    ("squeezenet1_0", {"num_classes": 10}, 64),
    ("squeezenet1_1", {"num_classes": 10}, 64),
    ("vgg11", {"num_classes": 0, "with_pool": False, "batch_norm": True}, 64),
]


def makers(models):
    """The names of all functions that make a network, and of a class that has none."""
    return sorted(n for n in models.__all__ if inspect.isfunction(getattr(models, n))) + ["LeNet"]


def names(paddle, name):
    """What a network has for names and sizes. Zeros are put in place of random numbers, which take long."""
    paddle.nn.initializer.set_global_initializer(paddle.nn.initializer.Constant(0.0))
    try:
        net = getattr(paddle.vision.models, name)()
    finally:
        paddle.nn.initializer.set_global_initializer(None)
    state = net.state_dict()
    lines = "".join(f"{key} {list(value.shape)}\n" for key, value in state.items())
    return {
        "entries": len(state),
        "first": next(iter(state)),
        "last": list(state)[-1],
        "trained": sum(int(np.prod(p.shape)) for p in net.parameters() if p.trainable),
        "all": sum(int(np.prod(value.shape)) for value in state.values()),
        "digest": hashlib.sha256(lines.encode()).hexdigest()[:16],
    }


def _set(net):
    rng, state = np.random.RandomState(0), net.state_dict()
    values = {}
    for name in sorted(state):
        shape = state[name].shape
        value = rng.rand(*shape)
        if "variance" in name:
            values[name] = value + 0.5
        else:
            size = 2.0 / np.sqrt(max(np.prod(shape[1:]), 1)) if len(shape) > 1 else 0.2
            values[name] = (value - 0.5) * size
    net.set_state_dict({name: value.astype("float32") for name, value in values.items()})
    return rng


def numbers(paddle, name, arguments, side):
    """What it computes: sums of sizes of results, of gradients, and of statistics after a step of training."""
    net = getattr(paddle.vision.models, name)(**arguments)
    rng = _set(net)
    for layer in net.sublayers():
        if isinstance(layer, paddle.nn.Dropout):
            layer.p = 0.0
    x = paddle.to_tensor(rng.rand(2, 1 if name == "LeNet" else 3, side, side).astype("float32"))

    def total(tensors):
        return float(sum(np.abs(t.numpy().astype("float64")).sum() for t in tensors))

    def results():
        out = net(x)
        return list(out) if isinstance(out, (list, tuple)) else [out]

    net.eval()
    found = {"eval": total(results())}
    net.train()
    out = results()
    sum(o.abs().sum() for o in out).backward()
    found["train"] = total(out)
    found["gradients"] = total(p.grad for p in net.parameters() if p.grad is not None)
    found["statistics"] = total(
        value for key, value in net.state_dict().items() if "_mean" in key or "_variance" in key
    )
    return found


def main():
    import paddle

    out = {name: names(paddle, name) for name in makers(paddle.vision.models)}
    for name, arguments, side in SMALL:
        out[name].update(numbers(paddle, name, arguments, side))
    with open(sys.argv[1], "w") as stream:
        stream.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in out.items()) + "\n}\n")


if __name__ == "__main__":
    main()
