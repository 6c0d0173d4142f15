"""DataFeeder, and checks of arguments that programs share with the old functions."""

from proa import _C
from proa.framework.dtype import convert_dtype
from proa.framework.names import missing as _missing
from proa.static import feeding

__all__ = ["DataFeeder", "check_dtype", "check_shape", "check_type", "check_variable_and_dtype", "convert_dtype"]

__getattr__ = _missing(__name__)


class DataFeeder:
    """Makes the feed of a program from a list of samples.

    Args:
        feed_list (list): inputs of the program, or their names.
        place: accepted.
        program (Program, optional): where the names are looked up; the default main program unless given.

    Examples:
        >>> fluid = proa.fluid
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = fluid.data("x", [None, 2])
        ...     feeder = fluid.DataFeeder([x], fluid.CPUPlace())
        >>> feeder.feed([([1.0, 2.0],), ([3.0, 4.0],)])["x"].shape
        (2, 2)
    """

    def __init__(self, feed_list, place=None, program=None):
        from proa.static.program import default_main_program

        program = program or default_main_program()
        self._inputs = [program.var(item) if isinstance(item, str) else item for item in feed_list]
        self.feed_names = [tensor.name for tensor in self._inputs]
        self.place = place

    def feed(self, iterable):
        """A dict from the names to arrays, or to a LoDTensor where an input holds sequences: each sample has one value for
        each input."""
        columns = [[] for _ in self._inputs]
        for sample in iterable:
            if len(sample) != len(columns):
                raise _C.located(
                    ValueError(f"DataFeeder.feed: a sample has {len(sample)} values for {len(columns)} inputs")
                )
            for column, value in zip(columns, sample):
                column.append(value)
        found = {}
        for tensor, column in zip(self._inputs, columns):
            found[tensor.name] = feeding.column(tensor, column)
        return found

    def feed_parallel(self, iterable, num_places=None):
        """A feed for each of the devices: one."""
        for samples in iterable:
            yield self.feed(samples)

    def decorate_reader(self, reader, multi_devices=False, num_places=None, drop_last=True):
        """A reader of feeds, from a reader of lists of samples."""

        def feeds():
            for samples in reader():
                yield self.feed(samples)

        return feeds


def check_type(input, input_name, expected_type, op_name, extra_message=""):
    """Raises TypeError unless `input` is of the type."""
    if not isinstance(input, expected_type):
        raise _C.located(
            TypeError(
                f"{op_name}: {input_name} must be {expected_type}, not {type(input).__name__}"
                + (f"; {extra_message}" if extra_message else "")
            )
        )


def check_dtype(input_dtype, input_name, expected_dtype, op_name, extra_message=""):
    """Raises TypeError unless the dtype is one of those (names)."""
    kind = convert_dtype(input_dtype)
    if kind not in expected_dtype:
        raise _C.located(
            TypeError(
                f"{op_name}: {input_name} must be of {', '.join(map(str, expected_dtype))}, not {kind}"
                + (f"; {extra_message}" if extra_message else "")
            )
        )


def check_variable_and_dtype(input, input_name, expected_dtype, op_name, extra_message=""):
    """Raises TypeError unless `input` is a Tensor of one of those dtypes (names)."""
    check_type(input, input_name, _C.Tensor, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)


def check_shape(shape, op_name, expected_shape_type=(list, tuple, _C.Tensor), **kwargs):
    """Raises TypeError unless it is a shape."""
    check_type(shape, "shape", expected_shape_type, op_name)
