"""Attributes as values of programs: each number, and each list of numbers, that a public function takes.

The calls are those of tensor_attributes_test.py. Each attribute is an input of a program: of a static one, with gradients by
`static.gradients`; of a converted function, called with the number and with another call after it, with gradients by
`backward`; and of the same function saved and loaded. All give what the number gives; or recording is refused by one
sentence, and then function and parameter stand in `KNOWN` with the reason.

`python late_attributes_test.py NAME...` shows what became of some.
"""

import re
import sys

import numpy as np
import pytest

import proa as paddle
from python.tests.tensor_attributes_test import CASES, OTHERWISE, Call, _same

# Why an attribute must be known when a program is recorded.
RANK = "the number of dims, or of tensors, of the result depends on it"
PYTHON = "which operations are recorded depends on it"
WINDOW = (
    "a window: the sizes of the result, and whether it fits, follow from it by a formula in Python or in the kernel"
)
ONE = "the axis of the sample has size 3; of a value of the program it must be 1, which the run finds"
COMPOSED = "the op is composed of others, in C++, of the number"
_LINES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_CONVOLUTIONS = ("conv1d", "conv2d", "conv1d_transpose", "conv2d_transpose", "conv3d_transpose")
_POOLS = tuple(f"{kind}{n}d" for kind in ("avg_pool", "max_pool", "max_unpool") for n in (1, 2, 3))
# (function, parameter) to the reason.
KNOWN = {
    **{("fft." + f, "axis"): PYTHON for f in _LINES},
    **{("fft." + f + "n", "axes"): PYTHON for f in _LINES},
    **{("fft." + f, "axes"): PYTHON for f in ("fftshift", "ifftshift")},
    **{("fft." + f, p): PYTHON for f in ("fftfreq", "rfftfreq") for p in ("n", "d")},
    ("Tensor.to_sparse_coo", "sparse_dim"): RANK,
    **{("signal.stft", p): PYTHON for p in ("n_fft", "hop_length", "win_length")},
    **{("vision.ops." + f, "output_size"): PYTHON for f in ("psroi_pool", "roi_align", "roi_pool")},
    **{("nn.functional." + f, "stride"): WINDOW for f in _CONVOLUTIONS},
    **{("nn.functional." + f, p): WINDOW for f in _POOLS for p in ("kernel_size", "stride", "padding")},
    **{("nn.functional." + f, "kernel_sizes"): WINDOW for f in ("fold", "unfold")},
    **{
        (f, "axis"): PYTHON
        for f in ("chunk", "cross", "diff", "median", "nanmedian", "quantile", "nanquantile", "renorm")
    },
    **{("nn.functional." + f, "axis"): PYTHON for f in ("cross_entropy", "dropout", "glu", "maxout")},
    **{(f, "axis"): COMPOSED for f in ("count_nonzero", "index_select", "nanmean")},
    **{(f, "axis"): COMPOSED for f in ("put_along_axis", "put_along_axis_")},
    ("Tensor.fill_diagonal_", "offset"): PYTHON,
    ("Tensor.fill_diagonal_tensor", "dim1"): PYTHON,
    ("Tensor.fill_diagonal_tensor", "dim2"): PYTHON,
    ("Tensor.fill_diagonal_tensor", "offset"): PYTHON,
    ("Tensor.fill_diagonal_tensor_", "dim1"): PYTHON,
    ("Tensor.fill_diagonal_tensor_", "dim2"): PYTHON,
    ("Tensor.fill_diagonal_tensor_", "offset"): PYTHON,
    ("Tensor.matrix_power", "n"): PYTHON,
    ("allclose", "atol"): COMPOSED,
    ("allclose", "rtol"): COMPOSED,
    ("chunk", "chunks"): RANK,
    **{("as_strided", p): PYTHON for p in ("shape", "stride", "offset")},
    **{("unfold", p): PYTHON for p in ("axis", "size", "step")},
    ("combinations", "r"): RANK,
    **{(f, "p"): PYTHON for f in ("cdist", "pdist")},
    **{(f, "axis"): PYTHON for f in ("cumulative_trapezoid", "trapezoid")},
    ("diff", "n"): PYTHON,
    ("flatten", "start_axis"): RANK,
    **{(f, "num_or_indices"): RANK for f in ("dsplit", "hsplit", "tensor_split", "vsplit")},
    **{
        (f, "axis"): PYTHON
        for f in ("index_add", "index_add_", "index_fill", "index_fill_", "tensor_split", "unflatten")
    },
    **{("select_scatter", p): PYTHON for p in ("axis", "index")},
    **{("slice_scatter", p): PYTHON for p in ("axes", "starts", "ends", "strides")},
    ("linalg.cond", "p"): PYTHON,
    ("linalg.matrix_norm", "p"): PYTHON,
    ("linalg.matrix_norm", "axis"): PYTHON,
    ("linalg.matrix_power", "n"): PYTHON,
    ("linalg.vecdot", "axis"): PYTHON,
    **{("linalg.vector_norm", p): PYTHON for p in ("axis", "p")},
    ("moveaxis", "destination"): PYTHON,
    ("moveaxis", "source"): PYTHON,
    ("nanquantile", "q"): PYTHON,
    ("nn.functional.class_center_sample", "num_classes"): PYTHON,
    ("nn.functional.class_center_sample", "num_samples"): PYTHON,
    ("nn.functional.conv2d", "groups"): WINDOW,
    ("nn.functional.conv2d", "padding"): WINDOW,
    ("nn.functional.embedding", "padding_idx"): PYTHON,
    ("nn.functional.fold", "output_sizes"): WINDOW,
    ("nn.functional.group_norm", "num_groups"): PYTHON,
    ("nn.functional.hsigmoid_loss", "num_classes"): PYTHON,
    ("nn.functional.layer_norm", "normalized_shape"): RANK,
    ("nn.functional.maxout", "groups"): PYTHON,
    ("nn.functional.channel_shuffle", "groups"): PYTHON,
    ("nn.functional.multi_margin_loss", "p"): PYTHON,
    ("nn.functional.pixel_shuffle", "upscale_factor"): PYTHON,
    ("nn.functional.pixel_unshuffle", "downscale_factor"): PYTHON,
    ("nn.functional.temporal_shift", "shift_ratio"): PYTHON,
    ("nn.functional.unfold", "paddings"): WINDOW,
    ("nn.functional.unfold", "strides"): WINDOW,
    ("quantile", "q"): PYTHON,
    ("rot90", "axes"): PYTHON,
    ("rot90", "k"): PYTHON,
    ("shard_index", "nshards"): PYTHON,
    ("shard_index", "shard_id"): PYTHON,
    ("static.nn.sequence_pad", "maxlen"): PYTHON,
    ("static.nn.sequence_reshape", "new_dim"): PYTHON,
    ("tensordot", "axes"): RANK,
    ("unstack", "axis"): RANK,
    ("vander", "n"): PYTHON,
}
# Of calls that are recorded otherwise: these arguments beside the attribute decide it.
KNOWN_BESIDE = {
    ("squeeze", "axis", "f32[1,3,1], [1]"): ONE,
    ("linalg.norm", "axis", "p='nuc'"): PYTHON,
    ("split", "axis", ", 3,"): RANK,
    ("split", "num_or_sections", "f32[4,3], 2"): RANK,
    ("split", "num_or_sections", "f32[4,6], 3"): RANK,
}
# What draws, and what a tensor makes another call of.
DRAWN = ("nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d")


