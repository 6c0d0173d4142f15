"""The exceptions of the package: each is of every kind that programs catch it as.

    ArgumentTypeError   TypeError and ValueError: a list where a Tensor belongs
    DTypeError          TypeError, ValueError and RuntimeError: a dtype that a function does not take
    IndexRangeError     IndexError and ValueError: an axis or an index out of range
    NotFoundError       FileNotFoundError, RuntimeError and ValueError: a file that is not there

Others are Python's own. Their texts open with the kind of the mistake: `(InvalidArgument)`, `(OutOfRange)`, `(NotFound)`,
`(PreconditionNotMet)`, `(Unimplemented)`, `(ResourceExhausted)`.

Examples:
    >>> try:
    ...     proa.ones([2, 3]).sum(axis=5)
    ... except proa.errors.IndexRangeError as error:
    ...     print(isinstance(error, IndexError), isinstance(error, ValueError))
    True True
"""

from proa._C import ArgumentTypeError, DTypeError, IndexRangeError, NotFoundError

__all__ = ["ArgumentTypeError", "DTypeError", "IndexRangeError", "NotFoundError"]
