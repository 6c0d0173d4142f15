"""Weights with n zeros in each m that follow one another (ASP): masks, pruning, optimizers that keep the zeros.

    optimizer = asp.decorate(optimizer)
    asp.prune_model(model)              # then train as usual

Pruned are weights of linear layers and convolutions, along the features (channels) that are summed over: [in, out], and
[out, in, height, width].
"""

import itertools
import weakref

from proa import _C

__all__ = [
    "add_supported_layer", "calculate_density", "check_sparsity", "create_mask", "decorate", "prune_model",
    "reset_excluded_layers", "set_excluded_layers",
]  # fmt: skip

_supported = {
    "fc": None,
    "linear": None,
    "conv2d": None,
}  # first parts of names of parameters: their own pruning or None
_excluded: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # by program: names
_excluded_everywhere: set = set()
_masks: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # by program: {name of a parameter: its mask}


def calculate_density(x):
    """The share of elements that are not zero.

    Args:
        x (array|Tensor): it; of no elements the density is 1.

    Examples:
        >>> proa.static.sparsity.calculate_density(np.array([[0.0, 1.0], [2.0, 0.0]]))
        0.5
    """
    import numpy as np

    x = np.asarray(x.numpy() if isinstance(x, _C.Tensor) else x)
    return float(np.count_nonzero(x)) / x.size if x.size else 1.0


def _rows(array, m):
    """(rows of m, a function that brings such rows back): of a matrix, filled up by zeros."""
    import numpy as np

    padded = np.pad(array, ((0, 0), (0, -array.shape[1] % m)))
    back = lambda rows: rows.reshape(padded.shape)[:, : array.shape[1]]
    return padded.reshape(-1, m), back


def _mask_1d(array, n, m):
    """In each m of a row the m - n largest stay."""
    import numpy as np

    rows, back = _rows(np.abs(array), m)
    mask = np.ones_like(rows)
    np.put_along_axis(mask, np.argsort(rows, axis=1, kind="stable")[:, :n], 0, axis=1)
    return back(mask)


def _squares(array, m):
    """(squares [count, m, m], a function that brings such squares back)."""
    import numpy as np

    padded = np.pad(np.abs(array), ((0, -array.shape[0] % m), (0, -array.shape[1] % m)))
    high, wide = padded.shape[0] // m, padded.shape[1] // m
    squares = padded.reshape(high, m, wide, m).transpose(0, 2, 1, 3).reshape(-1, m, m)

    def back(found):
        whole = found.reshape(high, wide, m, m).transpose(0, 2, 1, 3).reshape(padded.shape)
        return whole[: array.shape[0], : array.shape[1]]

    return squares, back


def _mask_2d_greedy(array, n, m):
    """In each square of m x m, the largest first, as long as no row and no column keeps more than m - n."""
    import numpy as np

    squares, back = _squares(array, m)
    mask = np.zeros_like(squares)
    for square, kept in zip(squares, mask, strict=True):
        rows, columns = np.zeros(m, int), np.zeros(m, int)
        for place in np.argsort(-square, axis=None, kind="stable"):
            i, j = divmod(int(place), m)
            if rows[i] < m - n and columns[j] < m - n:
                kept[i, j] = 1
                rows[i] += 1
                columns[j] += 1
    return back(mask)


def _mask_2d_best(array, n, m):
    """In each square of m x m, of all masks that keep m - n in each row and column, one that keeps the most."""
    import numpy as np

    squares, back = _squares(array, m)
    row = [np.array(r) for r in itertools.product((0, 1), repeat=m) if sum(r) == m - n]
    patterns = np.array([p for p in itertools.product(row, repeat=m) if (np.sum(p, axis=0) == m - n).all()])
    sums = np.tensordot(squares, patterns, ([1, 2], [1, 2]))
    return back(patterns[np.argmax(sums, axis=1)].astype(squares.dtype))


_ALGORITHMS = {"mask_1d": _mask_1d, "mask_2d_greedy": _mask_2d_greedy, "mask_2d_best": _mask_2d_best}


