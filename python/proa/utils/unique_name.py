"""Unique names: `generate("linear")` gives linear_0, linear_1 and so on."""

import contextlib


class _Generator:
    def __init__(self, prefix=""):
        self.prefix = prefix
        self.counts = {}

    def __call__(self, key):
        count = self.counts.get(key, 0)
        self.counts[key] = count + 1
        return f"{self.prefix}{key}_{count}"


_generator = _Generator()


class Family:
    """Unique names below a name that is unique already: `Family("linear_0")("w")` gives linear_0.w_0 and so on.

    It counts by itself and goes with its owner, so that making and dropping owners leaves nothing behind. Copies of
    an owner share it.

    Examples:
        >>> names = proa.utils.unique_name.Family("linear_7")
        >>> names("w"), names("b"), names("w")
        ('linear_7.w_0', 'linear_7.b_0', 'linear_7.w_1')
    """

    def __init__(self, name):
        self.name = name
        self.counts = {}

    def __call__(self, key):
        count = self.counts.get(key, 0)
        self.counts[key] = count + 1
        return f"{_generator.prefix}{self.name}.{key}_{count}"

    def __deepcopy__(self, memo):
        return self


def generate(key):
    """The next name with this key.

    Examples:
        >>> from proa.utils import unique_name
        >>> with unique_name.guard():
        ...     unique_name.generate("fc"), unique_name.generate("fc")
        ('fc_0', 'fc_1')
    """
    return _generator(key)


def switch(new_generator=None):
    """Starts counting anew (or goes on with `new_generator`); returns the generator in use so far.

    Examples:
        >>> before = proa.utils.unique_name.switch()
        >>> proa.utils.unique_name.generate("fc")
        'fc_0'
        >>> _ = proa.utils.unique_name.switch(before)
    """
    global _generator
    old = _generator
    _generator = new_generator if isinstance(new_generator, _Generator) else _Generator()
    return old


class Repeated:
    """Of a piece of a program that is recorded several times: `with` it, each recording gets the names of the first.

    So a cell of a recurrent net that makes its parameters when it is called has one set of them.

    Examples:
        >>> from proa.utils import unique_name
        >>> piece, names = unique_name.Repeated(), []
        >>> for _ in range(2):
        ...     with piece:
        ...         names.append(unique_name.generate("of_piece"))
        >>> names[0] == names[1]
        True
    """

    def __init__(self):
        self._counts = None

    def __enter__(self):
        if self._counts is None:
            self._counts = dict(_generator.counts)
        else:
            self._after = {**_generator.counts}
            _generator.counts = dict(self._counts)

    def __exit__(self, *error):
        if hasattr(self, "_after"):
            for key, count in self.__dict__.pop("_after").items():
                _generator.counts[key] = max(count, _generator.counts.get(key, 0))


@contextlib.contextmanager
def guard(new_generator=None):
    """Counts anew inside `with`; a string argument becomes a prefix of all names.

    Examples:
        >>> with proa.utils.unique_name.guard():
        ...     proa.utils.unique_name.generate("fc")
        'fc_0'
    """
    if isinstance(new_generator, (str, bytes)):
        prefix = new_generator.decode() if isinstance(new_generator, bytes) else new_generator
        new_generator = _Generator(prefix)
    old = switch(new_generator)
    try:
        yield
    finally:
        switch(old)
