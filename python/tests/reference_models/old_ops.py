"""Programs of one op each, by its own name: ops that no function of PaddlePaddle 3 records."""

import numpy as np
from recording import R, U, boxes, f32, i64, mask, pos, raw, x2, x3, x4


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

# Scales that follow training, as in a test. Losses and what 1.x had besides.
seen = {"InScale": step, "InAccum": np.array([2.5], "float32"), "InState": np.array([1.9], "float32")}
moved = {"Out": U, "OutScale": U, "OutState": U, "OutAccum": U}
ALONE |= {
    f"fake_quantize_{d}moving_average_abs_max{k}": (
        {"X": x2 * 3, **seen},
        {"moving_rate": 0.8, "bit_length": 8, "round_type": k, "is_test": True},
        moved,
    )
    for d in ("", "dequantize_")
    for k in range(2)
}
ALONE |= {
    "moving_average_abs_max_scale": (
        {"X": x2 * 3, "InAccum": seen["InAccum"], "InState": seen["InState"]},
        {"moving_rate": 0.8, "is_test": True},
        moved,
    ),
    "fake_quantize_range_abs_max": (
        {"X": x2, "InScale": step, "Iter": np.zeros(1, "int64")},
        {"window_size": 10, "bit_length": 8, "round_type": 1, "is_test": True},
        {"Out": U, "OutScale": U, "OutScales": U},
    ),
    "add_position_encoding": ({"X": x3}, {"alpha": 0.5, "beta": 2.0}, {"Out": U}),
}
TYPES |= {n: n[:-1] for n in ALONE if "moving_average" in n and n[-1].isdigit()}

ALONE |= {
    "yolov3_loss": (
        {
            "X": f32(2, 14, 4, 4),
            "GTBox": (R.rand(2, 3, 4) * 0.5 + 0.2).astype("float32"),
            "GTLabel": R.randint(0, 2, (2, 3)).astype("int32"),
        },
        {
            "anchors": [10, 13, 16, 30, 33, 23],
            "anchor_mask": [0, 1],
            "class_num": 2,
            "ignore_thresh": 0.7,
            "downsample_ratio": 32,
        },
        {"Loss": U, "ObjectnessMask": U, "GTMatchMask": "int32"},
    ),
    "lars_momentum": (
        {
            "Param": [x2, f32(5)],
            "Grad": [f32(3, 4), f32(5)],
            "Velocity": [f32(3, 4), f32(5)],
            "LearningRate": [f32(1), f32(1)],
        },
        {"mu": 0.9, "lars_coeff": 0.01, "lars_weight_decay": [0.1, 0.0], "epsilon": 1e-6},
        {"ParamOut": [U, U], "VelocityOut": [U, U]},
    ),
    "ftrl": (
        {
            "Param": x2,
            "SquaredAccumulator": f32(3, 4, low=0.1),
            "LinearAccumulator": f32(3, 4),
            "Grad": f32(3, 4),
            "LearningRate": pos.reshape(-1)[:1],
        },
        {"l1": 0.1, "l2": 0.2, "lr_power": -0.5},
        {"ParamOut": U, "SquaredAccumOut": U, "LinearAccumOut": U},
    ),
    "decayed_adagrad": (
        {"Param": x2, "Grad": f32(3, 4), "Moment": pos, "LearningRate": pos.reshape(-1)[:1]},
        {"decay": 0.9, "epsilon": 1e-5},
        {"ParamOut": U, "MomentOut": U},
    ),
    "check_finite_and_unscale": (
        {"X": [x2, f32(5)], "Scale": np.array([4.0], "float32")},
        {},
        {"Out": [U, U], "FoundInfinite": "bool"},
    ),
    **{
        f"update_loss_scaling_{name}": (
            {
                "X": [x2, f32(5)],
                "FoundInfinite": np.array([found]),
                "PrevLossScaling": np.array([8.0], "float32"),
                "InGoodSteps": np.array([good], "int32"),
                "InBadSteps": np.array([1], "int32"),
            },
            {"incr_every_n_steps": 3, "decr_every_n_nan_or_inf": 2, "incr_ratio": 2.0, "decr_ratio": 0.5},
            {"Out": [U, U], "LossScaling": U, "OutGoodSteps": "int32", "OutBadSteps": "int32"},
        )
        for name, found, good in (("up", False, 2), ("down", True, 2))
    },
    "auc": (
        {
            "Predict": np.stack([1 - pos.reshape(-1), pos.reshape(-1)], 1),
            "Label": i64(12, 1, high=2),
            "StatPos": i64(1, 201, high=3),
            "StatNeg": i64(1, 201, high=3),
        },
        {"num_thresholds": 200, "slide_steps": 0, "curve": "ROC"},
        {"AUC": "float64", "StatPosOut": "int64", "StatNegOut": "int64"},
    ),
    "bincount": ({"X": i64(9, high=6)}, {"minlength": 4}, {"Out": "int64"}),
    "bincount_weighted": ({"X": i64(5, high=6), "Weights": f32(5)}, {"minlength": 9}, {"Out": U}),
    "cummax": ({"x": np.round(x3)}, {"axis": 1, "dtype": 3}, {"out": U, "indices": "int64"}),
    "cummin": ({"x": np.round(x3)}, {"axis": -1, "dtype": 3}, {"out": U, "indices": "int64"}),
    "logcumsumexp": ({"X": x3}, {"axis": 1, "flatten": False, "exclusive": False, "reverse": True}, {"Out": U}),
    "fill_diagonal": ({"X": x2}, {"value": 0.5, "offset": 1, "wrap": False}, {"Out": U}),
    "rrelu": ({"X": x2}, {"lower": 0.1, "upper": 0.3, "is_test": True}, {"Out": U, "Noise": U}),
    "copysign": ({"x": x2, "y": f32(3, 4)}, {}, {"out": U}),
    "cvm": ({"X": pos, "CVM": pos[:, :2]}, {"use_cvm": True}, {"Y": U}),
    "cvm_cut": ({"X": pos, "CVM": pos[:, :2]}, {"use_cvm": False}, {"Y": U}),
    "tdm_child": (
        {
            "X": np.array([[1], [2], [3]]),
            "TreeInfo": np.array(
                [
                    [0, 0, 0, 1, 2],
                    [0, 1, 0, 3, 4],
                    [0, 1, 0, 5, 0],
                    [10, 2, 1, 0, 0],
                    [11, 2, 1, 0, 0],
                    [12, 2, 2, 0, 0],
                ]
            ),
        },
        {"child_nums": 2, "dtype": 3},
        {"Child": "int64", "LeafMask": "int64"},
    ),
    "fill_diagonal_tensor": ({"X": x2, "Y": f32(3)}, {"offset": 0, "dim1": 0, "dim2": 1}, {"Out": U}),
    "viterbi_decode": (
        {"Input": f32(3, 5, 4), "Transition": f32(4, 4), "Length": np.array([5, 2, 4])},
        {"include_bos_eos_tag": True},
        {"Scores": U, "Path": "int64"},
    ),
    "viterbi_decode_plain": (
        {"Input": f32(3, 5, 4), "Transition": f32(4, 4), "Length": np.array([3, 1, 4])},
        {"include_bos_eos_tag": False},
        {"Scores": U, "Path": "int64"},
    ),
    "crf_decoding": (
        {"Emission": f32(3, 5, 4), "Transition": f32(6, 4), "Length": np.array([5, 2, 4])},
        {},
        {"ViterbiPath": "int64"},
    ),
    "unique_consecutive": (
        {"X": np.array([1, 1, 2, 2, 2, 3, 1])},
        {"axis": [], "dtype": 3, "return_inverse": True, "return_counts": True},
        {"Out": "int64", "Index": "int64", "Counts": "int64"},
    ),
}
TYPES |= {n: "update_loss_scaling" for n in ALONE if n.startswith("update_loss_scaling")}
TYPES |= {"bincount_weighted": "bincount", "cvm_cut": "cvm", "viterbi_decode_plain": "viterbi_decode"}