def create_mask(tensor, func_name="mask_1d", n=2, m=4):
    """1 where an element stays, 0 for the n of each m along the last dim (of a 4-D array: along the third) that do not.

    Args:
        tensor (array): of 1, 2, 3 or 4 dims.
        func_name (str): mask_1d, mask_2d_greedy or mask_2d_best.
        n, m (int): zeros among so many.

    Raises:
        ValueError: for another name, or n and m that do not go together.

    Examples:
        >>> proa.incubate.asp.create_mask(np.array([[4.0, 1.0, -3.0, 2.0]])).tolist()
        [[1.0, 0.0, 1.0, 0.0]]
    """
    import numpy as np

    name = getattr(func_name, "value", func_name)
    if name not in _ALGORITHMS:
        raise _C.located(ValueError(f"create_mask: func_name must be one of {', '.join(_ALGORITHMS)}, not {name!r}"))
    if not (isinstance(n, int) and isinstance(m, int) and 0 <= n <= m and m > 0):
        raise _C.located(ValueError(f"create_mask: n zeros of each m: n must be 0 to m; they are {n!r} and {m!r}"))
    array = np.asarray(tensor.numpy() if isinstance(tensor, _C.Tensor) else tensor)
    make = lambda matrix: _ALGORITHMS[name](matrix, n, m).astype(array.dtype)
    if array.ndim == 1:
        return make(array[None])[0]
    if array.ndim == 2:
        return make(array)
    if array.ndim == 3:
        return make(array.reshape(-1, array.shape[2])).reshape(array.shape)
    if array.ndim == 4:
        turned = array.transpose(0, 1, 3, 2)
        return make(turned.reshape(-1, array.shape[2])).reshape(turned.shape).transpose(0, 1, 3, 2)
    raise _C.located(ValueError(f"create_mask: takes 1 to 4 dims; the array is {list(array.shape)}"))


def check_sparsity(tensor, func_name="check_1d", n=2, m=4):
    """Whether there are at least n zeros in each m along the last dim; `check_2d`: and along the one before, in squares.

    Args:
        tensor (array): a vector or matrix.
        func_name (str): check_1d or check_2d.
        n, m (int): zeros among so many.

    Examples:
        >>> proa.incubate.asp.check_sparsity(np.array([[4.0, 0.0, -3.0, 0.0]]))
        True
    """
    import numpy as np

    array = np.atleast_2d(np.asarray(tensor.numpy() if isinstance(tensor, _C.Tensor) else tensor))
    array = array.reshape(-1, array.shape[-1])
    if getattr(func_name, "value", func_name) == "check_2d":
        squares, _ = _squares(array, m)
        zeros = squares == 0
        return bool((zeros.sum(1) >= n).all() and (zeros.sum(2) >= n).all())
    rows, _ = _rows(array, m)
    return bool(((rows == 0).sum(1) >= n).all())


def add_supported_layer(layer, pruning_func=None):
    """Prunes parameters of other layers, too.

    Args:
        layer (str|type|Layer): the first part of the names of their weights, a class, or a layer.
        pruning_func (Callable, optional): gives for (array, m, n, name of the algorithm, name of the parameter) the pruned
            array and its mask.

    Examples:
        >>> proa.incubate.asp.add_supported_layer("bilinear")
    """
    from proa.nn import Layer

    if isinstance(layer, Layer):
        layer = layer.full_name().rpartition("_")[0]
    elif isinstance(layer, type):
        layer = layer.__name__.lower()
    if not isinstance(layer, str):
        raise _C.located(
            TypeError(f"add_supported_layer: takes a name, a class or a layer, not {type(layer).__name__}")
        )
    _supported[layer] = pruning_func


