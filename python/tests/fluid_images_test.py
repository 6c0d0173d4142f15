"""Images, regions, counters and row-sparse tensors of 1.x programs: against NumPy."""

import numpy as np
import pytest

import proa
from proa import fluid
from proa.fluid import layers

_RNG = np.random.RandomState(8)


@pytest.fixture
def program():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        yield main


def _run(fetches, **feed):
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    return executor.run(fluid.default_main_program(), feed=feed, fetch_list=fetches)


def test_sizes():
    x = proa.to_tensor(_RNG.randn(2, 3, 6, 9).astype("float32"))
    assert layers.image_resize_short(x, 4).shape == [2, 3, 4, 6]
    assert layers.image_resize_short(x.transpose([0, 1, 3, 2]), 4, "NEAREST").shape == [2, 3, 6, 4]
    row = proa.to_tensor(np.float32([[[0, 1, 2, 3]]]))
    np.testing.assert_allclose(layers.resize_linear(row, [7]).numpy(), [[np.arange(7) / 2]])
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 1, 6)), -1).astype("float32")
    same = layers.grid_sampler(x, proa.to_tensor(np.stack([grid, grid])))
    np.testing.assert_allclose(same.numpy(), x.numpy(), atol=1e-5)
    with pytest.raises(ValueError, match=r"must be \[N, C, H, W\]; it is \[1, 1, 4\]"):
        layers.image_resize_short(row, 4)


def test_random_crop():
    """Parts of the samples, of places that differ from call to call; the same for all samples of a call."""
    x = np.arange(2 * 3 * 5 * 4).reshape(2, 3, 5, 4)
    proa.seed(1)
    seen = set()
    for _ in range(20):
        found = layers.random_crop(proa.to_tensor(x), [2, 5, 3]).numpy()
        at = [(c, w) for c in range(2) for w in range(2) if (x[:, c : c + 2, :, w : w + 3] == found).all()]
        assert len(at) == 1
        seen.add(at[0])
    assert len(seen) > 2
    images = layers.random_crop(proa.to_tensor(x), [4, 4]).numpy()
    assert images.shape == (2, 3, 4, 4) and images.dtype == x.dtype
    with pytest.raises(ValueError, match=r"shape \[6, 4\] is no part of samples of x, \[2, 3, 5, 4\]"):
        layers.random_crop(proa.to_tensor(x), [6, 4])


def _overlap(a, b, extra):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    shared = np.maximum(high - low + extra, 0).prod()
    areas = [(c[2:] - c[:2] + extra).prod() for c in (a, b)]
    return shared / (sum(areas) - shared)


@pytest.mark.parametrize("normalized", [True, False])
def test_boxes(normalized):
    boxes = [np.sort(_RNG.rand(n, 2, 2) * 10, 1).reshape(n, 4).astype("float32") for n in (4, 3)]
    found = layers.iou_similarity(*map(proa.to_tensor, boxes), normalized)
    wanted = [[_overlap(a, b, 0 if normalized else 1) for b in boxes[1]] for a in boxes[0]]
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-6)


def test_boxes_in_their_images(program):
    boxes = fluid.data("boxes", [None, 4], lod_level=1)
    info = fluid.data("info", [None, 3])
    rows = np.float32([[-1, 2, 50, 3], [4, 5, 6, 70], [-3, -3, 99, 99]])
    (found,) = _run([layers.box_clip(boxes, info)], boxes=fluid.create_lod_tensor(rows, [[2, 1]]),
                    info=np.float32([[20, 30, 1], [20, 40, 2]]))  # fmt: skip
    assert found.tolist() == [[0, 2, 29, 3], [4, 5, 6, 19], [0, 0, 19, 9]]
    padded = layers.box_clip(proa.to_tensor(rows[None]), proa.to_tensor(np.float32([[20, 30, 1]])))
    assert padded.tolist() == [[[0, 2, 29, 3], [4, 5, 6, 19], [0, 0, 29, 19]]]


def test_regions(program):
    """Regions of two images, by their sequences; the same as with counts in eager mode."""
    x, boxes = fluid.data("x", [None, 8, 10, 10]), fluid.data("boxes", [None, 4], lod_level=1)
    fetches = [
        layers.roi_align(x, boxes, 2, 3, 0.5, 2),
        layers.roi_pool(x, boxes, 2, 2, 0.5),
        layers.psroi_pool(x, boxes, 2, 0.5, 2, 2),
    ]
    values = _RNG.randn(2, 8, 10, 10).astype("float32")
    rows = np.float32([[0, 0, 8, 8], [2, 4, 15, 12], [1, 1, 6, 18]])
    found = _run(fetches, x=values, boxes=fluid.create_lod_tensor(rows, [[1, 2]]))
    with proa._C.eager_mode():
        given = proa.to_tensor(values), proa.to_tensor(rows), proa.to_tensor(np.int32([1, 2]))
        wanted = [
            proa.vision.ops.roi_align(*given, (2, 3), 0.5, 2, aligned=False),
            proa.vision.ops.roi_pool(*given, (2, 2), 0.5),
            proa.vision.ops.psroi_pool(*given, (2, 2), 0.5),
        ]
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(got, want.numpy())
    with pytest.raises(ValueError, match="psroi_pool: input has channels for 2 output_channels, not 3"):
        layers.psroi_pool(x, boxes, 3, 0.5, 2, 2)
    with pytest.raises(ValueError, match="roi_align: give rois_num, or rois that hold sequences"):
        layers.roi_align(x, fluid.data("plain", [None, 4]))


