"""jit.save of layers with several converted methods, and jit.load of them."""

import os

import numpy as np
import pytest

import proa
from proa import nn
from proa.static import InputSpec


class Coder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(3, 2), nn.Linear(2, 3)
        self.register_buffer("calls", proa.zeros([1]))

    @proa.jit.to_static(input_spec=[InputSpec([None, 3], "float32", "x")])
    def encode(self, x):
        return nn.functional.relu(self.down(x))

    @proa.jit.to_static(input_spec=[InputSpec([None, 2])])
    def decode(self, z):
        if z.sum() > 0.1:
            z = z * 2
        return self.up(z), z

    @proa.jit.to_static
    def never_called(self, x):
        return x + 1

    @proa.jit.to_static
    def called(self, x):
        return x + self.up.bias

    @proa.jit.to_static(input_spec=[InputSpec([None, 3])])
    def forward(self, x):
        return self.decode(self.encode(x))[0]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    proa.seed(3)
    net, path = Coder(), str(tmp_path_factory.mktemp("saved") / "coder")
    net.called(proa.ones([2, 3]))
    proa.jit.save(net, path)
    return net, path


_X = np.random.RandomState(0).randn(4, 3).astype("float32")


def test_values(saved):
    net, path = saved
    loaded, x = proa.jit.load(path), proa.to_tensor(_X)
    z = net.encode(x)
    np.testing.assert_array_equal(loaded.encode(x).numpy(), z.numpy())
    for ours, theirs in zip(loaded.decode(z), net.decode(z), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    np.testing.assert_array_equal(loaded(x).numpy(), net(x).numpy())
    two = proa.ones([2, 3])
    np.testing.assert_array_equal(loaded.called(two).numpy(), net.called(two).numpy())
    assert "relu" in str(loaded.program("encode")) and "relu" not in str(loaded.program("decode"))


def test_what_is_there(saved):
    loaded = proa.jit.load(saved[1])
    assert not hasattr(loaded, "never_called")
    assert {"encode", "decode", "called"} <= set(dir(loaded))
    with pytest.raises(ValueError, match="'forward', 'called', 'decode', 'encode', but no 'never_called'"):
        loaded.program("never_called")


def test_methods_share_their_parameters(saved):
    loaded, x = proa.jit.load(saved[1]), proa.to_tensor(_X)
    assert len(loaded.parameters()) == 4
    before = loaded.encode(x).numpy()
    sgd = proa.optimizer.SGD(0.5, parameters=loaded.parameters())
    loaded(x).sum().backward()  # by forward
    sgd.step()
    sgd.clear_grad()
    assert abs(loaded.encode(x).numpy() - before).max() > 1e-3
    down = next(p for p in loaded.parameters() if p.shape == [3, 2])
    loaded.encode(x).sum().backward()  # by a method: the gradient is that of the same parameter
    expected = _X.T @ (loaded.encode(x).numpy() > 0).astype("float32")
    np.testing.assert_allclose(down.grad.numpy(), expected, rtol=1e-5)


def test_a_method_is_a_model_of_its_own(saved):
    config = proa.inference.Config(f"{saved[1]}.encode.pdmodel", f"{saved[1]}.encode.pdiparams")
    (found,) = proa.inference.create_predictor(config).run([_X])
    np.testing.assert_allclose(np.asarray(found), saved[0].encode(proa.to_tensor(_X)).numpy(), rtol=1e-6)


def test_other_models_beside_it_are_no_methods(tmp_path):
    path, spec = str(tmp_path / "net"), [InputSpec([None, 3])]
    proa.jit.save(nn.Linear(3, 1), f"{path}.v2", spec)
    proa.jit.save(nn.Linear(3, 2), path, spec)
    assert not hasattr(proa.jit.load(path), "v2")


def test_files_of_paddle(tmp_path):
    """The other format has no list of methods: the names of the files say it, as in PaddlePaddle."""
    proa.seed(3)
    net, path = Coder(), str(tmp_path / "coder")
    proa.jit.save(net, path, format="paddle")
    assert os.path.exists(f"{path}.encode.pdiparams") and not os.path.exists(f"{path}.pdiparams.info")
    loaded, x = proa.jit.load(path), proa.to_tensor(_X)
    np.testing.assert_allclose(loaded.encode(x).numpy(), net.encode(x).numpy(), rtol=1e-6)
    np.testing.assert_allclose(loaded(x).numpy(), net(x).numpy(), rtol=1e-6)
