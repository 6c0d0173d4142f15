"""Parameters that functions of static mode make: found again by name, and started by the startup program."""

from proa import _C
from proa.framework.parameter import ParamAttr, make_parameter
from proa.static import scope as scopes
from proa.utils import unique_name

__all__ = ["WeightNormParamAttr", "create_global_var", "create_parameter", "program_parameter"]


class _Start:
    """A tensor of a scope, and how to give it its first value again."""

    def __init__(self, scope, tensor, again):
        self.scope, self.tensor, self.again = scope, tensor, again

    def run(self, scope):
        name = self.tensor.name
        if scope is not self.scope:
            self._run_elsewhere(scope, name)
        # It has its first value from when it was made; a second run of a startup program starts it anew.
        elif name in scope._started:
            with _C.eager_mode():
                self.tensor.set_value(self.again().detach().astype(self.tensor.dtype))
        scope._started.add(name)

    def _run_elsewhere(self, scope, name):
        from proa.static import binding

        with _C.eager_mode():
            value = binding.like(self.tensor, self.again())
            own = scope._own.get(name)
            if own is None or list(own.shape) != list(value.shape) or own.dtype != value.dtype:
                scope._own[name] = value
                scope._changes += 1
            else:
                stopped, own.stop_gradient = own.stop_gradient, True
                own.set_value(value)
                own.stop_gradient = stopped


def program_parameter(shape, attr, dtype, is_bias=False, default_initializer=None, prefix="create_parameter"):
    """The parameter that `attr` describes, or the one of this name and shape in the scope; None if `attr` is False.

    Args:
        shape (list[int]): sizes, all known.
        attr (ParamAttr|str|Initializer|bool, optional): its name, how it starts and so on.
        dtype: of the parameter.
        is_bias (bool): start from zeros unless said otherwise.
        default_initializer (Initializer, optional): used if `attr` names none.
        prefix (str): of its name, such as fc_0.

    Raises:
        ValueError: a size is not known.
    """
    attr = ParamAttr.of(attr)
    if attr is False:
        return None
    if isinstance(attr, WeightNormParamAttr):
        return _direction_and_length(shape, attr, dtype, default_initializer, prefix)
    unknown = [size for size in shape if size is None or int(size) < 0]
    if unknown:
        raise _C.located(
            ValueError(f"{prefix.rpartition('_')[0]}: a parameter of shape {list(shape)} needs sizes that are known")
        )
    name = attr.name or unique_name.generate(f"{prefix}.{'b' if is_bias else 'w'}")
    held = scopes.global_scope()._tensors
    parameter = held.get(name)
    named = ParamAttr(**{**attr.__dict__, "name": name})

    def made():
        return make_parameter(shape, named, dtype, is_bias, default_initializer, lambda key: name)

    from proa.framework.dtype import as_dtype

    kind = as_dtype(dtype) or _C.get_default_dtype()
    if parameter is None or list(parameter.shape) != [int(s) for s in shape] or parameter.dtype != kind:
        parameter = hold(name, made())
    remember(parameter, made)
    return parameter


def hold(name, tensor):
    """The scope of now finds a tensor by this name."""
    scope = scopes.global_scope()
    scope._tensors[name] = tensor
    scope._started.discard(name)
    return tensor


def remember(tensor, again):
    """The startup program of now starts a tensor that the program of now captures.

    Args:
        tensor (Tensor): has its first value already.
        again (Callable): gives that value, or draws it, again.
    """
    from proa.static import program

    start = _Start(scopes.global_scope(), tensor, again)
    program.default_startup_program()._starts[tensor.name] = start
    program.default_main_program()._made[tensor.name] = tensor


def remember_made(tensor, again):
    """`remember`, for what layers and optimizers make in static mode: the scope of now finds it by its name."""
    hold(tensor.name, tensor)
    remember(tensor, again)


class _RateStart:
    """The learning rate of an optimizer, which is one for all scopes: the startup program gives it the optimizer's number."""

    def __init__(self, optimizer):
        self._optimizer = optimizer

    def run(self, scope):
        self._optimizer._lr_value = None
        self._optimizer._lr()


def hold_rate(optimizer):
    """`remember_made`, for the tensor of a learning rate."""
    from proa.static import program

    rate = optimizer._lr_tensor
    hold(rate.name, rate)
    program.default_startup_program()._starts[rate.name] = _RateStart(optimizer)


