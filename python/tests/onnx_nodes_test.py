"""onnx.load: the node tests of ONNX. What does not pass is listed with its reason; the list must be true."""

import pytest

from python.tests import onnx_node_cases

_RANDOM = "random numbers, which are others here"
_TEXTS = "TfIdfVectorizer: an operator for texts"
_LENGTH = "the data has sizes that are not rounded; ONNX Runtime rounds them, too"
_DECLARED = "the data has other sizes than the model declares"
NOT_YET = {
    "node/test_adam_multiple": "the data was made with another epsilon than the model has",
    **{f"node/test_bernoulli{k}": _RANDOM
       for k in ("", "_double", "_double_expanded", "_expanded", "_seed", "_seed_expanded")},
    "node/test_cast_FLOAT_to_BFLOAT16": "the data was cut off, not rounded",
    **{f"node/test_castlike_{k}": _DECLARED for k in ("BFLOAT16_to_FLOAT", "BFLOAT16_to_FLOAT_expanded",
                                                      "FLOAT_to_BFLOAT16", "FLOAT_to_BFLOAT16_expanded")},
    "node/test_resize_downsample_scales_cubic_align_corners": _LENGTH,
    "node/test_resize_downsample_scales_linear_align_corners": _LENGTH,
    **{f"node/test_tfidfvectorizer_tf_{k}": _TEXTS
       for k in ("batch_onlybigrams_skip0", "batch_onlybigrams_skip5", "batch_uniandbigrams_skip5", "only_bigrams_skip0",
                 "onlybigrams_levelempty", "onlybigrams_skip5", "uniandbigrams_skip5")},
    **{f"node/test_training_dropout{k}": _RANDOM for k in ("", "_default", "_default_mask", "_mask")},
    "simple/test_gradient_of_add": "the operator Gradient, of a training preview that ONNX has withdrawn",
    "simple/test_gradient_of_add_and_mul": "the operator Gradient, of a training preview that ONNX has withdrawn",
}  # fmt: skip
_NAMES = onnx_node_cases.names()

pytestmark = pytest.mark.skipif(
    not _NAMES, reason="libonnx-testdata is not installed (third_party/debian_packages.txt)"
)


def test_the_list():
    assert len(_NAMES) == 1072
    assert set(NOT_YET) <= set(_NAMES)
    assert len(NOT_YET) <= 0.05 * len(_NAMES)


@pytest.mark.parametrize("name", _NAMES)
def test_node(name):
    if name not in NOT_YET:
        onnx_node_cases.check(name)
        return
    try:
        onnx_node_cases.check(name)
    except Exception:
        return
    pytest.fail(f"{name} passes; take it off the list")
