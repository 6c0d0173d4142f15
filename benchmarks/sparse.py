"""What products of sparse matrices cost beside PyTorch (and SciPy): microseconds, by op, shape, share of elements and columns.

    python benchmarks/sparse.py                      # a table: Proa, PyTorch by turns, worst ratio last column
    python benchmarks/sparse.py --threads 2
    python benchmarks/sparse.py --framework proa --json -

One framework a process (side_by_side.py). Each figure is the least of several runs.
"""

from __future__ import annotations

import argparse
import importlib
import json

import numpy as np
import scipy.sparse
import side_by_side

# Rows and columns, share of elements that are held, columns of the dense matrix.
_SHAPES = (
    (1000, 0.01, 1),
    (1000, 0.01, 64),
    (1000, 0.1, 64),
    (10000, 0.001, 1),
    (10000, 0.001, 16),
    (10000, 0.001, 128),
    (10000, 0.001, 500),
    (100000, 0.0001, 32),
)


class Proa:
    def __init__(self, threads):
        self.lib = importlib.import_module("proa")
        self.lib._C.set_num_threads(threads)
        self.tensor = self.lib.to_tensor

    def csr(self, x):
        return self.lib.sparse.sparse_csr_tensor(x.indptr.astype("int64"), x.indices.astype("int64"), x.data, x.shape)

    def coo(self, x):
        x = x.tocoo()
        return self.lib.sparse.sparse_coo_tensor(np.stack(x.coords).astype("int64"), x.data, x.shape).coalesce()

    def spmm(self, x, y):
        return self.lib.sparse.matmul(x, y)

    def sddmm(self, x, a, b):
        return self.lib.sparse.masked_matmul(a, b, x)

    def coalesce(self, indices, values, shape):
        return self.lib.sparse.sparse_coo_tensor(indices, values, shape).coalesce()

    def backward(self, x, y):
        y.stop_gradient = False
        self.spmm(x, y).sum().backward()
        y.clear_grad()


class Torch:
    def __init__(self, threads):
        self.lib = importlib.import_module("torch")
        self.lib.set_num_threads(threads)
        self.tensor = self.lib.tensor

    def csr(self, x):
        parts = (self.tensor(x.indptr.astype("int64")), self.tensor(x.indices.astype("int64")), self.tensor(x.data))
        return self.lib.sparse_csr_tensor(*parts, size=x.shape)

    def coo(self, x):
        x = x.tocoo()
        return self.lib.sparse_coo_tensor(np.stack(x.coords).astype("int64"), x.data, x.shape).coalesce()

    def spmm(self, x, y):
        return x @ y

    def sddmm(self, x, a, b):
        return self.lib.sparse.sampled_addmm(x, a, b, beta=0.0)

    def coalesce(self, indices, values, shape):
        return self.lib.sparse_coo_tensor(indices, values, shape).coalesce()

    def backward(self, x, y):
        y.requires_grad_()
        self.spmm(x, y).sum().backward()
        y.grad = None


def cases(f):
    """Pairs of a name and a function that does it once."""
    rng = np.random.default_rng(0)
    for n, share, columns in _SHAPES:
        count = int(n * n * share)
        held = scipy.sparse.coo_array(
            (rng.standard_normal(count), rng.integers(0, n, (2, count))), shape=(n, n)
        ).tocsr()
        held.sum_duplicates()
        held = held.astype("float32")
        dense = f.tensor(rng.standard_normal((n, columns)).astype("float32"))
        csr, coo = f.csr(held), f.coo(held)
        where = f"{n} x {n}, {share:g}, {columns} columns"
        yield f"csr matmul {where}", lambda x=csr, y=dense: f.spmm(x, y)
        yield f"coo matmul {where}", lambda x=coo, y=dense: f.spmm(x, y)
        if columns in (64, 128):
            other = f.tensor(rng.standard_normal((columns, n)).astype("float32"))
            yield f"sampled matmul {where}", lambda x=csr, a=dense, b=other: f.sddmm(x, a, b)
            leaf = f.tensor(rng.standard_normal((n, columns)).astype("float32"))
            yield f"csr matmul and gradient {where}", lambda x=csr, y=leaf: f.backward(x, y)
    indices = rng.integers(0, 3000, (2, 1_000_000))
    values = f.tensor(rng.standard_normal(1_000_000).astype("float32"))
    places = f.tensor(indices)
    yield "coalesce 1000000 of 3000 x 3000", lambda: f.coalesce(places, values, [3000, 3000])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", choices=["proa", "torch"])
    parser.add_argument("--json", help="'-': one line of figures")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2, help="for each figure")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    if args.framework:
        framework = {"proa": Proa, "torch": Torch}[args.framework](args.threads)
        print(json.dumps({name: side_by_side.least(f, args.seconds) for name, f in cases(framework)}))
        return
    names = [n for n in side_by_side.installed(tuned=False) if n in ("proa", "torch")]
    options = ["--seconds", str(args.seconds), "--threads", str(args.threads)]
    result = side_by_side.run(__file__, options, names, args.rounds, args.threads)
    figures = result["figures"]
    ratio = lambda line: figures[line]["proa"]["median"] / figures[line]["torch"]["median"] if len(names) == 2 else 0.0
    result["figures"] = {line: figures[line] for line in sorted(figures, key=ratio, reverse=True)}
    side_by_side.print_table(result, "us")
    if len(names) == 2:
        ratios = sorted(map(ratio, figures))
        print(f"Proa over PyTorch: median {ratios[len(ratios) // 2]:.2f}, most {ratios[-1]:.2f}")


if __name__ == "__main__":
    main()