def set_excluded_layers(param_names, main_program=None):
    """Keeps parameters from being pruned.

    Args:
        param_names (list[str]): names, or first parts of names.
        main_program (Program, optional): in which; otherwise everywhere. Both orders of arguments are taken.

    Examples:
        >>> proa.static.sparsity.set_excluded_layers(["linear_7.w_0"])
        >>> proa.static.sparsity.reset_excluded_layers()
    """
    if not isinstance(param_names, (list, tuple, set)) and isinstance(main_program, (list, tuple, set)):
        param_names, main_program = main_program, param_names
    if isinstance(param_names, str) or not all(isinstance(name, str) for name in param_names):
        raise _C.located(TypeError("set_excluded_layers: param_names must be a list of names"))
    names = _excluded_everywhere if main_program is None else _excluded.setdefault(main_program, set())
    names.update(param_names)


def reset_excluded_layers(main_program=None):
    """Forgets what `set_excluded_layers` said: of a program, or everywhere.

    Args:
        main_program (Program, optional): it.

    Examples:
        >>> proa.static.sparsity.reset_excluded_layers()
    """
    if main_program is None:
        _excluded_everywhere.clear()
        _excluded.clear()
    else:
        _excluded.pop(main_program, None)


def _is_pruned(parameter, program=None):
    name = parameter.name
    excluded = _excluded_everywhere | (_excluded.get(program, set()) if program is not None else set())
    if any(name == part or name.startswith((f"{part}.", f"{part}_")) for part in excluded):
        return False
    first, _, last = name.partition(".")
    if len(getattr(parameter, "whole_shape", parameter.shape)) not in (2, 4) or last and not last.startswith("w_"):
        return False
    return first in _supported or first.rpartition("_")[0] in _supported or name in _supported


def _mask_of(parameter, value, n, m, algorithm):
    """(pruned array, mask), or None for a weight that has fewer than m to sum over."""
    summed = value.shape[1] if value.ndim == 4 else value.shape[0]
    if summed < m:
        return None
    first = parameter.name.partition(".")[0]
    own = _supported.get(first) or _supported.get(first.rpartition("_")[0]) or _supported.get(parameter.name)
    if own is not None:
        return own(value, m, n, algorithm, parameter.name)
    mask = create_mask(value.T, algorithm, n, m).T
    return value * mask, mask


def prune_model(model=None, n=2, m=4, mask_algo="mask_1d", with_mask=True, main_program=None):
    """Sets n of each m of the weights to zero, those of the smallest magnitudes.

    Args:
        model (Layer|Program, optional): whose; the default main program unless given.
        n, m (int): zeros among so many.
        mask_algo (str): mask_1d, mask_2d_greedy or mask_2d_best; the latter two keep both directions of squares sparse.
        with_mask (bool): optimizers that `decorate` gave keep these zeros.

    Returns:
        dict: masks (arrays) by names of parameters.

    Raises:
        ValueError: for another mask_algo.

    Examples:
        >>> net = proa.nn.Linear(8, 4)
        >>> masks = proa.static.sparsity.prune_model(net)
        >>> proa.static.sparsity.calculate_density(net.weight)
        0.5
    """
    from proa.nn import Layer
    from proa.static import default_main_program, global_scope
    from proa.static.binding import value_in
    from proa.static.scope import tensor_in_scope

    model = main_program if model is None else model
    model = default_main_program() if model is None else model
    if mask_algo not in _ALGORITHMS:
        raise _C.located(
            ValueError(f"prune_model: mask_algo must be one of {', '.join(_ALGORITHMS)}, not {mask_algo!r}")
        )
    is_layer = isinstance(model, Layer)
    program = None if is_layer else getattr(model, "_source", model)
    parameters = model.parameters() if is_layer else program.all_parameters()
    found = {}
    for parameter in parameters:
        if not _is_pruned(parameter, program):
            continue
        held = parameter if is_layer else value_in(global_scope(), parameter)
        divided = hasattr(held, "whole_shape")  # among processes, all of which call this
        made = _mask_of(parameter, _whole(held) if divided else held.numpy(), n, m, mask_algo)
        if made is None:
            continue
        tensor_in_scope(held).set(_own_part(held, made[0]).numpy() if divided else made[0])
        found[parameter.name] = made[1]
        if with_mask:
            _keep_mask(parameter, program, made[1])
    return found


