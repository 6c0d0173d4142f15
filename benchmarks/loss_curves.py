"""Whether training in 16 bits learns as in float32: the losses of three examples at O1 and O2, in float16 and bfloat16.

    python benchmarks/loss_curves.py [--work "digits;char"] [--steps 500] [--window 50] [--seeds 8] [--torch PYTHON] [--json FILE]

Every run of a network begins with the same parameters and sees the same batches and masks of dropout, so that its losses
differ by rounding alone. They are averaged over a window of steps and compared with those of float32, step by step:
"of the start" is the largest difference in per cent of the first loss, "of the loss" in per cent of the loss of float32 at that
step. The second says little where a loss has become small: rounding leads two runs to other parameters, each as good. So
there are two more runs in float32 to compare with: "nudged" begins with parameters that differ in the last bits
(by a part of 2**-20), "other seed" has other masks and batches. Digits end with the part of held-out images that is right.

With several seeds (of parameters, batches and masks) curves are averaged over them before they are compared: what rounding
does to one run by chance falls away, what it does to training stays. "one seed" is the mean of the differences of each
alone; "+-" is the standard error over seeds, at the step where the averaged curves differ most. --torch names a Python that has PyTorch, which trains the same networks, from the same parameters, on the same batches.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

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


def made(name: str, steps: int, parameters: int, seed: int) -> Work:
    """The work as training begins: a seed for the parameters, one for batches and masks."""
    paddle.seed(parameters)
    work = WORK[name](np.random.default_rng(seed), steps)
    paddle.seed(seed)
    return work


def train(
    name: str,
    level: str,
    dtype: str,
    steps: int,
    parameters: int = 1,
    seed: int = 3,
    nudge: float = 0.0,
    scale: float = 0.0,
):
    """(losses, what `evaluate` says); level O0 is float32."""
    work = made(name, steps, parameters, seed)
    if nudge:
        signs = np.random.default_rng(7)
        for p in work.net.parameters():
            p.set_value(p.numpy() * (1 + nudge * signs.choice([-1, 1], p.shape)).astype("float32"))
    net, optimizer = work.net, work.optimizer
    if level == "O2":
        net, optimizer = paddle.amp.decorate(net, optimizer, level=level, dtype=dtype)
    options = {"init_loss_scaling": scale} if scale else {}
    scaler = paddle.amp.GradScaler(enable=level != "O0" and dtype == "float16", **options)
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


def torch_curves(python: str, name: str, steps: int, parameters: int, seed: int) -> dict[str, list[float]]:
    """The losses of PyTorch by way (curves_torch.py), in a process of its own."""
    work = made(name, steps, parameters, seed)
    values = work.net.parameters()
    norms = {
        id(p) for layer in work.net.sublayers() if isinstance(layer, paddle.nn.LayerNorm) for p in layer.parameters()
    }
    rates, batches, schedule = [], [], work.optimizer._learning_rate
    for _ in range(steps):
        rates.append(work.optimizer.get_lr())
        batches.append([t.numpy() for t in work.batch()])
        if isinstance(schedule, paddle.optimizer.lr.LRScheduler):
            schedule.step()
    ways = [
        {"title": title, "level": "O0", "dtype": "float16", "nudge": 0.0} | options for title, options in RUNS.items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "work.npz"
        np.savez(
            file, name=name, parameters=len(values), norms=[i for i, p in enumerate(values) if id(p) in norms], seed=seed,
            x=np.stack([x for x, _ in batches]), y=np.stack([y for _, y in batches]), rates=rates, ways=json.dumps(ways),
            **{f"p{i}": p.numpy() for i, p in enumerate(values)},
        )  # fmt: skip
        script = pathlib.Path(__file__).with_name("curves_torch.py")
        out = subprocess.run([python, script, file], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {row["title"]: row["losses"] for row in map(json.loads, out.splitlines())}


RUNS = {"float32": {}, **{f"{level} {dtype}": {"level": level, "dtype": dtype} for level, dtype in WAYS}}
RUNS["nudged"] = {"nudge": 2.0**-20}


def paired(runs: list[list[float]], exact: list[list[float]], window: int):
    """Of the smoothed curves: the mean over seeds of the difference of the two, and its standard error, step by step."""
    each = np.array([smoothed(run, window) - smoothed(other, window) for run, other in zip(runs, exact)])
    error = each.std(0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.full(each.shape[1], np.nan)
    return each.mean(0), error


def differences(curves: dict[str, list[list[float]]], window: int) -> dict[str, dict[str, float]]:
    """Of each way beside float32: of the curves averaged over seeds, with standard errors, and the mean of those of each seed."""
    exact, found = curves["float32"], {}
    mean = smoothed(np.mean(exact, 0), window)
    for title, runs in curves.items():
        if title == "float32":
            continue
        start, relative = compare(np.mean(runs, 0), np.mean(exact, 0), window)
        each = np.mean([compare(run, other, window) for run, other in zip(runs, exact)], 0)
        difference, error = paired(runs, exact, window)
        worst = int(np.argmax(np.abs(difference) / mean))
        # The mean of all steps: what is left of the difference when a run is ahead here and behind there.
        whole, whole_error = paired(runs, exact, len(exact[0]))
        found[title] = {
            "start": start, "relative": relative, "one start": each[0], "one relative": each[1],
            "relative error": error[worst] / mean[worst], "whole": whole[0] / np.mean(exact),
            "whole error": whole_error[0] / np.mean(exact),
        }  # fmt: skip
    return found


def report(framework: str, curves: dict[str, list[list[float]]], right: dict[str, list[float]], window: int) -> dict:
    mean = smoothed(np.mean(curves["float32"], 0), window)
    seeds = len(curves["float32"])
    print(f"  {framework}, {seeds} seeds: float32 from {mean[0]:.4f} to {mean[-1]:.4f}{_right(right.get('float32'))}")
    found = differences(curves, window)
    for title, d in found.items():
        d = {key: 100 * value for key, value in d.items()}
        print(
            f"    {title}: {d['start']:.2f} % of the start, {d['relative']:.2f} +- {d['relative error']:.2f} % of the loss, "
            f"mean of all steps {d['whole']:+.2f} +- {d['whole error']:.2f} %; one seed "
            f"{d['one start']:.2f} and {d['one relative']:.2f} %{_right(right.get(title))}",
            flush=True,
        )
    return found


def _right(parts) -> str:
    parts = [part for part in parts or () if part is not None]
    return f"; {100 * np.mean(parts):.2f} % right, {100 * min(parts):.2f} at least" if parts else ""


def curves_of(framework: str, name: str, steps: int, parameters: int, seed: int, python: str | None, scale: float):
    """(title of a way, losses, what `evaluate` says) of one framework and seed."""
    if framework == "torch":
        return [(*row, None) for row in torch_curves(python, name, steps, parameters, seed).items()]
    ways = {**RUNS, "other seed": {"seed": 1000 + seed}}
    options = {"level": "O0", "dtype": "float16", "parameters": parameters, "seed": seed, "scale": scale}
    return [(title, *train(name, steps=steps, **{**options, **way})) for title, way in ways.items()]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", default="", help="beginnings of names, with semicolons; all if empty")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--window", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--scale", type=float, default=0.0, help="of losses in float16, to begin with; the scaler's own if 0"
    )
    parser.add_argument("--torch", help="a Python that has PyTorch, to be measured as well")
    parser.add_argument("--json", help="write losses and figures there; seeds that it holds are not run again")
    args = parser.parse_args(argv)
    beginnings = [part.strip().lower() for part in args.work.split(";") if part.strip()]
    file = pathlib.Path(args.json) if args.json else None
    results = json.loads(file.read_text()) if file and file.exists() else {}
    for name in WORK:
        if beginnings and not any(name.lower().startswith(b) for b in beginnings):
            continue
        print(f"{name}, {args.steps} steps, {args.seeds} seeds")
        found = results.setdefault(name, {})
        for i in range(args.seeds):
            for framework in ("proa", "torch") if args.torch else ("proa",):
                kept = found.setdefault(framework, {"losses": {}, "right": {}})
                if len(kept["losses"].get("float32", ())) > i:
                    continue
                for title, losses, part in curves_of(framework, name, args.steps, 1 + i, 3 + i, args.torch, args.scale):
                    kept["losses"].setdefault(title, []).append(losses)
                    kept["right"].setdefault(title, []).append(part)
                if file:
                    file.write_text(json.dumps(results))
        for framework, kept in found.items():
            kept["differences"] = report(framework, kept["losses"], kept["right"], args.window)
        if file:
            file.write_text(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
