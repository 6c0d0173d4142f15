"""Functions on tensors that are more than one op: creation, random, rearranging, math, statistics, linear algebra."""

from proa.tensor.attribute import (
    is_complex,
    is_empty,
    is_floating_point,
    is_integer,
    is_tensor,
    rank,
    set_printoptions,
    tolist,
)
from proa.tensor.creation import (
    arange,
    assign,
    clone,
    diagflat,
    empty,
    empty_like,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    to_tensor,
    zeros,
    zeros_like,
)
from proa.tensor.einsum import einsum
from proa.tensor.linalg import cross, dist, inner, mm, norm, t, tensordot
from proa.tensor.logic import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from proa.tensor.manipulation import (
    broadcast_shape,
    broadcast_tensors,
    chunk,
    concat,
    crop,
    expand,
    expand_as,
    moveaxis,
    reshape_,
    rot90,
    shard_index,
    split,
    squeeze_,
    stack,
    strided_slice,
    unsqueeze_,
    unstack,
)
from proa.tensor.math import (
    add_n,
    deg2rad,
    diff,
    floor_mod,
    gcd,
    increment,
    kron,
    lcm,
    logit,
    mod,
    multiplex,
    rad2deg,
    renorm,
    scale,
    trace,
)
from proa.tensor.random import normal, rand, randint_like, randn, standard_normal
from proa.tensor.search import gather, index_sample, nonzero, put_along_axis, put_along_axis_, sort, unique, where
from proa.tensor.search import unique_consecutive as unique_consecutive
from proa.tensor.stat import bincount, histogram, median, quantile
