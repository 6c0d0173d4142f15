"""Layers of static programs that end a network: noise-contrastive estimation, data_norm, boxes of SSD; against NumPy."""

import math

import numpy as np
import pytest

import proa
from proa import static
from proa.static import nn
from proa.static.nn import sampled
from proa.static.nn.ssd import prior_box

_RNG = np.random.RandomState(1)


def _run(build, feed, times=1):
    main, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        results = build()
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        executor = static.Executor()
        executor.run(startup)
        found = [executor.run(main, feed=feed, fetch_list=results) for _ in range(times)]
        return found, main


# Classes drawn instead of the labels ----------------------------------------------------------------------------------


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_the_cost_of_telling_labels_from_noise():
    x, w, b = _RNG.randn(4, 6), _RNG.randn(9, 6), _RNG.randn(9, 1)
    labels, drawn = _RNG.randint(0, 9, [4, 2]), _RNG.randint(0, 9, [4, 3])
    chances = _RNG.dirichlet(np.ones(9))
    want = np.zeros([4, 1])
    for i in range(4):
        for c in labels[i]:
            o, noise = _sigmoid(x[i] @ w[c] + b[c, 0]), chances[c] * 3
            want[i] -= np.log(o / (o + noise))
        for c in drawn[i]:
            o, noise = _sigmoid(x[i] @ w[c] + b[c, 0]), chances[c] * 3
            want[i] -= np.log(noise / (o + noise))
    probability = lambda classes: proa.to_tensor(chances[classes.numpy()])
    got = sampled.cost(*(proa.to_tensor(a) for a in (x, labels, drawn, w, b)), probability)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
    far = sampled.cost(*(proa.to_tensor(a) for a in (x * 1e4, labels, drawn, w, b)), probability)
    assert np.isfinite(far.numpy()).all()


@pytest.mark.parametrize("sampler", ["uniform", "log_uniform", "custom_dist"])
@pytest.mark.parametrize("seed", [0, 3])
def test_classes_are_drawn_as_their_probabilities_say(sampler, seed):
    chances = [0.5, 0.0, 0.2, 0.3]
    draw, probability = sampled._SAMPLERS[sampler](4, chances)
    proa.seed(1)
    drawn = draw([20_000, 1], seed).numpy()
    of_each = probability(proa.to_tensor(np.arange(4).reshape(4, 1))).numpy()[:, 0]
    if sampler == "log_uniform":  # as of PaddlePaddle: the last one has a chance as a label, and is never drawn
        np.testing.assert_allclose(of_each, np.log([2, 3 / 2, 4 / 3, 5 / 4]) / np.log(4), rtol=1e-5)
        of_each[3] = 0.0
    np.testing.assert_allclose(of_each.sum(), 1.0, rtol=1e-5)
    np.testing.assert_allclose(np.bincount(drawn[:, 0], minlength=4) / 20_000, of_each, atol=0.015)


def test_log_uniform_costs_what_it_costs_in_paddle():
    """Of two classes the first is always drawn, with a chance of 1: PaddlePaddle 3.3 gives these costs of these scores."""
    x = np.float32([[-1, -0.5], [0, 0.5], [1, 1.5]])

    def build():
        weight = proa.ParamAttr("w", initializer=proa.nn.initializer.Assign(np.float32([[1, 2], [3, -1]])))
        given = static.data("x", [None, 2]), static.data("label", [None, 1], "int64"), 2
        return nn.nce(*given, param_attr=weight, bias_attr=False, num_neg_samples=3, sampler="log_uniform")

    ((got,),), _ = _run(build, {"x": x, "label": np.int64([[0], [1], [1]])})
    np.testing.assert_allclose(got[:, 0], [0.84535033, 0.59639436, 0.49895069], rtol=1e-5)


def test_nce_in_a_program():
    """With two classes of which one is always drawn, nothing is left to chance."""
    x, label = _RNG.randn(5, 3).astype("float32"), np.array([[0], [1], [0], [1], [0]])
    weights = np.arange(1.0, 6.0, dtype="float32")

    def build():
        given = static.data("x", [None, 3]), static.data("label", [None, 1], "int64"), 2
        dist = {"sampler": "custom_dist", "custom_dist": [0.5, 0.5], "num_neg_samples": 4}
        cost = nn.nce(*given, param_attr="w", bias_attr="b", sample_weight=static.data("s", [None]), **dist)
        return cost, nn.nce(*given, param_attr="w", bias_attr=False, **dist)

    (((got, _),), main) = _run(build, {"x": x, "label": label, "s": weights})
    w, b = main.state_dict()["w"].numpy(), main.state_dict()["b"].numpy()
    assert w.shape == (2, 3) and b.shape == (2, 1) and got.shape == (5, 1)
    scores = x @ w.T + b.T
    right = np.log1p(2.0 / _sigmoid(scores))[np.arange(5), label[:, 0]]  # noise: 0.5 * 4
    wrong = np.log1p(_sigmoid(scores) / 2.0)
    least, most = right + 4 * wrong.min(1), right + 4 * wrong.max(1)
    assert ((got[:, 0] / weights * 5 >= least - 1e-4) & (got[:, 0] / weights * 5 <= most + 1e-4)).all()


