"""Small programs of one public function each."""

import numpy as np
import paddle
from recording import F, U, boxes, f32, i64, mask, nn, pos, raw, static, x2, x3, x4


def loop(x):
    i = paddle.full([1], 0, "int64")
    n = paddle.full([1], 5, "int64")
    return static.nn.while_loop(lambda i, x: i < n, lambda i, x: [i + 1, x * 1.5 + 1.0], [i, x])[1]


def array_loop(x):
    i = paddle.full([1], 0, "int64")
    n = paddle.full([1], 4, "int64")
    array = paddle.tensor.create_array("float32")
    paddle.tensor.array_write(x, i, array)

    def body(i, last):
        after = paddle.tanh(last) + 1.0
        i = i + 1
        paddle.tensor.array_write(after, i, array)
        return [i, after]

    static.nn.while_loop(lambda i, last: i < n, body, [i, x])
    return paddle.tensor.array_read(array, paddle.full([1], 2, "int64")), paddle.tensor.array_length(array)


def branches(x):
    a = static.nn.cond(paddle.mean(x) > 0.0, lambda: (x * 2.0, paddle.exp(x)), lambda: (x - 1.0, paddle.tanh(x)))
    b = static.nn.cond(
        paddle.mean(x) > 1e6, lambda: x * 3.0, lambda: static.nn.cond(x.max() > 0.5, lambda: x + 7.0, lambda: x)
    )
    return a[0], a[1], b


def switch(i, x):
    return static.nn.switch_case(i, {0: lambda: x * 2.0, 2: lambda: x - 5.0}, default=lambda: x * 0.0)


def nms(b, s, **more):
    from paddle.base.layer_helper import LayerHelper

    helper = LayerHelper("multiclass_nms3")
    outs = [helper.create_variable_for_type_inference(t) for t in ("float32", "int32", "int32")]
    attrs = dict(
        background_label=-1,
        score_threshold=0.1,
        nms_top_k=8,
        nms_threshold=0.4,
        nms_eta=1.0,
        keep_top_k=6,
        normalized=True,
    )
    helper.append_op(type="multiclass_nms3", inputs={"BBoxes": b, "Scores": s}, attrs=attrs | more,
                     outputs={"Out": outs[0], "Index": outs[1], "NmsRoisNum": outs[2]})  # fmt: skip
    return outs


