"""Lines for limits_benchmark and events of the profiler name the same products."""

import problem
import pytest


def _event(name, shapes, flops=0.0):
    return {"name": name, "shapes": shapes, "flops": flops}


@pytest.mark.parametrize(
    "line, flops",
    [
        ("conv float32 forward 1 3 224 224 64 7 7 2 3 1", 2 * 64 * 112 * 112 * 3 * 49),
        ("conv float32 weight_grad 2 32 10 10 32 3 3 1 1 32", 2 * 2 * 32 * 100 * 9),
        ("matmul bfloat16 96 128 64 32 n t", 2 * 96 * 128 * 64 * 32),
    ],
)
def test_flops(line, flops):
    assert problem.flops(line) == flops


@pytest.mark.parametrize(
    "line, event",
    [
        (
            "conv float32 forward 1 64 56 56 128 3 3 2 1 1",
            _event("conv2d", "[1, 64, 56, 56] float32, [128, 64, 3, 3] float32, [128] float32"),
        ),
        (
            "conv float32 input_grad 1 64 56 56 128 3 3 2 1 1",
            _event("conv_input_grad", "[1, 128, 28, 28] float32, [128, 64, 3, 3] float32", 2 * 128 * 28 * 28 * 576),
        ),
        (
            "conv float32 weight_grad 1 32 8 8 32 3 3 1 1 32",
            _event("conv_weight_grad", "[1, 32, 8, 8] float32, [1, 32, 8, 8] float32", 2 * 32 * 64 * 9),
        ),
        (
            "matmul float32 1 256 3072 768 n n",
            _event("linear", "[2, 128, 768] float32, [768, 3072] float32, [3072] float32"),
        ),
        (
            "matmul float32 1 256 768 3072 n t",
            _event("matmul", "[2, 128, 3072] bfloat16, [768, 3072] bfloat16"),
        ),
        ("matmul float32 1 768 3072 256 t n", _event("matmul", "[256, 768] float32, [256, 3072] float32")),
    ],
)
def test_an_event_is_one_product(line, event):
    assert problem.key_of_event(event) == (problem.key_of_line(line), 1)


def test_kernels_of_other_sizes_are_told_apart():
    one, three = (f"conv float32 weight_grad 1 64 8 8 64 {k} {k} 1 {k // 2} 1" for k in (1, 3))
    assert problem.key_of_line(one) != problem.key_of_line(three)


def test_attention_is_several_products():
    shape = "[2, 128, 12, 64] float32"
    scores, mixed = "matmul float32 24 128 128 64 n t", "matmul float32 24 128 64 128 n n"
    key = problem.key_of_line(scores)
    assert key == problem.key_of_line(mixed)
    assert problem.key_of_event(_event("attention", ", ".join([shape] * 3))) == (key, 2)
    assert problem.key_of_event(_event("attention_grad", ", ".join([shape] * 4))) == (key, 4)


def test_other_ops_are_no_products():
    assert problem.key_of_event(_event("relu", "[2, 3] float32")) == (None, 0)
    assert problem.key_of_event(_event("full", None)) == (None, 0)
