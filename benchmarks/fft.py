"""What Fourier transforms cost beside PyTorch: microseconds on one thread, by kind, dtype and length.

    python benchmarks/fft.py                         # a table: Proa and PyTorch by turns, worst ratio last line
    python benchmarks/fft.py --lengths 966 2862      # some lengths
    python benchmarks/fft.py --framework proa --json -

One framework a process (side_by_side.py). Each figure is the least of several runs. A batch has about 65536 points.
"""

from __future__ import annotations

import argparse
import importlib
import json

import numpy as np
import side_by_side

# Powers of two, smooth lengths, lengths with middle primes, large primes and their multiples.
_LENGTHS = (
    *(64, 128, 256, 512, 1024, 2048, 4096, 16384, 65536, 1 << 18, 1 << 20),
    *(60, 100, 243, 360, 625, 1000, 1001, 2401, 6561, 13**3, 1000000),
    *(97, 101, 483, 966, 2862, 17 * 89, 31 * 37),
    *(967, 1009, 2018, 4241, 16127, 25446),
)
_POINTS = 65536
_LONGEST_AXIS = 4096  # of columns
_SHAPES = ((256, 256), (363, 484), (64, 64, 64), (30, 42, 66))


class Proa:
    """The ops themselves: proa.fft adds some microseconds of Python to short lines."""

    def __init__(self):
        self.lib = importlib.import_module("proa")
        self.lib._C.set_num_threads(1)
        self.tensor, self.ops = self.lib.to_tensor, self.lib._C.ops

    def call(self, name, x, axes, points):
        if name == "irfftn":
            signal = list(x.shape)
            for axis, n in zip(axes, points, strict=True):
                signal[axis] = n
            return lambda: self.ops.fft_c2r(x, axes, signal, "by_n", False)
        op = self.ops.fft_c2c if name == "fftn" else self.ops.fft_r2c
        return lambda: op(x, axes, "none", True)


class Torch:
    def __init__(self):
        self.lib = importlib.import_module("torch")
        self.lib.set_num_threads(1)
        self.tensor = self.lib.tensor

    def call(self, name, x, axes, points):
        function = getattr(self.lib.fft, name)
        if points:
            return lambda: function(x, s=points, dim=axes)
        return lambda: function(x, dim=axes)


def _kinds(shape, axes, rng):
    """A name, a function of n axes, its argument in float64 or complex128 and the points of the result."""
    real = rng.standard_normal(shape)
    half = list(shape)
    half[axes[-1]] = shape[axes[-1]] // 2 + 1
    signal = [shape[a] for a in axes]
    yield "c2c", "fftn", real + 1j * rng.standard_normal(shape), None
    yield "r2c", "rfftn", real, None
    yield "c2r", "irfftn", rng.standard_normal(half) + 1j * rng.standard_normal(half), signal


def _problems(lengths):
    """Shapes and axes: one line, a batch of lines, a batch of columns; of two and three axes."""
    for n in lengths:
        count = _POINTS // n
        yield [n], [0]
        if count > 1:
            yield [count, n], [1]
        if count > 1 and n <= _LONGEST_AXIS:
            yield [n, count], [0]


def cases(framework, lengths):
    """Pairs of a name and a function that does it once."""
    rng = np.random.default_rng(0)
    shapes = [(list(s), list(range(len(s)))) for s in _SHAPES] if lengths == list(_LENGTHS) else []
    for shape, axes in [*_problems(lengths), *shapes]:
        for dtype, complex_dtype in (("float32", "complex64"), ("float64", "complex128")):
            for kind, name, x, points in _kinds(shape, axes, rng):
                x = framework.tensor(x.astype(complex_dtype if np.iscomplexobj(x) else dtype))
                yield f"{kind} {dtype} {shape} over {axes}", framework.call(name, x, axes, points)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", choices=["proa", "torch"])
    parser.add_argument("--json", help="'-': one line of figures")
    parser.add_argument("--lengths", type=int, nargs="+", default=list(_LENGTHS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.02, help="for each figure")
    args = parser.parse_args()
    if args.framework:
        framework = {"proa": Proa, "torch": Torch}[args.framework]()
        print(json.dumps({name: side_by_side.least(f, args.seconds) for name, f in cases(framework, args.lengths)}))
        return
    names = [n for n in side_by_side.installed(tuned=False) if n in ("proa", "torch")]
    arguments = ["--seconds", str(args.seconds), "--lengths", *map(str, args.lengths)]
    result = side_by_side.run(__file__, arguments, names, args.rounds, 1)
    figures = result["figures"]
    ratio = lambda line: figures[line]["proa"]["median"] / figures[line]["torch"]["median"] if len(names) == 2 else 0.0
    result["figures"] = {line: figures[line] for line in sorted(figures, key=ratio, reverse=True)}
    side_by_side.print_table(result, "us")
    if len(names) == 2:
        ratios = sorted(map(ratio, figures))
        above = sum(r > 1.1 for r in ratios)
        print(
            f"Proa over PyTorch: median {ratios[len(ratios) // 2]:.2f}, most {ratios[-1]:.2f}; {above} of {len(ratios)} above 1.1"
        )


if __name__ == "__main__":
    main()