def _whole(part):
    """The array of a parameter that processes have parts of."""
    from proa.distributed.fleet.meta_parallel.sharding.divided_optimizer import whole

    with _C.eager_mode():
        return whole(part.detach(), part.whole_shape, part.part_group).numpy()


def _own_part(part, array):
    """This process's part of an array of the whole shape."""
    from proa.distributed.fleet.meta_parallel.sharding.divided_optimizer import part_of

    with _C.eager_mode():
        return part_of(_C.to_tensor(array), part.part_group)


def _keep_mask(parameter, program, mask):
    from proa.static import global_scope
    from proa.static.binding import value_in
    from proa.static.scope import tensor_in_scope

    with _C.eager_mode():
        if program is None:
            divided = hasattr(parameter, "whole_shape")
            parameter._sparsity_mask = _own_part(parameter, mask) if divided else _C.to_tensor(mask)
            part = getattr(parameter, "part", None)
            if part is not None:  # which an optimizer of several processes updates in its place
                part._sparsity_mask = _own_part(part, mask)
            return
    held = _masks.get(program, {}).get(parameter.name)
    if held is not None:
        tensor_in_scope(value_in(global_scope(), held)).set(mask)


class SparseOptimizer:
    """An optimizer that keeps the zeros of pruned weights; all else is that of the optimizer itself."""

    def __init__(self, optimizer):
        self._optimizer = optimizer

    def __getattr__(self, name):
        return getattr(self.__dict__["_optimizer"], name)

    @property
    def keeps_zeros_of(self):
        """The optimizer itself."""
        return self._optimizer

    def step(self):
        """A step; then the pruned weights are zero again."""
        self._optimizer.step()
        self._apply(self._optimizer._parameter_list)

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """`minimize` of the optimizer; then the pruned weights are zero again, in the program or now."""
        from proa.static import default_main_program

        found = self._optimizer.minimize(loss, startup_program, parameters, no_grad_set)
        if not _C.is_symbolic(loss):
            self._apply(self._optimizer._parameter_list)
            return found
        program = default_main_program()
        masks = _masks.setdefault(program, {})
        grad = _C.set_grad_enabled(False)
        try:
            for parameter in program.all_parameters():
                if not _is_pruned(parameter, program):
                    continue
                with _C.eager_mode():
                    mask = _C.ops.full_like(parameter.detach(), 1.0)
                mask.persistable, mask.name = True, f"{parameter.name}@MASK"
                masks[parameter.name] = mask
                _C.ops.store_(parameter, parameter.detach() * mask)
        finally:
            _C.set_grad_enabled(grad)
        return found

    @staticmethod
    def _apply(parameters):
        with _C.eager_mode():
            grad = _C.set_grad_enabled(False)
            try:
                for parameter in parameters:
                    mask = getattr(parameter, "_sparsity_mask", None)
                    if mask is not None:
                        parameter.set_value(parameter.detach() * mask)
            finally:
                _C.set_grad_enabled(grad)


def decorate(optimizer):
    """The optimizer, with steps after which pruned weights are zero again.

    One of fleet or `group_sharded_parallel` that divides states or parameters keeps the zeros of its parts, and is given back.

    Args:
        optimizer (Optimizer): it.

    Examples:
        >>> net = proa.nn.Linear(8, 4)
        >>> sgd = proa.static.sparsity.decorate(proa.optimizer.SGD(0.1, parameters=net.parameters()))
        >>> masks = proa.static.sparsity.prune_model(net)
        >>> net(proa.ones([1, 8])).sum().backward(); sgd.step()
        >>> proa.static.sparsity.calculate_density(net.weight)
        0.5
    """
    from proa.distributed.fleet.meta_parallel.sharding.divided_optimizer import dividing

    divided = dividing(optimizer)
    if divided is None:
        return SparseOptimizer(optimizer)
    if not isinstance(divided._inner_opt, SparseOptimizer):
        divided._inner_opt = SparseOptimizer(divided._inner_opt)
    return optimizer
