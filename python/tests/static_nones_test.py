"""None for each argument of each function of static.nn: it is taken, or the error names the argument."""

import inspect

import pytest

import proa
from proa import static

_KNOWN = {
    "x": ([2, 4], "float32"), "y": ([2, 5], "float32"), "maps": ([2, 4, 6, 6], "float32"), "voxels": ([2, 4, 4, 6, 6], "float32"),
    "ids": ([2, 3], "int64"), "steps": ([2, 5, 4], "float32"), "truth": ([1], "bool"), "number": ([1], "int32"),
    "offset": ([2, 18, 4, 4], "float32"), "mask": ([2, 9, 4, 4], "float32"), "label": ([2, 1], "int64"), "begin": ([2, 1], "int64"),
    "length": ([2], "int64"), "image": ([2, 3, 32, 32], "float32"), "a": ([2, 4, 8, 8], "float32"), "b": ([2, 4, 4, 4], "float32"),
    "c": ([2, 4, 2, 2], "float32"), "scores": ([2, 5, 4], "float32"),
}  # fmt: skip
_SEQUENCES = {"rows": ([-1, 4], "float32"), "words": ([-1, 1], "int64"), "updates": ([-1, 1], "float32")}


class _Data(str):
    """An input of the program, by its name."""


def _of(value):
    if isinstance(value, _Data):
        sizes, dtype = _KNOWN.get(value) or _SEQUENCES[value]
        return static.data(value, sizes, dtype, int(value in _SEQUENCES))
    return [_of(v) for v in value] if isinstance(value, list) else value


_D = _Data
_CASES = {
    "fc": {"x": _D("x"), "size": 3},
    "conv2d": {"input": _D("maps"), "num_filters": 2, "filter_size": 3},
    "conv3d": {"input": _D("voxels"), "num_filters": 2, "filter_size": 3},
    "conv2d_transpose": {"input": _D("maps"), "num_filters": 2, "filter_size": 3},
    "conv3d_transpose": {"input": _D("voxels"), "num_filters": 2, "filter_size": 3},
    "batch_norm": {"input": _D("maps")},
    "layer_norm": {"input": _D("x")},
    "group_norm": {"input": _D("maps"), "groups": 2},
    "instance_norm": {"input": _D("maps")},
    "prelu": {"x": _D("maps"), "mode": "all"},
    "bilinear_tensor_product": {"x": _D("x"), "y": _D("y"), "size": 3},
    "embedding": {"input": _D("ids"), "size": [5, 3]},
    "sparse_embedding": {"input": _D("ids"), "size": [5, 3]},
    "spectral_norm": {"weight": _D("x")},
    "row_conv": {"input": _D("steps"), "future_context_size": 2},
    "data_norm": {"input": _D("x")},
    "deform_conv2d": {
        "x": _D("maps"), "offset": _D("offset"), "mask": _D("mask"), "num_filters": 2, "filter_size": 3,
    },
    "nce": {"input": _D("x"), "label": _D("label"), "num_total_classes": 10},
    "cond": {"pred": _D("truth"), "true_fn": lambda: proa.ones([2]), "false_fn": lambda: proa.zeros([2])},
    "while_loop": {"cond": lambda i: (i < 10).all(), "body": lambda i: [i + 1], "loop_vars": [_D("number")]},
    "case": {"pred_fn_pairs": [[_D("truth"), lambda: proa.ones([2])]], "default": lambda: proa.zeros([2])},
    "switch_case": {
        "branch_index": _D("number"), "branch_fns": [lambda: proa.ones([2])], "default": lambda: proa.zeros([2]),
    },
    "py_func": {"func": lambda a: a, "x": _D("x"), "out": _D("x")},
    "crf_decoding": {"input": _D("scores"), "param_attr": "transitions_of_nones", "length": _D("length")},
    "multi_box_head": {
        "inputs": [_D("a"), _D("b"), _D("c")], "image": _D("image"), "base_size": 32, "num_classes": 3,
        "aspect_ratios": [[2.0], [2.0], [2.0]], "min_ratio": 20, "max_ratio": 90,
    },
    "sequence_concat": {"input": [_D("rows"), _D("rows")]},
    "sequence_conv": {"input": _D("rows"), "num_filters": 2},
    "sequence_enumerate": {"input": _D("words"), "win_size": 2},
    "sequence_expand": {"x": _D("rows"), "y": _D("rows")},
    "sequence_expand_as": {"x": _D("rows"), "y": _D("rows")},
    "sequence_first_step": {"input": _D("rows")},
    "sequence_last_step": {"input": _D("rows")},
    "sequence_pad": {"x": _D("rows"), "pad_value": 0.0},
    "sequence_pool": {"input": _D("rows"), "pool_type": "sum"},
    "sequence_reshape": {"input": _D("rows"), "new_dim": 2},
    "sequence_reverse": {"x": _D("rows")},
    "sequence_scatter": {"input": _D("x"), "index": _D("words"), "updates": _D("updates")},
    "sequence_slice": {"input": _D("rows"), "offset": _D("begin"), "length": _D("begin")},
    "sequence_softmax": {"input": _D("updates")},
    "sequence_unpad": {"x": _D("steps"), "length": _D("length")},
}  # fmt: skip


def _call(name, none=None):
    with static.scope_guard(static.Scope()), static.program_guard(static.Program(), static.Program()):
        arguments = {key: _of(value) for key, value in _CASES[name].items()}
        if none is not None:
            arguments[none] = None
        return getattr(static.nn, name)(**arguments)


def test_every_function_has_a_case():
    assert set(_CASES) == set(static.nn.__all__)


@pytest.mark.parametrize("name", _CASES)
def test_none_is_taken_or_the_error_names_the_argument(name):
    _call(name)
    for argument in inspect.signature(getattr(static.nn, name)).parameters:
        try:
            _call(name, argument)
        except (TypeError, ValueError) as error:
            # A bare error of Python names no function, and is no error of the package.
            assert type(error).__module__.startswith("proa") or "(InvalidArgument)" in str(error), (argument, error)
            assert ": " in str(error), (argument, error)


@pytest.mark.parametrize(
    "name, argument, message",
    [
        ("fc", "x", "fc: x must not be None"),
        ("fc", "size", "fc: size must not be None"),
        ("conv2d", "data_format", "conv2d: data_format must not be None"),
        ("while_loop", "body", "while_loop: body must be callable, not NoneType"),
        ("switch_case", "branch_index", "switch_case: branch_index must be a Tensor or an array, not None"),
    ],
)
def test_messages(name, argument, message):
    with pytest.raises(TypeError, match=message):
        _call(name, argument)


def test_by_position_too_and_defaults_that_none_stands_for():
    with static.program_guard(static.Program(), static.Program()):
        with pytest.raises(TypeError, match="fc: size must not be None"):
            static.nn.fc(static.data("x", [2, 4]), None)
        one, two = static.data("steps", [2, 5, 4]), static.data("x", [2, 4])
        assert static.nn.layer_norm(one, True, True, None, None).shape == [2, 5, 4]
        assert [p.shape for p in static.default_main_program().all_parameters()] == [[20], [20]]  # from dim 1 on
        assert static.nn.batch_norm(two, momentum=None, epsilon=None).shape == [2, 4]
