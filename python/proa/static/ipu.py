"""Names of a device that this package has no kernels for. Whoever uses one is told so."""

from proa import _C

__all__ = ["IpuCompiledProgram", "IpuStrategy", "ipu_shard_guard", "set_ipu_shard"]


def _refuse(name):
    raise _C.located(
        NotImplementedError(
            f"{name}: this package runs on CPUs and has no IPU backend; leave it out, the program runs as it is"
        )
    )


class _Refused:
    """A setting of an IPU."""

    def __init__(self, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return self if instance is None else _refuse(self.name)

    def __set__(self, instance, value):
        _refuse(self.name)


class IpuStrategy:
    """Settings of an IPU, which this package has no backend for.

    Raises:
        NotImplementedError: always.

    Examples:
        >>> proa.static.IpuStrategy()
        Traceback (most recent call last):
        NotImplementedError: ...this package runs on CPUs and has no IPU backend...
    """

    num_ipus = _Refused("IpuStrategy.num_ipus")
    is_training = _Refused("IpuStrategy.is_training")
    enable_pipelining = _Refused("IpuStrategy.enable_pipelining")
    enable_fp16 = _Refused("IpuStrategy.enable_fp16")

    def __init__(self):
        _refuse("IpuStrategy")

    def set_graph_config(self, num_ipus=1, is_training=True, micro_batch_size=1, enable_manual_shard=False):
        """Refused."""
        _refuse("IpuStrategy.set_graph_config")

    def set_pipelining_config(
        self, enable_pipelining=False, batches_per_step=1, enable_gradient_accumulation=False, accumulation_factor=1
    ):
        """Refused."""
        _refuse("IpuStrategy.set_pipelining_config")

    def set_precision_config(self, enable_fp16=False):
        """Refused."""
        _refuse("IpuStrategy.set_precision_config")

    def add_custom_op(self, paddle_op, popart_op=None, domain="custom.ops", version=1):
        """Refused."""
        _refuse("IpuStrategy.add_custom_op")

    def set_options(self, options):
        """Refused."""
        _refuse("IpuStrategy.set_options")

    def get_option(self, option):
        """Refused."""
        _refuse("IpuStrategy.get_option")

    def enable_pattern(self, pattern):
        """Refused."""
        _refuse("IpuStrategy.enable_pattern")

    def disable_pattern(self, pattern):
        """Refused."""
        _refuse("IpuStrategy.disable_pattern")


class IpuCompiledProgram:
    """A program compiled for an IPU, which this package has no backend for.

    Raises:
        NotImplementedError: always.

    Examples:
        >>> proa.static.IpuCompiledProgram(proa.static.Program())
        Traceback (most recent call last):
        NotImplementedError: ...this package runs on CPUs and has no IPU backend...
    """

    def __init__(self, program=None, scope=None, ipu_strategy=None):
        _refuse("IpuCompiledProgram")

    def compile(self, feed_list, fetch_list):
        """Refused."""
        _refuse("IpuCompiledProgram.compile")


def ipu_shard_guard(index=-1, stage=-1):
    """Which IPU runs what is recorded inside.

    Raises:
        NotImplementedError: always.

    Examples:
        >>> with proa.static.ipu_shard_guard(0):
        ...     pass
        Traceback (most recent call last):
        NotImplementedError: ...this package runs on CPUs and has no IPU backend...
    """
    _refuse("ipu_shard_guard")


def set_ipu_shard(call_func, index=-1, stage=-1):
    """Which IPU runs a function.

    Raises:
        NotImplementedError: always.

    Examples:
        >>> proa.static.set_ipu_shard(len, index=0)
        Traceback (most recent call last):
        NotImplementedError: ...this package runs on CPUs and has no IPU backend...
    """
    _refuse("set_ipu_shard")
