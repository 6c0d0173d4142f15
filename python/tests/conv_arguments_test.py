"""Arguments of convolutions and normalizations at their edges: a bias of one number, SAME, output_padding, ..."""

import numpy as np
import pytest

import proa
import proa.nn as nn
import proa.nn.functional as F


def test_bias_of_one_number():
    x, w = proa.ones([1, 1, 4, 4]), proa.ones([2, 1, 3, 3])
    bias = proa.ones([1])
    bias.stop_gradient = False
    out = F.conv2d(x, w, bias)
    assert (out.numpy() == 10).all()
    out.sum().backward()
    assert bias.grad.tolist() == [8.0]
    assert (F.conv1d(x[:, :, 0], w[:, :, 0], bias).numpy() == 4).all()
    assert F.conv2d_transpose(x, proa.ones([1, 2, 3, 3]), bias).shape == [1, 2, 6, 6]
    assert (F.conv3d(proa.ones([1, 1, 3, 3, 3]), proa.ones([2, 1, 3, 3, 3]), bias).numpy() == 28).all()
    with pytest.raises(ValueError, match=r"bias must be \[4\] or \[1\]"):
        F.conv2d(x, proa.ones([4, 1, 3, 3]), proa.ones([2]))


@pytest.mark.parametrize("size, stride, expected", [(9, 2, 17), (8, 2, 16), (9, 3, 27), (9, 1, 9), (7, 3, 19)])
@pytest.mark.parametrize("kernel", [3, 4, 5])
def test_transposed_same(size, stride, expected, kernel):
    out = F.conv2d_transpose(
        proa.ones([1, 1, size, size]), proa.ones([1, 1, kernel, kernel]), stride=stride, padding="SAME"
    )
    assert out.shape == [1, 1, expected, expected]


def test_same_with_dilation_keeps_the_dilation_and_says_so():
    x = proa.zeros([1, 1, 9, 9])
    x[0, 0, 4, 4] = 1.0
    with pytest.warns(UserWarning, match="PaddlePaddle computes it with dilation 1"):
        out = F.conv2d(x, proa.ones([1, 1, 3, 3]), padding="SAME", dilation=2).numpy()[0, 0]
    assert sorted(set(np.argwhere(out)[:, 0].tolist())) == [2, 4, 6]
    with pytest.warns(UserWarning, match="conv1d_transpose: padding 'SAME'"):
        nn.Conv1DTranspose(1, 1, 3, padding="same", dilation=2)(proa.ones([1, 1, 5]))


def test_output_padding_up_to_the_dilation():
    x, w = proa.ones([1, 1, 4, 4]), proa.ones([1, 1, 3, 3])
    plain = F.conv2d_transpose(x, w, dilation=2)
    more = F.conv2d_transpose(x, w, dilation=2, output_padding=1)
    assert more.shape == [1, 1, 9, 9]
    np.testing.assert_array_equal(more.numpy()[0, 0, :8, :8], plain.numpy()[0, 0])
    assert (more.numpy()[0, 0, 8] == 0).all() and (more.numpy()[0, 0, :, 8] == 0).all()
    with pytest.raises(ValueError, match="output_padding 2 is not smaller"):
        F.conv2d_transpose(x, w, dilation=2, output_padding=2)


def test_circular_padding_wraps_repeatedly():
    x = proa.arange(3, dtype="float32").reshape([1, 1, 3])
    x.stop_gradient = False
    out = F.pad(x, [4, 5], mode="circular", data_format="NCL")
    assert out.tolist() == [[[2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]]]
    out.sum().backward()
    assert x.grad.tolist() == [[[4, 4, 4]]]
    assert nn.Conv2D(1, 1, 3, padding=4, padding_mode="circular")(proa.ones([1, 1, 3, 3])).shape == [1, 1, 9, 9]


def test_batch_norm_of_one_element_passes_it_through():
    norm = nn.BatchNorm1D(3)
    norm.weight.set_value(proa.to_tensor([2.0, 3.0, 4.0]))
    x = proa.to_tensor([[1.0, 2.0, 3.0]], stop_gradient=False)
    out = norm(x)
    assert out.tolist() == [[1.0, 2.0, 3.0]]
    assert norm._mean.tolist() == [0, 0, 0] and norm._variance.tolist() == [1, 1, 1]
    out.sum().backward()
    assert x.grad.tolist() == [[1, 1, 1]]
    norm.eval()
    np.testing.assert_allclose(norm(x).numpy(), [[2, 6, 12]], rtol=1e-4)


def test_trainable_statistics_are_used_in_evaluation():
    x = proa.to_tensor(np.arange(24, dtype="float32").reshape(2, 3, 2, 2))
    norm, train = nn.BatchNorm(3, trainable_statistics=True), nn.BatchNorm(3)
    norm.eval()
    np.testing.assert_array_equal(norm(x).numpy(), train(x).numpy())
    np.testing.assert_array_equal(norm._mean.numpy(), train._mean.numpy())


@pytest.mark.parametrize(
    "name", ["batch_norm_grad", "batch_norm_input_grad", "batch_norm_relu_grad", "batch_norm_add_relu_grad"]
)
def test_gradients_check_the_vectors_that_they_read(name):
    op = getattr(proa._C.ops, name)
    x, c, short = proa.ones([2, 64, 2, 2]), proa.ones([64]), proa.ones([1])
    before = {"batch_norm_relu_grad": [c, c], "batch_norm_add_relu_grad": [c]}.get(name, [c])
    images = [x] * (3 if name == "batch_norm_add_relu_grad" else 2)
    op(*images, *before, c, c, c, c)
    for spoiled in range(4 + len(before)):
        vectors = [*before, c, c, c, c]
        if spoiled >= len(vectors):
            continue
        vectors[spoiled] = short
        with pytest.raises(ValueError, match=r"must be \[64\]"):
            op(*images, *vectors)
