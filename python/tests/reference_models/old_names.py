"""Functions of PaddlePaddle 3 that record new programs only, as ops by their old names."""

import sys

import paddle
from recording import F, U, raw


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
