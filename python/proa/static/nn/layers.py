"""Functions that add a layer with its parameters to the program."""

from proa import _C
from proa.framework.grad_mode import no_grad
from proa.nn import functional
from proa.static.only import missing, static_only
from proa.static.parameters import program_parameter
from proa.utils import unique_name

__all__ = ["data_norm", "embedding", "multi_box_head", "nce"]


@static_only("use paddle.nn.Embedding")
def embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype="float32"):
    """Rows of a table that is made here and trained with the program.

    Args:
        input (Tensor): symbolic integers, [...].
        size (list): [rows, size of a row].
        is_sparse (bool): the gradient of the table holds only the rows that `input` names.
        is_distributed (bool): accepted, has no effect.
        padding_idx (int, optional): this row is zeros and gets no gradient.
        param_attr (ParamAttr, optional): of the table.
        dtype (str): of the table.

    Returns:
        Tensor: [..., size of a row].

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = proa.static.data("x", [None, 3], "int64")
        ...     y = proa.static.nn.embedding(x, [10, 4])
        >>> y.shape
        [-1, 3, 4]
    """
    if not isinstance(size, (list, tuple)) or len(size) != 2:
        raise _C.located(ValueError(f"embedding: size must be [rows, size of a row], not {size!r}"))
    table = program_parameter(list(size), param_attr, dtype, prefix=unique_name.generate("embedding"))
    if padding_idx is not None:
        with _C.eager_mode(), no_grad():
            table[padding_idx] = 0.0
    return functional.embedding(input, table, padding_idx, is_sparse)


@static_only("use paddle.nn.BatchNorm1D")
def data_norm(
    input,
    act=None,
    epsilon=1e-05,
    param_attr=None,
    data_layout="NCHW",
    in_place=False,
    name=None,
    moving_mean_name=None,
    moving_variance_name=None,
    do_model_average_for_mean_and_var=False,
    slot_dim=-1,
    sync_stats=False,
    summary_decay_rate=0.9999999,
    enable_scale_and_shift=False,
):
    """Normalizes by running sums. Not in this version.

    Raises:
        RuntimeError: in eager mode.
        NotImplementedError: in static mode.
    """
    missing("data_norm", "use paddle.nn.BatchNorm1D in the program")


@static_only("compute the boxes with tensor functions")
def multi_box_head(
    inputs,
    image,
    base_size,
    num_classes,
    aspect_ratios,
    min_ratio=None,
    max_ratio=None,
    min_sizes=None,
    max_sizes=None,
    steps=None,
    step_w=None,
    step_h=None,
    offset=0.5,
    variance=[0.1, 0.1, 0.2, 0.2],  # noqa: B006 (the documented default)
    flip=True,
    clip=False,
    kernel_size=1,
    pad=0,
    stride=1,
    name=None,
    min_max_aspect_ratios_order=False,
):
    """Prior boxes of SSD detectors. Not in this version.

    Raises:
        RuntimeError: in eager mode.
        NotImplementedError: in static mode.
    """
    missing("multi_box_head", "compute the boxes with tensor functions")


@static_only("use paddle.nn.functional.cross_entropy over sampled classes")
def nce(
    input,
    label,
    num_total_classes,
    sample_weight=None,
    param_attr=None,
    bias_attr=None,
    num_neg_samples=None,
    name=None,
    sampler="uniform",
    custom_dist=None,
    seed=0,
    is_sparse=False,
):
    """Noise-contrastive estimation. Not in this version.

    Raises:
        RuntimeError: in eager mode.
        NotImplementedError: in static mode.
    """
    missing("nce", "use paddle.nn.functional.cross_entropy over sampled classes")
