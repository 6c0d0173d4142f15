"""Layers of the old namespace, their parameters and files."""

import numpy as np
import pytest

import proa
from proa import fluid
from proa.fluid import dygraph, layers

_R = np.random.RandomState(0)
X = _R.randn(3, 4).astype("float32")
P = np.abs(X) + 0.1
IMAGE = _R.randn(2, 4, 6, 6).astype("float32")


def t(array):
    return proa.to_tensor(np.asarray(array))


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


_I = np.array([[1], [3], [0]])


LAYERS = {
    "Linear": (lambda: dygraph.Linear(4, 2, act="relu"), X, lambda m, x: np.maximum(x @ m.weight.numpy() + m.bias.numpy(), 0)),
    "FC": (lambda: dygraph.FC(2), IMAGE, lambda m, x: x.reshape(2, -1) @ m.weight.numpy() + m.bias.numpy()),
    "Embedding": (lambda: dygraph.Embedding([5, 3]), _I, lambda m, x: m.weight.numpy()[x]),
    "Pool2D": (lambda: dygraph.Pool2D(2, "max", 2), IMAGE, lambda m, x: x.reshape(2, 4, 3, 2, 3, 2).max((3, 5))),
    "LayerNorm": (lambda: dygraph.LayerNorm([4]), X,
                  lambda m, x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)),
    "GroupNorm": (lambda: dygraph.GroupNorm(4, 1), IMAGE,
                  lambda m, x: (x - x.mean((1, 2, 3), keepdims=True)) / np.sqrt(x.var((1, 2, 3), keepdims=True) + 1e-5)),
    "InstanceNorm": (lambda: dygraph.InstanceNorm(4), IMAGE,
                     lambda m, x: (x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)),
    "BatchNorm": (lambda: dygraph.BatchNorm(4, act="relu"), IMAGE,
                  lambda m, x: np.maximum((x - x.mean((0, 2, 3), keepdims=True))
                                          / np.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5), 0)),
    "PRelu": (lambda: dygraph.PRelu("all"), X, lambda m, x: x),
    "Dropout": (lambda: dygraph.Dropout(0.5, is_test=True), X, lambda m, x: x * 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, x, want = LAYERS[name]
    layer = make()
    np.testing.assert_allclose(layer(t(x)).numpy(), want(layer, x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"])
def test_convolutions_are_those_of_nn(kind):
    rank = int(kind[4])
    old = getattr(dygraph, kind)(4, 2, 3, stride=2, padding=1, groups=2, act="relu")
    new = getattr(proa.nn, kind)(4, 2, 3, stride=2, padding=1, groups=2)
    new.set_state_dict(old.state_dict())
    x = t(_R.randn(2, 4, *[5] * rank).astype("float32"))
    np.testing.assert_allclose(old(x).numpy(), np.maximum(new(x).numpy(), 0), rtol=1e-5, atol=1e-6)


def test_other_layers():
    h, kept, gates = dygraph.GRUUnit(6)(t(_R.randn(3, 6).astype("float32")), t(_R.randn(3, 2).astype("float32")))
    assert h.shape == [3, 2] and kept.shape == [3, 2] and gates.shape == [3, 6]
    assert dygraph.BilinearTensorProduct(4, 4, 3, act="tanh")(t(X), t(P)).shape == [3, 3]
    assert dygraph.SpectralNorm([4, 3])(proa.randn([4, 3])).shape == [4, 3]
    assert dygraph.Conv2D(3, 4, 3).weight.std().item() < 0.5

    class Net(dygraph.Layer):
        def forward(self, x):
            return layers.dropout(x, 0.5)

    net = Net()
    net.eval()
    np.testing.assert_allclose(net(t(X)).numpy(), X * 0.5)
    net.train()
    assert (net(proa.ones([100])).numpy() == 0).any()


def test_files_of_states(tmp_path):
    path = str(tmp_path / "folder" / "model")
    net = dygraph.Linear(2, 3)
    adam = fluid.optimizer.Adam(0.1, parameter_list=net.parameters())
    loss = net(proa.ones([1, 2])).sum()
    loss.backward()
    adam.minimize(loss)
    fluid.save_dygraph(net.state_dict(), path)
    fluid.save_dygraph(adam.state_dict(), path)
    state, optimizer = fluid.load_dygraph(path)
    np.testing.assert_array_equal(state["weight"], net.weight.numpy())
    other = dygraph.Linear(2, 3)
    other.set_dict(state)
    np.testing.assert_array_equal(other.weight.numpy(), net.weight.numpy())
    assert sorted(optimizer) == sorted(adam.state_dict())
    adam.set_dict(optimizer)
    with pytest.raises(FileNotFoundError, match="neither"):
        fluid.load_dygraph(str(tmp_path / "nothing"))


def test_initializers_and_clipping():
    make = dygraph.Linear
    for init in (fluid.initializer.Constant(2.0), fluid.initializer.Uniform(-1, 1, seed=3),
                 fluid.initializer.Normal(0.0, 1.0), fluid.initializer.TruncatedNormal(0.0, 1.0),
                 fluid.initializer.Xavier(uniform=False), fluid.initializer.MSRA(), fluid.initializer.MSRA(False),
                 fluid.initializer.NumpyArrayInitializer(X)):  # fmt: skip
        assert make(3, 4, param_attr=fluid.ParamAttr(initializer=init)).weight.shape == [3, 4]
    assert make(3, 4, param_attr=fluid.initializer.NumpyArrayInitializer(X)).weight.tolist() == X.tolist()
    fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(1e-3))
    try:
        net = make(2, 1)
        sgd = fluid.optimizer.SGD(1.0, parameter_list=net.parameters())
        before = net.weight.numpy().copy()
        loss = net(proa.ones([1, 2])).sum()
        loss.backward()
        sgd.minimize(loss)
        assert np.abs(net.weight.numpy() - before).max() < 1e-3
    finally:
        fluid.clip.set_gradient_clip(None)


def test_layer_helper():
    class Scaled(proa.nn.Layer):
        def __init__(self):
            super().__init__()
            helper = fluid.layer_helper.LayerHelper("scaled", bias_attr=None, act="relu")
            self.helper = helper
            self.w = helper.create_parameter(
                None, [4], "float32", default_initializer=proa.nn.initializer.Constant(-1.0)
            )

        def forward(self, x):
            return self.helper.append_activation(x * self.w)

    np.testing.assert_allclose(Scaled()(t(X)).numpy(), np.maximum(-X, 0))
    with pytest.raises(NotImplementedError, match="call the function of 'relu'"):
        fluid.layer_helper.LayerHelper("relu").append_op(type="relu", inputs={}, outputs={})


def test_nets():
    main = fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main):
        x = fluid.data("x", [2, 4, 6, 6])
        pooled = fluid.nets.simple_img_conv_pool(x, 3, 3, 2, 2, act="relu")
        group = fluid.nets.img_conv_group(x, [3, 3], 2, conv_with_batchnorm=True, pool_stride=2, conv_act="relu")
        results = fluid.Executor().run(main, feed={"x": IMAGE}, fetch_list=[pooled, group, fluid.nets.glu(x, 1)])
    assert [r.shape for r in results] == [(2, 3, 2, 2), (2, 3, 3, 3), (2, 2, 6, 6)]
    np.testing.assert_allclose(results[2], IMAGE[:, :2] * _sigmoid(IMAGE[:, 2:]), rtol=1e-5)
    q = t(_R.randn(2, 3, 4).astype("float32"))
    assert fluid.nets.scaled_dot_product_attention(q, q, q, num_heads=2).shape == [2, 3, 4]


def test_traced_layer(tmp_path):
    net = dygraph.Linear(4, 2)
    out, traced = dygraph.TracedLayer.trace(net, [t(X)])
    np.testing.assert_allclose(traced([t(X)])[0].numpy(), out.numpy(), rtol=1e-6)
    traced.save_inference_model(str(tmp_path / "traced"))
    np.testing.assert_allclose(proa.jit.load(str(tmp_path / "traced"))(t(X)).numpy(), out.numpy(), rtol=1e-6)
