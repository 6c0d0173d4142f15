"""Hooks that compute what a layer's forward works with: where the forward is converted, they are part of its program."""

from proa.nn.layer import use


class _Whole:
    """A layer's forward behind some of its hooks."""

    def __init__(self, forward, layer, hooks):
        self._forward, self._layer, self._hooks = forward, layer, hooks
        self.__func__ = getattr(forward, "__func__", forward)  # for those who look at its code

    def __call__(self, *args, **kwargs):
        for hook in self._hooks:
            hook.compute(self._layer)
        return use.recorded(self._forward)(*args, **kwargs)


def with_hooks(forward, layer):
    """The forward of a layer, behind the hooks that belong to it; itself if there are none.

    Such a hook has a method `compute(layer)`, which it leaves to a forward that `runs_inner_hooks` where the layer is called: a
    program that held the value of the first call would never see that a parameter has changed.
    """
    hooks = [h for h in getattr(layer, "_forward_pre_hooks", {}).values() if hasattr(h, "compute")]
    return _Whole(forward, layer, hooks) if hooks else forward
