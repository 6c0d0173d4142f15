"""Reference of what may be used, in NumPy."""


def reference_require(x, holds, message, data=()):
    assert holds.all(), message
    return x