def test_deformable_conv(program):
    """Without offsets it is a convolution; the mask weighs it."""
    x, offset = fluid.data("x", [None, 2, 5, 5]), fluid.data("offset", [None, 18, 3, 3])
    mask = fluid.data("mask", [None, 9, 3, 3])
    attr = lambda: fluid.ParamAttr(name="w", initializer=fluid.initializer.Normal())
    fetches = [
        layers.deformable_conv(x, offset, mask, 4, 3, param_attr=attr(), bias_attr=False),
        layers.deformable_conv(x, offset, None, 4, 3, param_attr=attr(), bias_attr=False, modulated=False),
        layers.conv2d(x, 4, 3, param_attr=attr(), bias_attr=False),
    ]
    feed = {"x": _RNG.randn(1, 2, 5, 5).astype("float32"), "offset": np.zeros([1, 18, 3, 3], "float32")}
    half, plain, conv = _run(fetches, **feed, mask=np.full([1, 9, 3, 3], 0.5, "float32"))
    np.testing.assert_allclose(plain, conv, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(half, conv / 2, rtol=1e-4, atol=1e-5)


def test_counts_of_runs(program):
    counter = layers.autoincreased_step_counter(begin=5, step=2)
    assert layers.autoincreased_step_counter(begin=5, step=2) is counter
    other = layers.autoincreased_step_counter("mine")
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    found = [executor.run(program, fetch_list=[counter, other]) for _ in range(3)]
    assert [[v.item() for v in pair] for pair in found] == [[5, 1], [7, 2], [9, 3]]


def test_mean_iou():
    said, true = _RNG.randint(0, 4, (5, 7)), _RNG.randint(0, 4, (5, 7))
    mean, wrong, right = layers.mean_iou(proa.to_tensor(said), proa.to_tensor(true), 6)
    hits = [int(((said == c) & (true == c)).sum()) for c in range(6)]
    misses = [int((((said == c) | (true == c)) & (said != true)).sum()) for c in range(6)]
    assert right.tolist() == hits and wrong.tolist() == misses and wrong.dtype == proa.int32
    ratios = [h / (h + m) for h, m in zip(hits, misses, strict=True) if h + m]
    np.testing.assert_allclose(mean.numpy(), [np.mean(ratios)], rtol=1e-6)


def test_hsigmoid(program):
    x, label = fluid.data("x", [None, 4]), fluid.data("label", [None, 1], "int64")
    cost = layers.hsigmoid(x, label, 6, param_attr="w", bias_attr="b")
    values, classes = _RNG.randn(3, 4).astype("float32"), np.int64([[0], [3], [5]])
    (found,) = _run([cost], x=values, label=classes)
    w, b = (np.array(fluid.global_scope().find_var(name).get_tensor()) for name in "wb")
    assert w.shape == (5, 4) and b.shape == (5, 1)
    with proa._C.eager_mode():
        given = map(proa.to_tensor, (w, b))
        wanted = proa.nn.functional.hsigmoid_loss(proa.to_tensor(values), proa.to_tensor(classes), 6, *given)
        np.testing.assert_array_equal(found, wanted.numpy())


def test_levels_of_sequences(program):
    x, plain = fluid.data("x", [None, 1], lod_level=1), fluid.data("plain", [None, 1])
    one, two = layers.lod_append(plain, [1, 2, 1]), layers.lod_append(x, [1, 1, 1])
    assert [v.lod_level for v in (plain, x, one, two)] == [0, 1, 1, 2]
    inner = layers.sequence_pool(two, "sum")
    assert inner.lod_level == 1
    feed = {
        "x": fluid.create_lod_tensor(np.float32([[1], [2], [3]]), [[2, 1]]),
        "plain": np.float32([[1], [2], [3], [4]]),
    }
    found = _run([layers.sequence_pool(one, "sum"), inner, layers.sequence_pool(inner, "sum")], **feed)
    assert [v.ravel().tolist() for v in found] == [[1, 5, 4], [1, 2, 3], [3, 3]]


def test_row_sparse_gradients():
    table = proa.nn.Embedding(6, 2, sparse=True)
    (table(proa.to_tensor([4, 1, 4])) * proa.to_tensor([[1.0], [2.0], [3.0]])).sum().backward()
    merged = layers.merge_selected_rows(table.weight.grad)
    assert merged.is_selected_rows() and merged.get_selected_rows().rows() == [1, 4]
    assert layers.get_tensor_from_selected_rows(merged).tolist() == [[2.0, 2.0], [4.0, 4.0]]
    dense = proa.ones([2])
    assert layers.get_tensor_from_selected_rows(dense) is dense