def known(name, text, parameter):
    beside = [r for (n, p, part), r in KNOWN_BESIDE.items() if (n, p) == (name, parameter) and part in text]
    return KNOWN.get((name, parameter)) or (beside or [None])[0]


def _weighted(outputs):
    """A number of the floating results that depends on each element differently; None if there is none."""
    total = None
    for out in outputs:
        if out.is_floating_point() and not out.stop_gradient:
            wide = out.astype("float32")
            part = (wide * (wide * 0.25 + 1.0)).sum()
            total = part if total is None else total + part
    return total


def _is_float(t):
    return t.is_floating_point()


def _draws(call):
    first, second = call(call.tensors(), call.value), call(call.tensors(), call.value, seed=4)
    return any(not np.array_equal(a.numpy(), b.numpy(), equal_nan=a.is_floating_point()) for a, b in zip(first, second))


def _numbers(value):
    """(the number or numbers as tensors, how a call takes them)."""
    if isinstance(value, (list, tuple)):
        return [paddle.to_tensor(v) for v in value], list
    return [paddle.to_tensor(value)], lambda ts: ts[0]


def _eager_gradients(call, value, run):
    tensors = [t.detach() for t in call.tensors()]
    for t in tensors:
        t.stop_gradient = not _is_float(t)
    total = _weighted(run(tensors, value))
    if total is None:
        return None
    total.backward()
    return [None if t.grad is None else t.grad.numpy() for t in tensors]


def _same_gradients(got, want, where):
    for a, b in zip(got, want, strict=True):
        if a is None or b is None:
            assert (a is None or not np.any(a)) and (b is None or not np.any(b)), where
        else:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4, err_msg=f"{where}: gradient")


