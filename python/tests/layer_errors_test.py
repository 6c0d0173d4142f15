"""Every layer, called with what does not fit it: the error says which layer of the model it was, and what came."""

import traceback
import warnings

import pytest

import proa as paddle
from proa import nn
from python.tests.layer_cases import LAYERS, layer_of
from python.tests.public_cases import Case

DTYPES = ("int64", "float32", "float64", "bool", "complex64")


class Model(nn.Layer):
    def __init__(self, layer):
        super().__init__()
        self.body = nn.LayerList([nn.Identity(), layer])

    def forward(self, *inputs):
        return self.body[1](*inputs)


def _others(tensor):
    """Tensors of other ranks, sizes and dtypes; what is none."""
    yield "one dim more", tensor.unsqueeze(0)
    if tensor.ndim:
        yield "one dim less", tensor[0]
        yield "no dims", tensor.flatten()[0]
    for dim in range(tensor.ndim):
        yield f"dim {dim} doubled", paddle.concat([tensor, tensor], dim)
        yield f"dim {dim} empty", paddle.slice(tensor, [dim], [0], [0])
    for dtype in DTYPES:
        if tensor.dtype.name != dtype:
            yield dtype, tensor.astype(dtype)
    yield "text", "text"
    yield "nothing", None


def _calls(inputs):
    for place, tensor in enumerate(inputs):
        for what, other in _others(tensor):
            yield f"input {place}: {what}", [*inputs[:place], other, *inputs[place + 1 :]], other
    yield "one input less", inputs[:-1], None
    yield "inputs too many", [*inputs, *[inputs[0]] * 6], None


@pytest.mark.parametrize("name", LAYERS)
def test_errors_say_which_layer_and_what_came(name):
    layer, text = layer_of(name)
    case = Case(name, text, layer)
    inputs, _ = case.bind(*case.arguments())
    model, refused = Model(layer), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model(*inputs)
        for what, call, other in _calls(inputs):
            try:
                model(*call)
            except (ValueError, TypeError, IndexError, NotImplementedError) as e:
                lines = "".join(traceback.format_exception_only(e)).splitlines()
                refused.append(what)
            else:
                continue
            assert any(line.startswith("  in layer Model.body.1") for line in lines), (what, lines)
            if isinstance(other, paddle.Tensor):
                # A layer inside of this one may have got it in another shape.
                came = f"{other.shape} {other.dtype.name}"
                assert came in "".join(lines) or ", called with [" in lines[-1], (what, lines)
    assert "one input less" in refused or name == "Identity"
    assert "inputs too many" in refused, refused


def test_wrong_arguments_of_forward_and_of_hooks():
    model = nn.Sequential(nn.Linear(2, 3))
    with pytest.raises(TypeError, match=r"Linear.forward\(\) missing 1 required positional argument: 'input'") as e:
        model[0]()
    with pytest.raises(TypeError) as e:
        model(paddle.ones([1, 2]), mask=None)
    assert e.value.__notes__[0].endswith("  in layer Sequential, called with [1, 2] float32, mask=None")

    model[0].register_forward_pre_hook(lambda layer: None)
    with pytest.raises(TypeError, match="takes 1 positional argument") as e:
        model(paddle.ones([1, 2]))
    assert e.value.__notes__[0].endswith("in layer Sequential.0 (Linear), called with [1, 2] float32")


def test_a_type_error_of_the_users_own_stays_as_it_is():
    class Broken(nn.Layer):
        def forward(self, x):
            return len(3)

    with pytest.raises(TypeError) as e:
        nn.Sequential(Broken())(paddle.ones([1]))
    assert str(e.value) == "object of type 'int' has no len()" and not hasattr(e.value, "__notes__")


def test_inputs_of_every_kind_are_described():
    class Layer(nn.Layer):
        def forward(self, *inputs, **named):
            return paddle.ones([2]) + paddle.ones([3])

    x = paddle.ones([2, 3])
    with pytest.raises(ValueError, match="add") as e:
        Layer()(x, None, 1.5, "text", [x, (x, 1), {}, x], x.numpy(), scale=True, last=x)
    tensor = "[2, 3] float32"
    assert e.value.__notes__[0].splitlines()[-1] == (
        f"  in layer Layer, called with {tensor}, None, 1.5, str, list({tensor}, tuple({tensor}, 1), dict, ...), "
        f"ndarray {tensor}, scale=True, last={tensor}"
    )
