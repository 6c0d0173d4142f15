"""The same call in two places: what a device computes is what the CPU computes.

    python -m ops.conformance.places gpu:0 [op ...]

runs every sample of every op on a device and on the CPU, forward and backward, and prints what differs.
"""

from __future__ import annotations

import sys

import numpy as np

from ops.conformance import compare, suite
from ops.schema import model

# Sums are formed in another order on a device, and functions of the C library differ in the last places.
_TOLERANCE = {
    "float16": (4e-3, 4e-3),
    "bfloat16": (3.2e-2, 3.2e-2),
    "float32": (5e-5, 2e-5),
    "float64": (1e-9, 1e-10),
    "complex64": (5e-5, 2e-5),
    "complex128": (1e-9, 1e-10),
}
_FLOATS = (*suite.FLOATS, "complex64", "complex128")


def run(proa, op: model.Op, sample, place: str) -> list[tuple[str, str, np.ndarray]]:
    """(name, dtype, values) of the results of a call in a place, and of the gradients of its arguments."""
    proa.set_device(place)
    try:
        proa.seed(11)
        case = suite.Case(proa, op, sample)
        wanted = []
        if op.grad and not op.mutates:
            for name, v in case.values.items():
                if op.grad.get(name) is not None and isinstance(v, proa.Tensor) and _is_float(v):
                    v.stop_gradient = False
                    wanted.append((name, v))
        results = case.call()
        out = [(f"result {i}", _dtype(t), _values(proa, t)) for i, t in enumerate(results)]
        if op.mutates:
            changed = suite.flatten([case.values[n] for n in op.mutates])
            out += [(f"changed {i}", _dtype(t), _values(proa, t)) for i, t in enumerate(changed)]
        heads = [t for t in results if isinstance(t, proa.Tensor) and _is_float(t) and not t.stop_gradient]
        if heads and wanted:
            # Cotangents that differ from element to element.
            grads = [
                proa.to_tensor(np.linspace(0.5, 1.5, max(t.size, 1))[: t.size].reshape(t.shape)).astype(t.dtype)
                for t in heads
            ]
            got = proa.grad(heads, [v for _, v in wanted], grads, allow_unused=True)
            out += [
                (f"gradient of {n}", _dtype(g), _values(proa, g)) for (n, _), g in zip(wanted, got) if g is not None
            ]
        return out
    finally:
        proa.set_device("cpu")


def _is_float(t) -> bool:
    return _dtype(t) in _FLOATS


def _dtype(t) -> str:
    return str(t.dtype).rsplit(".", 1)[-1] if hasattr(t, "dtype") else type(t).__name__


def _values(proa, t) -> np.ndarray:
    if not isinstance(t, proa.Tensor):
        return np.asarray(t)
    if _dtype(t) == "bfloat16":
        t = t.astype("float32")
    return t.detach().numpy()


def check(proa, op: model.Op, sample, place: str) -> None:
    """Raises AssertionError where the place computes something else than the CPU, or only one of them refuses."""
    where = f"{op.name}({sample.text})"
    try:
        want = run(proa, op, sample, "cpu")
    except Exception as e:  # pylint: disable=broad-except
        try:
            run(proa, op, sample, place)
        except Exception as other:  # pylint: disable=broad-except
            assert type(other) is type(e), f"{where}: {type(other).__name__}: {other}; on the CPU {type(e).__name__}"
            return
        raise AssertionError(f"{where}: the CPU refuses it: {e}") from e
    got = run(proa, op, sample, place)
    assert [n for n, _, _ in got] == [n for n, _, _ in want], f"{where}: other results"
    for (name, dtype, a), (_, want_dtype, b) in zip(got, want):
        assert dtype == want_dtype, f"{where}: {name} is {dtype}, on the CPU {want_dtype}"
        compare.close(a, b, dtype, f"{where}: {name}", _TOLERANCE.get(dtype))


def main(argv: list[str]) -> int:
    import proa

    place, names = argv[0], argv[1:]
    failures = cases = here = 0
    for op in suite.all_ops().values():
        if names and op.name not in names:
            continue
        here += any(k.backend == "cuda" for k in op.device_kernels)
        for sample in suite.samples_of(op):
            cases += 1
            try:
                check(proa, op, sample, place)
            except Exception as e:  # pylint: disable=broad-except
                failures += 1
                text = " ".join(str(e).split())
                print(f"FAILED {op.name}({sample.text}): {type(e).__name__}: {text[:400]}", flush=True)
    print(f"{cases} cases, {failures} failed; {here} ops with kernels of their own")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
