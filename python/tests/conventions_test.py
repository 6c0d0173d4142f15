"""Types, methods and properties as programs of the reference use them."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import proa
from proa import _C, nn

# Places -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["CPUPlace", "CUDAPlace", "CUDAPinnedPlace", "XPUPlace", "NPUPlace", "CustomPlace"])
def test_places_are_types(name):
    kind = getattr(proa, name)
    assert isinstance(kind, type) and issubclass(kind, _C.Place)
    assert not isinstance(3, kind)


def test_places():
    cpu, gpu = proa.CPUPlace(), proa.CUDAPlace(1)
    assert isinstance(cpu, proa.CPUPlace) and not isinstance(cpu, proa.CUDAPlace)
    assert isinstance(gpu, proa.CUDAPlace) and gpu.get_device_id() == 1
    assert repr(cpu) == "Place(cpu)" and repr(gpu) == "Place(gpu:1)"
    assert cpu._equals(proa.CPUPlace()) and not cpu._equals(gpu) and gpu._equals(proa.CUDAPlace(1))
    x = proa.ones([1])
    assert isinstance(x.place, proa.CPUPlace) and x.place == cpu and cpu == x.place and x.place._equals(cpu)
    assert not x.place.is_xpu_place() and not x.place.is_npu_place()
    for place in (cpu, gpu, proa.CUDAPinnedPlace()):
        assert copy.copy(place) == place == pickle.loads(pickle.dumps(place))
    for kind in (proa.XPUPlace, proa.NPUPlace):
        with pytest.raises(NotImplementedError, match=f"{kind.__name__}: there is no such device"):
            kind(0)
    with pytest.raises(ValueError):
        proa.CustomPlace("cpu", 0)
    with pytest.raises(ValueError, match="at least 0"):
        proa.CUDAPlace(-1)


def test_classes_are_types():
    """What programs use in isinstance and as a base is a type, everywhere in the package."""
    for module in (proa, proa.nn, proa.optimizer, proa.io, proa.static, proa.framework.core):
        for name in dir(module):
            if name[:1].isupper() and not name.isupper() and not name.startswith("_"):
                value = getattr(module, name, None)
                if callable(value) and name != "Print":  # which is a function in the reference too
                    assert isinstance(value, type), f"{module.__name__}.{name}"


# Tensors ----------------------------------------------------------------------


def test_numpy_takes_blocking():
    x = proa.ones([2])
    for a in (x.numpy(), x.numpy(False), x.numpy(blocking=True), x.numpy(blocking=None)):
        assert a.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError):
        x.numpy("later")


def test_forms_of_the_constructor():
    value, cpu = np.arange(3, dtype="float32"), proa.CPUPlace()
    x = proa.Tensor(value, cpu, True, False, "weight")
    assert x.tolist() == [0, 1, 2] and x.persistable and x.name == "weight" and x.stop_gradient
    x = proa.Tensor(value, cpu, False, True, "other", False)
    assert not x.persistable and x.name == "other" and not x.stop_gradient
    x = proa.Tensor(value=value, place=cpu, name="n", persistable=True, stop_gradient=False)
    assert x.name == "n" and x.persistable and not x.stop_gradient
    x = proa.Tensor(proa.float64, [2, 3], "zeros", None, True)
    assert x.dtype == proa.float64 and x.tolist() == [[0.0] * 3] * 2 and x.name == "zeros" and x.persistable
    assert proa.Tensor(value, proa.float64, cpu, False).dtype == proa.float64
    assert proa.Tensor(value, "int32", "cpu").dtype == proa.int32
    assert proa.Tensor().shape == [0] and proa.Tensor(proa.ones([2]), cpu).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError):
        proa.Tensor(value, cpu, False, True, 3)
    with pytest.raises(TypeError):
        proa.Tensor(value, cpu, nonsense=1)


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool", "uint8"])
def test_stop_gradient_of_integers(dtype):
    x = proa.to_tensor([1, 0], dtype=dtype, stop_gradient=False)
    assert not x.stop_gradient
    x.stop_gradient = True
    assert x.stop_gradient
    x.stop_gradient = False
    assert not x.stop_gradient and x.grad is None and (x + x).stop_gradient
    x.sum().backward()
    assert x.grad is None


def test_backward_of_what_needs_no_gradient():
    x = proa.ones([2])
    assert x.sum().backward() is None and x.grad is None
    w = proa.ones([2])
    w.stop_gradient = False
    proa.autograd.backward([x.sum(), (w * 3.0).sum()], [None, proa.full([], 2.0)])
    assert w.grad.tolist() == [6.0, 6.0] and x.grad is None
    with proa.no_grad():
        loss = (w * 2.0).sum()
    loss.backward()
    assert w.grad.tolist() == [6.0, 6.0]


# Methods ----------------------------------------------------------------------


def _is_function_of(name):
    for module in (proa, proa.nn.functional):
        if inspect.isfunction(vars(module).get(name)):
            return vars(module)[name]
    return None


def _methods():
    return sorted(n for n in dir(proa.Tensor) if not n.startswith("_") and callable(getattr(proa.Tensor, n)))


def test_methods_are_functions():
    """A method takes what the function of its name takes, the tensor too, by name."""
    a, b = proa.to_tensor([1.0, 2.0]), proa.to_tensor([3.0, 6.0])
    assert proa.Tensor.lerp(x=a, y=b, weight=0.5).tolist() == a.lerp(b, 0.5).tolist() == [2.0, 4.0]
    assert proa.Tensor.lerp_(x=a.clone(), y=b, weight=0.5).tolist() == [2.0, 4.0]
    assert proa.Tensor.outer(x=a, y=b).shape == [2, 2]
    assert proa.Tensor.isclose(x=a, y=a).all()
    assert proa.Tensor.repeat_interleave(x=a, repeats=2).shape == [4]
    assert proa.Tensor.fill_(x=a.clone(), value=3).tolist() == [3.0, 3.0]
    assert proa.Tensor.zero_(x=a.clone()).tolist() == [0.0, 0.0]
    assert proa.Tensor.fill_diagonal_(x=proa.zeros([2, 2]), value=1).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert proa.tril(x=proa.ones([2, 2])).sum() == proa.tril(input=proa.ones([2, 2])).sum() == 3.0
    assert proa.Tensor.tril(x=proa.ones([2, 2]), diagonal=1).sum() == proa.ones([2, 2]).tril(diagonal=1).sum() == 4.0
    with pytest.raises(ValueError, match="tril: input must be a Tensor"):
        proa.tril()
    with pytest.raises(TypeError, match="multiple values"):
        proa.Tensor.lerp(a, b, x=a)


def test_every_method_has_the_names_of_its_function():
    wrong, compared = {}, 0
    for name in _methods():
        function = _is_function_of(name)
        if function is None:
            continue
        method = getattr(proa.Tensor, name)
        try:
            of_method = [p for p in inspect.signature(method).parameters if p not in ("name", "self")]
        except ValueError:
            continue
        parameters = inspect.signature(function).parameters.values()
        of_function = [p.name for p in parameters if p.name != "name" and p.kind != p.KEYWORD_ONLY]
        compared += 1
        lacking = set(of_function[1:]) - set(of_method)
        if name == "slice":  # Tensor.slice has no strides, as the reference's
            lacking.discard("strides")
        if lacking and "kwargs" not in of_method:
            wrong[name] = sorted(lacking)
    assert compared > 150
    assert wrong == {}


def test_methods_as_objects():
    method = proa.Tensor.lerp
    assert method.__name__ == "lerp" and method.__qualname__ == "Tensor.lerp" and "lerp" in repr(method)
    assert method.__doc__ and list(inspect.signature(method).parameters)[:3] == ["x", "y", "weight"]
    x = proa.ones([2])
    assert list(inspect.signature(x.lerp).parameters)[:2] == ["y", "weight"]
    assert x.lerp.__self__ is x and x.lerp(x, 0.5).tolist() == [1.0, 1.0]
    assert pickle.loads(pickle.dumps(method)) is method and copy.deepcopy(method) is method
    assert inspect.isroutine(method) and callable(x.add)

    class Own(proa.Tensor):
        def add(self, y):
            return super().add(y) * 10.0

    assert Own(x).add(x).tolist() == [20.0, 20.0] and (Own(x) + x).tolist() == [2.0, 2.0]


# Layers -----------------------------------------------------------------------


def test_attributes_are_live():
    """A subclass, or a user, that changes a layer's setting changes what it does."""
    pool = nn.MaxPool2D(2)
    assert (pool.ksize, pool.stride, pool.padding, pool.ceil_mode) == (2, None, 0, False)
    pool.ksize = 4
    assert pool(proa.ones([1, 1, 4, 4])).shape == [1, 1, 1, 1]
    softmax = nn.Softmax()
    softmax._axis = 0
    assert softmax(proa.ones([2, 3])).tolist() == [[0.5] * 3] * 2
    conv = nn.Conv2D(2, 4, 3, padding=1)
    assert conv._updated_padding == [1, 1] and conv._padding_algorithm == "EXPLICIT" and conv._channel_dim == 1
    assert nn.Conv2D(2, 4, 3, padding="same")._padding_algorithm == "SAME"


