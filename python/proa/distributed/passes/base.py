"""What a pass is."""

from proa import _C

__all__ = ["PassBase", "PassContext", "PassManager", "register_pass", "registered"]

_passes: dict = {}


class PassContext:
    """What passes that are applied one after the other know of each other.

    Attributes:
        passes (list): those that were applied, in order.

    Examples:
        >>> proa.distributed.passes.PassContext().passes
        []
    """

    def __init__(self):
        self.passes, self._attrs = [], {}

    def set_attr(self, key, value):
        self._attrs[key] = value

    def get_attr(self, key, default=None):
        return self._attrs.get(key, default)


class PassBase:
    """A rewrite of programs. A class of one's own defines `_apply_single_impl(main, startup, context)`, and has a name by
    `register_pass`.

    Examples:
        >>> from proa.distributed import passes
        >>> @passes.register_pass("count_calls")
        ... class Count(passes.PassBase):
        ...     def _apply_single_impl(self, main, startup, context):
        ...         context.set_attr("calls", main.num_blocks)
        >>> passes.new_pass("count_calls").apply([proa.static.Program()], [proa.static.Program()]).get_attr("calls")
        1
    """

    name: str | None = None

    def __init__(self):
        self._attrs = {}

    def set_attr(self, key, value):
        self._attrs[key] = value
        return self

    def get_attr(self, key, default=None):
        return self._attrs.get(key, default)

    def _need(self, *keys):
        """Values of settings without which the pass cannot be applied."""
        missing = [key for key in keys if self._attrs.get(key) is None]
        if missing:
            raise _C.located(
                ValueError(
                    f"pass {self.name}: it needs {' and '.join(missing)}; new_pass({self.name!r}, {{{missing[0]!r}: ...}})"
                )
            )
        return [self._attrs[key] for key in keys]

    def apply(self, main_programs, startup_programs, context=None):
        """Rewrites programs in their place.

        Args:
            main_programs (list[static.Program] | static.Program): they.
            startup_programs (list[static.Program] | static.Program): the startup program of each.
            context (PassContext, optional): of passes before.

        Returns:
            PassContext: with this one behind them.
        """
        context = PassContext() if context is None else context
        lists = [p if isinstance(p, (list, tuple)) else [p] for p in (main_programs, startup_programs)]
        if len(lists[0]) != len(lists[1]):
            raise _C.located(
                ValueError(
                    f"pass {self.name}: {len(lists[0])} programs and {len(lists[1])} startup programs; give one for each"
                )
            )
        for main, startup in zip(*lists):
            self._apply_single_impl(main, startup, context)
        context.passes.append(self)
        return context

    def _apply_single_impl(self, main_program, startup_program, context):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define _apply_single_impl"))


class PassManager:
    """Passes that are applied one after the other.

    Args:
        passes (list[PassBase]): in their order.

    Examples:
        >>> from proa.distributed import passes
        >>> passes.PassManager([passes.new_pass("recompute")]).names
        ['recompute']
    """

    def __init__(self, passes, context=None):
        self._passes, self.context = list(passes), PassContext() if context is None else context

    @property
    def names(self):
        return [p.name for p in self._passes]

    passes = property(lambda self: tuple(self._passes))

    def apply(self, main_programs, startup_programs):
        """`apply` of each."""
        for one in self._passes:
            one.apply(main_programs, startup_programs, self.context)
        return self.context


def registered():
    """{name: class} of all passes."""
    return _passes


def register_pass(name):
    """Gives a class of passes a name.

    Raises:
        TypeError: it is no PassBase.
        ValueError: another class has the name.

    Examples:
        >>> from proa.distributed.passes import PassBase, register_pass
        >>> register_pass("mine")(type("Mine", (PassBase,), {})).name
        'mine'
    """

    def register(cls):
        if not isinstance(cls, type) or not issubclass(cls, PassBase):
            raise _C.located(TypeError(f"register_pass: {cls!r} is no class of PassBase"))
        if _passes.get(name, cls) is not cls:
            raise _C.located(ValueError(f"register_pass: {_passes[name].__name__} is named {name!r} already"))
        _passes[name] = cls
        cls.name = cls.name or name
        return cls

    return register