def test_nce_trains_a_table():
    main, startup = static.Program(), static.Program()
    labels = np.arange(8).reshape(8, 1)
    x = np.eye(8, dtype="float32")
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        given = static.data("x", [None, 8]), static.data("label", [None, 1], "int64")
        loss = nn.nce(*given, 8, param_attr="w", bias_attr="b", num_neg_samples=5, sampler="log_uniform").mean()
        proa.optimizer.Adam(0.1).minimize(loss)
        executor = static.Executor()
        executor.run(startup)
        proa.seed(0)
        for _ in range(80):
            executor.run(main, feed={"x": x, "label": labels})
        w = main.state_dict()["w"].numpy()
    assert ((x @ w.T).argmax(1) == labels[:, 0]).all()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"sampler": "zipf"}, "sampler must be one of uniform, log_uniform, custom_dist, not 'zipf'"),
        ({"sampler": "custom_dist"}, "takes custom_dist with 4 probabilities, not None"),
        ({"sampler": "custom_dist", "custom_dist": [1.0, 1.0, 0.0, 0.0]}, "probabilities whose sum is 1"),
        ({"sampler": "log_uniform", "num_total_classes": 1}, "'log_uniform' takes two classes at least, not 1"),
    ],
)
def test_bad_samplers(more, says):
    with static.program_guard(static.Program()), pytest.raises(ValueError, match=says):
        nn.nce(
            static.data("x", [None, 3]), static.data("label", [None, 1], "int64"), **{"num_total_classes": 4, **more}
        )


# Sums over all batches -------------------------------------------------------------------------------------------------


def test_data_norm_over_three_batches():
    x = _RNG.randn(6, 4).astype("float32")
    first = {"batch_size": 10.0, "batch_sum": 2.0, "batch_square": 40.0, "scale_w": 2.0, "bias": 0.5}

    def build():
        return nn.data_norm(static.data("x", [None, 4]), param_attr=first, name="dn", enable_scale_and_shift=True,
                            summary_decay_rate=0.9, act="relu")  # fmt: skip

    found, main = _run(build, {"x": x}, 3)
    size, total, square = np.full(4, 10.0), np.full(4, 2.0), np.full(4, 40.0)
    for (got,) in found:
        mean = total / size
        np.testing.assert_allclose(
            got, np.maximum((x - mean) * np.sqrt(size / square) * 2 + 0.5, 0), rtol=1e-4, atol=1e-5
        )
        size, total, square = (
            size * 0.9 + 6,
            total * 0.9 + x.sum(0),
            square * 0.9 + ((x - mean) ** 2).sum(0) + 6e-5,
        )
    state = {name: value.numpy() for name, value in main.state_dict().items()}
    assert sorted(state) == ["dn.batch_size", "dn.batch_square_sum", "dn.batch_sum", "dn.bias", "dn.scale_w"]
    np.testing.assert_allclose(state["dn.batch_square_sum"], square, rtol=1e-4)
    test = main.clone(for_test=True)
    static.Executor().run(test, feed={"x": x}, fetch_list=["dn.batch_sum"])
    np.testing.assert_array_equal(main.state_dict()["dn.batch_size"].numpy(), state["dn.batch_size"])


def test_data_norm_of_slots():
    x = _RNG.randn(3, 4).astype("float32")
    x[0, 2] = x[2, 0] = 0.0  # these groups have no data
    ((got,),), main = _run(lambda: nn.data_norm(static.data("x", [None, 4]), slot_dim=2, name="dn"), {"x": x})
    there = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1]])
    np.testing.assert_allclose(got, x * there, rtol=1e-5)
    sums = {name: value.numpy() for name, value in main.state_dict().items()}
    np.testing.assert_allclose(sums["dn.batch_size"], 1e4 * 0.9999999 + there.sum(0), rtol=1e-6)
    np.testing.assert_allclose(sums["dn.batch_sum"], (x * there).sum(0), rtol=1e-5, atol=1e-6)
    with static.program_guard(static.Program()):
        with pytest.raises(ValueError, match="4 columns are no multiple of slot_dim 3"):
            nn.data_norm(static.data("x", [None, 4]), slot_dim=3)
        with pytest.raises(ValueError, match="param_attr has no 'size'"):
            nn.data_norm(static.data("x", [None, 4]), param_attr={"size": 1.0})


# Boxes ------------------------------------------------------------------------------------------------------------------


