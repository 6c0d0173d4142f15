"""Functions of sequences of different lengths: against loops over the sequences; eager, and in programs that are fed them."""

import numpy as np
import pytest

import proa
from proa import fluid, static
from proa.static import nn

_RNG = np.random.RandomState(3)
LENGTHS = [[3, 0, 2, 1], [1], [0, 0], [2, 5, 4, 1, 3], []]


def _split(rows, lengths):
    ends = np.cumsum(lengths).astype(int)
    return [rows[e - n : e] for e, n in zip(ends, lengths, strict=True)]


def _join(parts, like):
    return np.concatenate([*parts, like[:0]]) if parts else like[:0]


def _softmax(x):
    e = np.exp(x - x.max(0, keepdims=True))
    return e / e.sum(0, keepdims=True)


def _pool(kind, value=0.0):
    one = {
        "sum": lambda s: s.sum(0),
        "average": lambda s: s.mean(0),
        "sqrt": lambda s: s.sum(0) / np.sqrt(len(s)),
        "max": lambda s: s.max(0),
        "first": lambda s: s[0],
        "last": lambda s: s[-1],
    }[kind]

    def pool(rows, lengths):
        parts = [one(s) if len(s) else np.full(rows.shape[1:], value) for s in _split(rows, lengths)]
        return np.stack(parts) if parts else np.zeros([0, *rows.shape[1:]])

    return pool


def _windows(rows, lengths, size, value):
    flat = [
        [s[i + k] if i + k < len(s) else value for k in range(size)]
        for s in _split(rows[:, 0], lengths)
        for i in range(len(s))
    ]
    return np.asarray(flat).reshape(-1, size)


# Of the rows and their lengths: the function, what a loop gives, and whether the result has the same sequences.
CASES = {
    **{
        f"pool {kind}": (lambda x, n, kind=kind: nn.sequence_pool(x, kind, lengths=n), _pool(kind))  # type: ignore[misc]
        for kind in ("sum", "average", "sqrt", "max", "first", "last")
    },
    "pool with a value": (lambda x, n: nn.sequence_pool(x, "MAX", pad_value=2.5, lengths=n), _pool("max", 2.5)),
    "first_step": (lambda x, n: nn.sequence_first_step(x, lengths=n), _pool("first")),
    "last_step": (lambda x, n: nn.sequence_last_step(x, lengths=n), _pool("last")),
    "softmax": (
        lambda x, n: nn.sequence_softmax(x[:, :1], lengths=n),
        lambda x, n: _join([_softmax(s) for s in _split(x[:, :1], n) if len(s)], x[:, :1]),
    ),
    "reverse": (
        lambda x, n: nn.sequence_reverse(x, lengths=n),
        lambda x, n: _join([s[::-1] for s in _split(x, n)], x),
    ),
    "pad": (
        lambda x, n: nn.sequence_pad(x, 1.5, lengths=n)[0],
        lambda x, n: (
            np.stack([np.concatenate([s, np.full([max(n) - len(s), 2], 1.5)]) for s in _split(x, n)])
            if n
            else np.zeros([0, 0, 2])
        ),
    ),
    "pad to a length": (
        lambda x, n: nn.sequence_pad(x, proa.to_tensor([1.0, 2.0]), 6, lengths=n)[0],
        lambda x, n: (
            np.stack([np.concatenate([s, np.tile([[1.0, 2.0]], [6 - len(s), 1])]) for s in _split(x, n)])
            if n
            else np.zeros([0, 6, 2])
        ),
    ),
    "pad and unpad": (lambda x, n: nn.sequence_unpad(*nn.sequence_pad(x, 0.0, lengths=n)), lambda x, n: x),
    "concat": (
        lambda x, n: nn.sequence_concat([x, x * 2, x], lengths=[n, n, n]),
        lambda x, n: _join([np.concatenate([s, 2 * s, s]) for s in _split(x, n)], x),
    ),
    "reshape": (lambda x, n: nn.sequence_reshape(x, 1, lengths=n), lambda x, n: x.reshape(-1, 1)),
    "enumerate": (
        lambda x, n: nn.sequence_enumerate((x[:, :1] * 100).astype("int64"), 3, -7, lengths=n),
        lambda x, n: _windows((x * 100).astype("int64"), n, 3, -7),
    ),
    "expand_as": (
        lambda x, n: nn.sequence_expand_as(nn.sequence_pool(x, "sum", lengths=n), x, lengths=n),
        lambda x, n: _join([np.tile(s.sum(0), [len(s), 1]) for s in _split(x, n) if len(s)], x),
    ),
    "expand of rows": (
        lambda x, n: nn.sequence_expand(nn.sequence_pool(x, "sum", lengths=n), x, lengths=n),
        lambda x, n: _join([np.tile(s.sum(0), [len(s), 1]) for s in _split(x, n) if len(s)], x),
    ),
    "expand of sequences": (
        lambda x, n: nn.sequence_expand(x, x, lengths=[k % 3 for k in range(len(n))], x_lengths=n),
        lambda x, n: _join([np.tile(s, [k % 3, 1]) for k, s in enumerate(_split(x, n))], x),
    ),
    "scatter": (
        lambda x, n: nn.sequence_scatter(
            proa.ones([len(n), 4]), proa.arange(x.shape[0]).reshape([-1, 1]) % 4, x[:, :1], lengths=n
        ),
        lambda x, n: _scattered(x, n),
    ),
}


