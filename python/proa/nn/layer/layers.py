"""Layer: the base of everything with parameters."""

import collections
import re
import warnings
from collections.abc import Iterator
from typing import Self

from proa import _C
from proa.framework.attributes import wrong
from proa.framework.dtype import as_dtype, convert_dtype
from proa.framework.parameter import ParamAttr, Parameter, make_parameter
from proa.nn.layer import paths, use
from proa.nn.layer.members import KINDS, HookRemoveHelper, Members, outlives
from proa.nn.layer.misfits import what_does_not_fit
from proa.nn.layer.moving import move
from proa.utils import unique_name

Tensor = _C.Tensor
_watching = use.watching


def _build_before_first_call(layer, inputs):
    if not layer._built:
        layer._build_once(*inputs)
        layer._built = True


def _snake_case(name):
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)).lower()


def _as_it_is(function):
    return function


class Layer:
    """Base class of layers. Assign parameters, buffers and sublayers as attributes; define `forward`.

    Args:
        name_scope (str, optional): prefix of the layer's unique name; the class name unless given.
        dtype (str, optional): dtype of parameters created without one; the default dtype unless given.

    Examples:
        >>> class Mlp(proa.nn.Layer):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.hidden = proa.nn.Linear(4, 8)
        ...         self.out = proa.nn.Linear(8, 2)
        ...     def forward(self, x):
        ...         return self.out(proa.nn.functional.relu(self.hidden(x)))
        >>> Mlp()(proa.ones([3, 4])).shape
        [3, 2]
    """

    # Names in the order of assignment; what they name are attributes.
    _parameter_names: dict[str, None]
    _buffer_names: dict[str, None]
    _sublayer_names: dict[str, None]
    _full_name: str

    _built = False  # whether _build_once was called
    # Attributes that a hook computes anew in each call, by the hook that does: no state, so copies compute their own.
    _computed_by: dict[str, object] = {}
    # What subclasses in public programs read; nothing here depends on it.
    _cast_to_low_precision = True
    _init_in_dynamic_mode = True

    def __init__(self, name_scope=None, dtype=None):
        attributes = self.__dict__
        attributes["_parameter_names"] = {}
        attributes["_buffer_names"] = {}
        attributes["_sublayer_names"] = {}
        attributes["_non_persistable_buffer_names_set"] = set()
        attributes["_forward_pre_hooks"] = use.Hooks()
        attributes["_forward_post_hooks"] = use.Hooks()
        attributes["_full_name"] = unique_name.generate(name_scope or _snake_case(type(self).__name__))
        attributes["_dtype"] = convert_dtype(_C.get_default_dtype() if dtype is None else dtype)
        attributes["training"] = True
        if type(self)._build_once is not Layer._build_once:
            self.register_forward_pre_hook(_build_before_first_call)

    # Calling ---------------------------------------------------------------

    def forward(self, *inputs, **kwargs):
        """The computation of the layer; subclasses define it."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define forward"))

    def _build_once(self, *inputs):
        """Is called with the inputs of the first call, before forward: where layers of 1.x make their parameters."""

    def __call__(self, *inputs, **kwargs):
        try:
            if not (self._forward_pre_hooks or self._forward_post_hooks or _watching):
                return self.forward(*inputs, **kwargs)
            return self._call_with_hooks(inputs, kwargs)
        except TypeError as e:
            # Arguments that forward, or a hook, does not take: Python names the function, not which of the layers it is.
            inner = e.__traceback__.tb_next
            if inner is None or inner.tb_next is None and inner.tb_frame.f_code is Layer._call_with_hooks.__code__:
                raise _C.located(e) from None
            raise

    def _call_with_hooks(self, inputs, kwargs):
        if _watching:
            use.note_call(self)
        recorded = use.recorded if _watching else _as_it_is
        for hook in list(self._forward_pre_hooks.values()):
            replaced = recorded(hook)(self, inputs)
            if replaced is not None:
                inputs = replaced if isinstance(replaced, tuple) else (replaced,)
        outputs = recorded(self.forward)(*inputs, **kwargs)
        for hook in list(self._forward_post_hooks.values()):
            replaced = recorded(hook)(self, inputs, outputs)
            if replaced is not None:
                outputs = replaced
        return outputs

    def register_forward_pre_hook(self, hook):
        """Calls `hook(layer, inputs)` before forward; what it returns, if anything, replaces the inputs.

        Returns:
            HookRemoveHelper: call its `remove()` to take the hook away.
        """
        handle = HookRemoveHelper(self._forward_pre_hooks)
        self._forward_pre_hooks[handle._hook_id] = hook
        return handle

    def register_forward_post_hook(self, hook):
        """Calls `hook(layer, inputs, outputs)` after forward; what it returns, if anything, replaces the outputs.

        Returns:
            HookRemoveHelper: call its `remove()` to take the hook away.
        """
        handle = HookRemoveHelper(self._forward_post_hooks)
        self._forward_post_hooks[handle._hook_id] = hook
        return handle

    @property
    def training(self):
        """Whether the layer is in training: dropout drops, batch norm learns statistics."""
        try:
            training = self.__dict__["training"]
        except KeyError:
            raise AttributeError(f"{type(self).__name__}: call super().__init__() before reading training") from None
        if _watching:
            use.note_read(self, training)
        return training

    @training.setter
    def training(self, training):
        self._set_own_training(training)

    def _set_own_training(self, training):
        attributes = self.__dict__
        if _watching:
            use.note_write(self)
        if attributes.get("training") is not training:
            attributes["training"] = training
            use.changed()

    # Copies ----------------------------------------------------------------

    def __getstate__(self):
        """What copy and pickle take. A value that a hook computed has a graph, and belongs to the parameters of this layer."""
        return {name: value for name, value in self.__dict__.items() if name not in self._computed_by}

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name, hook in self._computed_by.items():
            self.__dict__[name] = hook.value(self)

    # Members ---------------------------------------------------------------

    @property
    def _parameters(self):
        return Members(self.__dict__, self._parameter_names)

    @property
    def _buffers(self):
        return Members(self.__dict__, self._buffer_names)

    @property
    def _sub_layers(self):
        return Members(self.__dict__, self._sublayer_names)

    @property
    def _helper(self):
        """For layers that make their parameters by it."""
        from proa.fluid.dygraph.layer_object_helper import LayerObjectHelper

        return LayerObjectHelper(self._full_name)

    def __setattr__(self, name, value):
        attributes = self.__dict__
        if isinstance(value, Parameter):
            self._claim(name, "_parameter_names", "a parameter")
        elif isinstance(value, Layer):
            if name in attributes.get("_parameter_names", ()):
                raise _C.located(
                    TypeError(f"{type(self).__name__}: {name!r} is a parameter; del it before it becomes a sublayer")
                )
            self._claim(name, "_sublayer_names", "a sublayer")
        elif "_parameter_names" in attributes:
            if name in self._parameter_names and value is not None:
                # A running mean is a parameter and a buffer.
                if name in self._buffer_names and isinstance(value, Tensor):
                    value = Parameter(value.detach(), value.name, trainable=False)
                    attributes[name] = value
                    use.changed()
                    return
                raise _C.located(
                    TypeError(
                        f"{type(self).__name__}: {name!r} is a parameter; assign a Parameter or None, not {_kind(value)}"
                    )
                )
            if isinstance(value, Tensor):
                if name in self._sublayer_names:
                    raise _C.located(
                        TypeError(
                            f"{type(self).__name__}: {name!r} is a sublayer; assign a Layer or None, not a Tensor"
                        )
                    )
                # A tensor that is set as an attribute moves with the layer, and is not saved.
                known = name in self._buffer_names or hasattr(type(self), name)
                if not known and not _C.is_symbolic(value):  # values of a program are gone with it
                    self._claim(name, "_buffer_names", "a buffer")
                    self._non_persistable_buffer_names_set.add(name)
            elif name in self._non_persistable_buffer_names_set:
                self._buffer_names.pop(name, None)
                self._non_persistable_buffer_names_set.discard(name)
            elif name in self._buffer_names and value is not None:
                raise _C.located(
                    TypeError(f"{type(self).__name__}: {name!r} is a buffer; assign a Tensor, not {_kind(value)}")
                )
            if name in self._buffer_names and outlives(attributes.get(name), value):
                return
            if name in self._sublayer_names:
                use.changed()
                if value is not None:
                    del self._sublayer_names[name]
        held = getattr(type(self), name, None)
        if held is None:
            attributes[name] = value
        elif hasattr(type(held), "__set__"):  # a property, or another descriptor
            object.__setattr__(self, name, value)
        elif name == "__class__":
            object.__setattr__(self, name, value)
            use.changed()
        else:
            attributes[name] = value

    def _claim(self, name, kind, what):
        """Makes `name` one of the parameters or sublayers, and of nothing else."""
        attributes = self.__dict__
        if "_parameter_names" not in attributes:
            raise _C.located(RuntimeError(f"{type(self).__name__}: call super().__init__() before assigning {what}"))
        for other in KINDS:
            if other != kind:
                attributes[other].pop(name, None)
        # A parameter is saved, whatever bore its name before.
        self._non_persistable_buffer_names_set.discard(name)
        attributes[kind].setdefault(name)
        use.changed()

    def __delattr__(self, name):
        use.changed()
        object.__delattr__(self, name)
        for names in (self._parameter_names, self._buffer_names, self._sublayer_names, self._computed_by):
            names.pop(name, None)
        self._non_persistable_buffer_names_set.discard(name)

    def _check_name(self, name, what):
        """Names of parameters and buffers are attributes; those of sublayers only keys of the state."""
        if not isinstance(name, str):
            raise _C.located(TypeError(f"{type(self).__name__}: the name of {what} must be a str, not {_kind(name)}"))
        if "." in name or not name:
            raise KeyError(f"{type(self).__name__}: the name of {what} must be without dots and not empty: {name!r}")
        self._check_kind(name, what)
        # An attribute that holds None, or a tensor that is no buffer, waits for its value.
        waits = name in self.__dict__ and (self.__dict__[name] is None or isinstance(self.__dict__[name], Tensor))
        known = any(name in self.__dict__[names] for names in KINDS)
        if (name in self.__dict__ or hasattr(type(self), name)) and not waits and not known:
            raise KeyError(f"{type(self).__name__}: {name!r} exists already, and is not {what}")

    def _check_kind(self, name, what):
        """What is registered under a name is not lost by registering something of another kind there."""
        kinds = [kind for names, kind in KINDS.items() if name in self.__dict__[names]]
        if kinds and what not in kinds:
            raise KeyError(f"{type(self).__name__}: {name!r} is {kinds[0]} already; del it before it becomes {what}")

    def add_parameter(self, name, parameter):
        """Adds a parameter (or None) under this name, and returns it."""
        self._check_name(name, "a parameter")
        if parameter is not None and not isinstance(parameter, Parameter):
            raise _C.located(
                TypeError(f"{type(self).__name__}: {name!r} must be a Parameter or None, not {_kind(parameter)}")
            )
        self._claim(name, "_parameter_names", "a parameter")
        self.__dict__[name] = parameter
        return parameter

    def add_sublayer(self, name, sublayer):
        """Adds a layer under this name, and returns it."""
        name = str(name)
        if hasattr(type(self), name):
            raise KeyError(f"{type(self).__name__}: {name!r} exists already, and is not a sublayer")
        self._check_kind(name, "a sublayer")
        if sublayer is not None and not isinstance(sublayer, Layer):
            raise _C.located(
                TypeError(f"{type(self).__name__}: {name!r} must be a Layer or None, not {_kind(sublayer)}")
            )
        self._claim(name, "_sublayer_names", "a sublayer")
        self.__dict__[name] = sublayer
        return sublayer

    def add_module(self, name, module):
        """`add_sublayer` by its newer name."""
        return self.add_sublayer(name, module)

    def register_buffer(self, name, tensor, persistable=True):
        """Adds a tensor that is saved with the layer but not trained, such as a running mean.

        Args:
            name (str): its attribute name.
            tensor (Tensor|None): the value.
            persistable (bool): False leaves it out of `state_dict`.
        """
        self._check_name(name, "a buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise _C.located(
                TypeError(f"{type(self).__name__}: {name!r} must be a Tensor or None, not {_kind(tensor)}")
            )
        if tensor is not None:
            _C.take_elements(tensor)  # made while a program is recorded: it outlives the program
        self._claim(name, "_buffer_names", "a buffer")
        if not persistable:
            self._non_persistable_buffer_names_set.add(name)
        elif tensor is not None:
            tensor.persistable = True
        self.__dict__[name] = tensor

    def create_parameter(self, shape, attr=None, dtype=None, is_bias=False, default_initializer=None):
        """A parameter named after this layer; assign it to an attribute to register it.

        Args:
            shape (list[int]): sizes.
            attr (ParamAttr|str|Initializer|bool, optional): False gives None, no parameter.
            dtype (str, optional): that of the layer unless given.
            is_bias (bool): start from zeros unless said otherwise.
            default_initializer (Initializer, optional): used if `attr` names none.
        """
        attr = ParamAttr.of(attr, type(self).__name__, "bias_attr" if is_bias else "weight_attr")
        arguments = shape, attr, dtype or self._dtype, is_bias, default_initializer
        made = make_parameter(*arguments, self._name_family())
        if made is not None and _C.in_static_mode():
            from proa.static.parameters import remember_made

            name = made.name
            remember_made(made, lambda: make_parameter(*arguments, lambda key: name))
        return made

    def _name_family(self):
        names = self.__dict__.get("_parameter_name_family")
        if names is None:
            names = self.__dict__["_parameter_name_family"] = unique_name.Family(self._full_name)
        return names

    def create_variable(self, name=None, persistable=None, dtype=None):
        """An empty tensor named after this layer."""
        return self.create_tensor(name, persistable, dtype)

    def create_tensor(self, name=None, persistable=None, dtype=None):
        """An empty tensor named after this layer."""
        tensor = _C.ops.full([0], 0.0, as_dtype(dtype or self._dtype))
        tensor.name = f"{self._full_name}.{name}" if name else self._name_family()("_generated_var")
        tensor.persistable = bool(persistable)
        return tensor

    # Walking ---------------------------------------------------------------

    def full_name(self) -> str:
        """A name unlike any other layer's, such as linear_0."""
        return self._full_name

    def named_children(self) -> "Iterator[tuple[str, Layer]]":
        """(name, layer) of each direct sublayer."""
        seen = set()
        for name in self._sublayer_names:
            layer = self.__dict__[name]
            if layer is not None and id(layer) not in seen:
                seen.add(id(layer))
                yield name, layer

    def children(self) -> "Iterator[Layer]":
        """Each direct sublayer."""
        for _, layer in self.named_children():
            yield layer

    def named_sublayers(self, prefix="", include_self=False, layers_set=None) -> "Iterator[tuple[str, Layer]]":
        """(dotted name, layer) of all layers below, parents first, each once."""
        seen = set() if layers_set is None else layers_set
        if self in seen:
            return
        seen.add(self)
        if include_self:
            yield prefix, self
        for name in self._sublayer_names:
            layer = self.__dict__[name]
            if layer is not None:
                yield from layer.named_sublayers(_join(prefix, name), True, seen)

    def sublayers(self, include_self=False) -> "list[Layer]":
        """All layers below, parents first."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def _named_members(self, kind, prefix, include_sublayers):
        seen = set()
        layers = self.named_sublayers(prefix, True) if include_sublayers else [(prefix, self)]
        for layer_prefix, layer in layers:
            for name in layer.__dict__[kind]:
                value = layer.__dict__[name]
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield _join(layer_prefix, name), value

    def named_parameters(self, prefix="", include_sublayers=True) -> Iterator[tuple[str, Parameter]]:
        """(dotted name, parameter) of all parameters, each once."""
        return self._named_members("_parameter_names", prefix, include_sublayers)

    def parameters(self, include_sublayers=True) -> list[Parameter]:
        """All parameters, each once."""
        return [parameter for _, parameter in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(self, prefix="", include_sublayers=True) -> Iterator[tuple[str, _C.Tensor]]:
        """(dotted name, buffer) of all buffers, each once."""
        return self._named_members("_buffer_names", prefix, include_sublayers)

    def buffers(self, include_sublayers=True) -> list[_C.Tensor]:
        """All buffers, each once."""
        return [buffer for _, buffer in self.named_buffers(include_sublayers=include_sublayers)]

    def apply(self, fn):
        """Calls `fn(layer)` for all layers below and at last for this one, which it returns."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    def _set_training(self, training):
        for layer in self.sublayers(include_self=True):
            layer._set_own_training(training)

    def train(self):
        """Sets this layer and all below to training: dropout drops, batch norm learns statistics."""
        self._set_training(True)
        return self

    def eval(self):
        """Sets this layer and all below to evaluation."""
        self._set_training(False)
        return self

    def clear_gradients(self, set_to_zero=True):
        """Clears the gradients of all parameters."""
        use.refuse_in_recording(f"{type(self).__name__}.clear_gradients")
        for parameter in self.parameters():
            if parameter.trainable:
                parameter.clear_gradient(set_to_zero)

    # State -----------------------------------------------------------------

    def state_dict(self, destination=None, include_sublayers=True, use_hook=True, structured_name_prefix=""):
        """All parameters and persistable buffers by dotted name; the tensors themselves, not copies.

        Args:
            destination (dict, optional): filled and returned, if given.
            include_sublayers (bool): with those of the layers below.
            use_hook (bool): of networks that `amp.decorate(save_dtype=...)` made ready, copies in that dtype.
        """
        state = collections.OrderedDict() if destination is None else destination
        attributes = self.__dict__
        for name in (*self._parameter_names, *self._buffer_names):
            if attributes[name] is not None and name not in self._non_persistable_buffer_names_set:
                state[structured_name_prefix + name] = attributes[name]
        if include_sublayers:
            for name in self._sublayer_names:
                if attributes[name] is not None:
                    attributes[name].state_dict(state, True, use_hook, f"{structured_name_prefix}{name}.")
        return state

    def to_static_state_dict(self, destination=None, include_sublayers=True, use_hook=True):
        """`state_dict` with the buffers that are not persistable too."""
        state = self.state_dict(destination, include_sublayers, use_hook)
        for name, buffer in self.named_buffers(include_sublayers=include_sublayers):
            state[name] = buffer
        return state

    def set_state_dict(self, state_dict, use_structured_name=True):
        """Copies values into the parameters and buffers of this layer and those below.

        Args:
            state_dict (dict): tensors or arrays by dotted name.
            use_structured_name (bool): False finds values by the tensors' own names, such as linear_0.w_0.

        Returns:
            (missing, unexpected): names of this layer without a value, and names that this layer does not have.
            A value of another shape is skipped, as when a head for other classes is loaded; its name is in both lists.
            Where something is missing, a warning names it, what looks like it, and what is left over.

        Examples:
            >>> a, b = proa.nn.Linear(2, 3), proa.nn.Linear(2, 3)
            >>> b.set_state_dict(a.state_dict())
            ([], [])
        """
        if not hasattr(state_dict, "keys"):
            raise wrong(
                "set_state_dict", "state_dict", "a dict of tensors by name, as paddle.load gives it", state_dict
            )
        matched, missing, misfits = [], [], {}
        unused = dict.fromkeys(key for key in state_dict if key != "StructuredToParameterName@@")
        own = self.state_dict(use_hook=False)
        for name, target in own.items():
            key = name if use_structured_name else target.name
            if key not in unused:
                missing.append((key, target))
                continue
            value = state_dict[key]
            if not hasattr(value, "shape"):
                raise wrong("set_state_dict", repr(key), "a Tensor or an array", value)
            if list(value.shape) != list(target.shape):
                missing.append((key, None))
                misfits[key] = f"{key!r} is {list(target.shape)}, but {list(value.shape)} in the given state"
                continue
            del unused[key]
            matched.append((target, value))
        # A parameter of two names, as those of an LSTM, needs one of them.
        set_ = {id(target) for target, _ in matched}
        missing = [key for key, target in missing if id(target) not in set_]
        if missing and state_dict:
            absent, left = ([k for k in keys if k not in misfits] for keys in (missing, unused))
            what = what_does_not_fit(type(self).__name__, list(misfits.values()), absent, left, bool(matched))
            warnings.warn(f"set_state_dict: {what}", stacklevel=2)
        grad = _C.is_grad_enabled()
        _C.set_grad_enabled(False)
        try:
            for target, value in matched:
                target.set_value(value)
        finally:
            _C.set_grad_enabled(grad)
        return missing, list(unused)

    set_dict = set_state_dict
    load_dict = set_state_dict

    def to(self, device=None, dtype=None, blocking=None) -> Self:
        """Moves parameters and buffers to a device, and floating point ones to a dtype; returns the layer.

        They change in place: optimizers and others that hold them hold what they become, with their gradients.

        Args:
            device (str|Place, optional): such as "cpu" or "gpu:0".
            dtype (str, optional): a floating point type.
            blocking (bool, optional): wait until the copies are done; they always are on the CPU.
        """
        dtype = as_dtype(dtype)
        for layer in self.sublayers(include_self=True):
            for name in dict.fromkeys((*layer._parameter_names, *layer._buffer_names)):
                if layer.__dict__[name] is not None:
                    move(layer.__dict__[name], device, dtype)
                    use.changed()
            if dtype is not None:
                layer.__dict__["_dtype"] = dtype.name
        return self

    def astype(self, dtype=None) -> Self:
        """`to(dtype=dtype)`."""
        return self.to(dtype=dtype)

    def float(self) -> Self:
        """`to(dtype="float32")`."""
        return self.to(dtype="float32")

    def double(self) -> Self:
        """`to(dtype="float64")`."""
        return self.to(dtype="float64")

    def half(self) -> Self:
        """`to(dtype="float16")`."""
        return self.to(dtype="float16")

    def bfloat16(self) -> Self:
        """`to(dtype="bfloat16")`."""
        return self.to(dtype="bfloat16")

    # Printing --------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands between the brackets of the layer's text."""
        return ""

    def __repr__(self):
        lines = []
        for name in self._sublayer_names:
            lines.append(f"({name}): " + repr(self.__dict__[name]).replace("\n", "\n  "))
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}({extra}\n  " + "\n  ".join(lines) + "\n)"

    def _repr_html_(self):
        from proa.framework import html

        return html.layer(self)

    def __dir__(self):
        return sorted({*object.__dir__(self)})


def _join(prefix, name):
    return f"{prefix}.{name}" if prefix else name


def _kind(value):
    return type(value).__name__


_C.set_layer_call(Layer.__call__.__code__, paths.path_of, paths.inputs_of)
