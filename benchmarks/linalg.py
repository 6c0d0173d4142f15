"""What linear algebra costs beside PyTorch: microseconds of CPU on one thread, by op, size and batch.

    python benchmarks/linalg.py                      # a table: Proa and PyTorch by turns, worst ratio last column
    python benchmarks/linalg.py --dtype complex64    # float32, unless it says so
    python benchmarks/linalg.py --framework proa --json -

One framework a process (side_by_side.py). Each figure is the least of several runs.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time

import numpy as np
import side_by_side

_SIZES = ((4, 1000), (16, 100), (64, 4), (256, 1), (363, 1))  # rows, matrices
_OPS = (
    "cholesky",
    "lu",
    "solve",
    "inv",
    "det",
    "qr",
    "svd",
    "svdvals",
    "eigh",
    "eigvalsh",
    "eig",
    "eigvals",
    "pinv",
    "pinv_low",
    "lstsq",
    "multi_dot",
)


class Proa:
    def __init__(self):
        self.lib = importlib.import_module("proa")
        self.lib._C.set_num_threads(1)
        self.linalg, self.tensor = self.lib.linalg, self.lib.to_tensor

    def lu(self, x):
        return self.linalg.lu(x)

    def svd(self, x):
        return self.linalg.svd(x)


class Torch:
    def __init__(self):
        self.lib = importlib.import_module("torch")
        self.lib.set_num_threads(1)
        self.linalg, self.tensor = self.lib.linalg, self.lib.tensor

    def lu(self, x):
        return self.linalg.lu_factor(x)

    def svd(self, x):
        return self.linalg.svd(x, full_matrices=False)


def cases(framework, dtype="float32"):
    """Pairs of a name and a function that does it once, of matrices of `dtype`."""
    rng = np.random.default_rng(0)
    linalg = framework.linalg
    for n, count in _SIZES:
        x = rng.standard_normal((count, n, n)).astype(dtype)
        if x.dtype.kind == "c":
            x += 1j * rng.standard_normal(x.shape).astype("float32")
        general = framework.tensor(x)
        definite = framework.tensor(x @ x.conj().swapaxes(1, 2) + n * np.eye(n, dtype=dtype))
        for name in _OPS:
            if name == "pinv_low":  # of half of the rank: by singular values
                low = x[:, :, : n // 2] @ x[:, : n // 2]
                low = framework.tensor(low)
                yield f"{name} {count} x {n}", lambda a=low: linalg.pinv(a)
                continue
            argument = definite if name in ("cholesky", "eigh", "eigvalsh", "solve", "inv") else general
            function = getattr(framework, name, None) or getattr(linalg, name)
            arguments = (argument, general) if name in ("solve", "lstsq") else (argument,)
            if name == "multi_dot":
                arguments = ([general[0], general[0], general[0]],)
            yield f"{name} {count} x {n}", lambda f=function, a=arguments: f(*a)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", choices=["proa", "torch"])
    parser.add_argument("--dtype", default="float32", help="of the matrices")
    parser.add_argument("--json", help="'-': one line of figures")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1, help="for each figure")
    args = parser.parse_args()
    if args.framework:
        framework = {"proa": Proa, "torch": Torch}[args.framework]()
        found = cases(framework, args.dtype)
        print(json.dumps({name: side_by_side.least(f, args.seconds, time.process_time) for name, f in found}))
        return
    names = [n for n in side_by_side.installed(tuned=False) if n in ("proa", "torch")]
    result = side_by_side.run(__file__, ["--seconds", str(args.seconds), "--dtype", args.dtype], names, args.rounds, 1)
    figures = result["figures"]
    ratio = lambda line: figures[line]["proa"]["median"] / figures[line]["torch"]["median"] if len(names) == 2 else 0.0
    result["figures"] = {line: figures[line] for line in sorted(figures, key=ratio, reverse=True)}
    side_by_side.print_table(result, "us")
    if len(names) == 2:
        ratios = sorted(map(ratio, figures))
        print(f"Proa over PyTorch: median {ratios[len(ratios) // 2]:.2f}, most {ratios[-1]:.2f}")


if __name__ == "__main__":
    main()
