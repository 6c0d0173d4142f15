"""TracedLayer: a layer recorded with the inputs of one call."""

from proa import _C

__all__ = ["TracedLayer"]


class TracedLayer:
    """What `TracedLayer.trace` gives: called with a list of tensors, it runs the program that was recorded.

    Examples:
        >>> x = proa.ones([3, 2])
        >>> y, traced = proa.jit.TracedLayer.trace(proa.nn.Linear(2, 4), [x])
        >>> traced([x])[0].shape
        [3, 4]
    """

    def __init__(self, program, parameters, feed_names, fetch_names):
        self._function = program
        self._layer, self._inputs, self._outputs = parameters, feed_names, fetch_names

    @staticmethod
    def trace(layer, inputs):
        """Calls the layer with tensors, and records it.

        Args:
            layer (Layer): it.
            inputs (list[Tensor]): of the call.

        Returns:
            (outputs, TracedLayer)
        """
        from proa.jit.input_spec import InputSpec
        from proa.jit.static_function import to_static
        from proa.nn import Layer

        if not isinstance(layer, Layer):
            raise _C.located(TypeError(f"TracedLayer.trace: layer must be a Layer, not {type(layer).__name__}"))
        inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        outputs = layer(*inputs)
        specs = [InputSpec([-1 if i == 0 else d for i, d in enumerate(t.shape)], t.dtype) for t in inputs]
        function = to_static(layer.forward, input_spec=specs)
        return outputs, TracedLayer(function, layer, specs, outputs)

    def __call__(self, inputs):
        """The results of the recorded program, as a list."""
        inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        results = self._function(*inputs)
        return list(results) if isinstance(results, (list, tuple)) else [results]

    def set_strategy(self, build_strategy=None, exec_strategy=None):
        """Accepted: programs are compiled one way."""

    def save_inference_model(self, path, feed=None, fetch=None, **kwargs):
        """Writes the program with its parameters, as `jit.save` does.

        Args:
            path (str): the first part of the names.
            feed, fetch (list[int], optional): not in this version but for all of them.
        """
        from proa.jit.saving import save

        for name, chosen in (("feed", feed), ("fetch", fetch)):
            count = len(self._inputs) if name == "feed" else None
            if chosen is not None and count is not None and list(chosen) != list(range(count)):
                raise _C.located(
                    NotImplementedError(f"TracedLayer.save_inference_model: {name} must be all of them in this version")
                )
        save(self._layer, path, input_spec=self._inputs)
