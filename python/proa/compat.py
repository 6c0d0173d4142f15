"""Helpers of programs that once ran on Python 2 and 3."""

import math


def long_type():
    """The type of large integers: int."""
    return int


def _converted(obj, inplace, convert):
    if isinstance(obj, list):
        values = [_converted(item, inplace, convert) for item in obj]
        if inplace:
            obj[:] = values
            return obj
        return values
    if isinstance(obj, set):
        values = {_converted(item, inplace, convert) for item in obj}
        if inplace:
            obj.clear()
            obj.update(values)
            return obj
        return values
    if isinstance(obj, dict):
        pairs = {_converted(k, inplace, convert): _converted(v, inplace, convert) for k, v in obj.items()}
        if inplace:
            obj.clear()
            obj.update(pairs)
            return obj
        return pairs
    return convert(obj)


def to_text(obj, encoding="utf-8", inplace=False):
    """bytes as str, also inside lists, sets and dicts (themselves, with inplace)."""
    return _converted(obj, inplace, lambda v: v.decode(encoding) if isinstance(v, bytes) else v)


def to_bytes(obj, encoding="utf-8", inplace=False):
    """str as bytes, also inside lists, sets and dicts (themselves, with inplace)."""
    return _converted(obj, inplace, lambda v: v.encode(encoding) if isinstance(v, str) else v)


def round(x, d=0):
    """x rounded to d digits; halves away from zero."""
    power = 10**d
    return float(math.floor(x * power + 0.5)) / power if x >= 0 else float(math.ceil(x * power - 0.5)) / power


def floor_division(x, y):
    """x // y."""
    return x // y


def get_exception_message(exc):
    """The text of an exception."""
    return str(exc)
