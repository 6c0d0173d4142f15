"""Recording: to_static, saving and loading, damaged files, control flow."""

import os

import numpy as np
import pytest

import proa as paddle


def _net():
    paddle.seed(3)
    return paddle.nn.Sequential(
        paddle.nn.Conv2D(1, 4, 3, padding=1),
        paddle.nn.BatchNorm2D(4),
        paddle.nn.ReLU(),
        paddle.nn.MaxPool2D(2),
        paddle.nn.Flatten(),
        paddle.nn.Dropout(0.5),
        paddle.nn.Linear(4 * 4 * 4, 10),
    )


def _images(n=3):
    return paddle.to_tensor(np.random.default_rng(0).normal(size=[n, 1, 8, 8]).astype("float32"))


def _save(tmp_path, net):
    prefix = str(tmp_path / "net")
    paddle.jit.save(net, prefix, [paddle.static.InputSpec([None, 1, 8, 8], "float32", "image")])
    return prefix


def test_saved_and_loaded_layer_gives_the_same_bits_for_any_batch_size(tmp_path):
    net = _net()
    loaded = paddle.jit.load(_save(tmp_path, net))
    assert net.training  # saving records in evaluation mode and leaves the layer as it was
    net.eval()
    for n in (1, 3, 7):
        assert loaded(_images(n)).numpy().tobytes() == net(_images(n)).numpy().tobytes()


def test_loaded_layer_trains(tmp_path):
    loaded = paddle.jit.load(_save(tmp_path, _net()))
    assert sum(p.trainable for p in loaded.parameters()) == 6
    loaded(_images()).sum().backward()
    assert [p.grad is not None for p in loaded.parameters()] == [p.trainable for p in loaded.parameters()]


class _Cached(paddle.nn.Layer):
    def forward(self, x, caches):
        return [x + caches[0] - caches[1]["v"], caches[1]["v"] * x]


def test_a_loaded_layer_takes_inputs_as_they_were_saved(tmp_path):
    spec = paddle.static.InputSpec([None, 2], "float32")
    prefix = str(tmp_path / "cached")
    paddle.jit.save(paddle.jit.to_static(_Cached(), input_spec=[spec, [spec, {"v": spec}]]), prefix)
    loaded = paddle.jit.load(prefix)
    x, k, v = (np.float32([[i, 2 * i]]) for i in (1, 2, 5))
    for made in (paddle.to_tensor, np.asarray):
        given = [made(a) for a in (x, k, v)]
        for out in (loaded(given[0], [given[1], {"v": given[2]}]), loaded(*given)):
            assert np.array_equal(out[0].numpy(), x + k - v) and np.array_equal(out[1].numpy(), v * x)
    with pytest.raises(ValueError, match="3 inputs"):
        loaded(x, [k])
    with pytest.raises(TypeError, match="forward: inputs must be a Tensor"):
        loaded(x, k, "text")


@pytest.mark.parametrize("suffix", [".pdmodel", ".pdiparams"])
def test_damaged_files_are_refused(tmp_path, suffix):
    prefix = _save(tmp_path, _net())
    with open(prefix + suffix, "rb") as f:
        good = f.read()
    rng = np.random.default_rng(1)
    for cut in [0, 5, 23, 24, len(good) // 2, len(good) - 1]:
        with open(prefix + suffix, "wb") as f:
            f.write(good[:cut])
        with pytest.raises((RuntimeError, ValueError), match="net" + suffix.replace(".", r"\.")):
            paddle.jit.load(prefix)
    for at in rng.integers(0, len(good), 40):
        bad = bytearray(good)
        bad[at] ^= 0x41
        with open(prefix + suffix, "wb") as f:
            f.write(bad)
        if bad[20:24] != good[20:24] and bad[:20] == good[:20]:
            continue  # reserved bytes
        with pytest.raises((RuntimeError, ValueError), match="net"):
            paddle.jit.load(prefix)


def test_parameters_of_another_model_are_refused(tmp_path):
    first = _save(tmp_path, _net())
    other = str(tmp_path / "other")
    paddle.jit.save(paddle.nn.Linear(2, 2), other, [paddle.static.InputSpec([None, 2])])
    os.replace(other + ".pdiparams", first + ".pdiparams")
    with pytest.raises((RuntimeError, ValueError), match="does not belong"):
        paddle.jit.load(first)


def test_missing_file_says_which(tmp_path):
    with pytest.raises(Exception, match="nowhere.pdmodel"):
        paddle.jit.load(str(tmp_path / "nowhere"))


def test_to_static_matches_eager_with_gradients():
    @paddle.jit.to_static
    def f(x, scale):
        y = paddle.tanh(x) * scale
        return {"sum": y.sum(), "y": y}

    x = paddle.to_tensor([0.5, -1.0], stop_gradient=False)
    got = f(x, 3.0)
    got["sum"].backward()
    np.testing.assert_allclose(got["y"].numpy(), 3 * np.tanh([0.5, -1.0]), rtol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), 3 * (1 - np.tanh([0.5, -1.0]) ** 2), rtol=1e-6)
    assert "tanh" in str(f.main_program)


