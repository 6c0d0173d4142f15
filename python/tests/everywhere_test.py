"""Every public function, method and layer: eager, converted, saved and loaded; twice; with open sizes.

Equal to eager where nothing is drawn; what draws differs from run to run and follows the seed as eager
does; with sizes left open the results are those of eager, also at another batch size, or the recording is
refused by a clear error. Functions that are generated from a schema are the conformance suite's
(ops/conformance); here stands what is written in Python.

`python everywhere_test.py NAME...` shows what became of the cases of some names, all without one.
"""

import contextlib
import inspect
import os
import sys
import tempfile
import zlib

import numpy as np
import pytest

import proa as paddle
from ops.conformance import samples

F, nn, Tensor = paddle.nn.functional, paddle.nn, paddle.Tensor

# Calls as schemas write them (docs/schema.md): tensors, then attributes. Along dim 0 of the first tensor,
# and of the others of the same size there, lies the batch.
FUNCTIONS = {
    "add_n": ["(f32[2,3], f32[2,3])"],
    "addmm": ["f32[2,4], f32[2,3], f32[3,4], 0.5, 2.0"],
    "arange": ["0, 5, 2"],
    "argmax": ["f32[2,3]", "f32[2,3], 1", "f32[3,2], 0, True"],
    "argmin": ["f32[2,3]", "f32[2,3], 1"],
    "assign": ["f32[2,3]"],
    "bincount": ["i64[7]=0..5", "i64[7]=0..5, f32[7], minlength=9"],
    "bitwise_and": ["i32[4], i32[4]"],
    "bitwise_not": ["i32[4]"],
    "bitwise_or": ["i32[4], i32[4]"],
    "bitwise_xor": ["i32[4], i32[4]"],
    "broadcast_tensors": ["(f32[2,3], f32[3])"],
    "chunk": ["f32[4,3], 2", "f32[3,4], 2, axis=1"],
    "clone": ["f32[2,3]"],
    "concat": ["(f32[2,3], f32[2,3])", "(f32[2,3], f32[2,1]), axis=1"],
    "conj": ["c64[2,3]", "f32[2,3]"],
    "crop": ["f32[4,5], [2,3], [1,1]", "f32[4,5], [-1,3], [0,1]"],
    "cross": ["f32[4,3], f32[4,3]", "f32[4,3], f32[4,3], axis=1"],
    "deg2rad": ["f32[2,3]"],
    "diagflat": ["f32[3]", "f32[2,2], 1"],
    "diff": ["f32[5,3]", "f32[3,5], axis=0", "f32[5,3], n=2, axis=0", "f32[3,4], prepend=f32[3,1]"],
    "dist": ["f32[2,3], f32[2,3]", "f32[2,3], f32[3], p=1"],
    "einsum": ["'bij,bjk->bik', f32[2,3,4], f32[2,4,5]", "'bi,bi->b', f32[2,3], f32[2,3]"],
    "empty_like": ["f32[2,3]"],
    "expand": ["f32[2,1], [2,4]", "f32[2,3], [2,-1,-1]", "f32[2,1], [-1,4]"],
    "expand_as": ["f32[3], f32[2,3]", "f32[2,1], f32[2,3]"],
    "floor_mod": ["i32[4], i32[4]>0"],
    "full": ["[2,3], 1.5"],
    "full_like": ["f32[2,3], 1.5"],
    "gather": ["f32[4,3], i64[2]=0..4", "f32[3,4], i64[2]=0..4, axis=1"],
    "gcd": ["i32[4], i32[4]"],
    "histogram": ["f32[9]", "f32[9], 5, -1, 1"],
    "increment": ["f32[1]"],
    "index_sample": ["f32[2,5], i64[2,3]=0..5"],
    "inner": ["f32[2,3], f32[4,3]"],
    "is_empty": ["f32[2,3]"],
    "kron": ["f32[2,3], f32[3,2]"],
    "lcm": ["i32[4], i32[4]"],
    "lerp_": ["f32[2,3], f32[2,3], 0.5"],
    "linalg.cond": ["f32[3,3]"],
    "linalg.cov": ["f32[3,5]"],
    "linalg.inv": ["f32[2,3,3]"],
    "linalg.matrix_power": ["f32[2,3,3], 3", "f32[2,3,3], 0"],
    "linalg.multi_dot": ["(f32[2,3], f32[3,4], f32[4,2])"],
    "linalg.norm": ["f32[2,3]", "f32[2,3], p=1, axis=1", "f32[2,3], axis=[0,1]"],
    "linspace": ["0, 1, 5"],
    "logical_and": ["b[4], b[4]"],
    "logical_not": ["b[4]"],
    "logical_or": ["b[4], b[4]"],
    "logical_xor": ["b[4], b[4]"],
    "logit": ["f32[4]|x|<1", "f32[4], 0.01"],
    "masked_fill_": ["f32[2,3], b[2,3], 2.0"],
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
    "put_along_axis": ["f32[3,4], i64[3,1]=0..4, 2.0, 1", "f32[3,4], i64[3,1]=0..4, f32[3,1], 1, reduce='add'"],
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
    "scale": ["f32[2,3], 2.0, 1.0", "f32[2,3], f32[1]"],
    "shard_index": ["i64[4,1]=0..20, 20, 2, 0, -1"],
    "sort": ["f32[2,5]", "f32[5,2], axis=0, descending=True"],
    "split": ["f32[4,3], 2", "f32[3,4], [1,-1], axis=1", "f32[4,6], 3, axis=1"],
    "stack": ["(f32[2,3], f32[2,3])", "(f32[2,3], f32[2,3]), axis=1"],
    "standard_normal": ["[2,3]"],
    "strided_slice": ["f32[4,6], [1], [1], [5], [2]", "f32[4,6], [0], [0], [4], [2]"],
    "t": ["f32[2,3]"],
    "tensordot": ["f32[2,3,4], f32[3,4,5]", "f32[2,3], f32[3,4], 1"],
    "tolist": None,
    "trace": ["f32[3,4]", "f32[2,3,3], axis1=1, axis2=2"],
    "unique": ["i64[7]=0..4", "i64[7]=0..4, return_index=True, return_inverse=True, return_counts=True"],
    "unique_consecutive": ["i64[7]=0..2"],
    "unstack": ["f32[3,2]", "f32[2,3], axis=1"],
    "where": ["b[2,3], f32[2,3], f32[2,3]", "b[2,3]"],
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
    "nn.functional.max_unpool1d": ["f32[2,3,4], i32[2,3,4]=0..8, 2"],
    "nn.functional.max_unpool2d": ["f32[2,3,4,4], i32[2,3,4,4]=0..64, 2"],
    "nn.functional.maxout": ["f32[2,6,3], 2", "f32[2,4,6], 3, axis=2"],
    "nn.functional.mse_loss": ["f32[2,3], f32[2,3]", "f32[2,3], f32[2,3], 'sum'"],
    "nn.functional.nll_loss": ["f32[4,5], i64[4]=0..5", "f32[4,5], i64[4]=0..5, f32[5]>0", "f32[2,5,3], i64[2,3]=0..5"],
    "nn.functional.normalize": ["f32[2,3]", "f32[2,3], p=1, axis=0"],
    "nn.functional.npair_loss": ["f32[4,3], f32[4,3], f32[4]=0..2"],
    "nn.functional.one_hot": ["i64[4]=0..5, 5"],
    "nn.functional.pad": ["f32[2,3,4], [1,2], 'constant', 0.5, 'NCL'", "f32[2,3,4,5], [1,1,2,0], 'reflect'", "f32[2,3], [0,1,2,0]", "f32[2,3,4,5], [1,1,2,0], 'circular'"],
    "nn.functional.pixel_shuffle": ["f32[2,8,3,4], 2", "f32[2,3,4,8], 2, 'NHWC'"],
    "nn.functional.prelu": ["f32[2,3,4], f32[1]", "f32[2,3,4], f32[3]"],
    "nn.functional.scaled_dot_product_attention": ["f32[2,3,2,4], f32[2,5,2,4], f32[2,5,2,4]", "f32[2,3,2,4], f32[2,3,2,4], f32[2,3,2,4], is_causal=True"],
    "nn.functional.selu": ["f32[2,3]"],
    "nn.functional.sequence_mask": ["i64[4]=0..5, 6", "i64[4]=0..5"],
    "nn.functional.sigmoid_focal_loss": ["f32[2,3], f32[2,3]=1", "f32[2,3], f32[2,3]=1, f32[1]>0"],
    "nn.functional.smooth_l1_loss": ["f32[2,3], f32[2,3]", "f32[2,3], f32[2,3], 'none', 0.5"],
    "nn.functional.softmax": ["f32[2,3]", "f32[2,3], 0"],
    "nn.functional.softmax_": ["f32[2,3]"],
    "nn.functional.softmax_with_cross_entropy": ["f32[4,5], i64[4,1]=0..5", "f32[4,5], f32[4,5]>0, soft_label=True"],
    "nn.functional.softshrink": ["f32[2,3]"],
    "nn.functional.square_error_cost": ["f32[2,3], f32[2,3]"],
    "nn.functional.temporal_shift": ["f32[4,8,3,3], 2, 0.25"],
    "nn.functional.unfold": ["f32[2,3,5,6], 2", "f32[2,3,5,6], [2,3], 2, 1"],
    "nn.functional.upsample": ["f32[2,3,4,5], size=[8,7]", "f32[2,3,4,5], None, 2, 'nearest'"],
    "nn.functional.zeropad2d": ["f32[2,3,4,5], [1,2,0,1]"],
    "Tensor.astype": ["f32[2,3], 'int32'"],
    "Tensor.contiguous": ["f32[2,3].T"],
    "Tensor.cpu": ["f32[2,3]"],
    "Tensor.detach": ["f32[2,3]"],
    "Tensor.dim": ["f32[2,3]"],
    "Tensor.exponential_": ["f32[2,3]"],
    "Tensor.fill_": ["f32[2,3], 2.0"],
    "Tensor.fill_diagonal_": ["f32[3,4], 2.0", "f32[3,3], 1.0, 1"],
    "Tensor.matrix_power": ["f32[2,3,3], 2"],
    "Tensor.multi_dot": None,
    "Tensor.reverse": ["f32[2,3], 0"],
    "Tensor.uniform_": ["f32[2,3]"],
    "Tensor.zero_": ["f32[2,3]"],
    "Tensor.__getitem__": ["f32[4,3], 1", "f32[4,3], (None, -1)"],
    "Tensor.to": ["f32[2,3], 'float64'"],
    "Tensor.cov": ["f32[3,5]"],
}  # fmt: skip