# name: (function of the inputs, arrays)
FUNCTIONS = {
    **{
        n: (lambda x, n=n: getattr(paddle, n)(x), [pos])
        for n in (
            "abs acos asin atan ceil cos cosh exp expm1 floor log log10 log1p log2 reciprocal round rsqrt sign sin sinh sqrt square tan tanh "
            "trunc erf sigmoid lgamma digamma erfinv acosh asinh atanh isnan isinf isfinite"
        ).split()
    },
    **{
        n: (lambda x, n=n: getattr(F, n)(x), [x2])
        for n in (
            "relu relu6 elu celu selu gelu mish softplus softshrink hardshrink hardsigmoid hardswish swish silu tanhshrink thresholded_relu "
            "leaky_relu log_sigmoid softsign hardtanh log_softmax softmax"
        ).split()
    },
    "stanh": (paddle.stanh, [x2]),
    "maxout": (lambda x: F.maxout(x, 2), [x4]),
    "prelu": (lambda x: static.nn.prelu(x, "channel"), [x4]),
    **{
        n: (lambda x, y, n=n: getattr(paddle, n)(x, y), [x2, pos])
        for n in (
            "add subtract multiply divide maximum minimum pow mod floor_divide atan2 fmax fmin equal not_equal less_than less_equal greater_than "
            "greater_equal"
        ).split()
    },
    **{
        n: (lambda x, y, n=n: getattr(paddle, n)(x, y), [mask, ~mask])
        for n in "logical_and logical_or logical_xor".split()
    },
    "axis_add": (lambda x, y: raw("elementwise_add", {"X": x, "Y": y}, {"Out": U}, {"axis": 1}), [x4, f32(4)]),
    "int_divide": (
        lambda x, y: raw("elementwise_div", {"X": x, "Y": y}, {"Out": "int64"}, {"axis": -1}),
        [i64(3, 4) - 7, i64(3, 4) + 2],
    ),
    "logical_not": (lambda x: paddle.logical_not(x), [mask]),
    "where": (paddle.where, [mask, x2, pos]),
    "clip": (lambda x: paddle.clip(x, -0.5, 0.7), [x2]),
    "scale": (lambda x: paddle.scale(x, 2.0, 1.5, False), [x2]),
    "cast": (lambda x: paddle.cast(x, "int32"), [x2]),
    "increment": (lambda x: paddle.increment(x, 2.0), [f32(1)]),
    "allclose": (paddle.allclose, [x2, x2]),
    **{
        n: (lambda x, n=n: (getattr(paddle, n)(x, 1), getattr(paddle, n)(x, [0, 1], True), getattr(paddle, n)(x)), [x3])
        for n in "sum mean max min prod amax amin logsumexp".split()
    },
    **{n: (lambda x, n=n: (getattr(paddle, n)(x, 1), getattr(paddle, n)(x)), [mask]) for n in "any all".split()},
    "argmax": (lambda x: (paddle.argmax(x, 1), paddle.argmin(x, -1, True), paddle.argmax(x)), [x2]),
    "cumsum": (lambda x: (paddle.cumsum(x, 1), paddle.cumsum(x), paddle.cumprod(x, 1)), [x2]),
    "norm": (
        lambda x: (
            [
                raw(
                    "p_norm",
                    {"X": x},
                    {"Out": U},
                    {"porder": p, "axis": a, "keepdim": False, "asvector": w, "epsilon": 1e-12},
                )[0]
                for p, a, w in ((2.0, -1, True), (2.0, 1, False), (1.0, 0, False))
            ]
            + raw("norm", {"X": x}, {"Out": U, "Norm": U}, {"axis": 1, "epsilon": 1e-10})[:1]
            + raw("frobenius_norm", {"X": x}, {"Out": U}, {"dim": [0, 1], "keep_dim": False, "reduce_all": True})
        ),
        [x2],
    ),
    "var": (lambda x: (paddle.var(x, 1), paddle.std(x)), [x2]),
    "matmul": (lambda x, y: (paddle.matmul(x, y, transpose_y=True), paddle.mm(x, paddle.t(y))), [x2, f32(5, 4)]),
    "matmul_v1": (
        lambda x, y: raw(
            "matmul", {"X": x, "Y": y}, {"Out": U}, {"transpose_X": False, "transpose_Y": True, "alpha": 0.5}
        ),
        [x2, f32(5, 4)],
    ),
    "mul": (
        lambda x, y: raw("mul", {"X": x, "Y": y}, {"Out": U}, {"x_num_col_dims": 2, "y_num_col_dims": 1}),
        [x3, f32(4, 5)],
    ),
    "bmm": (lambda x, y: paddle.bmm(x, y), [f32(2, 3, 4), f32(2, 4, 5)]),
    "dot": (lambda x, y: paddle.dot(x, y), [f32(4), f32(4)]),
    "addmm": (lambda i, x, y: paddle.addmm(i, x, y, 0.5, 2.0), [f32(3, 5), x2, f32(4, 5)]),
    "kron": (paddle.kron, [f32(2, 3), f32(3, 2)]),
    "cross": (paddle.cross, [f32(2, 3), f32(2, 3)]),
    "inverse": (lambda x: paddle.inverse(x + 4.0 * paddle.eye(3)), [f32(3, 3)]),
    "reshape": (lambda x: (paddle.reshape(x, [0, -1]), paddle.reshape(x, [x.shape[1], -1])), [x3]),
    "n_reshape": (
        lambda x: (paddle.reshape(x, [-1, 12]), paddle.flatten(x, 1), paddle.reshape(x, [paddle.shape(x)[0], 12])),
        [x3],
    ),
    "transpose": (lambda x: (paddle.transpose(x, [2, 0, 1]), paddle.squeeze(paddle.unsqueeze(x, [0, 2]), [0])), [x3]),
    "concat": (lambda x, y: (paddle.concat([x, y], 0), paddle.stack([x, y], 1)), [x2, pos]),
    "split": (
        lambda x: [*paddle.split(x, 2, 1), *paddle.split(x, [1, -1], 0), *paddle.unbind(x, 0), *paddle.unstack(x, 1)],
        [x2],
    ),
    "tile": (
        lambda x: (paddle.tile(x, [2, 1]), paddle.expand(x, [2, 3, 4]), paddle.expand_as(x, paddle.ones([2, 3, 4]))),
        [x2],
    ),
    "slice": (
        lambda x: (x[:, 1], x[0:2, ..., ::2], paddle.slice(x, [0, 2], [-2, 0], [2, -1]), x[:, 1:3], x[::-1]),
        [x3],
    ),
    "tensor_slice": (lambda x, i: (paddle.slice(x, [0], [i], [i + 1]), x[i]), [x3, np.array([1], "int64")]),
    "set_value": (lambda x: static.setitem(paddle.assign(x), (slice(0, 2), 1), 5.0), [x2]),
    "pad": (
        lambda x: (F.pad(x, [1, 2, 0, 1]), F.pad(x, [1, 1, 1, 1], "reflect"), F.pad(x, [1, 0, 0, 1], "replicate")),
        [x4],
    ),
    "pad_flat": (lambda x: F.pad(x, [0, 1, 2, 0], value=3.0), [x2]),
    "flip": (
        lambda x: (
            paddle.flip(x, [1]),
            raw("roll", {"X": x}, {"Out": U}, {"shifts": [1], "axis": [0]})[0],
            paddle.tril(x),
            paddle.triu(x, 1),
        ),
        [x2],
    ),
    "diag": (
        lambda x: (
            paddle.diag(x),
            raw("diagonal", {"Input": paddle.diag(x, 1)}, {"Out": U}, {"offset": 1, "axis1": 0, "axis2": 1})[0],
        ),
        [f32(3)],
    ),
    "meshgrid": (lambda x, y: paddle.meshgrid(x, y), [f32(3), f32(2)]),
    "shape": (lambda x: (paddle.shape(x), paddle.numel(x)), [x3]),
    "crop": (lambda x: paddle.crop(x, [2, -1], [1, 1]), [x2]),
    "strided_slice": (lambda x: paddle.strided_slice(x, [0, 1], [2, 0], [-4, 4], [-1, 2]), [x2]),
    "gather": (
        lambda x, i: (paddle.gather(x, i), paddle.index_select(x, i, 1), paddle.gather_nd(x, paddle.unsqueeze(i, 1))),
        [x2, i64(2, high=3)],
    ),
    "index_sample": (lambda x, i: (paddle.index_sample(x, i), paddle.take_along_axis(x, i, 1)), [x2, i64(3, 2)]),
    "put_along_axis": (lambda x, i: paddle.put_along_axis(x, i, 9.0, 1), [x2, i64(3, 1)]),
    "scatter": (
        lambda x, i, u: (paddle.scatter(x, i, u), paddle.scatter_nd_add(x, paddle.unsqueeze(i, 1), u)),
        [x2, np.array([2, 0]), f32(2, 4)],
    ),
    "embedding": (lambda i: static.nn.embedding(i, [7, 3], padding_idx=2), [i64(2, 3, high=7)]),
    "one_hot": (lambda i: F.one_hot(i, 5), [i64(3)]),
    "topk": (
        lambda x: (*paddle.topk(x, 2, 1), paddle.sort(x, 1), paddle.argsort(x, 1, True), *paddle.kthvalue(x, 2)),
        [x2],
    ),
    "nonzero": (lambda x, m: (paddle.nonzero(m), paddle.masked_select(x, m)), [x2, mask]),
    "unique": (lambda x: paddle.unique(x, True, True, True), [i64(7)]),
    "searchsorted": (lambda x, y: paddle.searchsorted(x, y), [np.sort(f32(6)), f32(3)]),
    "sequence_mask": (lambda n: F.sequence_mask(n, 5, "float32"), [np.array([1, 4, 2])]),
    "multiplex": (lambda x, y, i: paddle.multiplex([x, y], i), [x2, pos, np.array([[0], [1], [0]], "int32")]),
    "fill": (
        lambda x: (
            paddle.full([2, 3], 2.5),
            paddle.full_like(x, 3.0),
            paddle.zeros_like(x),
            paddle.ones([2], "int64"),
            paddle.arange(0, 9, 2),
            paddle.linspace(0, 1, 5),
            paddle.eye(3),
            paddle.assign(np.array([1.5, 2.0], "float32")) + x[0, 0],
        ),
        [x2],
    ),
    "n_batch_like": (
        lambda x: (
            raw(
                "fill_constant_batch_size_like",
                {"Input": x},
                {"Out": U},
                {"shape": [-1, 3], "value": 2.0, "dtype": 5, "input_dim_idx": 0, "output_dim_idx": 0},
            )[0],
            paddle.full([paddle.shape(x)[0], 2], 1.5),
        ),
        [x2],
    ),
    "conv2d": (
        lambda x: (
            static.nn.conv2d(x, 6, 3, 2, 1, act="relu"),
            static.nn.conv2d(x, 4, 3, padding="SAME", groups=4),
            static.nn.conv2d_transpose(x, 3, filter_size=3, stride=2, padding=1),
        ),
        [x4],
    ),
    "conv3d": (lambda x: static.nn.conv3d(x, 2, 2), [f32(1, 2, 3, 4, 4)]),
    "pool": (
        lambda x: (
            F.max_pool2d(x, 2, 2),
            F.avg_pool2d(x, 3, 2, 1),
            F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, exclusive=False),
            F.adaptive_avg_pool2d(x, [2, 3]),
            F.adaptive_max_pool2d(x, [2, 2]),
            F.adaptive_avg_pool2d(x, 1),
        ),
        [x4],
    ),
    "pool_index": (lambda x: F.max_pool2d(x, 2, 2, return_mask=True), [x4]),
    "batch_norm": (lambda x: static.nn.batch_norm(x, is_test=True), [x4]),
    "norms": (
        lambda x: (static.nn.layer_norm(x, begin_norm_axis=2), static.nn.group_norm(x, 2), static.nn.instance_norm(x)),
        [x4],
    ),
    "lrn": (
        lambda x: raw("lrn", {"X": x}, {"Out": U, "MidOut": U}, {"n": 3, "k": 1.0, "alpha": 0.1, "beta": 0.75})[0],
        [x4],
    ),
    "dropout": (lambda x: (F.dropout(x, 0.3), F.dropout(x, 0.3, mode="downscale_in_infer")), [x2]),
    "losses": (
        lambda x, y: (F.softmax_with_cross_entropy(x, y, return_softmax=True), F.cross_entropy(x, y))[0],
        [x2, i64(3, 1)],
    ),
    "losses2": (
        lambda x, y: (
            F.binary_cross_entropy_with_logits(x, y),
            F.mse_loss(x, y),
            F.smooth_l1_loss(x, y),
            F.kl_div(x, y),
            F.label_smooth(y),
        ),
        [x2, pos],
    ),
    **{
        "resize_" + m: (
            lambda x, m=m: (F.interpolate(x, [9, 8], mode=m), F.interpolate(x, scale_factor=2, mode=m)),
            [x4],
        )
        for m in ("nearest", "bilinear", "bicubic")
    },
    "resize_corners": (
        lambda x: (
            F.interpolate(x, [9, 8], mode="bilinear", align_corners=True),
            F.interpolate(x, [9, 8], mode="bilinear", align_mode=1),
        ),
        [x4],
    ),
    "resize_rest": (
        lambda x, y: (
            F.interpolate(x, [7], mode="linear", data_format="NCW"),
            F.interpolate(y, [3, 5, 6], mode="trilinear", data_format="NCDHW"),
        ),
        [x3, f32(1, 2, 2, 3, 4)],
    ),
    "n_resize": (
        lambda x: (
            F.interpolate(x, paddle.shape(x)[2:] * 2, mode="nearest"),
            F.interpolate(x, size=[paddle.shape(x)[2] + 1, 3], mode="bilinear"),
        ),
        [x4],
    ),
    "unfold": (lambda x: F.unfold(x, [3, 2], 1, 1), [x4]),
    "pixel_shuffle": (
        lambda x: (
            F.pixel_shuffle(x, 2),
            raw("shuffle_channel", {"X": x}, {"Out": U}, {"group": 2})[0],
            F.temporal_shift(x, 2),
        ),
        [x4],
    ),
    "grid_sample": (
        lambda x, t: [
            raw(
                "grid_sampler",
                {"X": x, "Grid": F.affine_grid(t, [2, 4, 3, 3], c)},
                {"Output": U},
                {"mode": m, "padding_mode": p, "align_corners": c},
            )[0]
            for c, m, p in (
                (True, "bilinear", "zeros"),
                (False, "nearest", "border"),
                (False, "bilinear", "reflection"),
            )
        ],
        [x4, f32(2, 2, 3, low=-0.8, high=0.8)],
    ),
    "affine_channel": (
        lambda x, s, b: raw("affine_channel", {"X": x, "Scale": s, "Bias": b}, {"Out": U}, {"data_layout": "NCHW"}),
        [x4, f32(4), f32(4)],
    ),
    "deform_conv": (
        lambda x, o, m: static.nn.deform_conv2d(x, o, m, 3, 3, padding=1),
        [x4, f32(2, 18, 6, 5), f32(2, 9, 6, 5, low=0.0)],
    ),
    "roi_align": (
        lambda x, b, n: (paddle.vision.ops.roi_align(x, b, n, 2), paddle.vision.ops.roi_pool(x, b, n, 2)),
        [f32(2, 3, 16, 16), boxes(3), np.array([1, 2], "int32")],
    ),
    "yolo_box": (
        lambda x, s: paddle.vision.ops.yolo_box(x, s, [10, 13, 16, 30], 3, 0.3, 32),
        [f32(2, 16, 3, 4), np.array([[96, 128], [90, 120]], "int32")],
    ),
    "prior_box": (
        lambda x, y: paddle.vision.ops.prior_box(x, y, [4.0], [9.0], [2.0], flip=True, clip=True),
        [f32(1, 2, 3, 4), f32(1, 3, 24, 32)],
    ),
    "anchor_generator": (
        lambda x: raw(
            "anchor_generator",
            {"Input": x},
            {"Anchors": U, "Variances": U},
            {
                "anchor_sizes": [32.0, 64.0],
                "aspect_ratios": [0.5, 1.0, 2.0],
                "variances": [0.1, 0.1, 0.2, 0.2],
                "stride": [16.0, 16.0],
                "offset": 0.5,
            },
        ),
        [f32(1, 2, 3, 4)],
    ),
    "box_coder": (
        lambda p, t, c: (
            paddle.vision.ops.box_coder(p, [0.1, 0.1, 0.2, 0.2], t),
            paddle.vision.ops.box_coder(p, [0.1, 0.1, 0.2, 0.2], c, "decode_center_size", axis=0),
        ),
        [boxes(3), boxes(2), f32(2, 3, 4, low=-0.5, high=0.5)],
    ),
    "multiclass_nms3": (lambda b, s: nms(b, s), [boxes(2, 12), f32(2, 3, 12, low=0.0, high=1.0)]),
    "multiclass_nms3_b0": (
        lambda b, s: nms(b, s, background_label=0, normalized=False, keep_top_k=-1),
        [boxes(2, 12), f32(2, 3, 12, low=0.0, high=1.0)],
    ),
    "matrix_nms": (
        lambda b, s: paddle.vision.ops.matrix_nms(b, s, 0.1, 0.2, 8, 6, True, 2.0, -1, return_index=True)[:3],
        [boxes(2, 12), f32(2, 3, 12, low=0.0, high=1.0)],
    ),
    "matrix_nms_linear": (
        lambda b, s: paddle.vision.ops.matrix_nms(b, s, 0.1, 0.2, 8, 6, False, 2.0, 0, return_index=True)[:3],
        [boxes(2, 12), f32(2, 3, 12, low=0.0, high=1.0)],
    ),
    "generate_proposals": (
        lambda s, d, i, a, v: paddle.vision.ops.generate_proposals(
            s, d, i, a, v, 12, 6, 0.5, 1.0, return_rois_num=True
        ),
        [
            f32(2, 3, 3, 3, low=0.0, high=1.0),
            f32(2, 12, 3, 3, low=-0.3, high=0.3),
            np.array([[24, 24], [20, 22]], "float32"),
            boxes(3, 3, 3),
            f32(3, 3, 3, 4, low=0.5, high=1.0),
        ],
    ),
    "distribute_fpn": (
        lambda r, n: (lambda m, i, c: [*m, i, *c])(
            *paddle.vision.ops.distribute_fpn_proposals(r, 2, 4, 3, 6, rois_num=n)
        ),
        [boxes(7), np.array([3, 4], "int32")],
    ),
    "collect_fpn": (
        lambda a, b, s, t, n, m: raw(
            "collect_fpn_proposals",
            {"MultiLevelRois": [a, b], "MultiLevelScores": [s, t], "MultiLevelRoIsNum": [n, m]},
            {"FpnRois": U, "RoisNum": "int32"},
            {"post_nms_topN": 5},
        ),
        [boxes(4), boxes(3), f32(4, 1), f32(3, 1), np.array([2, 2], "int32"), np.array([1, 2], "int32")],
    ),
    **{
        "rnn_" + m.lower(): (
            lambda x, m=m: (lambda y, s: [y, *(s if isinstance(s, (tuple, list)) else [s])])(
                *getattr(nn, m)(4, 5, 2, direction="bidirect")(x)
            ),
            [f32(2, 3, 4)],
        )
        for m in ("LSTM", "GRU", "SimpleRNN")
    },
    "rnn_lengths": (lambda x, n: nn.LSTM(4, 5)(x, sequence_length=n)[0], [f32(2, 3, 4), np.array([2, 3], "int64")]),
    "segment": (
        lambda x, i: (paddle.geometric.segment_sum(x, i), paddle.geometric.segment_mean(x, i)),
        [x2, np.array([0, 0, 1])],
    ),
    "loop": (loop, [x2]),
    "n_loop": (loop, [x2]),
    "array_loop": (array_loop, [x2]),
    "branches": (branches, [x2]),
    "branches_not": (branches, [-np.abs(x2)]),
    "switch": (switch, [np.array([2], "int32"), x2]),
    "switch_default": (switch, [np.array([1], "int32"), x2]),
    "accuracy": (lambda x, y: static.accuracy(F.softmax(x), y, 2), [x2, i64(3, 1)]),
    "fft_free_complex": (lambda x: paddle.real(paddle.as_complex(x)) + paddle.imag(paddle.as_complex(x)), [f32(3, 2)]),
}
