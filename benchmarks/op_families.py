"""What the ops of all families cost beside PyTorch: microseconds of CPU on one thread, the worst ratio first.

    python benchmarks/op_families.py                       # a table: Proa and PyTorch by turns
    python benchmarks/op_families.py --part elementwise    # of a family, or of ops whose name has this
    python benchmarks/op_families.py --json FILE           # for report.py

No case is written down here. Each op of the registry is called with the samples of its schema, whose dims are made longer, and
with every function of PyTorch of the same name (or of `_NAMES`): what gives the same numbers is the peer. So an op that is added is
measured, and one whose peer was not found is counted. The pairs are found in one process (`--plan FILE` keeps them there, and reads them the
next time); then each framework measures them in processes of its own (side_by_side.py).
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings
import zlib

import numpy as np
import page_text
import side_by_side

_ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_ROOT))

_LARGE = 1 << 17  # elements of the largest tensor
_LEAST = 1 << 12  # with fewer the call itself is most of it: call_overhead.py
# What PyTorch calls otherwise.
_NAMES = {
    "add_n": ["sum"], "arg_max": ["argmax"], "assign": ["clone"], "batch_norm_inference": ["batch_norm"], "broadcast_to": ["broadcast_to"],
    "equal": ["eq"], "less_than": ["lt"], "greater_than": ["gt"], "triangular_solve": ["solve_triangular"],
    "bessel_i": ["i0"], "bessel_ie": ["i0e"], "concat": ["cat"], "dist": ["dist"], "gather": ["index_select"], "greater_equal": ["ge"],
    "index_sample": ["gather"], "kl_divergence": ["kl_div"], "mask": ["masked_select"], "mv": ["mv"], "put_along_axis": ["scatter"], "put_along_axis_add": ["scatter_add"], "scatter": ["index_copy"],
    "p_norm": ["norm"], "reverse": ["flip"], "sigmoid_cross_entropy": ["binary_cross_entropy_with_logits"], "take_along_axis": ["take_along_dim"],
    "swapaxes": ["transpose"], "transpose": ["permute"], "unsqueeze": ["unsqueeze"], "weighted_cross_entropy": ["cross_entropy"],
}  # fmt: skip
_KEYWORDS = {"axis": "dim", "keepdim": "keepdim", "x": "input", "axes": "dims", "shifts": "shifts"}
_RANDOM = {"dropout", "alpha_dropout", "bernoulli", "poisson", "multinomial", "randperm", "standard_gamma", "rrelu"}


def _sample(text, elements):
    from ops.conformance import samples

    sample = samples.parse(text, ("float32",))[0]
    return sample.grown(elements) if elements else sample


def _values(sample):
    """Positional and named arguments, with arrays for tensors; the same in every process."""
    from ops.conformance import samples

    rng = np.random.default_rng(zlib.crc32(sample.text.encode()))

    def value(a):
        if isinstance(a, samples.TensorSpec):
            return np.ascontiguousarray(a.array(rng))
        return [value(v) for v in a] if isinstance(a, list) else a

    return [value(a) for a in sample.args], {k: value(v) for k, v in sample.kwargs.items()}


def _with_tensors(values, tensor):
    if isinstance(values, np.ndarray):
        return tensor(values)
    if isinstance(values, dict):
        return {k: _with_tensors(v, tensor) for k, v in values.items()}
    return [_with_tensors(v, tensor) for v in values] if isinstance(values, list) else values


def _largest(values):
    if isinstance(values, np.ndarray):
        return values.size
    values = list(values.values()) if isinstance(values, dict) else values
    return max((_largest(v) for v in values), default=0) if isinstance(values, list) else 0


def _has_arrays(value):
    return isinstance(value, np.ndarray) or isinstance(value, list) and any(map(_has_arrays, value))


class _Proa:
    def __init__(self):
        self.lib = importlib.import_module("proa")
        self.lib._C.set_num_threads(1)
        self.tensor = self.lib.to_tensor

    def call(self, line, args, named):
        f, named = getattr(self.lib._C.ops, line["op"]), _with_tensors(named, self.tensor)
        args = _with_tensors(args, self.tensor)
        return lambda: f(*args, **named)


class _Torch:
    def __init__(self):
        self.lib = importlib.import_module("torch")
        self.lib.set_num_threads(1)
        self.lib.set_grad_enabled(False)
        self.tensor = self.lib.from_numpy

    def function(self, home, name):
        return getattr(importlib.import_module(home) if home != "torch.Tensor" else self.lib.Tensor, name, None)

    def call(self, line, args, named):
        f = self.function(line["home"], line["name"])
        args, named = _as_torch(line["form"], args, named, line["params"])
        args, named = _with_tensors(args, self.tensor), _with_tensors(named, self.tensor)
        if line.get("copied"):
            return lambda: _copy(f(*args, **named))
        return lambda: f(*args, **named)


def _copy(view):
    """The elements of a lazy view of PyTorch, or of an argument that it gave back, as a tensor of their own."""
    return view.resolve_conj() if view.is_conj() else view.clone()


def _as_torch(form, args, named, params):
    """Arguments as PyTorch may want them: all in their order, or what is no tensor by name, or tensors alone."""
    together = list(zip(params, args)) + list(named.items())
    together = [(k, v) for k, v in together if v is not None and not (isinstance(v, list) and not v)]
    if form == "list" and together:
        together = [(k, v[0] if isinstance(v, list) and len(v) == 1 and not _has_arrays(v) else v) for k, v in together]
    if form == "order":
        return [v for _, v in together], {}
    if form == "axis second":
        axis = next((v for k, v in together if k in ("axis", "dim")), 0)
        tensors = [v for _, v in together if _has_arrays(v)]
        return [*tensors[:1], axis, *tensors[1:]], {}
    tensors = [v for _, v in together if _has_arrays(v)]
    rest = {_KEYWORDS.get(k, k): v for k, v in together if not _has_arrays(v)}
    return tensors, {} if form == "tensors" else rest


def _flat(result):
    if isinstance(result, (list, tuple)):
        return [y for x in result for y in _flat(x)]
    return [] if result is None else [result]


def _same(ours, theirs):
    ours, theirs = _flat(ours), _flat(theirs)
    if not ours or not theirs or len(theirs) > len(ours):
        return False
    for a, b in zip(ours, theirs):
        if not hasattr(b, "numpy") or list(a.shape) != list(b.shape):
            return False
        a, b = a.numpy(), b.resolve_conj().numpy() if b.is_complex() else b.numpy()
        if not np.allclose(a, b, rtol=1e-3, atol=1e-4 * max(1.0, float(np.abs(b).max(initial=0))), equal_nan=True):
            return False
    return True


def _is_view(framework, line, args, named):
    """Whether a result lies in the memory of an argument."""
    ranges = []

    def held(array):
        tensor = framework.tensor(array)
        ranges.append((tensor.data_ptr(), tensor.data_ptr() + array.nbytes))
        return tensor

    args, named = _with_tensors(args, held), _with_tensors(named, held)
    result = _flat(framework.call(line, args, named)())[0]
    return any(first <= result.data_ptr() < end for first, end in ranges)


_HOMES = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft", "torch.Tensor")


def _peer(torch, op, args, named, ours):
    """Where PyTorch has the op, and how it is called; None if nothing gives the same."""
    for name in [op.name, *_NAMES.get(op.name, [])]:
        for home in _HOMES:
            if torch.function(home, name) is None:
                continue
            for form in ("order", "names", "list", "tensors", "axis second"):
                line = {"home": home, "name": name, "form": form, "params": [p.name for p in op.params]}
                try:
                    if _same(ours, torch.call(line, args, named)()):
                        return line
                except Exception:  # it wants other arguments
                    continue
    return None


def _of_op(proa, torch, op):
    """The first sample of the op that can be made large and has a peer, as a line of the plan; or why there is none."""
    why = "small"
    for text in op.samples:
        for elements in (_LARGE, _LARGE // 16):
            try:
                sample = _sample(text, elements)
                args, named = _values(sample)
                if _largest([args, named]) < _LEAST or any(a.size == 0 for a in _arrays([args, named])):
                    continue
                ours = proa.call({"op": op.name}, args, named)()
            except Exception:  # no float32, or its attributes do not fit longer dims
                continue
            why = "no peer"
            line = _peer(torch, op, args, named, ours)
            if line:
                if _is_view(torch, line, args, named) and not _is_view(proa, {"op": op.name}, args, named):
                    line["copied"] = True  # as ours computes what PyTorch puts off, or copies what it gives back
                shapes = ", ".join(str(list(a.shape)) for a in _arrays([args, named]))
                return line | {"op": op.name, "text": text, "elements": elements, "line": f"{op.name} {shapes}"}, ""
    return None, why


def _arrays(values):
    if isinstance(values, np.ndarray):
        return [values]
    values = list(values.values()) if isinstance(values, dict) else values
    return [a for v in values for a in _arrays(v)] if isinstance(values, list) else []


def _is_in(part, family, name):
    return not part or part == family or part in name


def chosen(found, part):
    """The part of a plan: that of a family, or of ops whose name has `part`.

    Raises:
        ValueError: the plan holds another part alone.
    """
    if found.get("part") not in (None, "", part):
        raise ValueError(f"the plan holds the pairs of --part {found['part']} alone")
    lines = [line for line in found["lines"] if _is_in(part, line["family"], line["op"])]
    missing = {}
    for family, reasons in found["missing"].items():
        for why, names in reasons.items():
            names = [name for name in names if _is_in(part, family, name)]
            if names:
                missing.setdefault(family, {})[why] = names
    return {"lines": lines, "missing": missing}


def plan(part):
    """{"lines": pairs with their family, "missing": how many ops of each family have none, and why, "part": what is in it}."""
    import os

    from ops.conformance import suite

    os.chdir(_ROOT)
    proa, torch = _Proa(), _Torch()
    lines, missing = [], {}
    for op in suite.all_ops().values():
        family = op.location.file.split("/")[1]
        if op.name.endswith("_") or "grad" in op.name or "backward" in op.name or op.name in _RANDOM:
            continue
        if not _is_in(part, family, op.name):
            continue
        found, why = _of_op(proa, torch, op)
        if found:
            lines.append(found | {"family": family})
        else:
            missing.setdefault(family, {}).setdefault(why, []).append(op.name)
    return {"lines": lines, "missing": missing, "part": part}


def _least(function, seconds):
    """Microseconds of CPU of the fastest of the runs that fit into the time."""
    function()
    begin = time.perf_counter()
    function()
    once = time.perf_counter() - begin
    repeat = max(1, int(2e-4 / max(once, 1e-7)))
    best, end, runs = float("inf"), time.perf_counter() + seconds, 0
    while time.perf_counter() < end or runs < 3:
        begin = time.process_time()
        for _ in range(repeat):
            function()
        best, runs = min(best, (time.process_time() - begin) / repeat), runs + 1
    return best * 1e6


def measure(framework, lines, seconds):
    out = {}
    for line in lines:
        args, named = _values(_sample(line["text"], line["elements"]))
        out[line["line"]] = _least(framework.call(line, args, named), seconds)
    return out


def ratios(result):
    """(line, Proa's time by PyTorch's) of each, the worst first."""
    figures = result["figures"]
    both = [(line, by["proa"]["median"] / by["torch"]["median"]) for line, by in figures.items() if len(by) == 2]
    return sorted(both, key=lambda pair: -pair[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", choices=["proa", "torch"])
    parser.add_argument("--plan", type=pathlib.Path, help="a file of the pairs, which is written if it is not there")
    parser.add_argument("--find", action="store_true", help="only write that file")
    parser.add_argument("--part", default="", help="a family, or a part of names of ops")
    parser.add_argument("--json", help="'-': one line of figures; or a file for report.py")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.04, help="for each figure")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.framework:
        lines = chosen(json.loads(args.plan.read_text()), args.part)["lines"]
        print(json.dumps(measure({"proa": _Proa, "torch": _Torch}[args.framework](), lines, args.seconds)))
        return
    if args.find:
        args.plan.write_text(json.dumps(plan(args.part)))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = args.plan or pathlib.Path(folder) / "plan"
        if not file.exists():
            subprocess.run([sys.executable, __file__, "--find", "--plan", file, "--part", args.part], check=True)
        try:
            found = chosen(json.loads(file.read_text()), args.part)
        except ValueError as error:
            parser.error(f"{file}: {error}")
        if not found["lines"]:
            parser.error(f"no pair of ops is of --part {args.part}")
        rest = ["--plan", str(file), "--part", args.part, "--seconds", str(args.seconds)]
        result = side_by_side.run(__file__, rest, ["proa", "torch"], args.rounds, 1)
    result["families"] = {line["line"]: line["family"] for line in found["lines"]}
    result["missing"] = found["missing"]
    worst = ratios(result)
    result["figures"] = {line: result["figures"][line] for line, _ in worst}
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(result))
    side_by_side.print_table(result, "us")
    values = [ratio for _, ratio in worst]
    print(f"Proa by PyTorch: {len(values)} ops, median {page_text.number(values[len(values) // 2])}, "
          f"above 1.1: {sum(v > 1.1 for v in values)}")  # fmt: skip
    for family, reasons in found["missing"].items():
        for why, names in reasons.items():
            print(f"{family}, {why}: {' '.join(names)}")


if __name__ == "__main__":
    main()