def _boxes(shape, image, halves, steps, offset):
    found = np.zeros([*shape, len(halves), 4])
    for i in range(shape[0]):
        for j in range(shape[1]):
            x, y = (j + offset) * steps[0], (i + offset) * steps[1]
            for k, (w, h) in enumerate(halves):
                found[i, j, k] = [(x - w) / image[1], (y - h) / image[0], (x + w) / image[1], (y + h) / image[0]]
    return found


@pytest.mark.parametrize("second", [False, True])
def test_boxes_that_are_there_before(second):
    maps, image = proa.zeros([2, 5, 3, 4]), proa.zeros([2, 3, 30, 60])
    got, variances = prior_box(maps, image, [4.0, 8.0], [9.0, 20.0], [1.0, 2.0], flip=True, offset=0.25,
                               min_max_aspect_ratios_order=second)  # fmt: skip
    halves = []
    for small, large in ((4, 9), (8, 20)):
        ratios = [(small * math.sqrt(r) / 2, small / math.sqrt(r) / 2) for r in (1.0, 2.0, 0.5)]
        square = [(math.sqrt(small * large) / 2,) * 2]
        halves += ratios[:1] + square + ratios[1:] if second else ratios + square
    want = _boxes((3, 4), (30, 60), halves, (15.0, 10.0), 0.25)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)
    assert variances.shape == got.shape and np.allclose(variances.numpy(), [0.1, 0.1, 0.2, 0.2])
    clipped, _ = prior_box(maps, image, 4.0, clip=True, steps=[20.0, 20.0])
    want = np.clip(_boxes((3, 4), (30, 60), [(2, 2)], (20.0, 20.0), 0.5), 0, 1)
    np.testing.assert_allclose(clipped.numpy(), want, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="each of max_sizes must be larger"):
        prior_box(maps, image, [4.0], [3.0])
    with static.program_guard(static.Program()), pytest.raises(ValueError, match="height and width must be known"):
        prior_box(static.data("x", [1, 2, None, 3]), image, [4.0])


def test_the_head_of_a_detector():
    shapes = [(4, 4), (2, 2), (1, 1)]
    maps = [_RNG.randn(2, 3, *s).astype("float32") for s in shapes]

    def build():
        image = static.data("image", [None, 3, 64, 64])
        given = [static.data(f"m{i}", [None, 3, *s]) for i, s in enumerate(shapes)]
        return nn.multi_box_head(given, image, 64, 5, [[2.0], [2.0, 3.0], [2.0]], min_ratio=20, max_ratio=90)

    ((places, scores, boxes, variances),), main = _run(build, {f"m{i}": m for i, m in enumerate(maps)})
    count = 16 * 4 + 4 * 6 + 4
    assert places.shape == (2, count, 4) and scores.shape == (2, count, 5)
    assert boxes.shape == variances.shape == (count, 4)
    smaller, larger = [6.4, 12.8, 57.6], [12.8, 57.6, 102.4]  # 10 and 20 %; from 20 % to 90 % in one step of 70
    np.testing.assert_allclose(boxes[0] * 64, [8 - 3.2, 8 - 3.2, 8 + 3.2, 8 + 3.2], atol=1e-4)
    middle = boxes[64 + 24 :] * 64
    np.testing.assert_allclose(middle[0], [32 - smaller[2] / 2] * 2 + [32 + smaller[2] / 2] * 2, atol=1e-3)
    half = math.sqrt(smaller[2] * larger[2]) / 2
    np.testing.assert_allclose(middle[-1], [32 - half] * 2 + [32 + half] * 2, atol=1e-3)
    p = {name: value.numpy() for name, value in main.state_dict().items()}
    last = [p[n] for n in sorted(p) if p[n].ndim == 4 and p[n].shape[0] == 16][-1]
    assert last.shape == (16, 3, 1, 1)
    with static.program_guard(static.Program()):
        x, image = static.data("x", [None, 3, 2, 2]), static.data("image", [None, 3, 8, 8])
        with pytest.raises(ValueError, match="give min_sizes, or min_ratio and max_ratio for three maps"):
            nn.multi_box_head([x], image, 8, 2, [[2.0]])
        with pytest.raises(ValueError, match="aspect_ratios must be a list of 1, one for each map"):
            nn.multi_box_head([x], image, 8, 2, [[2.0], [3.0]], min_sizes=[2.0], max_sizes=[4.0])


def test_deformable_convolution_that_moves_nothing():
    x = _RNG.randn(2, 4, 5, 5).astype("float32")

    def build():
        offset = proa.zeros([2, 18, 3, 3])
        mask = proa.ones([2, 9, 3, 3])
        return nn.deform_conv2d(static.data("x", [2, 4, 5, 5]), offset, mask, 6, 3, weight_attr="w", bias_attr="b")

    ((got,),), main = _run(build, {"x": x})
    p = {name: proa.to_tensor(value.numpy()) for name, value in main.state_dict().items()}
    np.testing.assert_allclose(got, proa.nn.functional.conv2d(proa.to_tensor(x), p["w"], p["b"]).numpy(), atol=1e-4)
