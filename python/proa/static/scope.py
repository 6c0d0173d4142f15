"""Scope: values by name, for programs that read and write parameters from outside."""

import contextlib
import threading
import weakref

from proa import _C

__all__ = ["Scope", "global_scope", "scope_guard"]


class ScopeTensor:
    """The value of a variable: an array to NumPy, and `set` writes it."""

    def __init__(self, variable):
        self._variable = variable
        self._lod = []

    @property
    def _tensor(self):
        if self._variable._tensor is None:
            raise _C.located(
                RuntimeError(f"get_tensor: {self._variable._name} has no value in this scope; set gives one")
            )
        return self._variable._tensor

    def _is_initialized(self):
        """Whether there is a value."""
        return self._variable._tensor is not None

    def set(self, array, place=None, zero_copy=False):
        """Replaces the value; dims and dtype stay those of the variable. One that had none takes those of `array`.

        Raises:
            ValueError: `array` has other dims.
        """
        with _C.eager_mode():
            value = _C.to_tensor(array)
            if self._variable._tensor is None:
                value.name = self._variable._name
                self._variable._tensor = value
                return
            if value.size == 1 and self._tensor.size == 1 and len(value.shape) + len(self._tensor.shape) == 1:
                value = value.reshape(self._tensor.shape)  # a number was [1] in the reference up to 2.4
            if list(value.shape) != list(self._tensor.shape):
                raise _C.located(
                    ValueError(
                        f"set: {self._tensor.name} is {list(self._tensor.shape)}, the value is {list(value.shape)}"
                    )
                )
            grad = _C.is_grad_enabled()
            _C.set_grad_enabled(False)
            try:
                self._tensor.set_value(value.astype(self._tensor.dtype))
            finally:
                _C.set_grad_enabled(grad)

    def tensor(self):
        """The tensor itself."""
        return self._tensor

    def __array__(self, dtype=None, copy=None):
        array = self._tensor.numpy()
        return array if dtype is None else array.astype(dtype)

    def shape(self):
        return list(self._tensor.shape)

    def _dtype(self):
        return self._tensor.dtype

    def lod(self):
        return self._lod

    def set_lod(self, lod):
        """Keeps the lengths of sequences that the program says."""
        self._lod = lod

    recursive_sequence_lengths = lod
    set_recursive_sequence_lengths = set_lod


class ScopeVariable:
    """A name in a scope."""

    def __init__(self, name, tensor=None):
        self._name = name
        self._tensor = tensor

    def name(self):
        return self._name

    def get_tensor(self):
        """The value; where there is none yet, `set` of what it gives makes it."""
        return ScopeTensor(self)


def tensor_in_scope(tensor):
    """A tensor as `get_tensor` gives it."""
    return ScopeVariable(tensor.name, tensor).get_tensor()


class Scope:
    """Values by name: of the parameters that were made while it was the scope of now, and of those that a startup program that is
    run in it starts. Two scopes hold two sets of parameters of one program.

    Examples:
        >>> scope = proa.static.Scope()
        >>> scope.find_var("nothing") is None
        True
    """

    def __init__(self):
        self._tensors = {}  # made here
        self._own = {}  # values of what was made elsewhere
        self._changes = 0
        self._variables = {}
        self._started = set()
        self._parent = None
        self._kids = []

    def find_var(self, name):
        """The variable of this name, here or in the scope that this one was made by; or None."""
        tensor = self._own.get(name)
        if tensor is None:
            tensor = self._tensors.get(name)
        if tensor is None and (self._tensors or self._own or self is _first):
            tensor = _captured(name)
        if tensor is not None:
            return ScopeVariable(name, tensor)
        found = self._variables.get(name)
        return found if found is not None or self._parent is None else self._parent.find_var(name)

    def var(self, name):
        """The variable of this name; made without a value if there is none."""
        found = self.find_var(name)
        if found is None:
            found = self._variables[name] = ScopeVariable(name)
        return found

    def erase(self, names):
        """Forgets these names."""
        for name in names:
            self._changes += self._own.pop(name, None) is not None
            self._tensors.pop(name, None)
            self._variables.pop(name, None)
            self._started.discard(name)

    def local_var_names(self):
        """The names in this scope."""
        return sorted({*self._tensors, *self._own, *self._variables})

    def new_scope(self):
        """A scope for values that live shorter; it finds what is here, too."""
        kid = Scope()
        kid._parent = self
        self._kids.append(kid)
        return kid

    def drop_kids(self):
        """Forgets scopes made by `new_scope`."""
        self._kids.clear()


# Programs that a scope looks into for parameters that were made elsewhere, by layers.
programs: weakref.WeakSet = weakref.WeakSet()


def _captured(name):
    for program in list(programs):
        for tensor in program.list_vars():
            if tensor.name == name:
                return tensor
    return None


_first = Scope()


class _Here(threading.local):
    """The scope of this thread: the first of all, until a guard names another."""

    current = _first


_here = _Here()


def global_scope():
    """The scope of now: that of this thread's `scope_guard`, or the one that is there from the start.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = proa.static.data("x", [None, 2])
        ...     y = proa.static.nn.fc(x, 3, weight_attr=proa.ParamAttr(name="weight_of_y"))
        >>> proa.static.global_scope().find_var("weight_of_y").get_tensor().shape()
        [2, 3]
    """
    return _here.current


@contextlib.contextmanager
def scope_guard(scope):
    """Inside, `scope` takes the parameters that are made, and is what `global_scope` gives; in this thread, as `program_guard`.

    Args:
        scope (Scope): it.

    Examples:
        >>> scope = proa.static.Scope()
        >>> with proa.static.scope_guard(scope), proa.static.program_guard(proa.static.Program()):
        ...     y = proa.static.nn.fc(proa.static.data("x", [None, 2]), 3, weight_attr=proa.ParamAttr(name="weight_of_scope"))
        >>> scope.find_var("weight_of_scope").get_tensor().shape(), proa.static.global_scope() is scope
        ([2, 3], False)
    """
    if not isinstance(scope, Scope):
        raise _C.located(TypeError(f"scope_guard: scope must be a Scope, not {type(scope).__name__}"))
    before, _here.current = _here.current, scope
    try:
        yield
    finally:
        _here.current = before
