"""Ops whose kernel is a function of Python: in the registry like any other, so that they are recorded, differentiated, saved."""

import inspect
import re

import proa
from proa import _C
from proa.utils.op_function import publish

__all__ = ["CustomOp", "Meta", "custom_op"]

_SIGNATURE = re.compile(r"\s*(?:(\w+)::)?(\w+)\s*\((.*)\)\s*->\s*(.+?)\s*$", re.S)
_TYPES = ("Tensor", "Tensor[]", "bool", "int", "float", "str", "str[]", "int[]", "float[]")
_PYTHON = {"bool": bool, "int": int, "float": float, "str": str}


class Meta:
    """What inference knows of a tensor: `shape`, a list in which a size that is not known yet is -1, and `dtype`."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = list(shape), dtype

    def __repr__(self):
        return f"Meta({self.shape}, {self.dtype})"


def _fail(text):
    raise _C.located(ValueError(f"custom_op: {text}"))


def _default(kind, text):
    try:
        value = (
            {"true": True, "false": False, "none": None}[text]
            if text in ("true", "false", "none")
            else eval_literal(text)
        )
    except (ValueError, SyntaxError):
        _fail(f"the default {text!r} is no literal")
    if kind in _PYTHON and not isinstance(value, (int, float) if kind == "float" else _PYTHON[kind]):
        _fail(f"the default {text!r} is no {kind}")
    return value


def eval_literal(text):
    """The value of a literal of Python."""
    import ast

    return ast.literal_eval(text)


def _split(text):
    """The parts between commas that stand in no brackets or strings."""
    parts, depth, quote, part = [], 0, "", ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        depth += (c in "([") - (c in ")]") if not quote else 0
        if c == "," and depth == 0 and not quote:
            parts.append(part)
            part = ""
        else:
            part += c
    return [p.strip() for p in [*parts, part] if p.strip()]


def _param(text):
    match = re.fullmatch(r"([\w]+(?:\[\])?)(\?)?\s+(\w+)\s*(?:=\s*(.+))?", text)
    if match is None or match[1] not in _TYPES:
        _fail(f"{text!r} is no parameter, '<type> <name>' or '<type> <name>=<default>', of types {', '.join(_TYPES)}")
    kind, optional, name, default = match.groups()
    if optional and not kind.startswith("Tensor"):
        _fail(f"{text!r}: only tensors may be None")
    has_default = default is not None and not kind.startswith("Tensor")
    return {"name": name, "type": kind, "optional": bool(optional), "has_default": has_default,
            "default": _default(kind, default) if has_default else None}  # fmt: skip


def _parse(signature):
    match = _SIGNATURE.fullmatch(signature) if isinstance(signature, str) else None
    if match is None:
        _fail(f"{signature!r} is no signature, 'name(Tensor x, float factor=1.0) -> Tensor out'")
    extension, name, params, outputs = match.groups()
    found = []
    for text in _split(outputs):
        output = re.fullmatch(r"Tensor(\[\])?\s+(\w+)", text)
        if output is None:
            _fail(f"{text!r} is no output, 'Tensor <name>' or 'Tensor[] <name>'")
        found.append((output[2], output[1] is not None))
    return extension or "of Python", name, [_param(p) for p in _split(params)], found


def _grouped(name, result, outputs, what, is_one, convert):
    """What a function returned, as a list for each output; `is_one`: it is a single result."""
    if len(outputs) == 1 and (outputs[0][1] or is_one):
        result = (result,)
    if not isinstance(result, (tuple, list)) or len(result) != len(outputs):
        count = len(result) if isinstance(result, (tuple, list)) else type(result).__name__
        raise _C.located(ValueError(f"{name}: {what} returned {count}; the op has {len(outputs)} outputs"))
    grouped = []
    for item, (output, is_list) in zip(result, outputs):
        items = list(item) if is_list and isinstance(item, (list, tuple)) else [item]
        grouped.append([convert(name, output, i) for i in items])
    return grouped


def _tensor(name, output, value):
    if isinstance(value, proa.Tensor):
        return value
    if value is None:
        raise _C.located(
            TypeError(f"{name}: the kernel gave None for output {output}; a Tensor or an array is expected")
        )
    return proa.to_tensor(value)


def _meta(name, output, value):
    if isinstance(value, (Meta, proa.Tensor)):
        value = (value.shape, value.dtype)
    try:
        shape, dtype = value
        return [-1 if size is None else int(size) for size in shape], _C.DType(dtype)
    except (TypeError, ValueError):
        raise _C.located(
            TypeError(f"{name}: inference gave {value!r} for output {output}; expected (shape, dtype) or a Meta")
        ) from None


class CustomOp:
    """An op of Python. Called as a function; `infer` and `gradient` are decorators of what else belongs to it.

    The op joins the registry when it is first called; what belongs to it must be there by then.

    Examples:
        >>> @proa.utils.custom_op("doc_double(Tensor x) -> Tensor out")
        ... def double(x):
        ...     return x.numpy() * 2
        >>> isinstance(double, proa.utils.CustomOp), double(proa.to_tensor([2.0])).tolist()
        (True, [4.0])
    """

    def __init__(self, signature, kernel, infer=None, gradient=None):
        self.extension, self.name, self.params, self.outputs = _parse(signature)
        self.signature = signature
        self._kernel, self._infer, self._gradient = kernel, infer, gradient
        self._composite_gradient = False
        self._function = None
        self.__name__ = self.__qualname__ = self.name
        self.__doc__ = kernel.__doc__
        self.__wrapped__ = kernel
        _check(kernel, len(self.params), f"{self.name}: the kernel")

    def infer(self, function):
        """Decorates the function that gives, of the Metas of the arguments, the Meta (or (shape, dtype)) of each output.

        Without it an op with one tensor and one output gives what is like that tensor.
        """
        self._must_be_open("infer")
        _check(function, len(self.params), f"{self.name}: inference")
        self._infer = function
        return function

    def gradient(self, function=None, *, formula=False):
        """Decorates the function that gives the gradients of the tensors, in their order; None for one without.

        Its parameters are called as parameters or outputs of the op, or `grad_<output>` for the gradient of an output:
        it gets what it names, and that is kept.

        Args:
            formula (bool): it consists of calls of ops, which are differentiated and recorded themselves: derivatives of
                any order. Otherwise it is a kernel like the op's own and may use anything; second derivatives are then
                an error, unless it is an op itself.
        """
        if function is None:
            return lambda f: self.gradient(f, formula=formula)
        self._must_be_open("gradient")
        self._gradient, self._composite_gradient = function, formula
        return function

    def __call__(self, *args, **kwargs):
        if self._function is None:
            self.register()
        return self._function(*args, **kwargs)

    def _must_be_open(self, what):
        if self._function is not None:
            raise _C.located(RuntimeError(f"{self.name}: {what} comes too late; the op has been called already"))

    def register(self):
        """Puts the op into the registry, which its first call does otherwise; its function."""
        ops = [self._rules()]
        if self._gradient is not None:
            ops.append(self._gradient_rules())
        infos = _C.define_ops(self.extension, ops)
        for mine, info in zip(self.params, infos[0]["params"]):
            info["has_default"], info["default"] = mine["has_default"], mine["default"]
        self._function = publish(infos)[self.name]
        self.__signature__ = self._function.__signature__
        return self._function

    def _rules(self):
        outputs, kernel, name = self.outputs, self._kernel, self.name

        def run(*args):
            result = _noted(name, "kernel", kernel, args)
            return _grouped(name, result, outputs, "the kernel", not isinstance(result, (tuple, list)), _tensor)

        infer = None
        if self._infer is not None:
            rule = self._infer

            def infer(*args):
                result = _noted(name, "inference", rule, _metas(args))
                return _grouped(name, result, outputs, "inference", _is_meta(result), _meta)

        return {"name": name, "doc": self.__doc__ or "", "composite": False, "outputs": [(*o, False) for o in outputs],
                "params": [(p["name"], p["type"], p["optional"]) for p in self.params], "kernel": run, "infer": infer,
                "gradient": f"{name}_grad" if self._gradient is not None else ""}  # fmt: skip

    def _gradient_rules(self):
        function, name = self._gradient, f"{self.name}_grad"
        given = {p["name"]: p for p in self.params}
        outputs = dict(self.outputs)
        params = []
        for taken in inspect.signature(function).parameters:
            grad = taken.removeprefix("grad_")
            if taken in given:
                params.append((taken, given[taken]["type"], given[taken]["optional"]))
            elif taken in outputs:
                params.append((taken, "Tensor[]" if outputs[taken] else "Tensor", False))
            elif grad != taken and grad in outputs:
                params.append((f"{grad}@GRAD", "Tensor[]" if outputs[grad] else "Tensor", False))
            else:
                _fail(f"{self.name}: its gradient takes {taken}, which is no parameter, output or gradient of an output "
                      f"(grad_{next(iter(outputs))}); {self.signature}")  # fmt: skip
        # Tensors come first in the registry; the function has its own order.
        order = sorted(range(len(params)), key=lambda i: not params[i][1].startswith("Tensor"))
        back = sorted(range(len(order)), key=lambda i: order[i])
        tensors = [p for p in self.params if p["type"].startswith("Tensor")]
        results = [(p["name"], p["type"] == "Tensor[]", p["optional"]) for p in tensors]
        wanted = list(inspect.signature(function).parameters)

        def run(*args):
            arranged = [args[i] for i in back]
            found = _noted(name, "gradient", function, arranged)
            if len(results) == 1 and (not isinstance(found, (tuple, list)) or results[0][1]):
                found = (found,) if not (isinstance(found, tuple) and len(found) == 1) else found
            if not isinstance(found, (tuple, list)) or len(found) != len(results):
                count = len(found) if isinstance(found, (tuple, list)) else 1
                raise _C.located(
                    ValueError(f"{name}: the gradient returned {count} values; the op has {len(results)} tensors")
                )
            grouped = []
            for item, (tensor, is_list, optional) in zip(found, results):
                if item is None and optional and tensor in wanted and arranged[wanted.index(tensor)] is None:
                    grouped.append([])
                    continue
                if item is None:
                    item = _zeros(name, tensor, wanted, arranged)
                items = list(item) if is_list else [item]
                grouped.append([_tensor(name, tensor, i) for i in items])
            return grouped

        return {"name": name, "doc": f"The gradient of {self.name}.", "composite": self._composite_gradient,
                "params": [params[i] for i in order], "outputs": [(f"{n}@GRAD", is_list, optional) for n, is_list, optional in results],
                "kernel": run, "infer": None, "gradient": ""}  # fmt: skip


def _is_meta(value):
    """A Meta, a tensor, or (shape, dtype)."""
    if isinstance(value, (tuple, list)):
        return len(value) == 2 and isinstance(value[0], (tuple, list)) and isinstance(value[1], (str, _C.DType))
    return True


def _zeros(name, tensor, names, args):
    """What None stands for among gradients."""
    if tensor not in names:
        raise _C.located(
            ValueError(f"{name}: the gradient of {tensor} is None; let the function take {tensor} too, or return zeros")
        )
    like = args[names.index(tensor)]
    return [proa.zeros_like(t) for t in like] if isinstance(like, list) else proa.zeros_like(like)


def _metas(args):
    def one(a):
        return (
            Meta(*a)
            if isinstance(a, tuple)
            else [Meta(*i) if isinstance(i, tuple) else i for i in a]
            if isinstance(a, list)
            else a
        )

    return [one(a) for a in args]


def _noted(name, what, function, args):
    """Calls a function of the user; an exception says of which op."""
    try:
        return function(*args)
    except Exception as error:
        if hasattr(error, "add_note"):
            error.add_note(f"in the {what} of the custom op {name}")
        raise


def _check(function, count, what):
    try:
        inspect.signature(function).bind(*range(count))
    except ValueError:
        return  # of C, without signature
    except TypeError as error:
        raise _C.located(TypeError(f"{what} must take {count} arguments: {error}")) from None


def custom_op(signature, *, infer=None, gradient=None):
    """Makes an op of a function of Python: differentiated, recorded in programs, saved and loaded like any other.

    The function is called with Tensors that have elements (contiguous, without gradients) and with the values of the
    attributes; it returns a Tensor or an array for each output.

    Args:
        signature (str): `"name(Tensor x, Tensor? y, Tensor[] zs, float a=1.0) -> Tensor out, Tensor[] outs"`; types of
            attributes are bool, int, float, str and int[], float[], str[]. `"acme::name(...)"` says who brings the op,
            which a program that is loaded without it names.
        infer (Callable, optional): see `CustomOp.infer`.
        gradient (Callable, optional): see `CustomOp.gradient`.

    Returns:
        Callable[[Callable], CustomOp]: a decorator.

    Raises:
        ValueError: a signature that is none, or a name that another op has.

    Examples:
        >>> @proa.utils.custom_op("doc_cube(Tensor x) -> Tensor out")
        ... def cube(x):
        ...     return x.numpy() ** 3
        >>> @cube.gradient(formula=True)
        ... def _(x, grad_out):
        ...     return 3.0 * x * x * grad_out
        >>> x = proa.to_tensor([2.0], stop_gradient=False)
        >>> cube(x).backward()
        >>> x.grad.item()
        12.0
    """

    def decorate(kernel):
        return CustomOp(signature, kernel, infer, gradient)

    return decorate
