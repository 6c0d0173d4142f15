"""Layers of jit.load in training: dropout, statistics of the batch, results of their own, as the layers that were saved."""

import json
import os
import pathlib

import numpy as np
import pytest

import proa
from proa import nn
from proa.nn import functional as F
from proa.static import InputSpec

_X = np.random.RandomState(0).randn(6, 3, 4, 4).astype("float32")
_SPEC = [InputSpec([None, 3, 4, 4], "float32", "x")]


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4)
        self.drop, self.out = nn.Dropout(0.5), nn.Linear(16, 2)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)))
        return self.out(self.drop(x.flatten(1)))


def loaded_of(net, tmp_path, spec=_SPEC, **kwargs):
    path = str(tmp_path / "net")
    proa.jit.save(net, path, spec, **kwargs)
    return proa.jit.load(path)


def step(net, seed):
    """What a call in training gives, with the gradients of the parameters and the statistics after it."""
    proa.seed(seed)
    y = net(proa.to_tensor(_X))
    (y * y).sum().backward()
    found = [y.numpy()]
    found += [p.grad.numpy() for p in net.parameters() if p.grad is not None]
    found += statistics(net)
    net.clear_gradients()
    return found


def statistics(net):
    return [t.numpy().copy() for t in net.state_dict().values() if t.stop_gradient]


def same(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_train_and_eval_choose(tmp_path):
    proa.seed(1)
    net = Net()
    loaded = loaded_of(net, tmp_path)
    assert not loaded.training and net.training
    net.eval()
    np.testing.assert_array_equal(loaded(proa.to_tensor(_X)).numpy(), net(proa.to_tensor(_X)).numpy())
    for seed in (5, 6):  # twice: the statistics have moved
        net.train(), loaded.train()
        same(step(loaded, seed), step(net, seed))
    first, second = step(loaded, 7)[0], step(loaded, 8)[0]
    assert (first != second).any()  # dropout
    step(net, 7), step(net, 8)
    net.eval(), loaded.eval()
    same(step(loaded, 9), step(net, 9))
    np.testing.assert_allclose(
        loaded(proa.to_tensor(_X)).numpy(), net(proa.to_tensor(_X)).numpy(), rtol=1e-5, atol=1e-6
    )


def test_one_set_of_tensors(tmp_path):
    """Both ways hold the same parameters and buffers, which the file holds once."""
    net = Net()
    loaded = loaded_of(net, tmp_path)
    held = dict(loaded._module.captured)
    trained = dict(loaded._trained["forward"].captured)
    assert set(held) <= set(trained)
    for name in held:
        assert held[name].data_ptr() == trained[name].data_ptr(), name
    bytes_of_net = sum(t.numel() * 4 for t in net.state_dict().values())
    assert os.path.getsize(tmp_path / "net.pdiparams") < bytes_of_net + 64 * (len(trained) + 2)


def test_what_only_training_reads(tmp_path):
    """Tensors that a test does not read, of the size of others or empty, come along."""

    class Extra(nn.Layer):
        def __init__(self):
            super().__init__()
            self.main, self.side = nn.Linear(4, 2), nn.Linear(4, 2)
            self.register_buffer("nothing", proa.zeros([0]))

        def forward(self, x):
            if self.training:
                return self.main(x), self.side(x), self.nothing * 2
            return self.main(x)

    net = Extra()
    loaded = loaded_of(net, tmp_path, [InputSpec([None, 4])])
    x = proa.ones([3, 4])
    assert loaded(x).shape == [3, 2] and len(loaded.parameters()) == 4
    loaded.train()
    y, z, nothing = loaded(x)
    np.testing.assert_array_equal(y.numpy(), net.main(x).numpy())
    np.testing.assert_array_equal(z.numpy(), net.side(x).numpy())
    assert nothing.shape == [0]
    z.sum().backward()
    assert sum(p.grad is not None for p in loaded.parameters()) == 2


def test_a_part_of_another_layer(tmp_path):
    net = Net()
    whole = nn.Sequential(loaded_of(net, tmp_path), nn.Linear(2, 2))
    x = proa.to_tensor(_X)
    whole.train()
    assert whole[0].training and (whole(x) != whole(x)).any()
    whole.eval()
    assert (whole(x) == whole(x)).all()


def test_converted(tmp_path):
    """to_static records a loaded layer in each mode."""
    loaded = loaded_of(Net(), tmp_path)
    converted = proa.jit.to_static(lambda x: loaded(x) * 2)
    x = proa.to_tensor(_X)
    for training in (False, True, False):
        loaded.train() if training else loaded.eval()
        assert (converted(x) != converted(x)).any() == training


def test_saved_again(tmp_path):
    loaded = loaded_of(Net(), tmp_path)
    again = loaded_of(loaded, tmp_path / "again")
    loaded.train(), again.train()
    same(step(again, 3), step(loaded, 3))


def test_methods(tmp_path):
    class Two(nn.Layer):
        def __init__(self):
            super().__init__()
            self.drop, self.out = nn.Dropout(0.5), nn.Linear(4, 4)

        @proa.jit.to_static(input_spec=[InputSpec([None, 4])])
        def noisy(self, x):
            return self.drop(x) + 0 * self.out(x)

        @proa.jit.to_static(input_spec=[InputSpec([None, 4])])
        def plain(self, x):
            return self.out(x)

        @proa.jit.to_static(input_spec=[InputSpec([None, 4])])
        def forward(self, x):
            return self.noisy(self.plain(x))

    loaded = loaded_of(Two(), tmp_path, None)
    x = proa.ones([8, 4])
    assert (loaded.noisy(x) == 1).all()
    loaded.train()
    assert set(np.unique(loaded.noisy(x).numpy())) == {0.0, 2.0}
    assert loaded._trained["plain"] is None and loaded._trained["forward"] is not None


def test_nothing_to_choose(tmp_path):
    """A file says nothing of training where it is as a test, where it needs other inputs, and for functions."""

    class Labels(nn.Layer):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(4, 2)

        def forward(self, x, label=None):
            y = self.out(x)
            return F.cross_entropy(y, label) if self.training else y

    spec = [InputSpec([None, 4])]
    for net in (nn.Linear(4, 2), Labels(), nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.0))):
        loaded = loaded_of(net, tmp_path, spec)
        before = loaded(proa.ones([1, 4])).numpy()
        loaded.train()
        np.testing.assert_array_equal(loaded(proa.ones([1, 4])).numpy(), before)
    function = loaded_of(lambda x: F.dropout(x, 0.5, training=False), tmp_path, spec)
    assert function._trained == {"forward": None}


