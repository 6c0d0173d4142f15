"""Which ops and values of a program are computed in 16 bits, said by names."""

from proa import _C
from proa.amp.auto_cast import settings_of

__all__ = ["AutoMixedPrecisionLists", "AutoMixedPrecisionListsBF16", "CustomOpLists"]


def names(where, what, given):
    """The names of a list of the user as a set."""
    if given is None:
        return set()
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise _C.located(TypeError(f"{where}: {what} must be a list, set or tuple of names, not {given!r}"))
    return set(given)


class AutoMixedPrecisionLists:
    """Ops and values that go another way than the classes of ops say (docs/mixed_precision.md).

    Args:
        custom_white_list (list[str]|set[str], optional): ops to be computed in the 16-bit type, by the names that they
            have here or in the reference (`matmul`, `matmul_v2`).
        custom_black_list (list[str]|set[str], optional): ops to be computed in float32.
        custom_black_varnames (list[str]|set[str], optional): names of values (parameters, inputs); an op that takes or gives
            one of them is computed as it was recorded.
        dtype (str): accepted; the optimizer's decides.

    Raises:
        TypeError: for a list that is none of names.
        ValueError: an op is in both lists, or there is none of this name.

    Examples:
        >>> lists = proa.static.amp.CustomOpLists(custom_black_list=["matmul"])
        >>> sorted(lists.black_list)
        ['matmul']
    """

    def __init__(self, custom_white_list=None, custom_black_list=None, custom_black_varnames=None, dtype="float16"):
        where = type(self).__name__
        self.white_list = names(where, "custom_white_list", custom_white_list)
        self.black_list = names(where, "custom_black_list", custom_black_list)
        self.black_varnames = names(where, "custom_black_varnames", custom_black_varnames)
        self.settings("float16", "O1")  # what it refuses, it refuses here

    def settings(self, dtype, level):
        """The number of the settings of autocast that these lists mean."""
        return settings_of(dtype, level, self.white_list, self.black_list)


CustomOpLists = AutoMixedPrecisionLists


class AutoMixedPrecisionListsBF16(AutoMixedPrecisionLists):
    """`AutoMixedPrecisionLists` under the names of the package `bf16`.

    Args:
        custom_bf16_list, custom_fp32_list, custom_fp32_varnames: as custom_white_list, custom_black_list and
            custom_black_varnames there.

    Examples:
        >>> sorted(proa.static.amp.bf16.AutoMixedPrecisionListsBF16(custom_fp32_list={"relu"}).fp32_list)
        ['relu']
    """

    def __init__(self, custom_bf16_list=None, custom_fp32_list=None, custom_fp32_varnames=None):
        super().__init__(custom_bf16_list, custom_fp32_list, custom_fp32_varnames)
        self.bf16_list, self.fp32_list, self.fp32_varnames = self.white_list, self.black_list, self.black_varnames
