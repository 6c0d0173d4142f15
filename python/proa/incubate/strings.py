"""Tensors of strings: made, copied in shape, and turned into lower or upper case."""

import math

from proa import _C

__all__ = ["StringTensor", "empty", "empty_like", "lower", "to_string_tensor", "upper"]


def _shape_of(value):
    """The sizes of nested lists of strings; an error where rows differ."""
    if isinstance(value, str):
        return []
    if not isinstance(value, (list, tuple)):
        raise _C.located(TypeError(f"StringTensor: elements must be str, not {type(value).__name__}"))
    inner = [_shape_of(item) for item in value]
    if any(shape != inner[0] for shape in inner):
        raise _C.located(ValueError("StringTensor: rows must be of one length"))
    return [len(value), *(inner[0] if inner else [])]


def _flat(value):
    return [value] if isinstance(value, str) else [s for item in value for s in _flat(item)]


def _sizes(op, shape):
    shape = [shape] if isinstance(shape, int) else list(shape)
    for n in shape:
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise _C.located(ValueError(f"{op}: shape must be integers that are not negative; it is {shape}"))
    return shape


class StringTensor:
    """Strings of Unicode in a shape, on the CPU. It has no gradient and is no part of programs.

    Args:
        data (str|list|ndarray|StringTensor): strings, in nested lists or an array; the empty string of no dims unless
            given. A list of integers stands for `dims`.
        name (str, optional): its name.
        dims (list[int], optional): instead of data, the sizes of a tensor of empty strings.
        value (str|list|ndarray|StringTensor, optional): another name of data.

    Raises:
        TypeError: an element is no string.
        ValueError: rows differ in length, or a size is negative.

    Examples:
        >>> x = proa.incubate.strings.StringTensor([["Ärger", "İ"], ["ß", ""]])
        >>> x.shape, x.tolist()[1]
        ([2, 2], ['ß', ''])
    """

    _count = 0

    def __init__(self, data="", name=None, *, dims=None, value=None):
        data = data if value is None else value
        if dims is None and isinstance(data, (list, tuple)) and data and all(isinstance(n, int) for n in data):
            dims = data
        if dims is not None:
            shape = _sizes("StringTensor", dims)
            strings = [""] * math.prod(shape)
        elif isinstance(data, StringTensor):
            shape, strings = data.shape, list(data._strings)
        else:
            data = data.tolist() if hasattr(data, "tolist") else data
            shape, strings = _shape_of(data), _flat(data)
        self._set(strings, shape, name)

    def _set(self, strings, shape, name=None):
        self._strings, self._shape = strings, shape
        if name is None:
            name = f"generated_string_tensor_{StringTensor._count}"
            StringTensor._count += 1
        self.name = name

    @classmethod
    def _of(cls, strings, shape):
        made = cls.__new__(cls)
        made._set(strings, shape)
        return made

    @property
    def shape(self):
        """The sizes."""
        return list(self._shape)

    @property
    def ndim(self):
        """The number of dims."""
        return len(self._shape)

    @property
    def size(self):
        """The number of strings."""
        return len(self._strings)

    @property
    def place(self):
        """The CPU."""
        return _C.CPUPlace()

    def tolist(self):
        """The strings in nested lists; of no dims the string."""
        rows = iter(self._strings)

        def nested(shape):
            return [nested(shape[1:]) for _ in range(shape[0])] if shape else next(rows)

        return nested(self._shape)

    def numpy(self):
        """The strings as an array of NumPy's strings."""
        import numpy as np

        return np.array(self._strings, dtype=np.str_).reshape(self._shape)

    def lower(self, use_utf8_encoding=True):
        """See `lower`."""
        return lower(self, use_utf8_encoding)

    def upper(self, use_utf8_encoding=True):
        """See `upper`."""
        return upper(self, use_utf8_encoding)

    def __len__(self):
        if not self._shape:
            raise _C.located(TypeError("len: a tensor of no dims has no length"))
        return self._shape[0]

    def __getitem__(self, index):
        """The strings at an index as NumPy has it: a StringTensor, of no dims for one string."""
        import numpy as np

        found = np.array(self._strings, dtype=object).reshape(self._shape)[index]
        if isinstance(found, str):
            return StringTensor._of([found], [])
        return StringTensor._of(found.reshape(-1).tolist(), list(found.shape))

    def __repr__(self):
        return f"StringTensor(shape={self.shape}, place={self.place},\n       {self.tolist()!r})"


def to_string_tensor(data, name=None):
    """A StringTensor of strings; arguments and errors as of StringTensor.

    Examples:
        >>> proa.incubate.strings.to_string_tensor(["a", "b"]).shape
        [2]
    """
    return StringTensor(data, name)


def empty(shape, name=None):
    """Empty strings.

    Args:
        shape (list[int]|int): the sizes.
        name (str, optional): not used.

    Raises:
        ValueError: a size is negative.

    Examples:
        >>> proa.incubate.strings.empty([1, 2]).tolist()
        [['', '']]
    """
    shape = _sizes("empty", shape)
    return StringTensor._of([""] * math.prod(shape), shape)


def empty_like(x, name=None):
    """Empty strings in the shape of x.

    Args:
        x (StringTensor): the other tensor.
        name (str, optional): not used.

    Examples:
        >>> proa.incubate.strings.empty_like(proa.incubate.strings.StringTensor(["a"])).tolist()
        ['']
    """
    return empty(_argument("empty_like", x).shape)


def _argument(op, x):
    if not isinstance(x, StringTensor):
        raise _C.located(TypeError(f"{op}: x must be a StringTensor, not {type(x).__name__}"))
    return x


def _mapped(op, x, use_utf8_encoding, unicode, letters):
    x = _argument(op, x)
    convert = unicode if use_utf8_encoding else lambda s: s.translate(letters)
    return StringTensor._of([convert(s) for s in x._strings], x.shape)


_CAPITALS, _SMALL = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_TO_LOWER, _TO_UPPER = str.maketrans(_CAPITALS, _SMALL), str.maketrans(_SMALL, _CAPITALS)


def lower(x, use_utf8_encoding=True, name=None):
    """The strings in lower case.

    Args:
        x (StringTensor): the strings.
        use_utf8_encoding (bool): all letters of Unicode, by its rules for words ("Σ" at the end of one is "ς"); False for those of
            ASCII alone.
        name (str, optional): not used.

    Raises:
        TypeError: x is no StringTensor.

    Examples:
        >>> x = proa.incubate.strings.StringTensor(["ÄRGER", "ΟΔΟΣ"])
        >>> proa.incubate.strings.lower(x).tolist(), proa.incubate.strings.lower(x, False).tolist()
        (['ärger', 'οδος'], ['Ärger', 'ΟΔΟΣ'])
    """
    return _mapped("lower", x, use_utf8_encoding, str.lower, _TO_LOWER)


def upper(x, use_utf8_encoding=True, name=None):
    """The strings in upper case, which may be longer; arguments and errors as of lower.

    Examples:
        >>> x = proa.incubate.strings.StringTensor(["straße"])
        >>> proa.incubate.strings.upper(x).tolist(), proa.incubate.strings.upper(x, False).tolist()
        (['STRASSE'], ['STRAßE'])
    """
    return _mapped("upper", x, use_utf8_encoding, str.upper, _TO_UPPER)
