"""Writes the files beside this one, in an environment that has PaddlePaddle (3.3 made those that are here).

    python write.py

For each layer of `layers.LAYERS` its state_dict (`.pdparams`, with protocols 2 to 4 in turn) and
inputs and outputs in evaluation (`.npz`); for optimizers a state after three steps and the
parameters two steps later; nested values as a user may save them.
"""

import os
import sys

import numpy as np
import paddle

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import layers  # noqa: E402


def main():
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    paddle.seed(7)
    for i, (name, make) in enumerate(layers.LAYERS.items()):
        with paddle.utils.unique_name.guard():
            layer = make(paddle)
        layer.eval()
        x = layers.input_of(name)
        out = layer(paddle.to_tensor(x))
        out = out[0] if isinstance(out, (tuple, list)) else out
        paddle.save(layer.state_dict(), name + ".pdparams", protocol=2 + i % 3)
        np.savez(name + ".npz", x=x, out=out.numpy())
    for name, make in layers.OPTIMIZERS.items():
        with paddle.utils.unique_name.guard():
            net, optimizer, schedule = layers.training(paddle, make)
        layers.steps(paddle, net, optimizer, schedule, 3)
        paddle.save(net.state_dict(), name + ".pdparams")
        paddle.save(optimizer.state_dict(), name + ".pdopt")
        layers.steps(paddle, net, optimizer, schedule, 2)
        np.savez(name + ".npz", **{k: v.numpy() for k, v in net.state_dict().items()})
    x = paddle.to_tensor([[1.0, 2.0]])
    nested = {"epoch": 3, "best": (0.5, "acc"), "model": {"w": x}, "list": [x.astype("bfloat16"), paddle.zeros([0, 2])]}
    for protocol in (2, 3, 4):
        paddle.save(nested, f"nested{protocol}.ckpt", protocol=protocol)
    paddle.save(paddle.to_tensor(2.5), "bare")


if __name__ == "__main__":
    main()
