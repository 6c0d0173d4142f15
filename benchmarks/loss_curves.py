"""Whether training in 16 bits learns as in float32: the losses of three examples at O1 and O2, in float16 and bfloat16.

    python benchmarks/loss_curves.py [--work "digits;char"] [--steps 500] [--window 50] [--json FILE]

Every run of a network begins with the same parameters and sees the same batches and masks of dropout, so that its losses
differ by rounding alone. They are averaged over a window of steps and compared with those of float32, step by step:
"of the start" is the largest difference in per cent of the first loss, "of the loss" in per cent of the loss of float32 at that
step. The second says little where a loss has become small: rounding leads two runs to other parameters, each as good. So
there are two more runs in float32 to compare with: "nudged" begins with parameters that differ in the last bits
(by a part of 2**-20), "other seed" has other masks and batches. Digits end with the part of held-out images that is right.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import pathlib
import sys

import numpy as np

import proa as paddle

WAYS = (("O1", "float16"), ("O1", "bfloat16"), ("O2", "float16"), ("O2", "bfloat16"))
_EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


def _example(name: str):
    spec = importlib.util.spec_from_file_location(f"example_{name}", _EXAMPLES / name / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Work:
    """A network, its optimizer, and a function that gives the next batch: (arguments of the network, of the criterion)."""

    def __init__(self, net, optimizer, criterion, batch, evaluate=None):
        self.net, self.optimizer, self.criterion, self.batch, self.evaluate = net, optimizer, criterion, batch, evaluate


def digits(random, steps):
    example = _example("digits")
    images, labels, test_images, test_labels = example.load_data()
    net = example.DigitNet()

    def batch():
        rows = random.integers(0, len(images), 64)
        return paddle.to_tensor(example.shifted(images[rows], random)), paddle.to_tensor(labels[rows])

    def evaluate(forward):
        found = forward(paddle.to_tensor(test_images)).astype("float32").numpy().argmax(1)
        return float((found == test_labels).mean())

    schedule = paddle.optimizer.lr.CosineAnnealingDecay(3e-3, T_max=steps)
    optimizer = paddle.optimizer.AdamW(schedule, weight_decay=1e-2, parameters=net.parameters())
    return Work(net, optimizer, paddle.nn.functional.cross_entropy, batch, evaluate)


def char_transformer(random, steps):
    example = _example("char_transformer")
    text = (_EXAMPLES / "char_transformer" / "declaration.txt").read_text(encoding="utf-8")
    alphabet = "".join(sorted(set(text)))
    data = example.batches(np.array([alphabet.index(c) for c in text], "int64"), 48, 32, random)
    net = example.CharTransformer(len(alphabet), 48, 64, 4, 2)
    schedule = paddle.optimizer.lr.LinearWarmup(
        paddle.optimizer.lr.CosineAnnealingDecay(3e-3, T_max=steps), max(steps // 20, 1), 0.0, 3e-3
    )
    optimizer = paddle.optimizer.AdamW(
        schedule, weight_decay=0.01, parameters=net.parameters(), grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)
    )
    return Work(net, optimizer, paddle.nn.functional.cross_entropy, lambda: next(data))


def lstm(random, steps):
    example = _example("lstm")
    net = example.Adder(48)
    optimizer = paddle.optimizer.Adam(4e-3, parameters=net.parameters(), grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))

    def batch():
        return tuple(map(paddle.to_tensor, example.make_batch(random, 64, 24)))

    return Work(net, optimizer, paddle.nn.functional.mse_loss, batch)


WORK = {"digits": digits, "char transformer": char_transformer, "LSTM": lstm}


def train(name: str, level: str, dtype: str, steps: int, seed: int = 3, nudge: float = 0.0):
    """(losses, what `evaluate` says); level O0 is float32. `seed` is that of batches and masks, not of parameters."""
    paddle.seed(1)
    work = WORK[name](np.random.default_rng(seed), steps)
    if nudge:
        signs = np.random.default_rng(7)
        for p in work.net.parameters():
            p.set_value(p.numpy() * (1 + nudge * signs.choice([-1, 1], p.shape)).astype("float32"))
    paddle.seed(seed)
    net, optimizer = work.net, work.optimizer
    if level == "O2":
        net, optimizer = paddle.amp.decorate(net, optimizer, level=level, dtype=dtype)
    scaler = paddle.amp.GradScaler(enable=level != "O0" and dtype == "float16")
    schedule, losses = optimizer._learning_rate, []

    def forward(x):
        with paddle.amp.auto_cast(level != "O0", level=level, dtype=dtype):
            return net(x)

    for _ in range(steps):
        x, target = work.batch()
        loss = work.criterion(forward(x).astype("float32"), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        if isinstance(schedule, paddle.optimizer.lr.LRScheduler):
            schedule.step()
        losses.append(loss.item())
    net.eval()
    with paddle.no_grad():
        return losses, work.evaluate and work.evaluate(forward)


def smoothed(losses, window: int):
    """Means over `window` steps in a row."""
    return np.convolve(losses, np.ones(window) / window, "valid")


def compare(losses, exact, window: int) -> tuple[float, float]:
    """The largest difference of two smoothed curves: as a part of where the exact one begins, and of it step by step."""
    a, b = smoothed(losses, window), smoothed(exact, window)
    return float(np.abs(a - b).max() / b[0]), float((np.abs(a - b) / b).max())


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", default="", help="beginnings of names, with semicolons; all if empty")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--window", type=int, default=50)
    parser.add_argument("--json", help="write losses and figures there")
    args = parser.parse_args(argv)
    beginnings = [part.strip().lower() for part in args.work.split(";") if part.strip()]
    results = {}
    for name in WORK:
        if beginnings and not any(name.lower().startswith(b) for b in beginnings):
            continue
        exact, right = train(name, "O0", "float16", args.steps)
        told = "" if right is None else f", {100 * right:.2f} % right"
        print(f"{name}: float32 from {exact[0]:.4f} to {smoothed(exact, args.window)[-1]:.4f}{told}")
        rows = results[name] = {"float32": {"losses": exact, "right": right}}
        runs = [(f"{level} {dtype}", {"level": level, "dtype": dtype}) for level, dtype in WAYS]
        runs.append(("nudged", {"level": "O0", "dtype": "float16", "nudge": 2.0**-20}))
        runs.append(("other seed", {"level": "O0", "dtype": "float16", "seed": 4}))
        for title, options in runs:
            losses, right = train(name, steps=args.steps, **options)
            start, relative = compare(losses, exact, args.window)
            told = "" if right is None else f", {100 * right:.2f} % right"
            print(f"  {title}: {100 * start:.2f} % of the start, {100 * relative:.2f} % of the loss{told}", flush=True)
            rows[title] = {"losses": losses, "start": start, "relative": relative, "right": right}
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
