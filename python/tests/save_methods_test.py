"""jit.save of layers with several converted methods, and jit.load of them."""

import os
import pickle

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


class Normed(nn.Layer):
    def __init__(self):
        super().__init__()
        self.down, self.norm = nn.Linear(3, 2), nn.BatchNorm1D(2)
        self.down.bias.stop_gradient = True
        self.register_buffer("scale", proa.to_tensor([2.0, 3.0]))

    def forward(self, x):
        return self.norm(self.down(x)) * self.scale


def test_parameters_that_are_not_trained(tmp_path):
    """Statistics and frozen ones are parameters of what is loaded, as they were of what was saved; buffers are buffers."""
    net, path, x = Normed(), str(tmp_path / "normed"), proa.to_tensor(_X)
    net(x)
    net.eval()
    proa.jit.save(net, path, [InputSpec([None, 3])])
    loaded = proa.jit.load(path)
    there, here = ({p.name: p.trainable for p in layer.parameters()} for layer in (net, loaded))
    assert list(here.values()) == list(there.values()) == [True, False, True, True, False, False]
    assert [name for name, _ in loaded.named_buffers()] == ["scale"]
    np.testing.assert_array_equal(loaded(x).numpy(), net(x).numpy())
    before = {name: value.numpy() for name, value in loaded.state_dict().items()}
    adam = proa.optimizer.Adam(0.1, parameters=loaded.parameters())
    loaded(x).sum().backward()
    adam.step()
    changed = {name for name, value in loaded.state_dict().items() if (value.numpy() != before[name]).any()}
    assert changed == {"down_weight", "norm_weight", "norm_bias"}
    norm = loaded.state_dict()["norm__mean"]
    norm.set_value(norm + 1.0)  # the program reads the parameter
    assert abs(loaded(x).numpy() - net(x).numpy()).max() > 0.1


@pytest.mark.parametrize(
    "notes", [b"", b"null", b"{}", b'{"fixed": 3}', b'{"fixed": [1, "scale"], "methods": [2]}', b"\x80\x02."]
)
def test_damaged_notes(notes, tmp_path):
    """They are not needed to run what is loaded."""
    net, path, x = Normed(), str(tmp_path / "normed"), proa.to_tensor(_X)
    net.eval()
    proa.jit.save(net, path, [InputSpec([None, 3])])
    (tmp_path / "normed.pdiparams.info").write_bytes(notes)
    loaded = proa.jit.load(path)
    np.testing.assert_array_equal(loaded(x).numpy(), net(x).numpy())
    assert len(loaded.state_dict()) == 7


def test_notes_of_paddle(tmp_path):
    """Its pickle says what is trainable."""
    net, path = Normed(), str(tmp_path / "normed")
    net.eval()
    proa.jit.save(net, path, [InputSpec([None, 3])], format="paddle")
    notes = {name: {"structured_name": name, "trainable": not p.stop_gradient} for name, p in net.named_parameters()}
    (tmp_path / "normed.pdiparams.info").write_bytes(pickle.dumps(notes, 2))
    loaded = proa.jit.load(path)
    assert sorted(p.trainable for p in loaded.parameters()) == [False, False, False, True, True, True]
    assert len(loaded.buffers()) == 1