def test_output_spec(tmp_path):
    net = proa.jit.to_static(Net())
    net(proa.to_tensor(_X))
    loaded = loaded_of(net, tmp_path, None, output_spec=net.forward.outputs)
    loaded.train()
    assert loaded(proa.to_tensor(_X)).shape == [6, 2]


def test_older_files():
    """Golden models of releases that did not say it train as they did: as a test runs."""
    folder = pathlib.Path(__file__).parent / "golden_models" / "0.1.0"
    for info in sorted(folder.glob("*.pdiparams.info")):
        loaded = proa.jit.load(str(info)[: -len(".pdiparams.info")])
        assert set(loaded._trained.values()) == {None}
        assert "trainable" in json.loads(info.read_text())


def test_predictors_read_it(tmp_path):
    net = Net()
    loaded = loaded_of(net, tmp_path)
    config = proa.inference.Config(str(tmp_path / "net.pdmodel"), str(tmp_path / "net.pdiparams"))
    (y,) = proa.inference.create_predictor(config).run([_X])
    np.testing.assert_allclose(np.asarray(y), loaded(proa.to_tensor(_X)).numpy(), rtol=1e-5, atol=1e-6)


def test_programs_in_the_format_of_paddle(tmp_path):
    """is_test of their ops is what train() changes."""
    net = Net()
    loaded = loaded_of(net, tmp_path, format="paddle")
    x = proa.to_tensor(_X)
    before, y = statistics(loaded), loaded(x)
    loaded.train()
    assert not np.allclose(y.numpy(), loaded(x).numpy())
    after = statistics(loaded)
    assert len(before) == 2 and all((a != b).any() for a, b in zip(before, after, strict=True))
    net.train()
    net(x)
    same(after, statistics(net))
    loaded.eval()
    net.eval()
    np.testing.assert_allclose(loaded(x).numpy(), net(x).numpy(), rtol=1e-5, atol=1e-6)


