"""Operations on boxes: the numbers of the reference, what has no boxes, programs, and what is refused."""

import io
import json
import os
import pathlib

import numpy as np
import pytest

import proa
from proa.vision import ops
from python.tests import reference_vision_ops

_CASES = list(reference_vision_ops.cases())
_FOUND = json.loads((pathlib.Path(__file__).parent / "reference_vision_ops.json").read_text())


@pytest.mark.parametrize("i", range(len(_CASES)), ids=[f"{case[0]}{i}" for i, case in enumerate(_CASES)])
def test_the_numbers_of_the_reference(i):
    assert len(_CASES) == len(_FOUND)
    ours = reference_vision_ops.compute(proa, *_CASES[i])
    assert len(ours) == len(_FOUND[i])
    for our, their in zip(ours, _FOUND[i]):
        if not np.size(their):  # lists of nothing have no shape
            their = np.reshape(their, [0, *our.shape[1:]])
        assert list(our.shape) == list(np.shape(their))
        scale = max(np.abs(their).max(), 1.0) if our.size else 1.0
        np.testing.assert_allclose(our, their, rtol=1e-5, atol=1e-5 * scale)


def greedy(boxes, threshold):
    """Boxes one after another: each that overlaps no kept one stays."""
    kept = []
    for i, a in enumerate(boxes):
        for j in kept:
            b = boxes[j]
            w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            common = max(w, 0) * max(h, 0)
            areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
            if common / (sum(areas) - common) > threshold:
                break
        else:
            kept.append(i)
    return kept


@pytest.mark.parametrize("seed", range(20))
def test_nms_is_greedy(seed):
    """Also where boxes take each other out in long chains."""
    rng = np.random.RandomState(seed)
    n = int(rng.randint(1, 60))
    corner = np.stack([np.sort(rng.rand(n) * 20), rng.rand(n) * 2], 1) if seed % 2 else rng.rand(n, 2) * 10
    boxes = np.concatenate([corner, corner + 2 + rng.rand(n, 2) * 2], 1)
    assert ops.nms(proa.to_tensor(boxes), 0.4).tolist() == greedy(boxes, 0.4)


def test_nms_of_little_and_of_nothing():
    none = proa.zeros([0, 4])
    assert ops.nms(none, 0.3).shape == [0] and ops.nms(none, 0.3).dtype == proa.int64
    assert ops.nms(none, 0.3, proa.zeros([0]), proa.zeros([0], "int64"), [1], 3).shape == [0]
    one = proa.to_tensor([[0.0, 0, 1, 1]])
    assert ops.nms(one, 0.3, top_k=0).shape == [0]
    flat = proa.to_tensor([[0.0, 0, 0, 0], [0, 0, 0, 0], [np.nan, 0, 1, 1]])  # 0 / 0 and NaN are no overlap
    assert ops.nms(flat, 0.3).tolist() == [0, 1, 2]


def test_programs():
    """Sizes that a program learns when it runs."""
    rng = np.random.RandomState(3)
    n, side = 2, 3
    given = {
        "boxes": reference_vision_ops._boxes(rng, 9), "scores": rng.rand(9), "x": rng.randn(n, 16, side, side),
        "size": np.full([n, 2], 96, "int32"), "offset": rng.randn(n, 18, side, side), "mask": rng.rand(n, 9, side, side),
        "truth": rng.uniform(0.1, 0.6, (n, 4, 4)), "label": rng.randint(0, 3, (n, 4)).astype("int32"),
        "code": rng.randn(9, 9, 4),
    }  # fmt: skip
    given = {name: v if v.dtype == np.int32 else v.astype("float32") for name, v in given.items()}
    weight = proa.to_tensor(rng.randn(4, 16, 3, 3).astype("float32"))

    def results(boxes, scores, x, size, offset, mask, truth, label, code):
        anchors = [10, 13, 16, 30]
        return [
            ops.nms(boxes, 0.3, scores, top_k=5),
            *ops.yolo_box(x, size, anchors, 3, 0.1, 32),
            ops.yolo_loss(x, truth, label, anchors, [0, 1], 3, 0.5, 32),
            ops.deform_conv2d(x, offset, weight, padding=1, mask=mask),
            *ops.prior_box(x, x, [2.0], clip=True),
            ops.box_coder(boxes, None, boxes),
            ops.box_coder(boxes, [0.1, 0.1, 0.2, 0.2], code, "decode_center_size", axis=1),
        ]

    eager = results(**{name: proa.to_tensor(value) for name, value in given.items()})
    proa.enable_static()
    try:
        inner = {"boxes": 4, "code": 4, "truth": 4, "size": 2, "x": 16, "offset": 18, "mask": 9}
        at = {"x": 1, "offset": 1, "mask": 1}
        program = proa.static.Program()
        with proa.static.program_guard(program):
            inputs = {}
            for name, value in given.items():
                shape = [None] * value.ndim
                if name in inner:
                    shape[at.get(name, -1)] = inner[name]
                inputs[name] = proa.static.data(name, shape, str(value.dtype))
            fetch = results(**inputs)
        found = proa.static.Executor().run(program, feed=given, fetch_list=fetch)
    finally:
        proa.disable_static()
    assert len(found) == len(eager)
    for ours, other in zip(found, eager):
        np.testing.assert_allclose(ours, other.numpy(), rtol=1e-5, atol=1e-6)


