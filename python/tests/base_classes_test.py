"""What programs for the reference take from the modules of its layers, though it begins with an underscore or is in no list."""

import numpy as np
import pytest

import proa as paddle
from proa.amp.auto_cast import amp_state
from proa.nn.layer.conv import _ConvNd
from proa.nn.layer.norm import _BatchNormBase, _InstanceNormBase

NORMS = [
    *((layer, _BatchNormBase) for layer in (paddle.nn.BatchNorm, paddle.nn.BatchNorm1D, paddle.nn.BatchNorm2D)),
    *((layer, _BatchNormBase) for layer in (paddle.nn.BatchNorm3D, paddle.nn.SyncBatchNorm)),
    *((getattr(paddle.nn, f"InstanceNorm{n}D"), _InstanceNormBase) for n in (1, 2, 3)),
]


@pytest.mark.parametrize("layer, base", NORMS)
def test_normalizations_are_of_one_base(layer, base):
    assert isinstance(layer(3), base)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_convolution_of_the_user(dims, transposed):
    """Arguments in the order of the reference: those of a layer that is derived there."""

    class Own(_ConvNd):
        def __init__(self, data_format):
            super().__init__(
                4, 6, 3, transposed, dims, stride=2, padding=1, padding_mode="zeros", output_padding=0, dilation=1,
                groups=2, weight_attr=None, bias_attr=None, data_format=data_format,
            )  # fmt: skip

        def forward(self, x):
            name = f"conv{dims}d" + ("_transpose" if transposed else "")
            function = getattr(paddle.nn.functional, name)
            return function(x, self.weight, self.bias, self._stride, self._padding, groups=self._groups)

    own = Own("NC" + "DHW"[-dims:] if dims > 1 else "NCL")
    known = getattr(paddle.nn, f"Conv{dims}D" + ("Transpose" if transposed else ""))(4, 6, 3, 2, 1, groups=2)
    assert {k: v.shape for k, v in own.state_dict().items()} == {k: v.shape for k, v in known.state_dict().items()}
    assert own.extra_repr() == known.extra_repr() and own._kernel_size == [3] * dims
    known.set_state_dict(own.state_dict())
    x = paddle.randn([2, 4] + [7] * dims)
    np.testing.assert_array_equal(own(x).numpy(), known(x).numpy())


def test_the_state_of_autocast():
    assert amp_state() is None
    with paddle.amp.auto_cast(dtype="bfloat16", level="O2"):
        assert amp_state() == {"dtype": "bfloat16", "level": "O2"}
        with paddle.amp.auto_cast(enable=False):
            assert not amp_state()
    assert amp_state() is None
