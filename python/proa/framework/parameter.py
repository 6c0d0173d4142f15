"""Parameter: a tensor that is trained; ParamAttr: what a layer's caller may say about one."""

from copy import deepcopy

from proa import _C
from proa.framework.dtype import as_dtype
from proa.utils import unique_name

_SETTINGS = ("optimize_attr", "regularizer", "need_clip", "do_model_average", "is_distributed")
# What layers and optimizers of several processes have noted on some: along which axis and among whom it is divided, who else
# has it, and how its gradients are added up.
_PLACE = (
    "split_axis",
    "split_group",
    "sequence_parallel",
    "is_shared_copy",
    "is_firstly_shared",
    "no_sync",
    "is_expert",
    "expert_group",
)


class Parameter(_C.Tensor):
    """A leaf tensor that optimizers update. Layers make them; so does `create_parameter`.

    Besides a tensor's attributes it has `trainable` (the reverse of
    `stop_gradient`), `optimize_attr` (`{"learning_rate": factor}`), `regularizer`,
    `need_clip`, `do_model_average` and `is_distributed`.
    """

    def __init__(self, tensor, name=None, trainable=True):
        """Takes over the storage of `tensor`."""
        self.name = name if name is not None else unique_name.generate("param")
        self.persistable = True
        self.stop_gradient = False  # frozen or not, it is known as a parameter then: autocast keeps its casts
        if not trainable:
            self.stop_gradient = True
        self.optimize_attr = {"learning_rate": 1.0}
        self.regularizer = None
        self.need_clip = True
        self.do_model_average = False
        self.is_distributed = False

    @property
    def trainable(self):
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, trainable):
        self.stop_gradient = not trainable

    def copy_settings_to(self, other):
        """Gives `other` this parameter's learning rate, regularizer and so on; returns it."""
        for name in _SETTINGS:
            setattr(other, name, deepcopy(getattr(self, name)))
        for name in _PLACE:
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))
        return other

    def __deepcopy__(self, memo):
        # Counted here and not by unique_name, which would remember the name of each parameter ever copied.
        count = self.__dict__.get("_copies", 0)
        self._copies = count + 1
        copy = parameter_of(lambda: self.detach().clone(), f"{self.name}_{count}", self.trainable)
        memo[id(self)] = copy
        return self.copy_settings_to(copy)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    __str__ = __repr__


def parameter_of(start, name=None, trainable=True):
    """A parameter that begins as `start()` says. In static mode too it has elements."""
    with _C.eager_mode():
        parameter = Parameter(start(), name, trainable)
    return started_by(start, parameter)


def started_by(start, tensor):
    """The tensor, which in static mode the program has when its layer is gone, and its startup program starts by `start()`."""
    if _C.in_static_mode():
        from proa.static.parameters import remember_made

        remember_made(tensor, start)
    return tensor


class ParamAttr:
    """What a caller says about a parameter of a layer.

    Args:
        name (str, optional): its name; unique names are made otherwise.
        initializer (Initializer, optional): how it starts.
        learning_rate (float): factor on the optimizer's rate.
        regularizer (L1Decay|L2Decay, optional): goes before the optimizer's weight_decay.
        trainable (bool): False keeps it as it is.
        do_model_average (bool): kept for averaging optimizers.
        need_clip (bool): False leaves its gradient out of clipping.

    Examples:
        >>> attr = proa.ParamAttr(learning_rate=0.5, trainable=True)
        >>> layer = proa.nn.Linear(3, 4, weight_attr=attr)
    """

    _of_programs = False  # whether a parameter of a layer cannot be as it says

    def __init__(
        self,
        name=None,
        initializer=None,
        learning_rate=1.0,
        regularizer=None,
        trainable=True,
        do_model_average=False,
        need_clip=True,
    ):
        if name is not None and (not isinstance(name, str) or not name):
            raise _C.located(ValueError(f"ParamAttr: name must be a non-empty str or None, not {name!r}"))
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average
        self.need_clip = need_clip

    @staticmethod
    def of(attr, owner="ParamAttr", argument="attr"):
        """The ParamAttr that `attr` stands for: None, a name, an initializer, a regularizer, a bool.

        False (no parameter at all) stays False.
        """
        if attr is None or attr is True:
            return ParamAttr()
        if attr is False or isinstance(attr, ParamAttr):
            return attr
        if isinstance(attr, str):
            return ParamAttr(name=attr)
        from proa.nn.initializer import Initializer
        from proa.regularizer import WeightDecayRegularizer

        if isinstance(attr, Initializer):
            return ParamAttr(initializer=attr)
        if isinstance(attr, WeightDecayRegularizer):
            return ParamAttr(regularizer=attr)
        raise _C.located(
            TypeError(
                f"{owner}: {argument} {attr!r} describes no parameter; give a ParamAttr, a name, an initializer, "
                "a regularizer, None or False"
            )
        )

    _to_attr = of  # the name under which programs call it


def make_parameter(shape, attr, dtype, is_bias, default_initializer, names):
    """The parameter that `attr` describes, or None when it is False.

    Without a name of its own it is given `names("w")`, or `names("b")`.

    The initializer is the first of: that of `attr`, the global one, the layer's
    default, Xavier uniform (zeros for a bias).
    """
    from proa.nn import initializer

    attr = ParamAttr.of(attr)
    if attr is False:
        return None
    if attr._of_programs:
        raise _C.located(
            TypeError(
                f"{type(attr).__name__} is for functions of programs, such as static.nn.fc; of a layer, "
                "nn.utils.weight_norm(layer) does the same"
            )
        )
    init = attr.initializer or initializer.global_initializer(is_bias) or default_initializer
    if init is None:
        init = initializer.Constant(0.0) if is_bias else initializer.XavierUniform()
    shape = [int(d) for d in shape]
    dtype = as_dtype(dtype) or _C.get_default_dtype()
    if attr.name is not None:
        name = attr.name
    else:
        name = names("b" if is_bias else "w")
    with _C.eager_mode():  # in static mode too: a program captures parameters, it does not make them
        parameter = Parameter(initializer.start_value(init, shape, dtype), name, attr.trainable)
        if initializer.fills_in_place(init):
            init(parameter)
    parameter.optimize_attr["learning_rate"] = attr.learning_rate
    parameter.regularizer = attr.regularizer
    parameter.need_clip = attr.need_clip
    parameter.do_model_average = attr.do_model_average
    return parameter


def _names_without_layer(key):
    return unique_name.generate(f"create_parameter_0.{key}")


def create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None) -> Parameter:
    """A parameter that belongs to no layer.

    Args:
        shape (list[int]): sizes.
        dtype (str): element type.
        name (str, optional): its name, when `attr` gives none.
        attr (ParamAttr, optional): initializer, learning rate and so on.
        is_bias (bool): start from zeros unless said otherwise.
        default_initializer (Initializer, optional): used if `attr` names none.

    Returns:
        Parameter: of that shape; gradients flow to it.

    Examples:
        >>> w = proa.create_parameter([2, 3], "float32")
        >>> w.shape, w.stop_gradient
        ([2, 3], False)
    """
    attr = ParamAttr.of(attr)
    if name is not None and attr is not False and attr.name is None:
        attr = ParamAttr(**{**attr.__dict__, "name": name})
    return make_parameter(shape, attr, dtype, is_bias, default_initializer, _names_without_layer)