def test_deform_conv_without_moves_is_a_convolution():
    proa.seed(0)
    layer = ops.DeformConv2D(4, 6, [3, 2], stride=[2, 1], padding=[1, 2], dilation=[1, 2], groups=2)
    x = proa.randn([2, 4, 7, 6])
    same = proa.nn.functional.conv2d(x, layer.weight, layer.bias, [2, 1], [1, 2], [1, 2], 2)
    found = layer(x, proa.zeros([2, 12, *same.shape[2:]]))
    np.testing.assert_allclose(found.numpy(), same.numpy(), rtol=1e-4, atol=1e-5)
    assert ops.DeformConv2D(4, 6, 3, bias_attr=False).bias is None
    assert ops.deform_conv2d(
        x[:0], proa.zeros([0, 12, *same.shape[2:]]), layer.weight, None, [2, 1], [1, 2], [1, 2], 1, 2
    ).shape == [0, *same.shape[1:]]


def test_files(tmp_path):
    from PIL import Image

    pixels = np.random.RandomState(0).randint(0, 256, (16, 24, 3)).astype("uint8")
    for mode, channels in (("RGB", 3), ("L", 1)):
        path = tmp_path / f"{mode}.jpg"
        Image.fromarray(pixels).convert(mode).save(path, quality=95)
        data = ops.read_file(str(path))
        assert data.dtype == proa.uint8 and data.shape == [os.path.getsize(path)]
        expected = np.asarray(Image.open(path)).reshape(16, 24, channels).transpose(2, 0, 1)
        assert np.array_equal(ops.decode_jpeg(data).numpy(), expected)
        assert np.array_equal(ops.decode_jpeg(data, "gray").numpy()[0], np.asarray(Image.open(path).convert("L")))
        assert ops.decode_jpeg(data, "rgb").shape == [3, 16, 24]
    with pytest.raises(ValueError, match="no whole JPEG image"):
        ops.decode_jpeg(data[: len(data) // 2])
    png = io.BytesIO()
    Image.fromarray(pixels).save(png, "PNG")
    for wrong in (png.getvalue(), b"", b"\xff\xd8\xff"):
        with pytest.raises(ValueError, match="no whole JPEG image"):
            ops.decode_jpeg(proa.to_tensor(np.frombuffer(wrong, "uint8")))
    with pytest.raises(ValueError, match=r"uint8 \[size\]; it is \[2\] float32"):
        ops.decode_jpeg(proa.ones([2]))
    with pytest.raises(ValueError, match="'unchanged', 'gray' or 'rgb', not 'cmyk'"):
        ops.decode_jpeg(data, "cmyk")
    with pytest.raises(FileNotFoundError):
        ops.read_file(str(tmp_path / "none"))


_ONES, _INTS = proa.ones, lambda *shape: proa.ones(list(shape), "int32")
_WRONG = [
    (lambda: ops.nms(_ONES([3, 5])), r"nms: boxes must be \[N, 4\]; it is \[3, 5\]"),
    (lambda: ops.nms(_ONES([3, 4]), 0.3, _ONES([2])), r"nms: scores must be \[3\], as boxes are; it is \[2\]"),
    (lambda: ops.nms(_ONES([3, 4]), 0.3, None, _INTS(3), [1]), "category_idxs needs scores"),
    (lambda: ops.nms(_ONES([3, 4]), 0.3, _ONES([3]), _INTS(3)), "category_idxs needs scores, and categories"),
    (lambda: ops.nms(_ONES([3, 4]), top_k=-1), "top_k must not be negative"),
    (lambda: ops.box_coder(_ONES([3, 4]), None, _ONES([2, 4]), "encode"), "code_type must be"),
    (lambda: ops.box_coder(_ONES([3, 4]), None, _ONES([2, 4]), "decode_center_size"), r"target_box must be \[N, M, 4\]"),
    (lambda: ops.box_coder(_ONES([3, 4]), None, _ONES([3, 2, 4]), "decode_center_size"), "number of prior boxes"),
    (lambda: ops.box_coder(_ONES([3, 4]), [1.0], _ONES([2, 4])), "4 numbers"),
    (lambda: ops.box_coder(_ONES([3, 4]), None, _ONES([2, 4]), axis=2), "axis must be 0 or 1"),
    (lambda: ops.prior_box(_ONES([3]), _ONES([1, 3, 4, 4]), [2.0]), r"must be \[N, C, H, W\]"),
    (lambda: ops.prior_box(_ONES([1, 3, 2, 2]), _ONES([1, 3, 4, 4]), [0.0]), "min_sizes must be positive"),
    (lambda: ops.prior_box(_ONES([1, 3, 2, 2]), _ONES([1, 3, 4, 4]), [2.0], [1.0]), "must be larger"),
    (lambda: ops.prior_box(_ONES([1, 3, 2, 2]), _ONES([1, 3, 4, 4]), 2.0, aspect_ratios=-1.0), "must be positive"),
    (lambda: ops.prior_box(_ONES([1, 3, 2, 2]), _ONES([1, 3, 4, 4]), 2.0, variance=[1.0]), "variance must be 4 numbers"),
    (lambda: ops.yolo_box(_ONES([1, 6, 2, 2]), _INTS(1, 2), [8, 8], 2, 0.1, 32), r"x must be \[N, 7, H, W\]"),
    (lambda: ops.yolo_box(_ONES([1, 7, 2, 2]), _INTS(2, 2), [8, 8], 2, 0.1, 32), r"img_size must be \[1, 2\]"),
    (lambda: ops.yolo_box(_ONES([1, 7, 2, 2]), _INTS(1, 2), [8], 2, 0.1, 32), "anchors must be pairs"),
    (lambda: ops.yolo_loss(_ONES([1, 7, 2, 2]), _ONES([1, 3, 4]), _INTS(1, 3), [8, 8], [1], 2, 0.7, 32), "anchor_mask"),
    (lambda: ops.yolo_loss(_ONES([1, 7, 2, 2]), _ONES([2, 3, 4]), _INTS(1, 3), [8, 8], [0], 2, 0.7, 32), "gt_box must be"),
    (lambda: ops.yolo_loss(_ONES([1, 7, 2, 2]), _ONES([1, 3, 4]), _INTS(1, 2), [8, 8], [0], 2, 0.7, 32), "gt_label must"),
    (lambda: ops.deform_conv2d(_ONES([2, 4, 4]), _ONES([1]), _ONES([1, 2, 3, 3])), "must have 4 dims"),
    (lambda: ops.deform_conv2d(_ONES([1, 2, 4, 4]), _ONES([1, 18, 4, 4]), _ONES([1, 2, 3, 3])), r"offset must be \[1, 18, 2, 2\]"),
    (lambda: ops.deform_conv2d(_ONES([1, 2, 4, 4]), _ONES([1, 18, 2, 2]), _ONES([1, 3, 3, 3])), "must divide the channels"),
    (lambda: ops.deform_conv2d(_ONES([1, 2, 4, 4]), _ONES([1, 18, 2, 2]), _ONES([1, 2, 3, 3]), stride=0), "stride must be"),
    (lambda: ops.DeformConv2D(3, 4, 3, groups=2), "groups must divide in_channels"),
    (lambda: ops.DeformConv2D(3, 4, 3, weight_attr=False), "needs its weight"),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(_WRONG)))
def test_what_is_refused(i):
    call, says = _WRONG[i]
    with pytest.raises(ValueError, match=says):
        call()
