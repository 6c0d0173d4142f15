"""Writes the models of this folder with PaddlePaddle 3 (a virtual environment of its own; no part of the tests).

    FLAGS_enable_pir_api=0 python python/tests/reference_models/write.py [NAME...]      # the names given alone

`functions.npz` holds small programs, one for each entry of FUNCTIONS: `<name>/program`, `<name>/params` (bytes), inputs
`<name>/in/<input>` and results `<name>/out/<i>`. `<model>.pdmodel`, `.pdiparams` and `.npz` are those of MODELS.
All weights are random.
"""

import os

os.environ["FLAGS_enable_pir_api"] = "0"

import sys
import tempfile

import numpy as np
import paddle
from paddle.base.proto import framework_pb2

F, static, nn = paddle.nn.functional, paddle.static, paddle.nn
HERE = os.path.dirname(os.path.abspath(__file__))
R = np.random.RandomState(0)


def f32(*shape, low=-2.0, high=2.0):
    return R.uniform(low, high, shape).astype("float32")


def i64(*shape, high=4):
    return R.randint(0, high, shape).astype("int64")


def boxes(*shape, side=16.0):
    low = R.uniform(0, side / 2, (*shape, 2))
    return np.concatenate([low, low + R.uniform(1, side / 2, (*shape, 2))], -1).astype("float32")


def prune(path):
    """Takes out where the calls were made: paths of a machine."""
    program = framework_pb2.ProgramDesc()
    with open(path, "rb") as f:
        program.ParseFromString(f.read())
    for block in program.blocks:
        for op in block.ops:
            kept = [a for a in op.attrs if a.name not in ("op_callstack", "op_namescope", "op_role", "op_role_var")]
            del op.attrs[:]
            op.attrs.extend(kept)
    with open(path, "wb") as f:
        f.write(program.SerializeToString())


def write(prefix, build, inputs):
    """Records, saves and runs a program; its results."""
    main, startup = static.Program(), static.Program()
    paddle.seed(1)
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        feeds = []
        for name, value in inputs.items():
            open_dims = [-1] + list(value.shape[1:]) if name.startswith("n_") else list(value.shape)
            feeds.append(static.data(name, open_dims, str(value.dtype)))
        out = build(*feeds)
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        executor = static.Executor()
        with static.scope_guard(static.Scope()):
            executor.run(startup)
            test = main.clone(for_test=True)
            names = [o.name for o in out]
            fetch = [test.global_block().var(n) for n in names]
            found = [np.array(v) for v in executor.run(test, feed=inputs, fetch_list=fetch, return_numpy=False)]
            static.save_inference_model(prefix, feeds, out, executor, program=main)
    prune(prefix + ".pdmodel")
    return found


def of_old(name, slots, out="Out", dtype=None, **fixed):
    """A function that records the op `name`, with tensors by `slots`; other arguments are attributes."""

    def call(*args, **kwargs):
        kwargs.pop("name", None)
        tensors = {slot: v for slot, v in zip(slots, args)}
        like = tensors[slots[0]]
        result = raw(name, tensors, {out: dtype or static_dtype(like)}, fixed | kwargs)
        return result[0]

    return call


def static_dtype(x):
    return str(x.dtype).rpartition(".")[2].lower().replace("fp32", "float32").replace("fp64", "float64")


def reduction(name, dtype=None):
    def call(x, axis=None, keepdim=False, name_=None, **more):
        axes = [] if axis is None else list(axis) if isinstance(axis, (list, tuple)) else [axis]
        attrs = {"dim": axes or list(range(len(x.shape))), "keep_dim": keepdim, "reduce_all": not axes}
        return raw(name, {"X": x}, {"Out": dtype or static_dtype(x)}, attrs)[0]

    return call


def extreme(name):
    def call(x, axis=None, keepdim=False, dtype="int64", **more):
        attrs = {"axis": 0 if axis is None else axis, "keepdims": keepdim, "flatten": axis is None, "dtype": 3}
        return raw(name, {"X": x}, {"Out": "int64"}, attrs)[0]

    return call


def logsumexp(x, axis=None, keepdim=False, **more):
    axes = [] if axis is None else list(axis) if isinstance(axis, (list, tuple)) else [axis]
    return raw("logsumexp", {"X": x}, {"Out": U}, {"axis": axes or [0], "keepdim": keepdim, "reduce_all": not axes})[0]


