"""LayerObjectHelper: what `Layer._helper` is, for layers that are written with it."""

from proa import _C
from proa.fluid.layer_helper import LayerHelper
from proa.framework.dtype import convert_dtype

__all__ = ["LayerObjectHelper"]


class LayerObjectHelper(LayerHelper):
    """Makes the parameters of one layer and applies an activation by its name.

    Args:
        name (str): the layer's full name.

    Examples:
        >>> layer = proa.nn.Linear(2, 2)
        >>> layer._helper.append_activation(proa.to_tensor([-1.0, 1.0]), act="relu").tolist()
        [0.0, 1.0]
    """

    def __init__(self, name):
        super().__init__(name, name=name)

    def append_activation(self, input_var, act=None, use_cudnn=None):
        """The activation `act` of the input; the input itself without one."""
        if act is None:
            return input_var
        return LayerHelper(self.layer_type, name=self.name, act=act).append_activation(input_var)

    def get_default_dtype(self):
        """The name of the default floating point type."""
        return convert_dtype(_C.get_default_dtype())