# What is no computation on tensors, by module: settings, conversions to Python, files, devices, marks.
NO_COMPUTATION = {
    "": """CPUPlace CUDAPinnedPlace CUDAPlace batch broadcast_shape create_parameter disable_signal_handler
        disable_static enable_static empty flops get_cuda_rng_state get_cudnn_version get_default_dtype get_device get_flags
        get_rng_state grad in_dynamic_mode is_complex is_floating_point is_grad_enabled is_integer is_tensor load
        is_compiled_with_cinn is_compiled_with_cuda is_compiled_with_npu is_compiled_with_rocm is_compiled_with_xpu
        ones zeros save seed set_cuda_rng_state set_default_dtype set_device set_flags set_grad_enabled
        set_printoptions set_rng_state summary to_tensor tolist no_grad""",
    "nn.functional": "",
    "linalg": "",
    "Tensor": """backward clear_grad clear_gradient copy_ cuda data_ptr detach_ element_size get_selected_rows get_tensor gradient
        is_contiguous is_dense is_dist is_selected_rows is_sparse item ndimension numpy pin_memory is_tensor broadcast_shape
        is_complex is_floating_point is_integer register_hook rows values to_dense register_post_accumulate_grad_hook retain_grads set_value value""",
}

# Arguments of the constructor, input.
LAYERS = {
    "AdaptiveAvgPool1D": ("3", "f32[2,3,7]"),
    "AdaptiveAvgPool2D": ("3", "f32[2,3,7,8]"),
    "AdaptiveAvgPool3D": ("2", "f32[2,3,4,5,6]"),
    "AdaptiveMaxPool1D": ("3", "f32[2,3,7]"),
    "AdaptiveMaxPool2D": ("3", "f32[2,3,7,8]"),
    "AdaptiveMaxPool3D": ("2", "f32[2,3,4,5,6]"),
    "AlphaDropout": ("0.5", "f32[8,16]"),
    "AvgPool1D": ("2", "f32[2,3,8]"),
    "AvgPool2D": ("2", "f32[2,3,8,7]"),
    "AvgPool3D": ("2", "f32[2,3,4,6,5]"),
    "BCELoss": ("", "f32[2,3]=0.3, f32[2,3]=0.5"),
    "BCEWithLogitsLoss": ("", "f32[2,3], f32[2,3]=0.5"),
    "BatchNorm": ("3", "f32[4,3,2]"),
    "BatchNorm1D": ("3", "f32[4,3]"),
    "BatchNorm2D": ("3", "f32[4,3,2,2]"),
    "BatchNorm3D": ("3", "f32[4,3,2,2,2]"),
    "Bilinear": ("3, 4, 5", "f32[2,3], f32[2,4]"),
    "CTCLoss": ("", "f32[6,2,5], i32[2,3]=1..5, i64[2]=6, i64[2]=3"),
    "Conv1D": ("3, 4, 3", "f32[2,3,8]"),
    "Conv1DTranspose": ("3, 4, 3", "f32[2,3,5]"),
    "Conv2D": ("3, 4, 3, padding_mode='reflect', padding=1", "f32[2,3,8,8]"),
    "Conv2DTranspose": ("3, 4, 3", "f32[2,3,5,5]"),
    "Conv3D": ("2, 3, 3", "f32[2,2,4,5,5]"),
    "Conv3DTranspose": ("2, 3, 2", "f32[2,2,3,4,4]"),
    "CosineSimilarity": ("", "f32[2,3], f32[2,3]"),
    "CrossEntropyLoss": ("", "f32[4,5], i64[4]=0..5"),
    "Dropout": ("0.5", "f32[8,16]"),
    "Dropout2D": ("0.5", "f32[8,16,2,2]"),
    "Dropout3D": ("0.5", "f32[8,16,2,2,2]"),
    "Embedding": ("7, 4", "i64[2,3]=0..7"),
    "Flatten": ("", "f32[2,3,4]"),
    "Fold": ("[4,5], [2,2]", "f32[2,12,12]"),
    "GRU": ("3, 4", "f32[2,5,3]"),
    "GRUCell": ("3, 4", "f32[2,3]"),
    "GroupNorm": ("3, 6", "f32[2,6,4]"),
    "InstanceNorm1D": ("3", "f32[2,3,5]"),
    "InstanceNorm2D": ("3", "f32[2,3,5,4]"),
    "InstanceNorm3D": ("3", "f32[2,3,2,3,4]"),
    "HingeEmbeddingLoss": ("", "f32[2,3], f32[2,3]=1"),
    "KLDivLoss": ("'batchmean'", "f32[2,3], f32[2,3]>0"),
    "L1Loss": ("", "f32[2,3], f32[2,3]"),
    "LSTM": ("3, 4, direction='bidirect'", "f32[2,5,3]"),
    "LSTMCell": ("3, 4", "f32[2,3]"),
    "LayerNorm": ("4", "f32[2,3,4]"),
    "Linear": ("3, 4", "f32[2,3]"),
    "LocalResponseNorm": ("3", "f32[2,6,4]"),
    "MSELoss": ("", "f32[2,3], f32[2,3]"),
    "MarginRankingLoss": ("", "f32[4], f32[4], f32[4]=1"),
    "MaxPool1D": ("2", "f32[2,3,8]"),
    "MaxPool2D": ("2", "f32[2,3,8,7]"),
    "MaxPool3D": ("2", "f32[2,3,4,6,5]"),
    "MaxUnPool1D": ("2", "f32[2,3,4], i32[2,3,4]=0..8"),
    "MaxUnPool2D": ("2", "f32[2,3,4,4], i32[2,3,4,4]=0..64"),
    "Maxout": ("2", "f32[2,6,3]"),
    "MultiHeadAttention": ("4, 2", "f32[2,3,4]"),
    "NLLLoss": ("", "f32[4,5], i64[4]=0..5"),
    "Pad1D": ("[1,2]", "f32[2,3,4]"),
    "Pad2D": ("1", "f32[2,3,4,5]"),
    "Pad3D": ("1", "f32[2,3,2,2,2]"),
    "PairwiseDistance": ("", "f32[2,3], f32[2,3]"),
    "PixelShuffle": ("2", "f32[2,8,3,4]"),
    "SimpleRNN": ("3, 4", "f32[2,5,3]"),
    "SimpleRNNCell": ("3, 4", "f32[2,3]"),
    "SmoothL1Loss": ("", "f32[2,3], f32[2,3]"),
    "SpectralNorm": ("[3,4], power_iters=2", "f32[3,4]"),
    "SyncBatchNorm": ("3", "f32[4,3,2,2]"),
    "Transformer": ("4, 2, 1, 1, 8", "f32[2,3,4], f32[2,5,4]"),
    "TransformerDecoderLayer": ("4, 2, 8", "f32[2,3,4], f32[2,5,4]"),
    "TransformerEncoderLayer": ("4, 2, 8", "f32[2,3,4]"),
    "Unfold": ("2", "f32[2,3,5,6]"),
    "Upsample": ("size=[8,7]", "f32[2,3,4,5]"),
    "UpsamplingBilinear2D": ("size=[8,7]", "f32[2,3,4,5]"),
    "UpsamplingNearest2D": ("size=[8,7]", "f32[2,3,4,5]"),
    "ZeroPad2D": ("1", "f32[2,3,4,5]"),
}
# Functions of one tensor.
LAYERS |= {
    name: ("", "f32[2,6,3]")
    for name in dir(nn)
    if name not in LAYERS and getattr(getattr(nn, name), "__module__", "") == "proa.nn.layer.activation"
}
LAYERS |= {"Maxout": ("2", "f32[2,6,3]"), "GLU": ("", "f32[2,3,4]"), "Identity": ("", "f32[2,3]")}
# Containers and bases; layers that are made of layers (their parts stand above).
NO_LAYERS = """BiRNN Layer LayerDict LayerList ParameterList RNN RNNCellBase Sequential TransformerDecoder
    TransformerEncoder ClipGradByGlobalNorm ClipGradByNorm ClipGradByValue BeamSearchDecoder""".split()