def triangle(lower):
    return lambda x, diagonal=0, **more: raw("tril_triu", {"X": x}, {"Out": U}, {"diagonal": diagonal, "lower": lower})[
        0
    ]


def give_old_names():
    """Functions of 3.x that record new programs only: as ops by their old names, wherever they are imported."""
    old = {
        n: of_old(n, ["X"])
        for n in (
            "abs acos asin ceil cos cosh exp expm1 floor log log10 log1p log2 round rsqrt sign sin sinh sqrt tanh sigmoid acosh atanh"
        ).split()
    }
    old |= {n: of_old(n + "_v2", ["X"], dtype="bool") for n in "isnan isinf isfinite".split()}
    old |= {n: of_old(n, ["X", "Y"], dtype="bool") for n in "greater_than logical_and logical_or logical_xor".split()}
    old |= {"logical_not": of_old("logical_not", ["X"], dtype="bool")}
    old |= {
        "multiply": of_old("elementwise_mul", ["X", "Y"], axis=-1),
        "maximum": of_old("elementwise_max", ["X", "Y"], axis=-1),
        "minimum": of_old("elementwise_min", ["X", "Y"], axis=-1),
        "bmm": of_old("bmm", ["X", "Y"]),
        "dot": of_old("dot", ["X", "Y"]),
    }
    old |= {n: reduction("reduce_" + n) for n in "sum amax amin".split()} | {
        n: reduction("reduce_" + n, "bool") for n in "all any".split()
    }
    old |= {
        "argmax": extreme("arg_max"),
        "argmin": extreme("arg_min"),
        "logsumexp": logsumexp,
        "tril": triangle(True),
        "triu": triangle(False),
    }
    old["matmul"] = lambda x, y, transpose_x=False, transpose_y=False, **more: raw(
        "matmul_v2", {"X": x, "Y": y}, {"Out": U}, {"trans_x": transpose_x, "trans_y": transpose_y}
    )[0]
    old["expand_as"] = lambda x, y, **more: raw(
        "expand_as_v2", {"X": x, "Y": y}, {"Out": U}, {"target_shape": list(y.shape)}
    )[0]
    old["gelu"] = lambda x, approximate=False, **more: raw("gelu", {"X": x}, {"Out": U}, {"approximate": approximate})[
        0
    ]
    old["softplus"] = lambda x, beta=1.0, threshold=20.0, **more: raw(
        "softplus", {"X": x}, {"Out": U}, {"beta": beta, "threshold": threshold}
    )[0]
    for name, function in old.items():
        found = [getattr(m, name) for m in (paddle, F) if hasattr(m, name)]
        for module in [m for n, m in list(sys.modules.items()) if n.startswith("paddle")]:
            for key in [key for key, value in list(vars(module).items()) if any(value is f for f in found)]:
                setattr(module, key, function)


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


def detection(x, size):
    y = static.nn.conv2d(x, 3 * 7, 3, padding=1)
    b, s = paddle.vision.ops.yolo_box(y, size, [10, 13, 16, 30, 33, 23], 2, 0.01, 8)
    out = nms(b, paddle.transpose(s, [0, 2, 1]))
    return b, s, *out


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


def raw(type, inputs, outputs, attrs):
    """One op by its own name; outputs maps slot to dtype (a list of dtypes: several)."""
    from paddle.base.layer_helper import LayerHelper

    helper = LayerHelper(type)
    made = {
        slot: [helper.create_variable_for_type_inference(t) for t in ([ts] if isinstance(ts, str) else ts)]
        for slot, ts in outputs.items()
    }
    helper.append_op(type=type, inputs=inputs, outputs=made, attrs=attrs)
    return [v for vs in made.values() for v in vs]


U = "float32"
x4, x3, x2 = f32(2, 4, 6, 5), f32(2, 3, 4), f32(3, 4)
pos = f32(3, 4, low=0.2, high=0.9)
mask = R.rand(3, 4) > 0.5
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


def spd(n):
    a = R.rand(n, n)
    return (a @ a.T + n * np.eye(n)).astype("float32")