def create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    """A parameter of the program that is being built.

    Args:
        shape (list[int]): sizes.
        dtype (str): element type.
        name (str, optional): its name, when `attr` gives none.
        attr (ParamAttr, optional): initializer, learning rate and so on.
        is_bias (bool): start from zeros unless said otherwise.
        default_initializer (Initializer, optional): used if `attr` names none.

    Examples:
        >>> proa.static.create_parameter([2, 3], "float32", name="w_of_example").shape
        [2, 3]
    """
    attr = ParamAttr.of(attr)
    if name is not None and attr is not False and attr.name is None:
        attr = ParamAttr(**{**attr.__dict__, "name": name})
    return program_parameter(shape, attr, dtype, is_bias, default_initializer, unique_name.generate("create_parameter"))


def create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None):
    """A tensor that keeps its value between runs, and is not trained.

    Args:
        shape (list[int]): sizes.
        value (number): its first value.
        dtype (str): element type.
        persistable (bool): saved with the program.
        force_cpu (bool): accepted.
        name (str, optional): its name.

    Examples:
        >>> static, main = proa.static, proa.static.Program()
        >>> with static.program_guard(main):
        ...     calls = static.create_global_var([1], 0.0, "float32", persistable=True)
        ...     now = proa.increment(calls)
        >>> executor = static.Executor()
        >>> [executor.run(main, fetch_list=[now])[0].tolist() for _ in range(2)]
        [[1.0], [2.0]]
    """
    from proa.framework.dtype import as_dtype

    name = name or unique_name.generate("global_var")

    def made():
        with _C.eager_mode():
            return _C.ops.full([int(size) for size in shape], value, as_dtype(dtype))

    tensor = made()
    tensor.name = name
    hold(name, tensor)
    tensor.persistable = bool(persistable)
    tensor.stop_gradient = True
    remember(tensor, made)
    return tensor


class WeightNormParamAttr(ParamAttr):
    """A parameter as a direction v and a length g, which are trained: g * v / |v| (Salimans & Kingma, 2016).

    For functions of programs, such as `static.nn.fc`; of layers see `paddle.nn.utils.weight_norm`. Their names are that of the
    parameter with `_v` and `_g` behind it.

    Args:
        dim (int, optional): g has a length for each index of this dim; one for all unless given.
        name, initializer, learning_rate, regularizer, trainable, need_clip: as of ParamAttr; g begins as the length of v.
        do_model_average (bool): accepted.

    Examples:
        >>> static, main = proa.static, proa.static.Program()
        >>> with static.program_guard(main, static.Program()):
        ...     y = static.nn.fc(static.data("x", [None, 2]), 3, weight_attr=static.WeightNormParamAttr(dim=1, name="w"))
        >>> sorted((p.name, p.shape) for p in main.all_parameters() if "w_" in p.name)[-2:]
        [('w_g', [3]), ('w_v', [2, 3])]
    """

    _of_programs = True

    def __init__(self, dim=None, name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True,
                 do_model_average=False, need_clip=True):  # fmt: skip
        super().__init__(name, initializer, learning_rate, regularizer, trainable, do_model_average, need_clip)
        if dim is not None and (isinstance(dim, bool) or not isinstance(dim, int)):
            raise _C.located(TypeError(f"WeightNormParamAttr: dim must be an int or None, not {dim!r}"))
        self.dim = dim


def _direction_and_length(shape, attr, dtype, default_initializer, prefix):
    """The value of a WeightNormParamAttr, computed from its two parameters."""
    from proa.nn.initializer import Assign

    dim = attr.dim if attr.dim is None or attr.dim >= 0 else attr.dim + len(shape)
    if dim is not None and not 0 <= dim < len(shape):
        raise _C.located(ValueError(f"WeightNormParamAttr: dim {attr.dim} is none of {list(shape)}"))
    name = attr.name or unique_name.generate(f"{prefix}.w")
    plain = {key: value for key, value in attr.__dict__.items() if key != "dim"}
    one = lambda end, **own: ParamAttr(**{**plain, "name": f"{name}_{end}", **own})
    direction = program_parameter(shape, one("v"), dtype, False, default_initializer, prefix)
    others = [axis for axis in range(len(shape)) if axis != dim]
    with _C.eager_mode():
        first = _length(direction.detach(), others, False)
    initializer = Assign(first.numpy() if dim is not None else first.numpy().reshape([1]))
    length = program_parameter(
        [1 if dim is None else shape[dim]], one("g", initializer=initializer), dtype, False, None, prefix
    )
    sizes = [1] * len(shape)
    sizes[dim or 0] = length.shape[0]
    return direction / _length(direction, others, True) * _C.ops.reshape(length, sizes)


def _length(tensor, axes, keepdim):
    return _C.ops.sqrt(_C.ops.sum(tensor * tensor, axis=axes, keepdim=keepdim)) if axes else _C.ops.abs(tensor)
