"""Tables whose rows are looked up."""

from proa import _C
from proa.framework.grad_mode import no_grad
from proa.nn import functional
from proa.static.only import static_only
from proa.static.parameters import program_parameter
from proa.utils import unique_name

__all__ = ["embedding"]


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