def _scattered(x, lengths):
    out = np.ones([len(lengths), 4], "float32")
    row = 0
    for i, n in enumerate(lengths):
        for _ in range(n):
            out[i, row % 4] += x[row, 0]
            row += 1
    return out


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_functions_are_loops_over_the_sequences(name, lengths):
    function, loop = CASES[name]
    x = _RNG.randn(sum(lengths), 2).astype("float32")
    got = function(proa.to_tensor(x), proa.to_tensor(np.asarray(lengths, "int64")))
    want = loop(x, lengths)
    assert got.shape == list(want.shape)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in CASES if name != "enumerate"])
def test_gradients_against_differences(name):
    function, _ = CASES[name]
    lengths = proa.to_tensor([3, 0, 2, 1])
    x = proa.to_tensor(_RNG.randn(6, 2), dtype="float64", stop_gradient=False)
    if name in ("scatter", "pad to a length"):  # whose other arguments are float32
        x = proa.to_tensor(x.numpy().astype("float32"), stop_gradient=False)
    weights = proa.to_tensor(_RNG.randn(*function(x, lengths).shape)).astype(x.dtype)
    (function(x, lengths) * weights).sum().backward()
    step = 1e-6 if x.dtype == proa.float64 else 1e-2
    for i in range(6):
        for j in range(2):
            moved = []
            for sign in (1, -1):
                values = x.numpy().copy()
                values[i, j] += sign * step
                moved.append((function(proa.to_tensor(values), lengths) * weights).sum().item())
            slope = (moved[0] - moved[1]) / (2 * step)
            assert abs(x.grad[i, j].item() - slope) < 1e-3 * max(1.0, abs(slope))


def _run(build, feed):
    main, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        results = build()
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        executor = static.Executor()
        executor.run(startup)
        return executor.run(main, feed=feed, fetch_list=results), main


@pytest.mark.parametrize("lengths", [[3, 0, 2, 1], [1], [2, 5, 4, 1, 3]], ids=str)
@pytest.mark.parametrize("name", [n for n in CASES if n not in ("scatter", "expand of sequences", "concat")])
def test_a_program_is_fed_sequences(name, lengths):
    """The same functions without lengths: the program knows them, of the input and of what is computed of it."""
    function, loop = CASES[name]
    x = _RNG.randn(sum(lengths), 2).astype("float32")
    fed = fluid.create_lod_tensor(x, [lengths])

    def build():
        rows = static.data("x", [None, 2], lod_level=1)
        assert rows.lod_level == 1
        return function(rows * 1.0 + static.nn.fc(rows, 2) * 0.0, None)

    (got,), _ = _run(build, {"x": fed})
    np.testing.assert_allclose(got, loop(x, lengths), rtol=1e-5, atol=1e-6)


