"""References of a linear layer with what follows it."""

from ops.nn import conv_activation_samples


def reference_linear_activation(x, weight, bias=None, residual=None, activation="none", alpha=0.0, beta=0.0):
    out = x @ weight
    if bias is not None:
        out = out + bias
    return conv_activation_samples.ACTIVATIONS[activation](out if residual is None else out + residual, alpha, beta)