def test_helpers_of_layers():
    """Layers of 2.x make parameters and apply activations by `self._helper`."""

    class Own(nn.Layer):
        def __init__(self):
            super().__init__()
            self.w = self._helper.create_parameter(attr=None, shape=[2, 3], dtype="float32")

        def forward(self, x):
            return self._helper.append_activation(proa.matmul(x, self.w) - 100.0, act="relu")

    layer = Own()
    assert [n for n, _ in layer.named_parameters()] == ["w"] and layer(proa.ones([1, 2])).tolist() == [[0.0] * 3]
    assert layer._helper.get_default_dtype() == "float32" and layer._helper.append_activation(3) == 3


def test_rows_of_sparse_gradients():
    table = nn.Embedding(10, 3, sparse=True)
    table(proa.to_tensor([1, 2, 1, 4])).sum().backward()
    grad = table.weight.grad
    rows = grad.get_selected_rows()
    assert grad.is_selected_rows() and sorted(rows.rows()) == sorted(grad.rows().tolist())
    assert rows.height() == 10 and rows.get_tensor().shape == grad.values().shape == [len(rows.rows()), 3]
    assert set(rows.rows()) == {1, 2, 4} and grad.values().sum() == 12.0
    with pytest.raises(ValueError, match="not row-sparse"):
        proa.ones([2]).get_selected_rows()


def test_resnet_layers_may_be_made_by_subclasses():
    from proa.vision.models import resnet

    class Own(resnet.ResNet):
        def __init__(self):
            super().__init__(resnet.BasicBlock, 18)
            self.layer5 = self._make_layer(resnet.BasicBlock, 512, 1, stride=1)

    assert Own().layer5(proa.ones([1, 512, 2, 2])).shape == [1, 512, 2, 2]


def test_the_block_of_a_variable():
    """Programs of 2.x reach the program from a parameter."""
    assert proa.nn.Linear(1, 1).weight.block.program is proa.static.default_main_program()
    program = proa.static.Program()
    proa.enable_static()
    try:
        with proa.static.program_guard(program):
            assert proa.static.data("x", [1]).block is program.global_block()
    finally:
        proa.disable_static()
