"""The functions under the layers: convolutions, pools, normalizations, activations, losses."""

from proa._generated.nn_functional import *
from proa.framework.names import missing as _missing
from proa.nn.functional.activation import *  # type: ignore[assignment]  # wrappers of some ops
from proa.nn.functional.attention import scaled_dot_product_attention
from proa.nn.functional.common import (  # type: ignore[assignment]
    alpha_dropout,
    bilinear,
    cosine_similarity,
    dropout,
    dropout2d,
    dropout3d,
    embedding,
    label_smooth,
    linear,
    normalize,
    one_hot,
    pad,
    sequence_mask,
    zeropad2d,
)
from proa.nn.functional.conv import conv1d, conv1d_transpose, conv2d, conv2d_transpose, conv3d, conv3d_transpose
from proa.nn.functional.cross_entropy import cross_entropy, nll_loss, npair_loss, softmax_with_cross_entropy
from proa.nn.functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    ctc_loss,
    dice_loss,
    hinge_embedding_loss,
    kl_div,
    l1_loss,
    log_loss,
    margin_ranking_loss,
    mse_loss,
    sigmoid_focal_loss,
    smooth_l1_loss,
    square_error_cost,
)
from proa.nn.functional.many_classes import class_center_sample, hsigmoid_loss, margin_cross_entropy
from proa.nn.functional.margin import (
    cosine_embedding_loss,
    gaussian_nll_loss,
    multi_label_soft_margin_loss,
    multi_margin_loss,
    poisson_nll_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from proa.nn.functional.norm import batch_norm, group_norm, instance_norm, layer_norm, local_response_norm
from proa.nn.functional.patches import (
    channel_shuffle,
    fold,
    pixel_shuffle,
    pixel_unshuffle,
    temporal_shift,
    unfold,
)
from proa.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from proa.nn.functional.resize import interpolate, upsample
from proa.nn.functional.search import gather_tree
from proa.nn.functional.sparse_attention import sparse_attention
from proa.nn.functional.transducer import rnnt_loss
from proa.nn.functional.vision import affine_grid, grid_sample

__getattr__ = _missing(__name__)
