"""Models whose gradients (stage 2) or parameters too (stage 3) are divided among processes."""

import contextlib

from proa import _C
from proa.autograd import PyLayer, saved_tensors_hooks
from proa.distributed.fleet.meta_parallel.sharding.divided_optimizer import make_part, reduce_part, whole
from proa.distributed.fleet.utils.hybrid_parallel_util import broadcast_parameters, differs
from proa.framework.grad_mode import no_grad
from proa.nn.layer.layers import Layer

__all__ = ["DividedGradients", "DividedParameters"]


class _Wrapper(Layer):
    """A model whose names are its own."""

    def __init__(self, layers, group, kind):
        super().__init__(f"{layers.full_name()}_{kind}")
        self._layers, self._group = layers, group
        broadcast_parameters(layers, group)

    def forward(self, *inputs, **kwargs):
        """That of the model."""
        return self._layers(*inputs, **kwargs)

    def state_dict(self, destination=None, include_sublayers=True, use_hook=True, structured_name_prefix=""):
        """That of the model, with its names."""
        return self._layers.state_dict(destination, include_sublayers, use_hook, structured_name_prefix)

    def set_state_dict(self, state_dict, use_structured_name=True):
        """That of the model, with its names."""
        return self._layers.set_state_dict(state_dict, use_structured_name)

    set_dict = load_dict = set_state_dict


class DividedGradients(_Wrapper):
    """Stage 2: the model of a DividedOptimizer that reduces gradients in backward.

    Args:
        layers (Layer): the model.
        group (Group): the processes that divide.
    """

    def __init__(self, layers, group):
        super().__init__(layers, group, "divided_gradients")


class _Materialize(PyLayer):
    """The whole parameter of its parts; gradients are reduced to parts."""

    @staticmethod
    def forward(ctx, part, shape, group):
        ctx.group = group
        return whole(part, shape, group)

    @staticmethod
    def backward(ctx, grad):
        return reduce_part(grad, ctx.group, True)


class _Kept:
    """In place of a whole parameter that backward needs: where its parts are."""

    def __init__(self, part, shape):
        self.part, self.shape = part, shape


class DividedParameters(_Wrapper):
    """Stage 3: a layer's parameters are whole while it runs, forward and again in backward; between, each process has parts.

    `parameters()` gives the parts; `state_dict()` whole parameters, when all processes call it. A layer uses its own
    parameters in its forward; to use those of another layer: `with layer.whole_parameters(): ...`.

    Args:
        layers (Layer): the model.
        group (Group): the processes that divide.
    """

    def __init__(self, layers, group):
        super().__init__(layers, group, "divided_parameters")
        self._present = {}  # by address of elements: whole parameters of layers that run
        divided = {}  # by id: a parameter, which lives until all are divided, and its part
        for layer in [layers, *layers.sublayers()]:
            # Experts of which each process has others are divided as it is.
            own = [(name, p) for name, p in layer._parameters.items() if p is not None and not differs(p, group)]
            for name, p in own:
                if id(p) not in divided:
                    divided[id(p)] = (p, make_part(p, group))
                layer.__dict__[name] = divided[id(p)][1]
            if own:
                self._watch(layer, [name for name, _ in own])

    def _watch(self, layer, names):
        depth, swapped = [0], {}

        def before(layer, inputs):
            depth[0] += 1
            if depth[0] == 1:
                for name in names:
                    part = layer.__dict__[name]
                    found = _Materialize.apply(part, part.whole_shape, self._group)
                    self._present[found.data_ptr()] = part
                    layer.__dict__[name] = found
                    swapped[name] = part

        def after(layer, inputs, outputs):
            depth[0] -= 1
            if depth[0] == 0:
                for name in names:
                    self._present.pop(layer.__dict__[name].data_ptr(), None)
                    layer.__dict__[name] = swapped.pop(name)

        @contextlib.contextmanager
        def present():
            before(layer, None)
            try:
                yield
            finally:
                after(layer, None, None)

        layer.register_forward_pre_hook(before)
        layer.register_forward_post_hook(after)
        layer.__dict__["whole_parameters"] = present

    def _pack(self, tensor):
        part = self._present.get(tensor.data_ptr())
        # Not a view of other strides, such as the transpose of a square matrix, or of other elements' type.
        if part is None or list(tensor.shape) != part.whole_shape or not tensor.is_contiguous():
            return tensor
        if tensor.dtype != part.dtype:
            return tensor
        return _Kept(part, part.whole_shape)

    def _unpack(self, kept):
        return whole(kept.part.detach(), kept.shape, self._group) if isinstance(kept, _Kept) else kept

    def forward(self, *inputs, **kwargs):
        """That of the model."""
        with saved_tensors_hooks(self._pack, self._unpack):
            return self._layers(*inputs, **kwargs)

    @no_grad()
    def state_dict(self, destination=None, include_sublayers=True, use_hook=True, structured_name_prefix=""):
        """Whole parameters and buffers by the model's names. All processes call it together."""
        state = self._layers.state_dict(destination, include_sublayers, use_hook, structured_name_prefix)
        with _C.eager_mode():
            for name, value in state.items():
                if hasattr(value, "whole_shape"):
                    found = whole(value.detach(), value.whole_shape, self._group)
                    found.name = value.name
                    state[name] = found
        return state

    @no_grad()
    def set_state_dict(self, state_dict, use_structured_name=True):
        """Takes this process's parts of whole parameters."""
        from proa.distributed.fleet.meta_parallel.sharding.divided_optimizer import _tensor, part_of

        own = self._layers.state_dict()
        with _C.eager_mode():
            state = {
                name: part_of(_tensor(value), self._group) if hasattr(own.get(name), "whole_shape") else value
                for name, value in state_dict.items()
            }
        return self._layers.set_state_dict(state, use_structured_name)

    set_dict = load_dict = set_state_dict

    def get_all_parameters(self, convert2cpu=False):
        """Whole parameters, in the order of the model; the model keeps its parts. All processes call it together."""
        state = self.state_dict()
        return [value for name, value in state.items() if name in dict(self._layers.named_parameters())]
