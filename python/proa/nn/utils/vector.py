"""Parameters as one vector, and back."""

import math

from proa import _C
from proa.framework.grad_mode import no_grad


def parameters_to_vector(parameters, name=None):
    """All elements of parameters, one after the other, as a vector.

    Examples:
        >>> proa.nn.utils.parameters_to_vector(proa.nn.Linear(2, 3).parameters()).shape
        [9]
    """
    return _C.ops.concat([_C.ops.reshape(p, [-1]) for p in parameters], 0)


@no_grad()
def vector_to_parameters(vec, parameters, name=None):
    """Writes the elements of a vector into parameters, one after the other.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> proa.nn.utils.vector_to_parameters(proa.to_tensor([1.0, 2.0, 3.0]), net.parameters())
        >>> net.bias.tolist()
        [3.0]
    """
    parameters = list(parameters)
    sizes = [math.prod(p.shape) for p in parameters]
    if vec.size != sum(sizes):
        raise _C.located(
            ValueError(f"vector_to_parameters: the vector has {vec.size} elements, the parameters {sum(sizes)}")
        )
    for p, part in zip(parameters, _C.ops.split(vec, sizes, 0)):
        p.set_value(_C.ops.reshape(part, p.shape))