# The size of the result, or an error, depends on values that Python reads: refused while recorded.
READS_VALUES = ("bincount", "histogram")
REFUSALS = ("known", "open", "InputSpec", "no elements until the program runs")


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


def _function(path):
    value = paddle
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _cases():
    for name, texts in FUNCTIONS.items():
        if texts is None or "." in name and not hasattr(_function(name.rpartition(".")[0]), name.rpartition(".")[2]):
            continue
        for text in texts:
            yield Case(name, text, _function(name))


def _numpy(tensors):
    return [t.astype("float32").numpy() if t.dtype.name == "bfloat16" else t.numpy() for t in tensors]


def _equal(got, want, where):
    got, want = _numpy(got), _numpy(want)
    assert len(got) == len(want), f"{where}: {len(got)} results, eager gives {len(want)}"
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{where}: {a.dtype} {a.shape}, eager {b.dtype} {b.shape}"
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5, err_msg=where)


def _seeded(function, *args):
    paddle.seed(11)
    return function(*args)


def _listed(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _draws(function, tensors):
    first, second = _numpy(function(*tensors)), _numpy(function(*tensors))
    return any(not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(first, second, strict=True))


def check(case, folder):
    """Eager, converted and saved; then with open sizes. Returns what became of the open ones."""
    tensors, function = case.bind(*case.arguments())
    want = _seeded(function, *tensors)
    if not want:
        return ["no tensors"]
    random = _draws(function, tensors)
    converted = paddle.jit.to_static(function)
    specs = [paddle.static.InputSpec(t.shape, t.dtype, f"x{i}") for i, t in enumerate(tensors)]
    if case.name in READS_VALUES:
        with pytest.raises(RuntimeError, match="no elements until the program runs"):
            converted(*tensors)
        return ["refused: reads values"]
    prefix = os.path.join(folder, "model")
    paddle.jit.save(function, prefix, specs)
    loaded = paddle.jit.load(prefix)
    for way, recorded in (("converted", converted), ("saved", loaded)):

        def run(*ts, recorded=recorded):
            return _listed(recorded(*ts))

        where = f"{case.name}({case.text}) {way}"
        for _ in range(2):
            _equal(_seeded(run, *tensors), want, where)
        assert _draws(run, tensors) == random, f"{where}: {'the same draws twice' if random else 'differs'}"
    return [_open(case, folder, whole) for whole in (False, True)] if tensors else ["no inputs"]


def _open(case, folder, whole):
    """With the batch left open, run at two other sizes; or with every dim left open."""
    tensors, function = case.bind(*case.arguments())
    specs = [
        paddle.static.InputSpec(
            [-1 if whole or i == 0 and case.batched(t) else n for i, n in enumerate(t.shape)], t.dtype, f"x{k}"
        )
        for k, t in enumerate(tensors)
    ]
    prefix = os.path.join(folder, "open")
    try:
        paddle.jit.save(function, prefix, specs)
    except (RuntimeError, ValueError, TypeError, NotImplementedError, IndexError) as e:
        assert any(word in str(e) for word in REFUSALS), f"{case.name}({case.text}) refuses open sizes by: {e}"
        return "refused"
    loaded = paddle.jit.load(prefix)
    for more in (0,) if whole else (0, 1, 2):
        given, eager = case.bind(*case.arguments(more))
        try:
            want = _seeded(eager, *given)
        except (ValueError, RuntimeError):
            continue  # the call does not fit other sizes
        where = f"{case.name}({case.text}) {'all sizes' if whole else 'batch'} open, {more} more"
        try:
            got = _seeded(loaded, *given)
        except (RuntimeError, ValueError) as e:
            assert "in the program" in str(e), f"{where}: {e}"
            return "refused when it runs"
        _equal(_listed(got), want, where)
    return "equal"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name, tmp_path):
    for case in _cases():
        if case.name == name:
            check(case, str(tmp_path))


