"""What several networks are made of."""

from proa import _C, nn

__all__ = ["ConvNormActivation", "channels_of", "refuse_pretrained"]


def refuse_pretrained(name, pretrained):
    """Raises NotImplementedError if trained weights are asked for."""
    if pretrained:
        raise _C.located(
            NotImplementedError(
                f"{name}: pretrained weights are not downloaded; make the network with pretrained=False and load yours "
                "with set_state_dict"
            )
        )


def channels_of(value, divisor=8, least=None):
    """A number of channels near `value` that is a multiple of `divisor`, and at least nine tenths of it."""
    least = divisor if least is None else least
    rounded = max(least, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded


class ConvNormActivation(nn.Sequential):
    """A convolution, a normalization and an activation, as layers 0, 1 and 2.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, groups, dilation: of the convolution; padding keeps sizes
            unless given.
        norm_layer, activation_layer (type, optional): None leaves it out.
        bias (bool, optional): of the convolution; without a normalization unless given.
    """

    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1,
                 norm_layer=nn.BatchNorm2D, activation_layer=nn.ReLU, dilation=1, bias=None):  # fmt: skip
        padding = (kernel_size - 1) // 2 * dilation if padding is None else padding
        bias = norm_layer is None if bias is None else bias
        layers = [
            nn.Conv2D(in_channels, out_channels, kernel_size, stride, padding, dilation=dilation, groups=groups,
                      bias_attr=None if bias else False)
        ]  # fmt: skip
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer())
        super().__init__(*layers)