# type: (inputs by slot, attributes, outputs with their types): ops alone, by their old names.
ALONE = {
    "bce_loss": ({"X": pos, "Label": pos}, {}, {"Out": U}),
    "bilinear_interp": (
        {"X": x4},
        {"out_h": 9, "out_w": 7, "align_corners": False, "align_mode": 0, "interp_method": "bilinear"},
        {"Out": U},
    ),
    "nearest_interp": (
        {"X": x4},
        {"out_h": 9, "out_w": 7, "align_corners": True, "interp_method": "nearest"},
        {"Out": U},
    ),
    "bilinear_tensor_product": ({"X": x2, "Y": f32(3, 5), "Weight": f32(2, 4, 5), "Bias": f32(1, 2)}, {}, {"Out": U}),
    **{
        n: ({"X": i64(3, 4), "Y": i64(3, 4)}, {}, {"Out": "int64"})
        for n in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
    "bitwise_not": ({"X": i64(3, 4)}, {}, {"Out": "int64"}),
    "channel_shuffle": ({"X": x4}, {"groups": 2}, {"Out": U}),
    "cholesky": ({"X": spd(3)}, {"upper": False}, {"Out": U}),
    "cholesky_solve": ({"X": f32(3, 2), "Y": np.linalg.cholesky(spd(3))}, {"upper": False}, {"Out": U}),
    "clip_by_norm": ({"X": x2}, {"max_norm": 1.5}, {"Out": U}),
    "complex": ({"X": x2, "Y": pos}, {}, {"Out": "complex64"}),
    "crop": ({"X": x2}, {"offsets": [1, 0], "shape": [2, 3]}, {"Out": U}),
    "cross_entropy": ({"X": pos, "Label": i64(3, 1)}, {"soft_label": False}, {"Y": U}),
    "cross_entropy2": ({"X": pos, "Label": i64(3, 1)}, {}, {"Y": U, "XShape": U, "MatchX": U}),
    "deformable_conv_v1": (
        {"Input": x4, "Offset": f32(2, 18, 6, 5), "Filter": f32(3, 4, 3, 3)},
        {"strides": [1, 1], "paddings": [1, 1], "dilations": [1, 1]},
        {"Output": U},
    ),
    "depthwise_conv2d": (
        {"Input": x4, "Filter": f32(4, 1, 3, 3)},
        {"strides": [1, 1], "paddings": [1, 1], "dilations": [1, 1], "groups": 4},
        {"Output": U},
    ),
    "depthwise_conv2d_transpose": (
        {"Input": x4, "Filter": f32(4, 1, 3, 3)},
        {"strides": [2, 2], "paddings": [1, 1], "dilations": [1, 1], "groups": 4},
        {"Output": U},
    ),
    "conv3d_transpose": (
        {"Input": f32(1, 2, 3, 4, 4), "Filter": f32(2, 3, 2, 2, 2)},
        {"strides": [2, 2, 2]},
        {"Output": U},
    ),
    "pool3d": (
        {"X": f32(1, 2, 4, 4, 4)},
        {"ksize": [2, 2, 2], "strides": [2, 2, 2], "pooling_type": "avg"},
        {"Out": U},
    ),
    "max_pool3d_with_index": (
        {"X": f32(1, 2, 4, 4, 4)},
        {"ksize": [2, 2, 2], "strides": [2, 2, 2]},
        {"Out": U, "Mask": "int32"},
    ),
    "determinant": ({"Input": spd(3)}, {}, {"Out": U}),
    "slogdeterminant": ({"Input": spd(3)}, {}, {"Out": U}),
    "eigvalsh": ({"X": spd(3)}, {"UPLO": "L"}, {"Eigenvalues": U, "Eigenvectors": U}),
    "dist": ({"X": x2, "Y": pos}, {"p": 3.0}, {"Out": U}),
    "elementwise_heaviside": ({"X": x2, "Y": pos}, {}, {"Out": U}),
    "equal_all": ({"X": x2, "Y": x2}, {}, {"Out": "bool"}),
    "expand": ({"X": x2}, {"expand_times": [2, 3]}, {"Out": U}),
    "fc": (
        {"Input": x3, "W": f32(4, 5), "Bias": f32(5)},
        {"in_num_col_dims": 2, "activation_type": "relu"},
        {"Out": U},
    ),
    "flatten2": ({"X": x3}, {"axis": 2}, {"Out": U, "XShape": U}),
    "fused_softmax_mask": ({"X": f32(1, 2, 4, 4), "Mask": f32(1, 1, 4, 4)}, {}, {"Out": U}),
    "fused_elemwise_activation": (
        {"X": x2, "Y": pos},
        {"functor_list": ["elementwise_add", "relu"]},
        {"Out": U, "IntermediateOut": U},
    ),
    "gammaln": ({"x": pos}, {}, {"out": U}),
    "gather_tree": ({"Ids": i64(4, 2, 3, high=9), "Parents": i64(4, 2, 3, high=3)}, {}, {"Out": "int64"}),
    "generate_proposals": (
        {
            "Scores": f32(1, 3, 3, 3, low=0.0),
            "BboxDeltas": f32(1, 12, 3, 3, low=-0.3, high=0.3),
            "ImInfo": np.array([[24, 22, 1.5]], "float32"),
            "Anchors": boxes(3, 3, 3),
            "Variances": f32(3, 3, 3, 4, low=0.5, high=1.0),
        },
        {"pre_nms_topN": 12, "post_nms_topN": 6, "nms_thresh": 0.5, "min_size": 1.0, "eta": 1.0},
        {"RpnRois": U, "RpnRoiProbs": U, "RpnRoisNum": "int32"},
    ),
    "gru_unit": (
        {"Input": f32(2, 9), "HiddenPrev": f32(2, 3), "Weight": f32(3, 9), "Bias": f32(1, 9)},
        {"activation": 2, "gate_activation": 1},
        {"Gate": U, "ResetHiddenPrev": U, "Hidden": U},
    ),
    "hinge_loss": ({"Logits": f32(3, 1), "Labels": np.array([[0], [1], [1]], "float32")}, {}, {"Loss": U}),
    **{n: ({"x": x2}, {}, {"out": U}) for n in "i0 i0e i1 i1e".split()},
    "im2sequence": (
        {"X": f32(1, 2, 4, 5)},
        {"kernels": [2, 2], "strides": [1, 1], "paddings": [0, 0, 0, 0]},
        {"Out": U},
    ),
    "index_put": ({"x": x2, "indices": [np.array([0, 2])], "value": f32(2, 4)}, {"accumulate": False}, {"out": U}),
    "is_empty": ({"X": x2}, {}, {"Out": "bool"}),
    "isclose": ({"Input": x2, "Other": x2}, {"rtol": "1e-05", "atol": "1e-08"}, {"Out": "bool"}),
    "l1_norm": ({"X": x2}, {}, {"Out": U}),
    "squared_l2_norm": ({"X": x2}, {}, {"Out": U}),
    "lerp": ({"X": x2, "Y": pos, "Weight": f32(1)}, {}, {"Out": U}),
    "log_loss": (
        {"Predicted": f32(3, 1, low=0.2, high=0.8), "Labels": f32(3, 1, low=0.0, high=1.0)},
        {"epsilon": 1e-4},
        {"Loss": U},
    ),
    "logit": ({"X": pos}, {"eps": 1e-6}, {"Out": U}),
    "lookup_table": ({"W": f32(7, 3), "Ids": i64(4, 1, high=7)}, {"padding_idx": 2}, {"Out": U}),
    "masked_fill": ({"x": x2, "mask": mask, "value": f32()}, {}, {"out": U}),
    "matrix_power": ({"X": f32(3, 3)}, {"n": 3}, {"Out": U}),
    "mean": ({"X": x2}, {}, {"Out": U}),
    "mode": ({"X": np.array([[1, 2, 2], [3, 3, 1]], "float32")}, {"axis": -1}, {"Out": U, "Indices": "int64"}),
    "multi_dot": ({"X": [x2, f32(4, 5), f32(5, 2)]}, {}, {"Out": U}),
    "mv": ({"X": x2, "Vec": f32(4)}, {}, {"Out": U}),
    "nansum": ({"x": np.where(mask, x2, np.nan).astype("float32")}, {"axis": [1]}, {"out": U}),
    "nll_loss": (
        {"X": f32(3, 4), "Label": i64(3), "Weight": f32(4, low=0.5)},
        {"reduction": "mean"},
        {"Out": U, "Total_weight": U},
    ),
    "partial_concat": ({"X": [x2, pos]}, {"start_index": 1, "length": 2}, {"Out": U}),
    "partial_sum": ({"X": [x2, pos]}, {"start_index": 1, "length": 2}, {"Out": U}),
    "pixel_unshuffle": ({"X": x4[:, :, :, :4]}, {"downscale_factor": 2}, {"Out": U}),
    "polygamma": ({"x": pos}, {"n": 1}, {"out": U}),
    "renorm": ({"X": x2}, {"p": 2.0, "axis": 0, "max_norm": 1.0}, {"Out": U}),
    "repeat_interleave": ({"X": x2}, {"Repeats": 2, "dim": 1}, {"Out": U}),
    "reshape": ({"X": x3}, {"shape": [0, -1]}, {"Out": U}),
    "transpose": ({"X": x3}, {"axis": [0, 2, 1]}, {"Out": U}),
    "reverse": ({"X": x3}, {"axis": [1]}, {"Out": U}),
    "rint": ({"x": x2}, {}, {"out": U}),
    "shard_index": (
        {"X": i64(4, 1, high=20)},
        {"index_num": 20, "nshards": 2, "shard_id": 0, "ignore_value": -1},
        {"Out": "int64"},
    ),
    "solve": ({"X": spd(3), "Y": f32(3, 2)}, {}, {"Out": U}),
    "triangular_solve": ({"X": spd(3), "Y": f32(3, 2)}, {"upper": True}, {"Out": U}),
    "spectral_norm": ({"Weight": f32(3, 4), "U": f32(3), "V": f32(4)}, {"dim": 0, "power_iters": 2}, {"Out": U}),
    "sum": ({"X": [x2, pos, x2]}, {}, {"Out": U}),
    "swiglu": ({"x": x2}, {}, {"out": U}),
    "top_k": ({"X": x2}, {"k": 2}, {"Out": U, "Indices": "int64"}),
    "trace": ({"Input": f32(3, 3)}, {"offset": 1}, {"Out": U}),
    "tril_indices": ({}, {"rows": 3, "cols": 4, "offset": 1, "dtype": 3}, {"out": "int64"}),
    "triu_indices": ({}, {"row": 3, "col": 4, "offset": 1, "dtype": 3}, {"out": "int64"}),
    "angle": ({"X": x2}, {}, {"Out": U}),
    "conj": ({"X": x2}, {}, {"Out": U}),
    "broadcast_tensors": ({"X": [x2, f32(4)]}, {}, {"Out": [U, U]}),
    "memcpy": ({"X": x2}, {"dst_place_type": 0}, {"Out": U}),
    "share_data": ({"X": x2}, {}, {"Out": U}),
    "logspace": (
        {"Start": f32(1), "Stop": f32(1), "Num": np.array([4], "int32"), "Base": np.array([10.0], "float32")},
        {"dtype": 5},
        {"Out": U},
    ),
    "multiclass_nms": (
        {"BBoxes": boxes(1, 9), "Scores": f32(1, 3, 9, low=0.0, high=1.0)},
        {
            "background_label": 0,
            "score_threshold": 0.1,
            "nms_top_k": 9,
            "nms_threshold": 0.4,
            "keep_top_k": 5,
            "normalized": True,
        },
        {"Out": U},
    ),
    "bicubic_interp_v2_corners": (
        {"X": x4},
        {"out_h": 9, "out_w": 7, "align_corners": True, "interp_method": "bicubic"},
        {"Out": U},
    ),
    "space_and_lod_reset": ({"X": x2}, {"target_lod": [0, 1, 3]}, {"Out": U}),
    "psroi_pool": (
        {"X": f32(1, 8, 12, 12), "ROIs": boxes(2), "RoisNum": np.array([2], "int32")},
        {"output_channels": 2, "pooled_height": 2, "pooled_width": 2, "spatial_scale": 1.0},
        {"Out": U},
    ),
}
TYPES = {"bicubic_interp_v2_corners": "bicubic_interp_v2", "space_and_lod_reset": "lod_reset"}

# Programs trained for quantization, and what came after 2.4.
step, deep = np.array([1.3], "float32"), f32(3, low=0.5, high=2.0)
word = i64(3, 4, high=256) - 128
ALONE |= {
    "fake_quantize_abs_max": ({"X": x2}, {"bit_length": 8, "round_type": 1}, {"Out": U, "OutScale": U}),
    "fake_quantize_abs_max_even": ({"X": x2}, {"bit_length": 4, "round_type": 0}, {"Out": U, "OutScale": U}),
    "fake_quantize_dequantize_abs_max": ({"X": x2}, {"bit_length": 8, "round_type": 0}, {"Out": U, "OutScale": U}),
    **{
        f"fake_channel_wise_quantize_{d}abs_max{a}": (
            {"X": x3},
            {"bit_length": 8, "round_type": 1, "quant_axis": a},
            {"Out": U, "OutScale": U},
        )
        for d in ("", "dequantize_")
        for a in (0, 1)
    },
    "quantize_linear": (
        {"X": x2, "Scale": step, "ZeroPoint": np.zeros(1, "float32")},
        {"quant_axis": -1, "bit_length": 8, "round_type": 0, "is_test": True},
        {"Y": U},
    ),
    "quantize_linear_channels": (
        {"X": x2, "Scale": deep, "ZeroPoint": np.zeros(3, "float32")},
        {"quant_axis": 0, "bit_length": 8, "round_type": 0, "is_test": True},
        {"Y": U},
    ),
    "dequantize_linear": (
        {"X": word.astype("float32"), "Scale": step, "ZeroPoint": np.zeros(1, "float32")},
        {"quant_axis": -1, "bit_length": 8, "is_test": True},
        {"Y": U},
    ),
    "dequantize_linear_channels": (
        {"X": word.astype("float32"), "Scale": deep, "ZeroPoint": np.zeros(3, "float32")},
        {"quant_axis": 0, "bit_length": 8, "is_test": True},
        {"Y": U},
    ),
    "fake_dequantize_max_abs": ({"X": x2, "Scale": step}, {"max_range": 127.0}, {"Out": U}),
    "fake_channel_wise_dequantize_max_abs": (
        {"X": x2, "Scales": [deep]},
        {"quant_bits": [8], "quant_axis": 0},
        {"Out": U},
    ),
    "fake_channel_wise_dequantize_two": (
        {"X": x3, "Scales": [deep, step]},
        {"quant_bits": [8, 8], "quant_axis": 1, "x_num_col_dims": 1},
        {"Out": U},
    ),
    "dequantize_abs_max": ({"X": word.astype("int8"), "Scale": step}, {"max_range": 127.0}, {"Out": U}),
    "dequantize_log": ({"X": word.astype("int8"), "Dict": f32(128)}, {}, {"Out": U}),
    "fold": (
        {"X": f32(2, 3 * 6, 4 * 2)},
        {
            "output_sizes": [4, 5],
            "kernel_sizes": [3, 2],
            "strides": [1, 2],
            "paddings": [1, 0, 1, 0],
            "dilations": [1, 1],
        },
        {"Y": U},
    ),
    "fold_dilated": (
        {"X": f32(1, 2 * 4, 9)},
        {
            "output_sizes": [5, 5],
            "kernel_sizes": [2, 2],
            "strides": [1, 1],
            "paddings": [0, 0, 0, 0],
            "dilations": [2, 2],
        },
        {"Y": U},
    ),
    "row_conv": ({"X": f32(2, 5, 3), "Filter": f32(3, 3)}, {}, {"Out": U}),
    "ctc_align": (
        {
            "Input": np.array([[0, 1, 1, 0, 2, 2], [3, 3, 0, 3, 1, 0]], "int32"),
            "InputLength": np.array([[6], [4]], "int32"),
        },
        {"blank": 0, "merge_repeated": True, "padding_value": 7},
        {"Output": "int32", "OutputLength": "int32"},
    ),
    "ctc_align_all": (
        {
            "Input": np.array([[0, 1, 1, 0, 2, 2], [3, 3, 0, 3, 1, 0]], "int32"),
            "InputLength": np.array([[6], [6]], "int32"),
        },
        {"blank": 0, "merge_repeated": False, "padding_value": 0},
        {"Output": "int32", "OutputLength": "int32"},
    ),
    "svdvals": ({"x": x2}, {}, {"s": U}),
    "slogdet_v2": ({"x": spd(3)}, {}, {"sign": U, "logdet": U}),
    "lu": ({"X": f32(3, 3)}, {"pivots": True}, {"Out": U, "Pivots": "int32", "Infos": "int32"}),
    "baddbmm": (
        {"Input": f32(2, 3, 5), "X": f32(2, 3, 4), "Y": f32(2, 4, 5)},
        {"Alpha": 0.5, "Beta": 2.0},
        {"Out": U},
    ),
    "fusion_squared_mat_sub": (
        {"X": x2, "Y": f32(4, 5)},
        {"scalar": 0.5},
        {"SquaredX": U, "SquaredY": U, "SquaredXY": U, "Out": U},
    ),
    "fill_any": ({"X": x2}, {"value": 3.0}, {"Out": U}),
    "reduce_as": ({"x": x3, "target": f32(3, 1)}, {}, {"out": U}),
    "index_add": ({"X": x3, "Index": np.array([2, 0, 2]), "AddValue": f32(2, 3, 4)}, {"axis": 1}, {"Out": U}),
    **{f"identity_loss{k}": ({"X": x2}, {"reduction": k}, {"Out": U}) for k in range(3)},
    **{
        f"graph_send_recv_{k.lower()}": (
            {"X": x2, "Src_index": np.array([0, 1, 2, 0]), "Dst_index": np.array([1, 2, 1, 0])},
            {"reduce_op": k, "out_size": [0]},
            {"Out": U, "Dst_count": "int32"},
        )
        for k in ("SUM", "MEAN", "MAX")
    },
    "fft_r2c": (
        {"X": x2},
        {"axes": [1], "normalization": "ortho", "forward": True, "onesided": True},
        {"Out": "complex64"},
    ),
    "fft_r2c_full": (
        {"X": x2},
        {"axes": [0, 1], "normalization": "backward", "forward": True, "onesided": False},
        {"Out": "complex64"},
    ),
    "fft_c2c": (
        {"X": (x2 + 1j * f32(3, 4)).astype("complex64")},
        {"axes": [1], "normalization": "backward", "forward": False},
        {"Out": "complex64"},
    ),
    "fft_c2r": (
        {"X": (x2 + 1j * f32(3, 4)).astype("complex64")},
        {"axes": [1], "normalization": "forward", "forward": False, "last_dim_size": 7},
        {"Out": U},
    ),
    "frame": ({"X": f32(2, 9)}, {"frame_length": 4, "hop_length": 2, "axis": -1}, {"Out": U}),
    "overlap_add": ({"X": f32(2, 4, 3)}, {"hop_length": 2, "axis": -1}, {"Out": U}),
    "stft": (
        {"X": f32(2, 12), "Window": f32(4, low=0.5)},
        {"n_fft": 4, "hop_length": 2, "normalized": True, "onesided": True},
        {"Out": "complex64"},
    ),
}
TYPES |= {
    "fake_quantize_abs_max_even": "fake_quantize_abs_max",
    "fake_channel_wise_dequantize_two": "fake_channel_wise_dequantize_max_abs",
    "quantize_linear_channels": "quantize_linear",
    "dequantize_linear_channels": "dequantize_linear",
    "fold_dilated": "fold",
    "ctc_align_all": "ctc_align",
    "fft_r2c_full": "fft_r2c",
}
TYPES |= {n: n[:-1] for n in ALONE if n[-1].isdigit() and n[:-1] == "identity_loss"}
TYPES |= {n: n[:-1] for n in ALONE if n.startswith("fake_channel_wise") and n[-1].isdigit()}
TYPES |= {n: "graph_send_recv" for n in ALONE if n.startswith("graph_send_recv")}


def alone(type):
    slots, attributes, outputs = ALONE[type]
    flat = [(slot, i, a) for slot, v in slots.items() for i, a in enumerate(v if isinstance(v, list) else [v])]

    def build(*tensors):
        given = {}
        for (slot, _, _), t in zip(flat, tensors):
            given.setdefault(slot, []).append(t)
        results = raw(TYPES.get(type, type), given, outputs, attributes)
        keep = [slot for slot, ts in outputs.items() for _ in ([ts] if isinstance(ts, str) else ts)]
        hidden = (
            "XShape",
            "MatchX",
            "IntermediateOut",
            "WarpCTCGrad",
            "Gate",
            "ResetHiddenPrev",
            "Eigenvectors",
            "Total_weight",
            "SquaredX",
            "SquaredY",
            "SquaredXY",
            "ReluOut",
            "Dst_count",
        )
        return [r for r, slot in zip(results, keep) if slot not in hidden]

    return build, [np.asarray(a) for _, _, a in flat]


FUNCTIONS |= {"op_" + type: alone(type) for type in ALONE}


def lenet(image):
    x = static.nn.conv2d(image, 6, 5, padding=2, act="relu")
    x = F.max_pool2d(static.nn.batch_norm(x), 2, 2)
    x = F.max_pool2d(static.nn.conv2d(x, 8, 5, act="relu"), 2, 2)
    return F.softmax(static.nn.fc(static.nn.fc(x, 12, activation="relu"), 10))


def bert(ids, kinds):
    s, width, heads = ids.shape[1], 16, 2
    x = (
        static.nn.embedding(ids, [40, width])
        + static.nn.embedding(kinds, [2, width])
        + static.nn.embedding(paddle.arange(s), [s, width])
    )
    x = static.nn.layer_norm(x, begin_norm_axis=2)
    away = paddle.unsqueeze((paddle.cast(ids == 0, "float32")) * -1e4, [1, 2])
    for _ in range(2):
        q, k, v = (
            paddle.transpose(paddle.reshape(static.nn.fc(x, width, 2), [0, 0, heads, width // heads]), [0, 2, 1, 3])
            for _ in range(3)
        )
        scores = paddle.matmul(q, k, transpose_y=True) * (width // heads) ** -0.5 + away
        seen = paddle.matmul(F.dropout(F.softmax(scores), 0.1), v)
        y = static.nn.fc(paddle.reshape(paddle.transpose(seen, [0, 2, 1, 3]), [0, 0, width]), width, 2)
        x = static.nn.layer_norm(x + y, begin_norm_axis=2)
        x = static.nn.layer_norm(
            x + static.nn.fc(static.nn.fc(x, 32, 2, activation="gelu"), width, 2), begin_norm_axis=2
        )
    return x, paddle.tanh(static.nn.fc(x[:, 0], width))


def tagger(ids):
    x = static.nn.embedding(ids, [30, 8])
    y, _ = nn.LSTM(8, 6, direction="bidirect")(x)
    return static.nn.fc(y, 5, 2)


def segmenter(x):
    a = F.relu6(static.nn.batch_norm(static.nn.conv2d(x, 8, 3, 2, 1, bias_attr=False)))
    b = F.hardswish(static.nn.batch_norm(static.nn.conv2d(a, 8, 3, 1, 1, groups=8, bias_attr=False)))
    gate = F.hardsigmoid(static.nn.conv2d(F.relu(static.nn.conv2d(F.adaptive_avg_pool2d(b, 1), 4, 1)), 8, 1))
    c = a + static.nn.conv2d(b * gate, 8, 1)
    d = F.interpolate(c, paddle.shape(x)[2:], mode="bilinear", align_corners=False)
    return paddle.argmax(static.nn.conv2d(d, 3, 1), 1), d


MODELS = {
    "lenet": (lenet, {"n_image": f32(2, 1, 28, 28)}),
    "bert": (bert, {"ids": i64(2, 6, high=40), "kinds": i64(2, 6, high=2)}),
    "tagger": (tagger, {"n_ids": i64(2, 5, high=30)}),
    "detector": (detection, {"x": f32(1, 3, 8, 8), "size": np.array([[64, 64]], "int32")}),
    "segmenter": (segmenter, {"n_x": f32(2, 3, 16, 12)}),
}


def main():
    paddle.enable_static()
    give_old_names()
    found, chosen = {}, sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for name, (build, arrays) in FUNCTIONS.items():
            if chosen and name not in chosen:
                continue
            prefix = ("n_" if name.startswith("n_") else "") + "x"
            inputs = {f"{prefix}{i}": a for i, a in enumerate(arrays)}
            path = os.path.join(folder, "m")
            for ending in (".pdmodel", ".pdiparams"):
                if os.path.exists(path + ending):
                    os.remove(path + ending)
            try:
                results = write(path, build, inputs)
            except Exception as error:
                print("not written:", name, type(error).__name__, str(error).strip().splitlines()[-1][:200])
                continue
            for part, ending in (("program", ".pdmodel"), ("params", ".pdiparams")):
                data = open(path + ending, "rb").read() if os.path.exists(path + ending) else b""
                found[f"{name}/{part}"] = np.frombuffer(data, "uint8")
            found |= {f"{name}/in/{key}": value for key, value in inputs.items()}
            found |= {f"{name}/out/{i}": np.asarray(value) for i, value in enumerate(results)}
    if chosen:  # the others stay as they are
        kept = np.load(os.path.join(HERE, "functions.npz"))
        found = {key: kept[key] for key in kept.files if key.split("/")[0] not in chosen} | found
    np.savez_compressed(os.path.join(HERE, "functions.npz"), **found)
    for name, (build, inputs) in MODELS.items():
        if chosen and name not in chosen:
            continue
        results = write(os.path.join(HERE, name), build, inputs)
        np.savez_compressed(
            os.path.join(HERE, name + ".npz"),
            **{f"in/{k}": v for k, v in inputs.items()}, **{f"out/{i}": v for i, v in enumerate(results)},
        )  # fmt: skip


if __name__ == "__main__":
    main()