def _layer(name):
    arguments, text = LAYERS[name]
    args, kwargs = eval(f"(lambda *a, **k: (a, k))({arguments})")
    paddle.seed(5)
    return getattr(nn, name)(*args, **kwargs), text


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_layer(name, training, tmp_path):
    layer, text = _layer(name)
    layer.train() if training else layer.eval()
    start = {k: v.numpy() for k, v in layer.state_dict().items()}
    case = Case(name, text, layer)
    tensors, function = case.bind(*case.arguments())

    def restart():
        for key, value in layer.state_dict().items():
            value.set_value(start[key])

    want = []
    for _ in range(2):  # the second call sees what the first left behind
        want.append([t.clone() for t in _seeded(function, *tensors)])
    restart()
    converted = paddle.jit.to_static(layer)
    for i in range(2):
        _equal(_flat(_seeded(converted, *tensors)), want[i], f"{name} converted, call {i}")
    if training:
        return
    specs = [paddle.static.InputSpec(t.shape, t.dtype, f"x{i}") for i, t in enumerate(tensors)]
    restart()
    paddle.jit.save(layer, str(tmp_path / "layer"), specs)
    loaded = paddle.jit.load(str(tmp_path / "layer"))
    for i in range(2):
        _equal(_listed(_seeded(loaded, *tensors)), want[i], f"{name} saved, call {i}")
    restart()
    _open(Case(name, text, lambda *a: _flat(layer(*a))), str(tmp_path), False)


