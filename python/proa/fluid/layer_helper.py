"""LayerHelper: how functions of 2.x made parameters and called ops; here for programs that write such functions."""

from proa import _C
from proa.framework import ParamAttr
from proa.utils import unique_name

__all__ = ["LayerHelper", "LayerHelperBase"]


class LayerHelper:
    """What a function of this kind needs.

    Args:
        layer_type (str): the name of the op.
        kwargs: the arguments of the function: `input`, `param_attr`, `bias_attr`, `act`, `name`, ...

    Examples:
        >>> helper = proa.fluid.layer_helper.LayerHelper("example", act="relu")
        >>> w = helper.create_parameter(None, [2, 3], "float32")
        >>> helper.append_activation(w - 10.0).max().item()
        0.0
    """

    def __init__(self, layer_type, **kwargs):
        self.layer_type = layer_type
        self.kwargs = kwargs
        self.name = kwargs.get("name") or unique_name.generate(layer_type)

    # Arguments ---------------------------------------------------------------

    def multiple_input(self, input_param_name="input"):
        """The inputs, as a list."""
        given = self.kwargs.get(input_param_name, [])
        return list(given) if isinstance(given, (list, tuple)) else [given]

    def input(self, input_param_name="input"):
        """The only input."""
        inputs = self.multiple_input(input_param_name)
        if len(inputs) != 1:
            raise _C.located(ValueError(f"{self.layer_type}: one input is expected, not {len(inputs)}"))
        return inputs[0]

    @property
    def param_attr(self):
        return ParamAttr.of(self.kwargs.get("param_attr"))

    @property
    def bias_attr(self):
        return ParamAttr.of(self.kwargs.get("bias_attr"))

    def input_dtype(self, input_param_name="input"):
        """The dtype of the inputs; they must have one."""
        kinds = {tensor.dtype for tensor in self.multiple_input(input_param_name)}
        if len(kinds) > 1:
            raise _C.located(ValueError(f"{self.layer_type}: the inputs are of several dtypes"))
        return kinds.pop() if kinds else None

    @property
    def main_program(self):
        from proa.static.program import default_main_program

        return default_main_program()

    @property
    def startup_program(self):
        from proa.static.program import default_startup_program

        return default_startup_program()

    # Making ------------------------------------------------------------------

    def create_parameter(self, attr, shape, dtype=None, is_bias=False, default_initializer=None, stop_gradient=False):
        """A parameter, or None if `attr` is False."""
        if _C.in_static_mode():
            from proa.static.parameters import program_parameter

            made = program_parameter(shape, attr, dtype, is_bias, default_initializer, self.name)
        else:
            from proa.framework.parameter import make_parameter

            names = lambda key: unique_name.generate(f"{self.name}.{key}")
            made = make_parameter(shape, attr, dtype, is_bias, default_initializer, names)
        if made is not None and stop_gradient:
            made.stop_gradient = True
        return made

    def create_variable_for_type_inference(self, dtype, stop_gradient=False, shape=None):
        """An empty tensor, to be written into."""
        from proa.fluid.layers.tensor import create_tensor

        return create_tensor(dtype or "float32")

    create_tmp_variable = create_variable_for_type_inference

    def create_variable(self, *args, **kwargs):
        """An empty tensor of a name."""
        return self.create_global_variable(*args, **kwargs)

    def create_global_variable(self, persistable=False, *args, **kwargs):
        """A tensor that keeps its value between runs."""
        from proa.static.parameters import create_global_var

        return create_global_var(
            kwargs.get("shape") or [], 0.0, kwargs.get("dtype") or "float32", persistable, name=kwargs.get("name")
        )

    def set_variable_initializer(self, var, initializer):
        """Gives a variable its first value."""
        with _C.eager_mode():
            var.set_value(initializer.make(list(var.shape), var.dtype))
        return var

    def append_bias_op(self, input_var, dim_start=1, dim_end=None):
        """The input plus a bias of the dims from `dim_start` to `dim_end`."""
        bias = self.create_parameter(self.bias_attr, list(input_var.shape[dim_start:dim_end]), input_var.dtype, True)
        if bias is None:
            return input_var
        from proa.framework.reference_ops import align

        return input_var + align(input_var, bias, dim_start)

    def append_activation(self, input_var):
        """The activation `act` of the input, if the arguments name one."""
        from proa.fluid.layers.arguments import act_on

        act = self.kwargs.get("act")
        return act_on(input_var, act.get("type") if isinstance(act, dict) else act)

    def append_op(self, *args, **kwargs):
        """Calls an op by the reference's name. Not in this version: call its function.

        Raises:
            NotImplementedError: always.
        """
        kind = kwargs.get("type", args[0] if args else None)
        raise _C.located(
            NotImplementedError(
                f"LayerHelper.append_op: ops are not appended by their description here; call the function of {kind!r} in "
                "paddle or paddle.nn.functional, or paddle._C_ops"
            )
        )


LayerHelperBase = LayerHelper
