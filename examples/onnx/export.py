"""Trains a small network on two spirals, exports it to ONNX and compares what ONNX Runtime says of new points.

    python examples/onnx/export.py [--quick] [--out FOLDER]

Needs the packages onnx and onnxruntime.
"""

import argparse
import os

import numpy as np

import proa


def spirals(count, rng):
    """(points [count, 2], which spiral they are of)."""
    label = rng.integers(0, 2, count)
    angle = rng.uniform(0.5, 3.0, count) * np.pi
    turned = angle + np.pi * label
    points = np.stack([np.cos(turned), np.sin(turned)], 1) * angle[:, None] / 10 + rng.normal(0, 0.01, (count, 2))
    return points.astype("float32"), label


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few steps, for tests")
    parser.add_argument("--out", default="out", help="folder of spirals.onnx")
    args = parser.parse_args(argv)
    import onnxruntime

    proa.seed(0)
    rng = np.random.default_rng(0)
    net = proa.nn.Sequential(
        proa.nn.Linear(2, 64),
        proa.nn.GELU(),
        proa.nn.LayerNorm(64),
        proa.nn.Linear(64, 64),
        proa.nn.GELU(),
        proa.nn.Linear(64, 2),
    )
    adam = proa.optimizer.Adam(0.01, parameters=net.parameters())
    for _ in range(60 if args.quick else 600):
        points, label = spirals(256, rng)
        loss = proa.nn.functional.cross_entropy(net(proa.to_tensor(points)), proa.to_tensor(label))
        loss.backward()
        adam.step()
        adam.clear_grad()

    path = os.path.join(args.out, "spirals.onnx")
    proa.onnx.export(net, path, [proa.static.InputSpec([None, 2], "float32", "points")], output_names=["scores"])

    points, label = spirals(1000, rng)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (scores,) = session.run(["scores"], {"points": points})
    ours = net(proa.to_tensor(points)).numpy()
    print(f"loss {float(loss):.3f}, accuracy in ONNX Runtime {np.mean(scores.argmax(1) == label):.3f}")
    print(f"largest difference from Proa {np.abs(scores - ours).max():.1e} of {np.abs(ours).max():.1f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