def test_results_know_their_sequences():
    def build():
        x, y = static.data("x", [None, 2], lod_level=1), static.data("y", [None, 2], lod_level=2)
        inner = nn.sequence_pool(y, "sum")
        assert y.lod_level == 2 and inner.lod_level == 1 and nn.sequence_pool(inner, "sum").lod_level == 0
        both = nn.sequence_concat([x, x])
        return [
            nn.sequence_pool(both, "sum"),
            nn.sequence_pool(nn.sequence_expand(x, x), "sum"),
            nn.sequence_pool(inner, "max"),
            nn.sequence_pool(nn.sequence_unpad(*nn.sequence_pad(x, 0.0)), "last"),
            nn.sequence_pool(nn.sequence_reshape(x, 1), "sum"),
            nn.sequence_last_step(nn.sequence_slice(x, proa.to_tensor([1, 0]), proa.to_tensor([1, 1]))),
        ]

    x, y = _RNG.randn(3, 2).astype("float32"), _RNG.randn(6, 2).astype("float32")
    feed = {"x": fluid.create_lod_tensor(x, [[2, 1]]), "y": fluid.create_lod_tensor(y, [[2, 1], [1, 3, 2]])}
    (both, wide, inner, last, narrow, part), _ = _run(build, feed)
    sums = np.stack([x[:2].sum(0), x[2]])
    np.testing.assert_allclose(both, 2 * sums, rtol=1e-5)
    np.testing.assert_allclose(wide, [sums[0], sums[0], sums[1]], rtol=1e-5)
    np.testing.assert_allclose(inner, np.stack([np.maximum(y[0], y[1:4].sum(0)), y[4:].sum(0)]), rtol=1e-5)
    np.testing.assert_allclose(last, x[1:], rtol=1e-6)
    np.testing.assert_allclose(narrow, sums.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(part, x[1:], rtol=1e-6)


def test_sequence_conv_and_its_training():
    lengths = [3, 1, 4]
    x = _RNG.randn(8, 5).astype("float32")

    def build():
        rows = static.data("x", [None, 5], lod_level=1)
        out = nn.sequence_conv(rows, 6, 3, param_attr="w", bias_attr="b", act="tanh")
        shifted = nn.sequence_conv(rows, 2, 2, padding_start=0, param_attr="v", bias_attr=False)
        loss = out.sum() + shifted.sum()
        grads = static.gradients([loss], [rows_weight("w")])
        return out, shifted, grads[0]

    def rows_weight(name):
        return next(p for p in static.default_main_program().all_parameters() if p.name == name)

    (got, shifted, grad), main = _run(build, {"x": fluid.create_lod_tensor(x, [lengths])})
    w, b, v = (main.state_dict()[name].numpy() for name in "wbv")
    around = [np.concatenate([np.zeros([1, 5]), s, np.zeros([1, 5])]) for s in _split(x, lengths)]
    windows = np.concatenate([[s[i : i + 3].ravel() for i in range(len(s) - 2)] for s in around])
    np.testing.assert_allclose(got, np.tanh(windows @ w + b), rtol=1e-4, atol=1e-5)
    after = np.concatenate([[s[i : i + 2].ravel() for i in range(1, len(s) - 1)] for s in around])
    np.testing.assert_allclose(shifted, after @ v, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(grad, windows.T @ (1 - np.tanh(windows @ w + b) ** 2), rtol=1e-3, atol=1e-4)


def test_a_model_of_sequences_is_saved_and_loaded(tmp_path):
    prefix = str(tmp_path / "model")
    x = _RNG.randn(3, 2).astype("float32")
    with static.program_guard(static.Program()):
        rows = static.data("rows", [None, 2], lod_level=1)
        static.save_inference_model(prefix, [rows], [nn.sequence_pool(rows, "sum")], static.Executor())
        program, names, targets = static.load_inference_model(prefix, static.Executor())
        assert names == ["rows"]
        fed = {"rows": fluid.create_lod_tensor(x, [[1, 2]])}
        (got,) = static.Executor().run(program, feed=fed, fetch_list=targets)
    np.testing.assert_allclose(got, [x[0], x[1] + x[2]], rtol=1e-6)


def test_lengths_of_a_run_that_do_not_fit():
    """What a function requires of the numbers in tensors is said in its own words, at once and by a program."""
    says = r"\(InvalidArgument\) sequence_pool: lengths \[1, 1\] are not those of the rows of input, whose shape is \[3, 2\]"
    specs = [static.InputSpec([None, 2]), static.InputSpec([None], "int64")]
    function = lambda x, lengths: nn.sequence_pool(x, "sum", lengths=lengths)
    for call in (function, proa.jit.to_static(function, input_spec=specs)):
        assert call(proa.ones([3, 2]), proa.to_tensor([1, 2])).tolist() == [[1, 1], [2, 2]]
        with pytest.raises(ValueError, match=f"^{says}"):
            call(proa.ones([3, 2]), proa.to_tensor([1, 1]))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: nn.sequence_pool(x, "sum"), "nothing is known of sequences in input .* lengths must be given"),
        (lambda x: nn.sequence_pool(x, "middle", lengths=[3]), "pool_type must be one of average, sum"),
        (
            lambda x: nn.sequence_pool(x, "sum", lengths=[1, 1]),
            "lengths .1, 1. are not those of the rows of input, whose shape is .3, 2.",
        ),
        (
            lambda x: nn.sequence_pool(x, "sum", lengths=[4, -1]),
            "lengths .4, -1. are not those of the rows of input, whose shape is .3, 2.",
        ),
        (lambda x: nn.sequence_pool(x, "sum", lengths=proa.ones([3])), "lengths must hold integers"),
        (lambda x: nn.sequence_softmax(x, lengths=[3]), r"must be \[rows\] or \[rows, 1\]; it is \[3, 2\]"),
        (lambda x: nn.sequence_pad(x, 0.0, 2, lengths=[3]), "maxlen is 2, the longest sequence has 3 rows"),
        (lambda x: nn.sequence_pad(x, proa.ones([3]), lengths=[3]), "one number or of the dims of a row"),
        (lambda x: nn.sequence_unpad(x[:, 0], [3]), "x must be .sequences, size"),
        (lambda x: nn.sequence_reshape(x, 4, lengths=[3]), "must be a multiple of 4"),
        (
            lambda x: nn.sequence_slice(x, [2], [2], lengths=[3]),
            "sequences of .3. rows do not have .2. rows from .2. on",
        ),
        (lambda x: nn.sequence_enumerate(x, 0, lengths=[3]), "win_size must be a positive int"),
        (lambda x: nn.sequence_concat([], lengths=[]), "must be a list of tensors that is not empty"),
        (lambda x: nn.sequence_concat([x, x], lengths=[[3]]), "1 lengths for 2 tensors"),
        (lambda x: nn.sequence_conv(x, 2), "static mode is off; call paddle.enable_static"),
    ],
)
def test_bad_calls_are_told(call, says):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=says):
        call(proa.ones([3, 2]))


def test_a_feed_whose_lengths_do_not_fit():
    def build():
        return nn.sequence_pool(static.data("x", [None, 2], lod_level=1), "sum")

    wrong = fluid.LoDTensor()
    wrong.set(np.ones([3, 2], "float32"))
    wrong.set_recursive_sequence_lengths([[1, 1]])
    with pytest.raises(ValueError, match="feed 'x': the lengths .1, 1. are not those of 3 rows"):
        _run(build, {"x": wrong})
    with pytest.raises((RuntimeError, ValueError), match="x@LENGTHS0"):
        _run(build, {"x": np.ones([3, 2], "float32")})