def _static(call, late, pack, want, gradients, random, where):
    tensors = call.tensors()
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main, paddle.static.Program()):
            paddle.seed(3)
            numbers = [paddle.static.data(f"n{i}", n.shape, n.dtype.name) for i, n in enumerate(late)]
            inputs = [paddle.static.data(f"x{i}", t.shape, t.dtype.name) for i, t in enumerate(tensors)]
            for x in inputs:
                x.stop_gradient = not _is_float(x)
            outs = call(inputs, pack(numbers))
            floats = [x for x in inputs if _is_float(x)]
            total = _weighted(outs) if gradients is not None else None
            grads = [] if total is None else paddle.static.gradients([total], floats)
            feed = {f"n{i}": n.numpy() for i, n in enumerate(late)} | {
                f"x{i}": t.numpy() for i, t in enumerate(tensors)
            }
            exe = paddle.static.Executor()
            found = exe.run(main, feed=feed, fetch_list=[*outs, *[g for g in grads if g is not None]])
    finally:
        paddle.disable_static()
    results = [paddle.to_tensor(v) for v in found[: len(outs)]]
    if random:
        assert [t.shape for t in results] == [t.shape for t in want], where
        return
    _same(results, want, where)
    if total is not None:
        rest = iter(found[len(outs) :])
        got = iter([None if g is None else next(rest) for g in grads])
        _same_gradients([next(got) if _is_float(t) else None for t in tensors], gradients, where)


def _converted(call, late, pack, want, gradients, random, where, folder):
    count = len(late)

    def program(*given):
        return call(list(given[count:]), pack(list(given[:count])))

    recorded = paddle.jit.to_static(program)

    def run(function):
        def of(tensors, value):
            paddle.seed(3)
            out = function(*value, *tensors)
            return list(out) if isinstance(out, (list, tuple)) else [out]

        return of

    specs = [paddle.static.InputSpec(t.shape, t.dtype.name, f"v{i}") for i, t in enumerate([*late, *call.tensors()])]
    paddle.jit.save(program, f"{folder}/model", input_spec=specs)
    loaded = paddle.jit.load(f"{folder}/model")
    for way, function in (("converted", recorded), ("saved", loaded)):
        got = run(function)(call.tensors(), late)
        if random:
            assert [t.shape for t in got] == [t.shape for t in want], f"{where}, {way}"
            continue
        _same(got, want, f"{where}, {way}")
        if gradients is not None:
            _same_gradients(_eager_gradients(call, late, run(function)), gradients, f"{where}, {way}")


def check(name, text, place, parameter, folder):
    """What became of an attribute as a value of programs: None, or the sentence that refuses it."""
    call = Call(name, text, place)
    if (name, parameter) in OTHERWISE and name == "normal":
        return None
    want = call(call.tensors(), call.value)
    random = _draws(call) or name in DRAWN
    gradients = None if random else _eager_gradients(call, call.value, call)
    late, pack = _numbers(call.value)
    where = f"{name}({text}) with {parameter} = {call.value} as a value of a program"
    try:
        _static(call, late, pack, want, gradients, random, f"{where}, static")
        _converted(call, late, pack, want, gradients, random, where, folder)
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as e:
        said = (str(e).splitlines() or [""])[0]
        # `(Kind) function: ... parameter ...`, or, of several attributes, "a number that is a value of the program".
        function = name.rsplit(".", 1)[-1]
        if name == "squeeze":
            function, parameter = "reshape", "shape"
        opens = said.split(") ", 1)[-1].split(":", 1)[0].rstrip("_") == function.rstrip("_")
        names = re.search(rf"\b{parameter}\b|a number that is a value of the program", said)
        assert said.startswith("(") and opens and names, f"{where}: {type(e).__name__} {said}"
        return said
    return None


@pytest.mark.parametrize("name", sorted({c[0] for c in CASES}))
def test_attributes_as_values_of_programs(name, tmp_path):
    for case in CASES:
        if case[0] == name:
            refused = check(*case, str(tmp_path))
            reason = known(name, case[1], case[3])
            assert (refused is not None) == (reason is not None), f"{case}: {refused or 'is not refused'}"


def test_what_must_be_known_is_asked():
    asked = {(name, parameter) for name, _, _, parameter in CASES}
    assert set(KNOWN) - asked <= {(f"nn.functional.{f}", p) for f in _POOLS for p in ("stride", "padding")}


def main(names):
    import collections
    import tempfile

    counts = collections.Counter()
    for case in CASES:
        if names and case[0] not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                what = check(*case, folder)
            except Exception as e:  # pylint: disable=broad-except
                what = f"FAILED {type(e).__name__} {(str(e).splitlines() or [''])[0][:200]}"
        kind = "equal" if what is None else "FAILED" if what.startswith("FAILED") else "refused"
        counts[kind] += 1
        if what is not None or names:
            print(case[0], "|", case[1], "|", case[3], "::", what or "equal")
    print(dict(counts))


if __name__ == "__main__":
    main(sys.argv[1:])
