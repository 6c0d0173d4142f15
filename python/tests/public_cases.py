"""Calls of public functions, written as schemas write samples: for tests that loop over all of them."""

import inspect
import zlib

import numpy as np

import proa as paddle
from ops.conformance import samples, suite

# Calls as schemas write them (docs/schema.md): tensors, then attributes. Along dim 0 of the first tensor,
# and of the others of the same size there, lies the batch.
FUNCTIONS = {
    "add_n": ["(f32[2,3], f32[2,3])"],
    "addmm": ["f32[2,4], f32[2,3], f32[3,4], 0.5, 2.0"],
    "arange": ["0, 5, 2"],
    "argmax": ["f32[2,3]", "f32[2,3], 1", "f32[3,2], 0, True"],
    "argmin": ["f32[2,3]", "f32[2,3], 1"],
    "as_strided": ["f32[6], [2,3], [3,1]", "f32[6], [3], [1], 2"],
    "assign": ["f32[2,3]"],
    "atleast_1d": ["f32[]", "f32[2,3]"],
    "atleast_2d": ["f32[3]", "f32[2,3]"],
    "atleast_3d": ["f32[3]", "f32[2,3]"],
    "bincount": ["i64[7]=0..5", "i64[7]=0..5, f32[7], minlength=9"],
    "bitwise_and": ["i32[4], i32[4]"],
    "bitwise_invert": ["i32[4]"],
    "bitwise_left_shift": ["i32[4], i32[4]"],
    "bitwise_not": ["i32[4]"],
    "bitwise_or": ["i32[4], i32[4]"],
    "bitwise_right_shift": ["i32[4], i32[4]"],
    "bitwise_xor": ["i32[4], i32[4]"],
    "block_diag": ["(f32[2,3], f32[1,2])"],
    "bmm": ["f32[2,3,4], f32[2,4,5]", "f32[2,3,0], f32[2,0,5]"],
    "broadcast_tensors": ["(f32[2,3], f32[3])"],
    "bucketize": ["f32[2,3], f32[3]=0..1", "i64[4]=0..9, i64[1]=3..4, True, True"],
    "cartesian_prod": ["(f32[2], f32[3])"],
    "cdist": ["f32[2,3,4], f32[2,5,4]", "f32[3,4], f32[5,4], 1.0", "f32[3,4], f32[30,4]"],
    "chunk": ["f32[4,3], 2", "f32[3,4], 2, axis=1"],
    "clone": ["f32[2,3]"],
    "column_stack": ["(f32[3], f32[3,2])"],
    "combinations": ["f32[4]", "f32[3], 2, True"],
    "concat": ["(f32[2,3], f32[2,3])", "(f32[2,3], f32[2,1]), axis=1"],
    "conj": ["c64[2,3]", "f32[2,3]"],
    "copysign": ["f32[2,3], f32[3]"],
    "crop": ["f32[4,5], [2,3], [1,1]", "f32[4,5], [-1,3], [0,1]"],
    "cross": ["f32[4,3], f32[4,3]", "f32[4,3], f32[4,3], axis=1"],
    "cummax": ["f32[2,5], 1", "f32[2,3]"],
    "cummin": ["f32[2,5], -1, 'int32'"],
    "cumulative_trapezoid": ["f32[2,4]", "f32[2,4], f32[4]", "f32[4,2], None, 0.5, 0"],
    "deg2rad": ["f32[2,3]"],
    "diagflat": ["f32[3]", "f32[2,2], 1"],
    "diagonal_scatter": ["f32[3,3], f32[3]"],
    "diff": ["f32[5,3]", "f32[3,5], axis=0", "f32[5,3], n=2, axis=0", "f32[3,4], prepend=f32[3,1]"],
    "dist": ["f32[2,3], f32[2,3]", "f32[2,3], f32[3], p=1"],
    "dot": ["f32[4], f32[4]", "f32[3,4], f32[3,4]", "f32[0], f32[0]"],
    "dsplit": ["f32[2,3,4], 2"],
    "dstack": ["(f32[2,3], f32[2,3])"],
    "einsum": ["'bij,bjk->bik', f32[2,3,4], f32[2,4,5]", "'bi,bi->b', f32[2,3], f32[2,3]"],
    "empty_like": ["f32[2,3]"],
    "erfinv_": ["f32[2,3]|x|<1"],
    "expand": ["f32[2,1], [2,4]", "f32[2,3], [2,-1,-1]", "f32[2,1], [-1,4]"],
    "expand_as": ["f32[3], f32[2,3]", "f32[2,1], f32[2,3]"],
    **{
        f"fft.{name}": ["f32[2,6]", "f32[2,6,5], axis=1, norm='ortho'", "f32[6,4], 5, 0", "f32[3,4], n=9"]
        for name in ("fft", "ifft", "rfft", "ihfft", "irfft", "hfft")
    },
    **{
        f"fft.{name}": ["f32[2,6]", "f32[2,3,5], [4,4], norm='forward'", "f32[2,3,5], axes=[2,1]"]
        for name in ("fftn", "ifftn", "rfftn", "ihfftn", "irfftn", "hfftn")
    },
    **{
        f"fft.{name}": ["f32[2,6,5]", "f32[2,3,5], [4,3]"]
        for name in ("fft2", "ifft2", "rfft2", "ihfft2", "irfft2", "hfft2")
    },
    "fft.fftfreq": ["5, 0.5"],
    "fft.rfftfreq": ["5, 0.5"],
    "fft.fftshift": ["f32[4,5]", "f32[4,5], 1"],
    "fft.ifftshift": ["f32[4,5]", "f32[4,5], [1]"],
    "floor_mod": ["i32[4], i32[4]>0"],
    "full": ["[2,3], 1.5"],
    "full_like": ["f32[2,3], 1.5"],
    "gammaln": ["f32[2,3]>0"],
    "gather": ["f32[4,3], i64[2]=0..4", "f32[3,4], i64[2]=0..4, axis=1"],
    "gcd": ["i32[4], i32[4]"],
    **{
        f"geometric.{name}": ["f32[5,3], i64[5]=0..1", "f32[5], i32[5]=2..3"]
        for name in ("segment_max", "segment_mean", "segment_min", "segment_sum")
    },
    "geometric.reindex_graph": ["i64[1]=7..8, i64[4]=0..9, i32[1]=4..5"],
    "geometric.reindex_heter_graph": ["i64[1]=7..8, (i64[4]=0..9, i64[2]=0..9), (i32[1]=4..5, i32[1]=2..3)"],
    "geometric.sample_neighbors": ["i64[9]=0..1, i64[2]=0..1, i64[1]=0..1"],
    "geometric.send_u_recv": [
        "f32[4,3], i64[6]=0..4, i64[6]=0..4",
        "f32[4,3], i32[6]=0..4, i32[6]=0..2, 'mean', 2",
        "f32[4], i64[6]=0..4, i64[6]=0..4, reduce_op='max'",
    ],
    "geometric.send_ue_recv": [
        "f32[4,3], f32[6], i64[6]=0..4, i64[6]=0..4, 'mul'",
        "f32[4,3], f32[6,3], i32[6]=0..4, i32[6]=0..2, 'sub', 'mean', 2",
        "f32[4,1,3], f32[6,2,1]>0, i64[6]=0..4, i64[6]=0..4, message_op='div', reduce_op='max'",
    ],
    "geometric.weighted_sample_neighbors": ["i64[9]=0..1, i64[2]=0..1, f32[9]>0, i64[1]=0..1"],
    "geometric.send_uv": [
        "f32[4,3], f32[4,3], i64[6]=0..4, i64[6]=0..4, 'mul'",
        "f32[4], f32[4,2]>0, i32[6]=0..4, i32[6]=0..4, message_op='div'",
    ],
    "heaviside": ["f32[2,3], f32[3]"],
    "histogram": ["f32[9]", "f32[9], 5, -1, 1"],
    **{
        f"incubate.{name}": ["f32[5,3], i64[5]=0..1", "f32[5], i32[5]=2..3"]
        for name in ("segment_max", "segment_mean", "segment_min", "segment_sum")
    },
    "incubate.graph_khop_sampler": ["i64[9]=0..1, i64[2]=0..1, i64[1]=0..1, [2]"],
    "incubate.graph_reindex": ["i64[1]=7..8, i64[4]=0..9, i32[1]=4..5"],
    "incubate.graph_sample_neighbors": ["i64[9]=0..1, i64[2]=0..1, i64[1]=0..1"],
    "incubate.graph_send_recv": [
        "f32[4,3], i64[6]=0..4, i64[6]=0..4",
        "f32[4,3], i32[6]=0..4, i32[6]=0..2, 'mean', 2",
        "f32[4], i64[6]=0..4, i64[6]=0..4, pool_type='max'",
    ],
    "incubate.softmax_mask_fuse": ["f32[2,2,3,4], f32[2,1,3,4]"],
    "incubate.softmax_mask_fuse_upper_triangle": ["f32[2,2,3,3]"],
    "hsplit": ["f32[3,4], 2", "f32[3,4], [1,3]"],
    "hstack": ["(f32[3,2], f32[3,1])"],
    "hypot": ["f32[2,3], f32[3]"],
    "increment": ["f32[1]"],
    "index_add": ["f32[4,3], i64[2]=0..4, 0, f32[2,3]", "f32[4,3], i64[2]=0..3, 1, f32[4,2], 0.5"],
    "index_add_": ["f32[4,3], i64[2]=0..4, 0, f32[2,3]"],
    "index_fill": ["f32[4,3], i64[2]=0..3, 1, 0.5"],
    "index_fill_": ["f32[4,3], i64[2]=0..3, 1, 0.5"],
    "index_put": ["f32[4,3], (i64[2]=0..4, i64[2]=0..3), f32[2]", "f32[4,3], (i64[2]=0..4,), f32[2,3], True"],
    "index_put_": ["f32[4,3], (i64[2]=0..4, i64[2]=0..3), f32[2]"],
    "index_sample": ["f32[2,5], i64[2,3]=0..5"],
    "index_select": ["f32[4,3], i64[2]=0..4", "f32[3,4], i64[2,1]=0..4, axis=1"],
    "inner": ["f32[2,3], f32[4,3]"],
    "is_empty": ["f32[2,3]"],
    "isin": ["i64[2,3]=0..4, i64[2]=0..4", "f32[2,3], f32[2], invert=True"],
    "isneginf": ["f32[2,3]"],
    "isposinf": ["f32[2,3]"],
    "isreal": ["c64[2,3]", "f32[2]"],
    "kron": ["f32[2,3], f32[3,2]"],
    "lcm": ["i32[4], i32[4]"],
    "ldexp": ["f32[2,3], i32[3]"],
    "lerp_": ["f32[2,3], f32[2,3], 0.5"],
    "linalg.cond": ["f32[3,3]", "f32[2,3,3], p=1", "f32[2,3,3], 'nuc'", "f32[2,3,3], -2"],
    "linalg.corrcoef": ["f32[3,5]", "f32[5,3], False"],
    "linalg.cov": ["f32[3,5]"],
    "linalg.inv": ["f32[2,3,3]"],
    "linalg.lstsq": ["f32[2,4,3], f32[2,4,2]", "f32[2,3,3], f32[2,3,1], driver='gels'"],
    "linalg.lu": ["f32[2,3,3]", "f32[2,3,4], get_infos=True", "f32[2,3,3] definite, pivot=False"],
    "linalg.lu_unpack": ["f32[2,3,3], i32[2,3]=2..4"],
    "linalg.matrix_norm": ["f32[2,3,3]", "f32[3,4], 1, [0,1]"],
    "linalg.matrix_power": ["f32[2,3,3], 3", "f32[2,3,3], 0"],
    "linalg.matrix_rank": ["f32[2,3,4]", "f32[2,3,3] hermitian, 0.1, True"],
    "linalg.matrix_transpose": ["f32[2,3,4]"],
    "linalg.multi_dot": ["(f32[2,3], f32[3,4], f32[4,2])"],
    "linalg.norm": ["f32[2,3]", "f32[2,3], p=1, axis=1", "f32[2,3], axis=[0,1]", "f32[2,3,4], p='nuc', axis=[1,2]", "f32[2,3,4], p=2, axis=[1,2]"],
    "linalg.pinv": ["f32[2,3,4]", "f32[2,3,3] hermitian, 0.001, True"],
    "linalg.qr": ["f32[2,4,3]", "f32[2,3,4], 'r'", "f32[2,3,3], mode='complete'"],
    "less": ["f32[2,3], f32[3]"],
    "linspace": ["0, 1, 5"],
    "logaddexp": ["f32[2,3], f32[3]"],
    "logcumsumexp": ["f32[2,5], 1", "f32[2,3]"],
    "logical_and": ["b[4], b[4]"],
    "logical_not": ["b[4]"],
    "logical_or": ["b[4], b[4]"],
    "logical_xor": ["b[4], b[4]"],
    "logit": ["f32[4]|x|<1", "f32[4], 0.01"],
    "masked_fill_": ["f32[2,3], b[2,3], 2.0"],
    "masked_scatter": ["f32[2,3], b[2,3], f32[6]"],
    "masked_scatter_": ["f32[2,3], b[2,3], f32[6]"],
    "median": ["f32[5,3]", "f32[5,3], axis=1", "f32[5,4], axis=0"],
    "meshgrid": ["f32[3], f32[4]"],
    "mm": ["f32[2,3], f32[3,4]"],
    "mod": ["f32[2,3], f32[2,3]>0"],
    "moveaxis": ["f32[2,3,4], 0, 1"],
    "multiplex": ["(f32[3,4], f32[3,4]), i32[3,1]=0..2"],
    "nan_to_num": ["f32[6]nan"],
    "nanmedian": ["f32[5,3]", "f32[5,3], axis=0"],
    "nanquantile": ["f32[5,3], 0.3, axis=1"],
    "nonzero": ["f32[2,3]", "f32[2,3], as_tuple=True"],
    "norm": ["f32[2,3]", "f32[2,3], p=2, axis=0", "f32[2,3], p='fro', axis=[0,1]", "f32[2,3], p=1"],
    "normal": ["f32[2,3], f32[2,3]>0", "0.0, 1.0, [2,3]"],
    "ones_like": ["f32[2,3]"],
    "pdist": ["f32[4,3]", "f32[4,3], 1.0"],
    "polar": ["f32[2,3], f32[2,3]"],
    "positive": ["f32[2,3]"],
    "put_along_axis": [
        "f32[3,4], i64[3,1]=0..4, 2.0, 1",
        "f32[3,4], i64[3,1]=0..4, f32[3,1], 1, reduce='add'",
        "f32[3,4], i64[3,2]=0..4, f32[3,2], 1, 'mean', False",
        "f32[3,4], i64[2,2]=0..4, f32[2,2], 1, 'amin', broadcast=False",
    ],
    "put_along_axis_": ["f32[3,4], i64[3,1]=0..4, 2.0, 1"],
    "quantile": ["f32[5,3], 0.3", "f32[5,3], 0.3, axis=1", "f32[5,3], [0.1, 0.7], axis=0, keepdim=True"],
    "rad2deg": ["f32[2,3]"],
    "rand": ["[2,3]"],
    "randint_like": ["f32[2,300], 0, 1000"],
    "randn": ["[2,3]"],
    "rank": ["f32[2,3]"],
    "renorm": ["f32[2,3,4], 2.0, 0, 1.0"],
    "reverse": ["f32[2,3], 0"],
    "rot90": ["f32[2,3]", "f32[2,3,4], 1, [1,2]"],
    "row_stack": ["(f32[2,3], f32[2,3])"],
    "scale": ["f32[2,3], 2.0, 1.0", "f32[2,3], f32[1]"],
    "select_scatter": ["f32[4,3], f32[4], 1, 2"],
    "shard_index": ["i64[4,1]=0..20, 20, 2, 0, -1"],
    "linalg.vecdot": ["f32[2,3], f32[3]", "f32[3,2], f32[3,2], 0"],
    "linalg.vector_norm": ["f32[2,3]", "f32[2,3], 3.0, 1, True"],
    "signal.istft": ["c64[2,5,6], 8", "c64[5,6], 8, 4, length=12", "c64[2,8,5], 8, 2, onesided=False, return_complex=True"],
    "signal.stft": [
        "f32[2,20], 8",
        "f32[2,20], 8, 4, 6, f32[6], False, onesided=False",
        "f32[30], 9, pad_mode='constant', normalized=True",
    ],
    "signbit": ["f32[2,3]"],
    "sinc": ["f32[2,3]"],
    "slice_scatter": ["f32[4,3], f32[4,2], [1], [0], [3], [2]"],
    "sort": ["f32[2,5]", "f32[5,2], axis=0, descending=True"],
    "split": ["f32[4,3], 2", "f32[3,4], [1,-1], axis=1", "f32[4,6], 3, axis=1"],
    "squeeze": ["f32[1,3,1]", "f32[1,3], 0", "f32[3,1,2], [1]"],
    "stack": ["(f32[2,3], f32[2,3])", "(f32[2,3], f32[2,3]), axis=1"],
    "standard_normal": ["[2,3]"],
    "strided_slice": ["f32[4,6], [1], [1], [5], [2]", "f32[4,6], [0], [0], [4], [2]"],
    "t": ["f32[2,3]"],
    "take": ["f32[2,3], i64[4]=0..6", "f32[2,3], i64[4]=-9..9, 'wrap'", "f32[2,3], i64[4]=-9..9, 'clip'"],
    "tensor_split": ["f32[5,3], 2, axis=1", "f32[2,5], [1,3], 1"],
    "tensordot": ["f32[2,3,4], f32[3,4,5]", "f32[2,3], f32[3,4], 1"],
    "tolist": None,
    "trace": ["f32[3,4]", "f32[2,3,3], axis1=1, axis2=2"],
    "trapezoid": ["f32[2,4]", "f32[2,4], f32[4]", "f32[4,2], None, 0.5, 0"],
    "unflatten": ["f32[2,6], 1, [2,3]", "f32[2,6], 1, [-1,2]"],
    "unfold": ["f32[2,7], 1, 3, 2", "f32[7], 0, 3, 2"],
    "unique": ["i64[7]=0..4", "i64[7]=0..4, return_index=True, return_inverse=True, return_counts=True"],
    "unique_consecutive": ["i64[7]=0..2"],
    "unstack": ["f32[3,2]", "f32[2,3], axis=1"],
    "vander": ["f32[3]", "f32[3], 4, True"],
    "view": ["f32[2,3], [3,2]", "f32[2,3], 'int32'"],
    "view_as": ["f32[2,3], f32[6]"],
    "vsplit": ["f32[4,3], 2"],
    "vstack": ["(f32[2,3], f32[2,3])"],
    "where": ["b[2,3], f32[2,3], f32[2,3]", "b[2,3]"],
    "vision.ops.psroi_pool": ["f32[1,12,5,6], f32[2,4]=0..6, i32[1]=2..3, [2,3]"],
    "vision.ops.roi_align": [
        "f32[1,2,5,6], f32[2,4]=0..6, i32[1]=2..3, 2",
        "f32[1,2,5,6], f32[2,4]=0..6, i32[1]=2..3, [2,3], 0.5, 2, False",
    ],
    "vision.ops.roi_pool": ["f32[1,2,5,6], f32[2,4]=0..6, i32[1]=2..3, 2, 0.5"],
    "zeros_like": ["f32[2,3]"],
    "nn.functional.adaptive_avg_pool1d": ["f32[2,3,7], 3"],
    "nn.functional.adaptive_avg_pool2d": ["f32[2,3,7,8], 3", "f32[2,3,7,8], [None,2]"],
    "nn.functional.adaptive_avg_pool3d": ["f32[2,3,4,5,6], 2"],
    "nn.functional.adaptive_max_pool1d": ["f32[2,3,7], 3"],
    "nn.functional.adaptive_max_pool2d": ["f32[2,3,7,8], 3"],
    "nn.functional.adaptive_max_pool3d": ["f32[2,3,4,5,6], 2"],
    "nn.functional.affine_grid": ["f32[2,2,3], [2,1,4,5]"],
    "nn.functional.alpha_dropout": ["f32[8,16], 0.5"],
    "nn.functional.avg_pool1d": ["f32[2,3,8], 2", "f32[2,3,7], 3, 2, 1, ceil_mode=True", "f32[2,3,8], 3, 2, 'SAME'"],
    "nn.functional.avg_pool2d": ["f32[2,3,8,7], 2", "f32[2,3,8,8], 3, 2, 'SAME'", "f32[2,8,8,3], 2, data_format='NHWC'"],
    "nn.functional.avg_pool3d": ["f32[2,3,4,6,5], 2"],
    "nn.functional.batch_norm": ["f32[4,3,5], f32[3], f32[3]>0, f32[3], f32[3]", "f32[4,3], f32[3], f32[3]>0, f32[3], f32[3], training=True"],
    "nn.functional.bilinear": ["f32[2,3], f32[2,4], f32[5,3,4], f32[1,5]"],
    "nn.functional.binary_cross_entropy": ["f32[2,3]=0.3, f32[2,3]=0.5", "f32[2,3]=0.3, f32[2,3]=0.5, reduction='none'"],
    "nn.functional.binary_cross_entropy_with_logits": ["f32[2,3], f32[2,3]=0.5", "f32[2,3], f32[2,3]=0.5, reduction='sum'"],
    "nn.functional.channel_shuffle": ["f32[2,4,3,3], 2", "f32[2,3,3,6], 3, 'NHWC'"],
    "nn.functional.conv1d": ["f32[2,3,8], f32[4,3,3], f32[4]", "f32[2,3,8], f32[4,3,3], stride=2, padding='SAME'"],
    "nn.functional.conv1d_transpose": ["f32[2,3,5], f32[3,4,3], f32[4], 2"],
    "nn.functional.conv2d": [
        "f32[2,3,8,8], f32[4,3,3,3], f32[4]",
        "f32[2,3,8,8], f32[4,3,3,3], stride=2, padding='SAME'",
        "f32[2,8,8,4], f32[4,2,3,3], padding=1, groups=2, data_format='NHWC'",
    ],
    "nn.functional.conv2d_transpose": ["f32[2,3,5,5], f32[3,4,3,3], f32[4], 2", "f32[2,3,5,5], f32[3,4,3,3], stride=2, output_size=[11,12]"],
    "nn.functional.conv3d": ["f32[2,2,4,5,5], f32[3,2,3,3,3], f32[3]"],
    "nn.functional.conv3d_transpose": ["f32[2,2,3,4,4], f32[2,3,2,2,2], f32[3], 2"],
    "nn.functional.cosine_similarity": ["f32[2,3], f32[2,3]", "f32[2,3,4], f32[2,3,4], axis=2"],
    "nn.functional.cross_entropy": [
        "f32[4,5], i64[4]=0..5",
        "f32[4,5], i64[4,1]=0..5, f32[5]>0",
        "f32[4,5], f32[4,5]>0, soft_label=True, reduction='none'",
        "f32[2,5,3], i64[2,3]=0..5, axis=1",
    ],
    "nn.functional.ctc_loss": ["f32[6,2,5], i32[2,3]=1..5, i64[2]=6, i64[2]=3"],
    "nn.functional.dice_loss": ["f32[2,3,4]>0, i64[2,3,1]=0..4"],
    "nn.functional.dropout": ["f32[8,16], 0.5", "f32[8,16], 0.5, axis=1", "f32[8,16], 0.5, training=False, mode='downscale_in_infer'"],
    "nn.functional.dropout2d": ["f32[8,16,2,2], 0.5"],
    "nn.functional.dropout3d": ["f32[8,16,2,2,2], 0.5"],
    "nn.functional.embedding": ["i64[2,3]=0..7, f32[7,4]", "i64[2,3]=0..7, f32[7,4], padding_idx=2"],
    "nn.functional.fold": ["f32[2,12,12], [4,5], [2,2]"],
    "nn.functional.gather_tree": ["i64[3,2,2]=0..5, i64[3,2,2]=0..2"],
    "nn.functional.glu": ["f32[2,6]", "f32[4,3], axis=0"],
    "nn.functional.grid_sample": ["f32[2,3,4,5], f32[2,3,3,2]"],
    "nn.functional.group_norm": ["f32[2,6,4], 3", "f32[2,4,3,6], 2, data_format='NHWC'"],
    "nn.functional.gumbel_softmax": ["f32[4,16]", "f32[4,16], hard=True"],
    "nn.functional.hinge_embedding_loss": ["f32[2,3], f32[2,3]=1"],
    "nn.functional.instance_norm": ["f32[2,3,5]"],
    "nn.functional.interpolate": [
        "f32[2,3,4,5], size=[8,7]",
        "f32[2,3,4,5], scale_factor=2, mode='bilinear'",
        "f32[2,3,4,5], size=[6,9], mode='bilinear', align_corners=True",
        "f32[2,3,5], size=[7], mode='linear'",
        "f32[2,3,4,5], size=[8,7], mode='bicubic'",
    ],
    "nn.functional.kl_div": ["f32[2,3], f32[2,3]>0", "f32[2,3], f32[2,3]>0, 'batchmean'", "f32[2,3], f32[2,3]>0, 'none'"],
    "nn.functional.l1_loss": ["f32[2,3], f32[2,3]"],
    "nn.functional.label_smooth": ["f32[2,3]=0.5"],
    "nn.functional.layer_norm": ["f32[2,3,4], 4, f32[4], f32[4]", "f32[2,3,4], [3,4]"],
    "nn.functional.linear": ["f32[2,3], f32[3,4], f32[4]", "f32[2,5,3], f32[3,4]"],
    "nn.functional.local_response_norm": ["f32[2,6,4], 3", "f32[2,4,5,6], 3, data_format='NHWC'"],
    "nn.functional.log_loss": ["f32[4,1]=0.4, f32[4,1]=0.6"],
    "nn.functional.log_sigmoid": ["f32[2,3]"],
    "nn.functional.log_softmax": ["f32[2,3]", "f32[2,3], 0"],
    "nn.functional.margin_ranking_loss": ["f32[4], f32[4], f32[4]=1"],
    "nn.functional.max_pool1d": ["f32[2,3,8], 2", "f32[2,3,8], 2, return_mask=True", "f32[2,3,8], 3, 2, 'SAME'"],
    "nn.functional.max_pool2d": ["f32[2,3,8,7], 2", "f32[2,3,8,8], 2, return_mask=True", "f32[2,3,8,8], 3, 2, 'SAME'"],
    "nn.functional.max_pool3d": ["f32[2,3,4,6,5], 2"],
    "nn.functional.class_center_sample": ["i64[4]=0..5, 10, 6"],
    "nn.functional.hsigmoid_loss": ["f32[4,3], i64[4]=0..5, 5, f32[4,3], f32[4]"],
    "nn.functional.margin_cross_entropy": ["f32[4,5]=0.3, i64[4]=0..5"],
    "nn.functional.max_unpool1d": ["f32[2,3,4], i32[2,3,4]=0..8, 2"],
    "nn.functional.max_unpool3d": ["f32[2,3,2,2,2], i32[2,3,2,2,2]=0..64, 2"],
    "nn.functional.max_unpool2d": ["f32[2,3,4,4], i32[2,3,4,4]=0..64, 2"],
    "nn.functional.maxout": ["f32[2,6,3], 2", "f32[2,4,6], 3, axis=2"],
    "nn.functional.mse_loss": ["f32[2,3], f32[2,3]", "f32[2,3], f32[2,3], 'sum'"],
    "nn.functional.nll_loss": ["f32[4,5], i64[4]=0..5", "f32[4,5], i64[4]=0..5, f32[5]>0", "f32[2,5,3], i64[2,3]=0..5"],
    "nn.functional.normalize": ["f32[2,3]", "f32[2,3], p=1, axis=0"],
    "nn.functional.npair_loss": ["f32[4,3], f32[4,3], f32[4]=0..2"],
    "nn.functional.one_hot": ["i64[4]=0..5, 5"],
    "nn.functional.pad": ["f32[2,3,4], [1,2], 'constant', 0.5, 'NCL'", "f32[2,3,4,5], [1,1,2,0], 'reflect'", "f32[2,3], [0,1,2,0]", "f32[2,3,4,5], [1,1,2,0], 'circular'"],
    "nn.functional.pixel_shuffle": ["f32[2,8,3,4], 2", "f32[2,3,4,8], 2, 'NHWC'"],
    "nn.functional.pixel_unshuffle": ["f32[2,3,4,6], 2", "f32[2,4,6,3], 2, 'NHWC'"],
    "nn.functional.prelu": ["f32[2,3,4], f32[1]", "f32[2,3,4], f32[3]"],
    "nn.functional.cosine_embedding_loss": ["f32[4,3], f32[4,3], i64[4]=-1..2, 0.1"],
    "nn.functional.gaussian_nll_loss": ["f32[2,3], f32[2,3], f32[2,3]>0", "f32[2,3], f32[2,3], f32[2,1]>0, True"],
    "nn.functional.multi_label_soft_margin_loss": ["f32[2,3], i64[2,3]=0..2", "f32[2,3], i64[2,3]=0..2, f32[3]>0"],
    "nn.functional.multi_margin_loss": ["f32[4,3], i64[4]=0..3", "f32[4,3], i64[4]=0..3, 2, 0.5"],
    "nn.functional.poisson_nll_loss": ["f32[2,3], i64[2,3]=0..4", "f32[2,3]>0, i64[2,3]=0..4, False, True"],
    "nn.functional.soft_margin_loss": ["f32[2,3], i64[2,3]=0..2"],
    "nn.functional.triplet_margin_loss": ["f32[2,3], f32[2,3], f32[2,3]", "f32[2,3], f32[2,3], f32[2,3], swap=True"],
    "nn.functional.triplet_margin_with_distance_loss": ["f32[2,3], f32[2,3], f32[2,3]"],
    "nn.functional.rnnt_loss": ["f32[2,4,3,5], i32[2,2]=1..5, i64[2]=3..5, i64[2]=0..3"],
    "nn.functional.scaled_dot_product_attention": ["f32[2,3,2,4], f32[2,5,2,4], f32[2,5,2,4]", "f32[2,3,2,4], f32[2,3,2,4], f32[2,3,2,4], is_causal=True"],
    "nn.functional.selu": ["f32[2,3]"],
    "nn.functional.sequence_mask": ["i64[4]=0..5, 6", "i64[4]=0..5"],
    "nn.functional.sigmoid_focal_loss": ["f32[2,3], f32[2,3]=1", "f32[2,3], f32[2,3]=1, f32[1]>0"],
    "nn.functional.smooth_l1_loss": ["f32[2,3], f32[2,3]", "f32[2,3], f32[2,3], 'none', 0.5"],
    "nn.functional.softmax": ["f32[2,3]", "f32[2,3], 0"],
    "nn.functional.softmax_": ["f32[2,3]"],
    "nn.functional.softmax_with_cross_entropy": ["f32[4,5], i64[4,1]=0..5", "f32[4,5], f32[4,5]>0, soft_label=True"],
    "nn.functional.softshrink": ["f32[2,3]"],
    "nn.functional.sparse_attention": ["f32[2,1,2,3], f32[2,1,2,3], f32[2,1,2,3], i64[2,1,3]=0, i64[2,1,2]=0..2"],
    "nn.functional.square_error_cost": ["f32[2,3], f32[2,3]"],
    "nn.functional.temporal_shift": ["f32[4,8,3,3], 2, 0.25"],
    "nn.functional.unfold": ["f32[2,3,5,6], 2", "f32[2,3,5,6], [2,3], 2, 1"],
    "nn.functional.upsample": ["f32[2,3,4,5], size=[8,7]", "f32[2,3,4,5], None, 2, 'nearest'"],
    "nn.functional.zeropad2d": ["f32[2,3,4,5], [1,2,0,1]"],
    # The first dim, which the suites leave open and make larger, is that of the sequences; rows are as many as the lengths say.
    "static.nn.sequence_unpad": ["f32[4,5,2], i64[4]=1..5", "f32[4,5,2], i64[4,1]=0..2"],
    "static.nn.sequence_pad": ["f32[4,2], 0.5, lengths=i64[4]=1", "f32[4,2], 0.5, 3, lengths=i64[4]=1"],
    "static.nn.sequence_pool": [
        f"f32[4,2], '{kind}', lengths=i64[4]=1" for kind in ("sum", "average", "sqrt", "max", "first", "last")
    ],
    "static.nn.sequence_first_step": ["f32[4,2], lengths=i64[4]=1"],
    "static.nn.sequence_last_step": ["f32[4,2], lengths=i64[4]=1"],
    "static.nn.sequence_softmax": ["f32[4,1], lengths=i64[4]=1"],
    "static.nn.sequence_reverse": ["f32[4,2], lengths=i64[4]=1"],
    "static.nn.sequence_expand": ["f32[4,2], f32[4,1], lengths=i64[4]=0..3"],
    "static.nn.sequence_expand_as": ["f32[4,2], f32[4,1], lengths=i64[4]=1..3"],
    "static.nn.sequence_enumerate": ["i64[4,1]=0..9, 2, lengths=i64[4]=1"],
    "static.nn.sequence_reshape": ["f32[4,6], 3, lengths=i64[4]=1"],
    "static.nn.sequence_scatter": ["f32[4,6], i64[4,1]=0..6, f32[4,1], lengths=i64[4]=1"],
    "static.nn.sequence_slice": ["f32[4,2], i64[4]=0, i64[4]=1, lengths=i64[4]=1"],
    "static.nn.sequence_concat": ["(f32[4,2], f32[4,2]), lengths=(i64[4]=1, i64[4]=1)"],
    "Tensor.astype": ["f32[2,3], 'int32'"],
    "Tensor.contiguous": ["f32[2,3].T"],
    "Tensor.cpu": ["f32[2,3]"],
    "Tensor.detach": ["f32[2,3]"],
    "Tensor.dim": ["f32[2,3]"],
    "Tensor.exponential_": ["f32[2,3]"],
    "Tensor.fill_": ["f32[2,3], 2.0"],
    "Tensor.fill_diagonal_": ["f32[3,4], 2.0", "f32[3,3], 1.0, 1"],
    "Tensor.fill_diagonal_tensor": ["f32[3,4], f32[3]", "f32[3,2,3], f32[2,2], 1, 0, 2"],
    "Tensor.fill_diagonal_tensor_": ["f32[3,4], f32[3]", "f32[2,3,4], f32[2,3], 0, 1, 2"],
    "Tensor.inv": ["f32[2,3,3]"],
    "Tensor.lu_unpack": ["f32[2,3,3], i32[2,3]=2..4"],
    "Tensor.matrix_power": ["f32[2,3,3], 2"],
    "Tensor.multi_dot": None,
    "Tensor.reverse": ["f32[2,3], 0"],
    "Tensor.to_sparse_coo": ["f32[3,4]", "f32[3,4], 1"],
    "Tensor.to_sparse_csr": ["f32[3,4]"],
    "Tensor.view": ["f32[2,3], [3,2]", "f32[2,3], [-1]", "f32[2,3], 'int32'"],
    "Tensor.view_as": ["f32[2,3], f32[6]"],
    "Tensor.uniform_": ["f32[2,3]"],
    "Tensor.zero_": ["f32[2,3]"],
    "Tensor.__getitem__": ["f32[4,3], 1", "f32[4,3], (None, -1)"],
    "Tensor.to": ["f32[2,3], 'float64'"],
    "Tensor.cov": ["f32[3,5]"],
}  # fmt: skip


