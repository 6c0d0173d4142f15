"""Readers that belong to a program: they feed it in each run, until they have no more."""

from proa import _C
from proa.io.generator_loader import GeneratorLoader
from proa.static import data
from proa.static.program import assume_static
from proa.utils import unique_name

__all__ = ["create_py_reader_by_data", "double_buffer", "py_reader", "read_file"]


def py_reader(capacity, shapes, dtypes, lod_levels=None, name=None, use_double_buffer=True):
    """A reader whose batches are inputs of the program, of these shapes and dtypes; `read_file` gives the inputs.

    Args:
        capacity (int): accepted.
        shapes (list): of the inputs; -1 for sizes that are known only when the program runs.
        dtypes (list): of their elements.
        lod_levels (list[int], optional): of inputs that are sequences.
        name (str, optional): first part of the names of the inputs.

    Returns:
        GeneratorLoader: `decorate_paddle_reader(...)` and its kin say where batches come from; `start()`, runs without a
        feed until `fluid.core.EOFException`, and `reset()`.

    Raises:
        ValueError: there are not as many dtypes as shapes.

    Examples:
        >>> from proa import fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     reader = fluid.layers.py_reader(4, [[-1, 2]], ["float32"])
        ...     y = fluid.layers.read_file(reader) * 2.0
        >>> _ = reader.decorate_batch_generator(lambda: ([np.full([1, 2], n, "float32")] for n in range(2)))
        >>> exe = fluid.Executor()
        >>> reader.start()
        >>> [exe.run(main, fetch_list=[y])[0].tolist() for _ in range(2)]
        [[[0.0, 0.0]], [[2.0, 2.0]]]
        >>> try:
        ...     exe.run(main, fetch_list=[y])
        ... except fluid.core.EOFException:
        ...     reader.reset()
    """
    levels = lod_levels or [0] * len(shapes)
    if not len(shapes) == len(dtypes) == len(levels):
        raise _C.located(
            ValueError(
                f"py_reader: {len(shapes)} shapes, {len(dtypes)} dtypes, {len(levels)} lod_levels; give one of each"
            )
        )
    assume_static()
    base = unique_name.generate("py_reader" if name is None else name)
    inputs = [
        data(f"{base}_{number}", shape, dtype, level)
        for number, (shape, dtype, level) in enumerate(zip(shapes, dtypes, levels, strict=True))
    ]
    return create_py_reader_by_data(capacity, inputs, name, use_double_buffer)


def create_py_reader_by_data(capacity, feed_list, name=None, use_double_buffer=True):
    """The same for inputs that there are already.

    Args:
        capacity (int): accepted.
        feed_list (list[Tensor]): inputs of the program.
    """
    return GeneratorLoader(list(feed_list), capacity, use_double_buffer, iterable=False)


def read_file(reader):
    """The inputs that a reader feeds: one, or a list."""
    inputs = list(reader.inputs)
    return inputs[0] if len(inputs) == 1 else inputs


def double_buffer(reader, place=None, name=None):
    """The reader as it is."""
    return reader