def test_a_branch_on_a_value_that_is_not_converted_is_an_error_that_says_so():
    @paddle.jit.to_static
    @paddle.jit.not_to_static
    def f(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(Exception, match="program"):
        f(paddle.to_tensor([1.0]))


def test_batch_norm_statistics_follow_a_recorded_layer():
    net = paddle.nn.BatchNorm1D(3)
    reference = paddle.nn.BatchNorm1D(3)
    recorded = paddle.jit.to_static(net)
    x = paddle.to_tensor(np.random.default_rng(0).normal(size=[8, 3]).astype("float32"))
    for _ in range(3):
        recorded(x)
        reference(x)
    np.testing.assert_array_equal(net._mean.numpy(), reference._mean.numpy())
    assert np.abs(net._mean.numpy()).max() > 0


def test_cond_in_a_program_has_gradients_of_both_ways():
    program = paddle.static.Program()
    weight = paddle.to_tensor([2.0, 3.0], stop_gradient=False)
    with paddle.static.program_guard(program):
        x = paddle.static.data("x", [2], "float32")
        y = paddle.static.nn.cond(x.sum() > 0, lambda: (x * weight).sum(), lambda: (x * weight * weight).sum())
    ((_, grad),) = paddle.static.append_backward(y, [weight])
    exe = paddle.static.Executor()
    value, g = exe.run(program, {"x": np.array([1, 2], "float32")}, [y, grad])
    assert float(value) == 8.0 and g.tolist() == [1.0, 2.0]
    value, g = exe.run(program, {"x": np.array([-1, -2], "float32")}, [y, grad])
    assert float(value) == -22.0 and g.tolist() == [-4.0, -12.0]


def test_while_loop_recorded_saved_and_run(tmp_path):
    def doubled_until(x):
        return paddle.static.nn.while_loop(lambda v: v.sum() < 100.0, lambda v: [v * 2.0], [x])[0]

    prefix = str(tmp_path / "loop")
    paddle.jit.save(doubled_until, prefix, [paddle.static.InputSpec([None], "float32", "x")])
    loaded = paddle.jit.load(prefix)
    for start in ([1.0], [3.0, 4.0], [200.0]):
        x = paddle.to_tensor(start)
        assert loaded(x).tolist() == doubled_until(x).tolist()


def test_views_of_a_detached_view():
    # A detached view has no root to follow; its views once renewed themselves without end.
    @paddle.jit.to_static
    def function(x):
        y = (x * 2).reshape([3, 2])
        return y.detach().reshape([2, 3]).reshape([6]) + y.reshape([6])

    x = paddle.arange(6, dtype="float32").reshape([2, 3])
    np.testing.assert_array_equal(function(x).numpy(), 4 * np.arange(6))


def test_reshaping_a_recorded_value_in_place():
    @paddle.jit.to_static
    def function(x):
        y = x * 2
        view = y[0]
        y.reshape_([3, 2])
        return y + 1, view

    x = paddle.arange(6, dtype="float32").reshape([2, 3])
    y, view = function(x)
    np.testing.assert_array_equal(y.numpy(), 2 * np.arange(6).reshape(3, 2) + 1)
    np.testing.assert_array_equal(view.numpy(), [0, 2, 4])


def test_what_does_not_fit_in_place_is_refused_while_it_is_recorded():
    row, rows = paddle.static.InputSpec([3], "float32"), paddle.static.InputSpec([None, 3], "float32")

    @paddle.jit.to_static(input_spec=[row, rows])
    def convert(x, y):
        return (x * 1.0).lerp_(y, 0.5)

    with pytest.raises(ValueError, match=r"lerp_: the result has shape \[.*3\], which does not fit in place"):
        convert(paddle.ones([3]), paddle.ones([2, 3]))


def test_hooks_before_saving(tmp_path):
    from proa.fluid.dygraph import jit as old

    seen = []
    spec = [paddle.static.InputSpec([None, 2])]
    net = paddle.nn.Linear(2, 3)
    first = lambda layer, input_spec, configs: seen.append(("first", layer, input_spec, configs))
    second = lambda *given: seen.append("second")

    def changes(layer, input_spec, configs):
        layer.bias.set_value(paddle.ones([3]))

    handle = old._register_save_pre_hook(first)
    old._register_save_pre_hook(second)
    old._register_save_pre_hook(changes)
    try:
        paddle.jit.save(net, str(tmp_path / "net"), spec, output_spec=None)
        assert seen == [("first", net, spec, {"output_spec": None}), "second"]
        assert paddle.jit.load(str(tmp_path / "net"))(paddle.zeros([1, 2])).tolist() == [[1.0, 1.0, 1.0]]
        handle.remove()
        old._remove_save_pre_hook(second)
        paddle.jit.save(net, str(tmp_path / "net"), spec)
        assert len(seen) == 2

        def refuses(layer, input_spec, configs):
            raise KeyError("not this one")

        old._register_save_pre_hook(refuses)
        with pytest.raises(KeyError, match="not this one"):
            paddle.jit.save(net, str(tmp_path / "other"), spec)
        assert not (tmp_path / "other.pdmodel").exists()
        with pytest.raises(TypeError, match="hook must be a function, not int"):
            old._register_save_pre_hook(3)
    finally:
        old._clear_save_pre_hooks()
    paddle.jit.save(net, str(tmp_path / "other"), spec)