class Case:
    """A call: `function` of tensors and other arguments, which stay as they are."""

    def __init__(self, name, text, function):
        (self._sample,) = samples.parse(text, ("float32",)) if text.strip() else (samples.Sample((), {}, ""),)
        self.name, self.text = name, text
        self._function = function

    def arguments(self, more=0):
        """The arguments, the batch larger by `more`: (positional, by name)."""
        rng = np.random.default_rng(zlib.crc32(f"{self.name} {self.text} {more}".encode()))
        specs = self._sample.specs()
        batch = specs[0].dims[0] if specs and specs[0].dims else None

        def make(a):
            if isinstance(a, list) and a and isinstance(a[0], samples.TensorSpec):
                return [make(x) for x in a]
            if not isinstance(a, samples.TensorSpec):
                return a
            if more and a.dims and a.dims[0] == batch:
                a = samples.TensorSpec(a.dtype, (batch + more, *a.dims[1:]), a.views, a.values)
            t = paddle.to_tensor(a.array(rng))
            return t.t() if "T" in a.views else t

        return [make(a) for a in self._sample.args], {k: make(a) for k, a in self._sample.kwargs.items()}

    def batched(self, tensor):
        specs = self._sample.specs()
        return bool(specs and specs[0].dims and tensor.ndim and tensor.shape[0] == specs[0].dims[0])

    def bind(self, args, kwargs):
        """(tensors, function of tensors) of a call."""
        from proa.framework.nested import flatten, rebuild

        inplace = self.name == "increment" or self.name.endswith("_") and not self.name.endswith("__")

        def function(*tensors):
            if inplace:  # what is changed belongs to the call
                tensors = [paddle.assign(t) for t in tensors]
            full_args, full_kwargs = rebuild([args, kwargs], iter(tensors))
            out = flatten(self._function(*full_args, **full_kwargs))
            return [t for t in out if t is not None]

        return flatten([args, kwargs]), function


def function_at(path):
    value = paddle
    for part in path.split("."):
        value = getattr(value, part)
    return value


def public_cases():
    """(name, function, texts of calls) of everything public that has some: what stands above, and samples of schemas."""
    for name, texts in FUNCTIONS.items():
        if texts and ("." not in name or hasattr(function_at(name.rpartition(".")[0]), name.rpartition(".")[2])):
            yield name, function_at(name), texts
    for op in suite.all_ops().values():
        if op.python and op.python.function:
            path = {"root": "", "nn_functional": "nn.functional."}.get(op.python.module, f"{op.python.module}.")
            name = path + op.python.function
            if name not in FUNCTIONS:
                yield name, function_at(name), op.samples


def parameter_names(function, count):
    """The names of the first `count` positional arguments; numbers where there are none."""
    try:
        names = list(inspect.signature(function).parameters)
    except (ValueError, TypeError):
        names = []
    return [names[i] if i < len(names) else str(i) for i in range(count)]