def _backward(function, tensors, layer):
    """Values, and gradients of what requires some, of a call after a restart."""
    tensors = [t.detach() for t in tensors]
    for t in tensors:
        t.stop_gradient = not t.is_floating_point()
    layer.clear_gradients(set_to_zero=False)
    out = [t for t in _flat(_seeded(function, *tensors)) if t is not None]
    total = sum((t.astype("float32") * 0.5).sum() for t in out if t.is_floating_point() and not t.stop_gradient)
    if isinstance(total, Tensor):
        total.backward()
    wanted = [*tensors, *layer.parameters()]
    return out, [t.grad for t in wanted]


@pytest.mark.parametrize("name", LAYERS)
def test_a_converted_layer_follows_its_switches(name):
    """Mode, autocast, a second batch, hooks: after the first call, in value and gradient."""
    layer, text = _layer(name)
    start = {k: v.numpy() for k, v in layer.state_dict().items()}
    case = Case(name, text, layer)
    converted = paddle.jit.to_static(lambda *args: layer(*args))

    def same(what, more=0):
        results = []
        for function in (lambda *args: layer(*args), converted, converted):
            for key, value in layer.state_dict().items():
                value.set_value(start[key])
            tensors, _ = case.bind(*case.arguments(more))
            try:
                results.append(_backward(function, tensors, layer))
            except (ValueError, RuntimeError):
                if results or not more and what != "autocast":
                    raise
                return  # the call does not fit this batch, or this dtype
        want = results[0]
        for got in results[1:]:
            _equal(got[0], want[0], f"{name} {what}")
            assert [g is None for g in got[1]] == [w is None for w in want[1]], f"{name} {what}: gradients"
            pairs = [(g, w) for g, w in zip(got[1], want[1], strict=True) if w is not None]
            _equal([g for g, _ in pairs], [w for _, w in pairs], f"{name} {what}, gradients")

    same("training")
    layer.eval()
    same("evaluation")
    for more in (1, 2):
        same("evaluation, another batch", more)
    layer.train()
    same("training, another batch", 1)
    with paddle.amp.auto_cast(dtype="bfloat16"):
        same("autocast")
    same("training again")
    hook = layer.register_forward_post_hook(lambda layer, inputs, out: _doubled(out))
    same("hook")
    hook.remove()
    same("without the hook")


