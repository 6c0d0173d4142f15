"""What convolutions and their normalization do together, for the networks that are made of them."""

from proa.nn.layer.activation import ReLU
from proa.nn.layer.conv import Conv2D
from proa.nn.layer.norm import BatchNorm2D, SyncBatchNorm


def _is_plain(layer, *types):
    """Whether nothing else stands for the layer or looks at what it does."""
    return type(layer) in types and not (layer._forward_pre_hooks or layer._forward_post_hooks)


def conv_norm_relu(conv, norm, relu, x, residual=None):
    """relu(norm(conv(x)) + residual), in as few passes over the images as the layers allow."""
    if _is_plain(norm, BatchNorm2D, SyncBatchNorm) and _is_plain(relu, ReLU):
        if _is_plain(conv, Conv2D):
            return norm.after_conv(conv, x, residual)
        return norm(conv(x), residual, relu=True)
    x = norm(conv(x))
    return relu(x if residual is None else x + residual)