def test_what_static_programs_save(tmp_path):
    """save_inference_model keeps the program of training without its updates: train() is dropout and statistics again."""
    proa.enable_static()
    try:
        static, path = proa.static, str(tmp_path / "net")
        main, startup = static.Program(), static.Program()
        with static.scope_guard(static.Scope()), static.program_guard(main, startup):
            x, label = static.data("x", [None, 3, 4, 4]), static.data("label", [None, 1], "int64")
            y = static.nn.batch_norm(static.nn.conv2d(x, 4, 3))
            y = static.nn.fc(F.dropout(y, 0.5), 2)
            proa.optimizer.Adam(0.1).minimize(proa.mean(F.cross_entropy(y, label)))
            executor = static.Executor()
            executor.run(startup)
            static.save_inference_model(path, [x], [y], executor)
    finally:
        proa.disable_static()
    loaded, x = proa.jit.load(path), proa.to_tensor(_X)
    text = str(loaded._trained["forward"].program)
    assert "dropout(" in text and text.count("store_(") == 2 and "adam" not in text
    first, before = loaded(x).numpy(), statistics(loaded)
    loaded.train()
    assert (loaded(x) != loaded(x)).any()
    loaded.eval()
    after = statistics(loaded)
    assert len(after) == 2 and all((a != b).any() for a, b in zip(before, after, strict=True))
    assert not np.allclose(loaded(x).numpy(), first)


@pytest.mark.parametrize("mode", ["upscale_in_train", "downscale_in_infer"])
def test_modes_of_dropout(mode, tmp_path):
    net = nn.Dropout(0.25, mode=mode)
    loaded = loaded_of(net, tmp_path, [InputSpec([None, 4])])
    x = proa.ones([200, 4])
    for training in (False, True):
        for layer in (net, loaded):
            layer.train() if training else layer.eval()
        proa.seed(2)
        wanted = net(x).numpy()
        proa.seed(2)
        np.testing.assert_array_equal(loaded(x).numpy(), wanted)


@pytest.mark.parametrize("normed", [nn.utils.weight_norm, nn.utils.spectral_norm], ids=lambda f: f.__name__)
@pytest.mark.parametrize("training", [False, True])
def test_weights_that_are_computed_in_each_call(normed, training, tmp_path):
    """Gradients go through them to what they are made of, in recordings and in what is loaded; it was an error or none."""
    proa.seed(3)
    net = nn.Sequential(normed(nn.Linear(5, 3)), nn.ReLU(), normed(nn.Linear(3, 2)))
    loaded = loaded_of(net, tmp_path, [InputSpec([None, 5], "float32")])
    converted = proa.jit.to_static(lambda x: net(x))
    state = {name: t.numpy().copy() for name, t in net.state_dict().items()}
    x, found = proa.to_tensor(_X.reshape(-1)[:20].reshape(4, 5)), []
    for function in (net, converted, loaded):
        net.set_state_dict(state)
        net.train() if training else net.eval()
        loaded.train() if training else loaded.eval()
        y = function(x)
        (y * y).sum().backward()
        layer = loaded if function is loaded else net
        found.append([y.numpy(), *(p.grad.numpy() for _, p in sorted(layer.named_parameters()))])
        net.clear_gradients()
    assert len(found[0]) in (5, 7)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


class WantsLabels(nn.Layer):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 2)

    def forward(self, x, labels=None):
        y = self.out(x)
        return F.cross_entropy(y, labels) if self.training else y

    @proa.jit.to_static(input_spec=[InputSpec([None, 4], "float32")])
    def scores(self, x):
        if self.training:
            raise ValueError("no scores in training")
        return F.softmax(self.out(x))


def test_what_wants_labels_in_training_says_so_when_it_trains(tmp_path, recwarn):
    net, x = WantsLabels(), proa.ones([2, 4])
    loaded = loaded_of(net, tmp_path, [InputSpec([None, 4], "float32")])
    loaded(x), loaded.scores(x)
    assert not recwarn.list
    loaded.train()
    with pytest.warns(
        UserWarning, match=r"forward runs in training as in a test.* WantsLabels: .*trained_again_test.py:\d+, in f"
    ) as seen:
        loaded(x).sum().backward()
    assert seen[0].filename == __file__ and loaded.out_weight.grad is not None
    with pytest.warns(
        UserWarning, match="scores runs in training as in a test.*ValueError.*no scores in training"
    ) as seen:
        loaded.scores(x)
    assert seen[0].filename == __file__ and len(seen) == 1
    recwarn.clear()
    loaded(x), loaded.scores(x)  # once
    assert not recwarn.list


def test_what_a_file_says_of_training_may_be_anything(tmp_path):
    loaded_of(WantsLabels(), tmp_path, [InputSpec([None, 4], "float32")])
    info = tmp_path / "net.pdiparams.info"
    notes = json.loads(info.read_text())
    assert set(notes["as_in_tests"]) == {"forward", "scores"}
    for wrong in ([1], {"forward": 3}, None, "text"):
        info.write_text(json.dumps({**notes, "as_in_tests": wrong}))
        net = proa.jit.load(str(tmp_path / "net"))
        net.train()
        assert net(proa.ones([1, 4])).shape == [1, 2]