def _doubled(out):
    from proa.framework.nested import rebuild

    return rebuild(out, (t * 2 if t.is_floating_point() else t for t in _flat(out)))


def _flat(result):
    from proa.framework.nested import flatten

    return flatten(result)


def _written(module, path):
    """Public functions of a module or class that are written in Python."""
    for name in dir(module):
        if name.startswith("_"):
            continue
        with contextlib.suppress(AttributeError, ImportError):
            value = getattr(module, name)
            generated = getattr(value, "__module__", "").startswith("proa._generated")
            if callable(value) and not isinstance(value, type) and not inspect.ismodule(value) and not generated:
                yield name if not path else f"{path}.{name}"


def _generated_twin(name):
    """`add_` is made from the op of `add`, as are methods from functions of their names."""
    last = name.rpartition(".")[2]
    bare = last.rstrip("_")
    places = (paddle, F, Tensor)
    return any(
        getattr(getattr(place, n, None), "__module__", "").startswith("proa._generated")
        for place in places
        for n in (last, bare)
    )


def test_every_function_stands_here():
    missing = []
    for path, skipped in NO_COMPUTATION.items():
        module = _function(path) if path else paddle
        for name in _written(module, path):
            last = name.rpartition(".")[2]
            known = name in FUNCTIONS or path and last in FUNCTIONS or last in skipped.split()
            if not known and not _generated_twin(name) and f"nn.functional.{last}" not in FUNCTIONS:
                missing.append(name)
    assert not missing, f"no case, and no reason for none: {missing}"


def test_every_layer_stands_here():
    missing = []
    for name in dir(nn):
        value = getattr(nn, name, None)
        if not isinstance(value, type) or not issubclass(value, nn.Layer):
            continue
        if name not in LAYERS and name not in NO_LAYERS:
            missing.append(name)
    assert not missing, f"no case, and no reason for none: {missing}"


def main(names):
    with tempfile.TemporaryDirectory() as folder:
        for case in _cases():
            if not names or case.name in names or case.name.rpartition(".")[2] in names:
                try:
                    print(f"{case.name}({case.text}):", *check(case, folder), sep="  ")
                except Exception as e:
                    print(
                        f"{case.name}({case.text}): FAILED {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
                    )


if __name__ == "__main__":
    main(sys.argv[1:])
