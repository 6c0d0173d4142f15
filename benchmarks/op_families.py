"""What the ops of all families cost beside PyTorch: microseconds of CPU on one thread, the worst ratio first.

    python benchmarks/op_families.py                       # a table: Proa and PyTorch by turns
    python benchmarks/op_families.py --part elementwise    # of a family, or of ops whose name has this
    python benchmarks/op_families.py --dtype float64       # tensors of another dtype than float32
    python benchmarks/op_families.py --json FILE           # for report.py

Each op of the registry is called with the samples of its schema, whose dims are made longer, and with every function of PyTorch
of the same name (or of `_NAMES`): what gives the same numbers is the peer. So an op that is added is measured, and one whose
peer was not found is counted. One of which PyTorch has other numbers of the same shapes and kinds, whichever way it is called, is
named, and the exit status is 1. Written down is only what PyTorch calls with other arguments (`_CALLS`). The pairs are found in
one process (`--plan FILE` keeps them there, and reads them the next time); then each framework measures them in processes of its own (side_by_side.py).
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import re
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
# What it calls with other arguments, or of several parts: of the module and the op's own arguments by name.
_CALLS = {
    "all_finite": lambda t, xs: t.stack([t.isfinite(x).all() for x in xs]).all(),
    "allclose": lambda t, x, y: t.tensor(t.allclose(x, y)),
    "arange": lambda t, start, **_: t.arange(start),
    "as_real": lambda t, x: t.view_as_real(x),
    "attention": lambda t, query, key, value: t.nn.functional.scaled_dot_product_attention(*(v.transpose(1, 2) for v in (query, key, value)), scale=1.0).transpose(1, 2),
    "batch_norm": lambda t, x, running_mean, running_var, weight, bias: t.nn.functional.batch_norm(x, running_mean.clone(), running_var.clone(), weight, bias, training=True),
    "cast": lambda t, x, dtype: x.to(getattr(t, dtype), copy=True),
    "conv": lambda t, x, weight, bias, data_format: t.nn.functional.conv1d(x, weight, bias),
    "conv1d_transpose": lambda t, x, weight, bias: t.nn.functional.conv_transpose1d(x, weight, bias),
    "conv2d_transpose": lambda t, x, weight, bias: t.nn.functional.conv_transpose2d(x, weight, bias),
    "conv3d_transpose": lambda t, x, weight, bias: t.nn.functional.conv_transpose3d(x, weight, bias),
    "ctc_loss": lambda t, logits, labels, input_lengths, label_lengths: t.nn.functional.ctc_loss(logits.log_softmax(-1), labels, input_lengths, label_lengths, reduction="none"),
    "eig": lambda t, x: t.linalg.eig(x),
    "eigh": lambda t, x: t.linalg.eigh(x),
    "eigvals": lambda t, x: t.linalg.eigvals(x),
    "equal_all": lambda t, x, y: t.tensor(t.equal(x, y)),
    "eye": lambda t, num_rows: t.eye(num_rows),
    "fft_c2c": lambda t, x, axes: t.fft.fftn(x, dim=axes),
    "fft_c2r": lambda t, x, axes, signal: t.fft.irfftn(x, dim=axes, norm="forward"),
    "fft_r2c": lambda t, x, axes: t.fft.rfftn(x, dim=axes),
    "frame": lambda t, x, frame_length, hop_length: x.unfold(-1, frame_length, hop_length).mT,
    "full": lambda t, shape, value: t.full(shape, value),
    "gather_nd": lambda t, x, index: x[index.unbind(-1)],
    "graph_send_recv": lambda t, x, src_index, dst_index: t.zeros_like(x).index_add_(0, dst_index, x.index_select(0, src_index)),
    "index_get": lambda t, x, indices, axes: x[tuple(indices)],
    "layer_norm": lambda t, x, weight, bias: t.nn.functional.layer_norm(x, weight.shape, weight, bias),
    "linear": lambda t, x, weight, bias: t.nn.functional.linear(x, weight.mT, bias),
    "linear_solve": lambda t, x, y: t.linalg.solve(x, y),
    "linspace": lambda t, start, stop, num: t.linspace(start, stop, num),
    "lstsq": lambda t, x, y: t.linalg.lstsq(x, y).solution,
    "max_pool1d_with_index": lambda t, x, kernel_size: t.nn.functional.max_pool1d(x, kernel_size, return_indices=True),
    "max_pool2d_with_index": lambda t, x, kernel_size: t.nn.functional.max_pool2d(x, kernel_size, return_indices=True),
    "max_pool3d_with_index": lambda t, x, kernel_size: t.nn.functional.max_pool3d(x, kernel_size, return_indices=True),
    "nll_loss": lambda t, x, label: t.nn.functional.nll_loss(x, label, reduction="none"),
    "put_along_axis_multiply": lambda t, x, indices, value, axis: x.scatter_reduce(axis, indices, value, "prod"),
    "scatter_nd_add": lambda t, x, index, updates: x.index_put(index.unbind(-1), updates, accumulate=True),
    "scale": lambda t, x, scale, bias: t.mul(x, scale).add_(bias),
    "segment_max": lambda t, x, segment_ids: x.new_zeros(int(segment_ids[-1]) + 1, *x.shape[1:]).index_reduce_(0, segment_ids, x, "amax", include_self=False),
    "segment_mean": lambda t, x, segment_ids: x.new_zeros(int(segment_ids[-1]) + 1, *x.shape[1:]).index_reduce_(0, segment_ids, x, "mean", include_self=False),
    "segment_min": lambda t, x, segment_ids: x.new_zeros(int(segment_ids[-1]) + 1, *x.shape[1:]).index_reduce_(0, segment_ids, x, "amin", include_self=False),
    "segment_sum": lambda t, x, segment_ids: x.new_zeros(int(segment_ids[-1]) + 1, *x.shape[1:]).index_add_(0, segment_ids, x),
    "sign_logdet": lambda t, x: tuple(t.linalg.slogdet(x)),
    "slogdet": lambda t, x: t.stack(tuple(t.linalg.slogdet(x))),
    "softmax_with_cross_entropy": lambda t, logits, label: t.nn.functional.cross_entropy(logits, label[:, 0], reduction="none")[:, None],
    "squared_norm": lambda t, xs: t.stack([x.square().sum() for x in xs]).sum(),
    "stanh": lambda t, x: t.tanh(x * 0.67).mul_(1.7159),
    "sum_to": lambda t, x, shape: x.sum_to_size(shape),
    "svd": lambda t, x: t.linalg.svd(x, full_matrices=False),
    "swish": lambda t, x: t.nn.functional.silu(x),
    "thresholded_relu": lambda t, x: t.nn.functional.threshold(x, 1.0, 0.0),
}  # fmt: skip
# What is the same of results that are not unique: signs of vectors, the order of eigenvalues.
_AS = {"svd": np.abs, "eigh": np.abs, "eigvals": np.sort_complex, "eig": lambda a: np.sort(np.abs(a), None)}
# Calls without tensors, which samples do not make longer.
_WITHOUT_TENSORS = {"arange": "136806", "eye": "369", "full": "[302,453], 1.5", "linspace": "0, 1, 136806"}
_KEYWORDS = {"axis": "dim", "keepdim": "keepdim", "x": "input", "axes": "dims", "shifts": "shifts"}
_RANDOM = {"dropout", "alpha_dropout", "bernoulli", "exponential", "poisson", "multinomial", "randperm", "standard_gamma", "rrelu"}  # fmt: skip


def _sample(text, elements, dtype):
    """The sample with tensors of `dtype` for those of float32 or of any.

    Raises:
        ValueError: it has no tensor of that dtype.
    """
    from ops.conformance import samples

    sample = samples.parse(re.sub(r"\bf32\[", "N[", text), (dtype,))[0]
    if dtype != "float32" and not any(_has_dtype(a, dtype) for a in (*sample.args, *sample.kwargs.values())):
        raise ValueError(f"{text} has no tensor of {dtype}")
    return sample.grown(elements) if elements else sample


def _has_dtype(value, dtype):
    if isinstance(value, list):
        return any(_has_dtype(v, dtype) for v in value)
    return getattr(value, "dtype", None) == dtype


def _values(sample):
    """Positional and named arguments, with arrays for tensors; the same in every process."""
    from ops.conformance import samples

    rng = np.random.default_rng(zlib.crc32(sample.text.encode()))

    def value(a):
        if isinstance(a, samples.TensorSpec):
            return np.asarray(a.array(rng), order="C")  # not ascontiguousarray, which makes a list of a number
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
        if line["form"] == "call":
            together = _with_tensors(dict(zip(line["params"], args)) | named, self.tensor)
            f = _CALLS[line["name"]]
            if line.get("copied"):
                return lambda: _copy(f(self.lib, **together))
            return lambda: f(self.lib, **together)
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


def _compared(ours, theirs, seen=lambda a: a):
    """ "same", "other numbers" of the same shapes and kinds, or "other" results, as those of another function."""
    ours, theirs = _flat(ours), _flat(theirs)
    if not ours or not theirs or len(theirs) > len(ours):
        return "other"
    pairs = []
    for a, b in zip(ours, theirs):
        if not hasattr(b, "numpy") or list(a.shape) != list(b.shape):
            return "other"
        a, b = a.numpy(), b.resolve_conj().numpy() if b.is_complex() else b.numpy()
        pairs.append((seen(a), seen(b)))
    for a, b in pairs:
        if not np.allclose(a, b, rtol=1e-3, atol=1e-4 * max(1.0, float(np.abs(b).max(initial=0))), equal_nan=True):
            return "other numbers" if all(a.dtype.kind == b.dtype.kind for a, b in pairs) else "other"
    return "same"


def _is_view(framework, line, args, named):
    """Whether a result lies in the memory of an argument."""
    ranges, tensor_of = [], framework.tensor

    def held(array):
        tensor = tensor_of(array)
        ranges.append((tensor.data_ptr(), tensor.data_ptr() + array.nbytes))
        return tensor

    framework.tensor = held  # `call` tells arrays from other arguments, so it makes the tensors
    try:
        result = _flat(framework.call(line, args, named)())[0]
    finally:
        framework.tensor = tensor_of
    return any(first <= result.data_ptr() < end for first, end in ranges)


_HOMES = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft", "torch.Tensor")


def _peer(torch, op, args, named, ours):
    """Where PyTorch has the op, and how it is called, and ""; or None and why: "no peer", or "other numbers" of one."""
    why = "no peer"
    if op.name in _CALLS:
        line = {"home": "", "name": op.name, "form": "call", "params": [p.name for p in op.params]}
        try:
            found = _compared(ours, torch.call(line, args, named)(), _AS.get(op.name, lambda a: a))
        except Exception:  # of a sample with more arguments
            return None, why
        return (line, "") if found == "same" else (None, "other numbers" if found == "other numbers" else why)
    for name in [op.name, *_NAMES.get(op.name, [])]:
        for home in _HOMES:
            if torch.function(home, name) is None:
                continue
            for form in ("order", "names", "list", "tensors", "axis second"):
                line = {"home": home, "name": name, "form": form, "params": [p.name for p in op.params]}
                try:
                    found = _compared(ours, torch.call(line, args, named)())
                except Exception:  # it wants other arguments
                    continue
                if found == "same":
                    return line, ""
                if found == "other numbers":
                    why = found
    return None, why


def _of_op(proa, torch, op, dtype):
    """The first sample of the op that can be made large and has a peer, as a line of the plan; or why there is none."""
    why = "small"
    for text in [_WITHOUT_TENSORS[op.name]] if op.name in _WITHOUT_TENSORS else op.samples:
        for elements in (_LARGE, _LARGE // 16):
            try:
                sample = _sample(text, elements, dtype)
                args, named = _values(sample)
                few = _largest([args, named]) < _LEAST and op.name not in _WITHOUT_TENSORS
                if few or any(a.size == 0 for a in _arrays([args, named])):
                    continue
                ours = proa.call({"op": op.name}, args, named)()
            except Exception:  # not this dtype, or its attributes do not fit longer dims
                continue
            line, reason = _peer(torch, op, args, named, ours)
            why = reason if why != "other numbers" else why
            if line:
                if _is_view(torch, line, args, named) and not _is_view(proa, {"op": op.name}, args, named):
                    line["copied"] = True  # as ours computes what PyTorch puts off, or copies what it gives back
                shapes = ", ".join(str(list(a.shape)) for a in _arrays([args, named]))
                found = {"op": op.name, "text": text, "elements": elements, "dtype": dtype}
                return line | found | {"line": f"{op.name} {shapes}"}, ""
    return None, why


def _arrays(values):
    if isinstance(values, np.ndarray):
        return [values]
    values = list(values.values()) if isinstance(values, dict) else values
    return [a for v in values for a in _arrays(v)] if isinstance(values, list) else []


def _is_in(part, family, name):
    return not part or part == family or part in name


def chosen(found, part, dtype="float32"):
    """The part of a plan: that of a family, or of ops whose name has `part`.

    Raises:
        ValueError: the plan holds another part alone, or pairs of another dtype.
    """
    if found.get("dtype", "float32") != dtype:
        raise ValueError(f"the plan holds the pairs of --dtype {found['dtype']}")
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


def plan(part, dtype="float32"):
    """{"lines": pairs with their family, "missing": how many ops of each family have none, and why, "part" and "dtype": what is in it}."""
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
        found, why = _of_op(proa, torch, op, dtype)
        if found:
            lines.append(found | {"family": family})
        else:
            missing.setdefault(family, {}).setdefault(why, []).append(op.name)
    return {"lines": lines, "missing": missing, "part": part, "dtype": dtype}


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
        args, named = _values(_sample(line["text"], line["elements"], line.get("dtype", "float32")))
        out[line["line"]] = _least(framework.call(line, args, named), seconds)
    return out


def ratios(result):
    """(line, Proa's time by PyTorch's) of each, the worst first."""
    figures = result["figures"]
    both = [(line, by["proa"]["median"] / by["torch"]["median"]) for line, by in figures.items() if len(by) == 2]
    return sorted(both, key=lambda pair: -pair[1])


def with_other_numbers(found):
    """The ops of a plan whose results are not those of PyTorch."""
    return [name for reasons in found["missing"].values() for name in reasons.get("other numbers", [])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", choices=["proa", "torch"])
    parser.add_argument("--plan", type=pathlib.Path, help="a file of the pairs, which is written if it is not there")
    parser.add_argument("--find", action="store_true", help="only write that file")
    parser.add_argument("--part", default="", help="a family, or a part of names of ops")
    parser.add_argument(
        "--dtype", default="float32", help="of the tensors whose dtype is open, or float32 in the samples"
    )
    parser.add_argument("--json", help="'-': one line of figures; or a file for report.py")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.04, help="for each figure")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.framework:
        lines = chosen(json.loads(args.plan.read_text()), args.part, args.dtype)["lines"]
        print(json.dumps(measure({"proa": _Proa, "torch": _Torch}[args.framework](), lines, args.seconds)))
        return
    if args.find:
        found = plan(args.part, args.dtype)
        args.plan.write_text(json.dumps(found))
        if wrong := with_other_numbers(found):
            print(f"numbers are not those of PyTorch: {' '.join(wrong)}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = args.plan or pathlib.Path(folder) / "plan"
        if not file.exists():
            find = ["--find", "--plan", file, "--part", args.part, "--dtype", args.dtype]
            subprocess.run([sys.executable, __file__, *find], check=True)
        try:
            found = chosen(json.loads(file.read_text()), args.part, args.dtype)
        except ValueError as error:
            parser.error(f"{file}: {error}")
        wrong = with_other_numbers(found)
        if not found["lines"] and not wrong:
            parser.error(f"no pair of ops is of --part {args.part}")
        if not found["lines"]:
            sys.exit(f"numbers are not those of PyTorch: {' '.join(wrong)}")
        rest = ["--plan", str(file), "--part", args.part, "--dtype", args.dtype, "--seconds", str(args.seconds)]
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
    if wrong:
        sys.exit(f"numbers are not those of PyTorch: {' '.join(wrong)}")


if __name__ == "__main__":
    main()