# How good sequences are, and losses over many classes.
words, said = R.randint(0, 5, (4, 6)), R.randint(0, 5, (4, 5))
both = {"HypsLength": np.array([6, 3, 0, 4]), "RefsLength": np.array([5, 2, 4, 1])}
tree = {"X": f32(4, 3), "W": f32(6, 3), "Label": np.array([[0], [3], [6], [5]])}
walk = {"PathTable": np.array([[0, 2, 5, -1], [0, 1, -1, -1], [0, 2, 4, 3], [1, -1, -1, -1]]),
        "PathCode": np.array([[0, 1, 0, -1], [1, 0, -1, -1], [1, 1, 0, 1], [0, -1, -1, -1]])}  # fmt: skip
CHUNKS = ("Precision", "Recall", "F1-Score"), ("NumInferChunks", "NumLabelChunks", "NumCorrectChunks")
counted = {**dict.fromkeys(CHUNKS[0], U), **dict.fromkeys(CHUNKS[1], "int64")}
ALONE |= {
    **{
        f"edit_distance_{'part' if k else 'whole'}": (
            {"Hyps": words, "Refs": said, **both},
            {"normalized": bool(k)},
            {"Out": U, "SequenceNum": "int64"},
        )
        for k in range(2)
    },
    **{
        f"chunk_eval_{scheme}": (
            {"Inference": R.randint(0, most, (3, 9)), "Label": R.randint(0, most, (3, 9)), "SeqLength": np.array([9, 5, 1])},
            {"chunk_scheme": scheme, "num_chunk_types": 2, "excluded_chunk_types": excluded},
            counted,
        )
        for scheme, most, excluded in (("IOB", 5, []), ("IOE", 5, [1]), ("IOBES", 9, []), ("plain", 3, []))
    },
    "hierarchical_sigmoid": ({**tree, "Bias": f32(6, 1)}, {"num_classes": 7}, {"Out": U, "PreOut": U, "W_Out": U}),
    "hierarchical_sigmoid_walk": ({**tree, **walk}, {"num_classes": 7}, {"Out": U, "PreOut": U, "W_Out": U}),
}  # fmt: skip
TYPES |= {n: t for n in ALONE for t in ("edit_distance", "chunk_eval", "hierarchical_sigmoid") if n.startswith(t)}


def alone(type):
    slots, attributes, outputs = ALONE[type]
    flat = [(slot, i, a) for slot, v in slots.items() for i, a in enumerate(v if isinstance(v, list) else [v])]

    def build(*tensors):
        given = {}
        for (slot, _, _), t in zip(flat, tensors):
            given.setdefault(slot, []).append(t)
        results = raw(TYPES.get(type, type), given, outputs, attributes)
        keep = [slot for slot, ts in outputs.items() for _ in ([ts] if isinstance(ts, str) else ts)]
        states = ("OutScale", "OutState", "OutAccum", "OutScales") if attributes.get("is_test") else ()
        hidden = (
            *states,
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
            "Noise",
            "ObjectnessMask",
            "GTMatchMask",
            "PreOut",
            "W_Out",
            # It changes what it takes, and writes nothing where all is finite.
            *(("Out",) if type == "update_loss_scaling_up" else ()),
        )
        return [r for r, slot in zip(results, keep) if slot not in hidden]

    return build, [np.asarray(a) for _, _, a in flat]
